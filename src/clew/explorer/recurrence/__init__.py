"""View 3: the unrolled graph, a step, the way back through time, clipping."""
