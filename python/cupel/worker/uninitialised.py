"""Tells whether what a function gives depends on memory that nobody wrote: the result of torch.empty and its family, or of a view or sum of it.

Such a result has no expected value: it is whatever the memory held. Used where torch's results become expected ones. Judges by what happens, not by
names alone: an `empty` that is filled before anybody reads it is as good as any other.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Operators that give memory as it is; `resize*` gives what it adds as it is.
_FRESH = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "empty_quantized")
_GROWING = ("resize", "resize_", "resize_as", "resize_as_")


def _operator(func: Any) -> str:
    return func._schema.name.rpartition("::")[2]


def gives_uninitialised_memory(func: Any) -> bool:
    return _operator(func) in (*_FRESH, *_GROWING)


class _Filled(TorchDispatchMode):
    """Memory that nobody wrote holds this byte."""

    def __init__(self, byte: int) -> None:
        super().__init__()
        self._byte = byte

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        written = args[0].untyped_storage().nbytes() if _operator(func) in _GROWING else 0
        result = func(*args, **(kwargs or {}))
        if gives_uninitialised_memory(func) and result.layout == torch.strided and result.device.type == "cpu":
            memory = torch.empty(0, dtype=torch.uint8).set_(result.untyped_storage())
            memory[written:].fill_(min(self._byte, 1) if result.dtype == torch.bool else self._byte)
        return result


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return (torch.view_as_real(dense) if dense.is_complex() else dense).reshape(-1).view(torch.uint8)


def depends_on_uninitialised_memory(call: Callable[[], list[torch.Tensor]]) -> bool:
    """Whether runs that differ only in what unwritten memory holds give other tensors. `call` must give the same each time but for that."""
    results = []
    for byte in (0, 1, 0xFF):  # Zero, a number, and NaN where there is one.
        with _Filled(byte):
            results.append(call())
    return any(first.shape != other.shape or not torch.equal(_bits(first), _bits(other))
               for again in results[1:] for first, other in zip(results[0], again, strict=True))
