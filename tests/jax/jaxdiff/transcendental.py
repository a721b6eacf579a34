"""Functions, real and complex, against NumPy in extended precision, or the C library and SciPy in f64 for those that NumPy lacks.

Tolerances are units in the last place between the result and the correctly rounded true value. Where they come from:

* Operations of StableHLO: what docs/reference/accuracy.md promises and cupel_reference_accuracy_test measures against MPFR. An error
  below 1 unit is a distance of at most 1; in f64 an error of up to 2.5 units is one of at most 3.
* Functions of chlo, which are decomposed to StableHLO operations rounded one by one: MEASURED below, by `python -m jaxdiff.measure`.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import scipy.special
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo

from .case import COMPLEX, FLOATS, HALVES, Case
from .draw import Draw
from .subnormals import tiny_values

LONG, LONG_COMPLEX = np.longdouble, np.clongdouble


def operation(name: str, result=lambda *operands: operands[0]):
    """A call of the StableHLO operation itself, where JAX may write formulas instead."""
    primitive = Primitive(f"stablehlo_{name}")
    primitive.def_abstract_eval(result)
    mlir.register_lowering(primitive, lambda context, *operands: [getattr(stablehlo, name)(*operands).result])
    return primitive.bind


def stable_logistic(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))))


def one_by_one(function):
    """The C library's, which is within a unit of f64 where SciPy loses digits (erfc for large arguments)."""

    def apply(x):
        result = np.empty(x.shape)
        for index in np.ndindex(*x.shape):
            value = float(x[index])
            try:
                result[index] = np.inf if function is math.lgamma and value in (0, np.inf) else function(value)
            except OverflowError:
                result[index] = np.inf
        return result

    return apply


def digamma(x):
    """NaN at the pole 0, as chlo and XLA have it; SciPy's is infinite there."""
    x = x.astype(np.float64)
    return np.where(x == 0, np.nan, scipy.special.psi(x))


# name: what Cupel gets, the true function, the distance allowed in f64
STABLEHLO = {
    "exp": (operation("ExpOp"), np.exp, 1), "expm1": (operation("Expm1Op"), np.expm1, 1), "log": (operation("LogOp"), np.log, 1), "log1p": (operation("Log1pOp"), np.log1p, 1),
    "sin": (operation("SineOp"), np.sin, 1), "cos": (operation("CosineOp"), np.cos, 1), "tan": (operation("TanOp"), np.tan, 1), "tanh": (operation("TanhOp"), np.tanh, 2),
    "logistic": (operation("LogisticOp"), stable_logistic, 3), "sqrt": (operation("SqrtOp"), np.sqrt, 0), "rsqrt": (operation("RsqrtOp"), lambda x: 1 / np.sqrt(x), 2),
    "cbrt": (operation("CbrtOp"), np.cbrt, 1),
}  # fmt: skip

CHLO = {
    "asin": (lax.asin, np.arcsin), "acos": (lax.acos, np.arccos), "atan": (lax.atan, np.arctan), "sinh": (lax.sinh, np.sinh), "cosh": (lax.cosh, np.cosh),
    "asinh": (lax.asinh, np.arcsinh), "acosh": (lax.acosh, np.arccosh), "atanh": (lax.atanh, np.arctanh), "erf": (lax.erf, one_by_one(math.erf)),
    "erfc": (lax.erfc, one_by_one(math.erfc)), "erf_inv": (lax.erf_inv, scipy.special.erfinv), "lgamma": (lax.lgamma, one_by_one(math.lgamma)),
    "digamma": (lax.digamma, digamma), "bessel_i1e": (lax.bessel_i1e, scipy.special.i1e),
}  # fmt: skip

# name: worst distance in f32 and f64 over a million arguments each, plus one, since a sample is no proof
MEASURED = {
    "asin": (3, 3), "acos": (2, 2), "atan": (1, 2), "sinh": (25, 3), "cosh": (25, 3), "asinh": (2, 3), "acosh": (4, 3), "atanh": (2, 2), "erf": (3, 4), "erfc": (5, 11),
    "erf_inv": (8, 8), "lgamma": (25, 23), "digamma": (10, 9), "bessel_i1e": (14, 1),
}  # fmt: skip
# lgamma and digamma lose digits beside their zeros, where they are accurate in absolute terms: units of the last place of 1, measured
# where the result is below 1, plus one.
ABSOLUTE = {"lgamma": 23, "digamma": 9}
HALF = {"digamma": 3, "lgamma": 8}  # docs/decisions/0005: all 65,536 values; the others are 1 off at most


def true_value(function, x: np.ndarray) -> np.ndarray:
    """In the widest type that the function has."""
    wide = np.float64 if isinstance(function, np.ufunc) and "g->g" not in function.types else LONG  # SciPy's
    return np.asarray(function(x.astype(wide)))


def judged_by(function, dtype):
    return lambda x: [true_value(function, x).astype(dtype)]


