"""Shapes changed, and arrays put together: entries move, and none is made or lost.

What only renames dimensions shares buffers or is an index; all else moves coordinates
and packs them again (`repacked`).
"""
