"""Models of the standard's operators in forms that ONNX's own suite lacks: long loops and sequences, old opsets, regions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import onnx
from numpy import float32, int32, int64
from onnx import TensorProto, helper, numpy_helper

Case = tuple[str, onnx.ModelProto, list[numpy.ndarray]]
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def model_of(nodes: list[onnx.NodeProto], feeds: dict[str, numpy.ndarray], outputs: list[str], opset: int,
             constants: dict[str, numpy.ndarray] | None = None) -> tuple[onnx.ModelProto, list[numpy.ndarray]]:
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in feeds.items()]
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in outputs]
    initializers = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, results, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), list(feeds.values())


def value(name: str, dtype: int, shape: list[int] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def cases() -> Iterator[Case]:
    generator = numpy.random.default_rng(11)

    def real(*shape: int) -> numpy.ndarray:
        return (generator.standard_normal(shape) * 0.5).astype(float32)

    yield from recurrent(real)
    yield from loops(real)
    yield from scans(real)
    yield from regions(real)
    yield from others(real)


def recurrent(real) -> Iterator[Case]:
    """Over 32 steps: a stablehlo.while."""
    for op, gates, more in (("RNN", 1, {}), ("GRU", 3, {"linear_before_reset": 1}), ("LSTM", 4, {})):
        for direction in ("forward", "reverse", "bidirectional"):
            ways = 2 if direction == "bidirectional" else 1
            feeds = {"x": real(40, 3, 5), "w": real(ways, gates * 4, 5), "r": real(ways, gates * 4, 4), "b": real(ways, 2 * gates * 4),
                     "lengths": numpy.array([40, 33, 7], int32), "h": real(ways, 3, 4)}
            outputs = ["y", "yh"]
            if op == "LSTM":
                feeds |= {"c": real(ways, 3, 4), "p": real(ways, 12)}
                outputs.append("yc")
            node = helper.make_node(op, list(feeds), outputs, hidden_size=4, direction=direction, **more)
            yield f"long_{op.lower()}_{direction}", *model_of([node], feeds, outputs, 14)
    feeds = {"x": real(50, 2, 3), "w": real(1, 4, 3), "r": real(1, 4, 4)}
    node = helper.make_node("RNN", list(feeds), ["y"], hidden_size=4, activations=["Relu"], clip=0.7)
    yield "long_rnn_clip", *model_of([node], feeds, ["y"], 14)


def loops(real) -> Iterator[Case]:
    def loop(body: onnx.GraphProto, operands: list[str], outputs: list[str], feeds: dict[str, numpy.ndarray],
             constants: dict[str, numpy.ndarray]) -> tuple[onnx.ModelProto, list[numpy.ndarray]]:
        return model_of([helper.make_node("Loop", operands, outputs, body=body)], feeds, outputs, 16, constants)

    head = [value("i", INT64, []), value("go", BOOL, [])]
    step = [helper.make_node("Mul", ["x", "half"], ["scaled"]), helper.make_node("Cast", ["i"], ["number"], to=FLOAT),
            helper.make_node("Mul", ["number", "little"], ["small"]), helper.make_node("Add", ["scaled", "small"], ["next"]),
            helper.make_node("ReduceSum", ["next"], ["total"], keepdims=0), helper.make_node("Identity", ["go"], ["more"])]
    constants = {"half": numpy.array(0.9, float32), "little": numpy.array(0.01, float32)}
    carried = [value("x", FLOAT, [2, 3])]
    body = helper.make_graph(step, "body", head + carried, [value("more", BOOL, []), value("next", FLOAT, [2, 3]), value("total", FLOAT, [])])
    feeds = {"start": real(2, 3)}
    for trips in (0, 5, 100):
        yield f"loop_{trips}", *loop(body, ["trips", "", "start"], ["last", "totals"], feeds, constants | {"trips": numpy.array(trips, int64)})
    # Ends when the sum falls below a bound, which only the program knows.
    until = step[:5] + [helper.make_node("Greater", ["total", "bound"], ["more"])]
    body = helper.make_graph(until, "body", head + carried, [value("more", BOOL, []), value("next", FLOAT, [2, 3])])
    constants |= {"bound": numpy.array(0.75, float32), "yes": numpy.array(True)}
    constants["half"] = numpy.array(0.8, float32)
    feeds = {"start": numpy.ones((2, 3), float32)}
    yield "loop_until", *loop(body, ["", "yes", "start"], ["last"], feeds, constants | {"little": numpy.array(0, float32)})
    # What is carried grows: written out, however many trips.
    grow = [helper.make_node("Concat", ["x", "piece"], ["next"], axis=0), helper.make_node("Identity", ["go"], ["more"])]
    body = helper.make_graph(grow, "body", head + [value("x", FLOAT, None)], [value("more", BOOL, []), value("next", FLOAT, None)])
    yield "loop_grows", *loop(body, ["trips", "", "start"], ["last"], {"start": real(1, 2), "piece": real(1, 2)}, {"trips": numpy.array(40, int64)})


def scans(real) -> Iterator[Case]:
    nodes = [helper.make_node("Add", ["state", "x"], ["sum"]), helper.make_node("Mul", ["sum", "half"], ["next"]),
             helper.make_node("Mul", ["sum", "y"], ["out"])]
    half = {"half": numpy.array(0.5, float32)}
    body = helper.make_graph(nodes, "body", [value("state", FLOAT, [3]), value("x", FLOAT, [3]), value("y", FLOAT, [3])],
                             [value("next", FLOAT, [3]), value("out", FLOAT, [3])])
    for length in (6, 60):
        feeds = {"s": real(3), "a": real(length, 3), "b": real(3, length)}
        node = helper.make_node("Scan", list(feeds), ["last", "all"], body=body, num_scan_inputs=2, scan_input_axes=[0, 1],
                                scan_input_directions=[0, 1], scan_output_axes=[1], scan_output_directions=[1])
        yield f"scan_{length}", *model_of([node], feeds, ["last", "all"], 16, half)
    # Opset 8: batches, and sequences that end early.
    body = helper.make_graph(nodes[:2] + [helper.make_node("Identity", ["sum"], ["out"])], "body",
                             [value("state", FLOAT, [3]), value("x", FLOAT, [3])], [value("next", FLOAT, [3]), value("out", FLOAT, [3])])
    feeds = {"s": real(2, 3), "a": real(2, 5, 3)}
    node = helper.make_node("Scan", ["lengths", *feeds], ["last", "all"], body=body, num_scan_inputs=1)
    yield "scan_8_lengths", *model_of([node], feeds, ["last", "all"], 8, half | {"lengths": numpy.array([5, 3], int64)})


def regions(real) -> Iterator[Case]:
    image = {"x": real(2, 3, 9, 11)}
    boxes = numpy.array([[0, 0, 7, 5], [2, 1, 9, 8], [4, 4, 4.5, 4.2]], float32)
    batches = numpy.array([0, 1, 0], int64)
    for opset in (10, 16):
        for mode in ("avg", "max"):
            if opset == 10 and mode == "max":
                continue
            for ratio in (0, 2):
                node = helper.make_node("RoiAlign", ["x", "boxes", "batches"], ["y"], output_height=3, output_width=2, sampling_ratio=ratio,
                                        spatial_scale=0.8, mode=mode)
                constants = {"boxes": boxes, "batches": batches}
                yield f"roi_align_{opset}_{mode}_{ratio}", *model_of([node], image, ["y"], opset, constants)
    rois = numpy.array([[0, 0, 0, 7, 5], [1, 2, 1, 9, 8], [0, 4, 4, 4, 4], [1, 8, 6, 30, 20]], float32)
    node = helper.make_node("MaxRoiPool", ["x", "rois"], ["y"], pooled_shape=[3, 2], spatial_scale=0.9)
    yield "max_roi_pool", *model_of([node], image | {"rois": rois}, ["y"], 12)


def others(real) -> Iterator[Case]:
    # A sequence that never leaves the graph.
    body = helper.make_graph([helper.make_node("Mul", ["item", "factor"], ["out"])], "body",
                             [value("item", FLOAT, None), value("factor", FLOAT, None)], [value("out", FLOAT, None)])
    nodes = [helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0),
             helper.make_node("SequenceMap", ["parts", "y"], ["scaled"], body=body),
             helper.make_node("ConcatFromSequence", ["scaled"], ["z"], axis=0)]
    yield "sequence_map", *model_of(nodes, {"x": real(4, 3), "y": real(1, 3)}, ["z"], 18)
    # Two graphs may each have a weight of one name.
    branches = []
    for factor in (2, 3):
        weight = numpy_helper.from_array(numpy.full((40, 40), factor, float32), "w")
        branches.append(helper.make_graph([helper.make_node("MatMul", ["x", "w"], [f"r{factor}"])], "branch", [],
                                          [value(f"r{factor}", FLOAT, [2, 40])], [weight]))
    node = helper.make_node("If", ["which"], ["y"], then_branch=branches[0], else_branch=branches[1])
    yield "same_name_twice", *model_of([node], {"which": numpy.array(False), "x": real(2, 40)}, ["y"], 18)
    # Division of integers, negative steps, an axis given from the end.
    nodes = [helper.make_node("Slice", ["x", "from", "to", "axes", "steps"], ["y"])]
    bounds = {"from": numpy.array([-1, 5]), "to": numpy.array([-100, 0]), "axes": numpy.array([-1, 0]), "steps": numpy.array([-2, -1])}
    yield "slice_back", *model_of(nodes, {"x": real(6, 7)}, ["y"], 13, bounds)
