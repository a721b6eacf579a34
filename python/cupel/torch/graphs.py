"""Graphs of ATen calls, by whichever way they came: what a graph is with its tensors, what in it is random, what no program can say, and what is left out of it.

What is random (dropout in training, noise) becomes an input that holds what torch drew, so that a device computes with the same numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from cupel._native import Module
from cupel.torch.custom_ops import library_operator
from cupel.torch.program import Program
from cupel.torch.recorded import NotRecorded
from cupel.zoo_import import text_of

# Reading a number, views and copies: with nothing else in it a graph computes nothing.
NO_COMPUTATION = ("item", "_local_scalar_dense", "is_nonzero", "detach", "alias", "clone", "empty", "lift_fresh", "lift_fresh_copy", "resolve_conj", "resolve_neg", "contiguous", "view", "reshape", "_unsafe_view", "select",
                   "slice", "unbind", "as_strided", "to", "_to_copy", "copy_", "t", "squeeze", "unsqueeze", "expand", "permute", "getitem", "_has_compatible_shallow_copy_type")


class NotCaptured(Exception):
    """No graph holds the whole computation; the message says why."""


@dataclass
class Graph:
    """One graph, the tensors it takes, by position, and what it gives for them."""

    program: Program
    inputs: list[torch.Tensor]
    input_names: list[str]
    expected: list[torch.Tensor]
    computes: bool = True
    """Otherwise it only moves what came in, and would pass on any device."""
    calls: int = 1
    gives_more: bool = False
    """Behind the results come new values of inputs that it writes to, of which nothing is expected."""
    not_recorded: str = ""
    """Why torch.export was asked for it, where the model's calls could not be recorded."""
    decided: list[str] = field(default_factory=list)
    """Lines of the model that values of these inputs decided."""
    _lowered: Module | None = None

    def lowered(self, **options: Any) -> Module:
        """In StableHLO; raises NativeError with what the frontend has to say."""
        if options or self._lowered is None:
            module = Module.from_torch(self.program.text, {"inputs": [list(tensor.shape) for tensor in self.inputs]} | options)
            if options:
                return module
            self._lowered = module
        return self._lowered


def one_line(error: BaseException, limit: int = 600) -> str:
    text = " ".join(text_of(error).split())
    return f"{type(error).__name__}: {text[:limit]}" if text else type(error).__name__


def told(error: BaseException) -> str:
    """A refusal of ours in its own words, anything else with its class."""
    return str(error) if isinstance(error, (NotCaptured, NotRecorded)) else one_line(error)


