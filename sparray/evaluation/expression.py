"""Expressions as users write them, parsed once and kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NoReturn, Protocol

from sparray.compiler import names
from sparray.errors import CoordinateError, ExpressionError, InternalError, ShapeError

if TYPE_CHECKING:
    from sparray.compiler.hand_schedule import Schedule
    from sparray.compiler.index_notation.nodes import Access, Assignment
    from sparray.compiler.index_notation.semiring import Semiring
    from sparray.compiler.scheduler.by_hand import ByHand
    from sparray.compiler.scheduler.user_names import UserNames

__all__ = [
    "Expression",
    "Shaped",
    "assignment_expression",
    "check_missing",
    "einsum_expression",
    "mask_kind",
]

STRUCTURE, COMPLEMENT = "structure", "complement"


def mask_kind(mask: object, complement: bool) -> str | None:
    """Return which coordinates a mask leaves, for the functions that parse.

    Raises
    ------
    ExpressionError
        If there is a complement of no mask.
    """
    if mask is None:
        if complement:
            raise ExpressionError("complement: expected a mask too, got none")
        return None
    return COMPLEMENT if complement else STRUCTURE


def check_missing(missing: object) -> None:
    """Raise an error unless ``missing=`` says what a missing entry is.

    Raises
    ------
    ExpressionError
        If it is neither ``"zero"`` nor ``"fill"``.
    """
    if not isinstance(missing, str) or missing not in ("zero", "fill"):
        raise ExpressionError(f"missing: expected 'zero' or 'fill', got {missing!r}")


_roads: dict[object, object] = {}


_MOST_KNOWN = 256
"""Shapes of operands that an expression remembers the extents of."""


class Shaped(Protocol):
    """Whatever has a shape."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""