def distance_allowed(name: str, x: np.ndarray) -> int | np.ndarray:
    if x.dtype.type in HALVES:  # beside a zero the digits that f32 loses are seen
        return np.where(np.abs(true_value(CHLO[name][1], x)) < 0.1, HALF[name], 1) if name in HALF else 1
    measured = MEASURED[name][0 if x.dtype == np.float32 else 1]
    wide = x.astype(np.float64)
    if name in ("sinh", "cosh") and x.dtype == np.float32:
        # exp(x + log(1/2)): half a unit of the rounded argument is a relative error of the result. |x| in [2^k, 2^(k+1)) has the unit
        # 2^(k-23); half of it over the 2^-24 that a unit of the result can be relative to it gives 2^k, to which the roundings of exp,
        # of the sum or difference and of log(1/2) add 2.
        exponent = np.floor(np.log2(np.clip(np.where(np.isfinite(wide), np.abs(wide), 1), 1, 127)))
        return (np.exp2(exponent) + 2).astype(np.int64)
    if name == "erf_inv":
        # About sqrt(w), w = -log(1 - x^2): the rounding of x^2, half a unit, is an error of w of half a unit over 1 - x^2, and half of
        # that over w of the result. Measured is where this does not count.
        inside = np.clip(np.where(np.abs(wide) < 1, 1 - wide * wide, 1), 1e-17, 1)
        return measured + np.ceil(0.5 / inside / (2 * np.maximum(-np.log(inside), 1))).astype(np.int64)
    return measured


def transcendental(d: Draw) -> Case:
    dtype, shape = d.of(FLOATS), d.shape()
    x = tiny_values(d, shape, dtype) if d.chance(0.15) else d.values(shape, dtype)
    name = d.of([*STABLEHLO, *CHLO])
    if name in STABLEHLO:
        call, function, f64 = STABLEHLO[name]
        if name == "sqrt" and dtype in HALVES:  # rounded once: f32 has more than twice the digits and two
            return Case(call, [x], judge=lambda v: [np.sqrt(v.astype(np.float32)).astype(dtype)], what=name)
        if name == "sqrt":
            return Case(call, [x], judge=lambda v: [np.sqrt(v)], what=name)
        return Case(call, [x], ulp=f64 if dtype == np.float64 else 1, judge=judged_by(function, dtype), what=name)
    call, function = CHLO[name]
    if name in ("lgamma", "digamma"):
        x = np.abs(x)
    ulp = distance_allowed(name, x)
    case = Case(call, [x], ulp=ulp, judge=judged_by(function, dtype), what=name)
    if name in ABSOLUTE and dtype not in HALVES:
        case.absolute = ABSOLUTE[name] * float(ml_dtypes.finfo(dtype).eps)
    return case


BINARY = {"pow": (operation("PowOp"), np.power), "atan2": (operation("Atan2Op"), np.arctan2)}


def transcendental_binary(d: Draw) -> Case:
    name = d.of(["pow", "atan2"])
    call, function = BINARY[name]
    dtype, shape = d.of(FLOATS), d.shape()
    x, y = d.values(shape, dtype), d.values(shape, dtype)
    if d.chance(0.15):
        x = tiny_values(d, shape, dtype)
    return Case(call, [x, y], ulp=1, judge=lambda v, w: [function(v.astype(LONG), w.astype(LONG)).astype(dtype)], what=name)


def in_steps(d: Draw) -> Case:
    """KNOWN_DIFFERENCES: steps. Only exp is not exact, and that only in f32 and f64: a unit of it is one of the sum, and up to two of its reciprocal, to which roundings add one each."""
    dtype, shape = d.of(FLOATS), d.shape()
    x = d.values(shape, dtype)
    round_to = lambda v: np.asarray(v).astype(dtype)  # noqa: E731
    product = (lambda a, b: a * b) if np.dtype(dtype).itemsize > 2 else lambda a, b: round_to(a.astype(np.float32) * b.astype(np.float32))
    if d.chance(0.5):
        log2 = round_to(np.log(LONG(2)))
        return Case(lax.exp2, [x], ulp=1, judge=lambda v: [round_to(np.exp(product(v, log2).astype(LONG)))], what="exp2")
    one = np.ones((), dtype)
    wide = np.float32 if np.dtype(dtype).itemsize == 2 else dtype

    def logistic(v):
        exp = round_to(np.exp(-v.astype(LONG)))
        total = round_to(one.astype(wide) + exp.astype(wide))
        return [round_to(one.astype(wide) / total.astype(wide))]

    return Case(lax.logistic, [x], ulp=0 if dtype in HALVES else 4, judge=logistic, what="logistic")


# --- complex ---

