"""Random differential tests of the golden reference against JAX (XLA) on the CPU.

usage: differential.py BUILD/bin [--cases N] [--seed S] [--jobs J] [--first K] [--only FAMILY,...] [--keep DIR]

Case K of seed S is always the same: a random jax.lax call with random parameters and inputs, lowered to StableHLO. The
program is run by `cupel eval` and by XLA, and the results are compared: exactly for integers and whatever only moves,
selects or compares values, within a stated distance for the rest (class Case). Float sums and products are mostly
formed of small whole numbers, so that they are exact in any order. Cases are bundled, GROUP of them in one program,
since starting compilers costs more than the cases; a case that fails is run again alone, printed and saved below DIR.
Ends with `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = (
    "--xla_backend_optimization_level=0 --xla_allow_excess_precision=false "
    "--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_enable_fast_math=false --xla_cpu_multi_thread_eigen=false"
)

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax._src.lax import windowed_reductions  # noqa: E402

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")  # infinities and NaN are on purpose

GROUP = 50

# Where XLA on the CPU is no judge, and what is done about it.
KNOWN_DIFFERENCES = {
    "subnormals": "XLA's CPU threads flush subnormal floats to zero: none are given as inputs, and a result below the "
    "smallest normal number of its type may be zero in either.",
    "scatter windows": "XLA drops an update window that lies partly outside the operand as a whole, and applies only the "
    "last update where no dimension is indexed; the specification decides element by element. NumPy judges these.",
    "start values": "XLA takes the start value of a reduction for neutral: it leaves it out over no or one-element dimensions "
    "and does not combine the padding of windows. NumPy judges reduce with other start values; reduce_window gets neutral ones.",
    "NaN without mantissa": "reduce_precision to 0 mantissa bits makes NaN infinite, as no format without mantissa holds a NaN; XLA "
    "keeps it. Such cases get no NaN.",
    "logistic": "JAX lowers logistic for the CPU to 1 / (1 + exp(-x)), each step rounded to the element type: such programs are "
    "judged by XLA's own steps within 4 units, and the operation itself, from the lowering for the TPU, by the true value.",
    "exp2": "JAX lowers exp2 to exp(x * log(2)) in the element type: judged by XLA's own steps within 4 units.",
    "float sums": "XLA sums halves in f32 and in blocks: sums of any floats are compared within a tolerance, those of small whole "
    "numbers exactly.",
    "complex": "XLA's complex functions lose accuracy where parts are infinite: finite inputs, and an error relative to the largest result.",
}

BOOL = [np.bool_]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
INTS = SIGNED + UNSIGNED
HALVES = [np.float16, ml_dtypes.bfloat16]
FLOATS = [*HALVES, np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
SMALL_FLOATS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz]
SMALL_INTS = [ml_dtypes.int4, ml_dtypes.uint4]
ALL = BOOL + INTS + FLOATS + COMPLEX

MLIR_NAMES = {
    "bool": "i1", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    **{f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)}, **{f"uint{n}": f"ui{n}" for n in (2, 4, 8, 16, 32, 64)},
}  # fmt: skip


class Reject(Exception):
    """The parameters drawn make no valid case; draw again."""


@dataclasses.dataclass
class Case:
    """`call` on `inputs`; `expected` computes the values in its place where XLA's own are not good enough, and `judge` in NumPy where XLA is wrong.

    Results agree within `ulp` units in the last place of the result's type, or within `close` of the largest finite
    magnitude among the expected values; both 0 demands equality, with NaN equal to NaN and -0 unequal to +0
    (unless `zeros`: the sign of zero is free).
    """

    call: Callable
    inputs: list[np.ndarray]
    ulp: int = 0
    close: float = 0.0
    zeros: bool = False
    expected: Callable | None = None
    judge: Callable | None = None  # of the NumPy inputs; takes XLA's place
    platform: str = "cpu"  # whose lowering Cupel gets: JAX's for "tpu" uses operations where that for "cpu" calls LAPACK or composes
    family: str = ""
    number: int = -1
    what: str = ""


def is_float(dtype) -> bool:
    return jax.dtypes.issubdtype(dtype, np.floating)


def is_complex(dtype) -> bool:
    return jax.dtypes.issubdtype(dtype, np.complexfloating)


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
        if np.dtype(dtype).kind == "u":
            low = max(low, 0)
        return self.rng.integers(low, max(low, high), shape, endpoint=True).astype(dtype)


# --- elementwise ---


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


# Units in the last place for f32 and below. Operations of StableHLO hold 1; those of chlo are decomposed in f32 and hold what
# their formulas do: sinh and cosh form exp(x + log(1/2)), whose argument is rounded at |x| up to 89; the others are polynomials in f32;
# digamma cancels near its root at 1.46, in XLA too (digamma(1.5) in f64: XLA is 80 units off, Cupel 6).
TRANSCENDENTAL = {
    "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log1p": 1, "sin": 1, "cos": 1, "tan": 1, "tanh": 1, "logistic": 1, "sqrt": 0, "rsqrt": 1, "cbrt": 1,
    "asin": 2, "acos": 2, "atan": 1, "sinh": 96, "cosh": 96, "asinh": 2, "acosh": 2, "atanh": 2, "erf": 2, "erfc": 8, "erf_inv": 8, "lgamma": 16, "digamma": 256, "bessel_i1e": 8,
}  # fmt: skip


def transcendental(d: Draw) -> Case:
    """Halves and f32 against XLA's f64, f64 against XLA's own within a few units more."""
    name = d.of(list(TRANSCENDENTAL))
    op = getattr(lax, name)
    dtype = d.of(FLOATS)
    x = d.values(d.shape(), dtype)
    if name in ("lgamma", "digamma"):
        x = np.abs(x)
    if name == "exp2":  # KNOWN_DIFFERENCES: exp2
        return Case(op, [x], ulp=4, what=name)
    if name == "logistic":  # KNOWN_DIFFERENCES: logistic
        if d.chance(0.3):
            return Case(op, [x], ulp=4, close=4 * float(ml_dtypes.finfo(dtype).eps), what="logistic in steps")
        if dtype == np.float64:
            return Case(op, [x], ulp=4, platform="tpu", what=name)
        return Case(op, [x], ulp=1, platform="tpu", expected=lambda v: op(lax.convert_element_type(v, np.float64)), what=name)
    if dtype == np.float64:
        return Case(op, [x], ulp=TRANSCENDENTAL[name] + 6 if name != "sqrt" else 0, close=1e-14, what=name)
    close = 4 * float(ml_dtypes.finfo(dtype).eps) if name in ("lgamma", "digamma") else 0.0  # near their roots
    ulp = min(TRANSCENDENTAL[name], 2) if dtype in HALVES else TRANSCENDENTAL[name]  # halves are computed in f32
    return Case(op, [x], ulp=ulp, close=close, expected=lambda v: op(lax.convert_element_type(v, np.float64)), what=name)


def transcendental_binary(d: Draw) -> Case:
    name = d.of(["pow", "atan2"])
    op, dtype, shape = getattr(lax, name), d.of(FLOATS), d.shape()
    x, y = d.values(shape, dtype), d.values(shape, dtype)
    if dtype == np.float64:
        return Case(op, [x, y], ulp=8, what=name)
    wide = lambda v, w: op(lax.convert_element_type(v, np.float64), lax.convert_element_type(w, np.float64))  # noqa: E731
    return Case(op, [x, y], ulp=1, expected=wide, what=name)


def integer_pow(d: Draw) -> Case:
    dtype, shape, exponent = d.of(INTS), d.shape(), d.integer(0, 7)
    return Case(lambda x: lax.integer_pow(x, exponent), [d.values(shape, dtype)], what=f"to the {exponent}")


def complex_functions(d: Draw) -> Case:
    """Finite values only: XLA's complex functions differ from each other at infinities."""
    name = d.of(["exp", "log", "sin", "cos", "tan", "tanh", "sqrt", "rsqrt", "log1p", "expm1", "mul", "div", "abs", "asin", "acos", "atan", "asinh", "acosh", "atanh", "sinh", "cosh", "sign", "pow", "square"])
    op, shape, dtype = getattr(lax, name), d.shape(), d.of(COMPLEX)
    inputs = [d.values(shape, dtype, 0.0) for _ in range(2 if name in ("mul", "div", "pow") else 1)]
    tolerance = 2e-6 if dtype == np.complex64 else 1e-13
    wide = None
    if dtype == np.complex64:
        wide = lambda *v: op(*[lax.convert_element_type(x, np.complex128) for x in v])  # noqa: E731
    return Case(op, inputs, close=tolerance, zeros=True, expected=wide, what=name)


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
    pool = [lax.add, lax.sub, lax.mul, lax.max, lax.min] + ([lax.bitwise_xor, lax.bitwise_and] if np.dtype(dtype).kind != "f" else [])
    steps = [(d.of(pool), d.integer(0, i + 1), d.integer(0, i + 1)) for i in range(d.integer(2, 8))]

    def call(x, y):
        values = [x, y]
        for op, a, b in steps:
            values.append(op(values[a], values[b]))
        return values[-1]

    inputs = [d.small(shape, dtype), d.small(shape, dtype)]
    return Case(call, inputs, zeros=True, close=1e-5 if dtype == np.float32 else 1e-14 if dtype == np.float64 else 0)


