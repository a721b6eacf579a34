"""Fusions of what users wrote by hand: patterns of torch calls that become one call which devices have a kernel for.

A provider is a subclass of `FusionProvider` with a pattern and a replacement of the same arguments; subclassing registers it. The backend runs all
of them over Dynamo's graphs before anything is lowered, so that what they make (`rms_norm`, ...) is kept whole as a composite.

Spelling does not count: `a * b`, `torch.mul(a, b)` and `a.mul(b)` are the same, `b * a` too, and so are `x.float()` and `x.to(torch.float32)`.
Arguments of a pattern stand for any value, numbers and dtypes among them.
"""

from __future__ import annotations

import inspect
import itertools
import operator
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node, symbolic_trace
from torch.fx.subgraph_rewriter import replace_pattern_with_filters

counts: Counter[str] = Counter()
"""How often each provider replaced something in this process, by its name."""


class FusionProvider(ABC):
    """One fusion, or several variants of one."""

    _registered_providers: list[type[FusionProvider]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not inspect.isabstract(cls):
            FusionProvider._registered_providers.append(cls)

    @property
    @abstractmethod
    def name(self) -> str:
        """By which it is switched off and counted."""

    @staticmethod
    @abstractmethod
    def pattern(*args: Any, **kwargs: Any) -> Any:
        """What is looked for."""

    @staticmethod
    @abstractmethod
    def replacement(*args: Any, **kwargs: Any) -> Any:
        """What takes its place, of the same arguments."""

    @staticmethod
    def match_filter(match: Any, graph: Graph, subgraph: Graph) -> bool:
        """Whether a match is replaced; `match.nodes_map` says what stands for what."""
        return True

    def get_match_filters(self) -> list[Callable[[Any, Graph, Graph], bool]]:
        return [self.match_filter]

    def get_patterns(self) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
        """Pairs of a pattern and its replacement, which are tried in this order."""
        return [(self.pattern, self.replacement)]

    def replace_pattern(self, module: GraphModule) -> int:
        """How many matches were replaced."""
        replaced = 0
        for pattern, replacement in self.get_patterns():
            for variant in _variants(pattern):
                replaced += len(replace_pattern_with_filters(module, variant, replacement, self.get_match_filters()))
        return replaced


# --- One spelling --------------------------------------------------------------------------------------------------------------------------

_METHODS = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div", operator.pow: "pow", operator.neg: "neg",
            **{getattr(torch, name): name for name in ("add", "sub", "mul", "div", "pow", "neg", "mean", "sum", "rsqrt", "sqrt", "square", "reciprocal",
                                                       "exp", "tanh", "sigmoid", "erf", "abs")},
            torch.nn.functional.tanh: "tanh", torch.nn.functional.sigmoid: "sigmoid"}  # fmt: skip
_COMMUTE = ("add", "mul")
_CASTS = {"float": torch.float32, "half": torch.float16, "bfloat16": torch.bfloat16, "double": torch.float64}


def _canonical(graph: Graph) -> None:
    """Elementwise calls, reductions and casts as methods of a tensor, with their arguments by position."""
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in _METHODS:
            name, args, kwargs = _METHODS[node.target], list(node.args), dict(node.kwargs)
            if "input" in kwargs:
                args.insert(0, kwargs.pop("input"))
        elif node.op == "call_method":
            name, args, kwargs = node.target, list(node.args), dict(node.kwargs)
        else:
            continue
        if name in _COMMUTE and len(args) == 2 and not isinstance(args[0], Node):  # 1 + x
            args.reverse()
        if not args or not isinstance(args[0], Node):
            continue
        if name in _CASTS and len(args) == 1:
            name, args = "to", [args[0], _CASTS[name]]
        if name == "to" and "dtype" in kwargs and "device" not in kwargs and len(args) == 1:  # Beside a device it has no place of its own.
            args.append(kwargs.pop("dtype"))
        if name == "square" and len(args) == 1:
            name, args = "pow", [args[0], 2]
        if name in ("add", "mul", "sub", "div", "pow") and "other" in kwargs:
            args.append(kwargs.pop("other"))
        if name == "pow" and "exponent" in kwargs:
            args.append(kwargs.pop("exponent"))
        if name in ("mean", "sum"):
            for position, word in ((1, "dim"), (2, "keepdim")):
                if word in kwargs and len(args) == position:
                    args.append(kwargs.pop(word))
            if len(args) > 1 and isinstance(args[1], (list, tuple)) and len(args[1]) == 1:
                args[1] = args[1][0]
        node.op, node.target = "call_method", name
        node.args, node.kwargs = tuple(args), kwargs


def _variants(pattern: Callable[..., Any]) -> Iterator[GraphModule]:
    """The pattern with the operands of what commutes in either order."""
    first = symbolic_trace(pattern)
    _canonical(first.graph)
    free = [i for i, node in enumerate(first.graph.nodes)
            if node.op == "call_method" and node.target in _COMMUTE and len(node.args) == 2 and isinstance(node.args[1], Node)]  # fmt: skip
    for swapped in itertools.product((False, True), repeat=len(free)):
        module = symbolic_trace(pattern)
        _canonical(module.graph)
        nodes = list(module.graph.nodes)
        for i, is_swapped in zip(free, swapped, strict=True):
            if is_swapped:
                nodes[i].args = (nodes[i].args[1], nodes[i].args[0])
        module.recompile()
        yield module


