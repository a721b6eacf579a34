"""An FX graph of ATen calls as the JSON of a .pt2 archive, the form that the C++ importer reads.

It is what torch's own serializer writes, so that the two ways into Cupel (a saved archive, torch.compile) cannot drift apart; plain graphs are written directly (plain_program.py).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._export.serde import serialize as serde
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, SymIntArgument, TensorArgument

from cupel.torch.composites import exported_names
from cupel.torch.plain_program import NotPlain, plain_program


@dataclass
class Program:
    """What one graph became."""

    text: bytes
    """model.json: every tensor is a user input, every result a user output."""
    constants: list[torch.Tensor] = field(default_factory=list)
    """Tensors the graph held; they follow its own inputs."""
    outputs: list[Any] = field(default_factory=list)
    """What the graph returns, by position: a FakeTensor, a number, a SymInt or None."""


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _fake_of(constant: torch.Tensor, graph: torch.fx.Graph) -> torch.Tensor:
    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch._subclasses.FakeTensor):
            return value.fake_mode.from_tensor(constant, static_shapes=True)
    return torch._subclasses.FakeTensorMode().from_tensor(constant, static_shapes=True)


def _lifted(module: torch.fx.GraphModule) -> tuple[torch.fx.Graph, list[torch.Tensor]]:
    """A copy whose tensors held as attributes are inputs, after the others, and whose results are the tensors only."""
    graph = torch.fx.Graph()
    results = graph.graph_copy(module.graph, {})
    constants: dict[str, torch.fx.Node] = {}
    tensors: list[torch.Tensor] = []
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    place = next((node for node in graph.nodes if node.op != "placeholder"), None)
    for node in list(graph.nodes):
        if node.op != "get_attr":
            continue
        value = module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not _is_tensor(value):
            continue  # A subgraph of a higher-order operator.
        if node.target not in constants:
            with graph.inserting_before(place) if place else graph.inserting_after(inputs[-1]):
                lifted = graph.placeholder(f"constant_{len(tensors)}")
            lifted.meta["val"] = _fake_of(value, graph)
            constants[str(node.target)] = lifted
            tensors.append(value)
        node.replace_all_uses_with(constants[str(node.target)])
        graph.erase_node(node)
    flat = results if isinstance(results, (list, tuple)) else [results]
    flat = [constants.get(str(r.target), r) if isinstance(r, torch.fx.Node) and r.op == "get_attr" else r for r in flat]
    graph.output(tuple(r for r in flat if isinstance(r, torch.fx.Node) and _is_tensor(r.meta.get("val"))))
    return graph, tensors


def serialized_by_torch(module: torch.fx.GraphModule, graph: torch.fx.Graph) -> dict[str, Any]:
    """`graph_module` of the document, as torch's own serializer writes it; `module` holds what attributes of the graph are."""
    copy = torch.fx.GraphModule(module, graph)
    inputs = []
    for node in graph.nodes:
        if node.op == "placeholder":
            argument = TensorArgument(node.name) if _is_tensor(node.meta.get("val")) else SymIntArgument(node.name)
            inputs.append(InputSpec(InputKind.USER_INPUT, argument, None))
    returned = next(node for node in graph.nodes if node.op == "output").args[0]
    signature = ExportGraphSignature(inputs, [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(r.name), None) for r in returned])
    return serde._dataclass_to_dict(serde.GraphModuleSerializer(signature, []).serialize(copy))


def make_program(module: torch.fx.GraphModule) -> Program:
    """Serializes a graph of ATen calls whose nodes carry their types (meta["val"]), as AOTAutograd's and torch.export's do."""
    results = next(node for node in module.graph.nodes if node.op == "output").args[0]
    flat = results if isinstance(results, (list, tuple)) else [results]
    outputs = [r.meta.get("val") if isinstance(r, torch.fx.Node) else r for r in flat]
    graph, constants = _lifted(module)
    for node in graph.nodes:
        if node.op == "call_function":
            node.target = exported_names.get(node.target, node.target)
        # What the serializer wants, and the source line; torch.compile's other notes are not what export writes.
        node.meta = {key: node.meta[key] for key in ("val", "stack_trace") if node.meta.get(key) is not None}
    try:
        serialized = plain_program(graph)
    except NotPlain:
        serialized = serialized_by_torch(module, graph)
    document = {
        "graph_module": serialized,
        "opset_version": {"aten": torch._C._get_max_operator_version()},
        "range_constraints": {},
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["ATEN"],
        "torch_version": torch.__version__,
        "guards_code": [],
    }
    return Program(json.dumps(document, cls=serde.EnumEncoder, allow_nan=False).encode(), constants, outputs)