# --- data movement ---


def movement(d: Draw) -> Case:
    dtype = d.of(ALL)
    shape = d.shape(1, 4)
    rank = len(shape)
    x = d.values(shape, dtype)
    kind = d.of(["slice", "pad", "pad", "concatenate", "reverse", "transpose", "reshape", "broadcast_in_dim", "iota", "dynamic_slice", "dynamic_update_slice"])
    if kind == "slice":
        starts = [d.integer(0, n) for n in shape]
        limits = [d.integer(s, n) for s, n in zip(starts, shape, strict=True)]
        strides = [d.integer(1, 4) for _ in shape]
        return Case(lambda v: lax.slice(v, starts, limits, strides), [x], what=kind)
    if kind == "pad":
        config = [(d.integer(-3, 3), d.integer(-3, 3), d.integer(0, 3)) for _ in shape]
        return Case(lambda v, p: lax.pad(v, p, config), [x, d.values((), dtype)], what=f"pad {config}")
    if kind == "concatenate":
        axis = d.integer(0, rank - 1)
        inputs = [d.values(shape[:axis] + (d.size(),) + shape[axis + 1 :], dtype) for _ in range(d.integer(1, 4))]
        return Case(lambda *v: lax.concatenate(v, axis), inputs, what=kind)
    if kind == "reverse":
        axes = d.some(range(rank), d.integer(0, rank))
        return Case(lambda v: lax.rev(v, axes), [x], what=kind)
    if kind == "transpose":
        axes = d.some(range(rank), rank)
        return Case(lambda v: lax.transpose(v, axes), [x], what=kind)
    if kind == "reshape":
        sizes = d.some(shape, rank)
        if d.chance(0.3):
            sizes = [int(np.prod(shape)), 1]
        return Case(lambda v: lax.reshape(v, sizes), [x], what=kind)
    if kind == "broadcast_in_dim":
        out_rank = rank + d.integer(0, 2)
        dims = sorted(d.some(range(out_rank), rank))
        out = [d.size() for _ in range(out_rank)]
        source = list(shape)
        for i, dim in enumerate(dims):
            if d.chance(0.4):
                source[i] = 1
            else:
                out[dim] = source[i]
        return Case(lambda v: lax.broadcast_in_dim(v, out, dims), [d.values(source, dtype)], what=kind)
    if kind == "iota":
        axis, dtype = d.integer(0, rank - 1), d.of(INTS + FLOATS + COMPLEX)
        return Case(lambda: lax.broadcasted_iota(dtype, shape, axis), [], what=kind)
    sizes = [d.integer(0 if d.chance(0.05) else min(1, n), n) for n in shape]
    index_type = d.of([np.int32, np.int64, np.int8, np.uint32, np.uint8])
    low = 0 if np.dtype(index_type).kind == "u" else -3
    starts = [np.array(d.integer(low, n + 3), index_type) for n in shape]
    if kind == "dynamic_slice":
        return Case(lambda v, *s: lax.dynamic_slice_p.bind(v, *s, slice_sizes=tuple(sizes)), [x, *starts], what=kind)
    return Case(lambda v, u, *s: lax.dynamic_update_slice_p.bind(v, u, *s), [x, d.values(sizes, dtype), *starts], what=kind)


