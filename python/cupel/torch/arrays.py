"""Tensors of torch as memory of the C API and back, without copies where the memory is dense and the CPU's."""

from __future__ import annotations

import ctypes

import torch

from cupel._native import Array

TYPES: dict[torch.dtype, str] = {
    torch.bool: "i1",
    torch.uint8: "ui8",
    torch.uint16: "ui16",
    torch.uint32: "ui32",
    torch.uint64: "ui64",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e4m3fnuz: "f8E4M3FNUZ",
    torch.float8_e5m2fnuz: "f8E5M2FNUZ",
}
_DTYPES = {name: dtype for dtype, name in TYPES.items()}


def to_array(tensor: torch.Tensor) -> Array:
    """The tensor's own memory where that is dense, else a dense copy's; the array keeps it alive."""
    if tensor.dtype is torch.complex32:  # Programs hold it as complex<f32> with parts rounded to f16.
        tensor = tensor.to(torch.complex64)
    if tensor.dtype not in TYPES:
        raise TypeError(f"tensors of {tensor.dtype} cannot be passed to a device: StableHLO has no such type")
    dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return Array(dense.data_ptr(), dense.nbytes, tuple(dense.shape), TYPES[dense.dtype], dense)


def from_array(array: Array) -> torch.Tensor:
    """A tensor on the array's memory, which lives as long as the tensor does."""
    dtype = _DTYPES.get(array.type)
    if dtype is None:
        raise TypeError(f"torch has no type for elements of {array.type}")
    if array.size == 0:
        return torch.empty(array.shape, dtype=dtype)
    memory = (ctypes.c_char * array.size).from_address(array.address)
    memory.owner = array.owner  # torch keeps `memory`, which keeps the result.
    return torch.frombuffer(memory, dtype=dtype).reshape(array.shape)