# docs/reference/accuracy.md: parts of complex<f32> within 1 unit; complex<f64> within 4 units of its larger part, tan and tanh 6.
COMPLEX_STABLEHLO = {name: STABLEHLO[name][:2] for name in ("exp", "log", "sin", "cos", "tan", "tanh", "sqrt")}
# docs/decisions/0005: 3 units in complex<f32> and 2 in complex<f64>; NumPy's own functions are not better than f64 in relative terms.
COMPLEX_CHLO = {
    "asin": (lax.asin, np.arcsin), "acos": (lax.acos, np.arccos), "atan": (lax.atan, np.arctan), "asinh": (lax.asinh, np.arcsinh), "acosh": (lax.acosh, np.arccosh),
    "atanh": (lax.atanh, np.arctanh),
}  # fmt: skip


def complex_functions(d: Draw) -> Case:
    dtype, shape = d.of(COMPLEX), d.shape()
    x = d.values(shape, dtype, 0.0)
    name = d.of([*COMPLEX_STABLEHLO, *COMPLEX_CHLO, "abs", "pow", "rsqrt"])
    eps = float(np.finfo(dtype).eps)
    if name == "abs":
        return Case(lax.abs, [x], ulp=1, judge=lambda v: [np.abs(v.astype(LONG_COMPLEX)).astype(np.empty(0, dtype).real.dtype)], what=name)
    if name == "pow":  # exp(y * log(x)): the error of the product is one of the argument
        y = d.values(shape, dtype, 0.0)
        with np.errstate(all="ignore"):
            argument = np.abs(y.astype(np.complex128) * np.log(x.astype(np.complex128)))
        return Case(BINARY["pow"][0], [x, y], norm=eps * (4 + 4 * np.where(np.isfinite(argument), argument, 0)), zeros=True, judge=lambda v, w: [np.power(v.astype(LONG_COMPLEX), w.astype(LONG_COMPLEX)).astype(dtype)], what=name)
    if name == "rsqrt":
        return Case(STABLEHLO["rsqrt"][0], [x], norm=4 * eps, zeros=True, judge=lambda v: [(1 / np.sqrt(v.astype(LONG_COMPLEX))).astype(dtype)], what=name)
    call, function = {**COMPLEX_STABLEHLO, **COMPLEX_CHLO}[name]
    judge = lambda v: [function(v.astype(LONG_COMPLEX)).astype(dtype)]  # noqa: E731
    if name in COMPLEX_CHLO:
        return Case(call, [x], ulp=3, norm=4 * eps, zeros=True, judge=judge, what=name)
    return Case(call, [x], ulp=1, norm=0.0 if dtype == np.complex64 else (6 if name in ("tan", "tanh") else 4) * eps, zeros=True, judge=judge, what=name)


def naive_product(a, b):
    """In the parts' own type, each operation rounded: what the specification's formula says, also at infinities."""
    real, imag = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    result = np.empty(np.shape(real), a.dtype)
    result.real, result.imag = real, imag
    return result


def complex_arithmetic(d: Draw) -> Case:
    """Infinities and NaN included."""
    dtype, shape = d.of(COMPLEX), d.shape()
    x, y = d.values(shape, dtype, 0.3), d.values(shape, dtype, 0.3)
    name = d.of(["add", "sub", "mul", "neg", "conj", "real", "imag", "eq", "ne", "abs", "complex"])
    parts = np.empty(0, dtype).real.dtype
    if name == "complex":
        a, b = d.values(shape, parts), d.values(shape, parts)

        def build(v, w):
            result = np.empty(v.shape, dtype)
            result.real, result.imag = v, w
            return [result]

        return Case(lax.complex, [a, b], judge=build, what=name)
    calls = {"add": (lax.add, np.add), "sub": (lax.sub, np.subtract), "mul": (lax.mul, naive_product), "neg": (lax.neg, np.negative), "conj": (lax.conj, np.conj), "real": (lax.real, np.real),
             "imag": (lax.imag, np.imag), "eq": (lax.eq, np.equal), "ne": (lax.ne, np.not_equal), "abs": (lax.abs, lambda v: np.hypot(v.real.astype(LONG), v.imag.astype(LONG)).astype(parts))}  # fmt: skip
    call, function = calls[name]
    inputs = [x, y] if name in ("add", "sub", "mul", "eq", "ne") else [x]
    return Case(call, inputs, ulp=1 if name == "abs" else 0, zeros=name == "mul", judge=lambda *v: [np.asarray(function(*v))], what=name)


def complex_nonfinite(d: Draw) -> Case:
    """Functions at infinities, NaN and zeros of both signs: C99 Annex G, as the C library below NumPy has it; the sign of zero and of an infinite part that Annex G leaves open is free."""
    dtype, shape = d.of(COMPLEX), d.shape()
    x = d.values(shape, dtype, 0.7)
    name = d.of(["exp", "log", "sqrt", "sin", "cos", "tanh", "tan"])
    call, function = COMPLEX_STABLEHLO[name]
    eps = float(np.finfo(dtype).eps)
    return Case(call, [x], ulp=1, norm=6 * eps, zeros=True, judge=lambda v: [function(v.astype(np.complex128)).astype(dtype)], what=name)