def indexing(d: Draw):
    """Dimension numbers common to gather and scatter: operand shape, index array, window sizes and where all go."""
    rank = d.integer(1, 4)
    shape = [max(1, d.size()) if d.chance(0.95) else d.size() for _ in range(rank)]
    dims = d.some(range(rank), rank)
    batching = dims[: d.integer(0, min(2, rank - 1))] if d.chance(0.35) else []
    rest = [n for n in range(rank) if n not in batching]
    collapsed = sorted(d.some(rest, d.integer(0, len(rest))))
    mapped = d.some(rest, d.integer(0, len(rest)))
    batch_rank = d.integer(len(batching), len(batching) + 2)
    batch = [d.size(4) for _ in range(batch_rank)]
    # JAX wants the index vector last.
    positions = d.some(range(batch_rank), len(batching))
    order = sorted(range(len(batching)), key=lambda i: batching[i])
    batching, positions = [batching[i] for i in order], [positions[i] for i in order]
    for dim, position in zip(batching, positions, strict=True):
        batch[position] = shape[dim]
    sizes = [min(1, shape[n]) if n in collapsed or n in batching else d.integer(min(1, shape[n]), shape[n]) for n in range(rank)]
    window = [sizes[n] for n in range(rank) if n not in collapsed and n not in batching]
    out_rank = batch_rank + len(window)
    offset = sorted(d.some(range(out_rank), len(window)))
    indices = d.index((*batch, len(mapped)), -2, max(shape) + 2)
    out, batch_sizes, window_sizes = [], list(batch), list(window)
    for n in range(out_rank):
        out.append(window_sizes.pop(0) if n in offset else batch_sizes.pop(0))
    return shape, indices, sizes, tuple(out), tuple(offset), tuple(collapsed), tuple(mapped), tuple(batching), tuple(positions)


MODES = [lax.GatherScatterMode.PROMISE_IN_BOUNDS] * 3 + [lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP]


def gather(d: Draw) -> Case:
    shape, indices, sizes, _, offset, collapsed, mapped, batching, positions = indexing(d)
    numbers = lax.GatherDimensionNumbers(offset, collapsed, mapped, batching, positions)
    mode = d.of(MODES)
    return Case(lambda x, i: lax.gather(x, i, numbers, sizes, mode=mode), [d.values(shape, d.of(ALL)), indices], what=f"{numbers} {mode}")


def scatter(d: Draw) -> Case:
    shape, indices, _, out, offset, collapsed, mapped, batching, positions = indexing(d)
    numbers = lax.ScatterDimensionNumbers(offset, collapsed, mapped, batching, positions)
    mode = d.of(MODES)
    op = d.of([lax.scatter, lax.scatter_add, lax.scatter_mul, lax.scatter_min, lax.scatter_max, lax.scatter_sub])
    dtype = d.of(INTS + FLOATS)
    bound = 1 if op is lax.scatter_mul else 3
    inputs = [d.small(shape, dtype, bound), indices, d.small(out, dtype, bound)]
    judge = None
    if not mapped or (mode != lax.GatherScatterMode.CLIP and partly_outside(shape, indices, out, numbers)):
        combine = {"scatter": lambda a, b: b, "scatter_add": np.add, "scatter_mul": np.multiply, "scatter_min": np.minimum, "scatter_max": np.maximum, "scatter_sub": np.subtract}[op.__name__]
        judge = lambda x, i, u: [scatter_by_element(x, i, u, numbers, combine)]  # noqa: E731 - KNOWN_DIFFERENCES: scatter windows
    return Case(lambda x, i, u: op(x, i, u, numbers, mode=mode), inputs, zeros=True, judge=judge, what=f"{op.__name__} {numbers} {mode}")


