"""Everything random about a case: shapes, values, parameters."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .case import FLOATS, is_complex, is_float


class Draw:
    """Everything random about a case."""

    def __init__(self, seed: int, number: int):
        self.rng = np.random.default_rng([seed, number])

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def of(self, choices) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def some(self, choices, count: int) -> list:
        """`count` different ones, in random order."""
        return [choices[i] for i in self.rng.permutation(len(choices))[:count]]

    def size(self, largest: int = 6) -> int:
        return 0 if self.chance(0.03) else self.integer(1, largest)

    def shape(self, low: int = 0, high: int = 4, largest: int = 6) -> tuple[int, ...]:
        return tuple(self.size(largest) for _ in range(self.integer(low, high)))

    def special(self, dtype) -> np.ndarray:
        """The edge values of a type."""
        if dtype == np.bool_:
            return np.array([False, True])
        if is_complex(dtype):
            parts = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5])
            return np.array([complex(a, b) for a in parts for b in parts]).astype(dtype)
        if is_float(dtype):
            info = ml_dtypes.finfo(dtype)
            values = [0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, -1.5, 2.5, -2.5, 3, 100, -100, float(info.max), float(info.min), float(info.smallest_normal), float(info.eps)]
            if dtype in FLOATS:
                values += [np.inf, -np.inf, np.nan]
            return np.array(values, np.float64).astype(dtype)
        info = ml_dtypes.iinfo(dtype)
        return np.array([int(info.min), int(info.min) + 1, 0, 1, min(2, int(info.max)), int(info.max) - 1, int(info.max)] + ([-1, -2] if info.min < 0 else []), np.int64 if info.max < 2**63 else np.uint64).astype(dtype)

    def values(self, shape, dtype, edges: float = 0.25) -> np.ndarray:
        """Values of the whole range, a share of them edge values."""
        dtype = np.dtype(dtype)
        count = int(np.prod(shape))
        if dtype == np.bool_:
            return self.rng.integers(0, 2, count).astype(dtype).reshape(shape)
        if is_complex(dtype):
            part = np.float32 if dtype == np.complex64 else np.float64
            result = (self.reals(count, part) + 1j * self.reals(count, part)).astype(dtype)
        elif is_float(dtype):
            result = self.reals(count, dtype)
        else:
            info = ml_dtypes.iinfo(dtype)
            low, high = int(info.min), int(info.max)
            if self.chance(0.5):
                low, high = max(low, -10), min(high, 10)
            result = self.rng.integers(low, high, count, endpoint=True, dtype=np.int64 if high < 2**63 else np.uint64).astype(dtype)
        edge_values = self.special(dtype)
        take = self.rng.random(count) < edges
        result[take] = edge_values[self.rng.integers(0, len(edge_values), int(take.sum()))]
        return result.reshape(shape)

    def reals(self, count: int, dtype) -> np.ndarray:
        kind = self.integer(0, 2)
        if kind == 0:
            values = self.rng.normal(0, 1, count)
        elif kind == 1:
            values = self.rng.normal(0, 1, count) * np.exp2(self.rng.integers(-6, 7, count))
        else:
            values = self.rng.integers(-9, 10, count) / 2.0
        return values.astype(dtype)

    def small(self, shape, dtype, bound: int = 3) -> np.ndarray:
        """Small whole numbers, whose sums and products are exact."""
        dtype = np.dtype(dtype)
        low = 0 if dtype == np.bool_ or dtype.kind == "u" else -bound
        values = self.rng.integers(low, 1 if dtype == np.bool_ else bound, shape, endpoint=True)
        if is_complex(dtype):
            return (values + 1j * self.rng.integers(low, bound, shape, endpoint=True)).astype(dtype)
        return np.asarray(values).astype(dtype)

    def index(self, shape, low: int, high: int) -> np.ndarray:
        dtype = self.of([np.int32, np.int32, np.int64, np.int8, np.uint32, np.uint8, np.int16])
        unsigned = np.dtype(dtype).kind == "u"
        if unsigned:
            low = max(low, 0)
        result = self.rng.integers(low, max(low, high), shape, endpoint=True).astype(dtype)
        if self.chance(0.2):  # far outside; unsigned ones have their highest bit set
            far = [np.iinfo(dtype).max] + ([np.iinfo(dtype).max - 1] if unsigned else [np.iinfo(dtype).min])
            take = self.rng.random(shape) < 0.3
            result = np.where(take, self.rng.choice(np.array(far, dtype), shape), result).astype(dtype)
        return result
