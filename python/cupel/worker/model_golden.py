"""The golden result of a model: the very module, eager, on the CPU, in the dtype it was loaded in; before anything is captured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from cupel.torch.captured import Capture
from cupel.torch.structure import Flat, describe, replaced, tensors_of


@dataclass
class Golden:
    """What is expected, and the function that a device has to compute it with."""

    flat: Flat
    expected: list[torch.Tensor]
    result_names: list[str]
    facts: dict[str, Any] = field(default_factory=dict)
    capture: Callable[[], Capture] | None = None
    """Another way to the graphs than that for inference."""


def _cloned(value: Any) -> Any:
    """Caches are written to: each run starts from the same state."""
    return replaced(value, lambda tensor: tensor.detach().clone())


def _is_finite(tensors: list[torch.Tensor]) -> bool:
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors if tensor.is_floating_point())


def golden_inference(loader: Any, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int) -> Golden:
    with torch.no_grad():
        own_args, own_kwargs = _cloned((args, kwargs))
        torch.manual_seed(seed)
        output = model(*own_args, **own_kwargs)
    found = tensors_of(output)
    expected = [tensor.detach().clone() for _, tensor in found]
    flat = Flat(model, args, kwargs, lambda result: [tensor for _, tensor in tensors_of(result)])
    facts = {"output": f"{type(output).__name__} {describe(output)}" if not isinstance(output, torch.Tensor) else describe(output), "finite": _is_finite(expected)}
    return Golden(flat, expected, [path or "output" for path, _ in found], facts)
