"""Benchmarks of sparray: `benchmarks/` for asv, `report` for tables of ratios."""
