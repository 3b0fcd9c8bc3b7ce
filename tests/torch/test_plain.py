"""States of plain tensors, which safetensors files and others hold."""

import io

import pytest
import torch

import sparray.torch as spt
from sparray.errors import FileFormatError, SparrayError

from .test_rebuilding import FORMATS, layer, same

safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is missing")


@pytest.mark.parametrize("format", FORMATS)
def test_a_safetensors_file_holds_every_format(format, tmp_path):
    state = layer(format).state_dict()
    path = tmp_path / "model.safetensors"
    safetensors.save_file(spt.to_plain(state), path)
    made = spt.from_plain(safetensors.load_file(path))
    assert list(made) == sorted(state) and same(made["weight"], state["weight"])
    layer(format, seed=2).load_state_dict(made, assign=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64])
def test_dtypes_and_fill_values_are_kept(dtype):
    W = layer().weight.detach().mul(4).to(dtype)
    W = W if dtype is torch.int64 else W.cos()
    made = spt.from_plain(safetensors.load(safetensors.save(spt.to_plain({"W": W}))))
    assert same(made["W"], W)


def test_torch_reads_the_plain_tensors_without_sparray():
    state = layer().state_dict()
    plain = spt.to_plain(state)
    assert all(type(tensor) is torch.Tensor for tensor in plain.values())
    assert plain["weight::values"].data_ptr() == state["weight"].values().data_ptr()
    file = io.BytesIO()
    torch.save(plain, file)
    file.seek(0)
    with torch.serialization.safe_globals([]):
        made = torch.load(file, weights_only=True)
    assert same(spt.from_plain(made)["weight"], state["weight"])


def test_safetensors_refuses_a_sparse_tensor_that_is_not_taken_apart():
    # By its own error, as it would torch's: it looks at the layout first.
    with pytest.raises(ValueError, match="sparse tensors: `\\['weight'\\]`"):
        safetensors.save(dict(layer().state_dict()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s.pop("weight::values"),
        lambda s: s.pop("weight::sparray"),
        lambda s: s.pop("weight::level1.crd"),
        lambda s: s.update({"weight::sparray": torch.zeros(3)}),
        lambda s: s.update({"weight::level9.crd": torch.zeros(3)}),
        lambda s: s.update({"weight::values": torch.zeros(3)}),
        lambda s: s["weight::level1.crd"].neg_(),
    ],
)
def test_damaged_parts_are_refused(spoil):
    plain = spt.to_plain(layer().state_dict())
    spoil(plain)
    with pytest.raises((FileFormatError, SparrayError)):
        spt.from_plain(plain)


def test_names_and_values_that_could_be_mistaken_are_refused():
    with pytest.raises(FileFormatError, match="a::b"):
        spt.to_plain({"a::b": torch.ones(1)})
    with pytest.raises(FileFormatError, match="int"):
        spt.to_plain({"step": 3})
