"""Calls that stay whole on their way to the device where torch would take them apart: they become operators of our own, which the importer
knows by the name that torch.export would have left them.

`replacements` says which functions in Dynamo's graphs are swapped for which; add to it for a function of your own that calls such an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule


def _compute_rms_norm(input: torch.Tensor, normalized_shape: Sequence[int], weight: torch.Tensor | None = None, eps: float | None = None) -> torch.Tensor:
    return torch.nn.functional.rms_norm(input, list(normalized_shape), weight, eps)


_rms_norm = torch.library.custom_op("cupel::rms_norm", _compute_rms_norm, mutates_args=(),
                                    schema="(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor")  # fmt: skip


@_rms_norm.register_fake
def _(input, normalized_shape, weight=None, eps=None):
    return torch.empty(input.shape, dtype=input.dtype if weight is None else torch.promote_types(input.dtype, weight.dtype), device=input.device)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    input, normalized_shape, weight, eps = inputs
    ctx.save_for_backward(input, weight)
    ctx.rank, ctx.eps = len(normalized_shape), torch.finfo(input.dtype).eps if eps is None else eps


def _slopes(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, None, torch.Tensor | None, None]:
    input, weight = ctx.saved_tensors
    wide = input.to(torch.promote_types(input.dtype, torch.float32))
    last = tuple(range(-ctx.rank, 0))
    root = torch.rsqrt(wide.pow(2).mean(last, keepdim=True) + ctx.eps)
    normalized, incoming = wide * root, gradient.to(wide.dtype)
    scaled = incoming if weight is None else incoming * weight.to(wide.dtype)
    for_input = root * (scaled - normalized * (scaled * normalized).mean(last, keepdim=True))
    leading = tuple(range(input.dim() - ctx.rank))
    product = incoming * normalized
    for_weight = None if weight is None else (product.sum(leading) if leading else product).to(weight.dtype)
    return for_input.to(input.dtype), None, for_weight, None


_rms_norm.register_autograd(_slopes, setup_context=_keep)


def composite_rms_norm(input: torch.Tensor, normalized_shape: Sequence[int], weight: torch.Tensor | None = None, eps: float | None = None) -> torch.Tensor:
    """torch.nn.functional.rms_norm, kept whole as `tenstorrent.rms_norm`."""
    return torch.ops.cupel.rms_norm(input, list(normalized_shape), weight, eps)


replacements: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.nn.functional.rms_norm: composite_rms_norm,
    torch.rms_norm: composite_rms_norm,
}

exported_names = {torch.ops.cupel.rms_norm.default: torch.ops.aten.rms_norm.default}
"""How the importer knows our operators: as what torch.export leaves of the functions that they stand for."""


def handle_composite_ops(module: GraphModule) -> int:
    """Swaps the functions of `replacements`; how many there were."""
    found = [node for node in module.graph.nodes if node.op == "call_function" and node.target in replacements]
    for node in found:
        node.target = replacements[node.target]
    if found:
        module.recompile()
    return len(found)
