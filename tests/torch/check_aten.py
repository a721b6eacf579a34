"""Checks lowerings of ATen operators at the edges that PyTorch's own samples leave out: NaN, infinities and signed zeros, integers,
bools, bytes, doubles and complex numbers, empty tensors, ties, in-place and view forms, and operators without samples.

usage: .venv/bin/python tests/torch/check_aten.py [WORKER] [--keep FOLDER] [--decompose] [-k TEXT]

Each group of calls becomes one exported program; WORKER (build/bin/cupel-worker unless told) runs it on the reference and compares
with what torch computes, at torch.testing.assert_close's tolerances. Ends with "N passed, N failed".
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.

inf, nan = float("inf"), float("nan")
aten = torch.ops.aten


def t(*values: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    return torch.tensor(list(values), dtype=dtype)


EDGES = t(-inf, -100.5, -7.0, -2.5, -1.5, -1.0, -0.75, -0.5, -0.0, 0.0, 1e-20, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 7.0, 100.5, inf, nan)
INSIDE = torch.linspace(-0.99, 0.99, 23)
POSITIVE = torch.linspace(0.05, 30.0, 41)
INTS = t(-7, -6, -3, -2, -1, 0, 1, 2, 3, 6, 7, dtype=torch.int32)
OTHER = t(3, -3, 2, -2, 5, 7, -1, 4, -4, 1, -7, dtype=torch.int32)
BYTES = t(0, 1, 2, 3, 127, 128, 200, 254, 255, dtype=torch.uint8)
BOOLS = t(True, False, True, True, False)
COMPLEX = torch.complex(t(1.0, -2.0, 0.0, 0.5, -0.5), t(0.0, 1.5, -2.0, 0.25, -0.75))
torch.manual_seed(7)
CUBE = torch.randn(3, 4, 5)
MATRIX = torch.randn(4, 6)
SQUARE = torch.randn(5, 5)
TIES = t(3.0, 1.0, 3.0, 2.0, 1.0, nan, 2.0, 3.0, nan)

# name -> (function of the tensors, tensors). A function may return a tensor or a tuple of tensors.
CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {}


def case(name: str, function: Callable[..., Any], *tensors: torch.Tensor) -> None:
    assert name not in CASES, name
    CASES[name] = (function, tensors)


def each(name: str, functions: list[Callable[..., Any]], *tensors: torch.Tensor) -> None:
    """Several functions of the same tensors as one program."""
    case(name, lambda *xs: tuple(r for f in functions for r in (lambda v: v if isinstance(v, (tuple, list)) else (v,))(f(*xs))), *tensors)


# Elementwise, on every kind of number.
ROUNDINGS = [torch.floor, torch.ceil, torch.trunc, torch.frac, torch.round, torch.sign, torch.sgn, torch.abs, torch.neg, torch.signbit]
each("roundings", ROUNDINGS, EDGES)
each("roundings of doubles", ROUNDINGS, EDGES.double())
each("roundings of integers", [torch.floor, torch.ceil, torch.trunc, torch.round, torch.sign, torch.abs, torch.neg, torch.signbit, torch.square], INTS)
each("roundings of bytes", [torch.floor, torch.sign, torch.abs, torch.neg, torch.signbit, torch.square, torch.bitwise_not], BYTES)
each("round to decimals", [lambda x: torch.round(x, decimals=1), lambda x: torch.round(x, decimals=-1), lambda x: torch.round(x, decimals=3)], CUBE * 17)
each("predicates", [torch.isnan, torch.isinf, torch.isposinf, torch.isneginf, torch.isfinite, torch.isreal, torch.logical_not], EDGES)
each("predicates of integers", [torch.isnan, torch.isinf, torch.isposinf, torch.isneginf, torch.isfinite, torch.logical_not], INTS)
each("exponentials", [torch.exp, torch.exp2, torch.expm1, torch.sigmoid, torch.tanh, torch.sinh, torch.cosh], EDGES.clamp(-80, 80))
each("exponentials at the ends", [torch.exp, torch.exp2, torch.expm1, torch.sigmoid, torch.tanh, torch.erf, torch.erfc, torch.atan], EDGES)
each("logarithms", [torch.log, torch.log2, torch.log10, torch.log1p, torch.sqrt, torch.rsqrt, torch.reciprocal], EDGES)
each("logarithms of integers", [torch.log, torch.log2, torch.log10, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.exp, torch.sin], t(1, 2, 3, 10, 100))
each("trigonometry", [torch.sin, torch.cos, torch.tan, torch.atan, torch.asinh, torch.deg2rad, torch.rad2deg, torch.sinc], EDGES)
each("inverse trigonometry", [torch.asin, torch.acos, torch.atanh, torch.erfinv], t(-1.5, -1.0, *INSIDE.tolist(), 1.0, 1.5, nan))
each("acosh", [torch.acosh], t(0.5, 1.0, 1.5, 2.5, 100.0, inf, nan))
each("functions of bools", [torch.sin, torch.exp, torch.sqrt, torch.sigmoid, lambda x: x + True, lambda x: x * 2.5, lambda x: x | False, torch.logical_not], BOOLS)
each("functions of complex numbers", [torch.exp, torch.log, torch.sqrt, torch.sin, torch.cos, torch.tanh, torch.abs, torch.angle, torch.conj_physical,
                                      torch.reciprocal, torch.square, torch.sgn, lambda x: x * (1 + 2j), lambda x: x ** 2], COMPLEX)
each("parts of complex numbers", [torch.view_as_real, lambda x: x.real * 2, lambda x: x.imag + 1, lambda x: torch.conj(x).resolve_conj(), lambda x: x.mH,
                                  lambda x: x.abs(), lambda x: x == x.conj().resolve_conj(), lambda x: x.sum(), lambda x: x.mean()], COMPLEX.reshape(1, 5).repeat(2, 1))
each("nan_to_num", [torch.nan_to_num, lambda x: torch.nan_to_num(x, 1.0, 2.0, 3.0)], EDGES)
each("angle, logit, frexp", [torch.angle, lambda x: torch.logit(x, 0.1), lambda x: torch.frexp(x)], EDGES)
each("special", [torch.special.entr, torch.special.bessel_j0, torch.special.bessel_j1, torch.special.ndtr, torch.special.log_ndtr, torch.special.erfcx,
                 torch.special.spherical_bessel_j0, torch.lgamma], EDGES)
each("special, modified", [torch.special.i0e, torch.special.i1e, torch.special.i0, torch.special.i1, torch.special.airy_ai], t(-20.0, -9.0, -8.0, -3.0, -0.5, 0.0, 0.5, 2.0, 3.0, 8.0, 9.0, 20.0))
each("special of positive numbers", [torch.special.bessel_y0, torch.special.bessel_y1, torch.special.modified_bessel_k0, torch.special.modified_bessel_k1,
                                     torch.special.scaled_modified_bessel_k0, torch.special.scaled_modified_bessel_k1, torch.digamma, torch.lgamma], POSITIVE)
each("quantiles of the normal", [torch.special.ndtri], t(0.0, 1e-30, 1e-10, 1e-4, 0.02, 0.3, 0.5, 0.7, 0.99, 0.999999, 1.0, -0.5, nan))
each("polygamma", [lambda x: torch.polygamma(1, x), lambda x: torch.polygamma(2, x), lambda x: torch.polygamma(3, x), torch.digamma], t(0.1, 0.5, 1.0, 2.5, 10.0, 50.0))
each("incomplete gamma", [torch.special.gammainc, torch.special.gammaincc], t(0.5, 1.0, 2.0, 5.0, 30.0, 100.0, 0.0, 3.0, 1.0), t(0.1, 2.0, 2.0, 9.0, 25.0, 110.0, 1.0, 0.0, inf))
each("zeta", [torch.special.zeta], t(1.5, 2.0, 3.0, 10.0, 1.0, 0.5), t(1.0, 0.5, 7.0, 2.5, 2.0, 2.0))

# Two operands.
BINARY = [torch.add, torch.sub, torch.mul, torch.div, torch.fmod, torch.remainder, torch.floor_divide, lambda a, b: torch.div(a, b, rounding_mode="trunc"),
          lambda a, b: torch.div(a, b, rounding_mode="floor"), torch.maximum, torch.minimum, torch.fmax, torch.fmin, torch.atan2, torch.copysign, torch.eq, torch.lt]
each("floats with floats", BINARY, EDGES, EDGES.flip(0).roll(3))
each("all pairs of edges", [torch.add, torch.mul, torch.div, torch.pow, torch.maximum, torch.fmin, torch.logaddexp, torch.hypot, torch.xlogy,
                            torch.special.xlog1py, torch.heaviside], EDGES, EDGES[:, None])
each("integers with integers", BINARY, INTS, OTHER)
each("integers with floats", [torch.add, torch.mul, torch.div, torch.fmod, torch.pow, torch.ge], INTS, t(1.5, 2.0, -0.5, 3.0, 2.0, 0.5, 2.0, 3.0, 1.0, 2.0, -1.0))
each("integers with numbers", [lambda x: x + 1.5, lambda x: x * 2, lambda x: x / 2, lambda x: x // 2, lambda x: x // -2, lambda x: x % 3, lambda x: x % -3, lambda x: 3 - x,
                               lambda x: x > 1.5, lambda x: x == 2, lambda x: x ** 2, lambda x: x ** 3, lambda x: x * True, lambda x: torch.rsub(x, 10, alpha=3)], INTS)
each("bytes", [lambda x: x + 100, lambda x: x * 3, lambda x: x - 5, lambda x: x // 3, lambda x: x % 7, lambda x: x >> 2, lambda x: x << 3, lambda x: x & 15, lambda x: ~x,
               lambda x: x.to(torch.int8), lambda x: x > 128, torch.max, torch.min, lambda x: x.sum(), lambda x: x.float().mean()], BYTES)
each("powers", [lambda x: x ** 0.5, lambda x: x ** 2, lambda x: x ** 3, lambda x: x ** -1, lambda x: x ** -2, lambda x: x ** -0.5, lambda x: x ** 1.7, lambda x: 2 ** x, lambda x: x ** 0], EDGES)
each("integer powers", [lambda x, y: x ** y.abs(), lambda x, y: torch.pow(x.float(), y), lambda x, y: torch.float_power(x, y.abs()), lambda x, y: torch.pow(2, y.abs())], INTS, OTHER)
each("bits", [torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor, torch.gcd, torch.lcm, lambda a, b: a << b.abs(), lambda a, b: a >> b.abs(), lambda a, b: torch.bitwise_not(a)], INTS, OTHER)
each("logic", [torch.logical_and, torch.logical_or, torch.logical_xor], t(0.0, 1.0, nan, -0.0, 2.0), t(True, False, True, False, True))
each("clamps", [lambda x: x.clamp(-1, 1), lambda x: x.clamp(min=0.5), lambda x: x.clamp(max=0.5), lambda x: x.clamp(2, -2), lambda x: torch.clamp(x, x.flip(0), torch.tensor(1.0))], EDGES)
each("lerp, addcmul, addcdiv", [lambda a, b: torch.lerp(a, b, 0.25), lambda a, b: torch.lerp(a, b, b), lambda a, b: torch.addcmul(a, a, b, value=2.5),
                                lambda a, b: torch.addcdiv(a, a, b, value=-1)], CUBE, torch.rand(4, 1) + 0.5)
each("near", [torch.isclose, lambda a, b: torch.isclose(a, b, rtol=0.1, equal_nan=True), lambda a, b: torch.isclose(a.int(), b.int(), atol=1)], t(1.0, 1.01, nan, inf, 0.0, 5.0), t(1.0, 1.0, nan, inf, 1e-9, 6.0))
each("logaddexp2, ldexp, nextafter", [torch.logaddexp2, lambda a, b: torch.ldexp(a, b.int()), torch.nextafter], t(1.0, 2.0, -3.0, 0.5), t(1.0, -2.0, 4.0, 0.0))
each("where", [lambda c, x: torch.where(c, x, 2), lambda c, x: torch.where(c, 1.5, x), lambda c, x: torch.where(c, x, x.double()), lambda c, x: torch.where(c, 1, 2)], BOOLS, t(1.0, 2.0, 3.0, 4.0, 5.0))
each("promotion", [lambda f, i, d: f + i, lambda f, i, d: f * d, lambda f, i, d: i + d[0], lambda f, i, d: f + d[0], lambda f, i, d: i * 2.5, lambda f, i, d: i + torch.tensor(2.5)],
     t(1.0, 2.0), t(1, 2), torch.tensor([1.5, 2.5], dtype=torch.float64))

# Casts.
each("casts of floats", [lambda x: x.to(torch.int32), lambda x: x.long(), lambda x: x.bool(), lambda x: x.double(), lambda x: x.half(), lambda x: x.bfloat16(),
                         lambda x: x.to(torch.int8), lambda x: x.to(torch.int16), lambda x: x.to(torch.complex64)], t(-100.7, -1.5, -0.0, 0.2, 1.5, 2.5, 100.7))
each("casts of integers", [lambda x: x.float(), lambda x: x.bool(), lambda x: x.to(torch.uint8), lambda x: x.to(torch.int8), lambda x: x.to(torch.complex64), lambda x: x.half()], t(-300, -1, 0, 1, 255, 256, 300))
each("bits under other types", [lambda x: x.view(torch.int32), lambda x: x.view(torch.uint8), lambda x: x.view(torch.int16), lambda x: x.view(torch.int64)], torch.randn(3, 4))

# Shapes and views.
each("views", [lambda x: x.view(12, 5), lambda x: x.flatten(1), lambda x: x.permute(2, 0, 1), lambda x: x.transpose(0, -1), lambda x: x.movedim(0, 2), lambda x: x.select(1, -1),
               lambda x: x[:, 1:-1:2], lambda x: x[-1:, :, ::3], lambda x: x.narrow(2, 1, 3), lambda x: x.unsqueeze(-1), lambda x: x.diagonal(1, 0, 2), lambda x: x.unfold(2, 3, 2),
               lambda x: x.swapaxes(0, 1), lambda x: x.unflatten(1, (2, 2)), lambda x: x.expand(2, 3, 4, 5), lambda x: x.mT, lambda x: x.as_strided((2, 3), (1, 7), 2)], CUBE)
each("splits", [lambda x: x.split(3, 2), lambda x: x.split([1, 3], 1), lambda x: x.chunk(3, 2), lambda x: x.tensor_split(3, 2), lambda x: x.tensor_split([1, 2], 1), lambda x: x.unbind(1),
                lambda x: torch.hsplit(x, 2), lambda x: torch.vsplit(x, 3), lambda x: torch.dsplit(x, [1, 4])], CUBE)
each("joins", [lambda a, b: torch.cat((a, b), -1), lambda a, b: torch.stack((a, b), 1), lambda a, b: torch.hstack((a, b)), lambda a, b: torch.vstack((a, b)), lambda a, b: torch.dstack((a, b)),
               lambda a, b: torch.column_stack((a, b)), lambda a, b: torch.cat((a, b.int())), lambda a, b: torch.cat((a, torch.empty(0)), 0), lambda a, b: torch.block_diag(a, b[0])], MATRIX, MATRIX * 2)
each("stacks of vectors", [lambda a, b: torch.hstack((a, b)), lambda a, b: torch.vstack((a, b)), lambda a, b: torch.dstack((a, b)), lambda a, b: torch.column_stack((a, b)),
                           lambda a, b: torch.cartesian_prod(a, b), lambda a, b: torch.meshgrid(a, b, indexing="xy"), lambda a, b: torch.broadcast_tensors(a[:, None], b)], t(1.0, 2.0, 3.0), t(4.0, 5.0, 6.0))
each("repeats", [lambda x: x.repeat(2, 1, 3), lambda x: x.tile(2), lambda x: torch.repeat_interleave(x, 2, 1), lambda x: torch.repeat_interleave(x, 3), lambda x: x.flip(0, 1), lambda x: x.roll(2),
                 lambda x: x.roll((1, -1), (0, 1)), lambda x: torch.rot90(x, 1), lambda x: torch.rot90(x, -1), lambda x: torch.rot90(x, 2), lambda x: x.fliplr(), lambda x: x.flipud()], MATRIX)
each("triangles", [lambda x: x.tril(), lambda x: x.triu(1), lambda x: x.tril(-2), lambda x: torch.diag(x, 1), lambda x: torch.diag_embed(x), lambda x: torch.diagflat(x[0], -1), lambda x: torch.trace(x),
                   lambda x: torch.diag(x[0])], SQUARE)
each("shuffles", [lambda x: F.pixel_shuffle(x, 2), lambda x: F.channel_shuffle(x, 2)], torch.randn(2, 8, 3, 5))
each("empty tensors", [lambda x: x + 1, lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.prod(), lambda x: x.mean(), lambda x: x.t(), lambda x: x.reshape(0), lambda x: torch.cat((x, x)), lambda x: x.softmax(1),
                       lambda x: x.sort(0)[0], lambda x: x.any(), lambda x: x.all(0), lambda x: x.cumsum(1), lambda x: x.std(1), lambda x: x.norm(), lambda x: torch.nn.functional.pad(x, (0, 0, 1, 1))], torch.empty(0, 3))

# Writing in place, through views too.
def writes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.clone()
    y[0].add_(1)
    y[:, 1] = 5
    y.diagonal().mul_(-1)
    y.t()[2].fill_(3)
    y.view(-1)[::7].zero_()
    z = y.unsqueeze(0).transpose(0, 1)
    z[1].copy_(x[1][None])
    return y, z


case("writes through views", writes, SQUARE)
each("random numbers of nothing", [lambda x: torch.randn_like(x), lambda x: torch.rand(0, 2), lambda x: F.dropout(x, 0.5, True), lambda x: F.rrelu(x, training=True), lambda x: torch.bernoulli(x)], torch.empty(0, 3))
each("fill_diagonal_", [lambda x: x.clone().fill_diagonal_(7), lambda x: x.t().clone().fill_diagonal_(-1.5), lambda x: x.clone().repeat(3, 1).fill_diagonal_(2, wrap=True), lambda x: x.clone().repeat(3, 1).fill_diagonal_(2),
     lambda x: x[0, :3].expand(3, 3, 3).clone().fill_diagonal_(4.0), lambda x: (x > 0).fill_diagonal_(True)], MATRIX)
case("in-place arithmetic", lambda x: (x.clone().mul_(2).sub_(1).clamp_(-1, 1).pow_(2), x.clone().masked_fill_(x > 0, -1.0), x.clone().relu_().sqrt_()), MATRIX)

# Indexing.
INDEX = t(2, 0, -1, 1)
each("index", [lambda x, i: x[i], lambda x, i: x[:, i], lambda x, i: x[:, :, i], lambda x, i: x[i % 3, i % 4], lambda x, i: x[i % 3, :, i], lambda x, i: x[:, i, i], lambda x, i: x[i[:, None] % 3, i],
               lambda x, i: x[0, i], lambda x, i: x[..., i], lambda x, i: x[None, i % 3], lambda x, i: x.index_select(1, i % 4), lambda x, i: x.take(i), lambda x, i: x[1:, i, None]], CUBE, INDEX % 3 - 1)
each("gather", [lambda x, i: x.gather(1, i), lambda x, i: x.gather(0, i % 4), lambda x, i: torch.take_along_dim(x, i, 1), lambda x, i: torch.take_along_dim(x, i[:1], 1), lambda x, i: torch.take_along_dim(x, i)],
     MATRIX, torch.randint(0, 6, (4, 3), generator=torch.Generator().manual_seed(1)))


def puts(x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
    mask = x > 0
    a, b, c, d, e, f = (x.clone() for _ in range(6))
    a[i] = 0
    b[:, i] = torch.arange(4.0)
    c[mask] = 7.0
    d[mask[:, 0]] = d[0] * 2
    e[i[:2], i[:2]] = t(1.0, 2.0)
    f[0, mask[0]] = 1
    return a, b, c, d, e, f


case("index_put", puts, SQUARE, t(0, 2, 4, 1))
each("accumulating index_put", [lambda x, i: x.index_put((i,), torch.ones(4, 5), accumulate=True), lambda x, i: x.index_put((i, i), torch.tensor(1.0), accumulate=True),
                                lambda x, i: x.put(i, t(1.0, 2.0, 3.0, 4.0), accumulate=True), lambda x, i: x.index_add(1, i[:3], torch.ones(5, 3), alpha=2)], SQUARE, t(0, 0, 4, 1))
each("index writes", [lambda x, i: x.index_copy(0, i, torch.ones(3, 5)), lambda x, i: x.index_fill(1, i, -1.0), lambda x, i: torch.select_scatter(x, torch.zeros(5), 0, -2),
                      lambda x, i: torch.slice_scatter(x, torch.zeros(5, 2), 1, 0, 4, 2), lambda x, i: torch.diagonal_scatter(x, torch.zeros(4), -1), lambda x, i: x.masked_scatter(x > 0, torch.arange(25.0)),
                      lambda x, i: torch.as_strided_scatter(x, torch.zeros(2, 2), (2, 2), (7, 2), 3)], SQUARE, t(0, 4, 2))
REDUCES = [lambda x, i, s, r=r, k=k: x.scatter_reduce(0, i, s, r, include_self=k) for r in ("sum", "prod", "mean", "amax", "amin") for k in (True, False)]
each("scatter_reduce", REDUCES, MATRIX, t(0, 1, 0, 3, 3, 1).repeat(2, 1), torch.randn(2, 6))
each("scatter", [lambda x, i, s: x.scatter(1, i, s), lambda x, i, s: x.scatter(1, i, 2.5), lambda x, i, s: x.scatter(0, i % 4, s, reduce="add"), lambda x, i, s: x.scatter(0, i % 4, s, reduce="multiply"),
                 lambda x, i, s: x.scatter_add(1, i, s)], MATRIX, t(5, 0, 3).repeat(4, 1), torch.randn(4, 4))
each("scatter_reduce of integers", [lambda x, i, s, r=r: x.scatter_reduce(0, i, s, r) for r in ("sum", "prod", "mean", "amax", "amin")], t(5, -7, 3), t(0, 1, 1, 0), t(2, -3, 4, 1))
each("masks", [lambda x: x.masked_fill(x > 0, 1), lambda x: x.masked_fill(x > 0, nan), lambda x: torch.masked_fill(x, t(True, False, True, False, True), torch.tensor(2.0)), lambda x: torch.nonzero_static(x > 0.5, size=9)], SQUARE)

# Reductions.
REDUCTIONS = [torch.sum, torch.prod, torch.mean, torch.amax, torch.amin, torch.var, torch.std, torch.median, torch.nansum, torch.nanmean, torch.count_nonzero, torch.argmax, torch.argmin, torch.any, torch.all,
              lambda x: x.sum((0, -1), keepdim=True), lambda x: x.var((1, 2), correction=0), lambda x: x.std(0, keepdim=True, correction=2), lambda x: torch.var_mean(x, 1), lambda x: torch.std_mean(x), lambda x: x.logsumexp((0, 2)),
              lambda x: x.max(1), lambda x: x.min(2, keepdim=True), lambda x: x.aminmax(), lambda x: x.aminmax(dim=1), lambda x: x.norm(), lambda x: x.norm(1, 0), lambda x: x.norm(inf, (0, 1)), lambda x: x.norm(0), lambda x: x.norm(3, 2, True)]
each("reductions", REDUCTIONS, CUBE)
each("reductions with NaN", [torch.amax, torch.amin, torch.nansum, torch.nanmean, torch.argmax, torch.argmin, lambda x: x.max(0), lambda x: x.min(0), torch.median, torch.nanmedian, lambda x: x.nanmedian(0), torch.any, torch.all,
                             lambda x: torch.nanquantile(x, 0.3), lambda x: torch.quantile(x, 0.3)], TIES)
each("reductions of integers", [torch.sum, torch.prod, torch.amax, torch.argmax, torch.argmin, torch.any, torch.all, torch.median, torch.count_nonzero, lambda x: x.max(0), lambda x: x.sum(dtype=torch.float32), lambda x: x.cumsum(0), lambda x: x.cumprod(0)], INTS)
each("reductions of bools", [torch.sum, torch.prod, torch.any, torch.all, torch.count_nonzero, lambda x: x.cumsum(0), lambda x: x.max(), lambda x: x.float().mean()], BOOLS)
each("infinite logsumexp", [lambda x: x.logsumexp(0)], t(-inf, -inf)[:, None].expand(2, 3).clone())
each("dist, trapezoid, diff", [lambda x: torch.dist(x, x.flip(0), 3), lambda x: torch.trapezoid(x, dx=0.5, dim=0), lambda x: torch.cumulative_trapezoid(x, dim=1), lambda x: torch.diff(x, n=2), lambda x: torch.diff(x, dim=0, prepend=x[:1]),
                               lambda x: torch.gradient(x, edge_order=2), lambda x: torch.trapezoid(x, x.cumsum(1))], SQUARE)
each("running", [lambda x: x.cumsum(1), lambda x: x.cumprod(0), lambda x: x.cummax(1), lambda x: x.cummin(0), lambda x: x.logcumsumexp(1)], MATRIX)
each("running extremes with ties", [lambda x: x.cummax(0), lambda x: x.cummin(0)], TIES)
each("running extremes of the least", [lambda x: x.cummax(0), lambda x: x.cummin(0), lambda x: x.cummax(1)], t(-inf, -0.0, inf, nan, 0.0, -inf)[:, None].expand(6, 3).clone())
each("running extremes of other types", [lambda x: x.cummax(0), lambda x: x.cummin(0), lambda x: (x > 0).cummax(0), lambda x: x.byte().cummin(0), lambda x: x.double().cummax(0)], INTS)
each("running logarithms of sums", [lambda x: x.logcumsumexp(0), lambda x: x.flip(0).logcumsumexp(0)], t(-0.0, -inf, 3.0, inf, nan))
each("long running sums", [lambda x: x.cumsum(0), lambda x: x.cummax(0)[0]], torch.randn(1500))

# Order.
each("sort", [lambda x: x.sort(), lambda x: x.sort(descending=True), lambda x: x.sort(stable=True), lambda x: x.argsort(stable=True), lambda x: x.msort(), lambda x: x.topk(3)[0], lambda x: x.topk(2, largest=False)[0],
              lambda x: x.kthvalue(2)[0], lambda x: x[:5].mode()[0]], TIES)
each("order of matrices", [lambda x: x.sort(0), lambda x: x.argsort(1, descending=True), lambda x: x.topk(2, 0), lambda x: x.median(1), lambda x: x.kthvalue(3, 0, True), lambda x: x.quantile(t(0.1, 0.5, 0.99), 1),
                           lambda x: x.quantile(0.25, 0, keepdim=True, interpolation="nearest"), lambda x: x.quantile(0.6, interpolation="midpoint"), lambda x: x.quantile(0.6, 1, interpolation="higher")], MATRIX)
each("search", [lambda s, v: torch.searchsorted(s, v), lambda s, v: torch.searchsorted(s, v, right=True), lambda s, v: torch.bucketize(v, s), lambda s, v: torch.bucketize(v, s, right=True, out_int32=True), lambda s, v: torch.isin(v, s)],
     t(-1.0, 0.0, 0.0, 2.0, 3.0), t(-5.0, 0.0, 1.0, 3.0, 9.0, nan))
each("search in much", [lambda s, v: torch.searchsorted(s.sort()[0], v), lambda s, v: torch.bucketize(v, s.sort()[0], right=True), lambda s, v: torch.searchsorted(s.reshape(2, -1).sort(1)[0], v.reshape(2, -1)),
                        lambda s, v: torch.histc(s, 3000, -2, 2)], torch.randn(4000), torch.randn(4000))
each("mode of integers", [lambda x: x.mode(1)[0], lambda x: x.mode(0)[0]], t(1, 2, 2, 3, 3, 3).repeat(2, 1))
each("histograms", [lambda x: torch.histc(x, 5), lambda x: torch.histc(x, 4, -1, 1), lambda x: torch.histogram(x, 6), lambda x: torch.histogram(x, t(-2.0, -0.5, 0.5, 2.0), density=True)], MATRIX)

# Activations, losses, distances.
ACTIVATIONS = [F.relu, F.relu6, F.leaky_relu, F.elu, F.celu, F.selu, F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.silu, F.mish, F.hardtanh, F.hardswish, F.hardsigmoid, F.hardshrink, F.softshrink, F.softplus,
               F.softsign, F.tanhshrink, F.logsigmoid, lambda x: F.threshold(x, 0.5, -1.0), lambda x: F.rrelu(x, training=False)]
each("activations", ACTIVATIONS, CUBE * 3)
each("activations at the edges", [F.relu, F.relu6, F.leaky_relu, F.elu, F.selu, F.hardtanh, F.hardshrink, F.softshrink, F.softplus, F.logsigmoid, lambda x: F.threshold(x, 0.5, -1.0)], EDGES)
each("softmaxes", [lambda x: x.softmax(0), lambda x: x.softmax(-1), lambda x: x.log_softmax(1), lambda x: F.softmin(x, 1), lambda x: x.softmax(1, dtype=torch.float64), lambda x: F.glu(x, 1)], CUBE * 5)
each("prelu", [lambda x, w: F.prelu(x, w), lambda x, w: F.prelu(x, w[:1])], CUBE, torch.rand(4))
LABELS = t(1, 0, 5, 2)
LISTS = t(3, 0, -1, 1, -1, -1, 5, 1, 2, 0, -1, 3, -1, 1, 1, 1, 1, 1, 0, 1, 2, 3, 4, 5).reshape(4, 6)
for how in ("none", "mean", "sum"):
    each(f"class losses, {how}", [lambda x, y, w, r=how: F.cross_entropy(x, y, reduction=r), lambda x, y, w, r=how: F.cross_entropy(x, y, w, reduction=r, label_smoothing=0.2),
                                  lambda x, y, w, r=how: F.cross_entropy(x, y, ignore_index=5, reduction=r), lambda x, y, w, r=how: F.cross_entropy(x, x.softmax(1), w, reduction=r),
                                  lambda x, y, w, r=how: F.nll_loss(x, y, w, ignore_index=0, reduction=r), lambda x, y, w, r=how: F.multi_margin_loss(x, y, weight=w, reduction=r, p=2),
                                  lambda x, y, w, r=how: F.multilabel_margin_loss(x, t(3, 0, -1, 1, -1, -1).repeat(4, 1), reduction=r)], MATRIX, LABELS, torch.rand(6) + 0.1)
    each(f"losses, {how}", [lambda x, y, r=how: F.l1_loss(x, y, reduction=r), lambda x, y, r=how: F.mse_loss(x, y, reduction=r), lambda x, y, r=how: F.smooth_l1_loss(x, y, reduction=r, beta=0.3),
                            lambda x, y, r=how: F.huber_loss(x, y, reduction=r, delta=0.7), lambda x, y, r=how: F.kl_div(x, y.softmax(1), reduction=r), lambda x, y, r=how: F.kl_div(x, y, reduction=r, log_target=True),
                            lambda x, y, r=how: F.soft_margin_loss(x, y.sign(), reduction=r), lambda x, y, r=how: F.hinge_embedding_loss(x, y.sign(), reduction=r), lambda x, y, r=how: F.poisson_nll_loss(x, y.abs(), full=True, reduction=r),
                            lambda x, y, r=how: F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction=r), lambda x, y, r=how: F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=torch.arange(1.0, 7.0), reduction=r),
                            lambda x, y, r=how: F.margin_ranking_loss(x, y, x.sign(), margin=0.5, reduction=r), lambda x, y, r=how: F.cosine_embedding_loss(x, y, t(1, -1, 1, -1), margin=0.1, reduction=r),
                            lambda x, y, r=how: F.triplet_margin_loss(x, y, x * y, swap=True, reduction=r)], MATRIX, torch.randn(4, 6))
each("spatial class losses", [lambda x, y: F.cross_entropy(x, y), lambda x, y: F.nll_loss(x, y, reduction="none")], torch.randn(2, 3, 4, 5), torch.randint(0, 3, (2, 4, 5)))
each("distances", [lambda x, y: torch.cdist(x, y), lambda x, y: torch.cdist(x, y, 1.0), lambda x, y: torch.cdist(x, y, inf), lambda x, y: F.pdist(x), lambda x, y: F.pairwise_distance(x, y[:4]), lambda x, y: F.cosine_similarity(x, y[:4], 1),
                   lambda x, y: torch.cdist(x, y, 0.5), lambda x, y: torch.cdist(x, y, 0.0)], MATRIX, torch.randn(5, 6))

# Operators that torch.export takes apart or refuses, but that other writers of programs keep: a stand-in is exported, and its one
# call replaced. name -> (stand-in, tensors, target, its arguments, what torch computes)
PROBES = torch.randn(7, 2, 5).log_softmax(2)
TARGETS = t(1, 2, 2, 3, 4, 1).reshape(2, 3)
REPLACED: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], str, list[Any], Callable[..., Any]]] = {
    "cov": (lambda x, y: F.linear(x, y), (MATRIX, MATRIX.clone()), "cov.default", [("self", "as_tensor", 0), ("correction", "as_int", 0)], lambda x, y: torch.cov(x, correction=0)),
    "corrcoef": (lambda x, y: F.linear(x, y), (MATRIX, MATRIX.clone()), "corrcoef.default", [("self", "as_tensor", 0)], lambda x, y: torch.corrcoef(x)),
}
for _reduction, _number in (("none", 0), ("mean", 1), ("sum", 2)):
    REPLACED[f"ctc loss {_reduction}"] = (
        lambda x, y, r=_reduction: F.mse_loss(x[:3, :, 0].t(), y.float(), reduction=r) if r != "none" else x[0, :, 0], (PROBES, TARGETS), "ctc_loss.IntList",
        [("log_probs", "as_tensor", 0), ("targets", "as_tensor", 1), ("input_lengths", "as_ints", [7, 5]), ("target_lengths", "as_ints", [3, 1]), ("reduction", "as_int", _number)],
        lambda x, y, r=_reduction: F.ctc_loss(x, y, (7, 5), (3, 1), reduction=r))


def replaced(name: str, target: str, arguments: list[Any], function: Callable[..., Any], *tensors: torch.Tensor) -> None:
    """A call that torch.export does not take at all: zeros of the results' shapes stand in for it."""
    results = function(*(tensor.clone() for tensor in tensors))
    results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
    stand_in = lambda *given, of=results: tuple(torch.zeros(value.shape, dtype=value.dtype) for value in of)  # noqa: E731
    REPLACED[name] = (stand_in, tensors, target, arguments, lambda *given, of=results: of)


