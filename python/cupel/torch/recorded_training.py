"""Forward and backward of a model as one graph of the calls they make, recorded as recorded.py does it, below autograd.

Calls are taken apart to core ATen as they come. A call of the backward pass stands in the line of the forward call that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch

from cupel.torch.recorded import NotRecorded, Recording, place_of, typed_model

_aten = torch.ops.aten
_NORM, _NORM_WITHOUT_WRITES = _aten._native_batch_norm_legit.default, _aten._native_batch_norm_legit_functional.default


class _Step(Recording):
    def __init__(self, fake: torch._subclasses.FakeTensorMode, draws: Callable[[Any, Any, Any], bool], table: Mapping[Any, Callable[..., Any]]):
        super().__init__(fake, {}, draws)
        self._table = table
        self._lines: dict[int, str] = {}

    def _line(self, frame: FrameType | None) -> str:
        if (node := torch._C._current_autograd_node()) is not None:
            return self._lines.get(node._sequence_nr(), "")
        line = place_of(frame)
        self._lines.setdefault(torch.autograd._get_sequence_nr() - 1, line)
        return line

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is _NORM:
            with self:
                result = _NORM_WITHOUT_WRITES(*args, **kwargs)
                for written, value in zip(args[3:5], result[3:]):
                    written.copy_(value)
            return result[:3]
        if (apart := self._table.get(func)) is not None:
            with self:
                if (result := apart(*args, **kwargs)) is not NotImplemented:
                    return result
        elif isinstance(func, torch._ops.OpOverload) and func.namespace == "aten" and func._can_decompose():
            with self:
                if (result := func.decompose(*args, **kwargs)) is not NotImplemented:
                    return result
        return super().__torch_dispatch__(func, types, args, kwargs)


def _drop_last_writes(graph: torch.fx.Graph) -> None:
    """Statistics move in training, of which nothing is expected: what is written to an input, and read by nobody behind it, goes."""
    read: set[torch.fx.Node] = set()
    for node in reversed(list(graph.nodes)):
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable and not node.users:
            target = node.args[0]
            others = [user for user in target.users if user is not node]
            is_last = target not in read and not any(one.alias_info for user in others for one in getattr(getattr(user.target, "_schema", None), "returns", ()))
            if target.op == "placeholder" and is_last and node.target._schema.arguments[0].alias_info is not None:
                graph.erase_node(node)
                continue
        read.update(node.all_input_nodes)


def recorded_step(model: torch.nn.Module, given: list[torch.Tensor], gradient: torch.Tensor, names: list[str], parameters: Mapping[str, torch.Tensor], judged: Callable[[torch.Tensor], torch.Tensor],
                  table: Mapping[Any, Callable[..., Any]], draws: Callable[[Any, Any, Any], bool]) -> tuple[torch.fx.GraphModule, list[tuple[str, torch.Tensor]], list[str]]:
    """The gradients of `parameters` by `names` for a `gradient` of the one result of `model(*given)`, and what is `judged` of that result.

    Also the tensors that the graph takes behind `given` and `gradient`, by name, and the parameters among `names` that have no gradient, which come as zero results.
    """
    from torch._dispatch.python import enable_python_dispatcher

    memory = [(one.data_ptr(), tuple(one.shape)) for one in parameters.values() if one.numel()]
    if len(set(memory)) != len(memory):
        raise NotRecorded("parameters share memory")
    fake = torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)
    record = _Step(fake, draws, table)
    with typed_model(model, [*given, gradient], fake, record) as (values, typed):
        wanted = [typed(parameters[name]) for name in names]
        kept = {id(one) for one in wanted}
        for one in parameters.values():
            if id(typed(one)) not in kept:
                typed(one).requires_grad_(False)
        with torch.enable_grad(), enable_python_dispatcher(), fake, record:
            (output,) = model(*values[:-1])
            found = torch.autograd.grad(output, wanted, values[-1], allow_unused=True)
            last = judged(output.detach())
    missing = [name for name, one in zip(names, found, strict=True) if one is None]
    module, state = record.finished([*(one for one in found if one is not None), last], model)
    module.graph.eliminate_dead_code()
    _drop_last_writes(module.graph)
    return module, state, missing
