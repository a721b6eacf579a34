"""The arguments of an operator case: the values that torch itself makes from the case's seed, literals, and tensors from files."""

from __future__ import annotations

from typing import Any

import torch

_SHORT_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
_FLOAT8 = tuple(getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz") if hasattr(torch, name))
# What integers are drawn from where a case only says that they are random.
_DEFAULT_INTEGERS = (0, 10)


class BadInput(Exception):
    """An input cannot be made as the case describes it."""


def named_constant(text: str) -> Any:
    """`torch.float16`, `torch.channels_last`, `torch.strided`: what such a text stands for; the text itself otherwise."""
    if text.startswith("torch."):
        found = getattr(torch, text[6:], None)
        if isinstance(found, (torch.dtype, torch.memory_format, torch.layout)):
            return found
    return text


def literal(value: Any) -> Any:
    """A value as it was sent: JSON with one-key objects for what JSON lacks."""
    if isinstance(value, list):
        return [literal(item) for item in value]
    if isinstance(value, dict):
        (kind, inner), = value.items()
        if kind == "tuple":
            return tuple(literal(item) for item in inner)
        if kind == "slice":
            return slice(*(literal(item) for item in inner))
        if kind == "ellipsis":
            return Ellipsis
        if kind == "float":
            return float(inner)
        raise BadInput(f"a value of the unknown kind '{kind}'")
    if isinstance(value, str):
        return named_constant(value)
    return value


def _fill(shape: list[int], dtype: torch.dtype, spec: dict[str, Any]) -> torch.Tensor:
    init = spec["init"]
    low, high = spec.get("low"), spec.get("high")
    if init == "data":
        return torch.tensor(literal(spec["data"]), dtype=dtype).reshape(shape)
    if init in ("zeros", "ones"):
        return getattr(torch, init)(shape, dtype=dtype)
    if dtype in _FLOAT8:
        return _fill(shape, torch.float32, spec).to(dtype)
    if init == "arange":
        count = 1
        for size in shape:
            count *= size
        return torch.arange(count, dtype=dtype).reshape(shape)
    if init == "randint":
        return torch.randint(int(low), int(high), shape, dtype=dtype)
    if init == "uniform":
        return torch.empty(shape, dtype=dtype).uniform_(low, high)
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(*_DEFAULT_INTEGERS, shape, dtype=dtype)
    return (torch.randn if init == "randn" else torch.rand)(shape, dtype=dtype)


def _view(shape: list[int], dtype: torch.dtype, spec: dict[str, Any]) -> torch.Tensor:
    """A tensor of this shape that is a view of another, as the preset says."""
    preset, given = spec["preset"], {name: literal(value) for name, value in spec.get("preset_args", {}).items()}
    rank = len(shape)
    base_shape = list(given["base_shape"]) if "base_shape" in given else None
    if preset == "contiguous":
        return _fill(shape, dtype, spec)
    if preset == "noncontig_slice":
        dim, step = given.get("dim", 1 if rank > 1 else 0) % max(rank, 1), given.get("step", 2)
        base = _fill(base_shape or [*shape[:dim], shape[dim] * step, *shape[dim + 1:]], dtype, spec)
        return base[(slice(None),) * dim + (slice(None, None, step),)]
    if preset == "transpose_view":
        dim0, dim1 = given.get("dim0", 0) % rank, given.get("dim1", 1) % rank
        turned = list(shape)
        turned[dim0], turned[dim1] = shape[dim1], shape[dim0]
        return _fill(base_shape or turned, dtype, spec).transpose(dim0, dim1)
    if preset == "permute_view":
        dims = [dim % rank for dim in given.get("dims", reversed(range(rank)))]
        if sorted(dims) != list(range(rank)):
            raise BadInput(f"permute_view: {dims} is no order of {rank} dimensions")
        base = [0] * rank
        for place, dim in enumerate(dims):
            base[dim] = shape[place]
        return _fill(base, dtype, spec).permute(dims)
    if preset in ("expand_view", "expand_view0"):
        dims = [dim % rank for dim in given.get("dims", [0])]
        base_shape = base_shape or [1 if dim in dims else size for dim, size in enumerate(shape)]
        return _fill(base_shape, dtype, spec).expand(shape)
    if preset == "narrow":
        dim, start, after = given.get("dim", 0) % rank, given.get("start", 1), given.get("after", 1)
        base = _fill([*shape[:dim], start + shape[dim] + after, *shape[dim + 1:]], dtype, spec)
        return base.narrow(dim, start, shape[dim])
    if preset == "select_view":
        dim, size = given.get("dim", 0) % (rank + 1), given.get("size", 2)
        return _fill([*shape[:dim], size, *shape[dim:]], dtype, spec).select(dim, given.get("index", 0))
    if preset == "storage_offset":
        offset = given.get("offset", 1)
        count = 1
        for size in shape:
            count *= size
        return _fill([offset + count], dtype, spec)[offset:].view(shape)
    if preset == "strided":
        strides, offset = list(given["strides"]), given.get("storage_offset", 0)
        if len(strides) != rank or min([offset, *strides], default=0) < 0:
            raise BadInput(f"strided: {strides} are no strides for {rank} dimensions")
        count = 1 + offset + sum((size - 1) * stride for size, stride in zip(shape, strides)) if all(shape) else 1
        return _fill([count], dtype, spec).as_strided(shape, strides, offset)
    if preset in ("channels_last", "channels_last_3d"):
        return _fill(shape, dtype, spec).to(memory_format=getattr(torch, preset))
    raise BadInput(f"there is no preset '{preset}'")


def make_tensor(spec: dict[str, Any]) -> torch.Tensor:
    dtype = getattr(torch, spec["dtype"])
    shape = list(spec["shape"])
    if shape == [-1]:
        return torch.tensor(literal(spec["data"]), dtype=dtype)
    if "preset" not in spec:
        return _fill(shape, dtype, spec)
    made = _view(shape, dtype, spec)
    if list(made.shape) != shape:
        raise BadInput(f"the preset '{spec['preset']}' gives the shape {list(made.shape)}, and {shape} is asked for")
    return made


def _from_file(path: str, key: str | None) -> Any:
    """A tensor (or numbers and lists of tensors) from a .pt file; the reader knows tensors only and runs nothing."""
    found = torch.load(path, map_location="cpu", weights_only=True)
    if key is not None:
        if not isinstance(found, dict) or key not in found:
            raise BadInput(f"{path}: holds no '{key}'")
        found = found[key]
    if isinstance(found, dict):
        raise BadInput(f"{path}: holds {len(found)} things; name one with 'key': {', '.join(map(str, list(found)[:8]))}")
    return found


def make_argument(argument: dict[str, Any], name: str = "") -> Any:
    """One input or attribute of a case."""
    if "tensor" in argument:
        return make_tensor(argument["tensor"])
    if "tensor_list" in argument:
        return [None if spec is None else make_tensor(spec) for spec in argument["tensor_list"]]
    if "tensor_tuple" in argument:
        return tuple(None if spec is None else make_tensor(spec) for spec in argument["tensor_tuple"])
    if "file" in argument:
        return _from_file(argument["file"], argument.get("key"))
    value = literal(argument["value"])
    if isinstance(value, str) and name in ("dtype", "memory_format"):
        found = named_constant("torch." + _SHORT_DTYPES.get(value, value))
        if not isinstance(found, str):
            return found
    return value


def make_arguments(case: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """All of them, from one seed, in their order."""
    torch.manual_seed(case.get("seed", 0))
    positional = [make_argument(argument) for argument in case["inputs"]]
    named = {name: make_argument(argument, name) for name, argument in case.get("attrs", {}).items()}
    return positional, named


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Every tensor of a nest of lists, tuples and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_in(item)]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def cloned(value: Any) -> Any:
    """The same nest with tensors of their own, layouts kept."""
    if isinstance(value, torch.Tensor):
        copy = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype) if all(value.stride()) else None
        return copy.copy_(value) if copy is not None else value.clone()
    if isinstance(value, list):
        return [cloned(item) for item in value]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(cloned(item) for item in value)
    return value
