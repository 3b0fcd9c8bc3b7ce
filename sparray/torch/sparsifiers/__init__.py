"""Rules that choose what a sparse tensor keeps: one file for each."""

from sparray.torch.sparsifiers.fisher import Fisher
from sparray.torch.sparsifiers.grouped_nm import GroupedNM
from sparray.torch.sparsifiers.hard_concrete import HardConcrete
from sparray.torch.sparsifiers.keep_all import KeepAll
from sparray.torch.sparsifiers.keep_nonzero import KeepNonzero
from sparray.torch.sparsifiers.magnitude import Magnitude
from sparray.torch.sparsifiers.movement import Movement
from sparray.torch.sparsifiers.nm import NM
from sparray.torch.sparsifiers.per_block import PerBlock
from sparray.torch.sparsifiers.random_fraction import RandomFraction
from sparray.torch.sparsifiers.rigl import RigL
from sparray.torch.sparsifiers.set import SET
from sparray.torch.sparsifiers.sparse_gpt import SparseGPT
from sparray.torch.sparsifiers.sparsifier import Needs, Observed, Sparsifier
from sparray.torch.sparsifiers.threshold import Threshold
from sparray.torch.sparsifiers.wanda import Wanda
from sparray.torch.sparsifiers.whole_blocks import WholeBlocks

__all__ = [
    "NM",
    "SET",
    "Fisher",
    "GroupedNM",
    "HardConcrete",
    "KeepAll",
    "KeepNonzero",
    "Magnitude",
    "Movement",
    "Needs",
    "Observed",
    "PerBlock",
    "RandomFraction",
    "RigL",
    "SparseGPT",
    "Sparsifier",
    "Threshold",
    "Wanda",
    "WholeBlocks",
]