def draws(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether this call of an operator is random."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return False
    schema = func._schema.arguments
    given = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
    given |= {argument.name: value for argument, value in zip(schema, args)} | dict(kwargs)
    # Outside training, or with nothing to drop, these only copy.
    is_off = any(given.get(name) is False for name in ("train", "training")) or any(given.get(name) == 0 for name in ("p", "dropout_p", "dropout"))
    return not is_off


def is_random(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and draws(node.target, node.args, node.kwargs)


def does_nothing(operator: str) -> bool:
    """Whether a call of this operator computes nothing: it reads, views or copies."""
    return operator in NO_COMPUTATION or operator.removesuffix("_") in NO_COMPUTATION


def _is_computation(node: torch.fx.Node) -> bool:
    name = node.target._schema.name.rpartition("::")[2] if isinstance(node.target, torch._ops.OpOverload) else getattr(node.target, "__name__", "")
    return node.op == "call_function" and name not in NO_COMPUTATION


def computes(graph: torch.fx.Graph) -> bool:
    """Whether something is made out of what comes in: numbers that come of nothing (`eye`, and what becomes of it) are no result of a model's."""
    reached: set[torch.fx.Node] = set()
    for node in graph.nodes:
        if node.op == "placeholder" or not reached.isdisjoint(node.all_input_nodes):
            reached.add(node)
            if _is_computation(node):
                return True
    return False


def _needed_for(ends: list[torch.fx.Node]) -> set[torch.fx.Node]:
    needed, open_ = set(ends), list(ends)
    while open_:
        for node in open_.pop().all_input_nodes:
            if node not in needed:
                needed.add(node)
                open_.append(node)
    return needed


def _gives_new_memory(func: Any) -> bool:
    """Whether what a call gives is never what it was given: operators that are made of others do not say it of themselves."""
    return (isinstance(func, torch._ops.OpOverload) and not any(one.alias_info for one in func._schema.returns)
            and not torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


def _written(nodes: Iterable[torch.fx.Node]) -> set[int]:
    """The inputs, by position, that these calls may write to."""
    behind: dict[torch.fx.Node, set[int]] = {}  # The inputs whose memory a value may have.
    found: set[int] = set()
    for node in nodes:
        if node.op == "placeholder":
            behind[node] = {len(behind)}
            continue
        memory = set().union(*(behind.get(one, set()) for one in node.all_input_nodes))
        if node.op.startswith("call_") and node.target is not operator.getitem and (not isinstance(node.target, torch._ops.OpOverload) or node.target._schema.is_mutable):
            found |= memory
        behind[node] = set() if _gives_new_memory(node.target) else memory
    return found


class _Drawn(torch.fx.Interpreter):
    """Runs what random calls of a graph need, and keeps what they drew: the rest, such as all of a backward pass, may take minutes and draws nothing."""

    def __init__(self, module: torch.fx.GraphModule):
        super().__init__(module, garbage_collect_values=True)
        self.values: dict[torch.fx.Node, Any] = {}
        # A call that writes to its arguments may change what a later one sees.
        self._needed = _needed_for([node for node in module.graph.nodes
                                    if is_random(node) or (isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable)])
        self.written = _written(node for node in module.graph.nodes if node.op == "placeholder" or node in self._needed)
        """The inputs, by position, that what it runs may write to."""

    def run_node(self, n: torch.fx.Node) -> Any:
        if n.op.startswith("call_") and n not in self._needed:
            return None
        result = super().run_node(n)
        if is_random(n):
            self.values[n] = result
        return result


def _replace_dropout(node: torch.fx.Node, mask: torch.fx.Node) -> None:
    """What is drawn is the mask alone: the values still come from the graph."""
    graph, (x, probability), like = node.graph, node.args[:2], node.meta["val"][0]
    with graph.inserting_before(node):
        kept = graph.call_function(torch.ops.aten._to_copy.default, (mask,), {"dtype": like.dtype})
        chosen = graph.call_function(torch.ops.aten.mul.Tensor, (x, kept))
        scaled = graph.call_function(torch.ops.aten.mul.Tensor, (chosen, 0.0 if probability == 1 else 1 / (1 - probability)))
    for made in (kept, chosen, scaled):
        made.meta["val"] = like
    for user in list(node.users):
        user.replace_all_uses_with(scaled if user.args[1] == 0 else mask)
        graph.erase_node(user)


def lift_random(module: torch.fx.GraphModule, inputs: list[torch.Tensor], rewind: Callable[[], Any]) -> tuple[list[torch.Tensor], list[str]]:
    """Turns random calls into inputs, after the others; their values as torch drew them, once its generator is rewound. Of the module only the graph is changed, not the code that torch runs."""
    random = [node for node in module.graph.nodes if is_random(node)]
    if not random:
        return [], []
    drawn = _Drawn(module)
    rewind()
    with torch.no_grad():
        drawn.run(*(tensor.clone() if i in drawn.written else tensor for i, tensor in enumerate(inputs)))  # Weights are most of them.
    graph, tensors, names = module.graph, [], []
    place = next(node for node in graph.nodes if node.op != "placeholder")

    def lifted(value: torch.Tensor, like: Any) -> torch.fx.Node:
        with graph.inserting_before(place):
            node = graph.placeholder(f"drawn_{len(tensors)}")
        node.meta["val"] = like
        tensors.append(value)
        names.append(node.name)
        return node

    for node in random:
        value, like = drawn.values[node], node.meta["val"]
        if isinstance(value, torch.Tensor):
            node.replace_all_uses_with(lifted(value, like))
        elif node.target is torch.ops.aten.native_dropout.default:
            _replace_dropout(node, lifted(value[1], like[1]))
        else:
            for user in list(node.users):
                if user.target is not operator.getitem:
                    raise NotCaptured(f"{node.target} gives several tensors that {user.target} takes as one")
                user.replace_all_uses_with(lifted(value[user.args[1]], user.meta["val"]))
                graph.erase_node(user)
        graph.erase_node(node)
    return tensors, names


def merge_equal_inputs(graph: torch.fx.Graph, inputs: list[torch.Tensor], names: list[str], arguments: int) -> None:
    """Tied weights are one input, and weights that nothing reads are none; the model's arguments stay as they are."""
    nodes = [node for node in graph.nodes if node.op == "placeholder"]
    first: dict[tuple[Any, ...], torch.fx.Node] = {}
    for node, tensor in list(zip(nodes, inputs, strict=True))[arguments:]:
        if tensor.numel():
            same = first.setdefault((tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()), node)
            if same is not node:
                node.replace_all_uses_with(same)
    dropped = {i for i, node in enumerate(nodes) if i >= arguments and not node.users}
    for i in dropped:
        graph.erase_node(nodes[i])
    for column in (inputs, names):
        column[:] = [value for i, value in enumerate(column) if i not in dropped]


_ASSERTIONS = ("aten::_assert_scalar", "aten::_assert_async", "aten::_assert_tensor_metadata", "aten::sym_constrain_range", "aten::sym_constrain_range_for_size",
               "aten::_functional_assert_async", "aten::_functional_sym_constrain_range")


def drop_assertions(graph: torch.fx.Graph) -> None:
    """On these very inputs they held; what only they need goes too."""
    for node in reversed(list(graph.nodes)):
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.name in _ASSERTIONS and not node.users:
            graph.erase_node(node)
    graph.eliminate_dead_code()


def keep_results(module: torch.fx.GraphModule, kept: Sequence[int]) -> None:
    """Leaves only these results, in this order, and nothing that none of them needs; likewise."""
    output = next(node for node in module.graph.nodes if node.op == "output")
    output.args = (tuple(output.args[0][i] for i in kept),)
    module.graph.eliminate_dead_code()


def refuse_symbols(graph: torch.fx.Graph) -> None:
    """All inputs are given, so a size that is still a symbol depends on data: no device compiles that, but graphs around it can be."""
    for node in graph.nodes:
        values = node.meta.get("val")
        values = values if isinstance(values, (list, tuple)) else (values,)
        sizes = [size for value in values for size in (value.shape if isinstance(value, torch.Tensor) else (value,))]
        if any(isinstance(size, (torch.SymInt, torch.SymBool, torch.SymFloat)) for size in sizes):
            place = str(node.meta.get("stack_trace", "")).strip().splitlines()
            raise NotCaptured(f"a size that {node.target} gives depends on data" + (f" ({place[-2].strip()})" if len(place) > 1 else ""))


def refuse_sparse(graph: torch.fx.Graph) -> None:
    """Tensors that are not dense have no place in a program; whoever traces the model's calls leaves them to torch."""
    for node in graph.nodes:
        values = node.meta.get("val")
        for value in values if isinstance(values, (list, tuple)) else (values,):
            if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
                raise NotCaptured(f"{node.target} gives a tensor of layout {str(value.layout).removeprefix('torch.')}: programs hold dense ones only")


def refuse_library_operators(graph: torch.fx.Graph) -> None:
    """Operators of torch's libraries that nothing took apart; whoever traces the model's calls leaves them to torch."""
    if name := library_operator(graph):
        raise NotCaptured(f"{name} is an operator of a library, which no program can say")
