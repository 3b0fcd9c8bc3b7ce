"""Reductions over axes, of any format and fill value.

What is not stored counts: it is so many times the fill value. Sums, and `min`, `max`,
`any` and `all` of many entries, are expressions for the compiler; all else goes by
segments of entries that are reduced together (`segments`), in NumPy and in time for
stored entries.
"""
