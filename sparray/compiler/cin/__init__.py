"""Concrete index notation: loops in an order, with workspaces."""
