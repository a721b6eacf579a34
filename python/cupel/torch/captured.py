"""A model as programs of ATen calls: one graph of its recorded calls (recorded.py), or by torch.export, where that works, torch.compile's graphs where it does not, and where that gives none
either, the calls that torch makes (traced.py).

Each graph comes with the tensors it runs on and what torch makes of them, and so is a workload of its own. What is random in a
graph (dropout in training, noise) becomes an input that holds what torch drew, so that a device computes with the same numbers.
"""

from __future__ import annotations

import contextlib
import operator
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch._functorch.aot_autograd import make_boxed_func

from cupel._native import NativeError, comparator_default
from cupel.torch.custom_ops import custom_decompositions
from cupel.torch.flexible_attention import flexible_attention_taken_apart
from cupel.torch.graphs import (
    NO_COMPUTATION,
    Graph,
    NotCaptured,
    computes,
    draws,
    drop_assertions,
    is_random,
    keep_results,
    lift_random,
    merge_equal_inputs,
    one_line,
    refuse_library_operators,
    refuse_sparse,
    refuse_symbols,
    told,
)
from cupel.torch.program import make_program
from cupel.torch.recorded import NotRecorded, recorded
from cupel.torch.recurrent_layers import dropout_between_layers
from cupel.torch.sound_kernels import with_sound_kernels
from cupel.torch.structure import Flat
from cupel.torch.time_limit import TookTooLong, limited
from cupel.torch.vision_ops import vision_decompositions

# Graphs a model may fall into, seconds of processor time it may take to find them or to export it, and bytes that may pass between them, before another way is
# tried. Backward passes, and compilers that are in the middle of a graph, have twice that time.
MAX_GRAPHS = 64
MAX_SECONDS = 60
MAX_BYTES = 2 << 30


