"""Runs expressions: plans them, finds their kernels, and calls these on buffers."""
