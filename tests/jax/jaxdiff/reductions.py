"""Reductions, windows, running sums."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from jax import lax
from jax._src.lax import windowed_reductions

from .case import BOOL, COMPLEX, FLOATS, INTS, Case, Reject, is_float
from .draw import Draw
from .rounding import sum_in_order

REDUCERS = {"add": (lax.add, 0), "mul": (lax.mul, 1), "max": (lax.max, None), "min": (lax.min, None), "and": (lax.bitwise_and, -1), "or": (lax.bitwise_or, 0), "xor": (lax.bitwise_xor, 0)}
UFUNCS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def reducer(d: Draw):
    """A reducer, an element type it takes, a start value and the bound of inputs that keeps results exact."""
    name = d.of(list(REDUCERS))
    op = REDUCERS[name][0]
    dtype = d.of(BOOL + INTS if name in ("and", "or", "xor") else INTS + FLOATS + (COMPLEX if name == "add" else []))
    return name, op, dtype, neutral(name, dtype), 1 if name == "mul" else 3


def neutral(name: str, dtype) -> np.ndarray:
    value = REDUCERS[name][1]
    if value is None and is_float(dtype):
        return np.array(-np.inf if name == "max" else np.inf).astype(dtype)
    if value is None:
        info = ml_dtypes.iinfo(dtype)
        return np.array(info.min if name == "max" else info.max, dtype)
    if value == -1:
        return np.array(True) if dtype == np.bool_ else ~np.zeros((), dtype)
    return np.array(value).astype(dtype)


def reduce(d: Draw) -> Case:
    shape = d.shape(0, 4)
    axes = d.some(range(len(shape)), d.integer(0, len(shape)))
    kind = d.integer(0, 4)
    if kind <= 1:
        name, op, dtype, init, bound = reducer(d)
        x = d.small(shape, dtype, bound)
        if name in ("max", "min"):
            x = d.values(shape, dtype)
        elif name in ("and", "or", "xor"):
            x = d.values(shape, dtype)
        custom = d.chance(0.3)
        combine = (lambda a, b: op(b, a)) if custom else op
        judge = None
        if d.chance(0.4):  # KNOWN_DIFFERENCES: start values
            init = d.small((), dtype, 1 if name == "mul" else 2)
            ufunc = UFUNCS[name]
            start = neutral(name, dtype)
            judge = lambda v, i: [np.asarray(ufunc(i, ufunc.reduce(v, axis=tuple(axes), dtype=v.dtype, initial=start[()]) if axes else v)).astype(v.dtype)]  # noqa: E731
        return Case(lambda v, i: lax.reduce(v, i, combine, axes), [x, init], zeros=True, judge=judge, what=f"{name} over {axes}")
    if kind == 2:
        if not shape or 0 in shape:
            raise Reject
        axis, op = d.integer(0, len(shape) - 1), d.of([lax.argmax, lax.argmin])
        x = d.small(shape, d.of(BOOL + INTS + FLOATS)) if d.chance(0.5) else d.values(shape, d.of(INTS + FLOATS))
        index = d.of([np.int32, np.int64, np.uint32])
        return Case(lambda v: op(v, axis, index), [x], what=op.__name__)
    if kind == 3:  # floats whose sum depends on the order
        dtype = d.of(FLOATS)
        x = d.rng.random(shape).astype(dtype)
        zero = np.zeros((), dtype)
        return Case(lambda v: lax.reduce(v, zero, lax.add, axes), [x], judge=lambda v: [sum_in_order(v, axes)], what="sum of any floats")  # KNOWN_DIFFERENCES: float sums
    dtype = d.of(INTS + [np.float32])

    def combine(a, b):
        return lax.add(a[0], b[0]), lax.max(a[1], b[1])

    return Case(lambda v, w, i, j: lax.reduce((v, w), (i, j), combine, axes), [d.small(shape, dtype), d.values(shape, np.int32), neutral("add", dtype), neutral("max", np.int32)], zeros=True, what="two results")


def windows(d: Draw, rank: int, shape, negative: bool = True):
    window = [d.integer(1, 4) if d.chance(0.7) else 1 for _ in range(rank)]
    strides = [d.integer(1, 3) for _ in range(rank)]
    padding = [(d.integer(-2 if negative and d.chance(0.3) else 0, 3), d.integer(-2 if negative and d.chance(0.3) else 0, 3)) for _ in range(rank)]
    base = [d.integer(1, 3) if d.chance(0.3) else 1 for _ in range(rank)]
    dilation = [d.integer(1, 3) if d.chance(0.3) else 1 for _ in range(rank)]
    return window, strides, padding, base, dilation


def windows_by_element(x, init, combine, window, strides, padding, base, dilation) -> np.ndarray:
    """reduce_window as the specification says: padding and gaps hold the start value, and every window starts from it."""
    sizes = [n + (n - 1) * (b - 1) if n else 0 for n, b in zip(x.shape, base, strict=True)]
    padded = [n + lo + hi for n, (lo, hi) in zip(sizes, padding, strict=True)]
    spread = np.full([max(n, 0) for n in padded], init, x.dtype)
    for index in np.ndindex(*x.shape):
        position = tuple(i * b + lo for i, b, (lo, _) in zip(index, base, padding, strict=True))
        if all(0 <= p < n for p, n in zip(position, spread.shape, strict=True)):
            spread[position] = x[index]
    reach = [(w - 1) * k + 1 for w, k in zip(window, dilation, strict=True)]
    out = [0 if n < r or n <= 0 else (n - r) // s + 1 for n, r, s in zip(padded, reach, strides, strict=True)]
    result = np.full(out, init, x.dtype)
    for offset in np.ndindex(*window):
        part = tuple(slice(o * k, o * k + (n - 1) * s + 1, s) for o, k, n, s in zip(offset, dilation, out, strides, strict=True))
        if result.size:
            result = np.asarray(combine(result, spread[part])).astype(x.dtype)
    return result


def reduce_window(d: Draw) -> Case:
    shape = d.shape(1, 4, 7)
    window, strides, padding, base, dilation = windows(d, len(shape), shape)
    name, op, dtype, init, bound = reducer(d)
    x = d.small(shape, dtype, bound)
    if name in ("max", "min", "and", "or", "xor"):
        x = d.values(shape, dtype)
    custom = d.chance(0.3)
    combine = (lambda a, b: op(b, a)) if custom else op
    judge = None
    negative = any(n < 0 for pair in padding for n in pair)
    if negative or d.chance(0.4):  # KNOWN_DIFFERENCES: start values, the simplifier
        if d.chance(0.7):
            init = d.small((), dtype, 1 if name == "mul" else 2)
        ufunc = UFUNCS[name]
        judge = lambda v, i: [windows_by_element(v, i, ufunc, window, strides, padding, base, dilation)]  # noqa: E731
    return Case(lambda v, i: lax.reduce_window(v, i, combine, window, strides, padding, base, dilation), [x, init], zeros=True, judge=judge,
                what=f"{name} from {init} window {window} strides {strides} padding {padding} base {base} dilation {dilation}")  # fmt: skip


def select_and_scatter(d: Draw) -> Case:
    shape = tuple(max(1, n) for n in d.shape(1, 3, 8))
    rank = len(shape)
    window = tuple(d.integer(1, 3) for _ in shape)
    strides = tuple(d.integer(1, 3) for _ in shape)
    padding = tuple((d.integer(0, w - 1), d.integer(0, w - 1)) for w in window)
    sizes = [max(0, (n + lo + hi - w) // s + 1) for n, (lo, hi), w, s in zip(shape, padding, window, strides, strict=True)]
    dtype = d.of(INTS + FLOATS)
    select = d.of([lax.ge_p, lax.le_p])
    operand = d.small(shape, dtype) if d.chance(0.5) else d.values(shape, dtype, 0.0)
    del rank
    call = lambda source, x: windowed_reductions._select_and_scatter_add(source, x, select, window, strides, padding)  # noqa: E731
    return Case(call, [d.small(sizes, dtype), operand], zeros=True, what=f"{select} window {window} strides {strides} padding {padding}")


def cumulative(d: Draw) -> Case:
    shape = d.shape(1, 3, 12)
    axis, backwards = d.integer(0, len(shape) - 1), d.chance(0.5)
    op = d.of([lax.cumsum, lax.cumprod, lax.cummax, lax.cummin])
    dtype = d.of(INTS + FLOATS)
    x = d.values(shape, dtype) if op in (lax.cummax, lax.cummin) else d.small(shape, dtype, 1 if op is lax.cumprod else 3)
    return Case(lambda v: op(v, axis, reverse=backwards), [x], zeros=True, what=op.__name__)