# Numbers that come of nothing: nobody misses a test of these.
_OF_NOTHING = ("zeros", "ones", "full", "eye", "arange", "linspace", "scalar_tensor", "zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "zero_", "fill_")


@dataclass
class Capture:
    graphs: list[Graph]
    method: str
    """`export` (one graph of the whole model, made without values), `compile` or `trace`."""
    refusal: str = ""
    """Why the ways before it did not do, where they did not."""
    breaks: list[str] = field(default_factory=list)
    """Why torch.compile began new graphs, each reason once."""
    outside: dict[str, int] = field(default_factory=dict)
    """Operators that ran between the graphs, which no device sees, and how often."""


# --- torch.export ------------------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def without_exporters_warnings() -> Iterator[None]:
    """torch.export warns of how it uses torch itself, for every model: that is no word of the model's."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*LeafSpec.* is deprecated", FutureWarning)
        yield


def _takes_as_exported(graph: torch.fx.Graph) -> bool:
    """Whether nothing of it has to be taken apart before the frontend reads it, which follows writes and views by itself."""
    apart = library_decompositions()
    for node in graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        if not isinstance(node.target, torch._ops.OpOverload) or node.target in apart or is_random(node):
            return False  # Of calls that draw, what is drawn is told apart from what is computed only once they are taken apart.
    return True


def _copied(program: torch.export.ExportedProgram) -> torch.fx.GraphModule:
    """Its graph, to change; constants that it makes are what they are when detached."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(program.graph, {}))
    for node in list(graph.nodes):
        if node.target is torch.ops.aten.detach_.default:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    drop_assertions(graph)
    return torch.fx.GraphModule(program.graph_module, graph)


@flexible_attention_taken_apart()
def exported(flat: Flat, expected: list[torch.Tensor], seed: int, is_checked: bool = False) -> Graph:
    """The whole model as one graph; raises where there is none, or `is_checked` and torch gets another result from it than from the model.

    Its calls are recorded (recorded.py); torch.export is asked where they are refused, or in doubt (docs/decisions/0133).
    """
    return recorded_first(flat, is_checked, lambda: _recorded(flat, expected, seed), lambda: _exported(flat, expected, seed, is_checked))


def recorded_first(flat: Flat, is_doubted: bool, record: Callable[[], Graph], export: Callable[[], Graph]) -> Graph:
    """What `record` makes; what `export` does where that is refused or in doubt, with the reason."""
    why = "its graph is compared with the model"
    if not is_doubted:
        try:
            return record()
        except TookTooLong:
            raise
        except Exception as error:
            why = told(error)
        finally:
            flat.begin()
    graph = export()
    graph.not_recorded = why
    return graph


def _exported(flat: Flat, expected: list[torch.Tensor], seed: int, is_checked: bool) -> Graph:
    """The same by torch.export.

    Taking apart is a second trace, which takes longer than the first: where the frontend reads what the first gave, and nothing in it writes to the model's
    arguments or weights, there is none (docs/decisions/0117).
    """
    with without_exporters_warnings():
        program = torch.export.export(flat, tuple(tensor for _, tensor in flat.inputs), strict=False)
        if is_checked:
            torch.manual_seed(seed)
            if differing := first_difference(list(program.module()(*(tensor.clone() for _, tensor in flat.inputs))), expected):
                raise NotCaptured(f"its graph gives another result than the model, also where torch runs it: {differing}")
            flat.begin()
        module = _copied(program)
        if _takes_as_exported(module.graph):
            with contextlib.suppress(NativeError, NotCaptured):
                graph = _whole(flat, program, module, expected, seed)
                if graph.lowered().results == len(expected):
                    return graph
        program = program.run_decompositions(library_decompositions())
    return _whole(flat, program, program.graph_module, expected, seed)


def _recorded(flat: Flat, expected: list[torch.Tensor], seed: int) -> Graph:
    module, state = recorded(flat, [tensor for _, tensor in flat.inputs], library_decompositions(), draws)
    graph = _finished(module, flat.inputs, state, list(range(len(expected))), expected, seed)
    if graph.lowered().results != len(expected):
        raise NotRecorded("it writes to its arguments or weights")
    return graph


def _whole(flat: Flat, program: torch.export.ExportedProgram, module: torch.fx.GraphModule, expected: list[torch.Tensor], seed: int) -> Graph:
    """The program's graph, which `module` holds and loses, with the tensors it takes."""
    from torch.export.graph_signature import InputKind, OutputKind

    state = {**program.state_dict, **program.constants}
    users = iter(flat.inputs)
    weights: list[tuple[str, torch.Tensor]] = []
    arguments: list[tuple[str, torch.Tensor]] = []
    order = []
    for spec in program.graph_signature.input_specs:
        is_user = spec.kind == InputKind.USER_INPUT
        name, value = next(users) if is_user else (str(spec.target), state[spec.target])
        if not isinstance(value, torch.Tensor):
            raise NotCaptured(f"the graph takes the {type(value).__name__} '{name}', which is no tensor")
        (arguments if is_user else weights).append((name, value))
        order.append(is_user)
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    # The model's arguments come first: they are what differs from call to call.
    place = nodes[0]
    for node, is_user in zip(nodes, order, strict=True):
        if is_user and node is not place:
            place.prepend(node)
        elif is_user:
            place = place.next
    kept = [i for i, spec in enumerate(program.graph_signature.output_specs) if spec.kind == OutputKind.USER_OUTPUT]
    return _finished(module, arguments, weights, kept, expected, seed)


def _finished(module: torch.fx.GraphModule, arguments: list[tuple[str, torch.Tensor]], weights: list[tuple[str, torch.Tensor]], kept: list[int], expected: list[torch.Tensor], seed: int) -> Graph:
    """A graph that takes the model's arguments and then its weights, of whose results some are the model's."""
    names = [name for name, _ in arguments] + [name.removeprefix("model.") for name, _ in weights]
    inputs = [tensor.detach() for _, tensor in arguments + weights]
    drop_assertions(module.graph)
    refuse_symbols(module.graph)
    refuse_sparse(module.graph)
    refuse_library_operators(module.graph)
    drawn, drawn_names = lift_random(module, inputs, lambda: torch.manual_seed(seed))
    keep_results(module, kept)
    merge_equal_inputs(module.graph, inputs := inputs + drawn, names := names + drawn_names, len(arguments))
    made = make_program(module)
    if len([one for one in made.outputs if isinstance(one, torch.Tensor)]) != len(expected):
        raise NotCaptured(f"torch.export gives {len(made.outputs)} results where the model gives {len(expected)}")
    constants = [constant.detach() for constant in made.constants]
    return Graph(made, inputs + constants, names + [f"constant_{i}" for i in range(len(constants))], expected, decided=module.meta.get("decided", []))


# --- torch.compile -----------------------------------------------------------------------------------------------------------------------


class _Recorder:
    """A compiler that compiles nothing: it keeps each graph with the tensors of its first call."""

    def __init__(self, weights: Sequence[torch.Tensor]) -> None:
        self.graphs: list[Graph | None] = []
        self._bytes = 0
        self._deadline = time.process_time() + MAX_SECONDS
        self._weights = {weight.data_ptr() for weight in weights}  # These stay as they are, and are not copied.

    def __call__(self, module: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        if len(self.graphs) >= MAX_GRAPHS:
            raise NotCaptured(f"it falls into more than {MAX_GRAPHS} graphs")
        if time.process_time() > self._deadline:
            raise NotCaptured(f"its graphs take more than {MAX_SECONDS} s to find")
        refuse_sparse(module.graph)
        refuse_library_operators(module.graph)
        index = len(self.graphs)
        self.graphs.append(None)
        sound = with_sound_kernels(module)

        def call(*given: Any) -> Any:
            with torch.autograd.profiler.record_function(_GRAPH):
                return run(*given)

        def run(*given: Any) -> Any:
            if (known := self.graphs[index]) is not None:
                known.calls += 1
                return sound(*given)
            if any(not isinstance(value, torch.Tensor) for value in given):
                raise NotCaptured("a graph takes numbers that change from call to call")
            inputs = [value.detach() if value.data_ptr() in self._weights else value.detach().clone() for value in given]
            state = torch.get_rng_state()
            results = sound(*given)
            expected = [result.detach().clone() for result in results if isinstance(result, torch.Tensor)]
            self._count(inputs, expected)
            names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
            own = torch.fx.Graph()
            own.output(own.graph_copy(module.graph, {}))
            copy = torch.fx.GraphModule(module, own)
            after = torch.get_rng_state()
            drawn, drawn_names = lift_random(copy, inputs, lambda: torch.set_rng_state(state))
            torch.set_rng_state(after)
            made = make_program(copy)
            constants = [constant.detach() for constant in made.constants]
            self.graphs[index] = Graph(made, inputs + drawn + constants, names + drawn_names + [f"constant_{i}" for i in range(len(constants))], expected,
                                       computes(copy.graph))
            return results

        return make_boxed_func(call)

    def _count(self, inputs: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
        """All graphs stay with their tensors until they are saved."""
        self._bytes += sum(tensor.nbytes for tensor in inputs + expected if tensor.data_ptr() not in self._weights)
        if self._bytes > MAX_BYTES:
            raise NotCaptured(f"more than {MAX_BYTES >> 30} GiB pass between its graphs")


@contextlib.contextmanager
def _static_dynamo() -> Iterator[None]:
    """Everything a number, every failure told: a part that silently ran elsewhere would pass for tested."""
    with torch._dynamo.config.patch(assume_static_by_default=True, automatic_dynamic_shapes=False, recompile_limit=MAX_GRAPHS, accumulated_recompile_limit=4 * MAX_GRAPHS,
                                    fail_on_recompile_limit_hit=True, suppress_errors=False, verbose=False), dropout_between_layers():
        torch._dynamo.reset()
        try:
            yield
        finally:
            torch._dynamo.reset()


_GRAPH = "cupel.graph"


def _operator_of(event: str) -> str:
    """The operator that an event of the profiler's is a call of, libraries' with their namespace; empty for all other events."""
    return event.removeprefix("aten::") if "::" in event and torch._C._jit_get_schemas_for_operator(event) else ""


def _operators_outside(events: Any) -> dict[str, int]:
    """The outermost operators that ran in no graph."""
    found: dict[str, int] = {}
    for event in events:
        name, parent = _operator_of(event.name), event.cpu_parent
        if not name or name in NO_COMPUTATION:
            continue
        while parent is not None and parent.name != _GRAPH and not _operator_of(parent.name):
            parent = parent.cpu_parent
        if parent is None:
            found[name] = found.get(name, 0) + 1
    return found


def library_decompositions() -> dict[Any, Any]:
    """Operators of others than torch."""
    return custom_decompositions() | vision_decompositions()


def decompositions() -> dict[Any, Any]:
    """To core ATen, but for attention: taken apart, its forward gives its backward a type that this does not take, and rounds where torch's own does not."""
    table = dict(torch._decomp.core_aten_decompositions())
    table.pop(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default, None)
    return table | library_decompositions()


@dataclass
class Compiled:
    """What torch.compile makes of a function: its graphs, what it gives, and what no graph holds."""

    graphs: list[Graph]
    results: Any
    breaks: list[str]
    outside: dict[str, int]


def compiled_graphs(flat: Flat, call: Callable[[Callable[..., Any]], Any], seed: int) -> Compiled:
    """The graphs that torch.compile makes of the model while `call` runs the compiled one; backward graphs too where it goes backward."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._dynamo.utils import counters

    recorder = _Recorder(list(flat.parameters()))
    backend = aot_autograd(fw_compiler=recorder, bw_compiler=recorder, inference_compiler=recorder, decompositions=decompositions())
    with _static_dynamo():
        counters["graph_break"].clear()
        torch.manual_seed(seed)
        # The model itself: what takes its arguments and results apart is ours, and no part of it.
        model = torch.compile(flat.model, backend=backend, dynamic=False)

        def compiled(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return flat.through(model, values)

        results = call(compiled)
        calls = [graph.calls for graph in recorder.graphs if graph is not None]
        # Once more, now that nothing is compiled: what runs outside the graphs is told apart from compiling them.
        with torch.autograd.profiler.profile() as profile:
            call(compiled)
        breaks = [" ".join(str(reason).split())[:200] for reason in counters["graph_break"]]
    for graph, count in zip((graph for graph in recorder.graphs if graph is not None), calls, strict=False):
        graph.calls = count
    graphs = [graph for graph in recorder.graphs if graph is not None and graph.expected]
    outside = _operators_outside(profile.function_events)
    if not any(graph.computes for graph in graphs):
        raise NotCaptured("torch.compile finds no graph in it that computes anything" + (f"; outside of graphs run {', '.join(outside)}" if outside else ""))
    return Compiled(graphs, results, breaks, outside)


@flexible_attention_taken_apart()
def capture(flat: Flat, expected: list[torch.Tensor], seed: int = 0, is_checked: bool = False) -> Capture:
    """The model's graphs. `expected` is what it gives when run eagerly, after seeding with `seed`. `is_checked`: that of torch.export too, which for most models need not be run."""
    flat.begin()
    with torch.no_grad():
        try:
            with limited(MAX_SECONDS, "torch.export"):
                return Capture([exported(flat, expected, seed, is_checked)], "export")
        except Exception as error:
            refusal = one_line(error)
    flat.begin()
    compiled: Capture | None = None
    try:
        with torch.no_grad(), limited(2 * MAX_SECONDS, "torch.compile"):
            made = compiled_graphs(flat, lambda model: list(model(*[tensor.clone() for _, tensor in flat.inputs])), seed)
        if differing := first_difference(made.results, expected):
            raise NotCaptured(f"its graphs give another result than the model: {differing}")
        compiled = Capture(made.graphs, "compile", refusal, made.breaks, made.outside)
    except Exception as error:
        refusal = f"torch.export: {refusal}; torch.compile: {told(error)}"
    from cupel.torch.traced import traced

    given = [(name, tensor.clone()) for name, tensor in flat.inputs]
    return with_least_outside(compiled, lambda refused: traced(flat, lambda: list(flat(*(tensor for _, tensor in given))), given, expected, seed, refused),
                              refusal if compiled is None else f"torch.export: {refusal}")


def with_least_outside(compiled: Capture | None, trace: Callable[[str], Capture], refusal: str) -> Capture:
    """torch.compile's graphs, unless there are none or tracing leaves fewer calls to torch: what runs between graphs no device computes, and a pass says nothing of it."""
    if compiled is None:
        try:
            return trace(refusal)
        except Exception as error:
            raise NotCaptured(f"{refusal}; traced: {told(error)}") from error
    count = _computing(compiled.outside)
    if count == 0:
        return compiled
    try:
        with limited(MAX_SECONDS, "tracing"):
            one = trace(f"{refusal}; torch.compile: {count} calls run between its {len(compiled.graphs)} graphs: {', '.join(compiled.outside)}")
            if not any(tensor.numel() for graph in one.graphs for tensor in graph.expected):
                reason = "its results have no element (nothing was found), which judges nothing"
            elif _computing(one.outside) < count:
                for graph in one.graphs:
                    graph.lowered()
                return one
            else:
                reason = f"it leaves {_computing(one.outside)} calls to torch, and torch.compile {count}"
    except Exception as error:
        reason = told(error)
    return replace(compiled, refusal=f"{refusal}; traced: {reason}")


def _computing(outside: dict[str, int]) -> int:
    """How many of the calls compute."""
    return sum(count for name, count in outside.items() if name not in _OF_NOTHING)


def first_difference(results: list[torch.Tensor], expected: list[torch.Tensor]) -> str:
    """Graphs that do not make the model's result when torch itself runs them would be a test of something else."""
    if len(results) != len(expected):
        return f"{len(results)} tensors, not {len(expected)}"
    for i, (one, other) in enumerate(zip(results, expected, strict=True)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {i} is {one.dtype}{list(one.shape)}, not {other.dtype}{list(other.shape)}"
        if not one.is_floating_point():
            continue  # Integers may follow from floats that round otherwise; their own comparison comes later.
        a, b = one.double().flatten(), other.double().flatten()
        share = comparator_default("captured_share")
        if a.numel() and not torch.allclose(a, b, rtol=share, atol=share * max(float(b.abs().nan_to_num(0, 0, 0).max()), 1e-6), equal_nan=True):
            return f"result {i} is off by {float((a - b).abs().max()):.3g}"
    return ""
