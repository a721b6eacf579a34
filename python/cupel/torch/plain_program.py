"""What torch's serializer makes of a plain graph, written in one go: calls of operators that take and give tensors of known sizes.

The serializer makes a tree of dataclasses, checks every field as it is read, prints the module for a log that nobody keeps, and turns the tree into dictionaries:
a third of a capture's time. Here the dictionaries are made at once. An argument that is not of the most frequent kinds is still torch's to write; a graph that is not plain is refused, and
torch writes all of it. tests/models/test_plain_program.py holds both documents against each other.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch._export.serde import serialize as serde
from torch.export.graph_signature import ExportGraphSignature

_TYPES = {type_: number.value for type_, number in serde._TORCH_TO_SERIALIZE_DTYPE.items()}
_LAYOUTS = {layout: number.value for layout, number in serde._TORCH_TO_SERIALIZE_LAYOUT.items()}
_POSITIONAL, _KEYWORD = serde.ArgumentKind.POSITIONAL.value, serde.ArgumentKind.KEYWORD.value


class NotPlain(Exception):
    """The graph holds something that only torch's serializer writes."""


class _Writer:
    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._torchs = serde.GraphModuleSerializer(ExportGraphSignature([], []), [])
        self._targets: dict[Any, str] = {}
        self._names: dict[Any, list[tuple[str, Any, bool]]] = {}
        self._returns: dict[Any, tuple[int, bool]] = {}

    # --- types ---------------------------------------------------------------------------------------------------------------------------

    def _sizes(self, sizes: Any) -> list[dict[str, int]]:
        if not all(type(size) is int for size in sizes):
            raise NotPlain("a size is a symbol")
        return [{"as_int": size} for size in sizes]

    def named(self, name: str, tensor: Any) -> dict[str, str]:
        if not isinstance(tensor, torch.Tensor) or name in self.values:
            raise NotPlain(f"{name} is no tensor, or two")
        device, offset = tensor.device, tensor.storage_offset()
        self.values[name] = {
            "dtype": _TYPES[tensor.dtype],
            "sizes": self._sizes(tensor.shape),
            "requires_grad": tensor.requires_grad,
            "device": {"type": device.type, "index": device.index},
            "strides": self._sizes(tensor.stride()),
            "storage_offset": self._sizes((offset,))[0],
            "layout": _LAYOUTS[tensor.layout],
        }
        return {"name": name}

    # --- calls ---------------------------------------------------------------------------------------------------------------------------

    def argument(self, value: Any, kind: Any = None) -> dict[str, Any]:
        if isinstance(value, torch.fx.Node):
            if value.op == "get_attr":
                raise NotPlain(f"{value.name} is an attribute")
            return {"as_tensor": {"name": value.name}}
        if value is None:
            return {"as_none": True}
        if type(value) is bool:
            return {"as_bool": value}
        if type(value) is int:
            return {"as_int": value}
        if type(value) is float and math.isfinite(value):
            return {"as_float": value}
        if isinstance(value, torch.dtype):
            return {"as_scalar_type": _TYPES[value]}
        if isinstance(value, (list, tuple)) and value:
            if all(type(one) is int for one in value):
                return {"as_ints": list(value)}
            if all(isinstance(one, torch.fx.Node) for one in value):
                if any(one.op == "get_attr" for one in value):
                    raise NotPlain("an attribute is in a list")
                return {"as_tensors": [{"name": one.name} for one in value]}
        return _plain(self._torchs.serialize_input(value, kind))

    def _inputs(self, node: torch.fx.Node) -> list[dict[str, Any]]:
        names = self._names.get(node.target)
        if names is None:
            names = self._names[node.target] = [(one.name, one.type, one.kwarg_only) for one in node.target._schema.arguments]
        args, kwargs, inputs = node.args, node.kwargs, []
        for i, (name, kind, is_by_name) in enumerate(names):
            if name in kwargs:
                inputs.append({"name": name, "arg": self.argument(kwargs[name], kind), "kind": _KEYWORD})
            elif not is_by_name and i < len(args):
                inputs.append({"name": name, "arg": self.argument(args[i], kind), "kind": _POSITIONAL})
        return inputs

    def _outputs(self, node: torch.fx.Node) -> list[dict[str, Any]]:
        known = self._returns.get(node.target)
        if known is None:
            returns = node.target._schema.returns
            is_list = len(returns) == 1 and isinstance(returns[0].real_type, torch.ListType)
            known = self._returns[node.target] = len(returns), is_list
        count, is_list = known
        if count == 0:
            return []
        given = node.meta["val"]
        if count == 1 and not is_list:
            return [{"as_tensor": self.named(node.name, given)}]
        parts: dict[Any, str] = {}
        for user in node.users:
            if user.target is not operator.getitem or parts.setdefault(user.args[1], user.name) != user.name:
                raise NotPlain(f"what {node.name} gives is read otherwise than part by part")
        if not isinstance(given, (list, tuple)) or not (is_list or len(given) == count):
            raise NotPlain(f"{node.name} gives a {type(given).__name__}")
        outputs = [None if one is None else self.named(parts.get(i, f"{node.name}_unused_{i}"), one) for i, one in enumerate(given)]
        if is_list:
            if None in outputs:
                raise NotPlain(f"{node.name} gives no tensor in a list")
            return [{"as_tensors": outputs}]
        return [{"as_none": True} if one is None else {"as_tensor": one} for one in outputs]

    def call(self, node: torch.fx.Node) -> dict[str, Any]:
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            raise NotPlain(f"{target} is no operator")
        if (name := self._targets.get(target)) is None:
            name = self._targets[target] = self._torchs.serialize_operator(target)
        place = node.meta.get("stack_trace")
        return {"target": name, "inputs": self._inputs(node), "outputs": self._outputs(node), "metadata": {"stack_trace": place} if place else {},
                "is_hop_single_tensor_return": None, "name": node.name}


def _plain(value: Any) -> Any:
    return serde._dataclass_to_dict(value)


def plain_program(graph: torch.fx.Graph) -> dict[str, Any]:
    """`graph_module` of the document of a graph whose inputs are all the user's, and all its results; its nodes have types (`val`) and at most `stack_trace` beside. Raises NotPlain."""
    writer = _Writer()
    inputs, outputs, nodes = [], [], []
    for node in graph.nodes:
        if node.op == "placeholder":
            inputs.append({"as_tensor": writer.named(node.name, node.meta.get("val"))})
        elif node.op == "output":
            outputs = [writer.argument(one) for one in node.args[0]]
        elif node.op != "call_function":
            raise NotPlain(f"{node.name} is a {node.op}")
        elif node.target is not operator.getitem:
            nodes.append(writer.call(node))
    return {
        "graph": {"inputs": inputs, "outputs": outputs, "nodes": nodes, "tensor_values": writer.values, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False,
                  "custom_obj_values": {}, "sym_float_values": {}},
        "signature": {"input_specs": [{"user_input": {"arg": one}} for one in inputs], "output_specs": [{"user_output": {"arg": one}} for one in outputs]},
        "module_call_graph": [],
        "metadata": {},
        "treespec_namedtuple_fields": {},
    }