@dataclass(frozen=True, eq=False)
class Expression:
    """An assignment in canonical names, and which operand each access reads.

    There is one object per text, so identity decides equality; a warm call looks its
    kernel up by ``road``.

    Attributes
    ----------
    text : str
        What the user wrote, for messages.
    assignment : Assignment
        Every access has an operand of its own.
    tensors : tuple of str
        The user's tensors in the order in which operands are given.
    operands : tuple of (str, int)
        Each of the assignment's operands and which given one it reads.
    missing : {"zero", "fill"}
        What a product with an entry that is not stored, and zero, is: zero whatever
        the other factor is, or what IEEE arithmetic makes of it.
    schedule : Schedule or None
        What the user demands of the kernel; None leaves all to the scheduler.
    semiring : Semiring or None
        Whose operators the assignment has; None for ordinary sums and products.
    mask : str or None
        The tensor at whose stored coordinates the result is computed alone.
    complement : bool
        Whether it is computed at all others instead.
    index_names : tuple of (str, str)
        Each canonical index and the user's name of it.
    target : str
        The user's name of the result.
    sources : mapping of str to str
        What coordinates with a parameter were: windows, constants, sums of indices.
    road : object
        The same one in expressions that differ in names and windows alone: they are
        computed by the same plans.
    """

    text: str
    assignment: "Assignment"
    tensors: tuple[str, ...]
    operands: tuple[tuple[str, int], ...]
    missing: str = "zero"
    schedule: "Schedule | None" = None
    index_names: tuple[tuple[str, str], ...] = ()
    target: str = names.OUTPUT
    semiring: "Semiring | None" = None
    mask: str | None = None
    complement: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)
    road: object = field(default_factory=object)

    @cached_property
    def user_names(self) -> "UserNames":
        """What the user calls indices and tensors."""
        from sparray.compiler.scheduler.user_names import UserNames

        read = [number for _, number in self.operands]
        tensors = {names.OUTPUT: self.target}
        for access, number in self.axes:
            name = self.tensors[number]
            if read.count(number) > 1:
                name += f"[{','.join(self._written(access).indices)}]"
            tensors[access.tensor] = name
        return UserNames(self.text, dict(self.index_names), tensors)

    @cached_property
    def by_hand(self) -> "ByHand | None":
        """The user's schedule with the names that it uses; None if there is none."""
        if self.schedule is None:
            return None
        from sparray.compiler.scheduler.by_hand import ByHand

        return ByHand(self.schedule, self.user_names)

    def extents(self, operands: Sequence[Shaped]) -> list[int]:
        """Return the sizes that `sizes` names, on which all operands must agree.

        Raises
        ------
        ExpressionError
            If an operand has another number of dimensions than its access.
        ShapeError
            If two extents of an index disagree.
        CoordinateError
            If a coordinate leaves its dimension.
        """
        shapes = tuple([operand.shape for operand in operands])
        known = self._known_extents.get(shapes)
        if known is None:
            known = self._checked_extents(operands)
            if len(self._known_extents) >= _MOST_KNOWN:
                self._known_extents.clear()
            self._known_extents[shapes] = known
        return known

    @cached_property
    def _known_extents(self) -> dict[tuple[tuple[int, ...], ...], list[int]]:
        """What `extents` found for shapes: a warm call looks it up."""
        return {}

    def _checked_extents(self, operands: Sequence[Shaped]) -> list[int]:
        if self.sources:
            return self._extents_of_windows(operands)
        found = [-1] * len(self.indices)
        for number, dimensions in self.slots:
            shape = operands[number].shape
            self._check_ndim(number, len(dimensions), shape)
            for slot, extent in zip(dimensions, shape, strict=True):
                if found[slot] != extent:
                    if found[slot] >= 0:
                        self._raise_extents(slot, operands)
                    found[slot] = extent
        return found

    def _extents_of_windows(self, operands: Sequence[Shaped]) -> list[int]:
        from sparray.compiler.index_notation.extents import sizes_of

        read = []
        for access, number in self.axes:
            shape = tuple(operands[number].shape)
            self._check_ndim(number, len(access.indices), shape)
            read.append((access, shape))
        try:
            found = sizes_of(read, self.sources)
        except (ShapeError, CoordinateError) as error:
            self._raise_as_written(read)
            raise InternalError(f"{self.text}: {error}") from error
        return [found[name] for name in self.sizes]

    def _raise_as_written(
        self, read: "Sequence[tuple[Access, tuple[int, ...]]]"
    ) -> None:
        """Raise the error of a shape again, in the names that the user wrote."""
        from sparray.compiler.index_notation.extents import sizes_of

        written = [(self._written(access), shape) for access, shape in read]
        try:
            sizes_of(written, {}, self.text if "=" in self.text else None)
        except (ShapeError, CoordinateError) as error:
            message = str(error) if "=" in self.text else f"{self.text}: {error}"
            raise type(error)(message) from None

    def _written(self, access: "Access") -> "Access":
        """Return an access as the user wrote it."""
        from sparray.compiler.index_notation.affine import rename_coordinate
        from sparray.compiler.index_notation.nodes import Access

        users = dict(self.index_names)
        sources = (self.sources.get(i, i) for i in access.indices)
        indices = tuple(rename_coordinate(i, users) for i in sources)
        return Access(self.tensors[dict(self.operands)[access.tensor]], indices)

    def _check_ndim(self, number: int, ndim: int, shape: tuple[int, ...]) -> None:
        if len(shape) != ndim:
            message = (
                f"expected {ndim} dimensions for {self.tensors[number]}, got shape "
                f"{shape}"
            )
            access = next((a for a, n in self.axes if n == number), None)
            raise ExpressionError(self._marked(access, None, message))

    def _marked(self, access: "Access | None", axis: int | None, message: str) -> str:
        """Return a message with the place of an operand, or of an index of it.

        The text does not name a mask: the place of the result stands for it.
        """
        from sparray.compiler.index_notation.places import (
            access_place,
            operand_place,
            target_place,
        )
        from sparray.compiler.index_notation.tokenizer import marked

        number = -1 if access is None else dict(self.operands)[access.tensor]
        if access is None or self.tensors[number] == self.mask:
            return marked(self.text, target_place(self.text), message)
        if "=" not in self.text:
            if self.mask is not None:
                number -= self.tensors.index(self.mask) < number
            return marked(self.text, operand_place(self.text, number, axis), message)
        place = access_place(self.text, self._written(access), axis)
        return marked(self.text, place, message)

    def _raise_extents(self, slot: int, operands: Sequence[Shaped]) -> NoReturn:
        found = [
            (access, axis, operands[number].shape)
            for access, number in self.axes
            for axis, other in enumerate(access.indices)
            if other == self.indices[slot]
        ]
        reads = dict(self.operands)
        seen = [
            f"{shape[axis]} in axis {axis} of {self.tensors[reads[access.tensor]]} "
            f"(shape {shape})"
            for access, axis, shape in found
        ]
        first = found[0][2][found[0][1]]
        access, axis, _ = next(at for at in found if at[2][at[1]] != first)
        message = f"expected one extent for each index, got {', '.join(seen)}"
        raise ShapeError(self._marked(access, axis, message))

    @cached_property
    def axes(self) -> "tuple[tuple[Access, int], ...]":
        """Each access with the number of the given operand that it reads."""
        from sparray.compiler.index_notation.simplify import accesses

        reads = dict(self.operands)
        found = dict.fromkeys(accesses(self.assignment.value))
        return tuple((access, reads[access.tensor]) for access in found)

    @cached_property
    def indices(self) -> tuple[str, ...]:
        """Every index of the operands, in order of first appearance."""
        from sparray.compiler.index_notation.traversal import free_indices

        return tuple(
            dict.fromkeys(i for access, _ in self.axes for i in free_indices(access))
        )

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """What `extents` gives: every index, then what kernels know of windows."""
        windows = (size for text in self.sources for size in (text, names.first(text)))
        return (*self.indices, *windows)

    @cached_property
    def slots(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """For each access, the given operand and which index each dimension is."""
        place = {index: n for n, index in enumerate(self.indices)}
        return tuple(
            (number, tuple(place[index] for index in access.indices))
            for access, number in self.axes
        )


def einsum_expression(
    subscripts: str,
    operands: Sequence[Shaped] | int,
    missing: str = "zero",
    schedule: "Schedule | None" = None,
    semiring: "Semiring | None" = None,
    mask: str | None = None,
) -> Expression:
    """Return the expression of an einsum string, for operands or a number of them.

    The shapes say what ``...`` stands for; without one the number is enough. ``mask``
    is as `mask_kind` gives it.
    """
    if isinstance(operands, int):
        return _einsum_expression(
            subscripts, operands, None, missing, schedule, semiring, mask
        )
    stretched = None
    if isinstance(subscripts, str) and "..." in subscripts:
        from sparray.compiler.index_notation.ellipsis import stretched_dimensions

        stretched = stretched_dimensions(subscripts, [x.shape for x in operands])
    return _einsum_expression(
        subscripts, len(operands), stretched, missing, schedule, semiring, mask
    )


@lru_cache(maxsize=4096)
def _einsum_expression(
    subscripts: str,
    n_operands: int,
    stretched: "tuple[tuple[bool, ...] | None, ...] | None",
    missing: str,
    schedule: "Schedule | None",
    semiring: "Semiring | None",
    mask: str | None,
) -> Expression:
    # Imported when there is something to parse: `import sparray` is to be quick.
    from sparray.compiler.index_notation.einsum import parse_einsum

    stated = parse_einsum(subscripts, n_operands, stretched)
    return _expression(subscripts, stated, missing, schedule, semiring, mask)


@lru_cache(maxsize=4096)
def assignment_expression(
    text: str,
    missing: str = "zero",
    schedule: "Schedule | None" = None,
    semiring: "Semiring | None" = None,
    mask: str | None = None,
    mask_tensor: str | None = None,
) -> Expression:
    """Return the expression of ``"C[i,j] = A[i,k] * B[k,j]"``.

    ``mask_tensor`` is what the mask is called, by default a name that is free.
    """
    from sparray.compiler.index_notation.parser import parse_assignment

    stated = parse_assignment(text)
    return _expression(text, stated, missing, schedule, semiring, mask, mask_tensor)


def _expression(
    text: str,
    stated: "Assignment",
    missing: str,
    schedule: "Schedule | None",
    semiring: "Semiring | None",
    mask: str | None,
    mask_tensor: str | None = None,
) -> Expression:
    from sparray.compiler.index_notation.canonical import (
        canonicalize,
        separate_accesses,
        symbolize,
    )
    from sparray.compiler.index_notation.masks import mask_name, masked, refuse_marks
    from sparray.compiler.index_notation.verify import verify

    check_missing(missing)
    refuse_marks(stated.value, text)
    if semiring is not None:
        stated = _over_semiring(text, stated, missing, semiring)
    named = None
    if mask is not None:
        named = mask_name((stated,)) if mask_tensor is None else mask_tensor
    if named is not None:
        stated = masked(stated, named, complement=mask == COMPLEMENT)
    verify(stated)
    renamed, renaming = canonicalize(stated)
    users = {canonical: user for user, canonical in renaming.tensors.items()}
    assignment, reads = separate_accesses(renamed)
    assignment, sources = symbolize(assignment)
    tensors = tuple(
        user for canonical, user in users.items() if canonical != names.OUTPUT
    )
    operands = tuple(
        (name, tensors.index(users[tensor])) for name, tensor in reads.items()
    )
    # The index of a capital letter of einsum has an underscore that nobody wrote.
    index_names = tuple(
        (canonical, user if "=" in text else user.removesuffix("_"))
        for user, canonical in renaming.indices.items()
    )
    target = users[names.OUTPUT]
    road: object = object()
    if schedule is None:
        road = _roads.setdefault((assignment, operands, missing, semiring, mask), road)
    return Expression(
        text,
        assignment,
        tensors,
        operands,
        missing,
        schedule,
        index_names,
        target,
        semiring,
        named,
        mask == COMPLEMENT,
        sources,
        road,
    )


def _over_semiring(
    text: str, stated: "Assignment", missing: str, semiring: "Semiring"
) -> "Assignment":
    from sparray.compiler.index_notation.semiring import over_semiring

    if missing != "zero":
        raise ExpressionError(
            "missing: expected 'zero' over a semiring, whose zero is what is not "
            f"stored, got {missing!r}"
        )
    return over_semiring(stated, semiring, text)
