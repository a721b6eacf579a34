"""Values of integers while a model's calls are recorded with tensors that have types alone: what its inputs, which are known, make by integer calls that were recorded.

Used by recorded.py where values decide something (`mask.all()`, `len(unique(lengths))`) or a size (`hidden[mask]`). Integers of a test's inputs are the same whenever it runs, so that what they
decide is no more of a guess than a size is; what floats decide stays refused. Nothing is computed until somebody asks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

_MOST = 1 << 22
"""Elements of what is looked at: masks and ids are small, and whoever computes with more integers than these is better asked elsewhere."""


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and not (tensor.is_floating_point() or tensor.is_complex() or tensor.is_quantized) and tensor.layout is torch.strided and tensor.numel() <= _MOST


@contextlib.contextmanager
def without_modes() -> Iterator[None]:
    """Calls compute, whatever records them."""
    with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
        yield


class KnownValues:
    """The calls of a graph up to here, run again as far as integers go."""

    def __init__(self, graph: torch.fx.Graph, is_random: Callable[[Any, Any, Any], bool]) -> None:
        self._graph, self._is_random = graph, is_random
        self._given: dict[torch.fx.Node, torch.Tensor] = {}
        self._values: dict[torch.fx.Node, Any] = {}
        self._copies: dict[int, torch.UntypedStorage] = {}
        self._seen: set[torch.fx.Node] = set()

    def give(self, node: torch.fx.Node, tensor: torch.Tensor) -> None:
        """What an input of the graph is."""
        self._given[node] = tensor

    def value(self, node: torch.fx.Node) -> torch.Tensor | None:
        """What this call gives, as it is now; nothing where that is not known."""
        with without_modes():
            for one in self._graph.nodes:
                if one not in self._seen:
                    self._seen.add(one)
                    self._run(one)
        value = self._values.get(node)
        return value if isinstance(value, torch.Tensor) else None

    def _run(self, node: torch.fx.Node) -> None:
        if node.op == "placeholder":
            given = self._given.get(node)
            if given is not None and _is_plain(given) and given.untyped_storage().nbytes() <= 8 * _MOST:
                # Views of one memory are views of one copy, so that what is written to one is seen in the others.
                memory = given.untyped_storage()
                if memory._cdata not in self._copies:
                    self._copies[memory._cdata] = memory.clone()
                self._values[node] = torch.empty(0, dtype=given.dtype).set_(self._copies[memory._cdata], given.storage_offset(), given.size(), given.stride())
        elif node.op == "call_function":
            if all(one in self._values for one in node.all_input_nodes) and not self._is_anybodys(node):
                args, kwargs = tree_map_only(torch.fx.Node, self._values.__getitem__, (tuple(node.args), dict(node.kwargs)))
                try:
                    result = node.target(*args, **kwargs)
                except Exception:  # Whatever it is, torch says it where the model runs.
                    return self._forget_written(node)
                if all(_is_plain(one) for one in tree_leaves(result) if isinstance(one, torch.Tensor)):
                    self._values[node] = result
                    return None
            self._forget_written(node)

    def _is_anybodys(self, node: torch.fx.Node) -> bool:
        """Whether what a call gives is drawn, or whatever was in the memory."""
        if not isinstance(node.target, torch._ops.OpOverload):
            return False
        name = node.target._schema.name
        return "empty" in name or "resize" in name or self._is_random(node.target, node.args, node.kwargs)

    def _forget_written(self, node: torch.fx.Node) -> None:
        """A call that is not run again may have written to what is known."""
        if not isinstance(node.target, torch._ops.OpOverload) or not node.target._schema.is_mutable:
            return
        written = {one.untyped_storage()._cdata for input in node.all_input_nodes for one in tree_leaves(self._values.get(input)) if isinstance(one, torch.Tensor)}
        self._values = {known: value for known, value in self._values.items()
                        if not any(isinstance(one, torch.Tensor) and one.untyped_storage()._cdata in written for one in tree_leaves(value))}