# Least squares: full and deficient rank, too few and too many equations, every driver.
TALL, WIDE = torch.randn(5, 3), torch.randn(3, 5)
DEFICIENT = torch.cat((TALL[:, :2], TALL[:, :1] - 2 * TALL[:, 1:2]), 1)
for _name, _matrix, _right, _more in (
        ("tall", TALL, torch.randn(5, 2), {}), ("batches", torch.randn(2, 5, 3), torch.randn(2, 5, 2), {}), ("wide", WIDE, torch.randn(3, 2), {}),
        ("square", torch.randn(4, 4), torch.randn(4, 1), {"driver": "gels"}), ("gelsd", TALL, torch.randn(5, 2), {"driver": "gelsd"}),
        ("deficient", DEFICIENT, torch.randn(5, 2), {"driver": "gelsd", "rcond": 1e-4}), ("deficient gelss", DEFICIENT, torch.randn(5, 2), {"driver": "gelss", "rcond": 1e-4}),
        ("float64", TALL.double(), torch.randn(5, 2).double(), {}), ("vector", torch.randn(2, 5, 3), torch.randn(2, 5), {})):
    replaced(f"lstsq {_name}", "linalg_lstsq.default",
             [("self", "as_tensor", 0), ("b", "as_tensor", 1), *([("rcond", "as_float", _more["rcond"])] if "rcond" in _more else []),
              *([("driver", "as_string", _more["driver"])] if "driver" in _more else [])],
             lambda a, b, m=_more: torch.linalg.lstsq(a, b, **m), _matrix, _right)

