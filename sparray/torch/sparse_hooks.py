"""Hooks by which a plan changes what a model computes: outputs and gradients.

They stand on modules, so that copies of a model have them.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from sparray.errors import PlanError
from sparray.torch.inner_functions import InnerFunctions
from sparray.torch.tensor import SparseTensor

__all__ = [
    "SparseGradient",
    "SparseOutput",
    "functions_in",
    "gradients_in",
    "output_of",
    "put_functions",
    "put_gradient",
    "put_output",
    "remove_functions",
    "remove_gradients",
    "remove_output",
]


class SparseOutput:
    """A hook that makes the output of a module, or of a function, sparse.

    Parameters
    ----------
    spec : Sparse
        What it becomes.
    """

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def __call__(self, module: nn.Module, args: Any, output: Any) -> SparseTensor:
        """Return what is kept of the output of a module."""
        return self.of(output, f"{type(module).__name__}()")

    def result(self, output: Any) -> SparseTensor:
        """Return what is kept of the result of a function."""
        return self.of(output, "a function")

    def of(self, output: Any, owner: str) -> SparseTensor:
        """Return what is kept.

        Raises
        ------
        PlanError
            If it is not one tensor.
        """
        if not isinstance(output, Tensor):
            raise PlanError(
                f"{owner}: expected an output that is one tensor, "
                f"got {type(output).__name__}"
            )
        made: SparseTensor = self.spec.sparsifier(output, self.spec.format)
        if self.spec.grad is not None:
            made.grad_format = self.spec.grad
        return made


class SparseGradient:
    """A hook that makes the gradient of a parameter sparse.

    It is called before the module runs, and sees to it that the parameter has it: also
    one of a copy of the model, or one that was put in its place.

    Parameters
    ----------
    name : str
        Of the parameter, in the module.
    spec : Sparse
        What the gradient becomes.
    """

    def __init__(self, name: str, spec: Any) -> None:
        self.name, self.spec = name, spec
        self._handles: list[Any] = []
        self._parameter: Tensor | None = None

    def __call__(self, module: nn.Module, args: Any) -> None:
        """Attach to the parameter, if that is another one than before."""
        parameter = getattr(module, self.name)
        if parameter is not self._parameter:
            self.detach()
            self.attach(parameter)

    def attach(self, parameter: Tensor) -> None:
        """Let gradients of a parameter become what the spec says."""
        self._parameter = parameter
        if isinstance(parameter, SparseTensor):
            parameter.grad_format = self.spec
            return
        self._handles.append(parameter.register_hook(self._masked))  # type: ignore[no-untyped-call]
        if self.spec.format == "coo":
            stored = parameter.register_post_accumulate_grad_hook(self._store)  # type: ignore[no-untyped-call]
            self._handles.append(stored)

    def _masked(self, grad: Tensor) -> Tensor:
        with torch.no_grad():
            mask = self.spec.sparsifier.keep(grad.detach())
        return grad.masked_fill(~mask, 0)

    @staticmethod
    def _store(parameter: Tensor) -> None:
        # As torch's own sparse gradients are: SGD, Adagrad and SparseAdam take them.
        if parameter.grad is not None:
            parameter.grad = parameter.grad.to_sparse_coo()  # type: ignore[no-untyped-call]

    def detach(self) -> None:
        """Leave the parameter as it was."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if isinstance(self._parameter, SparseTensor):
            self._parameter.grad_format = None
        self._parameter = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "SparseGradient":
        made = memo[id(self)] = SparseGradient(self.name, self.spec)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseGradient, (self.name, self.spec)


def put_output(module: nn.Module, spec: Any) -> None:
    """Make the output of a module sparse, in place of what was said before."""
    remove_output(module)
    module.register_forward_hook(SparseOutput(spec))


def put_functions(module: nn.Module, specs: Mapping[str, Any]) -> None:
    """Make results of functions sparse that a module calls, by patterns of names."""
    known = functions_in(module)
    remove_functions(module)
    changes = {
        name: SparseOutput(spec).result for name, spec in {**known, **specs}.items()
    }
    inner = InnerFunctions(changes)
    module.register_forward_pre_hook(inner.enter, prepend=True)
    module.register_forward_hook(inner.leave, prepend=True, always_call=True)


def put_gradient(module: nn.Module, name: str, spec: Any) -> None:
    """Make the gradient of a parameter sparse, in place of what was said before."""
    remove_gradients(module, name)
    hook = SparseGradient(name, spec)
    hook.attach(getattr(module, name))
    module.register_forward_pre_hook(hook)


def gradients_in(module: nn.Module) -> dict[str, Any]:
    """Return what gradients of a module's own parameters become, by their names."""
    hooks = module._forward_pre_hooks.values()
    return {hook.name: hook.spec for hook in hooks if isinstance(hook, SparseGradient)}


def output_of(module: nn.Module) -> Any:
    """Return what a module's output becomes, or None."""
    hooks = module._forward_hooks.values()
    return next((hook.spec for hook in hooks if isinstance(hook, SparseOutput)), None)


def functions_in(module: nn.Module) -> dict[str, Any]:
    """Return what results of functions become that a module calls, by name."""
    hooks = map(_owner, module._forward_pre_hooks.values())
    found = next((hook for hook in hooks if hook is not None), None)
    changes: Any = {} if found is None else found.changes
    return {name: change.__self__.spec for name, change in changes.items()}


def _owner(hook: Any) -> InnerFunctions | None:
    owner = getattr(hook, "__self__", None)
    return owner if isinstance(owner, InnerFunctions) else None


def remove_output(module: nn.Module) -> bool:
    """Leave a module's output as it is; tell whether it was changed."""
    return _remove(module._forward_hooks, lambda hook: isinstance(hook, SparseOutput))


def remove_functions(module: nn.Module, names: str = "*") -> bool:
    """Leave functions as they are that a module calls; tell whether some were not."""
    known = functions_in(module)
    kept = {name: x for name, x in known.items() if not fnmatchcase(name, names)}
    if len(kept) == len(known):
        return False
    for hooks in (module._forward_pre_hooks, module._forward_hooks):
        for key in _remove_keys(hooks, lambda hook: _owner(hook) is not None):
            module._forward_hooks_always_called.pop(key, None)
    if kept:
        put_functions(module, kept)
    return True


def remove_gradients(module: nn.Module, names: str = "*") -> bool:
    """Leave gradients of a module's parameters as they are; tell if some were not."""

    def is_meant(hook: Any) -> bool:
        return isinstance(hook, SparseGradient) and fnmatchcase(hook.name, names)

    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SparseGradient) and is_meant(hook):
            hook.detach()
            parameter = getattr(module, hook.name)
            # Copies have the format before a hook has met them.
            if isinstance(parameter, SparseTensor):
                parameter.grad_format = None
    return _remove(module._forward_pre_hooks, is_meant)


def _remove(hooks: dict[int, Any], is_meant: Callable[[Any], bool]) -> bool:
    return bool(_remove_keys(hooks, is_meant))


def _remove_keys(hooks: dict[int, Any], is_meant: Callable[[Any], bool]) -> list[int]:
    mine = [key for key, hook in hooks.items() if is_meant(hook)]
    for key in mine:
        del hooks[key]
    return mine
