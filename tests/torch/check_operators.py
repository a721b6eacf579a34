"""Checks operators that OpInfo's samples leave out: gradients as AOTAutograd calls them, inner forms of core ATen, odd arguments.

usage: .venv/bin/python tests/torch/check_operators.py [--worker build/bin/cupel-worker] [--folder FOLDER] [-k NAME...] [--dtype float32]

Each case is a call that is exported, run on the golden reference and compared with torch's own result within 1e-4 (1e-2 for
narrow types). The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils import _pytree as pytree

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.

LINE = re.compile(r"^(PASSED|FAILED|REFUSED\([^)]*\)) (\S+?)(?:: (.*))?$")
aten = torch.ops.aten
Case = tuple[str, Callable[..., Any], tuple[Tensor, ...]]


def r(*shape: int) -> Tensor:
    return torch.randn(*shape)


def positive(*shape: int) -> Tensor:
    return torch.rand(*shape) + 0.5


def spd(*shape: int) -> Tensor:
    """Positive definite matrices."""
    a = torch.randn(*shape)
    return a @ a.mT + shape[-1] * torch.eye(shape[-1])


def activations() -> Iterator[Case]:
    g, x = r(4, 6), r(4, 6)
    for name, args in [("gelu_backward", ()), ("silu_backward", ()), ("mish_backward", ()), ("hardswish_backward", ()),
                       ("hardsigmoid_backward", ()), ("threshold_backward", (0.1,)), ("hardtanh_backward", (-0.5, 0.7)),
                       ("softplus_backward", (2.0, 1.5)), ("softshrink_backward", (0.4,)), ("leaky_relu_backward", (0.1, False)),
                       ("glu_backward", (1,))]:
        gradient = r(4, 3) if name == "glu_backward" else g
        yield name, lambda g, x, name=name, args=args: getattr(aten, name)(g, x, *args), (gradient, x)
    yield "hardshrink_backward", lambda g, x: aten.hardshrink_backward(g, x, 0.3), (g, x)
    yield "gelu_backward_tanh", lambda g, x: aten.gelu_backward(g, x, approximate="tanh"), (g, x)
    yield "sigmoid_backward", lambda g, y: aten.sigmoid_backward(g, y), (g, torch.rand(4, 6))
    yield "tanh_backward", lambda g, y: aten.tanh_backward(g, y), (g, torch.rand(4, 6))
    yield "logit_backward", lambda g, y: aten.logit_backward(g, y, 0.1), (g, torch.rand(4, 6))
    yield "elu_backward", lambda g, x: aten.elu_backward(g, 1.5, 1.1, 0.9, False, x), (g, x)
    yield "elu_backward_result", lambda g, x: aten.elu_backward(g, 1.5, 1.1, 0.9, True, x), (g, x)
    yield "log_sigmoid_backward", lambda g, x: aten.log_sigmoid_backward(g, x, torch.exp(-x.abs())), (g, x)
    yield "_softmax_backward_data", lambda g, x: aten._softmax_backward_data(g, x.softmax(1), 1, torch.float32), (g, x)
    yield "_log_softmax_backward_data", lambda g, x: aten._log_softmax_backward_data(g, x.log_softmax(0), 0, torch.float32), (g, x)
    yield "native_dropout_backward", lambda g, m: aten.native_dropout_backward(g, m, 2.0), (g, torch.rand(4, 6) > 0.5)
    yield "_prelu_kernel_backward", lambda g, x, w: aten._prelu_kernel_backward(g, x, w), (g, x, r(1, 6))


def losses() -> Iterator[Case]:
    x, t, one, each = r(4, 5), r(4, 5), r(()), r(4, 5)
    for reduction, g in ((0, each), (1, one), (2, one)):
        yield f"mse_loss_backward_{reduction}", lambda g, x, t, n=reduction: aten.mse_loss_backward(g, x, t, n), (g, x, t)
        yield f"huber_loss_backward_{reduction}", lambda g, x, t, n=reduction: aten.huber_loss_backward(g, x, t, n, 0.7), (g, x, t)
        yield (f"smooth_l1_loss_backward_{reduction}", lambda g, x, t, n=reduction: aten.smooth_l1_loss_backward(g, x, t, n, 0.6),
               (g, x, t))
        yield (f"soft_margin_loss_backward_{reduction}", lambda g, x, t, n=reduction: aten.soft_margin_loss_backward(g, x, t.sign(), n),
               (g, x, t))
        yield (f"binary_cross_entropy_backward_{reduction}",
               lambda g, x, t, w, n=reduction: aten.binary_cross_entropy_backward(g, x, t, w, n), (g, torch.rand(4, 5), torch.rand(4, 5), positive(4, 5)))
    target = torch.tensor([0, 4, -100, 2])
    for reduction, g in ((0, r(4)), (1, one), (2, one)):
        yield (f"nll_loss_backward_{reduction}",
               lambda g, x, t, w, total, n=reduction: aten.nll_loss_backward(g, x, t, w, n, -100, total),
               (g, x, target, positive(5), torch.tensor(2.5)))
    yield ("nll_loss2d_backward", lambda g, x, t, total: aten.nll_loss2d_backward(g, x, t, None, 1, 1, total),
           (one, r(2, 3, 4, 5), torch.randint(0, 3, (2, 4, 5)), torch.tensor(27.0)))


def convolutions() -> Iterator[Case]:
    def gradients(stride: list[int], padding: list[int], dilation: list[int], transposed: bool, extra: list[int],
                  groups: int) -> Callable[..., Any]:
        return lambda g, x, w: aten.convolution_backward(g, x, w, [g.shape[1]], stride, padding, dilation, transposed, extra, groups,
                                                         [True, True, True])

    for name, x, w, (stride, padding, dilation, transposed, extra, groups) in [
            ("1d", r(2, 4, 11), r(6, 4, 3), ([2], [1], [1], False, [0], 1)),
            ("2d", r(2, 4, 9, 10), r(6, 4, 3, 2), ([2, 3], [1, 2], [1, 2], False, [0, 0], 1)),
            ("grouped", r(2, 4, 8, 8), r(8, 2, 3, 3), ([2, 2], [1, 1], [1, 1], False, [0, 0], 2)),
            ("depthwise", r(1, 6, 7, 7), r(6, 1, 3, 3), ([1, 1], [0, 0], [2, 2], False, [0, 0], 6)),
            ("depthwise_images", r(3, 4, 8, 7), r(8, 1, 3, 2), ([2, 1], [1, 1], [1, 2], False, [0, 0], 4)),
            ("grouped_1d", r(3, 6, 9), r(9, 2, 3), ([1], [2], [1], False, [0], 3)),
            ("grouped_3d", r(2, 4, 4, 5, 3), r(6, 2, 2, 3, 2), ([1, 2, 1], [1, 1, 0], [1, 1, 1], False, [0, 0, 0], 2)),
            ("3d", r(1, 2, 5, 6, 4), r(3, 2, 2, 3, 2), ([1, 2, 1], [0, 1, 1], [1, 1, 2], False, [0, 0, 0], 1)),
            ("transposed", r(2, 4, 5, 6), r(4, 3, 3, 2), ([2, 3], [1, 0], [1, 2], True, [1, 2], 1)),
            ("transposed_grouped", r(2, 4, 5, 6), r(4, 3, 3, 3), ([2, 1], [1, 1], [1, 1], True, [1, 0], 2))]:
        y = aten.convolution(x, w, None, stride, padding, dilation, transposed, extra, groups)
        yield (f"convolution_{name}",
               lambda x, w, b, s=stride, p=padding, d=dilation, t=transposed, e=extra, n=groups: aten.convolution(x, w, b, s, p, d, t, e, n),
               (x, w, r(y.shape[1])))
        yield f"convolution_backward_{name}", gradients(stride, padding, dilation, transposed, extra, groups), (r(*y.shape), x, w)
    yield ("convolution_backward_masked", lambda g, x, w: aten.convolution_backward(g, x, w, None, [1], [0], [1], False, [0], 1,
                                                                                    [False, True, False])[1], (r(2, 3, 6), r(2, 2, 8), r(3, 2, 3)))
    yield "conv2d_same", lambda x, w: F.conv2d(x, w, padding="same", dilation=2), (r(1, 2, 7, 8), r(3, 2, 4, 3))
    yield "conv1d_single", lambda x, w: F.conv1d(x, w, stride=2), (r(3, 9), r(2, 3, 4))
    yield "conv_tbc", lambda x, w, b: torch.conv_tbc(x, w, b, 1), (r(6, 2, 3), r(3, 3, 4), r(4))
    yield "fold", lambda x: F.fold(x, (7, 8), (3, 2), dilation=(1, 2), padding=(1, 1), stride=(2, 1)), (r(2, 18, 4 * 8),)
    yield "unfold", lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=(1, 1), stride=(2, 1)), (r(2, 3, 7, 8),)
    yield "complex_conv", lambda x, w: F.conv1d(x, w, padding=1), (torch.randn(2, 3, 8, dtype=torch.complex64), torch.randn(4, 3, 3, dtype=torch.complex64))


def pools() -> Iterator[Case]:
    x = r(2, 3, 9, 10)
    for ceil in (False, True):
        for count in (False, True):
            yield (f"avg_pool2d_{ceil}_{count}", lambda x, c=ceil, n=count: F.avg_pool2d(x, (3, 4), (2, 3), (1, 2), c, n), (x,))
            y = F.avg_pool2d(x, (3, 4), (2, 3), (1, 2), ceil, count)
            yield (f"avg_pool2d_backward_{ceil}_{count}",
                   lambda g, x, c=ceil, n=count: aten.avg_pool2d_backward(g, x, [3, 4], [2, 3], [1, 2], c, n, None), (r(*y.shape), x))
        yield f"max_pool2d_{ceil}", lambda x, c=ceil: F.max_pool2d(x, (3, 2), (2, 3), (1, 1), (2, 1), c, return_indices=True), (x,)
    yield "avg_pool3d_divisor", lambda x: F.avg_pool3d(x, 2, 2, 1, divisor_override=5), (r(1, 2, 4, 5, 6),)
    yield "avg_pool3d_backward", lambda g, x: aten.avg_pool3d_backward(g, x, [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, 3), (r(1, 2, 2, 2, 3), r(1, 2, 4, 5, 6))
    yield "max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True), (r(2, 3, 9),)
    yield "max_pool3d", lambda x: F.max_pool3d(x, 2, return_indices=True), (r(2, 4, 5, 6),)
    _, at = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    yield ("max_pool2d_with_indices_backward",
           lambda g, x, at: aten.max_pool2d_with_indices_backward(g, x, [3, 3], [2, 2], [1, 1], [1, 1], False, at), (r(*at.shape), x, at))
    yield "max_pool_nan", lambda x: F.max_pool2d(x, 2, 1), (torch.tensor([[[1.0, float("nan"), -1], [float("-inf"), 0, 2], [3, 4, 5]]]),)
    yield "adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, (3, None, 2)), (r(2, 2, 5, 4, 7),)
    yield "adaptive_avg_pool2d_whole", lambda x: F.adaptive_avg_pool2d(x, 1), (r(2, 3, 5, 4),)
    yield "adaptive_avg_pool3d_whole", lambda x: F.adaptive_avg_pool3d(x, (1, 2, 1)), (r(2, 2, 5, 4, 7),)
    yield "adaptive_max_pool1d_to_one", lambda x: F.adaptive_max_pool1d(x, 1), (r(2, 3, 7),)
    yield "adaptive_max_pool2d_even", lambda x: F.adaptive_max_pool2d(x, (2, 3)), (r(2, 3, 4, 9),)
    yield "adaptive_max_pool3d", lambda x: F.adaptive_max_pool3d(x, (3, 2, 4), return_indices=True), (r(2, 2, 5, 4, 7),)
    yield "_adaptive_avg_pool2d_backward", lambda g, x: aten._adaptive_avg_pool2d_backward(g, x), (r(2, 3, 4, 3), x)
    yield "_adaptive_avg_pool2d_backward_whole", lambda g, x: aten._adaptive_avg_pool2d_backward(g, x), (r(2, 3, 1, 1), x)
    yield "_adaptive_avg_pool3d_backward", lambda g, x: aten._adaptive_avg_pool3d_backward(g, x), (r(2, 3, 2, 3, 2), r(2, 3, 5, 4, 6))
    _, places = F.adaptive_max_pool2d(x, (4, 3), return_indices=True)
    yield "adaptive_max_pool2d_backward", lambda g, x, at: aten.adaptive_max_pool2d_backward(g, x, at), (r(2, 3, 4, 3), x, places)
    yield "fractional_max_pool2d", lambda x, s: aten.fractional_max_pool2d(x, [2, 3], [4, 3], s), (x, torch.rand(2, 3, 2))
    yield "fractional_max_pool3d", lambda x, s: aten.fractional_max_pool3d(x, [2, 2, 2], [3, 2, 4], s), (r(2, 3, 6, 5, 7), torch.rand(2, 3, 3))
    yield "lp_pool2d", lambda x: F.lp_pool2d(x, 3, 2, ceil_mode=True), (positive(2, 3, 7, 7),)


def resampling() -> Iterator[Case]:
    x = r(1, 2, 5, 6)
    for mode in ("bilinear", "bicubic"):
        for corners in (False, True):
            for smooth in (False, True):
                yield (f"{mode}_{corners}_{smooth}",
                       lambda x, m=mode, c=corners, s=smooth: F.interpolate(x, (8, 3), mode=m, align_corners=c, antialias=s), (x,))
            y = F.interpolate(x, (8, 3), mode=mode, align_corners=corners)
            yield (f"{mode}_backward_{corners}",
                   lambda g, n=f"upsample_{mode}2d_backward", c=corners: getattr(aten, n)(g, [8, 3], [1, 2, 5, 6], c, None, None), (r(*y.shape),))
        yield f"{mode}_factor", lambda x, m=mode: F.interpolate(x, scale_factor=(1.7, 0.6), mode=m), (x,)
    yield "_upsample_bilinear2d_aa_backward", lambda g: aten._upsample_bilinear2d_aa_backward(g, [8, 3], [1, 2, 5, 6], False, None, None), (r(1, 2, 8, 3),)
    for mode in ("nearest", "nearest-exact"):
        yield f"{mode}_factor", lambda x, m=mode: F.interpolate(x, scale_factor=(1.7, 0.6), mode=m), (x,)
        yield f"{mode}_3d", lambda x, m=mode: F.interpolate(x, (7, 2, 5), mode=m), (r(1, 2, 3, 4, 5),)
        name = "upsample_nearest2d_backward" if mode == "nearest" else "_upsample_nearest_exact2d_backward"
        yield f"{mode}_backward", lambda g, n=name: getattr(aten, n)(g, [8, 3], [1, 2, 5, 6], None, None), (r(1, 2, 8, 3),)
    yield "linear1d_backward", lambda g: aten.upsample_linear1d_backward(g, [9], [1, 2, 4], True, None), (r(1, 2, 9),)
    yield "trilinear_backward", lambda g: aten.upsample_trilinear3d_backward(g, [4, 5, 3], [1, 2, 2, 3, 4], False, None, None, None), (r(1, 2, 4, 5, 3),)
    for mode in ("bilinear", "nearest", "bicubic"):
        for border in ("zeros", "border", "reflection"):
            for corners in (False, True):
                yield (f"grid_{mode}_{border}_{corners}",
                       lambda x, g, m=mode, p=border, c=corners: F.grid_sample(x, g, m, p, c), (x, torch.rand(1, 4, 3, 2) * 4 - 2))
    yield "grid_3d", lambda x, g: F.grid_sample(x, g, "bilinear", "reflection", False), (r(2, 2, 3, 4, 5), torch.rand(2, 3, 2, 4, 3) * 4 - 2)
    for mode, border, corners in ((0, 0, False), (0, 1, True), (0, 2, False), (0, 2, True), (1, 0, False), (2, 0, False), (2, 1, True), (2, 2, False)):
        yield (f"grid_backward_{mode}_{border}_{corners}",
               lambda g, x, t, m=mode, p=border, c=corners: aten.grid_sampler_2d_backward(g, x, t, m, p, c, [True, True]),
               (r(1, 2, 4, 3), x, torch.rand(1, 4, 3, 2) * 4 - 2))
    yield ("grid_backward_3d", lambda g, x, t: aten.grid_sampler_3d_backward(g, x, t, 0, 1, False, [True, True]),
           (r(2, 2, 3, 2, 4), r(2, 2, 3, 4, 5), torch.rand(2, 3, 2, 4, 3) * 4 - 2))
    # What is no number in the first pixel must not show where a point lies outside of the picture.
    hole = x.clone()
    hole[0, :, 0, 0] = float("nan")
    for mode in ("bilinear", "nearest"):
        yield f"grid_{mode}_nan_outside", lambda x, g, m=mode: F.grid_sample(x, g, m, "zeros", False), (hole, torch.rand(1, 4, 3, 2) * 4 - 4)
    yield "grid_3d_nan_outside", lambda x, g: F.grid_sample(x[:, :, None], g, "bilinear", "zeros", False), (hole, torch.rand(1, 3, 2, 4, 3) * 4 - 4)
    unfit = r(1, 2, 4, 3)
    unfit[0, :, 0, :] = float("inf")
    yield ("grid_backward_nan_outside", lambda g, x, t: aten.grid_sampler_2d_backward(g, x, t, 0, 0, False, [True, True]), (unfit, hole, torch.rand(1, 4, 3, 2) - 3))
    yield "affine_grid", lambda t: F.affine_grid(t, [2, 3, 4, 5], align_corners=False), (r(2, 2, 3),)
    yield "affine_grid_3d", lambda t: F.affine_grid(t, [1, 3, 4, 5, 2], align_corners=True), (r(1, 3, 4),)


def norms() -> Iterator[Case]:
    x, w, b = r(3, 4, 5, 6), positive(4), r(4)
    mean, var = r(4), positive(4)
    yield "batch_norm_training", lambda x, w, b, m, v: (F.batch_norm(x, m, v, w, b, True, 0.3), m, v), (x, w, b, mean, var)
    yield "native_batch_norm", lambda x, w, b, m, v: aten.native_batch_norm(x, w, b, m, v, False, 0.1, 1e-5)[0], (x, w, b, mean, var)
    yield ("_native_batch_norm_legit_functional",
           lambda x, w, b, m, v: aten._native_batch_norm_legit_functional(x, w, b, m, v, True, 0.1, 1e-5), (x, w, b, mean, var))
    yield "_native_batch_norm_legit_no_stats", lambda x, w, b: aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5), (x, w, b)
    for train in (True, False):
        yield (f"native_batch_norm_backward_{train}",
               lambda g, x, w, m, v, sm, si, t=train: aten.native_batch_norm_backward(g, x, w, m, v, sm, si, t, 1e-5, [True, True, True]),
               (r(3, 4, 5, 6), x, w, mean, var, x.mean((0, 2, 3)), (x.var((0, 2, 3), correction=0) + 1e-5).rsqrt()))
    y, m, s = aten.native_layer_norm(x, [5, 6], None, None, 1e-5)
    yield "native_layer_norm", lambda x, w, b: aten.native_layer_norm(x, [5, 6], w, b, 1e-5), (x, r(5, 6), r(5, 6))
    yield ("native_layer_norm_backward",
           lambda g, x, m, s, w, b: aten.native_layer_norm_backward(g, x, [5, 6], m, s, w, b, [True, True, True]), (r(3, 4, 5, 6), x, m, s, r(5, 6), r(5, 6)))
    _, m, s = aten.native_group_norm(x, w, b, 3, 4, 30, 2, 1e-5)
    yield "native_group_norm", lambda x, w, b: aten.native_group_norm(x, w, b, 3, 4, 30, 2, 1e-5), (x, w, b)
    yield ("native_group_norm_backward", lambda g, x, m, s, w: aten.native_group_norm_backward(g, x, m, s, w, 3, 4, 30, 2, [True, True, True]),
           (r(3, 4, 5, 6), x, m, s, w))
    yield "group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), (x, w, b)
    yield "instance_norm_running", lambda x, m, v: (F.instance_norm(x, m, v, use_input_stats=True), m, v), (x, mean, var)
    yield "_fused_rms_norm", lambda x, w: aten._fused_rms_norm(x, [6], w, 1e-5)[0], (x, r(6))
    yield "_weight_norm", lambda v, g: torch._weight_norm(v, g, 1), (r(3, 4, 2), r(1, 4, 1))
    yield ("_weight_norm_interface_backward", lambda g, v, s, n: aten._weight_norm_interface_backward(g, v, s, n, 0),
           (r(3, 4), r(3, 4), r(3, 1), positive(3, 1)))
    yield "weight_norm_interface", lambda v, g: aten._weight_norm_interface(v, g, 0), (r(3, 4), r(3, 1))


def attention() -> Iterator[Case]:
    q, k, v = r(2, 4, 5, 8), r(2, 4, 7, 8), r(2, 4, 7, 6)
    yield "sdpa_gqa", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (q, r(2, 2, 7, 8), r(2, 2, 7, 6))
    yield "sdpa_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3), (q, k, v)
    yield "sdpa_masked_row", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), (q, k, v, torch.arange(35).reshape(5, 7) % 9 > 6)
    v = r(2, 4, 7, 8)
    yield "flash", lambda q, k, v, m: aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, False, attn_mask=m), (q, k, v, r(2, 1, 5, 7))
    y, total = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
    yield ("flash_backward", lambda g, q, k, v, y, s: aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, y, s, 0.0, True),
           (r(2, 4, 5, 8), q, k, v, y, total))
    shared = r(2, 2, 7, 8), r(2, 2, 7, 8)
    y, total = aten._scaled_dot_product_flash_attention_for_cpu(q, *shared, 0.0, True)
    yield ("flash_backward_gqa", lambda g, q, k, v, y, s: aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, y, s, 0.0, True),
           (r(2, 4, 5, 8), q, *shared, y, total))
    yield "math", lambda q, k, v: aten._scaled_dot_product_attention_math(q, k, v, None, 0.0, True), (q, k, v)


def embeddings() -> Iterator[Case]:
    at, w = torch.tensor([1, 4, 4, 0, 2, 4]), r(5, 3)
    yield "embedding_dense_backward", lambda g, i: aten.embedding_dense_backward(g, i, 5, 2, False), (r(6, 3), at)
    yield "embedding_dense_backward_scaled", lambda g, i: aten.embedding_dense_backward(g, i, 5, -1, True), (r(6, 3), at)
    for mode in (0, 1, 2):
        yield (f"_embedding_bag_{mode}", lambda w, i, o, m=mode: aten._embedding_bag(w, i, o, False, m, False, None, False, -1)[0],
               (w, at, torch.tensor([0, 2, 2, 5])))
        yield (f"_embedding_bag_padded_{mode}",
               lambda w, i, o, m=mode: aten._embedding_bag_forward_only(w, i, o, False, m, False, None, True, 4)[0], (w, at, torch.tensor([0, 1, 3, 6])))
        _, owner, size, top = aten._embedding_bag(w, at, torch.tensor([0, 2, 2, 5]), False, mode, False, None, False, 4)
        yield (f"_embedding_bag_dense_backward_{mode}",
               lambda g, i, o, s, t, m=mode: aten._embedding_bag_dense_backward(g, i, o, s, t, 5, False, m, None, 4), (r(4, 3), at, owner, size, top))
    many, begins = torch.arange(600) * 7 % 50, torch.tensor([0, 0, 17, 18, 300, 300, 599, 600, 600])  # Bags without an index, and ones behind the last.
    for mode, padding in ((0, -1), (1, -1), (0, 7), (1, 7)):
        yield (f"_embedding_bag_large_{mode}_{padding}", lambda w, i, o, m=mode, p=padding: aten._embedding_bag(w, i, o, False, m, False, None, False, p)[0], (r(50, 24), many, begins))
    yield "_embedding_bag_weighted", lambda w, i, o, s: aten._embedding_bag(w, i, o, False, 0, False, s, False, -1)[0], (r(50, 24), many, begins, r(600))
    yield "embedding_max_norm", lambda w, i: F.embedding(i, w.clone(), max_norm=1.0), (w, at)
    yield "renorm", lambda w: torch.renorm(w, 1.5, 1, 0.8), (w,)


def products() -> Iterator[Case]:
    yield "addmv", lambda a, m, v: torch.addmv(a, m, v, beta=0.5, alpha=2), (r(3), r(3, 4), r(4))
    yield "kron", torch.kron, (r(2, 3), r(4, 1, 2))
    yield "inner", torch.inner, (r(2, 3, 4), r(5, 4))
    yield "inner_scalar", torch.inner, (r(()), r(2, 4))
    yield "vecdot", lambda x, y: torch.linalg.vecdot(x, y, dim=0), (torch.randn(4, 3, dtype=torch.complex64), torch.randn(4, 1, dtype=torch.complex64))
    for equation, operands in [("ij,jk->ik", (r(2, 3), r(3, 4))), ("bij,bjk", (r(2, 3, 4), r(2, 4, 5))), ("ii->i", (r(4, 4),)), ("ii", (r(4, 4),)),
                               ("i,j,k->kij", (r(2), r(3), r(4))), ("...ij,...jk->...ik", (r(5, 1, 2, 3), r(6, 3, 4))), ("ijk->k", (r(2, 3, 4),)),
                               ("Ab,bA->A", (r(3, 2), r(2, 3))), ("ij,ij->", (r(3, 1), r(3, 4))), ("b...,...c->...bc", (r(3, 2), r(2, 4)))]:
        yield f"einsum_{equation.replace('->', '_').replace(',', '_').replace('...', 'x')}", lambda *t, e=equation: torch.einsum(e, *t), operands
    yield "tensordot", lambda x, y: torch.tensordot(x, y, dims=([0, 2], [2, 0])), (r(2, 3, 4), r(4, 5, 2))
    yield "matrix_power_negative", lambda x: torch.linalg.matrix_power(x, -3), (spd(2, 3, 3),)
    yield "matmul_int", torch.matmul, (torch.randint(-9, 9, (2, 3)), torch.randint(-9, 9, (4, 3, 2)))
    yield "baddbmm_int", lambda a, x, y: torch.baddbmm(a, x, y, beta=2, alpha=3), (torch.randint(-9, 9, (2, 2)), torch.randint(-9, 9, (2, 2, 3)), torch.randint(-9, 9, (2, 3, 2)))
    yield "int_mm", torch._int_mm, (torch.randint(-128, 128, (17, 8), dtype=torch.int8), torch.randint(-128, 128, (8, 16), dtype=torch.int8))
    yield "int_mm_unsigned", torch._int_mm, (torch.randint(0, 256, (17, 8), dtype=torch.uint8), torch.randint(-128, 128, (8, 16), dtype=torch.int8))

    def scaled_mm(x: Tensor, y: Tensor, *scales: Tensor, out_dtype: torch.dtype | None = torch.float32, **more: Tensor) -> Tensor:
        return torch._scaled_mm(x.to(torch.float8_e4m3fn), y.to(torch.float8_e4m3fn).t(), *scales, out_dtype=out_dtype, **more).float()

    matrices, one, other, rows, columns = (r(16, 32), r(48, 32)), torch.tensor(0.5), torch.tensor(3.0), torch.rand(16, 1) + 0.5, torch.rand(1, 48) + 0.5
    yield "scaled_mm", scaled_mm, (*matrices, one, other)
    yield "scaled_mm_bias", lambda x, y, a, b, bias: scaled_mm(x, y, a, b, bias=bias), (*matrices, one, other, r(48))
    yield "scaled_mm_rows", scaled_mm, (*matrices, rows, columns)
    yield "scaled_mm_unread_scale", lambda x, y, a, b, scale: scaled_mm(x, y, a, b, scale_result=scale), (*matrices, rows, columns, torch.tensor(2.0))
    # Sums that bf16 holds: on processors with AMX torch rounds to it first, and then once more.
    drawn = torch.Generator().manual_seed(1)
    exact = tuple(torch.randint(-1, 2, shape, generator=drawn).float() for shape in ((16, 32), (48, 32)))
    yield "scaled_mm_scale_result", lambda x, y, a, b, scale: scaled_mm(x, y, a, b, scale_result=scale, out_dtype=torch.float8_e4m3fn), (*exact, one, other, torch.tensor(2.0))
    yield "scaled_mm_of_inputs_type", lambda x, y, a, b, scale: scaled_mm(x, y, a, b, scale_result=scale, out_dtype=None), (*exact, one, other, torch.tensor(2.0))
    yield "addmm_beta0", lambda a, x, y: torch.addmm(a, x, y, beta=0), (torch.full((2, 2), float("nan")), r(2, 3), r(3, 2))


def matrices() -> Iterator[Case]:
    a = r(2, 4, 4)
    yield "norm_nuc", lambda x: torch.norm(x, "nuc"), (r(3, 4),)
    yield "lu_solve_right", lambda a, b: torch.linalg.solve(a, b, left=False), (a, r(2, 3, 4))
    yield "lu_no_pivot", lambda a: torch.ops.aten.linalg_lu_factor_ex(a, pivot=True)[2], (a,)
    yield "det_transposed", lambda a: torch.linalg.det(a.mT), (a,)
    yield "slogdet_complex", torch.linalg.slogdet, (torch.randn(2, 3, 3, dtype=torch.complex64),)
    yield "lstsq_wide", lambda a, b: torch.linalg.pinv(a) @ b, (r(3, 5), r(3, 2))
    yield "cholesky_upper", lambda a: torch.linalg.cholesky(a, upper=True), (spd(2, 4, 4),)
    yield "eigvals_symmetric", torch.linalg.eigvalsh, (spd(3, 3),)
    yield "solve_triangular", lambda a, b: torch.linalg.solve_triangular(a, b, upper=True, left=False, unitriangular=True), (a, r(2, 3, 4))
    yield "lu_unpack", lambda a: torch.linalg.lu(a), (r(2, 5, 3),)
    yield "inverse_complex", torch.linalg.inv, (torch.randn(3, 3, dtype=torch.complex64),)
    yield "matrix_exp_large", torch.matrix_exp, (r(2, 3, 3) * 4,)
    yield "qr_complete", lambda a: torch.linalg.qr(a, mode="complete")[1].abs(), (r(5, 3),)
    yield "ldl", lambda a, b: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b), (spd(2, 3, 3), r(2, 3, 2))


def transforms() -> Iterator[Case]:
    x = r(3, 8, 10)
    for norm in (None, "ortho", "forward"):
        yield f"irfftn_{norm}", lambda x, n=norm: torch.fft.irfftn(torch.fft.rfftn(x, s=(6, 9), norm=n), s=(6, 9), norm=n), (x,)
        yield f"hfftn_{norm}", lambda x, n=norm: torch.fft.hfftn(x, dim=(0, 1), norm=n), (torch.randn(3, 4, dtype=torch.complex64),)
        yield f"ihfft2_{norm}", lambda x, n=norm: torch.fft.ihfft2(x, norm=n), (x,)
    yield "_fft_r2c_full", lambda x: aten._fft_r2c(x, [0, 2], 1, False), (x,)
    yield "fftshift", lambda x: torch.fft.ifftshift(torch.fft.fftshift(x, dim=1)), (r(2, 5, 4),)
    window = torch.hann_window(12)
    yield "stft", lambda x, w: torch.stft(x, 16, 5, 12, w, normalized=True, return_complex=True), (r(2, 60), window)
    yield "istft", lambda x, w: torch.istft(torch.stft(x, 16, 4, 12, w, return_complex=True), 16, 4, 12, w, length=58), (r(2, 60), window)


def recurrent() -> Iterator[Case]:
    def weights(gates: int, inputs: int, size: int, projected: int = 0) -> list[Tensor]:
        made = [r(gates * size, inputs), r(gates * size, projected or size), r(gates * size), r(gates * size)]
        return made + ([r(projected, size)] if projected else [])

    x = r(6, 2, 3)
    yield ("lstm_projected", lambda x, h, c, *p: aten.lstm.input(x, [h, c], list(p), True, 1, 0.0, False, True, False),
           (x, r(2, 2, 2), r(2, 2, 4), *weights(4, 3, 4, 2), *weights(4, 3, 4, 2)))
    for name, gates in (("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        yield (name, lambda x, h, *p, f=getattr(aten, name): f.input(x, h, list(p), True, 2, 0.0, False, False, True),
               (r(2, 12, 3), r(2, 2, 4), *weights(gates, 3, 4), *weights(gates, 4, 4)))
        yield (f"{name}_cell", lambda x, h, *p, f=getattr(torch, f"{name}_cell"): f(x, h, *p), (r(2, 3), r(2, 4), *weights(gates, 3, 4)))
    yield "lstm_cell", lambda x, h, c, *p: torch.lstm_cell(x, [h, c], *p), (r(2, 3), r(2, 4), r(2, 4), *weights(4, 3, 4))


def views() -> Iterator[Case]:
    yield "convert_element_type", lambda x: torch.ops.prims.convert_element_type(x, torch.float64), (r(2, 3),)
    yield "select_backward", lambda g: aten.select_backward(g, [3, 4, 5], 1, -2), (r(3, 5),)
    yield "slice_backward", lambda g: aten.slice_backward(g, [3, 9], 1, 1, 8, 3), (r(3, 3),)
    yield "diagonal_backward", lambda g: aten.diagonal_backward(g, [4, 3, 5], 1, 0, 2), (r(3, 4),)
    yield "diagonal_backward_below", lambda g: aten.diagonal_backward(g, [4, 3], -2, 0, 1), (r(2),)
    yield "unfold_backward", lambda g: aten.unfold_backward(g, [2, 9], 1, 4, 2), (r(2, 3, 4),)
    for kind in ("reflection", "replication"):
        yield f"{kind}_pad2d_backward", lambda g, x, f=getattr(aten, f"{kind}_pad2d_backward"): f(g, x, [1, 2, 3, 0]), (r(2, 3, 8, 7), r(2, 3, 5, 4))
        yield f"{kind}_pad1d_backward", lambda g, x, f=getattr(aten, f"{kind}_pad1d_backward"): f(g, x, [2, 1]), (r(3, 8), r(3, 5))
    for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
        x, y = r(4, 3), r(5, 3)
        yield f"_cdist_backward_{p}", lambda g, x, y, d, p=p: aten._cdist_backward(g, x, y, p, d), (r(4, 5), x, y, torch.cdist(x, y, p))
        yield f"_pdist_backward_{p}", lambda g, x, d, p=p: aten._pdist_backward(g, x, p, d), (r(6), x, F.pdist(x, p))
    yield "trace_backward", lambda g: aten.trace_backward(g, [3, 4]), (r(()),)
    yield "value_selecting", lambda g, i: aten.value_selecting_reduction_backward(g, 1, i, [2, 4, 3], False), (r(2, 3), torch.randint(0, 4, (2, 3)))
    yield "index_select_backward", lambda g, i: aten.index_select_backward(g, [5, 3], 0, i), (r(4, 3), torch.tensor([0, 4, 4, 2]))


FAMILIES = [activations, losses, convolutions, pools, resampling, norms, attention, embeddings, products, matrices, transforms, recurrent, views]


def export(call: Callable[..., Any], inputs: tuple[Tensor, ...], stem: Path, dtype: torch.dtype) -> None:
    inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)

    class Call(torch.nn.Module):
        def forward(self, *given: Tensor) -> Any:
            return tuple(leaf for leaf in pytree.tree_leaves(call(*given)) if isinstance(leaf, Tensor))

    with torch.no_grad():
        expected = Call()(*(x.clone() for x in inputs))
        torch.export.save(torch.export.export(Call(), inputs, strict=False), f"{stem}.pt2")
    dense = lambda ts: {str(i): t.resolve_conj().resolve_neg().contiguous().clone() for i, t in enumerate(ts)}  # noqa: E731
    safetensors.torch.save_file(dense(inputs), f"{stem}.inputs.safetensors")
    safetensors.torch.save_file(dense(expected), f"{stem}.expected.safetensors")
    tolerance = 1e-4 if dtype == torch.float32 else 1e-2
    Path(f"{stem}.case.json").write_text(json.dumps({"rtol": tolerance, "atol": tolerance}) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=Path, default=Path("build/bin/cupel-worker"))
    parser.add_argument("--folder", type=Path, help="where cases stay")
    parser.add_argument("-k", action="append", metavar="NAME", help="only this case or family")
    parser.add_argument("--dtype", default="float32")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        programs = []
        for family in FAMILIES:
            torch.manual_seed(0)
            for name, call, inputs in family():
                if options.k and name not in options.k and family.__name__ not in options.k:
                    continue
                stem = folder / f"{family.__name__}-{name}"
                try:
                    export(call, inputs, stem, getattr(torch, options.dtype))
                    programs.append(f"{stem}.pt2")
                except Exception as error:  # noqa: BLE001: whatever torch says is why the check fails
                    failed += 1
                    print(f"FAILED: {family.__name__}-{name}: torch: {type(error).__name__}: {str(error).strip().splitlines()[0]}", flush=True)
        while programs:
            done = subprocess.run([options.worker, "pt2-cases", *programs], capture_output=True, text=True, timeout=1200, check=False)
            matches = [match for line in done.stdout.splitlines() if (match := LINE.match(line))]
            for match in matches:
                ok = match[1] == "PASSED"
                passed, failed = passed + ok, failed + (not ok)
                if not ok:
                    print(f"FAILED: {match[2]}: {match[1]} {match[3]}", flush=True)
            if len(matches) < len(programs):  # The next one ended the process.
                failed += 1
                print(f"FAILED: {programs[len(matches)]}: crashed: {done.stderr.strip()[-300:]}", flush=True)
            programs = programs[len(matches) + 1:]
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
