"""The tensors inside whatever a model takes or gives: containers, mappings, dataclasses, outputs of libraries, key-value caches, plain objects.

Used to hand a model to torch's exporters, which know few of these types: tensors go in and come out as flat lists, everything
else is fixed. Never changes what it is given.
"""

from __future__ import annotations

import collections
import collections.abc
import copy
import dataclasses
import enum
import itertools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from cupel.worker.seeds import seed_python

# Of objects inside of objects: what holds a model's tensors is not far, and other things lead anywhere. Containers may be as deep as they are.
_MAX_DEPTH = 12
# Of a path: more than that is shown by its ends.
_MAX_KEYS = 24
# Of what a generator gives, before it is taken for endless.
_MAX_ITEMS = 4096
# What never holds tensors that are a model's arguments or results, however deep one looks.
_OPAQUE = (str, bytes, int, float, complex, bool, type(None), type, enum.Enum, types.ModuleType, types.FunctionType, types.MethodType,
           types.BuiltinFunctionType, torch.nn.Module, torch.dtype, torch.device, torch.Generator)


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """The fields of an object, in the order it declares them."""
    if dataclasses.is_dataclass(value):
        declared = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
        return [(name, getattr(value, name)) for name in declared]
    if hasattr(value, "__dict__"):
        return list(vars(value).items())
    slots = [name for kind in type(value).__mro__ for name in ([kind.__slots__] if isinstance(kind.__dict__.get("__slots__"), str) else kind.__dict__.get("__slots__", ()))]
    return [(name, getattr(value, name)) for name in slots if hasattr(value, name)]


def is_cache_layer(value: Any) -> bool:
    """One layer of a key-value cache: what it holds for the next step are its keys and values, and the rest is bookkeeping."""
    return not isinstance(value, _OPAQUE) and isinstance(getattr(value, "keys", None), torch.Tensor) and isinstance(getattr(value, "values", None), torch.Tensor)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (list, tuple, collections.deque, collections.abc.Mapping))


def children(value: Any, is_result: bool = False) -> list[tuple[Any, Any]] | None:
    """What a value is made of, by key; None for a leaf. Of a result's caches only keys and values count."""
    if isinstance(value, torch.Tensor) or isinstance(value, _OPAQUE):
        return None
    if isinstance(value, collections.abc.Mapping):
        return [(key, value[key]) for key in value]
    if isinstance(value, (list, tuple, collections.deque)):
        return list(enumerate(value))
    if isinstance(value, (set, frozenset)):
        return list(enumerate(value)) if len(value) == 1 else None  # Of several tensors none is the first.
    if callable(value):
        return None
    if is_result and is_cache_layer(value):
        return [("keys", value.keys), ("values", value.values)]
    return _attributes(value)


def tensors_of(value: Any) -> list[tuple[str, torch.Tensor]]:
    """All tensors with their paths (`past_key_values.layers.0.keys`), each object once, in order."""
    return list(_walk(value))


def results_of(value: Any) -> list[tuple[str, torch.Tensor]]:
    """The tensors of a model's result that are compared: all but the bookkeeping of caches. Of one that has none, its arrays."""
    return list(_walk(value, is_result=True)) or list(_walk(value, is_result=True, leaf_of=_array))


def _tensor(value: Any) -> torch.Tensor | None:
    return value if isinstance(value, torch.Tensor) else None


def _array(value: Any) -> torch.Tensor | None:
    """A NumPy array of numbers, in its own memory."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray) or not value.flags.writeable:
        return None
    try:
        return torch.from_numpy(value)
    except (TypeError, ValueError):  # Texts, objects, strides that torch does not have.
        return None


def _path(keys: Sequence[Any]) -> str:
    if len(keys) <= _MAX_KEYS:
        return ".".join(map(str, keys))
    return f"{'.'.join(map(str, keys[:4]))}. {len(keys) - 8} more .{'.'.join(map(str, keys[-4:]))}"


def _walk(value: Any, is_result: bool = False, leaf_of: Callable[[Any], torch.Tensor | None] = _tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Goes by a list of its own: containers may be deeper than Python's stack."""
    seen: set[int] = set()
    keys: list[Any] = []
    # Of each container that is open: itself, what is left of it, and how many objects it lies in.
    opened: list[tuple[Any, Iterator[tuple[Any, Any]], int]] = []
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while True:
        if waiting:
            one, depth = waiting.pop()
            if (leaf := leaf_of(one)) is not None:
                yield _path(keys), leaf
            elif (inner := children(one, is_result) if depth < _MAX_DEPTH else None) and id(one) not in seen:
                seen.add(id(one))
                opened.append((one, iter(inner), depth if _is_plain(one) else depth + 1))
                keys.append(None)
                continue
        while opened:
            one, rest, depth = opened[-1]
            if (following := next(rest, None)) is not None:
                keys[-1] = following[0]
                waiting.append((following[1], depth))
                break
            opened.pop()
            keys.pop()
            if _is_plain(one):
                seen.discard(id(one))  # The same list in two places counts twice; in itself it does not.
        else:
            return


def realized(value: Any) -> Any:
    """The same with all that a generator, or another thing that can be gone through once, has to give: what is in it is computed now."""
    if isinstance(value, collections.abc.Iterator):
        items = tuple(itertools.islice(value, _MAX_ITEMS + 1))
        if len(items) > _MAX_ITEMS:
            raise ValueError(f"the model's result, a {type(value).__name__}, gives more than {_MAX_ITEMS} things")
        return items
    if type(value) in (list, tuple, dict):
        inner = value.values() if type(value) is dict else value
        if any(isinstance(one, collections.abc.Iterator) for one in inner):
            return _container(value, realized)
    return value