def run_fusion_passes(module: GraphModule, without: Collection[str] = ()) -> GraphModule:
    """All registered providers but those named; the module itself where none of them finds anything."""
    fused = GraphModule(module, _copied(module.graph))
    _canonical(fused.graph)
    replaced = 0
    for provider in (cls() for cls in FusionProvider._registered_providers):
        if provider.name in without:
            continue
        count = provider.replace_pattern(fused)
        counts[provider.name] += count
        replaced += count
    if not replaced:
        return module
    fused.graph.lint()
    fused.recompile()
    return fused


def _copied(graph: Graph) -> Graph:
    copy = Graph()
    values: dict[Node, Node] = {}
    output = copy.graph_copy(graph, values)
    copy.output(output)
    for node, new in values.items():
        new.meta = dict(node.meta)
    return copy


def registered() -> list[str]:
    return [cls().name for cls in FusionProvider._registered_providers]


# --- What ships ----------------------------------------------------------------------------------------------------------------------------


class RMSNormFusionProvider(FusionProvider):
    """Root mean square norms as models write them out, over the last dimension: torch.nn.functional.rms_norm."""

    @property
    def name(self) -> str:
        return "rms_norm_fusion"

    @staticmethod
    def _normalized(hidden: Any, eps: Any) -> Any:
        wide = hidden.to(torch.float32)
        return wide.mul(torch.rsqrt(wide.pow(2).mean(-1, True).add(eps)))

    @staticmethod
    def _normalized_by_power(hidden: Any, eps: Any) -> Any:
        wide = hidden.to(torch.float32)
        return wide.mul(wide.pow(2).mean(-1, True).add(eps).pow(-0.5))

    @staticmethod
    def pattern(hidden: Any, weight: Any, eps: Any, dtype: Any) -> Any:
        """Llama: rounded to its type before the weight is applied."""
        return weight.mul(RMSNormFusionProvider._normalized(hidden, eps).to(dtype))

    @staticmethod
    def pattern_rounded_last(hidden: Any, weight: Any, eps: Any, dtype: Any) -> Any:
        """GPT-OSS: after it."""
        return weight.mul(RMSNormFusionProvider._normalized(hidden, eps)).to(dtype)

    @staticmethod
    def pattern_one_plus(hidden: Any, weight: Any, eps: Any, dtype: Any) -> Any:
        """Gemma: weights are stored less one."""
        return RMSNormFusionProvider._normalized(hidden, eps).mul(weight.to(torch.float32).add(1.0)).to(dtype)

    @staticmethod
    def pattern_power(hidden: Any, weight: Any, eps: Any, dtype: Any) -> Any:
        """Gemma 4: by a power."""
        return RMSNormFusionProvider._normalized_by_power(hidden, eps).mul(weight.to(torch.float32)).to(dtype)

    @staticmethod
    def pattern_power_alone(hidden: Any, eps: Any, dtype: Any) -> Any:
        """The same without a weight."""
        return RMSNormFusionProvider._normalized_by_power(hidden, eps).to(dtype)

    @staticmethod
    def replacement(hidden: Any, weight: Any, eps: Any, dtype: Any) -> Any:
        return torch.nn.functional.rms_norm(hidden, normalized_shape=weight.shape, weight=weight, eps=eps).to(dtype)

    @staticmethod
    def replacement_rounded_last(hidden: Any, weight: Any, eps: Any, dtype: Any) -> Any:
        return torch.nn.functional.rms_norm(hidden.to(torch.float32), normalized_shape=weight.shape, weight=weight.to(torch.float32), eps=eps).to(dtype)

    @staticmethod
    def replacement_one_plus(hidden: Any, weight: Any, eps: Any, dtype: Any) -> Any:
        wide = weight.to(torch.float32).add(1.0)
        return torch.nn.functional.rms_norm(hidden.to(torch.float32), normalized_shape=weight.shape, weight=wide, eps=eps).to(dtype)

    @staticmethod
    def replacement_alone(hidden: Any, eps: Any, dtype: Any) -> Any:
        return torch.nn.functional.rms_norm(hidden, normalized_shape=hidden.shape[-1:], eps=eps).to(dtype)

    def get_patterns(self) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
        # Those that say more come first: others would take a weight that is computed for any other.
        return [(self.pattern_one_plus, self.replacement_one_plus), (self.pattern_power, self.replacement_rounded_last), (self.pattern, self.replacement),
                (self.pattern_rounded_last, self.replacement_rounded_last), (self.pattern_power_alone, self.replacement_alone)]  # fmt: skip

    @staticmethod
    def match_filter(match: Any, graph: Graph, subgraph: Graph) -> bool:
        """A weight must have one number for each of the last dimension: others are broadcast, and no norm."""
        by_name = {node.name: value for node, value in match.nodes_map.items() if node.op == "placeholder"}
        hidden, weight = by_name.get("hidden"), by_name.get("weight")
        if isinstance(hidden, Node) and (value := hidden.meta.get("example_value")) is not None and not value.is_floating_point():
            return False
        if weight is None:
            return True
        if not isinstance(weight, Node) or not isinstance(hidden, Node):
            return False
        scale, value = weight.meta.get("example_value"), hidden.meta.get("example_value")
        return scale is not None and scale.dim() == 1 and (value is None or value.shape[-1] == scale.shape[0])
