"""Arithmetic in an element type, rounded after every operation, as the reference does it by default (--accumulate native)."""

from __future__ import annotations

import numpy as np


def in_type(function, *operands: np.ndarray) -> np.ndarray:
    """Halves by way of f32, which is right for one operation: f32 has more than twice the digits and two."""
    dtype = operands[0].dtype
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        return np.asarray(function(*[x.astype(np.float32) for x in operands])).astype(dtype)
    return np.asarray(function(*operands)).astype(dtype)


def sum_in_order(x: np.ndarray, axes) -> np.ndarray:
    """From zero, elements in row-major order."""
    kept = [n for n in range(x.ndim) if n not in axes]
    rows = np.transpose(x, [*kept, *sorted(axes)]).reshape(*[x.shape[n] for n in kept], int(np.prod([x.shape[n] for n in axes], dtype=np.int64)))
    total = np.zeros(rows.shape[:-1], x.dtype)
    for k in range(rows.shape[-1]):
        total = in_type(np.add, total, rows[..., k])
    return total


def dot_in_order(x: np.ndarray, y: np.ndarray, numbers, dtype) -> np.ndarray:
    """Operands in the result's type, products added up from zero in row-major order of the contracting dimensions."""
    (x_contract, y_contract), (x_batch, y_batch) = numbers
    x_free = [n for n in range(x.ndim) if n not in x_contract and n not in x_batch]
    y_free = [n for n in range(y.ndim) if n not in y_contract and n not in y_batch]
    shape = lambda v, dims: [v.shape[n] for n in dims]  # noqa: E731
    terms = int(np.prod(shape(x, x_contract)))
    left = np.transpose(x, [*x_batch, *x_free, *x_contract]).reshape(*shape(x, x_batch), *shape(x, x_free), *[1] * len(y_free), terms).astype(dtype)
    right = np.transpose(y, [*y_batch, *y_free, *y_contract]).reshape(*shape(y, y_batch), *[1] * len(x_free), *shape(y, y_free), terms).astype(dtype)
    total = np.zeros([*shape(x, x_batch), *shape(x, x_free), *shape(y, y_free)], dtype)
    for k in range(terms):
        total = in_type(np.add, total, in_type(np.multiply, *np.broadcast_arrays(left[..., k], right[..., k])))
    return total
