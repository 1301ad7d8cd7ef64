"""View 6: what the model reads, against the boundary that it declares."""
