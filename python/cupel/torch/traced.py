"""A model as one program of the calls that torch makes while it runs on these very inputs: the last way to a graph, which every model has that runs at all.

Numbers that Python takes out of tensors, and what it decides by them, are fixed. Calls that no static program can say (a result whose size depends on
values, draws, operators of other libraries, tensors that are not dense) are torch's: their results are inputs of the program, and counted, since no device computes
them.
"""

from __future__ import annotations

import contextlib
import json
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from cupel.torch import program as programs
from cupel.torch.captured import Capture, first_difference
from cupel.torch.custom_ops import python_kernel
from cupel.torch.dynamic_quantization import DynamicLinear
from cupel.torch.graphs import Graph, NotCaptured, does_nothing
from cupel.torch.recurrent_layers import plain_lstm
from cupel.torch.sound_kernels import sound_call
from cupel.torch.structure import Flat
from cupel.torch.vision_ops import vision_decompositions
from cupel.worker.capture import CannotCapture, Program, can_be_held
from cupel.worker.inputs import tensors_in

_aten = torch.ops.aten
# Places where something holds, as other calls say it.
_OF_PLACES = (_aten.where.default, _aten.nonzero_numpy.default, _aten.argwhere.default)
# Of packed sequences: the calls that they are made of, whose sizes are known here.
_OF_PACKED = (_aten.lstm.data, _aten.gru.data, _aten.rnn_tanh.data, _aten.rnn_relu.data, _aten._pad_packed_sequence.default)
# Products that a sparse matrix may take part in, and the same of dense ones.
_PRODUCTS = {func: func for func in (_aten.mm.default, _aten.addmm.default, _aten.mv.default, _aten.bmm.default, _aten.matmul.default, _aten.linear.default)}
_PRODUCTS |= {_aten._sparse_mm.default: _aten.mm.default, _aten._sparse_addmm.default: _aten.addmm.default}
_DYNAMIC = (torch.Tag.dynamic_output_shape, torch.Tag.nondeterministic_seeded)


def _returns_tensors(func: Any) -> bool:
    return bool(func._schema.returns) and all("Tensor" in str(result.type) for result in func._schema.returns)


def _is_view(func: Any) -> bool:
    return any(result.alias_info is not None and not result.alias_info.is_write for result in func._schema.returns)


