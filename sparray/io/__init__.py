"""Arrays in files: text formats, archives, Binsparse and safetensors.

`load` and `save` choose by the name of the file; each kind has functions of its own
with its options. Nothing is believed that a file says: counts are compared with the
size of the file before memory is taken, and buffers are checked as any from outside.
"""

from sparray.io.description import Description
from sparray.io.hdf5 import read_hdf5, write_hdf5
from sparray.io.kinds import KINDS, FileKind, describe, load, save
from sparray.io.matrix_market import read_mtx
from sparray.io.npz import read_npz, write_binsparse_npz, write_npz, write_scipy_npz
from sparray.io.safetensors_file import read_safetensors, write_safetensors
from sparray.io.smtx import read_smtx
from sparray.io.text_writing import write_mtx, write_smtx, write_tns
from sparray.io.tns import read_tns

__all__ = [
    "KINDS",
    "Description",
    "FileKind",
    "describe",
    "load",
    "read_hdf5",
    "read_mtx",
    "read_npz",
    "read_safetensors",
    "read_smtx",
    "read_tns",
    "save",
    "write_binsparse_npz",
    "write_hdf5",
    "write_mtx",
    "write_npz",
    "write_safetensors",
    "write_scipy_npz",
    "write_smtx",
    "write_tns",
]
