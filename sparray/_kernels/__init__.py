"""Compiled kernels: built with the package, or compiled on first use and cached."""
