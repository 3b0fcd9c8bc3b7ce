"""Importing sparray.torch patches nothing in torch."""

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("torch")

SCRIPT = textwrap.dedent(
    """
    import sys, warnings
    warnings.simplefilter("ignore")
    import torch, torch.amp, torch.distributed, torch.func, torch.fx, torch.library
    import torch.nn, torch.optim, torch.utils.checkpoint, torch.utils.data

    kept = []  # so that no identity is used twice

    def seen():
        found = {}
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "torch" and module is not None:
                for key, value in list(vars(module).items()):
                    found[name, key] = value
                    if isinstance(value, type):
                        for inner, one in list(vars(value).items()):
                            found[name, key, inner] = one
        kept.append(found)
        return found

    before = seen()
    import sparray.torch
    after = seen()
    known = {key[0] for key in before}
    changed = {k for k, v in before.items() if after.get(k) is not v}
    changed |= {k for k in after.keys() - before.keys() if k[0] in known}
    submodules = {k for k in changed if ".".join(k) in sys.modules}
    print(*sorted(map(".".join, changed - submodules)))
    """
)


def test_nothing_in_torch_is_replaced():
    """Every attribute of every module of torch, and of every class, is as before."""
    made = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120
    )
    assert made.returncode == 0, made.stderr
    # What `torch.serialization.add_safe_globals` and `torch.library.custom_op` add to,
    # and no more.
    safe = "torch._weights_only_unpickler._marked_safe_globals_set"
    assert made.stdout.split() == [safe, "torch.ops.sparray"]
