"""Tensors that pass to the C++ side through memory both have mapped: no copy through a pipe, no files left behind."""

from __future__ import annotations

import mmap
import os
from typing import Any

import torch

ALIGNMENT = 64


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The elements in row-major order, as bytes."""
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if plain.is_complex():
        plain = torch.view_as_real(plain)
    return plain.reshape(-1).view(torch.uint8)


class SharedTensors:
    """Places tensors one after another in the file in memory that a request names; `use` begins anew for the next test."""

    def __init__(self) -> None:
        self._path = ""
        self._descriptor = -1
        self._size = 0
        self._map: mmap.mmap | None = None
        self._used = 0

    def use(self, path: str) -> None:
        self._used = 0
        if path != self._path:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            self._path, self._size, self._map = path, 0, None

    def _reserve(self, size: int) -> int:
        begin = (self._used + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        if begin + size > self._size:
            self._size = max(1 << 20, 2 * (begin + size))
            os.ftruncate(self._descriptor, self._size)
            self._map = mmap.mmap(self._descriptor, self._size)
        self._used = begin + size
        return begin

    def put(self, tensor: torch.Tensor) -> dict[str, Any]:
        """Copies a tensor there; what the other side must know to find it."""
        size = tensor.numel() * tensor.element_size()
        begin = self._reserve(size)
        if size:
            torch.frombuffer(self._map, dtype=torch.uint8, count=size, offset=begin).copy_(_bytes_of(tensor))
        return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), "offset": begin}
