"""`cupel ops extract model.onnx`: every case that is made of a node is run beside that node, on the same values.

The node runs in ONNX's own reference evaluator, the case in torch, as the Python worker makes its inputs and calls it; so what is compared is what the
extraction says, not what Cupel computes. check_opcases.py runs this, and then the cases themselves through `cupel run`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy
import onnx
import torch
import yaml
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

GENERATOR = numpy.random.default_rng(5)


def weight(*shape: int) -> numpy.ndarray:
    return GENERATOR.uniform(0.1, 1, shape).astype(numpy.float32)


def model(path: Path) -> Path:
    """One node of each kind there is a case for, one call twice, and some that must be left out."""
    nodes: list[onnx.NodeProto] = []
    weights: dict[str, numpy.ndarray] = {}
    outputs: list[str] = []

    def add(op: str, *operands: str | numpy.ndarray, name: str = "", **attributes: Any) -> str:
        name = name or f"{op.lower()}_{len(nodes)}"
        names = []
        for i, operand in enumerate(operands):
            if isinstance(operand, numpy.ndarray):
                weights[f"{name}.{i}"] = operand
                operand = f"{name}.{i}"
            names.append(operand)
        nodes.append(helper.make_node(op, names, [f"{name}.y"], name=name, **attributes))
        outputs.append(f"{name}.y")
        return f"{name}.y"

    image = add("Conv", "image", weight(6, 2, 3, 3), weight(6), pads=[1, 1, 1, 1], strides=[2, 2], group=2, name="conv")
    image = add("BatchNormalization", image, weight(6), weight(6), weight(6), weight(6), epsilon=1e-3)
    image = add("Relu", image)
    add("MaxPool", image, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1])
    add("MaxPool", image, kernel_shape=[3, 2])
    add("AveragePool", image, kernel_shape=[2, 2], pads=[1, 1, 1, 1])
    add("AveragePool", image, kernel_shape=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1, strides=[2, 1])
    flat = add("Flatten", add("GlobalAveragePool", image))
    add("Gemm", flat, weight(5, 6), weight(5), transB=1)
    x = add("Gather", weight(11, 8), "ids", name="embedding")
    add("Gather", x, numpy.array([2, 0]), axis=1)
    x = add("LayerNormalization", x, weight(8), weight(8), epsilon=1e-4)
    y = add("MatMul", x, weight(8, 8))
    add("MatMul", x, weight(8, 8), name="again")  # The same call: one case.
    add("Softmax", y, axis=1)
    add("LogSoftmax", y)
    add("Add", y, weight(8))
    add("Sub", y, x)
    add("Div", y, weight(4, 1))
    add("Mul", y, x)
    add("Max", y, x)
    add("Min", y, x)
    add("Pow", add("Abs", y), x)
    add("LeakyRelu", y, alpha=0.25)
    add("Elu", y, alpha=0.5)
    add("Concat", x, y, axis=-1)
    add("Transpose", x, perm=[2, 0, 1])
    add("Transpose", x)
    add("Reshape", x, numpy.array([0, -1]))
    add("Expand", add("Unsqueeze", x, numpy.array([1])), numpy.array([3, 1, 8]))
    add("ReduceMean", x, numpy.array([-1]))
    add("ReduceMax", x, numpy.array([0, 2]), keepdims=0)
    add("ReduceSum", x)
    for op in ("Sigmoid", "Tanh", "Exp", "Sqrt", "Erf", "Floor", "Ceil", "Round", "Neg", "Sin", "Cos", "Reciprocal", "Softplus", "HardSwish", "Sign", "Log", "Mish"):
        add(op, x)
    less = add("Less", x, y)
    add("And", less, add("Not", less))
    add("Where", less, x, y)
    add("Div", "ids", "ids")
    add("Identity", x)  # No call.
    add("Conv", "image", weight(6, 4, 3, 3), pads=[0, 1, 1, 1], name="uneven")  # Left out.
    add("Clip", x, numpy.array(0, numpy.float32), name="clip")  # Left out.
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [2, 4, 7, 6]), helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", 4])],
        [helper.make_value_info(name, onnx.TypeProto()) for name in outputs], [numpy_helper.from_array(array, name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def cases_of(path: Path) -> list[dict]:
    """The cases of a file with defaults filled in, in the form that the Python worker takes."""
    file = yaml.safe_load(path.read_text())

    def tensor(spec: dict) -> dict:
        drawn = spec.get("init_args", {})
        usual = "int64" if spec.get("init") == "randint" else file["default"]["dtype"]
        return {"shape": spec["shape"], "dtype": spec.get("dtype", usual), "init": spec.get("init", "rand"), "low": drawn.get("low", 0), "high": drawn.get("high")}

    def scalar(value: Any) -> Any:
        """PyYAML takes 1e-04 for a text."""
        return float(value) if isinstance(value, str) and re.fullmatch(r"-?\d+e[-+]\d+", value) else value

    def argument(given: dict) -> dict:
        if "tensor" in given:
            return {"tensor": tensor(given["tensor"])}
        if "tensor_list" in given:
            return {"tensor_list": [tensor(spec) for spec in given["tensor_list"]]}
        return {"value": ast.literal_eval(given["py"]) if "py" in given else given["value"]}

    return [{**case, "inputs": [argument(given) for given in case.get("inputs", [])],
             "attrs": {name: {"value": scalar(value)} for name, value in case.get("attrs", {}).items()}} for case in file["cases"]]


def node_of(case: dict) -> str:
    """The node that a case says it was made from."""
    return next(line for line in case["description"].splitlines() if line.startswith("Node: ")).split()[1]


def node_result(source: onnx.ModelProto, name: str, values: list[numpy.ndarray]) -> numpy.ndarray:
    """What ONNX computes for the node when its tensors have these values; constants that no case has as a tensor are its own."""
    node = next(node for node in source.graph.node if node.name == name)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in source.graph.initializer}
    if node.op_type == "BatchNormalization":  # input, mean, var, weight, bias there.
        values = [values[0], values[3], values[4], values[1], values[2]]
    rest = iter(values)
    operands, one = {}, onnx.NodeProto()
    one.CopyFrom(node)
    one.input[:] = [f"operand_{i}" for i in range(len(node.input))]  # One tensor may stand there twice.
    for i, operand in enumerate(node.input):
        decides = node.op_type in ("Reshape", "Expand", "Unsqueeze", "ReduceMean", "ReduceMax", "ReduceSum") and i == 1
        operands[one.input[i]] = constants[operand] if decides else next(rest)
    if list(rest):
        raise AssertionError(f"{name}: its case has more tensors than it")
    inputs = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for key, value in operands.items()]
    graph = helper.make_graph([one], "one", inputs, [helper.make_value_info(node.output[0], onnx.TypeProto())])
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=source.opset_import, ir_version=9)).run(None, operands)[0]


def case_result(case: dict, arguments: list[Any], attributes: dict[str, Any]) -> torch.Tensor:
    """What torch computes for the case."""
    function: Any = torch
    for word in case["op"].split(".")[1:]:
        function = getattr(function, word)
    return function(*arguments, **attributes)
