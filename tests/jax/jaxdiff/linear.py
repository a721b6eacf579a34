"""Products, convolutions, transforms, solvers, and gradients of the windowed ones."""

from __future__ import annotations

import jax
import numpy as np
import scipy.fft
from jax import lax

from .case import COMPLEX, FLOATS, HALVES, INTS, Case, is_complex, is_float
from .draw import Draw
from .reductions import windows
from .rounding import dot_in_order


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
        x, y = d.rng.random(sides[0]).astype(dtype), d.rng.random(sides[1]).astype(dtype)
        return Case(call, [x, y], judge=lambda v, w: [dot_in_order(v, w, numbers, wider or dtype)], what=f"any floats {numbers}")  # KNOWN_DIFFERENCES: float sums
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
    # Relative to the largest: up to three dimensions of at most eight points, each three steps of a butterfly, which rounds a product and a sum.
    transform = {"FFT": scipy.fft.fftn, "IFFT": scipy.fft.ifftn, "RFFT": scipy.fft.rfftn, "IRFFT": scipy.fft.irfftn}[kind]
    axes = tuple(range(-rank, 0))
    result = {"RFFT": np.complex128 if double else np.complex64, "IRFFT": np.float64 if double else np.float32}.get(kind, dtype)

    def judge(v):
        wide = v.astype(np.clongdouble if v.dtype.kind == "c" else np.longdouble)
        if v.size == 0:
            out = list(v.shape[:-1]) + [lengths[-1] // 2 + 1 if kind == "RFFT" else lengths[-1]]
            return [np.zeros(out, result)]
        return [transform(wide, lengths, axes).astype(result)]

    return Case(lambda v: lax.fft(v, lax.FftType[kind], tuple(lengths)), [d.values(shape, dtype, 0.0)], close=18 * float(np.finfo(dtype).eps), zeros=True, judge=judge, what=f"{kind} {lengths}")


def linear_algebra(d: Draw) -> Case:
    dtype = d.of([np.float32, np.float64, np.complex64, np.complex128])
    batch, n = d.shape(0, 2, 3), d.integer(1, 6)
    # Six rows, of a condition below 10 by the diagonal that is added: some tens of roundings, relative to the largest.
    tolerance = 40 * float(np.finfo(dtype).eps)
    wide = np.complex128 if is_complex(dtype) else np.float64
    a = d.small((*batch, n, n), dtype)
    if d.chance(0.4):
        a = (a @ np.conj(np.swapaxes(a, -1, -2)) + 2 * n * np.eye(n)).astype(dtype)
        return Case(lambda v: lax.linalg.cholesky(v, symmetrize_input=False), [a], close=tolerance, platform="tpu",
                    judge=lambda v: [np.tril(np.linalg.cholesky(v.astype(wide))).astype(dtype)], what="cholesky")  # fmt: skip
    a = (a / 8 + 2 * np.eye(n)).astype(dtype)
    left, lower, transpose, conjugate, unit = (d.chance(0.5) for _ in range(5))
    conjugate = conjugate and transpose and is_complex(dtype)
    b = d.small((*batch, n, d.size(4)) if left else (*batch, d.size(4), n), dtype)
    call = lambda v, w: lax.linalg.triangular_solve(v, w, left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conjugate, unit_diagonal=unit)  # noqa: E731

    def judge(v, w):
        v, w = v.astype(wide), w.astype(wide)
        v = np.tril(v) if lower else np.triu(v)
        if unit:
            v = v - v * np.eye(n) + np.eye(n)
        if transpose:
            v = np.swapaxes(v.conj() if conjugate else v, -1, -2)
        x = np.linalg.solve(v, w) if left else np.swapaxes(np.linalg.solve(np.swapaxes(v, -1, -2), np.swapaxes(w, -1, -2)), -1, -2)
        return [x.astype(dtype)]

    return Case(call, [a, b], close=tolerance, zeros=True, platform="tpu", judge=judge, what=f"triangular_solve left {left} lower {lower} transpose {transpose} conjugate {conjugate} unit {unit}")


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
