"""Arrays to look at: one paragraph, a notebook's table, the coordinate tree, a plot."""
