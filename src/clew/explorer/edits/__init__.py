"""What can be changed: each edit as text in the address, and applied to a draft of the model and its input."""
