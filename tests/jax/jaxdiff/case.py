"""What a case is, the element types, and where XLA on the CPU is no judge."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import ml_dtypes
import numpy as np

# Where XLA on the CPU is no judge, and what is done about it.
KNOWN_DIFFERENCES = {
    "subnormals": "XLA's CPU threads flush subnormal floats to zero: cases that XLA judges get none as inputs, and a result below the "
    "smallest normal number of its type may be zero in either. NumPy, which keeps them, judges the families with subnormal inputs, strictly.",
    "scatter windows": "XLA drops an update window that lies partly outside the operand as a whole, and applies only the "
    "last update where no dimension is indexed; the specification decides element by element. NumPy judges these.",
    "start values": "XLA takes the start value of a reduction for neutral: it leaves it out over no or one-element dimensions "
    "and does not combine the padding of windows. NumPy judges reduce and reduce_window with other start values.",
    "the simplifier": "XLA's algebraic simplifier ends the process on some programs: reduce_window with negative padding (RET_CHECK in "
    "hlo_computation.cc), gradients of convolutions with windows of one element (window dimensions do not match). It is switched off, and NumPy "
    "judges reduce_window with negative padding.",
    "NaN without mantissa": "reduce_precision to 0 mantissa bits makes NaN infinite, as no format without mantissa holds a NaN; XLA "
    "keeps it. Such cases get no NaN.",
    "functions": "XLA's functions are a few units off in f32 and f64, more for complex numbers. NumPy in extended precision (or SciPy in f64, for "
    "those NumPy lacks) judges them.",
    "steps": "JAX lowers logistic to 1 / (1 + exp(-x)) and exp2 to exp(x * log(2)), each step rounded to the element type. They are judged by the "
    "same steps in NumPy; the operation stablehlo.logistic is made directly and judged by the true value.",
    "float sums": "XLA sums halves in f32 and in blocks. Sums and products of small whole numbers are exact in any order; those of any floats are "
    "judged by NumPy, which adds in the order and the type that the reference promises.",
    "poles": "digamma(0) is NaN in chlo and XLA; SciPy has an infinity.",
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


class Reject(Exception):
    """The parameters drawn make no valid case; draw again."""


@dataclasses.dataclass
class Case:
    """`call` on `inputs`; XLA's result of it is expected, or that of `expected` (a call too), or what `judge` computes with NumPy.

    Results agree within `ulp` units in the last place of the result's type (one number, or one for each element), or
    within `close` of the largest finite magnitude among the expected values, or within `norm` of the magnitude of the
    complex number itself, or within `absolute`. All 0 demands equality, with NaN equal to NaN and -0 unequal to +0 (unless `zeros`: the sign
    of zero is free).
    """

    call: Callable
    inputs: list[np.ndarray]
    ulp: int | np.ndarray = 0
    close: float = 0.0
    norm: float | np.ndarray = 0.0
    absolute: float = 0.0
    zeros: bool = False
    expected: Callable | None = None
    judge: Callable[..., list[np.ndarray]] | None = None  # of the NumPy inputs; XLA is not asked then
    platform: str = "cpu"  # whose lowering Cupel gets: JAX's for "tpu" uses operations where that for "cpu" calls LAPACK
    family: str = ""
    number: int = -1
    what: str = ""


def is_float(dtype) -> bool:
    return jax.dtypes.issubdtype(dtype, np.floating)


def is_complex(dtype) -> bool:
    return jax.dtypes.issubdtype(dtype, np.complexfloating)
