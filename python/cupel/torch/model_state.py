"""What a model keeps from one call to the next besides its weights: buffers, and tensors, numbers and containers among its attributes.

A model that counts its calls, fills a cache of its own or writes to a buffer gives another result the second time. Every run of a test has to begin as the first one
did: what is kept here is put back. Weights are not copied, which would be as much memory again: one that a run writes to is found out by its version, and cannot be put back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

_MAX_DEPTH = 6
# Weights, other modules and what torch calls around them are no state of a run.
_OF_TORCH = ("_parameters", "_modules", "training")
_NUMBERS = (int, float, complex, str, bytes, bool, type(None))


def _is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_quantized and type(tensor) in (torch.Tensor, torch.nn.Buffer)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """NaN is itself, and -0 is not 0."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    first, second = (tensor.detach().resolve_conj().resolve_neg().reshape(-1).contiguous() for tensor in (one, other))
    return bool(torch.equal(first.view(torch.uint8), second.view(torch.uint8)))


@dataclass
class _Kept:
    """A value, and what it held."""

    value: Any
    copy: torch.Tensor | None = None
    items: dict[Any, _Kept] = field(default_factory=dict)
    is_open: bool = False
    """Whether it is a container, and `items` are all that it holds."""
    has_history: bool = False
    """Whether gradients went through it to where it came from."""

    @staticmethod
    def of(value: Any, depth: int = 0, seen: frozenset[int] = frozenset()) -> _Kept:
        if isinstance(value, torch.Generator):
            return _Kept(value, value.get_state())
        if isinstance(value, torch.Tensor):
            return _Kept(value, value.detach().clone() if _is_plain(value) and not isinstance(value, torch.nn.Parameter) else None, has_history=value.grad_fn is not None)
        if type(value) not in (list, tuple, dict, set) or depth >= _MAX_DEPTH or id(value) in seen:
            return _Kept(value)
        pairs = value.items() if type(value) is dict else enumerate(value)
        return _Kept(value, None, {key: _Kept.of(item, depth + 1, seen | {id(value)}) for key, item in pairs}, True)

    def is_as_it_was(self, now: Any) -> bool:
        if now is not self.value:
            return isinstance(now, _NUMBERS) and type(now) is type(self.value) and now == self.value
        if self.copy is not None:
            return same_bits(self.copy, now.get_state() if isinstance(now, torch.Generator) else now)
        if not self.is_open:
            return True
        if type(now) is dict:
            return now.keys() == self.items.keys() and all(kept.is_as_it_was(now[key]) for key, kept in self.items.items())
        return len(now) == len(self.items) and (type(now) is set or all(kept.is_as_it_was(item) for kept, item in zip(self.items.values(), now)))

    def put_back(self) -> Any:
        if isinstance(self.value, torch.Generator):
            self.value.set_state(self.copy)
        elif self.copy is not None:
            if self.value.shape != self.copy.shape or self.value.dtype != self.copy.dtype:
                return self.copy.clone()
            if self.value.grad_fn is not None and not self.has_history:
                if self.value._is_view():
                    return self.copy.clone()
                self.value.detach_()  # What a run wrote to it leads back into that run.
            if not torch._debug_has_internal_overlap(self.value):
                self.value.data.copy_(self.copy)
            elif not same_bits(self.copy, self.value):  # Elements that lie in one place (`expand`) cannot be written one by one.
                return self.copy.clone()
        elif self.is_open:
            items = {key: kept.put_back() for key, kept in self.items.items()}
            if type(self.value) is list:
                self.value[:] = items.values()
            elif type(self.value) in (dict, set):
                self.value.clear()
                self.value.update(items if type(self.value) is dict else items.values())
        return self.value


class WeightsWritten(Exception):
    """A model wrote to its weights and gives another result with them: no further run begins as the first one did."""


def _version(tensor: torch.Tensor) -> int:
    """How often it was written to; of one that has no size before the first run, never."""
    return 0 if torch.nn.parameter.is_lazy(tensor) or tensor.is_inference() else tensor._version


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    """By name. TorchScript keeps its own where Python does not reach; of its modules buffers alone are state, which no run replaces."""
    if isinstance(module, torch.jit.ScriptModule):
        return dict(module.named_buffers(recurse=False))
    return vars(module)


def _weights(module: torch.nn.Module) -> dict[str, torch.Tensor | None]:
    return dict(module.named_parameters(recurse=False)) if isinstance(module, torch.jit.ScriptModule) else module._parameters


class ModelState:
    """The state of a model as it is now, and of generators that it is called with."""

    def __init__(self, model: torch.nn.Module, generators: Sequence[torch.Generator] = ()):
        self.generators = generators
        self._drawn = [_Kept.of(one) for one in generators]
        self._weights = [(module, dict(_weights(module))) for module in model.modules()]
        self._versions = {name: (parameter, _version(parameter)) for name, parameter in model.named_parameters()}
        self._kept = [(module, {name: _Kept.of(value) for name, value in _attributes(module).items() if self._counts(name)}) for module in model.modules()]

    @staticmethod
    def _counts(name: str) -> bool:
        return name not in _OF_TORCH and not name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called"))

    def written(self) -> list[str]:
        """The weights that a run has written to."""
        return [name for name, (parameter, version) in self._versions.items() if _version(parameter) != version]

    def is_as_it_was(self) -> bool:
        if self.written() or any(_weights(module).get(name) is not one for module, weights in self._weights for name, one in weights.items()):
            return False
        if not all(kept.is_as_it_was(kept.value) for kept in self._drawn):
            return False
        for module, kept in self._kept:
            now = {name: value for name, value in _attributes(module).items() if self._counts(name)}
            if now.keys() != kept.keys() or not all(one.is_as_it_was(now[name]) for name, one in kept.items()):
                return False
        return True

    def put_back(self) -> None:
        for kept in self._drawn:
            kept.put_back()
        with torch.no_grad():
            for module, weights in self._weights:
                _weights(module).update(weights)
            for module, kept in self._kept:
                own = _attributes(module)
                for name in [name for name in own if self._counts(name) and name not in kept]:
                    del own[name]
                for name, one in kept.items():
                    own[name] = one.put_back()


def settled(before: ModelState, model: torch.nn.Module, again: Callable[[], Sequence[torch.Tensor]], expected: Sequence[torch.Tensor]) -> tuple[ModelState, bool]:
    """The state that further runs begin with, behind the run that gave `expected`, and whether it is the one before that run.

    Most models that changed have only prepared something, and give the same `again`: they are left as they are. Of others every run begins as the first one did;
    raises WeightsWritten where it cannot.
    """
    if before.is_as_it_was():
        return before, False
    prepared = ModelState(model, before.generators)
    results = again()
    if len(results) == len(expected) and all(same_bits(one, other) for one, other in zip(results, expected)):
        prepared.put_back()
        return prepared, False
    if names := before.written():
        shown = ", ".join(f"'{name}'" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        raise WeightsWritten(f"the model writes to its weights ({shown}) as it runs, and gives another result the next time: no run could begin as the first one did")
    before.put_back()
    return before, True