# Gradients of the CTC loss, from torch's own table of forward probabilities: targets side by side and one after another, an input of
# too few steps (the loss is infinite), an empty target, with and without infinities.
for _name, _targets, _inputs, _lengths, _zero in (
        ("", TARGETS, [7, 5], [3, 1], False), (" in a row", t(1, 2, 2, 3), [7, 5], [3, 1], False), (" empty", TARGETS, [7, 6], [3, 0], False),
        (" infinite", TARGETS, [7, 2], [2, 3], True)):
    _loss, _alpha = torch.ops.aten._ctc_loss(PROBES, _targets, _inputs, _lengths, 0, _zero)
    replaced(f"ctc gradient{_name}", "_ctc_loss_backward.default",
             [("grad", "as_tensor", 0), ("log_probs", "as_tensor", 1), ("targets", "as_tensor", 2), ("input_lengths", "as_ints", _inputs), ("target_lengths", "as_ints", _lengths),
              ("neg_log_likelihood", "as_tensor", 3), ("log_alpha", "as_tensor", 4), ("blank", "as_int", 0), ("zero_infinity", "as_bool", _zero)],
             lambda g, x, y, nll, alpha, i=_inputs, n=_lengths, z=_zero: aten._ctc_loss_backward(g, x, y, i, n, nll, alpha, 0, z),
             t(1.5, -0.5), PROBES, _targets, _loss, _alpha)

