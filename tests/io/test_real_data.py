"""Every file of real data reads, and goes through every writer without a change."""

import numpy as np
import pytest
from arrays import same

import sparray as sp

# Options of files that are not as their kind says: values in a pattern file, and
# indices from 0.
OPTIONS = {
    "Ragusa16.mtx": {"permissive": True},
    "pyttb_sptensor_0_based.tns": {"zero_based": True},
    "splatt_small4_zeroidx.tns": {"zero_based": True},
}
NO_ARRAY = {"pyttb_invalid_type.tns"}
WRITERS = [".npz", ".mtx", ".scipy.npz", ".bsp.npz", ".bsp.h5", ".safetensors"]


def round_trips(array, folder):
    """Write an array as every kind of file and read it again."""
    formats = ["coo", "csf", "csc" if array.ndim == 2 else "coo"]
    for suffix in WRITERS:
        for format in dict.fromkeys(formats):
            path = folder / f"A{suffix}"
            given = array.to_format(format)
            sp.save(path, given)
            again = sp.load(path)
            assert same(array, again), (suffix, format)
            if suffix not in (".mtx", ".scipy.npz"):
                assert again.format == given.format
                assert again.dtype == given.dtype
    if array.dtype.kind != "c":
        path = folder / "A.tns"
        sp.save(path, array, header=True)
        assert same(array, sp.load(path))
    if array.ndim == 2 and np.all(array.values == 1):
        path = folder / "A.smtx.gz"
        sp.save(path, array)
        assert same(array, sp.load(path))


@pytest.mark.slow
@pytest.mark.data_files(
    *("mtx/*.mtx", "mtx/*.mtx.gz", "dlmc/**/*.smtx", "dlmc/**/*.smtx.gz"),
    *("tensors/*.tns", "tensors/*.tns.gz", "tensors/*.ttx"),
)
def test_files_of_one_array(data_file, tmp_path):
    if data_file.name in NO_ARRAY:
        pytest.skip("its word says that it is a list")
    array = sp.load(data_file, **OPTIONS.get(data_file.name, {}))
    assert array.nnz > 0
    round_trips(array, tmp_path)


@pytest.mark.slow
@pytest.mark.data_files("graphs/*.npz", "dnn/*.npz", "images/*.npz")
def test_archives_of_many_arrays(data_file, tmp_path):
    with np.load(data_file) as archive:
        members = dict(archive)
    names = {name.removesuffix("_indptr") for name in members}
    sparse = [name for name in sorted(names) if f"{name}_data" in members]
    for name in sparse:
        array = sp.load(data_file, name=name)
        assert array.shape == tuple(members[f"{name}_shape"])
        np.testing.assert_array_equal(array.values, members[f"{name}_data"])
        np.testing.assert_array_equal(
            array.levels[1]["crd"], members[f"{name}_indices"]
        )
        if array.nnz < 400_000:
            round_trips(array, tmp_path)
    for name, member in members.items():
        array = sp.load(data_file, name=name)
        np.testing.assert_array_equal(array.todense(), member)