def scatter_position(index, indices, numbers, rank) -> list[int]:
    """Where an update goes, as the specification of scatter says."""
    batch = [n for at, n in enumerate(index) if at not in numbers.update_window_dims]
    window = [index[at] for at in numbers.update_window_dims]
    position = [0] * rank
    free = [n for n in range(rank) if n not in numbers.inserted_window_dims and n not in numbers.operand_batching_dims]
    for dim, offset in zip(free, window, strict=True):
        position[dim] += offset
    for dim, at in zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
        position[dim] += batch[at]
    for n, dim in enumerate(numbers.scatter_dims_to_operand_dims):
        position[dim] += int(indices[(*batch, n)])
    return position


def partly_outside(shape, indices, out, numbers) -> bool:
    inside_of: dict[tuple, set[bool]] = {}
    for index in np.ndindex(*out):
        position = scatter_position(index, indices, numbers, len(shape))
        batch = tuple(n for at, n in enumerate(index) if at not in numbers.update_window_dims)
        inside_of.setdefault(batch, set()).add(all(0 <= p < n for p, n in zip(position, shape, strict=True)))
    return any(len(kinds) > 1 for kinds in inside_of.values())


def scatter_by_element(x, indices, updates, numbers, combine) -> np.ndarray:
    result = x.copy()
    for index in np.ndindex(*updates.shape):
        position = tuple(scatter_position(index, indices, numbers, x.ndim))
        if all(0 <= p < n for p, n in zip(position, x.shape, strict=True)):
            result[position] = combine(result[position], updates[index])
    return result


def sort(d: Draw) -> Case:
    shape = d.shape(1, 3, 12)
    axis = d.integer(0, len(shape) - 1)
    operands = [d.values(shape, d.of(BOOL + INTS + FLOATS)) for _ in range(d.integer(1, 3))]
    for i, x in enumerate(operands):
        if d.chance(0.3):
            operands[i] = d.small(shape, x.dtype, 2)
    keys = d.integer(1, len(operands))
    return Case(lambda *v: lax.sort(v, dimension=axis, is_stable=True, num_keys=keys), operands, what=f"{keys} keys")


def top_k(d: Draw) -> Case:
    shape = d.shape(1, 3, 12)
    k = d.integer(0, shape[-1])
    return Case(lambda v: lax.top_k(v, k), [d.small(shape, d.of(INTS + FLOATS))], what=f"k={k}")


# --- sums and windows ---

REDUCERS = {"add": (lax.add, 0), "mul": (lax.mul, 1), "max": (lax.max, None), "min": (lax.min, None), "and": (lax.bitwise_and, -1), "or": (lax.bitwise_or, 0), "xor": (lax.bitwise_xor, 0)}


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
            ufunc = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[name]
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
        tolerance = {2: 4e-2 if dtype != np.float16 else 5e-3, 4: 2e-6, 8: 1e-14}[np.dtype(dtype).itemsize]
        wide = lambda v: lax.reduce(lax.convert_element_type(v, np.float64), np.float64(0), lax.add, axes)  # noqa: E731
        return Case(lambda v: lax.reduce(v, np.zeros((), dtype), lax.add, axes), [x], close=tolerance, expected=wide, what="sum of any floats")
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


def reduce_window(d: Draw) -> Case:
    shape = d.shape(1, 4, 7)
    window, strides, padding, base, dilation = windows(d, len(shape), shape)
    name, op, dtype, init, bound = reducer(d)
    x = d.small(shape, dtype, bound)
    if name in ("max", "min", "and", "or", "xor"):
        x = d.values(shape, dtype)
    custom = d.chance(0.3)
    combine = (lambda a, b: op(b, a)) if custom else op
    return Case(lambda v, i: lax.reduce_window(v, i, combine, window, strides, padding, base, dilation), [x, init], zeros=True,
                what=f"{name} window {window} strides {strides} padding {padding} base {base} dilation {dilation}")  # fmt: skip


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


def dot(d: Draw) -> Case:
    batches, contracting = [d.size(4) for _ in range(d.integer(0, 2))], [d.size(6) for _ in range(d.integer(0, 2))]
    sides, dims = [], []
    for _ in range(2):
        free = [d.size(5) for _ in range(d.integer(0, 2))]
        tagged = [("b", i, n) for i, n in enumerate(batches)] + [("c", i, n) for i, n in enumerate(contracting)] + [("f", i, n) for i, n in enumerate(free)]
        tagged = d.some(tagged, len(tagged))
        sides.append(tuple(n for _, _, n in tagged))
        where = {(kind, i): at for at, (kind, i, _) in enumerate(tagged)}
        dims.append(([where["c", i] for i in range(len(contracting))], [where["b", i] for i in range(len(batches))]))
    numbers = ((dims[0][0], dims[1][0]), (dims[0][1], dims[1][1]))
    dtype = d.of(INTS + FLOATS + COMPLEX)
    wider = None
    if d.chance(0.3):
        wider = {"i": np.int64, "u": np.uint64, "c": np.complex128}.get(np.dtype(dtype).kind, np.float32 if np.dtype(dtype).itemsize <= 4 else np.float64)
    call = lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=wider)  # noqa: E731
    if is_float(dtype) and d.chance(0.3):
        tolerance = {2: 5e-2 if dtype != np.float16 else 6e-3, 4: 3e-6, 8: 1e-14}[np.dtype(dtype).itemsize]
        x, y = d.rng.random(sides[0]).astype(dtype), d.rng.random(sides[1]).astype(dtype)
        return Case(call, [x, y], close=tolerance, what=f"any floats {numbers}")
    return Case(call, [d.small(sides[0], dtype), d.small(sides[1], dtype)], zeros=True, what=f"{numbers} to {wider}")


