"""Loop IR -> loop IR, one pass a file."""
