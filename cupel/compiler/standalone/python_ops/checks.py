"""What a program that checks itself checks. A check that fails raises AssertionError."""

import os

import numpy as np

held = 0
# For sums that are formed in another order: how far apart values may be beside what checks allow,
# measured by the largest one.
TOLERANCE = float(os.environ.get("OPS_CHECK_TOLERANCE", 0))


def _same_shape(actual, expected):
    global held
    assert np.shape(actual) == np.shape(expected), f"{np.shape(actual)} is not of shape {np.shape(expected)}"
    held += 1


def _report(wrong, actual, expected, how):
    if np.any(wrong):
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(f"{int(np.sum(wrong))} of {np.size(wrong)} elements are not {how}; at {at}: "
                             f"{np.asarray(actual)[at]!r} for {np.asarray(expected)[at]!r}")  # fmt: skip


def expect_eq(actual, expected):
    actual, expected = np.asarray(actual), np.asarray(expected)
    _same_shape(actual, expected)
    _report(~(actual == expected), actual, expected, "equal")


def expect_almost_eq(actual, expected, tolerance):
    actual, expected = np.asarray(actual), np.asarray(expected)
    _same_shape(actual, expected)
    if actual.dtype.kind not in "fc":
        return _report(~(actual == expected), actual, expected, "equal")
    parts = [(actual, expected)] if actual.dtype.kind == "f" else [(actual.real, expected.real), (actual.imag, expected.imag)]
    for a, b in parts:
        a, b = a.astype(np.float64), b.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance)
        _report(~same, a, b, f"within {tolerance}")


def _order(x, dtype):
    bits = dtype.bits_of(x) if dtype.is_held_wider else np.ascontiguousarray(x).reshape(x.shape).view(f"u{x.itemsize}")
    top = 1 << (dtype.bits - 1) if dtype.kind == "float" else 1 << (bits.itemsize * 8 - 1)
    magnitude = (bits & bits.dtype.type(top - 1)).astype(np.int64)
    return np.where(bits & bits.dtype.type(top), -magnitude, magnitude)


def expect_close(actual, expected, least, most, dtype):
    """At most so many representable numbers apart."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    _same_shape(actual, expected)
    if actual.dtype.kind not in "fc":
        return _report(~(actual == expected), actual, expected, "equal")
    if actual.dtype.kind == "c":
        for part in (np.real, np.imag):
            _check_close(np.ascontiguousarray(part(actual)), np.ascontiguousarray(part(expected)), least, most, dtype)
    else:
        _check_close(actual, expected, least, most, dtype)


def _check_close(a, b, least, most, dtype):
    special = np.isnan(a) | np.isnan(b) | np.isinf(a) | np.isinf(b)
    distance = np.abs(_order(a, dtype) - _order(b, dtype))
    same = np.where(special, (a == b) | (np.isnan(a) & np.isnan(b)), (distance >= least) & (distance <= most))
    if TOLERANCE and same.size:
        size = np.max(np.abs(np.where(special, 0, b)).astype(np.float64), initial=0)
        same = same | (np.abs(a.astype(np.float64) - b) <= TOLERANCE * size)
    _report(~same, a, b, f"{least} to {most} units in the last place apart")


def check_eq(expected, actual):
    """The check of quantized programs."""
    actual = np.asarray(actual)
    if actual.dtype.kind in "fc":
        expect_almost_eq(actual, expected, 1e-4)
    else:
        expect_eq(actual, expected)
    return np.bool_(True)


def shape_assertion(condition, message, *sizes):
    if not condition:
        raise ValueError(message.format(*[int(size) for size in sizes]))


def print_tensor(name, x):
    print(f"{name} = {np.asarray(x)}")


__all__ = [name for name in globals() if not name.startswith("_") and name not in ("np", "os", "held", "TOLERANCE")]
