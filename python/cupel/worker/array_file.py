"""Arrays of numpy as a safetensors file, for workloads whose values do not come from torch."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32", "uint64": "U64", "int64": "I64",
    "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
}
# Kept as bytes with the type's name beside it, as workload folders keep what safetensors has no name for.
_AS_BYTES = {"complex128": "complex<f64>", "float8_e8m0fnu": "f8E8M0FNU", "float8_e4m3": "f8E4M3", "float8_e3m4": "f8E3M4", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ"}
_ALIGNMENT = 64


def by_device(values: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Names of values by device, then by position: `0`, `1`, ... on a single one, `d1/0` for the first on the second."""
    if len(values) == 1:
        return {str(i): value for i, value in enumerate(values[0])}
    return {f"d{device}/{i}": value for device, row in enumerate(values) for i, value in enumerate(row)}


def write_arrays(path: str | Path, arrays: Mapping[str, Any]) -> None:
    """The file appears whole or not at all."""
    header: dict[str, object] = {}
    kept: dict[str, str] = {}
    dense = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    at = 0
    # Wide elements first: then all are aligned, and the reader maps them without a copy.
    order = sorted(dense, key=lambda name: -dense[name].dtype.itemsize)
    for name in order:
        array = dense[name]
        shape, kind = list(array.shape), str(array.dtype)
        if kind in _AS_BYTES:
            kept[f"cupel.dtype.{name}"] = _AS_BYTES[kind]
            shape, kind = [*shape, array.dtype.itemsize], "uint8"
        if kind not in _NAMES:
            raise TypeError(f"arrays of {array.dtype} cannot be kept in a file: safetensors and StableHLO have no such type")
        header[name] = {"dtype": _NAMES[kind], "shape": shape, "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
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
                if dense[name].nbytes:
                    file.write(memoryview(dense[name].reshape(-1).view(np.uint8)))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
