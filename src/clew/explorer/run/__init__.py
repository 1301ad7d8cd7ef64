"""View 5: what a run came to, example by example."""
