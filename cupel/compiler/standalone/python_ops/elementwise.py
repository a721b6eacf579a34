"""Functions of elements. Integers wrap; transcendental functions are computed in f64 and rounded once."""

import numpy as np

from .formats import f64


def _through_f64(function):
    def compute(*operands):
        operands = [np.asarray(x) for x in operands]
        dtype = operands[0].dtype
        wide = np.complex128 if dtype.kind == "c" else np.float64
        return function(*[x.astype(wide) for x in operands]).astype(dtype)

    return compute


def add(a, b):
    return a + b


def multiply(a, b):
    return a * b


def subtract(a, b):
    return a - b


def logical_and(a, b):
    return a & b


def logical_or(a, b):
    return a | b


def logical_xor(a, b):
    return a ^ b


def maximum(a, b):
    """NaN wins, and +0 is above -0."""
    result = np.maximum(a, b)
    if result.dtype.kind == "f":
        zeros = (a == 0) & (b == 0)
        if np.any(zeros):
            result = np.where(zeros, a + b, result)
    return result


def minimum(a, b):
    result = np.minimum(a, b)
    if result.dtype.kind == "f":
        zeros = (a == 0) & (b == 0)
        if np.any(zeros):
            result = np.where(zeros, -(-a + -b), result)
    return result


def clamp(low, x, high):
    return minimum(maximum(x, low), high)


def select(condition, a, b):
    return np.where(condition, a, b)


def divide(a, b):
    """Toward zero for integers, where division by zero sets all bits."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "c":
        return _divide_complex(a, b)
    if a.dtype.kind not in "iu":
        return a / b
    by = np.where(b == 0, 1, b).astype(a.dtype)
    quotient = a // by
    if a.dtype.kind == "i":
        quotient = np.where((quotient < 0) & (quotient * by != a), quotient + 1, quotient).astype(a.dtype)
        quotient = np.where(by == -1, -a, quotient)
    return np.where(b == 0, ~np.zeros_like(a), quotient)


def _divide_complex(a, b):
    wide = a.astype(np.complex128) / b.astype(np.complex128)
    return (wide if a.dtype == np.complex64 else a / b).astype(a.dtype)


def remainder(a, b):
    """With the sign of the dividend."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "iu":
        return np.fmod(a, b)
    return np.where(b == 0, a, np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b).astype(a.dtype))))


def power(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "c":
        return _power_complex(a, b)
    if a.dtype.kind not in "iu":
        return _through_f64(np.power)(a, b)
    result, square, left = np.ones_like(a + b), a + 0 * b, b + 0 * a
    if a.dtype.kind == "i":
        odd = (b & 1) != 0
        negative = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0)).astype(a.dtype)
        left = np.where(b < 0, 0, left).astype(a.dtype)
    while np.any(left):
        result = np.where(left & 1, result * square, result)
        square, left = square * square, left >> 1
    return np.where(b < 0, negative, result) if a.dtype.kind == "i" else result


def _power_complex(a, b):
    wide_a, wide_b = a.astype(np.complex128), b.astype(np.complex128)
    result = np.where(wide_b == 0, 1, np.where(wide_a == 0, 0, np.exp(wide_b * np.log(wide_a))))
    return result.astype(a.dtype)


def sign(x):
    x = np.asarray(x)
    if x.dtype.kind == "c":
        size = np.abs(x)
        return np.where(np.isnan(x), complex(np.nan, np.nan), np.where(size == 0, x, x / np.where(size == 0, 1, size))).astype(x.dtype)
    if x.dtype.kind == "f":
        return np.where(np.isnan(x) | (x == 0), x, np.copysign(np.ones_like(x), x))
    return np.sign(x)


def absolute(x):
    x = np.asarray(x)
    if x.dtype == np.complex64:
        return np.abs(x.astype(np.complex128)).astype(np.float32)
    return np.abs(x)


exponential = _through_f64(np.exp)
exponential_minus_one = _through_f64(np.expm1)
log = _through_f64(np.log)
log_plus_one = _through_f64(np.log1p)
sine = _through_f64(np.sin)
cosine = _through_f64(np.cos)
tan = _through_f64(np.tan)
tanh = _through_f64(np.tanh)


@_through_f64
def logistic(x):
    return 1 / (1 + np.exp(-x))


@_through_f64
def rsqrt(x):
    return 1 / np.sqrt(x)


@_through_f64
def sqrt(x):
    return np.sqrt(x)


@_through_f64
def cbrt(x):
    return np.cbrt(x) if x.dtype.kind == "f" else np.power(x, 1 / 3)


@_through_f64
def atan2(y, x):
    if y.dtype.kind != "c":
        return np.arctan2(y, x)
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def ceil(x):
    return np.ceil(x)


def floor(x):
    return np.floor(x)


def round_nearest_even(x):
    return np.rint(x)


