"""Calls that stay whole on their way to the device where torch would take them apart: they become operators of our own, which the importer
knows by the name that torch.export would have left them.

`replacements` says which functions in Dynamo's graphs are swapped for which. A composite of your own is a function that marks where it begins and ends:

    def composite_swish(x):
        builder = StableHLOCompositeBuilder("my.swish", {"beta": 1.5})
        x = builder.mark_inputs(x)
        return builder.mark_outputs(x * torch.sigmoid(1.5 * x))

    register_composite(swish, composite_swish)

What is computed between becomes the decomposition of a `stablehlo.composite` of that name. Types of modules are registered the same way; their
composites take the module before its arguments.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cupel.torch.annotations import annotation


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
"""Functions and types of modules, and what is called instead of them."""

exported_names = {torch.ops.cupel.rms_norm.default: torch.ops.aten.rms_norm.default}
"""How the importer knows our operators: as what torch.export leaves of the functions that they stand for."""


constraints: dict[Callable[..., Any], Callable[[Any], bool]] = {}
"""Of what is in `replacements`: whether a call of it is swapped. It is asked with the call's node in Dynamo's graph, or with the module."""

_forwards: dict[type[torch.nn.Module], Callable[..., Any]] = {}
"""Of types of modules in `replacements`: what they compute themselves."""


def register_composite(target: Callable[..., Any], composite: Callable[..., Any], constraint: Callable[[Any], bool] | None = None) -> None:
    """Calls of `target` become calls of `composite`: of a function with its arguments, of a type of modules with the module and its arguments.

    A function of your own is kept in graphs as one call for that, which torch would look into otherwise. Modules are gone from graphs when
    anybody sees them (Dynamo and torch.export look into them all), so theirs is caught before: while a graph is being captured, modules of
    this very type compute what `composite` says, and in every other call what they always did.
    """
    if isinstance(target, type):
        if not issubclass(target, torch.nn.Module):
            raise TypeError(f"register_composite takes functions and types of modules; {target.__name__} is a class that is neither")
        _catch_calls(target, composite, constraint)
    elif isinstance(target, torch.nn.Module):
        raise TypeError(f"register_composite takes the type of a module, {type(target).__name__}, not one of its instances")
    elif (getattr(target, "__module__", None) or "torch").partition(".")[0] not in ("torch", "_operator", "builtins"):
        torch.compiler.allow_in_graph(target)
    replacements[target] = composite
    constraints.pop(target, None)
    if constraint:
        constraints[target] = constraint


def unregister_composite(target: Callable[..., Any]) -> None:
    """Its calls stay what they are from now on."""
    if target not in replacements:
        raise KeyError(f"no composite is registered for {getattr(target, '__name__', target)}")
    del replacements[target]
    constraints.pop(target, None)
    if isinstance(target, type) and target in _forwards:
        target.forward = _forwards.pop(target)


def _catch_calls(kind: type[torch.nn.Module], composite: Callable[..., Any], constraint: Callable[[Any], bool] | None) -> None:
    own = _forwards.setdefault(kind, kind.forward)

    @functools.wraps(own)
    def forward(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        # Subclasses may compute something else.
        if type(self) is kind and torch.compiler.is_compiling() and (constraint is None or constraint(self)):
            return composite(self, *args, **kwargs)
        return own(self, *args, **kwargs)

    kind.forward = forward


def handle_composite_ops(module: GraphModule) -> int:
    """Swaps the functions of `replacements`; how many there were."""
    found = [node for node in module.graph.nodes
             if node.op == "call_function" and node.target in replacements and not isinstance(node.target, type) and constraints.get(node.target, lambda _: True)(node)]  # fmt: skip
    for node in found:
        node.target = replacements[node.target]
    if found:
        module.recompile()
    return len(found)


# --- Composites of users -------------------------------------------------------------------------------------------------------------------


mark_tensor = annotation("mark_tensor")
"""The same values; the C++ frontend makes composites of what is between marks."""
mark_tensor.register_autograd(lambda ctx, gradient: (gradient, None), setup_context=lambda ctx, inputs, output: None)


def drop_marks(module: GraphModule) -> int:
    """Takes the marks of composites out of a graph, for those who want none; how many there were."""
    found = [node for node in module.graph.nodes if node.op == "call_function" and node.target in (mark_tensor, torch.ops.cupel.mark_tensor, torch.ops.cupel.mark_tensor.default)]
    for node in found:
        node.replace_all_uses_with(node.args[0])
        module.graph.erase_node(node)
    if found:
        module.recompile()
    return len(found)


_calls = itertools.count()


# Composites of modules are looked into by Dynamo, which takes what these two give for constants.
@torch.compiler.assume_constant_result
def _next_call() -> int:
    return next(_calls)


@torch.compiler.assume_constant_result
def _mark(name: str, call: int, is_input: bool, attributes: tuple[tuple[str, Any], ...], position: int) -> str:
    written = {key: {"float": repr(value)} if isinstance(value, float) else value for key, value in attributes}
    return json.dumps({"name": name, "id": call, "is_input": is_input, "attributes": written, "position": position})


class StableHLOCompositeBuilder:
    """One call of a composite: hands its inputs, then its outputs, through marks. Attributes are numbers, texts, booleans and lists of integers."""

    def __init__(self, name: str, attr: Mapping[str, Any] | None = None):
        if not name:
            raise ValueError("a composite needs a name, such as 'my.swish'")
        self.name, self.attributes, self._id = name, dict(attr or {}), _next_call()

    def _marked(self, tensors: tuple[torch.Tensor, ...], is_input: bool) -> Any:
        if not tensors:
            raise ValueError(f"composite {self.name!r}: nothing is marked")
        attributes = tuple(self.attributes.items())
        marked = tuple(torch.ops.cupel.mark_tensor(tensor, _mark(self.name, self._id, is_input, attributes, position)) for position, tensor in enumerate(tensors))
        return marked if len(marked) > 1 else marked[0]

    def mark_inputs(self, *tensors: torch.Tensor) -> Any:
        """What the composite computes with instead of these; all tensors that it reads belong here."""
        return self._marked(tensors, True)

    def mark_outputs(self, *tensors: torch.Tensor) -> Any:
        """What the composite returns instead of these; all at once."""
        return self._marked(tensors, False)
