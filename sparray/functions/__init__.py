"""Functions of arrays, by area."""