def round_nearest_afz(x):
    whole = np.trunc(x)
    return np.copysign(np.where(np.abs(x - whole) >= 0.5, np.abs(whole) + 1, np.abs(whole)), x).astype(x.dtype)


def is_finite(x):
    return np.isfinite(x)


def real(x):
    return np.real(x)


def imag(x):
    x = np.asarray(x)
    return np.imag(x) if x.dtype.kind == "c" else np.zeros_like(x)


def make_complex(a, b):
    result = np.empty(np.broadcast_shapes(np.shape(a), np.shape(b)), np.complex64 if a.dtype == np.float32 else np.complex128)
    result.real, result.imag = a, b
    return result


def _unsigned(x):
    return x.view(np.dtype(f"u{x.dtype.itemsize}")) if x.dtype.kind == "i" else x


def _signed(x):
    return x.view(np.dtype(f"i{x.dtype.itemsize}")) if x.dtype.kind == "u" else x


def _bits(x, dtype):
    """The bits of a value alone, without those that extend its sign."""
    x = _unsigned(np.ascontiguousarray(x).reshape(np.shape(x)))
    return x & x.dtype.type((1 << dtype.bits) - 1) if dtype.bits < 8 else x


def shift_left(a, b, dtype):
    by = _bits(b, dtype)
    limit = by.dtype.type(dtype.bits)
    shifted = _bits(a, dtype) << np.where(by < limit, by, 0).astype(by.dtype)
    return dtype(np.where(by < limit, shifted, 0).astype(by.dtype).view(dtype.dtype))


def shift_right_logical(a, b, dtype):
    by = _bits(b, dtype)
    limit = by.dtype.type(dtype.bits)
    shifted = _bits(a, dtype) >> np.where(by < limit, by, 0).astype(by.dtype)
    return dtype(np.where(by < limit, shifted, 0).astype(by.dtype).view(dtype.dtype))


def shift_right_arithmetic(a, b, dtype):
    by = _bits(b, dtype)
    by = np.where(by < dtype.bits, by, dtype.bits - 1)
    value = _signed(np.ascontiguousarray(a).reshape(np.shape(a)))
    if dtype.bits < 8:
        value = (value << (8 - dtype.bits)).astype(np.int8) >> (8 - dtype.bits)
    return dtype((value >> by.astype(value.dtype)).view(dtype.dtype))


def popcnt(x, dtype):
    bits, count = _bits(x, dtype), np.zeros(np.shape(x), np.int64)
    for i in range(dtype.bits):
        count += ((bits >> bits.dtype.type(i)) & bits.dtype.type(1)).astype(np.int64)
    return dtype(count)


def count_leading_zeros(x, dtype):
    bits, count = _bits(x, dtype), np.full(np.shape(x), dtype.bits, np.int64)
    for i in range(dtype.bits):
        count = np.where((bits >> bits.dtype.type(i)) & bits.dtype.type(1), dtype.bits - 1 - i, count)
    return dtype(count)


def total_order(x):
    """Integers in the order of floats: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN."""
    x = np.ascontiguousarray(x).reshape(np.shape(x))
    if x.dtype.kind != "f":
        return x
    bits = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    return bits ^ ((bits >> (x.dtype.itemsize * 8 - 1)) & np.iinfo(bits.dtype).max)


def reduce_precision(x, exponent_bits, mantissa_bits):
    """Rounds to a format of fewer bits, keeping the type."""
    x = np.ascontiguousarray(x).reshape(np.shape(x))
    mantissa, exponent = (23, 8) if x.dtype == np.float32 else (52, 11)
    bits = x.view(np.dtype(f"u{x.dtype.itemsize}"))
    word = bits.dtype.type
    sign_bit = bits & word(1 << (x.dtype.itemsize * 8 - 1))
    size, infinity = bits ^ sign_bit, word(((1 << exponent) - 1) << mantissa)
    rounded = size
    if mantissa_bits < mantissa:
        shift = mantissa - mantissa_bits
        half = word((1 << (shift - 1)) - 1) + ((size >> word(shift)) & word(1))
        rounded = (size + half) & word(~((1 << shift) - 1) & ((1 << (x.dtype.itemsize * 8)) - 1))
    if exponent_bits < exponent:
        bias = (1 << (exponent_bits - 1)) - 1
        has = (rounded >> word(mantissa)).astype(np.int64) - ((1 << (exponent - 1)) - 1)
        rounded = np.where(has > bias, infinity, np.where(has < 1 - bias, word(0), rounded))
    result = np.where(size < infinity, rounded | sign_bit, bits).astype(bits.dtype)
    if mantissa_bits == 0:
        result = np.where(size > infinity, infinity | sign_bit, result).astype(bits.dtype)
    return result.view(x.dtype)


def map_elements(operands, body):
    return body(*operands)


def convert(x, dtype):
    return dtype(x)


def gather_values(*values):
    return values


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("np", "f64")]
