"""Operators that a model brings along (`torch.library.custom_op`): no frontend knows them. Those that Python computes are taken apart into the calls they are made of. A graph that
holds one of a library of torch's own is refused, so that a trace comes after it, where it alone is torch's word. Any other stays in the graph, and is named as what stops the model:
a pass without it would say nothing of what the model is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

# What frontends lower, or name in their refusal.
_KNOWN = ("aten", "prims", "cupel", "torch_nn")
# Libraries of torch's own, whose operators run on the CPU beside a device's graphs.
_TORCHS = ("_quantized", "mkldnn", "onednn", "quantized", "quantized_decomposed", "torchao", "torchaudio", "torchvision")


def python_kernel(func: Any) -> Callable[..., Any] | None:
    """What computes such an operator on the CPU, where that is Python's function."""
    from torch._library.custom_ops import OPDEFS

    if func.namespace in _KNOWN or (definition := OPDEFS.get(func._schema.name)) is None:
        return None
    kernels = definition._backend_fns
    return kernels.get("cpu") or kernels.get(None)


def custom_decompositions() -> dict[Any, Callable[..., Any]]:
    """For those that are known now."""
    from torch._library.custom_ops import OPDEFS

    found = ((definition._opoverload, python_kernel(definition._opoverload)) for definition in list(OPDEFS.values()))
    return {func: kernel for func, kernel in found if kernel is not None}


def library_operator(graph: torch.fx.Graph) -> str:
    """The first operator of a library of torch's own that is left in a graph; empty if there is none."""
    for node in graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload) and node.target.namespace in _TORCHS:
            return str(node.target)
    return ""
