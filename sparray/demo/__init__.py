"""The demo: what a format is, a real graph, and a network trained on it."""
