"""A model as one graph of the calls it makes, recorded while it runs with tensors that have types and no values.

torch.export sees the same calls, and notes around each what nobody here reads: proxies, modules, whole stack traces, guards, copies of every value's type.
That is nine tenths of its time. This notes the call, its types and the line of the model it stands in. Sizes and decisions that depend on integers of
the inputs are what they are for these (known_values.py). Whatever it does not take (what depends on other values, operators that take functions, writes that nobody could follow) it refuses,
and torch.export is asked as before: a refusal costs what was recorded until then.
"""

from __future__ import annotations

import contextlib
import gc
import operator
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from cupel.torch.known_results import known_result
from cupel.torch.known_values import KnownValues, without_modes

_aten = torch.ops.aten
_DETACH, _DROPOUT = torch.ops.aten.detach_.default, torch.ops.aten.dropout.default
_OF_TORCH = "site-packages/torch/"


class NotRecorded(Exception):
    """The calls of a model that make no graph here; the message says why."""


def place_of(frame: FrameType | None) -> str:
    """The innermost line of a `forward` that is not torch's own, as a stack trace has it: that is what locations of operations are made of, whoever traces."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "forward" and _OF_TORCH not in code.co_filename and code.co_filename != "<string>":
            return f'File "{code.co_filename}", line {frame.f_lineno}, in forward'
        frame = frame.f_back
    return ""


def _is_written_over(func: Any, is_random: bool) -> bool:
    """Whether a call changes more than elements: the type of a tensor that others know already, or what is drawn into one that has views."""
    return torch.Tag.inplace_view in func.tags or (is_random and func._schema.is_mutable)


class _Unwritten(torch.fx.GraphModule):
    """A module that nobody calls (whoever runs its graph does so call by call), so that its Python is not written."""

    def recompile(self) -> Any:
        return None


_made: list[weakref.ref[torch.Tensor]] = []


def tensors_left() -> int:
    """How many tensors of recordings still live. Behind the last use of their graphs it is some table that keeps them: code filled it once, and will read it ever after."""
    _made[:] = [one for one in _made if one() is not None]
    if _made:  # Objects that only keep each other are no table, be they among those that were set aside.
        gc.unfreeze()
        gc.collect()
        _made[:] = [one for one in _made if one() is not None]
    return len(_made)


class Recording(TorchDispatchMode):
    """The calls made while it is entered, above a FakeTensorMode that says what they give."""

    def __init__(self, fake: torch._subclasses.FakeTensorMode, apart: Any, is_random: Callable[[Any, Any, Any], bool]):
        super().__init__()
        self.graph = torch.fx.Graph()
        self.constants: list[torch.Tensor] = []
        """Tensors that were there before and are nobody's weights; they follow the other inputs."""
        self._fake, self._apart, self._is_random = fake, apart, is_random
        self._nodes: dict[int, torch.fx.Node] = {}
        self._kept: list[Any] = []  # Nodes go by identity: nothing may die meanwhile.
        self._last_input: torch.fx.Node | None = None
        self._known = KnownValues(self.graph, is_random)
        self._loose: dict[int, torch.Tensor] = {}  # Of tensors that stand in no graph, and only decide.
        self.decided: list[str] = []
        """Lines of the model that values of the inputs decide: for others this may be the graph of another computation."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # Nothing here is ever compiled by torch, and saying so to torch costs it two seconds of imports.

    def input(self, name: str, tensor: torch.Tensor, real: torch.Tensor) -> torch.fx.Node:
        """The next input of the graph is this tensor, of types alone, and so is the one that has values: layers keep lists of their weights."""
        with self.graph.inserting_after(self._last_input) if self._last_input else contextlib.nullcontext():
            node = self.graph.placeholder(name)
        node.meta["val"] = tensor
        self._last_input = node
        self._known.give(node, real)
        self._bind(tensor, node)
        self._bind(real, node)
        return node

    def _bind(self, tensor: torch.Tensor, node: torch.fx.Node) -> None:
        self._nodes[id(tensor)] = node
        self._kept.append(tensor)
        if isinstance(tensor, torch._subclasses.FakeTensor):
            _made.append(weakref.ref(tensor))

    def node_of(self, tensor: torch.Tensor) -> torch.fx.Node:
        node = self._nodes.get(id(tensor))
        if node is None:
            if isinstance(tensor, torch._subclasses.FakeTensor):
                raise NotRecorded("a tensor without values came from elsewhere")
            self.constants.append(tensor)
            node = self.input(f"lifted_tensor_{len(self.constants) - 1}", self._fake.from_tensor(tensor, static_shapes=True), tensor)
        return node

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self.node_of(value)
        if isinstance(value, (list, tuple)):
            return [self._argument(one) for one in value]
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise NotRecorded("a size is a symbol")
        return value

    def _line(self, frame: FrameType | None) -> str:
        return place_of(frame)

    # --- what integers of the inputs decide ---------------------------------------------------------------------------------------------

    def _value(self, tensor: Any) -> Any:
        """What is known of an argument that is a tensor, and any other argument as it is; raises where it is not known."""
        if isinstance(tensor, (list, tuple)):
            return [self._value(one) for one in tensor]
        if not isinstance(tensor, torch.Tensor):
            return tensor
        found = self._loose.get(id(tensor))
        if found is None and (node := self._nodes.get(id(tensor))) is not None:
            found = self._known.value(node)
        if found is None or found.shape != tensor.shape or found.dtype != tensor.dtype:
            raise NotRecorded(f"values decide that are no integers of the inputs ({self._line(sys._getframe(1)) or 'outside of any forward'})")
        return found

    def _decided(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What a call gives for the values that are known, to Python or as tensors of types alone."""
        given = self._value(args), {name: self._value(one) for name, one in kwargs.items()}
        with without_modes():
            result = func(*given[0], **given[1])
        self._tell_decided()

        def loose(tensor: torch.Tensor) -> torch.Tensor:
            typed = self._fake.from_tensor(tensor, static_shapes=True)
            self._loose[id(typed)] = tensor
            self._kept.append(typed)
            return typed

        return tree_map_only(torch.Tensor, loose, result)

    def _tell_decided(self) -> None:
        if (line := self._line(sys._getframe(1))) not in self.decided:
            self.decided.append(line)

    def _places(self, mask: torch.Tensor) -> torch.Tensor:
        """Where a mask holds, as many places as it has for the values that are known."""
        known = self._value(mask)
        with without_modes():
            count = int(known.count_nonzero())
        self._tell_decided()
        with self:
            return _aten.nonzero_static.default(mask, size=count)

    def _picked(self, tensor: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> torch.Tensor:
        """Elements at indices of which some are masks: places of a mask of several dimensions are an index for each of these."""
        numbers: list[torch.Tensor | None] = []
        for one in indices:
            if one is not None and one.dtype in (torch.bool, torch.uint8):
                places = self._places(one)
                with self:
                    numbers += _aten.unbind.int(places, 1)
            else:
                numbers.append(one)
        with self:
            return _aten.index.Tensor(tensor, numbers)

    def _sized(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A call whose sizes depend on values, with those that it has for the values that are known."""
        if func is _aten.nonzero.default:
            return self._places(args[0])
        if func is _aten.index.Tensor:
            return self._picked(*args)
        if func is _aten.masked_select.default:
            shape = list(torch.broadcast_shapes(args[0].shape, args[1].shape))
            with self:
                tensor, mask = (_aten.expand.default(one, shape) for one in args)
            return self._picked(tensor, [mask])
        return self._decided(func, args, kwargs)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload):
            raise NotRecorded(f"{func} takes functions")
        if func in self._apart:
            raise NotRecorded(f"{func} is to be taken apart")
        if func is _DETACH:
            return func(*args, **kwargs)  # There is nothing here that it would lead back to.
        if is_random := self._is_random(func, args, kwargs):
            if func is _DROPOUT:
                with self:  # What is drawn is a call of its own there, and the rest is computed.
                    return func.decompose(*args, **kwargs)
            if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
                raise NotRecorded(f"{func} draws, and is to be taken apart")
        if _is_written_over(func, is_random):
            raise NotRecorded(f"{func} changes what others know already")
        if not any("Tensor" in str(one.type) for one in func._schema.returns) and func._schema.returns:
            try:
                return func(*args, **kwargs)  # A number for Python, which types say, or a constant that the model made of numbers: it raises where values would decide.
            except DataDependentOutputException:
                return self._decided(func, args, kwargs)
        place = self._line(sys._getframe(1))
        given = tuple(self._argument(one) for one in args), {name: self._argument(one) for name, one in kwargs.items()}
        result = known_result(func, args, kwargs)
        if result is None:
            try:
                result = func(*args, **kwargs)
            except DynamicOutputShapeException:
                return self._sized(func, args, kwargs)
        node = self.graph.create_node("call_function", func, *given, name=self.graph._target_to_str(func.overloadpacket.__name__))  # Named as torch does it.
        node.meta["val"] = result
        node.meta["stack_trace"] = place
        if isinstance(result, torch.Tensor):
            self._bind(result, node)
        elif isinstance(result, (list, tuple)):
            for i, one in enumerate(result):
                if not isinstance(one, torch.Tensor):
                    if one is None:
                        continue
                    raise NotRecorded(f"{func} gives a {type(one).__name__} among tensors")
                part = self.graph.call_function(operator.getitem, (node, i))
                part.meta["val"] = one
                part.meta["stack_trace"] = place
                self._bind(one, part)
        return result

    def finished(self, results: Sequence[torch.Tensor], model: torch.nn.Module) -> tuple[torch.fx.GraphModule, list[tuple[str, torch.Tensor]]]:
        """The graph with these results, and the tensors behind the given ones that it takes, by name; the model has its own back."""
        self.graph.output(tuple(self.node_of(result) for result in results))
        module = _Unwritten({}, self.graph)
        module.meta["decided"] = self.decided
        return module, [*state_of(model), *((f"lifted_tensor_{i}", tensor.detach()) for i, tensor in enumerate(self.constants))]


class _Watch(torch.overrides.TorchFunctionMode):
    """What gives a tensor another memory is no call that anybody records."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func == _SET_DATA:  # Which is another object each time.
            raise NotRecorded("the model sets a tensor's data")
        return func(*args, **(kwargs or {}))


_SET_DATA = torch.Tensor.data.__set__


@contextlib.contextmanager
def _typed_state(model: torch.nn.Module, typed: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Its weights and buffers are of types alone meanwhile."""
    kept = [(owner, dict(owner)) for module in model.modules() for owner in (module._parameters, module._buffers)]
    try:
        for owner, tensors in kept:
            owner.update((name, typed(tensor)) for name, tensor in tensors.items() if tensor is not None)
        yield
    finally:
        for owner, tensors in kept:
            owner.clear()
            owner.update(tensors)


@contextlib.contextmanager
def typed_model(model: torch.nn.Module, given: list[torch.Tensor], fake: torch._subclasses.FakeTensorMode, record: Recording) -> Iterator[tuple[list[torch.Tensor], Callable[[torch.Tensor], torch.Tensor]]]:
    """`given` without values, and what makes any tensor so; they and the model's weights and buffers become the inputs of the recording, and the model believes that it is exported."""
    from torch._export.utils import _compiling_state_context
    from torch._guards import TracingContext, tracing
    from torch.export._trace import _ignore_backend_decomps

    known: dict[int, torch.Tensor] = {}

    def typed(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in known:
            known[id(tensor)] = fake.from_tensor(tensor, static_shapes=True)
        return known[id(tensor)]

    for i, tensor in enumerate(given):
        record.input(f"values_{i}", typed(tensor), tensor)
    for name, tensor in state_of(model):
        record.input(name.replace(".", "_"), typed(tensor), tensor)
    # Functions that libraries compile are run as they are.
    with torch.compiler.set_stance("force_eager"), _ignore_backend_decomps(), _compiling_state_context(), tracing(TracingContext(fake)), _typed_state(model, typed), _Watch():
        yield [typed(tensor) for tensor in given], typed


def state_of(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Weights and buffers, each once, by name."""
    found: dict[int, tuple[str, torch.Tensor]] = {}
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        found.setdefault(id(tensor), (name, tensor))
    return list(found.values())


def recorded(model: torch.nn.Module, given: list[torch.Tensor], apart: Any, is_random: Callable[[Any, Any, Any], bool]) -> tuple[torch.fx.GraphModule, list[tuple[str, torch.Tensor]]]:
    """The calls of `model(*given)`, without gradients, and the tensors that the graph takes behind `given`: weights, buffers and constants, by name. Raises NotRecorded, or what the model does without values."""
    fake = torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)
    record = Recording(fake, apart, is_random)
    with typed_model(model, given, fake, record) as (values, _):
        with torch.no_grad(), torch._C._AutoDispatchBelowAutograd(), fake, record:
            results = model(*values)
    return record.finished(results, model)
