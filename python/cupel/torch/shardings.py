"""How a model's tensors lie on a mesh of devices: what a loader says of parameters, arguments and outputs, as the program's shardings and pieces.

Specs are torch_xla's: an axis of the mesh, several of them, or None for each dimension. Used by the worker for tests on several chips. Never
changes a model's tensors; a dimension that cannot be split into equal pieces stays whole, and `Placement.uneven` tells which.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from cupel.torch.annotations import annotation

Spec = list[list[str]]
"""The axes of each dimension, major first."""


class BadSpec(ValueError):
    """A loader's spec does not fit its tensor or the mesh."""


@dataclass(frozen=True)
class Mesh:
    """Axes by name, outermost first; devices are numbered row-major."""

    axes: tuple[tuple[str, int], ...]

    @staticmethod
    def of(shape: Sequence[int], names: Sequence[str | None]) -> Mesh:
        if len(shape) != len(names) or not shape or any(size < 1 for size in shape):
            raise BadSpec(f"a mesh of the shape {tuple(shape)} does not have the axes {tuple(names)}")
        if len({*names} - {None}) + [*names].count(None) != len(names):
            raise BadSpec(f"a mesh has two axes of one name: {tuple(names)}")
        return Mesh(tuple((name if name is not None else f"axis_{i}", int(size)) for i, (size, name) in enumerate(zip(shape, names, strict=True))))

    @property
    def size(self) -> int:
        return math.prod(size for _, size in self.axes)

    def sizes(self) -> dict[str, int]:
        return dict(self.axes)

    def place(self, device: int) -> dict[str, int]:
        """Where a device stands on each axis."""
        found = {}
        for name, size in reversed(self.axes):
            device, found[name] = divmod(device, size)
        return found

    def __str__(self) -> str:
        return " x ".join(f"{name}={size}" for name, size in self.axes)