# Gradients that AOTAutograd keeps as they are.
for _number in (0, 1, 2):
    each(f"gradients of margins {_number}",
         [lambda x, y, w, g, r=_number: aten.multi_margin_loss_backward(g if r == 0 else g[0], x, y, 1, 1, None, r),
          lambda x, y, w, g, r=_number: aten.multi_margin_loss_backward(g if r == 0 else g[0], x, y, 2, 0.7, w, r),
          lambda x, y, w, g, r=_number: aten.multi_margin_loss_backward(g[0], x[0], y[0], 2, 0.7, w, r),
          lambda x, y, w, g, r=_number: aten.multilabel_margin_loss_backward(g if r == 0 else g[0], x, LISTS, r, aten.multilabel_margin_loss_forward(x, LISTS, r)[1])],
         MATRIX, LABELS, torch.rand(6) + 0.1, t(0.5, -1.0, 2.0, 0.25))
each("gradient of masked_scatter", [lambda g: aten.masked_scatter_backward(g, g > 0, [30]), lambda g: aten.masked_scatter_backward(g, g > 9, [4]),
                                    lambda g: aten.masked_scatter_backward(g, g[0] > 0, [5, 5])], SQUARE)
each("gradient of weights of samples", [lambda g, w, i, o: aten._embedding_bag_per_sample_weights_backward(g, w, i, o, t(0, 0, 1, 1, 1, 2), 0, -1),
                                        lambda g, w, i, o: aten._embedding_bag_per_sample_weights_backward(g, w, i, o, t(0, 0, 1, 1, 1, 2), 0, 4),
                                        lambda g, w, i, o: aten._embedding_bag_per_sample_weights_backward(g, w, i, o, torch.empty(0, dtype=torch.int64), 0, -1)],
     torch.randn(3, 4), torch.randn(6, 4), t(1, 4, 4, 0, 5, 2), t(0, 2, 5))