def convolution(d: Draw) -> Case:
    spatial = d.integer(0, 3)
    groups, batch_groups = (d.integer(1, 3), 1) if d.chance(0.7) else (1, d.integer(1, 3))
    features = d.integer(1, 3)
    batch = d.size(3) * batch_groups
    outputs = d.integer(1, 2) * groups * batch_groups
    window, strides, padding, base, dilation = windows(d, spatial, None)
    lhs = [batch, features * groups, *[d.size(6) for _ in range(spatial)]]
    rhs = [outputs, features, *window]
    specs = [tuple(d.some(range(spatial + 2), spatial + 2)) for _ in range(3)]
    numbers = lax.ConvDimensionNumbers(*specs)

    def place(sizes, spec):
        shape = [0] * len(sizes)
        for size, at in zip(sizes, spec, strict=True):
            shape[at] = size
        return tuple(shape)

    dtype = d.of([np.int8, np.int32, np.int64, np.uint8, *FLOATS, np.complex64])
    wider = np.int32 if dtype == np.int8 and d.chance(0.5) else np.float32 if dtype in HALVES and d.chance(0.5) else None
    inputs = [d.small(place(lhs, specs[0]), dtype, 2), d.small(place(rhs, specs[1]), dtype, 2)]
    call = lambda x, y: lax.conv_general_dilated(x, y, strides, padding, base, dilation, numbers, groups, batch_groups, preferred_element_type=wider)  # noqa: E731
    return Case(call, inputs, zeros=True, what=f"{numbers} strides {strides} padding {padding} base {base} dilation {dilation} groups {groups} {batch_groups}")


def fft(d: Draw) -> Case:
    rank = d.integer(1, 3)
    kind = d.of(["FFT", "IFFT", "RFFT", "IRFFT"])
    lengths = [d.integer(1, 8) for _ in range(rank)]
    shape = [d.size(3) for _ in range(d.integer(0, 1))] + lengths
    double = d.chance(0.5)
    dtype = (np.float64 if double else np.float32) if kind == "RFFT" else (np.complex128 if double else np.complex64)
    if kind == "IRFFT":
        shape[-1] = lengths[-1] // 2 + 1
    return Case(lambda v: lax.fft(v, lax.FftType[kind], tuple(lengths)), [d.values(shape, dtype, 0.0)], close=1e-13 if double else 3e-6, zeros=True, what=f"{kind} {lengths}")


def control(d: Draw) -> Case:
    dtype, shape = d.of(INTS + [np.float32]), d.shape(0, 2)
    kind = d.integer(0, 3)
    x = d.small(shape, dtype)
    if kind == 0:
        return Case(lambda v, n: lax.fori_loop(0, n, lambda i, a: lax.add(a, v), v), [x, np.array(d.integer(-1, 6), np.int32)], zeros=True, what="loop")
    if kind == 1:
        branches = d.integer(1, 4)
        which = np.array(d.integer(-2, branches + 1), np.int32)
        return Case(lambda i, v: lax.switch(i, [lambda a, k=k: lax.add(a, lax.full_like(a, k)) for k in range(branches)], v), [which, x], what="switch")
    if kind == 2:
        return Case(lambda p, v: lax.cond(p, lambda a: lax.neg(a), lambda a: lax.add(a, a), v), [d.values((), np.bool_), x], zeros=True, what="cond")
    xs = d.small((d.size(5), *shape), dtype)
    return Case(lambda c, v: lax.scan(lambda a, b: (lax.add(a, b), lax.sub(a, b)), c, v), [x, xs], zeros=True, what="scan")


def random_bits(d: Draw) -> Case:
    dtype = d.of([np.uint8, np.uint16, np.uint32, np.uint64])
    algorithm = d.of([lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX])
    words = 2 if algorithm == lax.RandomAlgorithm.RNG_THREE_FRY else 4
    key = d.rng.integers(0, 2**32, 4, dtype=np.uint32)
    shape = tuple(max(1, n) for n in d.shape(1, 3, 9))
    del words
    return Case(lambda k: lax.rng_bit_generator(k, shape, dtype, algorithm), [key], what=f"{algorithm} {np.dtype(dtype).name}")


def linear_algebra(d: Draw) -> Case:
    dtype = d.of([np.float32, np.float64, np.complex64, np.complex128])
    batch, n = d.shape(0, 2, 3), d.integer(1, 6)
    tolerance = 1e-4 if np.dtype(dtype).itemsize // (2 if is_complex(dtype) else 1) == 4 else 1e-12
    a = d.small((*batch, n, n), dtype)
    if d.chance(0.4):
        a = (a @ np.conj(np.swapaxes(a, -1, -2)) + 2 * n * np.eye(n)).astype(dtype)
        return Case(lambda v: lax.linalg.cholesky(v, symmetrize_input=False), [a], close=tolerance, platform="tpu", what="cholesky")
    a = (a / 8 + 2 * np.eye(n)).astype(dtype)
    left, lower, transpose, conjugate, unit = (d.chance(0.5) for _ in range(5))
    conjugate = conjugate and transpose and is_complex(dtype)
    b = d.small((*batch, n, d.size(4)) if left else (*batch, d.size(4), n), dtype)
    call = lambda v, w: lax.linalg.triangular_solve(v, w, left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conjugate, unit_diagonal=unit)  # noqa: E731
    return Case(call, [a, b], close=tolerance, zeros=True, platform="tpu", what=f"triangular_solve left {left} lower {lower} transpose {transpose} conjugate {conjugate} unit {unit}")


