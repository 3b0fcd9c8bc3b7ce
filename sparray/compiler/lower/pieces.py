"""Cut the open vector loop into pieces of one vector each."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sparray.compiler.index_notation.traversal import free_indices
from sparray.compiler.loop_ir.builder import add, literal
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.scope import Scope

__all__ = ["lanes_of", "pieces"]


def lanes_of(size: int, dtype: str, ctx: Context) -> int:
    """Return the lanes of one piece: a vector register, or the tile if smaller."""
    widest = max(1, ctx.vector_bytes // np.dtype(computed_dtype(dtype)).itemsize)
    return min(size, widest)


def pieces(scope: Scope, dtype: str, ctx: Context) -> Iterator[Scope]:
    """Yield the scope of each piece of a vector loop; the scope itself elsewhere.

    In the scope of piece ``q`` every access that runs along the tile's index stands
    ``q`` vectors further on.
    """
    tile = scope.tile
    if tile is None or tile.index not in scope.coordinates:
        yield scope
        return
    lanes = lanes_of(tile.size, dtype, ctx)
    for piece in range(tile.size // lanes):
        offset = literal(piece * lanes)
        places = {
            access: replace(place, begin=add(place.begin, offset))
            if tile.index in free_indices(access)
            else place
            for access, place in scope.places.items()
        }
        yield replace(scope, places=places, lanes=lanes, piece=piece)