def holds_tensors(value: Any) -> bool:
    return next(_walk(value), None) is not None


def _is_record(value: Any) -> bool:
    """Whether an object is the attributes that it has, and a copy with the same ones is as good: nobody wrote down another way to copy it, and it is no mark that is known by its identity."""
    kind = type(value)
    if isinstance(value, types.SimpleNamespace):
        return True
    own = any(getattr(kind, name, None) is not getattr(object, name, None) for name in ("__reduce_ex__", "__reduce__", "__getstate__", "__copy__", "__deepcopy__"))
    return not own and bool(_attributes(value))


def replaced(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A copy with every tensor changed, aliases kept: a tensor or object that stands in two places is one in the copy too.

    Objects without tensors are copied as well: a cache that is empty now is full behind the first call.
    """
    return _replace(value, change, {}, 0)


def _replace(value: Any, change: Callable[[torch.Tensor], torch.Tensor], known: dict[int, tuple[Any, Any]], depth: int) -> Any:
    if id(value) in known:
        return known[id(value)][1]
    if isinstance(value, torch.Tensor):
        result = change(value)
    elif depth >= _MAX_DEPTH or children(value) is None:
        return value
    elif _is_plain(value):
        result = _container(value, lambda child: _replace(child, change, known, depth))
    else:
        if not _is_record(value) and not holds_tensors(value):
            return value
        result = copy.copy(value)
        known[id(value)] = (value, result)
        for name, child in _attributes(value):
            made = _replace(child, change, known, depth + 1)
            if made is not child:
                object.__setattr__(result, name, made)
    known[id(value)] = (value, result)  # Keeps the original, so that its identity is not given to another.
    return result


def _tuple(value: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    """One of the same type, whatever its constructor takes."""
    try:
        result = tuple.__new__(type(value), items)
    except TypeError:  # A type written in C, which has a way of its own.
        return type(value)(items)
    if hasattr(value, "__dict__"):
        vars(result).update(vars(value))
    return result


def _container(value: Any, made: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return _tuple(value, [made(item) for item in value])
    if isinstance(value, list):
        items = [made(item) for item in value]
        if type(value) is list:
            return items
        result = copy.copy(value)  # With what it has besides: the size of the picture whose boxes these are.
        result[:] = items
        return result
    if isinstance(value, collections.deque):
        return collections.deque(map(made, value), value.maxlen)
    if type(value) is dict:
        return {key: made(item) for key, item in value.items()}
    if isinstance(value, collections.abc.MutableMapping):
        result = copy.copy(value)  # BatchEncoding, OrderedDict, ModelOutput: what else they hold stays.
        if hasattr(result, "data") and getattr(result, "data", None) is getattr(value, "data", None) and isinstance(result.data, dict):
            result.data = dict(result.data)
        for key in list(value):
            result[key] = made(value[key])
        return result
    return {key: made(value[key]) for key in value}


def describe(value: Any, depth: int = 0) -> str:
    """One line: `{input_ids: int64[1x17], past_key_values: StaticCache}`."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"nested {dtype}" if value.is_nested else f"{dtype}[{'x'.join(map(str, value.shape))}]"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if (array := _array(value)) is not None:
        return f"numpy {describe(array)}"
    if depth < 3 and _is_plain(value):
        named = isinstance(value, collections.abc.Mapping)
        parts = [f"{key}: {describe(child, depth + 1)}" if named else describe(child, depth + 1) for key, child in (children(value) or [])[:12]]
        more = ", ..." if len(value) > 12 else ""
        name = "" if type(value) in (dict, list, tuple) else type(value).__name__
        return name + ("{" if named else "(" if isinstance(value, tuple) else "[") + ", ".join(parts) + more + ("}" if named else ")" if isinstance(value, tuple) else "]")
    return type(value).__name__


class Flat(torch.nn.Module):
    """A model from a flat list of tensors to a flat tuple of tensors.

    Its arguments' other parts are fixed, and objects among them (caches) are copied for each call, so that every call starts alike.
    """

    def __init__(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], results: Callable[[Any], list[torch.Tensor]], seed: int = 0):
        super().__init__()
        self.model = model
        self._given = (args, kwargs)
        self._results = results
        self._seed = seed
        self.begin: Callable[[], None] = lambda: None
        """Puts the model into the state that its golden result was computed from; called before it is run or traced again."""

    @property
    def inputs(self) -> list[tuple[str, torch.Tensor]]:
        """The tensors it takes, each once, by the names they have among the arguments."""
        args, kwargs = self._given
        unique: dict[int, tuple[str, torch.Tensor]] = {}
        for path, tensor in tensors_of([*args]) + tensors_of(kwargs):
            unique.setdefault(id(tensor), (path, tensor))
        return list(unique.values())

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.through(self.model, values)

    def through(self, model: Callable[..., Any], values: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The same through another form of the model, such as a compiled one."""
        by_identity = {id(tensor): value for (_, tensor), value in zip(self.inputs, values, strict=True)}
        args, kwargs = replaced(self._given, lambda tensor: by_identity[id(tensor)])
        seed_python(self._seed)
        return tuple(self._results(model(*args, **kwargs)))
