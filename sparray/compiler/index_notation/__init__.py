"""Index notation: what a user asks for, parsed, checked and made canonical."""