def numpy_index(d: Draw) -> Case:
    """Indexing as NumPy has it, negative steps included."""
    shape = d.shape(1, 4)
    x = d.values(shape, d.of(ALL))
    index = []
    for n in shape:
        bounds = [None if d.chance(0.3) else d.integer(-n - 2, n + 2) for _ in range(2)]
        index.append(slice(*bounds, d.of([1, 2, 3, -1, -2, -3])))
    index = tuple(index)
    return Case(lambda v: v[index], [x], judge=lambda v: [v[index]], what=str(index))


def gradients(d: Draw) -> Case:
    """Gradients of convolutions and pooling, in which paddings, dilations and reversals are the transposed ones."""
    channels, size = d.integer(1, 3), [d.integer(3, 7), d.integer(3, 7)]
    x = d.small((d.integer(1, 2), channels, *size), d.of([np.float32, np.float64]), 2)
    if d.chance(0.5):
        window = [d.integer(1, 3), d.integer(1, 3)]
        k = d.small((d.integer(1, 3), channels, *window), x.dtype, 2)
        strides, padding, dilation = [d.integer(1, 2) for _ in size], [(d.integer(0, 2), d.integer(0, 2)) for _ in size], [d.integer(1, 2) for _ in size]
        forward = lambda v, w: lax.conv_general_dilated(v, w, strides, padding, rhs_dilation=dilation)  # noqa: E731
        return Case(lambda v, w: jax.vjp(forward, v, w)[1](forward(v, w)), [x, k], zeros=True, what="gradient of convolution")
    window, strides = (1, 1, d.integer(1, 3), d.integer(1, 3)), (1, 1, d.integer(1, 3), d.integer(1, 3))
    padding = d.of(["SAME", "VALID"])
    op, init = d.of([(lax.max, -np.inf), (lax.min, np.inf), (lax.add, 0.0)])
    pool = lambda v: lax.reduce_window(v, v.dtype.type(init), op, window, strides, padding)  # noqa: E731
    return Case(lambda v: jax.vjp(pool, v)[1](pool(v)), [x], zeros=True, what="gradient of pooling")


FAMILIES: dict[str, tuple[int, Callable[[Draw], Case]]] = {
    "unary": (6, unary_exact), "reduce_precision": (1, reduce_precision), "binary": (8, binary_exact), "shift": (2, shift), "compare": (3, compare), "select_clamp": (3, select_clamp),
    "transcendental": (6, transcendental), "transcendental_binary": (2, transcendental_binary), "integer_pow": (1, integer_pow), "complex": (4, complex_functions), "convert": (7, convert), "bitcast": (2, bitcast),
    "chain": (2, chain), "movement": (10, movement), "gather": (6, gather), "scatter": (6, scatter), "sort": (3, sort), "top_k": (1, top_k), "reduce": (6, reduce), "reduce_window": (6, reduce_window),
    "select_and_scatter": (2, select_and_scatter), "cumulative": (2, cumulative), "dot": (6, dot), "convolution": (7, convolution), "fft": (2, fft), "control": (2, control), "random_bits": (1, random_bits),
    "linear_algebra": (3, linear_algebra), "numpy_index": (2, numpy_index), "gradients": (2, gradients),
}  # fmt: skip


def case_of(seed: int, number: int, only: list[str]) -> Case:
    d = Draw(seed, number)
    names = only or list(FAMILIES)
    weights = np.array([FAMILIES[n][0] for n in names], float)
    for _ in range(200):
        name = names[int(d.rng.choice(len(names), p=weights / weights.sum()))]
        try:
            case = FAMILIES[name][1](d)
            case.inputs = [np.asarray(x) for x in case.inputs]
            jax.eval_shape(case.call, *case.inputs)
        except (Reject, TypeError, ValueError, NotImplementedError, ZeroDivisionError, IndexError) as error:
            if os.environ.get("DIFFERENTIAL_SHOW_REJECTS") and not isinstance(error, Reject):
                print(f"rejected {name}: {str(error).splitlines()[0][:200]}", flush=True)
            continue
        case.family, case.number = name, number
        return case
    raise RuntimeError(f"no valid case found for seed {seed}, case {number}")


# --- running and comparing ---


def mlir_type(dtype, shape) -> str:
    return "tensor<" + "".join(f"{n}x" for n in shape) + MLIR_NAMES[np.dtype(dtype).name] + ">"


def constant(x: np.ndarray) -> str:
    kind = mlir_type(x.dtype, x.shape)
    if x.size == 0:
        return f"dense<> : {kind}"
    if x.dtype == np.bool_ or np.dtype(x.dtype).name in ("int4", "uint4", "int2", "uint2"):
        text = str(x.astype(np.int32).tolist()) if x.dtype != np.bool_ else str(x.tolist()).lower()
        return f"dense<{text}> : {kind}"
    return f'dense<"0x{np.ascontiguousarray(x).tobytes().hex().upper()}"> : {kind}'


