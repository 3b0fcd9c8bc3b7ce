"""Real data become every named format that fits, and come back without a change."""

import itertools
import math
import re

import numpy as np
import pytest
from arrays import same

import sparray as sp
from sparray.errors import FormatError
from sparray.formats import FORMAT_FAMILIES, NAMED_FORMATS, as_format

# Options of files that are not as their kind says: values in a pattern file, and
# indices from 0.
OPTIONS = {
    "Ragusa16.mtx": {"permissive": True},
    "pyttb_sptensor_0_based.tns": {"zero_based": True},
    "splatt_small4_zeroidx.tns": {"zero_based": True},
}
NO_ARRAY = {"pyttb_invalid_type.tns"}
PARAMETERS = {
    "bcsr": ["bcsr(2, 2)", "bcsr(3, 5)"],
    "bcsc": ["bcsc(4, 4)"],
    "batched_bcsr": ["batched_bcsr(2, 3)"],
    "batched_bcsc": ["batched_bcsc(3, 2)"],
    "nm": ["nm(2, 4)", "nm(4, 4)"],
    "nmg": ["nmg(2, 4, 2)", "nmg(3, 3, 5)"],
}
MOST_BYTES = 10_000_000
"""A format fits if it takes no more than this for dense levels and for padding."""
MANY_ENTRIES = 2**18
"""Arrays of more entries are not cut into blocks, which takes a second for each."""
FEW_ENTRIES = 4000
"""Files of no more entries are checked by the fast tests too."""


def names(ndim):
    """Return every named format of a number of dimensions, with parameters."""
    plain = [name for name, named in NAMED_FORMATS.items() if named.fits(ndim)]
    families = [key for key, family in FORMAT_FAMILIES.items() if family.fits(ndim)]
    return plain + [name for key in families for name in PARAMETERS[key]]


def test_every_family_has_parameters():
    assert set(PARAMETERS) == set(FORMAT_FAMILIES)


def n_different(coords):
    """Return the number of different columns; their products fit an int64 here."""
    key = np.zeros(coords.shape[1], dtype=np.int64)
    for row in coords:
        key = key * (int(row.max(initial=0)) + 1) + row
    return len(np.unique(key))


