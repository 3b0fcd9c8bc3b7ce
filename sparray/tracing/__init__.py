"""Code in the style of NumPy, traced into programs: lazy arrays and `fuse`."""
