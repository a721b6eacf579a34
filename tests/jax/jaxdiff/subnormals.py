"""Subnormal floats, which XLA on the CPU flushes to zero: NumPy judges, strictly."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from jax import lax

from .case import FLOATS, Case
from .draw import Draw

BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def tiny_values(d: Draw, shape, dtype) -> np.ndarray:
    """Mostly subnormal, some at the border to normal, zeros of both signs, and numbers that bring products back into range."""
    dtype, count = np.dtype(dtype), int(np.prod(shape))
    word = BITS[dtype.itemsize]
    normal = int(np.array(float(ml_dtypes.finfo(dtype).smallest_normal)).astype(dtype).view(word))
    bits = d.rng.integers(0, 2 * normal, count, dtype=np.uint64).astype(word)
    border = d.rng.random(count) < 0.2
    bits[border] = (normal + d.rng.integers(-2, 3, int(border.sum()))).astype(word)
    values = bits.view(dtype)
    large = d.rng.random(count) < 0.2
    values[large] = np.array([0.5, 1, 1.5, 2, 3, 0.25, 1024])[d.rng.integers(0, 7, int(large.sum()))].astype(dtype)
    return np.where(d.rng.random(count) < 0.5, values, -values).astype(dtype).reshape(shape)


UNARY = {
    "neg": (lax.neg, np.negative), "abs": (lax.abs, np.abs), "floor": (lax.floor, np.floor), "ceil": (lax.ceil, np.ceil),
    "round_even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), np.rint), "sqrt": (lax.sqrt, np.sqrt), "square": (lax.square, lambda x: x * x),
    "sign": (lax.sign, lambda x: np.where(x == 0, x, np.copysign(np.ones_like(x), x))), "is_finite": (lax.is_finite, np.isfinite),
}  # fmt: skip


def zeros_ordered(pick):
    """NumPy's maximum and minimum leave open which zero wins; the specification orders -0 before +0."""

    def choose(x, y):
        chosen = pick(x, y)
        both = (x == 0) & (y == 0)
        sign = (np.signbit(x) & np.signbit(y)) if pick is np.maximum else (np.signbit(x) | np.signbit(y))
        return np.where(both, np.where(sign, -np.zeros_like(x), np.zeros_like(x)), chosen)

    return choose


BINARY = {
    "add": (lax.add, np.add), "sub": (lax.sub, np.subtract), "mul": (lax.mul, np.multiply), "div": (lax.div, np.divide), "rem": (lax.rem, np.fmod),
    "max": (lax.max, zeros_ordered(np.maximum)), "min": (lax.min, zeros_ordered(np.minimum)),
    "lt": (lax.lt, np.less), "eq": (lax.eq, np.equal), "ge": (lax.ge, np.greater_equal),
}  # fmt: skip


def in_type(function, dtype):
    """ml_dtypes compute halves in f32 and round, which is right for these as f32 has more than twice the digits and two."""

    def judge(*inputs):
        if np.dtype(dtype).itemsize > 2:
            return [function(*inputs)]
        result = function(*[x.astype(np.float32) for x in inputs])
        return [result if result.dtype == np.bool_ else result.astype(dtype)]

    return judge


def subnormals(d: Draw) -> Case:
    dtype, shape = d.of(FLOATS), d.shape()
    x = tiny_values(d, shape, dtype)
    kind = d.integer(0, 4)
    if kind == 0:
        name = d.of(list(UNARY))
        call, function = UNARY[name]
        return Case(call, [x], judge=in_type(function, dtype), what=name)
    if kind == 1:
        dimension = [] if not shape else [d.integer(0, len(shape) - 1)]
        return Case(lambda v: lax.reduce(v, np.array(-np.inf, dtype), lax.max, dimension), [x], zeros=True,
                    judge=lambda v: [np.max(v.astype(np.float64), axis=tuple(dimension), initial=-np.inf).astype(dtype) if dimension else v], what="reduce max")  # fmt: skip
    name = d.of(list(BINARY))
    call, function = BINARY[name]
    y = tiny_values(d, shape, dtype)
    return Case(call, [x, y], judge=in_type(function, dtype), what=name)


def conversions(d: Draw) -> Case:
    """f64 to halves is left out: ml_dtypes rounds it twice."""
    pairs = [(a, b) for a in FLOATS for b in FLOATS if a != b and not (a == np.float64 and np.dtype(b).itemsize == 2)]
    source, target = d.of(pairs)
    x = tiny_values(d, d.shape(), source)
    if d.chance(0.5) and np.dtype(target).itemsize < np.dtype(source).itemsize:  # about the subnormals of the target
        x = (tiny_values(d, x.shape, target).astype(source) * (1 + d.rng.normal(0, 1e-3, x.shape))).astype(source)
    return Case(lambda v: lax.convert_element_type(v, target), [x], judge=lambda v: [v.astype(target)], what=f"{np.dtype(source).name} to {np.dtype(target).name}")
