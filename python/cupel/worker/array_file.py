"""Arrays of numpy, and such that lie anywhere in memory, as a safetensors file: for workloads whose values do not come from torch."""

from __future__ import annotations

import ctypes
import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cupel._native import Array

_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32", "uint64": "U64", "int64": "I64",
    "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
}
# Kept as bytes with the type's name beside it, as workload folders keep what safetensors has no name for.
_AS_BYTES = {"complex128": "complex<f64>", "float8_e8m0fnu": "f8E8M0FNU", "float8_e4m3": "f8E4M3", "float8_e3m4": "f8E3M4", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ"}
# As StableHLO writes them.
_OF_STABLEHLO = {
    "i1": "BOOL", "ui8": "U8", "i8": "I8", "ui16": "U16", "i16": "I16", "ui32": "U32", "i32": "I32", "ui64": "U64", "i64": "I64", "f16": "F16", "bf16": "BF16", "f32": "F32",
    "f64": "F64", "complex<f32>": "C64", "f8E4M3FN": "F8_E4M3", "f8E5M2": "F8_E5M2", "f8E4M3FNUZ": "F8_E4M3FNUZ", "f8E5M2FNUZ": "F8_E5M2FNUZ",
}
_ALIGNMENT = 64


class UnknownType(TypeError):
    """Elements of a type that files have no name for."""


@dataclass(frozen=True)
class _Laid:
    """An array as it goes into a file; `kept` is its type where safetensors has no name for that."""

    shape: list[int]
    name: str
    width: int
    bytes: memoryview
    kept: str = ""


def _laid(value: Any) -> _Laid:
    if isinstance(value, Array):
        count = math.prod(value.shape)
        width, memory = (value.size // count if count else 1), memoryview((ctypes.c_char * value.size).from_address(value.address)) if value.size else memoryview(b"")
        if value.type in _OF_STABLEHLO:
            return _Laid(list(value.shape), _OF_STABLEHLO[value.type], width, memory)
        if value.type in _AS_BYTES.values():
            return _Laid([*value.shape, width], "U8", width, memory, value.type)
        raise UnknownType(f"arrays of {value.type} cannot be kept in a file: safetensors has no such type")
    array = np.asarray(value, order="C")
    kind, memory = str(array.dtype), memoryview(array.reshape(-1).view(np.uint8)) if array.nbytes else memoryview(b"")
    if kind in _AS_BYTES:
        return _Laid([*array.shape, array.dtype.itemsize], "U8", array.dtype.itemsize, memory, _AS_BYTES[kind])
    if kind not in _NAMES:
        raise UnknownType(f"arrays of {array.dtype} cannot be kept in a file: safetensors and StableHLO have no such type")
    return _Laid(list(array.shape), _NAMES[kind], array.dtype.itemsize, memory)


def by_device(values: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Names of values by device, then by position: `0`, `1`, ... on a single one, `d1/0` for the first on the second."""
    if len(values) == 1:
        return {str(i): value for i, value in enumerate(values[0])}
    return {f"d{device}/{i}": value for device, row in enumerate(values) for i, value in enumerate(row)}


def write_arrays(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """The file appears whole or not at all."""
    header: dict[str, object] = {}
    kept: dict[str, str] = {}
    laid = {name: _laid(value) for name, value in arrays.items()}
    at = 0
    # Wide elements first: then all are aligned, and the reader maps them without a copy.
    order = sorted(laid, key=lambda name: -laid[name].width)
    for name in order:
        one = laid[name]
        if one.kept:
            kept[f"cupel.dtype.{name}"] = one.kept
        header[name] = {"dtype": one.name, "shape": one.shape, "data_offsets": [at, at + one.bytes.nbytes]}
        at += one.bytes.nbytes
    if kept:
        header["__metadata__"] = kept
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for name in order:
                file.write(laid[name].bytes)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
