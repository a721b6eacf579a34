"""Types of results that need no asking: of calls that torch takes apart into many to find out what they give, where it is plain.

Used where the calls of a model are recorded with tensors that have types and no values (recorded.py): a batch norm of a shape not seen before takes torch 9 ms there. What is not plain
is torch's to say. tests/models/test_known_results.py asks torch for the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_empty, _empty_like = torch.ops.aten.new_empty.default, torch.ops.aten.empty_like.default


def _batch_norm(x: Any, weight: Any = None, bias: Any = None, mean: Any = None, variance: Any = None, training: bool = True, *_: Any) -> torch.Tensor | None:
    """Of statistics that are given: elements go as they lie."""
    return _empty_like(x) if not training and mean is not None and x.dim() >= 2 and x.is_contiguous() else None


def _linear(x: Any, weight: Any, bias: Any = None) -> torch.Tensor | None:
    is_plain = x.dtype == weight.dtype and weight.dim() == 2 and x.dim() >= 1 and (bias is None or (bias.dim() == 1 and bias.dtype == x.dtype))
    return _empty(x, [*x.shape[:-1], weight.shape[0]]) if is_plain and x.shape[-1] == weight.shape[1] else None


def _layer_norm(x: Any, shape: Any, *_: Any) -> torch.Tensor | None:
    return _empty_like(x) if x.is_contiguous() and list(x.shape[x.dim() - len(shape):]) == list(shape) else None


def _matmul(x: Any, y: Any) -> torch.Tensor | None:
    """Of stacks of as many dimensions: others are folded, and may lie otherwise."""
    is_plain = x.dtype == y.dtype and x.dim() == y.dim() >= 3 and x.shape[:-2] == y.shape[:-2] and x.shape[-1] == y.shape[-2]
    return _empty(x, [*x.shape[:-1], y.shape[-1]]) if is_plain else None


_KNOWN: dict[Any, Callable[..., torch.Tensor | None]] = {
    torch.ops.aten.batch_norm.default: _batch_norm,
    torch.ops.aten.linear.default: _linear,
    torch.ops.aten.layer_norm.default: _layer_norm,
    torch.ops.aten.matmul.default: _matmul,
}


def known_result(func: Any, args: Any, kwargs: Any) -> torch.Tensor | None:
    """What this call gives, as a tensor without values, below whose mode it is made; nothing where torch is to be asked."""
    known = _KNOWN.get(func)
    return known(*args) if known and not kwargs else None