def _memory(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()


def axes_of(spec: Sequence[Any], rank: int, mesh: Mesh) -> Spec:
    """A loader's spec with every axis known, and no axis twice; a shorter one says nothing of the last dimensions."""
    if len(spec) > rank:
        raise BadSpec(f"the spec {tuple(spec)} stands at a tensor of rank {rank}")
    found: Spec = [[] if one is None else [one] if isinstance(one, str) else [part for part in one if part is not None] for one in spec]
    found += [[]] * (rank - len(found))
    named = [axis for dimension in found for axis in dimension]
    for axis in named:
        if axis not in mesh.sizes():
            raise BadSpec(f"the mesh {mesh} has no axis '{axis}' of the spec {tuple(spec)}")
        if named.count(axis) > 1:
            raise BadSpec(f"the spec {tuple(spec)} names the axis '{axis}' twice")
    return found


@dataclass
class Placement:
    """Which tensors are split over the mesh, by the memory they lie in and, for copies of arguments, by name."""

    mesh: Mesh
    strategy: str = ""
    _by_memory: dict[tuple[Any, ...], Spec] = field(default_factory=dict)
    _by_name: dict[str, Spec] = field(default_factory=dict)
    _outputs: list[tuple[torch.nn.Module, Sequence[Any]]] = field(default_factory=list)
    uneven: list[str] = field(default_factory=list)
    _rows: dict[int, str] = field(default_factory=dict)
    """How many rows arguments have that are split by these, and by which axis."""

    def _split(self, tensor: torch.Tensor, spec: Sequence[Any], name: str) -> Spec:
        sizes, axes = self.mesh.sizes(), axes_of(spec, tensor.dim(), self.mesh)
        for dimension, named in enumerate(axes):
            if tensor.shape[dimension] % math.prod(sizes[axis] for axis in named):
                self.uneven.append(f"{name}: {tensor.shape[dimension]} over {', '.join(named)}")
                axes[dimension] = []
        # An axis of one device splits nothing.
        return [[axis for axis in named if sizes[axis] > 1] for named in axes]

    def add_parameters(self, model: torch.nn.Module, specs: Mapping[Any, Sequence[Any]]) -> None:
        """`specs`: by parameter object, as loaders give them."""
        names = {id(one): name for kind in (model.named_parameters, model.named_buffers) for name, one in kind(remove_duplicate=False)}
        for parameter, spec in specs.items():
            if not isinstance(parameter, torch.Tensor):
                raise BadSpec(f"the key of a shard spec is a {type(parameter).__name__}, not a tensor")
            if id(parameter) not in names:
                raise BadSpec(f"a tensor of the shape {list(parameter.shape)} with a shard spec is none of the model's")
            self._by_memory[_memory(parameter)] = self._split(parameter, spec, names[id(parameter)])

    def add_arguments(self, named: Sequence[tuple[str, Any]], axis: str) -> None:
        """Splits the first dimension of each tensor among the top-level arguments."""
        for name, value in named:
            if isinstance(value, torch.Tensor) and value.dim():
                self._by_name[name] = self._by_memory[_memory(value)] = self._split(value, (axis,), name)
                self._rows[value.shape[0]] = axis

    def add_outputs(self, specs: Mapping[torch.nn.Module, Sequence[Any]]) -> None:
        for module, spec in specs.items():
            axes_of(spec, len(spec), self.mesh)
            self._outputs.append((module, spec))

    def specs(self, names: Sequence[str], tensors: Sequence[torch.Tensor], weights: Collection[int] | None = None) -> list[Spec | None]:
        """Of each tensor of a graph; None for those that every device has whole.

        `weights`, by where they lie: the graph is one of torch.compile's, which takes copies of arguments under names of its own, and what graphs
        before it gave. What has as many rows as an argument that is split by them is split alike, and only weights are not: whatever lies where, the program means the same.
        """
        found = [self._by_memory.get(_memory(tensor)) or self._by_name.get(name) for name, tensor in zip(names, tensors, strict=True)]
        if weights is not None:
            for i, tensor in enumerate(tensors):
                if found[i] is None and tensor.dim() and tensor.shape[0] in self._rows and tensor.data_ptr() not in weights:
                    found[i] = self._split(tensor, (self._rows[tensor.shape[0]],), names[i])
        return [spec if spec is not None and any(spec) and len(spec) == tensor.dim() else None for spec, tensor in zip(found, tensors, strict=True)]

    @contextlib.contextmanager
    def constraining(self) -> Iterator[None]:
        """While it is entered, the outputs that the loader speaks of are constrained in whatever is captured."""
        hooks = [module.register_forward_hook(lambda _module, _args, output, spec=spec: self._constrained(output, spec)) for module, spec in self._outputs]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _constrained(self, output: Any, spec: Sequence[Any]) -> Any:
        if isinstance(output, torch.Tensor) and output.dim() == len(spec):
            return constrain_sharding(output, json.dumps(self._split(output, spec, "an output")))
        if isinstance(output, tuple) and output:
            return type(output)((self._constrained(output[0], spec), *output[1:])) if type(output) is tuple else output
        return output

    def splits_anything(self, specs: Sequence[Spec | None]) -> bool:
        """Whether any of these, or an output that the loader constrains, is divided among devices."""
        return bool(self._outputs) or any(spec is not None for spec in specs)

    def describe(self, specs: Sequence[Spec | None]) -> str:
        count = sum(spec is not None for spec in specs)
        return f"{self.mesh}" + (f", {self.strategy}" if self.strategy else "") + f"; {count} of {len(specs)} inputs split" + (f", {len(self._outputs)} outputs constrained" if self._outputs else "")


def pieces(tensor: torch.Tensor, spec: Spec, mesh: Mesh) -> Iterator[torch.Tensor]:
    """What each device holds, in their order: views."""
    sizes = mesh.sizes()
    for device in range(mesh.size):
        place, piece = mesh.place(device), tensor
        for dimension, named in enumerate(spec):
            count, index = 1, 0
            for axis in named:
                count, index = count * sizes[axis], index * sizes[axis] + place[axis]
            size = tensor.shape[dimension] // count
            piece = piece.narrow(dimension, index * size, size)
        yield piece


constrain_sharding = annotation("constrain_sharding")
"""The same values; the C++ frontend makes the program's constraint of it."""


def _keep_spec(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.spec = inputs[1]


constrain_sharding.register_autograd(lambda ctx, gradient: (constrain_sharding(gradient, ctx.spec), None), setup_context=_keep_spec)