# Rows of different lengths: empty ones, longer ones than are kept, none at all.
each("jagged rows", [lambda v, o: aten._jagged_to_padded_dense_forward(v, [o], [3]), lambda v, o: aten._jagged_to_padded_dense_forward(v, [o], [2], -inf),
                     lambda v, o: aten._jagged_to_padded_dense_forward(v[:, 0], [o], [5], 1.5), lambda v, o: aten._jagged_to_padded_dense_forward(v.to(torch.int32), [o], [4], 7.0),
                     lambda v, o: aten._jagged_to_padded_dense_forward(v[:0], [o * 0], [2], 2.0), lambda v, o: aten._jagged_to_padded_dense_forward(v[None].mT[0].mT, [o[2:3] * 0 + t(0, 6)], [6]),
                     lambda v, o: aten._padded_dense_to_jagged_forward(torch.cat([v, v, v])[:15].reshape(5, 3, 2), [o], 6),
                     lambda v, o: aten._padded_dense_to_jagged_forward(torch.cat([v, v])[:10, 0].reshape(5, 2)[:, [0, 1, 1]], [o], 6),
                     lambda v, o: aten._padded_dense_to_jagged_forward(torch.cat([v, v, v])[:15].reshape(5, 3, 2) > 0, [o], 6)],
     torch.randn(6, 2), t(0, 0, 2, 2, 5, 6))