def flat_calls(calls: list[Callable], counts: list[int]):
    """One function of all inputs that returns all results."""

    def together(*inputs):
        results, at = [], 0
        for call, count in zip(calls, counts, strict=True):
            results.extend(jax.tree.leaves(call(*inputs[at : at + count])))
            at += count
        return tuple(results)

    return together


def program_and_values(cases: list[Case]) -> tuple[str, list[list[np.ndarray]]]:
    counts = [len(c.inputs) for c in cases]
    inputs = [x for c in cases for x in c.inputs]
    platform = cases[0].platform
    lowered = jax.jit(flat_calls([c.call for c in cases], counts), keep_unused=True).trace(*inputs).lower(lowering_platforms=(platform,))
    outs = [jax.tree.leaves(jax.eval_shape(c.call, *c.inputs)) for c in cases]
    judged = lowered
    if platform != "cpu" or any(c.expected for c in cases):
        judged = jax.jit(flat_calls([c.expected or c.call for c in cases], counts), keep_unused=True).lower(*inputs)
    flat = [np.asarray(v) for v in judged.compile()(*inputs)]
    values = []
    for out in outs:
        with np.errstate(all="ignore"):
            values.append([v.astype(o.dtype) if v.dtype != o.dtype else v for v, o in zip(flat[: len(out)], out, strict=True)])
        flat = flat[len(out) :]
    values = [c.judge(*c.inputs) if c.judge else v for c, v in zip(cases, values, strict=True)]
    text = lowered.as_text().replace("func.func public @main(", "func.func private @cases(", 1)
    result_types = ", ".join(mlir_type(o.dtype, o.shape) for out in outs for o in out)
    input_types = ", ".join(mlir_type(x.dtype, x.shape) for x in inputs)
    total = sum(len(out) for out in outs)
    lines = [f"  func.func public @main() -> ({result_types}) {{"]
    lines += [f"    %in{i} = stablehlo.constant {constant(x)}" for i, x in enumerate(inputs)]
    names = ", ".join(f"%in{i}" for i in range(len(inputs)))
    lines.append(f"    %out:{total} = call @cases({names}) : ({input_types}) -> ({result_types})")
    lines.append(f"    return {', '.join(f'%out#{i}' for i in range(total))} : {result_types}")
    lines.append("  }")
    end = text.rindex("}")
    return text[:end] + "\n".join(lines) + "\n}\n", values


def evaluate(cupel: Path, text: str, expected: list[list[np.ndarray]]) -> list[list[np.ndarray]] | str:
    """What Cupel computes, or its message."""
    with tempfile.TemporaryDirectory(prefix="cupel-differential-") as folder:
        path = Path(folder) / "program.mlir"
        path.write_text(text)
        done = subprocess.run([str(cupel), "eval", str(path), "--jobs", "1", "--save", folder + "/out"], capture_output=True, text=True, errors="replace", timeout=300)
        if done.returncode != 0:
            return (done.stderr + done.stdout).replace(folder + "/", "").strip() or f"exit code {done.returncode}"
        results, at = [], 0
        for out in expected:
            row = []
            for like in out:
                value = np.load(f"{folder}/out/result{at}.npy")
                if value.dtype.kind == "V":
                    value = value.view(like.dtype)
                row.append(value if value.dtype == like.dtype else value.astype(like.dtype))
                at += 1
            results.append(row)
        return results


