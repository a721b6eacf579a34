"""Forward and backward of a model: the gradient of each parameter for a gradient of the output, and that output.

One graph of their recorded calls (recorded_training.py), or by torch.export, where that works; torch.compile's graphs, forward and backward ones, where it does not; else the calls that torch makes.
What is random in training (dropout) is an input that holds what torch drew, as everywhere (captured.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from cupel.torch import captured
from cupel.torch.captured import Capture, compiled_graphs, decompositions, first_difference, recorded_first, with_least_outside, without_exporters_warnings
from cupel.torch.graphs import (
    Graph,
    NotCaptured,
    draws,
    drop_assertions,
    keep_results,
    lift_random,
    merge_equal_inputs,
    refuse_library_operators,
    refuse_sparse,
    refuse_symbols,
    told,
)
from cupel.torch.program import make_program
from cupel.torch.recorded import NotRecorded
from cupel.torch.recorded_training import recorded_step
from cupel.torch.recurrent_layers import dropout_between_layers
from cupel.torch.sound_kernels import sound_sums
from cupel.torch.structure import Flat
from cupel.torch.time_limit import limited
from cupel.torch.traced import traced


_PREFIX = "model.model."  # From the step to the flat model, and from there to the model.


def _call_by_call(graph: torch.nn.Module, *values: Any) -> Any:
    """What is traced meanwhile keeps the lines of the model that the graph's calls have."""
    with torch.fx.traceback.preserve_node_meta():
        return torch.fx.Interpreter(graph).run(*values)


def _flattened(joint: torch.fx.GraphModule, given: Sequence[Any]) -> torch.fx.GraphModule:
    """Forward and backward as AOTAutograd traced them, with a plain list of arguments, and of results those that are some: outputs, then a gradient of each argument that wants one."""
    output = next(node for node in joint.graph.nodes if node.op == "output")
    results, count = list(output.args[0]), len(given)
    gradients = results[len(results) - count:]
    for value, gradient in zip(given, gradients, strict=True):
        wanted = isinstance(value, torch.Tensor) and value.requires_grad
        if wanted != (gradient is not None):
            raise NotCaptured("a parameter received no gradient" if wanted else "what needs no gradient received one")
    output.args = (tuple(results[:len(results) - count] + [one for one in gradients if one is not None]),)
    for node in [node for node in joint.graph.nodes if node.op == "placeholder"][count:]:  # Gradients of outputs: the loss has none but 1.
        joint.graph.erase_node(node)
    joint.graph.set_codegen(torch.fx.graph.CodeGen())
    joint.graph.eliminate_dead_code()
    joint.recompile()
    return joint


