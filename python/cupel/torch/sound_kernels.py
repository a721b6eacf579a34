"""Calls that torch's own CPU kernels get wrong, made so that they get them right; used wherever torch computes what is expected of a device.

grid_sample in 16-bit floats counts elements in 16-bit integers: where a picture's strides take it further than those reach, it reads foreign
memory, and gives other values at each run or dies. The same kernel is given a dense copy, which has small strides, and where even that is too
large the call is computed in float32. Every such call is counted, for the record.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

_NARROW = (torch.bfloat16, torch.float16)
_LARGEST = 2**15 - 1


def _reaches_too_far(picture: torch.Tensor) -> bool:
    rows, columns = picture.shape[-2:]
    return (rows - 1) * picture.stride(-2) + (columns - 1) * picture.stride(-1) > _LARGEST


def sound_grid_sampler(original: Callable[..., torch.Tensor], replaced: list[str]) -> Callable[..., torch.Tensor]:
    """`original` is torch's call (picture, grid, ...); `replaced` gets a line for each call that could not be made as it was."""

    def call(picture: torch.Tensor, grid: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        if picture.dtype not in _NARROW or picture.dim() != 4 or picture.device.type != "cpu" or not _reaches_too_far(picture):
            return original(picture, grid, *rest, **named)
        picture = picture.contiguous()
        if not _reaches_too_far(picture):
            replaced.append("grid_sampler_2d on a dense copy")
            return original(picture, grid, *rest, **named)
        replaced.append("grid_sampler_2d in float32")
        return original(picture.float(), grid.float(), *rest, **named).to(picture.dtype)

    return call


@contextlib.contextmanager
def sound_kernels() -> Iterator[list[str]]:
    """Inside, what Python calls is sound; the list tells which calls were made otherwise."""
    replaced: list[str] = []
    before = torch.grid_sampler
    torch.grid_sampler = sound_grid_sampler(before, replaced)
    try:
        yield replaced
    finally:
        torch.grid_sampler = before


def with_sound_kernels(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The same graph for torch to run, or a copy of it whose calls are sound."""
    sampler = torch.ops.aten.grid_sampler_2d.default
    if all(node.target is not sampler for node in module.graph.nodes):
        return module
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    for node in graph.nodes:
        if node.target is sampler:
            node.target = sound_grid_sampler(sampler, [])
    return torch.fx.GraphModule(module, graph)