# Quantization that training is aware of: rounded to even, cut off, and where it was.
QUANTA = t(-20.0, -12.85, -12.8, -12.75, -0.25, -0.15, -0.05, 0.0, 0.05, 0.15, 0.25, 12.65, 12.7, 12.75, 30.0)
each("fake quantization", [lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127), lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 100, 0, 255),
                           lambda x: torch.fake_quantize_per_tensor_affine(x, t(0.25), t(3, dtype=torch.int32), -8, 7),
                           lambda x: aten.fake_quantize_per_tensor_affine_cachemask(x, 0.125, 10, 0, 255), lambda x: aten.fake_quantize_per_tensor_affine_cachemask_backward(x, x > 0),
                           lambda x: aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, t(0.25), t(3, dtype=torch.int32), t(0), -8, 7),
                           lambda x: aten.fake_quantize_per_channel_affine_cachemask(x.reshape(5, 3), t(0.1, 0.25, 2.0), t(0, 5, -3, dtype=torch.int32), 1, -8, 7),
                           lambda x: torch.fake_quantize_per_channel_affine(x.reshape(3, 5), t(0.1, 0.25, 2.0), t(0.5, 1.25, -3.0), 0, -8, 7)], QUANTA)

# Padding and creation.
each("padding", [lambda x: F.pad(x, (1, 2, 0, 1)), lambda x: F.pad(x, (-1, 2), value=3.5), lambda x: F.pad(x, (2, 1), mode="reflect"), lambda x: F.pad(x, (2, 3), mode="replicate"), lambda x: F.pad(x, (2, 1), mode="circular")], CUBE)
# Unequal and negative paddings of one to three dimensions; what negative ones leave is what wraps around.
for _mode, _pads in (("circular", [(2, 1), (0, 3), (4, 0), (-1, 2), (3, -1), (-2, -1), (1, -2)]), ("reflect", [(2, 1), (0, 3), (3, 0), (-1, 2), (3, -1), (-2, -1), (1, -2)]),
                     ("replicate", [(2, 1), (0, 3), (6, 0), (-1, 2), (3, -1), (-2, -1), (1, -2)])):
    each(f"padding {_mode} in one dimension", [lambda x, p=p, m=_mode: F.pad(x, p, mode=m) for p in _pads], CUBE)
    each(f"padding {_mode} in two dimensions", [lambda x, p=(*p, *q), m=_mode: F.pad(x, p, mode=m) for p, q in zip(_pads, [(1, 2), (2, 1), (0, 0), (3, -1), (-1, 2), (0, 1), (-1, 1)], strict=True)],
         torch.randn(2, 3, 4, 5))
    each(f"padding {_mode} in three dimensions", [lambda x, p=(*p, *q, *r), m=_mode: F.pad(x, p, mode=m)
                                                 for p, q, r in zip(_pads, [(1, 2), (2, 1), (0, 0), (3, -1), (-1, 2), (0, 1), (-1, 1)], [(1, 0), (0, 2), (2, 1), (-1, 0), (1, -1), (0, -1), (1, 1)], strict=True)],
         torch.randn(1, 2, 3, 4, 5))

