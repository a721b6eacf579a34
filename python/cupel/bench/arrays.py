"""Reads the tensors of a workload folder (safetensors) as numpy arrays, and says how far two lists of them are apart."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

_TYPES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32", "U64": "uint64", "I64": "int64",
          "F16": "float16", "F32": "float32", "F64": "float64", "C64": "complex64"}
_NARROW = {"BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}


def dtype_of(name: str) -> np.dtype:
    if name in _TYPES:
        return np.dtype(_TYPES[name])
    if name in _NARROW:
        import ml_dtypes  # numpy has no such type of its own

        return np.dtype(getattr(ml_dtypes, _NARROW[name]))
    raise TypeError(f"arrays of {name} are not known to numpy")


def read_arrays(path: str | Path, most: int | None = None) -> list[np.ndarray]:
    """By position: `0`, `1`, ..., or the first of them; a program on several devices has no such list."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    if any(not name.isdigit() for name in header):
        raise RuntimeError("the program runs on several devices")
    data = np.memmap(path, np.uint8, "r", 8 + length) if header and any(t["data_offsets"][1] for t in header.values()) else np.zeros(0, np.uint8)
    result = []
    for name in sorted(header, key=int)[:most]:
        begin, end = header[name]["data_offsets"]
        # A copy, aligned as the peers like it.
        result.append(np.frombuffer(data[begin:end].tobytes(), dtype_of(header[name]["dtype"])).reshape(header[name]["shape"]).copy())
    return result


def difference(actual: Sequence[Any], expected: Sequence[np.ndarray]) -> float:
    """The worst over all results of |actual - expected| / |expected|, as norms; infinite where shapes differ or one is not finite."""
    worst = 0.0
    if len(actual) < len(expected):
        return math.inf
    for got, wanted in zip(actual, expected):
        got = np.asarray(got)
        if tuple(got.shape) != tuple(wanted.shape):
            return math.inf
        kind = np.complex128 if np.iscomplexobj(wanted) else np.float64
        got, wanted = got.astype(kind), wanted.astype(kind)
        finite = np.isfinite(wanted)
        if not np.array_equal(finite, np.isfinite(got)):
            return math.inf
        distance, norm = np.linalg.norm((got - wanted)[finite]), np.linalg.norm(wanted[finite])
        worst = max(worst, float(distance / norm) if norm else (0.0 if not distance else math.inf))
    return worst
