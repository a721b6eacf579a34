"""Memory that nobody wrote: the result of torch.empty and its family, of torch.Tensor(sizes), or of a view or sum of it.

What a function makes of it has no expected value: it is whatever the memory held. Used where torch's results become expected ones, and where loaders
make weights, some of which only a checkpoint would write. Judges by what happens, not by names alone: an `empty` that is filled before anybody reads
it is as good as any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Operators that give memory as it is; `resize*` gives what it adds as it is.
_FRESH = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "empty_quantized")
_GROWING = ("resize", "resize_", "resize_as", "resize_as_")


def _operator(func: Any) -> str:
    return func._schema.name.rpartition("::")[2]


def gives_uninitialised_memory(func: Any) -> bool:
    return _operator(func) in (*_FRESH, *_GROWING)


def _is_memory(value: Any) -> bool:
    """Whether it is a tensor with memory of its own here, rather than one that only describes one, or wraps others."""
    return type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided and value.device.type == "cpu"


class _Filled(TorchDispatchMode):
    """Memory that nobody wrote holds this byte."""

    def __init__(self, byte: int) -> None:
        super().__init__()
        self._byte = byte

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        written = args[0].untyped_storage().nbytes() if _operator(func) in _GROWING and _is_memory(args[0]) else 0
        result = func(*args, **(kwargs or {}))
        if gives_uninitialised_memory(func) and _is_memory(result):
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


# What copies and changes nothing: of memory that nobody wrote it makes more of it.
_COPIES = ("_to_copy", "clone", "contiguous")


class Zeroed(_Filled):
    """Memory that nobody wrote is zero, as it is in lowered programs; and it is known which tensors still are such memory."""

    def __init__(self) -> None:
        super().__init__(0)
        self._unwritten: dict[int, StorageWeakRef] = {}  # As long as one is kept no other storage has its number.

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if _operator(func) in _FRESH or (_operator(func) in _COPIES and self.is_unwritten(args[0])):
            self._add(result)
        elif self._unwritten and func._schema.is_mutable:
            self._written(func, args, kwargs or {})
        return result

    def _add(self, tensor: Any) -> None:
        if _is_memory(tensor) and tensor.numel():
            reference = StorageWeakRef(tensor.untyped_storage())
            self._unwritten[reference.cdata] = reference

    def _written(self, func: Any, args: Any, kwargs: Any) -> None:
        for i, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                for tensor in tree_leaves(args[i] if i < len(args) else kwargs.get(argument.name)):
                    if _is_memory(tensor):
                        self._unwritten.pop(tensor.untyped_storage()._cdata, None)

    def is_unwritten(self, tensor: Any) -> bool:
        return bool(self._unwritten) and _is_memory(tensor) and tensor.untyped_storage()._cdata in self._unwritten

    def names_of_unwritten(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> list[str]:
        """Those that no call wrote. What stands in them by other ways, such as numpy's, is no zero."""
        return [name for name, tensor in tensors if self.is_unwritten(tensor) and not tensor.detach().any()]
