"""View 7: the link, and the view as one file."""
