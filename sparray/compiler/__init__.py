"""The scheduling compiler: index notation -> CIN -> loop IR -> Cython."""
