"""What a loader says of several chips: mesh, shard specs of parameters and outputs, and how arguments are repeated and split over them.

As the zoo's own runner does it. Used by ModelTest for data_parallel, tensor_parallel and the strategies of language models. Never moves a tensor.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from cupel.torch.shardings import BadSpec, Mesh, Placement
from cupel.torch.structure import replaced, tensors_of
from cupel.worker.loaders import LoaderError, call_named


class Skipped(Exception):
    """The loader does not do this test; the message says why."""


def repeated(value: Any, devices: int) -> Any:
    """A top-level argument for data parallelism: rows follow each other `devices` times, so that every device gets the loader's own batch."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return value
    if value.dim() == 0:
        return value.repeat(devices)
    return (value.unsqueeze(0) if value.dim() == 1 else value).repeat_interleave(devices, dim=0)


@dataclass(frozen=True)
class Repeated:
    """Arguments for data parallelism."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    rows: list[tuple[str, torch.Tensor]]
    """Those that have a device's rows for each of them, by the names that a captured graph has for them."""
    how: str = ""
    """Empty: as the zoo does it."""

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        return [tuple(tensor.shape) for _, tensor in tensors_of([*self.args]) + tensors_of(self.kwargs)]


def repeat(args: tuple[Any, ...], kwargs: Mapping[str, Any], devices: int) -> list[Repeated]:
    """The ways to repeat arguments that differ, the zoo's first: it takes every tensor on top for a batch, and none that lies deeper (caches, records).

    Where a model does not take that, or there is no tensor on top, what has as many rows as the batch is what holds one: vectors (lengths, labels) with it, or not.
    """
    own = {name: repeated(value, devices) for name, value in kwargs.items()}
    own_args = tuple(repeated(value, devices) for value in args)
    ways = [Repeated(own_args, own, [one for one in named_arguments(own_args, own) if isinstance(one[1], torch.Tensor) and one[1].layout is torch.strided])]
    given = [tensor for _, tensor in tensors_of([*args]) + tensors_of(kwargs) if tensor.layout is torch.strided and tensor.dim()]
    batch = next((tensor.shape[0] for tensor in given if tensor.dim() > 1), given[0].shape[0] if given else 0)
    for rank, what in ((1, "every tensor"), (2, "every tensor that is no vector")):
        made: set[int] = set()

        def rows(tensor: torch.Tensor, rank: int = rank, made: set[int] = made) -> torch.Tensor:
            if tensor.layout is not torch.strided or tensor.dim() < rank or tensor.shape[0] != batch:
                return tensor
            more = tensor.repeat_interleave(devices, dim=0)
            made.add(id(more))
            return more

        some_args, some = replaced((args, dict(kwargs)), rows)
        way = Repeated(some_args, some, [one for one in tensors_of([*some_args]) + tensors_of(some) if id(one[1]) in made], f"rows of {what} that has {batch} of them, however deep it lies")
        if made and all(way.sizes != other.sizes for other in ways):
            ways.append(way)
    return ways if ways[0].rows or len(ways) == 1 else ways[1:]


def named_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """By the names that a captured graph has for them."""
    return [*((str(i), value) for i, value in enumerate(args)), *kwargs.items()]


def mesh_of(loader: Any, devices: int) -> Mesh:
    """The loader's own; one that it does not have for so many devices is no failure."""
    try:
        shape, names = loader.get_mesh_config(devices)
    except Exception as error:
        raise Skipped(f"the loader has no mesh for {devices} devices: {type(error).__name__}: {error}") from error
    if shape is None:
        raise Skipped(f"the loader names no mesh for {devices} devices")
    try:
        mesh = Mesh.of(shape, names)
    except BadSpec as error:
        raise LoaderError("bad_shard_spec", str(error)) from error
    if mesh.size > devices:
        raise Skipped(f"the loader's mesh {mesh} needs {mesh.size} devices, and there are {devices}")
    return mesh


def data_parallel(devices: int, rows: Sequence[tuple[str, Any]]) -> Placement:
    """Weights on every device, arguments that have rows for each split by these."""
    placement = Placement(Mesh.of((1, devices), ("model", "data")))
    placement.add_arguments(rows, "data")
    return placement


def _base_of(model: torch.nn.Module) -> torch.nn.Module:
    """Specs are for the model that adapters were put around."""
    return model.get_base_model() if callable(getattr(model, "get_base_model", None)) else model


def why_not_split(loader: Any, how: Collection[str]) -> str:
    """Why the loader has no test of several devices with weights split by it; empty: it has. `how` names what is asked of load_shard_spec."""
    function = getattr(loader, "load_shard_spec", None)
    if not callable(function):
        return "the loader says nothing of weights on several devices: it has no load_shard_spec"
    missing = [name for name in how if name not in inspect.signature(function).parameters]
    return f"the loader has one way to split its weights: its load_shard_spec takes no {' and no '.join(missing)}" if missing else ""


def tensor_parallel(loader: Any, model: torch.nn.Module, mesh: Mesh, **how: Any) -> Placement:
    """Weights as the loader splits them (`how`: strategy and batch axis, where it takes them), outputs as it constrains them."""
    placement = Placement(mesh, str(how.get("strategy", "")))
    try:
        specs = loader.load_shard_spec(_base_of(model), **how)
    except NotImplementedError as error:
        raise Skipped(f"the loader does not split its weights{' by ' + str(how['strategy']) if 'strategy' in how else ''}: {error or 'its load_shard_spec is not implemented'}") from error
    outputs = call_named(loader.load_activation_shard_spec, model=model) if hasattr(loader, "load_activation_shard_spec") else None
    try:
        placement.add_parameters(model, specs or {})
        placement.add_outputs(outputs or {})
    except BadSpec as error:
        raise LoaderError("bad_shard_spec", str(error)) from error
    return placement
