"""Operations on elements whose results are exact: arithmetic, comparisons, conversions, bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from jax import lax

from .case import ALL, BOOL, COMPLEX, FLOATS, INTS, SIGNED, SMALL_FLOATS, SMALL_INTS, Case, Reject, is_complex, is_float
from .draw import Draw


def unary_exact(d: Draw) -> Case:
    ops = {"neg": (lax.neg, INTS + FLOATS + COMPLEX), "abs": (lax.abs, SIGNED + FLOATS), "sign": (lax.sign, INTS + FLOATS), "floor": (lax.floor, FLOATS), "ceil": (lax.ceil, FLOATS),
           "round_afz": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), FLOATS), "round_even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), FLOATS),
           "is_finite": (lax.is_finite, FLOATS), "not": (lax.bitwise_not, BOOL + INTS), "popcnt": (lax.population_count, INTS), "clz": (lax.clz, INTS),
           "real": (lax.real, COMPLEX), "imag": (lax.imag, COMPLEX), "conj": (lax.conj, COMPLEX), "square": (lax.square, INTS + FLOATS)}  # fmt: skip
    name = d.of(list(ops))
    op, dtypes = ops[name]
    dtype = d.of(dtypes)
    return Case(op, [d.values(d.shape(), dtype)], what=name)


def reduce_precision(d: Draw) -> Case:
    dtype = d.of(FLOATS)
    e, m = d.integer(1, 11), d.integer(0, 30)
    x = d.values(d.shape(), dtype)
    if m == 0:  # KNOWN_DIFFERENCES: NaN without mantissa
        x = np.where(np.isnan(x.astype(np.float64)), np.ones((), dtype), x).astype(dtype)
    return Case(lambda v: lax.reduce_precision(v, e, m), [x], what=f"e{e}m{m}")


def binary_exact(d: Draw) -> Case:
    ops = {"add": (lax.add, INTS + FLOATS + COMPLEX), "sub": (lax.sub, INTS + FLOATS + COMPLEX), "mul": (lax.mul, INTS + FLOATS), "div": (lax.div, INTS + FLOATS), "rem": (lax.rem, INTS + FLOATS),
           "max": (lax.max, BOOL + INTS + FLOATS), "min": (lax.min, BOOL + INTS + FLOATS), "and": (lax.bitwise_and, BOOL + INTS), "or": (lax.bitwise_or, BOOL + INTS), "xor": (lax.bitwise_xor, BOOL + INTS),
           "nextafter": (lax.nextafter, [np.float32, np.float64, np.float16]), "mulhi": (getattr(lax, "mulhi", lax.mul), [np.int32, np.uint32])}  # fmt: skip
    name = d.of(list(ops))
    op, dtypes = ops[name]
    dtype, shape = d.of(dtypes), d.shape()
    return Case(op, [d.values(shape, dtype), d.values(shape, dtype)], what=name)


def shift(d: Draw) -> Case:
    op = d.of([lax.shift_left, lax.shift_right_arithmetic, lax.shift_right_logical])
    dtype, shape = d.of(INTS), d.shape()
    bits = ml_dtypes.iinfo(dtype).bits
    return Case(op, [d.values(shape, dtype), d.rng.integers(-2 if dtype in SIGNED else 0, bits + 3, shape).astype(dtype)], what=op.__name__)


def compare(d: Draw) -> Case:
    op = d.of([lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge, "eq_to", "le_to", "lt_to"])
    dtype, shape = d.of(BOOL + INTS + FLOATS + COMPLEX), d.shape()
    if isinstance(op, str):
        dtype, name = d.of(FLOATS), op
        primitive = getattr(lax, op + "_p")
        op = lambda x, y: primitive.bind(x, y)  # noqa: E731
    else:
        name = op.__name__
        if is_complex(dtype) and name not in ("eq", "ne"):
            raise Reject
    x = d.values(shape, dtype, 0.4)
    y = np.where(d.rng.random(shape) < 0.3, x, d.values(shape, dtype, 0.4)).astype(dtype)
    return Case(op, [x, y], what=name)


def select_clamp(d: Draw) -> Case:
    shape = d.shape()
    kind = d.integer(0, 2)
    if kind == 0:
        dtype = d.of(ALL)
        return Case(lax.select, [d.values(() if d.chance(0.2) else shape, np.bool_), d.values(shape, dtype), d.values(shape, dtype)], what="select")
    if kind == 1:
        dtype, n = d.of(ALL), d.integer(1, 4)
        which = d.rng.integers(0, n, shape).astype(np.int32)
        return Case(lambda w, *x: lax.select_n(w, *x), [which, *[d.values(shape, dtype) for _ in range(n)]], what="select_n")
    dtype = d.of(INTS + FLOATS)
    bound = () if d.chance(0.5) else shape
    return Case(lax.clamp, [d.values(bound, dtype), d.values(shape, dtype), d.values(bound, dtype)], what="clamp")


def integer_pow(d: Draw) -> Case:
    dtype, shape, exponent = d.of(INTS), d.shape(), d.integer(0, 7)
    return Case(lambda x: lax.integer_pow(x, exponent), [d.values(shape, dtype)], what=f"to the {exponent}")


def convert(d: Draw) -> Case:
    source, target = d.of(ALL + SMALL_FLOATS + SMALL_INTS), d.of(ALL + SMALL_FLOATS + SMALL_INTS)
    if is_complex(source) and not is_complex(target):
        raise Reject
    return Case(lambda x: lax.convert_element_type(x, target), [d.values(d.shape(), source, 0.3)], what=f"{np.dtype(source).name} to {np.dtype(target).name}")


def bitcast(d: Draw) -> Case:
    source, target = d.of(INTS + FLOATS), d.of(INTS + FLOATS)
    s, t = np.dtype(source).itemsize, np.dtype(target).itemsize
    shape = d.shape() + ((t // s,) if t > s else ())
    raw = d.rng.integers(0, 256, int(np.prod(shape)) * s).astype(np.uint8)
    x = raw.view(source).reshape(shape)
    if is_float(source):
        x = np.where(np.isnan(x.astype(np.float64)), np.ones((), source), x).astype(source)
    return Case(lambda v: lax.bitcast_convert_type(v, target), [x], what=f"{np.dtype(source).name} to {np.dtype(target).name}")


def chain(d: Draw) -> Case:
    """Several exact operations after one another, with values used more than once."""
    dtype, shape = d.of(INTS + [np.float32, np.float64]), d.shape()
    pool = [(lax.add, np.add), (lax.sub, np.subtract), (lax.mul, np.multiply), (lax.max, np.maximum), (lax.min, np.minimum)]
    if np.dtype(dtype).kind != "f":
        pool += [(lax.bitwise_xor, np.bitwise_xor), (lax.bitwise_and, np.bitwise_and)]
    steps = [(*d.of(pool), d.integer(0, i + 1), d.integer(0, i + 1)) for i in range(d.integer(2, 8))]

    def last(which):
        def call(x, y):
            values = [x, y]
            for *ops, a, b in steps:
                values.append(ops[which](values[a], values[b]))
            return values[-1]

        return call

    floats = np.dtype(dtype).kind == "f" and d.chance(0.5)
    inputs = [d.values(shape, dtype, 0.0) if floats else d.small(shape, dtype) for _ in range(2)]
    return Case(last(0), inputs, zeros=True, judge=lambda x, y: [np.asarray(last(1)(x, y))])
