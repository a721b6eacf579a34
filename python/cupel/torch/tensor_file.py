"""Tensors of torch as a safetensors file, written from where they lie: no copy of a model's weights is made in memory."""

from __future__ import annotations

import ctypes
import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

_NAMES: dict[torch.dtype, str] = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.uint16: "U16", torch.int16: "I16", torch.uint32: "U32", torch.int32: "I32",
    torch.uint64: "U64", torch.int64: "I64", torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.complex64: "C64", torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
    torch.float8_e4m3fnuz: "F8_E4M3FNUZ", torch.float8_e5m2fnuz: "F8_E5M2FNUZ",
}
# Kept as bytes with the type's name beside it, as workload folders keep what safetensors has no name for.
_AS_BYTES: dict[torch.dtype, str] = {torch.complex128: "complex<f64>"}
_ALIGNMENT = 64


def write_positions(path: str | Path, tensors: Sequence[torch.Tensor]) -> None:
    """The file appears whole or not at all. Tensors are named by position: `0`, `1`, ..."""
    write_tensors(path, {str(i): tensor for i, tensor in enumerate(tensors)})


def write_tensors(path: str | Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """The same by name: `d2/0` is what device 2 has at position 0."""
    header: dict[str, object] = {}
    kept: dict[str, str] = {}
    at = 0
    # Wide elements first: then all are aligned, and the reader maps them without a copy.
    order = sorted(tensors, key=lambda name: -tensors[name].element_size())
    for key in order:
        tensor = tensors[key]
        shape = list(tensor.shape)
        if tensor.dtype in _AS_BYTES:
            kept[f"cupel.dtype.{key}"] = _AS_BYTES[tensor.dtype]
            shape, name = [*shape, tensor.element_size()], "U8"
        elif tensor.dtype in _NAMES:
            name = _NAMES[tensor.dtype]
        else:
            raise TypeError(f"tensors of {tensor.dtype} cannot be kept in a file: safetensors and StableHLO have no such type")
        size = tensor.numel() * tensor.element_size()
        header[key] = {"dtype": name, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    if kept:
        header["__metadata__"] = kept
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for key in order:
                dense = tensors[key].detach().cpu().resolve_conj().resolve_neg().contiguous()
                if dense.numel():
                    file.write(memoryview((ctypes.c_char * dense.nbytes).from_address(dense.data_ptr())))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