# Differences: taken again and again, with ends joined on that may be of another type, until nothing is left.
each("diff", [lambda x, p, a, n=n, d=d: torch.diff(x, n, d, p if d == 0 else None, a if d == 0 else a.t()[:4]) for n in (0, 1, 2, 3, 5, 9) for d in (0, -1)], MATRIX, torch.randn(2, 6), torch.randn(4, 6))
each("diff with one end", [lambda x, p, n=n: (torch.diff(x, n, 1, prepend=p), torch.diff(x, n, -1, append=p), torch.diff(x, n, 0, prepend=x[:1], append=x)) for n in (1, 2, 4)], MATRIX, torch.randn(4, 1))
each("diff of other types", [lambda i, x: torch.diff(i, 2, 0, x), lambda i, x: torch.diff(x, 2, 0, i, i), lambda i, x: torch.diff(i > 2, 2, 0, i > 1), lambda i, x: torch.diff(i > 2, 1, 0, i)], t(3, 1, 4, 1, 5), t(1.5, 2.5))

# complex32: torch computes in complex64 and rounds the parts of each result to f16.
CHALF = torch.complex(torch.randn(4, 3), torch.randn(4, 3)).to(torch.complex32)
each("complex32", [lambda x: x.chalf(), lambda x: x.to(torch.complex32).real, lambda x: x.chalf() + x.chalf(), lambda x: x.chalf() * 1.1, lambda x: (x.half() * 1j).imag, lambda x: x.chalf().to(torch.complex64),
                   lambda x: torch.view_as_real(x.chalf()), lambda x: x.chalf().abs(), lambda x: x.chalf().mul_(x.chalf()), lambda x: x.chalf()[1:].t(), lambda x: torch.ones(2, dtype=torch.complex32), lambda x: x.chalf().conj(),
                   lambda x: torch.complex(x.half(), x.half().flip(0))], MATRIX)