def _is_sparse(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is not torch.strided


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


class _Trace(Program):
    """With `keeps`, whatever was computed stays, and a tensor is known again by where it lies: autograd hands out other objects for the same tensor."""

    def __init__(self, keeps: bool):
        super().__init__()
        self.outside: dict[str, int] = {}
        self._computed: set[str] = set()
        self._keeps = keeps
        self._places: dict[tuple[Any, ...], str] = {}
        self._alive: dict[int, weakref.ref[torch.Tensor]] = {}

    # --- values --------------------------------------------------------------------------------------------------------------------------

    def _input(self, tensor: torch.Tensor) -> str:
        if not can_be_held(tensor):
            raise CannotCapture("a tensor that is not dense has no place in a program")
        return super()._input(tensor)

    def _bind(self, tensor: torch.Tensor, name: str) -> None:
        if not can_be_held(tensor):
            raise CannotCapture("a tensor that is not dense has no place in a program")
        super()._bind(tensor, name)
        if self._keeps:
            self._places[_place(tensor)] = name
            return
        self._kept.clear()
        key = id(tensor)
        self._alive[key] = weakref.ref(tensor, lambda _: (self._names.pop(key, None), self._alive.pop(key, None)))

    def _known(self, tensor: torch.Tensor) -> str | None:
        name = self._names.get(id(tensor))
        return self._places.get(_place(tensor)) if name is None and self._keeps and can_be_held(tensor) else name

    def name_of(self, tensor: torch.Tensor) -> str:
        return self._known(tensor) or super().name_of(tensor)

    def recognise(self, tensor: torch.Tensor) -> None:
        """A tensor that was made of an array's memory: the one that the array came from, which it keeps."""
        if self.is_computed(tensor) or not can_be_held(tensor):
            return
        for key, reference in list(self._alive.items()):
            if (other := reference()) is not None and self.is_computed(other) and _place(other) == _place(tensor):
                self._names[id(tensor)] = self._names[key]

    def is_computed(self, tensor: torch.Tensor) -> bool:
        """Whether some call of the program made it out of other tensors, rather than passing on what came in."""
        return self._known(tensor) in self._computed

    def _take(self, result: Any) -> None:
        """What torch alone computed comes in, as it is now."""
        for tensor in filter(can_be_held, tensors_in(result)):
            self._input(tensor)
            self._copies.append(tensor.detach().clone())

    # --- calls ---------------------------------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        if func is _aten.native_dropout.default and args[2]:
            return self._dropout(args[0], args[1])
        if func is _aten._pack_padded_sequence.default:
            return self._packed(*args)
        if func in _OF_PACKED or func in _OF_PLACES:
            with self:
                result = func.decompose(*args, **kwargs)
            if func is _aten._pad_packed_sequence.default:
                self._take(result[1])  # Lengths, which its kernel writes to memory that no call sees it write to.
            return result
        if func.namespace == "torchvision" and (taken_apart := vision_decompositions().get(func)) is not None:
            with self:
                if (result := taken_apart(*args, **kwargs)) is not NotImplemented:
                    return result
        if (kernel := python_kernel(func)) is not None:
            with self:
                return kernel(*args, **kwargs)
        if func.namespace == "quantized" and (layer := DynamicLinear.of(func, args)) is not None:
            self._take(layer.tensors())  # Weights that only an object holds.
            with self:
                return layer(args[0])
        if func in _PRODUCTS and any(_is_sparse(value) for value in args):
            return self._call(_PRODUCTS[func], *(self._dense(value) if _is_sparse(value) else value for value in args), **kwargs)
        if func is _aten.index.Tensor and any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1]):
            return self._masked_index(args[0], args[1])
        if func is _aten.masked_select.default:
            x, mask = (self._call(_aten.expand.default, one, list(torch.broadcast_shapes(args[0].shape, args[1].shape))) for one in args)
            return self._masked_index(x, [mask])
        if func is _aten.one_hot.default:
            with self:
                return self._one_hot(*args)
        is_static = not any(tag in func.tags for tag in _DYNAMIC) or func is _aten.index.Tensor or self._draws_nothing(func, args, kwargs)
        if not _returns_tensors(func) and func._schema.returns:
            if not does_nothing(name):
                self.outside[name] = self.outside.get(name, 0) + 1
            return func(*args, **kwargs)  # A number for Python.
        if is_static and func.namespace in ("aten", "prims"):
            with contextlib.suppress(CannotCapture):
                given = {self._known(tensor) for tensor in tensors_in(list(args)) + tensors_in(kwargs)}
                result = super().__torch_dispatch__(func, types, args, kwargs)
                if given and (not (does_nothing(name) or _is_view(func)) or given & self._computed):
                    self._computed |= {self._names[id(tensor)] for tensor in tensors_in(result)}
                return result
        result = func(*args, **kwargs)
        self.outside[name] = self.outside.get(name, 0) + 1
        self._take(result)
        return result

    def _run(self, func: Any) -> Callable[..., Any]:
        return sound_call(func, [])  # As the golden result was computed.

    @staticmethod
    def _draws_nothing(func: Any, args: Any, kwargs: Any) -> bool:
        given = dict(zip((argument.name for argument in func._schema.arguments), args)) | kwargs
        defaults = {argument.name: argument.default_value for argument in func._schema.arguments if argument.has_default_value()}
        given = defaults | given
        return any(given.get(name) is False for name in ("train", "training")) or any(given.get(name) == 0 for name in ("p", "dropout_p", "dropout"))

    def _call(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        return self.__torch_dispatch__(func, (), args, kwargs)

    def _dropout(self, x: torch.Tensor, probability: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Only the mask is drawn: the values still come from the program."""
        _, mask = _aten.native_dropout.default(x, probability, True)
        self._take(mask)
        kept = self._call(_aten._to_copy.default, mask, dtype=x.dtype)
        scale = 0.0 if probability == 1 else 1 / (1 - probability)
        return self._call(_aten.mul.Tensor, self._call(_aten.mul.Tensor, x, kept), torch.tensor(scale)), mask

    def _dense(self, matrix: torch.Tensor) -> torch.Tensor:
        """What stands in a sparse matrix is torch's word, and what comes of it the program's."""
        dense = matrix.to_dense()
        self._take(dense)
        self.outside["to_dense"] = self.outside.get("to_dense", 0) + 1
        return dense

    def _masked_index(self, x: torch.Tensor, indices: Any) -> torch.Tensor:
        """Where the mask holds is torch's word, and what stands there the program's."""
        whole: list[Any] = []
        for index in indices:
            is_mask = index is not None and index.dtype in (torch.bool, torch.uint8)
            places = _aten.nonzero.default(index).unbind(1) if is_mask else [index]
            if is_mask:
                self._take([place.clone() for place in places])
            whole += self._last(len(places)) if is_mask else places
        self.outside["nonzero"] = self.outside.get("nonzero", 0) + 1
        return self._call(_aten.index.Tensor, x, whole)

    @staticmethod
    def _one_hot(x: torch.Tensor, classes: int = -1) -> torch.Tensor:
        """How many classes there are is a number for Python, where it is not given."""
        if classes < 0:
            classes = int(x.max()) + 1 if x.numel() else 0
        elif x.numel() and int(x.max()) >= classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
        return (x.unsqueeze(-1) == torch.arange(classes)).long()

    def _packed(self, x: torch.Tensor, lengths: torch.Tensor, batch_first: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """How long the sequences are is torch's word, and what stands in them the program's."""
        _, rows = _aten._pack_padded_sequence.default(x, lengths, batch_first)
        count, steps = (x.shape[0], x.shape[1]) if batch_first else (x.shape[1], x.shape[0])
        places = [row * steps + step if batch_first else step * count + row for step, alive in enumerate(rows.tolist()) for row in range(alive)]
        self._take([rows, torch.tensor(places)])
        self.outside["_pack_padded_sequence"] = self.outside.get("_pack_padded_sequence", 0) + 1
        (place,) = self._last(1)
        flat = self._call(_aten.view.default, self._call(_aten.clone.default, x, memory_format=torch.contiguous_format), [count * steps, *x.shape[2:]])
        return self._call(_aten.index_select.default, flat, 0, place), rows

    def _last(self, count: int) -> list[torch.Tensor]:
        return self.inputs[len(self.inputs) - count:]


@contextlib.contextmanager
def _plain_branches() -> Iterator[None]:
    """Of `torch.cond` the branch that is gone through, as Python's `if`: torch compiles it even where nobody asks for graphs."""
    original = torch.cond
    torch.cond = lambda condition, branch, other, operands=(): (branch if bool(condition) else other)(*operands)
    try:
        yield
    finally:
        torch.cond = original


@contextlib.contextmanager
def _tracing(trace: _Trace, keeps: bool) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        stack.enter_context(_plain_branches())
        if keeps:
            stack.enter_context(plain_lstm())
        if not keeps:
            stack.enter_context(torch.inference_mode())
        stack.enter_context(trace)
        yield


def traced(flat: Flat, call: Callable[[], list[torch.Tensor]], given: list[tuple[str, torch.Tensor]], expected: list[torch.Tensor], seed: int, refusal: str, is_training: bool = False,
           differing: Callable[[list[torch.Tensor], list[torch.Tensor]], str] = first_difference) -> Capture:
    """The program of what `call` makes torch do with the model; `given` are the tensors it calls it with, by name. `differing` says what is another result."""
    flat.begin()
    trace = _Trace(is_training)
    given = [(name, tensor) for name, tensor in given if can_be_held(tensor)]
    parameters, buffers = ([one for one in found if can_be_held(one[1])] for found in (flat.model.named_parameters(), flat.model.named_buffers()))
    known = [*given, *parameters, *buffers]
    for _, tensor in known:
        trace.declare(tensor)
    # What the model may write to, as it is now.
    inputs = [*(tensor.detach().clone() for _, tensor in given), *(tensor.detach() for _, tensor in parameters), *(tensor.detach().clone() for _, tensor in buffers)]
    torch.manual_seed(seed)
    with _tracing(trace, is_training):
        results = call()
    if difference := differing(results, expected):
        raise NotCaptured(f"the model gives another result when it runs again: {difference}")
    for result in results:
        trace.recognise(result)
    if not any(trace.is_computed(result) for result in results):
        raise NotCaptured("none of its results is computed by calls that a program can hold" + (f"; torch runs {', '.join(trace.outside)}" if trace.outside else ""))
    names = [name for name, _ in known] + [f"constant_{i}" for i in range(len(trace.constants()))]
    text = json.dumps(trace.model(results), allow_nan=False).encode()
    graph = Graph(programs.Program(text, [], []), inputs + trace.constants(), names, expected, gives_more=bool(trace.mutated))
    return Capture([graph], "trace", refusal, outside=trace.outside)
