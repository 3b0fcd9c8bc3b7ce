"""CIN -> loop IR, split by statement kind."""
