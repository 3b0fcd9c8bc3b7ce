"""Print loop IR as Cython over raw addresses, without Python objects."""