each("complex32 given", [lambda x: x + x, lambda x: x * x.t().reshape(4, 3), lambda x: x - 0.3, lambda x: torch.cat((x, x.conj())), lambda x: x.imag, lambda x: x.index_select(0, t(2, 0)), lambda x: torch.where(x.real > 0, x, -x)], CHALF)
each("creation", [lambda x: torch.arange(2, 9, 3), lambda x: torch.arange(0.0, 1.0, 0.1), lambda x: torch.arange(5, 0, -2), lambda x: torch.linspace(-1, 2, 7), lambda x: torch.logspace(0, 2, 5), lambda x: torch.eye(3, 4), lambda x: torch.full((2, 2), 7),
                  lambda x: torch.zeros(2, dtype=torch.int32), lambda x: torch.ones_like(x), lambda x: x.new_full((2,), 1.5), lambda x: torch.tril_indices(3, 4, 1), lambda x: torch.triu_indices(3, 3), lambda x: torch.full_like(x, True),
                  lambda x: torch.hann_window(8), lambda x: torch.hamming_window(7, False), lambda x: torch.blackman_window(9), lambda x: torch.bartlett_window(6), lambda x: torch.kaiser_window(9), lambda x: torch.linspace(0, 10, 4, dtype=torch.int64), lambda x: torch.linspace(-7, 5, 13, dtype=torch.int32), lambda x: torch.linspace(0, 3, 31, dtype=torch.int32),
                  lambda x: torch.vander(x[0]), lambda x: F.one_hot(x[0].abs().long().clamp(0, 3), 5), lambda x: torch.complex(x, x), lambda x: torch.polar(x, x), lambda x: torch.zeros(0, 3), lambda x: torch.scalar_tensor(3)], MATRIX)
each("lists of tensors", [lambda a, b: torch._foreach_add([a, b], [b, a], alpha=2), lambda a, b: torch._foreach_mul([a, b], 2.0), lambda a, b: torch._foreach_addcdiv([a, b], [b, a], [a, b], value=0.5), lambda a, b: torch._foreach_sqrt([a.abs(), b.abs()]),
                          lambda a, b: torch._foreach_lerp([a, b], [b, a], 0.25), lambda a, b: torch._foreach_norm([a, b]), lambda a, b: torch._foreach_div([a, b], [2.0, 3.0]), lambda a, b: torch._foreach_pow([a.abs(), b.abs()], 1.5),
                          lambda a, b: torch._foreach_maximum([a, b], 0.0), lambda a, b: torch._foreach_neg([a, b])], MATRIX, torch.randn(4, 6))


def replace_call(path: Path, target: str, arguments: list[tuple[str, str, Any]]) -> None:
    """One call in place of all there are, which gives all results; arguments by name, and an `as_tensor` names an input by its number."""
    with zipfile.ZipFile(path) as archive:
        records = {info.filename: archive.read(info) for info in archive.infolist()}
    model = next(name for name in records if name.endswith("models/model.json"))
    program = json.loads(records[model])
    graph = program["graph_module"]["graph"]
    node = graph["nodes"][-1]
    node["target"] = f"torch.ops.aten.{target}"
    node["inputs"] = [{"name": name, "kind": 1, "arg": {kind: {"name": graph["inputs"][value]["as_tensor"]["name"]} if kind == "as_tensor" else value}}
                      for name, kind, value in arguments]
    node["outputs"] = graph["outputs"]
    graph["nodes"] = [node]
    records[model] = json.dumps(program).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in records.items():
            archive.writestr(name, data)


def write(name: str, stem: Path, decompose: bool) -> None:
    """One case as a program with its inputs and results."""
    import safetensors.torch

    replaced = REPLACED.get(name)
    function, tensors = replaced[:2] if replaced else CASES[name]

    class Call(torch.nn.Module):
        def forward(self, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
            result = function(*given)
            return tuple(result) if isinstance(result, (tuple, list)) else (result,)

    clones = tuple(tensor.clone() for tensor in tensors)
    results = replaced[4](*clones) if replaced else Call()(*(tensor.clone() for tensor in tensors))
    expected = results if isinstance(results, tuple) else (results,)
    program = torch.export.export(Call(), clones, strict=False)
    if decompose:  # What torch's own decomposition computes: some differ from the operator.
        program = program.run_decompositions()
        expected = program.module()(*(tensor.clone() for tensor in tensors))
    torch.export.save(program, f"{stem}.pt2")
    if replaced:
        replace_call(Path(f"{stem}.pt2"), replaced[2], replaced[3])
    # safetensors has no complex32; complex64 holds its values.
    storable = lambda v: v.to(torch.complex64) if v.dtype is torch.complex32 else v  # noqa: E731
    dense = lambda values: {str(i): storable(v).resolve_conj().resolve_neg().contiguous().clone() for i, v in enumerate(values)}  # noqa: E731
    safetensors.torch.save_file(dense(tensors), f"{stem}.inputs.safetensors")
    safetensors.torch.save_file(dense(expected), f"{stem}.expected.safetensors")
    Path(f"{stem}.case.json").write_text(json.dumps({"rtol": 1.3e-6, "atol": 1e-5}) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worker", nargs="?", default="build/bin/cupel-worker")
    parser.add_argument("--keep", type=Path, help="write the programs here and leave them")
    parser.add_argument("-k", default="", help="only cases whose name holds this text")
    parser.add_argument("--decompose", action="store_true", help="decompose to core ATen before saving")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)) / "aten"
        folder.mkdir(parents=True, exist_ok=True)
        stems = []
        for name in [*CASES, *([] if options.decompose else REPLACED)]:
            if options.k not in name:
                continue
            stem = folder / name.replace(" ", "_").replace(",", "")
            try:
                write(name, stem, options.decompose)
                stems.append(stem)
            except Exception as error:  # noqa: BLE001: whatever torch says, the case is broken
                print(f"FAILED {name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}")
                failed += 1
        for stem in stems:  # One process each: one that dies takes no other with it.
            run = subprocess.run([options.worker, "pt2-cases", f"{stem}.pt2"], capture_output=True, text=True)
            line = next((line for line in run.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "REFUSED"))), None)
            if line and line.startswith("PASSED"):
                passed += 1
            else:
                print(line or f"FAILED {stem.name}: the worker died with {run.returncode}: {run.stderr.strip()[-300:]}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