def ordered(x: np.ndarray) -> np.ndarray:
    """Floats as integers whose differences are units in the last place."""
    bits = x.view({1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[x.dtype.itemsize]).astype(object)
    low = -(1 << (x.dtype.itemsize * 8 - 1))
    return np.where(bits < 0, low - bits, bits)


def mismatches(case: Case, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """A mask of the elements that disagree."""
    if got.shape != want.shape:
        return np.array([True])
    if is_complex(want.dtype):
        scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
        parts = [part_mismatches(case, np.ascontiguousarray(f(got)), np.ascontiguousarray(f(want)), scale) for f in (np.real, np.imag)]
        return parts[0] | parts[1]
    if is_float(want.dtype):
        wide = want.astype(np.float64)
        return part_mismatches(case, got, want, np.abs(wide[np.isfinite(wide)]).max(initial=0.0))
    return got != want


def part_mismatches(case: Case, got: np.ndarray, want: np.ndarray, scale: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        g, w = got.astype(np.float64), want.astype(np.float64)
        equal = (g == w) | (np.isnan(g) & np.isnan(w))
        if not (case.zeros or case.ulp or case.close):
            equal &= ~((g == 0) & (w == 0) & (np.signbit(g) != np.signbit(w)))
        tiny = float(ml_dtypes.finfo(want.dtype).smallest_normal)
        if want.dtype.itemsize >= 4 or want.dtype == ml_dtypes.bfloat16:  # KNOWN_DIFFERENCES: subnormals
            equal |= (np.abs(g) <= tiny) & (np.abs(w) <= tiny) & ((g == 0) | (w == 0))
        finite = np.isfinite(g) & np.isfinite(w)
        if case.close:
            equal |= finite & (np.abs(g - w) <= case.close * scale)
        if case.ulp and not equal.all():
            distance = np.abs(ordered(np.atleast_1d(got)) - ordered(np.atleast_1d(want))).reshape(np.shape(got))
            near_overflow = ~np.isnan(g) & ~np.isnan(w)
            equal |= near_overflow & (distance <= case.ulp).astype(bool)
    return ~equal


def verdict(case: Case, got: list[np.ndarray], want: list[np.ndarray]) -> str:
    for n, (g, w) in enumerate(zip(got, want, strict=True)):
        bad = np.asarray(mismatches(case, g, w))
        bad = bad.reshape(w.shape) if bad.size == w.size else bad
        if bad.any():
            if g.shape != w.shape:
                return f"result {n}: shape {g.shape}, expected {w.shape}"
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            inputs = "".join(f", input {x[at]!r}" for x in case.inputs if x.shape == w.shape)
            return f"result {n}: {int(bad.sum())} of {bad.size} elements differ, the first at {list(at)}: {g[at]!r}, expected {w[at]!r}{inputs}"
    return ""


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    families: Counter = dataclasses.field(default_factory=Counter)
    failures: list[tuple[int, str, str, str]] = dataclasses.field(default_factory=list)  # number, family, message, report
    skipped: list[tuple[int, str, str]] = dataclasses.field(default_factory=list)


def report_of(case: Case, seed: int, message: str, text: str, got, want) -> str:
    lines = [f"// seed {seed}, case {case.number}, {case.family} ({case.what})", f"// {message}"]
    for name, values in (("Cupel", got), ("XLA", want)):
        for n, value in enumerate(values or []):
            lines += [f"// {name} result {n}:"] + ["//   " + line for line in np.array2string(np.asarray(value), threshold=400).splitlines()]
    for n, value in enumerate(case.inputs):
        lines += [f"// input {n} ({value.dtype}):"] + ["//   " + line for line in np.array2string(value, threshold=400).splitlines()]
    return "\n".join(lines) + "\n" + text


def run_group(job) -> Outcome:
    cupel, seed, numbers, only = job
    outcome = Outcome()
    cases = [case_of(seed, n, only) for n in numbers]
    for platform in sorted({c.platform for c in cases}):
        run_cases(cupel, seed, [c for c in cases if c.platform == platform], outcome)
    jax.clear_caches()
    return outcome


def run_cases(cupel: Path, seed: int, cases: list[Case], outcome: Outcome) -> None:
    try:
        text, want = program_and_values(cases)
    except Exception as error:  # noqa: BLE001 - whatever XLA refuses with
        if len(cases) > 1:
            halves(cupel, seed, cases, outcome)
        else:
            outcome.skipped.append((cases[0].number, cases[0].family, f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"))
        return
    got = evaluate(cupel, text, want)
    if isinstance(got, str):
        if len(cases) > 1:
            halves(cupel, seed, cases, outcome)
            return
        outcome.families[cases[0].family] += 1
        outcome.failures.append((cases[0].number, cases[0].family, got.splitlines()[0], report_of(cases[0], seed, got.splitlines()[0], text, None, want[0])))
        return
    for case, g, w in zip(cases, got, want, strict=True):
        message = verdict(case, g, w)
        if message and len(cases) > 1:
            run_cases(cupel, seed, [case], outcome)
            continue
        outcome.families[case.family] += 1
        if message:
            outcome.failures.append((case.number, case.family, message, report_of(case, seed, message, text, g, w)))
        else:
            outcome.passed += 1


def halves(cupel: Path, seed: int, cases: list[Case], outcome: Outcome) -> None:
    middle = len(cases) // 2
    run_cases(cupel, seed, cases[:middle], outcome)
    run_cases(cupel, seed, cases[middle:], outcome)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=Path, help="the folder of the cupel tool")
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help=f"families, separated by commas: {', '.join(FAMILIES)}")
    parser.add_argument("--keep", type=Path, help="where failing programs are saved (BUILD/differential-failures)")
    parser.add_argument("--show", type=int, default=5, help="how many failing programs to print in full")
    options = parser.parse_args()
    cupel = options.bin.resolve() / "cupel"
    keep = options.keep or options.bin.resolve().parent / "differential-failures"
    only = [name for name in options.only.split(",") if name]
    numbers = list(range(options.first, options.first + options.cases))
    jobs = [(cupel, options.seed, numbers[i : i + GROUP], only) for i in range(0, len(numbers), GROUP)]
    start, total = time.monotonic(), Outcome()
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=40) as pool:
        for outcome in pool.imap_unordered(run_group, jobs):
            total.passed += outcome.passed
            total.families += outcome.families
            total.skipped += outcome.skipped
            for number, family, message, report in outcome.failures:
                total.failures.append((number, family, message, report))
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"seed{options.seed}-case{number}-{family}.mlir").write_text(report)
                print(f"FAILED seed {options.seed} case {number} {family}: {message}", flush=True)
    for _, _, _, report in sorted(total.failures)[: options.show]:
        print(report)
    for number, family, message in sorted(total.skipped):
        print(f"not judged, since XLA refuses it: case {number} {family}: {message}")
    failed_of = Counter(family for _, family, _, _ in total.failures)
    print("cases by family: " + ", ".join(f"{name} {total.families[name]}" + (f" ({failed_of[name]} failed)" if failed_of[name] else "") for name in FAMILIES if total.families[name]))
    print(f"seed {options.seed}, {len(total.skipped)} not judged, {time.monotonic() - start:.0f} s")
    print(f"{total.passed} passed, {len(total.failures)} failed")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
