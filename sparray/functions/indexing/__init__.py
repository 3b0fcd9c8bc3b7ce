"""Indexing in every format: what an index means, and the entries that it selects.

An index becomes a `Selection` (`selection`): a selector for each dimension
(`selectors`) and a group of dimensions that integer arrays or a mask pick together
(`groups`). Entries are then found level by level (`walk`), or as a slice of the buffers
where only the outermost level is restricted (`leading`), or by a compiled kernel where
there are many and the index has only integers and slices (`windows`).
"""