def n_stored(coords, shape, name):
    """Return how many positions a format has for these entries, from counts alone."""
    size = math.prod(shape)
    rows = math.prod(shape[:-1])
    key, *parameters = re.findall(r"\w+", name)
    numbers = [int(parameter) for parameter in parameters]
    if key in ("dense", "bitmap"):
        return size
    if key == "ell":
        if rows > MOST_BYTES:
            return rows
        row = np.ravel_multi_index(tuple(coords[:-1]), shape[:-1])
        return rows * int(np.bincount(row).max(initial=0))
    if key == "dia":
        return len(np.unique(coords[1] - coords[0])) * shape[0]
    if key.startswith("batched"):
        return n_stored_in_slices(coords, shape, numbers)
    if key in ("bcsr", "bcsc"):
        blocks = coords.copy()
        blocks[-2] //= numbers[0]
        blocks[-1] //= numbers[1]
        return n_different(blocks) * numbers[0] * numbers[1]
    if key == "nm":
        n, m = numbers
        return rows * -(-shape[-1] // m) * n
    if key == "nmg":
        n, m, g = numbers
        chunk = math.comb(m, n) * g
        blocks = math.prod(shape[:-2]) * -(-shape[-2] // m)
        return blocks * -(-shape[-1] // chunk) * chunk * n
    return coords.shape[1]


def n_stored_in_slices(coords, shape, block):
    """Return the positions of a batch: of every slice as many as the largest has."""
    slices = math.prod(shape[:-2])
    if slices > MOST_BYTES:
        return slices
    places = coords.copy()
    for row, size in zip(places[-2:], block, strict=bool(block)):
        row //= size
    places = np.unique(places, axis=1)
    number = np.ravel_multi_index(tuple(places[:-2]), shape[:-2])
    return slices * int(np.bincount(number).max(initial=0)) * math.prod(block)


def n_fibres(format, shape):
    """Return the number of positions of the dense levels above the first other one."""
    if format.is_full:
        return 0
    extents = format.level_extents(shape)
    levels = zip(format.levels, extents, strict=True)
    above = itertools.takewhile(lambda pair: pair[0].full, levels)
    return math.prod(extent for _, extent in above)


def without_zeros(array):
    """Return the entries of an array that are not zero."""
    coords, values = array.to_coords()
    kept = values != 0
    return sp.from_coords(coords[:, kept], values[kept], array.shape)


def keeps_pattern(format):
    """Whether what comes back has the entries that there were, and no others."""
    bounded = any(level.bounded for level in format.levels)
    return not (format.is_dense or format.pads or bounded)


def round_trip(array):
    """Take an array to every named format that it fits, and back; return those."""
    coords, _ = array.to_coords()
    taken = []
    for name in names(array.ndim):
        if coords.shape[1] > MANY_ENTRIES and "(" in name:
            continue
        format = as_format(name, array.ndim)
        n_values = n_stored(coords, array.shape, name)
        n_bytes = 8 * n_fibres(format, array.shape)
        if n_values != coords.shape[1]:
            n_bytes += n_values * array.dtype.itemsize
        if n_bytes > MOST_BYTES:
            continue
        try:
            made = array.to_format(format)
        except FormatError as error:
            assert "a conversion never drops a value" in str(error), name
            assert name.startswith("nm")
            continue
        assert made.format == format
        assert made.dtype == array.dtype
        assert len(made.values) == n_values, name
        sp.from_buffers(format, made.shape, made.levels, made.values)
        back = made.to_format(array.format)
        assert back.dtype == array.dtype
        if keeps_pattern(format) and not array.format.is_dense:
            assert same(array, back), name
        else:
            # A zero that was stored is none any more, or there are others beside it.
            assert same(without_zeros(array), without_zeros(back)), name
        taken.append(name)
    return taken


def check_fitting(array, taken):
    """Formats without padding fit everything here; those with dense levels matrices."""
    assert {"coo", "csf"} <= set(taken)
    if 2 * array.size * max(8, array.dtype.itemsize) <= MOST_BYTES:
        assert {"dense", "bitmap"} <= set(taken)
    if array.ndim == 2:
        assert {"csr", "csc", "dcsr", "dcsc"} <= set(taken)


one_array = pytest.mark.data_files(
    *("mtx/*.mtx", "mtx/*.mtx.gz", "dlmc/**/*.smtx", "dlmc/**/*.smtx.gz"),
    *("tensors/*.tns", "tensors/*.tns.gz", "tensors/*.ttx"),
)
small = pytest.mark.data_files(
    *("mtx/GD06_theory.mtx", "mtx/cage5.mtx", "mtx/n3c4-b4.mtx", "mtx/lp_e226.mtx"),
    *("mtx/west0497.mtx", "dlmc/rn50/magnitude_pruning/0.9/initial_conv.smtx"),
    *("tensors/nations.tns", "tensors/splatt_small.tns", "tensors/*.ttx"),
)


def load(path):
    """Read a file of one array; skip the one that is none."""
    if path.name in NO_ARRAY:
        pytest.skip("its word says that it is a list")
    return sp.load(path, **OPTIONS.get(path.name, {}))


@small
def test_small_files(data_file):
    array = load(data_file)
    assert array.nnz <= FEW_ENTRIES
    check_fitting(array, round_trip(array))


@pytest.mark.slow
@one_array
def test_files_of_one_array(data_file):
    array = load(data_file)
    check_fitting(array, round_trip(array))


@pytest.mark.slow
@pytest.mark.data_files("graphs/*.npz", "dnn/*.npz", "images/*.npz")
def test_archives_of_many_arrays(data_file):
    with np.load(data_file) as archive:
        members = sorted(archive)
    parts = re.compile(r"(.*)_(data|indices|indptr|shape)$")
    found = {parts.sub(r"\1", name) for name in members}
    # The layers of the network in between are made in the same way.
    found -= {f"w{number:02d}" for number in range(2, 30)}
    assert found
    for name in sorted(found):
        try:
            array = sp.load(data_file, name=name)
        except Exception:
            if f"{name}_data" not in members and name not in members:
                continue
            raise
        if array.ndim:
            check_fitting(array, round_trip(array))
