"""The scheduler: picks schedule commands by itself, each with its reason."""
