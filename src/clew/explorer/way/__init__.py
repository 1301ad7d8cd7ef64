"""View 1: the whole way from the input to the loss and back; a box opens a quantity, a cell its arithmetic."""