@contextlib.contextmanager
def _traced_once() -> Iterator[None]:
    """aot_export_module traces forward and backward, and what it has then once more as a function, computing all of it with the model's own numbers and losing its lines: the first trace says the same."""
    from torch._functorch import aot_autograd

    whole, again, made = aot_autograd._aot_export_function, aot_autograd.make_fx, []

    def kept(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        found = whole(*args, **kwargs)
        made.append(found[0])
        return found

    aot_autograd._aot_export_function = kept
    aot_autograd.make_fx = lambda function, **how: lambda *given: _flattened(made[-1], given)
    try:
        yield
    finally:
        aot_autograd._aot_export_function, aot_autograd.make_fx = whole, again


class _Step(torch.nn.Module):
    """A loss whose gradient by the model's output is exactly the last argument, and what is judged of that output."""

    def __init__(self, model: torch.nn.Module, judged: torch.nn.Module):
        super().__init__()
        self.model = model
        self.judged = judged

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        (output,) = _call_by_call(self.model, *values[:-1])
        return (output * values[-1]).sum(), self.judged(output.detach())


def _memory(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()


def _merge_tied(exported: torch.fx.GraphModule) -> None:
    """Of parameters that share memory the graph reads one, whose gradient is then that of all."""
    first: dict[tuple[object, ...], str] = {}
    other = {}
    for name, parameter in list(exported.named_parameters(remove_duplicate=False)):
        known = first.setdefault(_memory(parameter), name)
        if known != name:
            other[name] = known
            owner, _, last = name.rpartition(".")
            setattr(exported.get_submodule(owner), last, torch.nn.Parameter(parameter.detach(), requires_grad=False))
    for node in exported.graph.nodes:
        if node.op == "get_attr" and node.target in other:
            node.target = other[node.target]
    exported.recompile()


def capture_training(flat: Flat, gradient: torch.Tensor, names: list[str], expected: list[torch.Tensor], seed: int, judged: torch.nn.Module, is_checked: bool = False) -> Capture:
    """`names`: the parameters that have a gradient in eager torch, in the order of `expected`, which ends with what `judged` takes of the output."""
    flat.begin()
    try:
        with limited(2 * captured.MAX_SECONDS, "torch.export of forward and backward"):
            return Capture([joint(flat, gradient, names, expected, seed, judged, is_checked)], "export")
    except Exception as error:
        refusal = f"torch.export of forward and backward: {told(error)}"
    step = _Stepping(flat, gradient, names, judged)
    flat.begin()
    compiled: Capture | None = None
    try:
        with limited(2 * captured.MAX_SECONDS, "torch.compile"):
            compiled = _compiled(step, expected, seed, refusal)
    except Exception as error:
        refusal += f"; torch.compile: {told(error)}"
    given = [(name, tensor.clone()) for name, tensor in flat.inputs]

    def trace(refused: str) -> Capture:
        with step.restored(), torch.enable_grad():
            return traced(flat, lambda: step(flat, [tensor for _, tensor in given]), [*given, ("output gradient", gradient)], expected, seed, refused, True, _difference)

    return with_least_outside(compiled, trace, refusal)


class _Stepping:
    """One step forward and backward through some form of the model: the gradients by `names`, and what is judged of the output."""

    def __init__(self, flat: Flat, gradient: torch.Tensor, names: list[str], judged: torch.nn.Module):
        self.flat, self._gradient, self._names, self._judged = flat, gradient, names, judged
        self._parameters = dict(flat.model.named_parameters())

    def __call__(self, model: Callable[..., Any], values: Sequence[torch.Tensor] | None = None) -> list[torch.Tensor]:
        self.flat.zero_grad(set_to_none=True)
        (output,) = model(*(values if values is not None else [tensor.clone() for _, tensor in self.flat.inputs]))
        output.backward(gradient=self._gradient)
        found = {name: one.grad for name, one in self._parameters.items() if one.grad is not None}
        _none_grads(set(found), set(self._names))
        return [*(found[name] for name in self._names), self._judged(output.detach())]

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Running statistics move; the next run starts as this one did."""
        buffers = {name: buffer.detach().clone() for name, buffer in self.flat.named_buffers()}
        try:
            yield
        finally:
            self.flat.zero_grad(set_to_none=True)
            for name, buffer in self.flat.named_buffers():
                buffer.data.copy_(buffers[name])


def _none_grads(found: set[str], wanted: set[str]) -> None:
    if found != wanted:
        raise NotCaptured("CPU and graph have different None grad parameters: " + ", ".join(sorted(found ^ wanted)[:8]))


# How far all gradients together may be from eager torch's where torch itself runs the graphs: single ones may be noise.
_LARGEST_DISTANCE = 0.05


def _distance(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """Of all tensors taken as one, by its length."""
    pairs = [(one.double(), other.double()) for one, other in zip(found, expected, strict=True)]
    length = sum(float(other.square().sum()) for _, other in pairs)
    return (sum(float((one - other).square().sum()) for one, other in pairs) / length) ** 0.5 if length else 0.0


def _difference(found: list[torch.Tensor], expected: list[torch.Tensor]) -> str:
    """Of the output, which comes last, as everywhere; of gradients only together."""
    if len(found) != len(expected) or (differing := first_difference(found[-1:], expected[-1:])):
        return differing if len(found) == len(expected) else f"{len(found)} tensors, not {len(expected)}"
    distance = _distance(found[:-1], expected[:-1])
    return "" if distance <= _LARGEST_DISTANCE else f"gradients are off by {distance:.3g} of their length"


def _compiled(step: _Stepping, expected: list[torch.Tensor], seed: int, refusal: str) -> Capture:
    with step.restored(), torch.enable_grad():
        made = compiled_graphs(step.flat, step, seed)
    if differing := _difference(made.results, expected):
        raise NotCaptured(f"its graphs give another result than the model: {differing}")
    return Capture(made.graphs, "compile", refusal, made.breaks, made.outside)


def _check(flat: Flat, exported: torch.nn.Module, gradient: torch.Tensor, names: list[str], expected: list[torch.Tensor], seed: int, judged: torch.nn.Module) -> None:
    """Goes through the graph forward and backward: what has a backward of its own (functions, hooks) is not in it."""
    ours = {_memory(parameter): name for name, parameter in reversed(list(flat.model.named_parameters()))}
    wanted = [(ours.get(_memory(one), ""), one) for one in dict(exported.named_parameters(remove_duplicate=False)).values() if one.requires_grad]
    with _Stepping(flat, gradient, [], judged).restored(), torch.enable_grad(), sound_sums([]):
        torch.manual_seed(seed)
        (output,) = exported(*(tensor.clone() for _, tensor in flat.inputs))
        found: dict[str, torch.Tensor] = {}
        for (name, _), one in zip(wanted, torch.autograd.grad(output, [one for _, one in wanted], gradient, allow_unused=True), strict=True):
            if one is not None:  # Of tied ones each has a part.
                found[name] = found[name] + one if name in found else one
    flat.begin()
    if missing := [name for name in names if name not in found]:
        raise NotCaptured(f"its graph gives '{missing[0]}' no gradient, also where torch runs it")
    if differing := _difference([*(found[name] for name in names), judged(output.detach())], expected):
        raise NotCaptured(f"its graph gives another output than the model, also where torch runs it: {differing}")


def joint(flat: Flat, gradient: torch.Tensor, names: list[str], expected: list[torch.Tensor], seed: int, judged: torch.nn.Module, is_checked: bool = False) -> Graph:
    """Forward and backward as one graph; raises where there is none, or `is_checked` and torch gets another output from it than from the model."""
    return recorded_first(flat, is_checked, lambda: _recorded(flat, gradient, names, expected, seed, judged), lambda: _exported(flat, gradient, names, expected, seed, judged, is_checked))


@contextlib.contextmanager
def _as_single_calls() -> Iterator[None]:
    """Nothing is computed here. Without oneDNN an LSTM is single calls: its own has a gradient that no program can say."""
    with torch.enable_grad(), torch.backends.mkldnn.flags(enabled=False), dropout_between_layers():
        yield


def _recorded(flat: Flat, gradient: torch.Tensor, names: list[str], expected: list[torch.Tensor], seed: int, judged: torch.nn.Module) -> Graph:
    with _as_single_calls():
        module, state, missing = recorded_step(flat, [tensor for _, tensor in flat.inputs], gradient, names, dict(flat.model.named_parameters()), judged, decompositions(), draws)
    _none_grads(set(names) - set(missing), set(names))
    taken = [*flat.inputs, ("output gradient", gradient), *((name.removeprefix("model."), tensor) for name, tensor in state)]
    graph = _finished(module, [tensor.detach() for _, tensor in taken], [name for name, _ in taken], list(range(len(expected))), expected, seed)
    if graph.lowered().results != len(expected):
        raise NotRecorded("it writes to its arguments or weights")
    return graph


def _exported(flat: Flat, gradient: torch.Tensor, names: list[str], expected: list[torch.Tensor], seed: int, judged: torch.nn.Module, is_checked: bool) -> Graph:
    """The same by torch.export and AOTAutograd."""
    from torch._functorch.aot_autograd import aot_export_module

    given = flat.inputs
    with _as_single_calls():
        with without_exporters_warnings():
            exported = torch.export.export(flat, tuple(tensor for _, tensor in given), strict=False).module()
        if is_checked:
            _check(flat, exported, gradient, names, expected, seed, judged)
        _merge_tied(exported)
        step = _Step(exported, judged)
        theirs = dict(step.named_parameters(remove_duplicate=False))
        # Parameters by the names that the model has for them; of tied ones it has one.
        ours = {_memory(parameter): name for name, parameter in reversed(list(flat.model.named_parameters()))}
        called = {name: ours.get(_memory(parameter), name.removeprefix(_PREFIX)) for name, parameter in theirs.items()}
        for name, parameter in theirs.items():
            parameter.requires_grad_(parameter.requires_grad and called[name] in names)
        tensors = [*(tensor for _, tensor in given), gradient]
        with _traced_once():
            module, signature = aot_export_module(step, tensors, trace_joint=True, output_loss_index=0, decompositions=decompositions())
    results = list(next(node for node in module.graph.nodes if node.op == "output").args[0])
    by_name = {str(result): i for i, result in enumerate(results) if result is not None}
    place = {called[name]: by_name[result] for result, name in signature.backward_signature.gradients_to_parameters.items() if result in by_name}
    _none_grads(set(place), set(names))
    output = by_name[signature.user_outputs[1]]  # The loss is the first.
    state = {**dict(step.named_buffers(remove_duplicate=False)), **theirs}
    users = iter([*given, ("output gradient", gradient)])
    inputs, input_names = [], []
    for node in (node for node in module.graph.nodes if node.op == "placeholder"):
        target = signature.inputs_to_parameters.get(node.name) or signature.inputs_to_buffers.get(node.name)
        name, value = (target.removeprefix(_PREFIX), state[target]) if target else next(users)
        inputs.append(value.detach())
        input_names.append(name)
    return _finished(module, inputs, input_names, [*(place[name] for name in names), output], expected, seed)


def _finished(module: torch.fx.GraphModule, inputs: list[torch.Tensor], input_names: list[str], kept: list[int], expected: list[torch.Tensor], seed: int) -> Graph:
    """A graph that takes these inputs, of whose results some are expected."""
    drop_assertions(module.graph)
    refuse_symbols(module.graph)
    refuse_sparse(module.graph)
    refuse_library_operators(module.graph)
    drawn, drawn_names = lift_random(module, inputs, lambda: torch.manual_seed(seed))
    keep_results(module, kept)
    merge_equal_inputs(module.graph, inputs := inputs + drawn, input_names := input_names + drawn_names, 0)
    made: Any = make_program(module)
    constants = [constant.detach() for constant in made.constants]
    return Graph(made, inputs + constants, input_names + [f"constant_{i}" for i in range(len(constants))], expected, decided=module.meta.get("decided", []))
