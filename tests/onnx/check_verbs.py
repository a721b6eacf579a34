"""Checks of `cupel run`, `compile`, `ops` and `list` on ONNX models, from outside: what they print, write and end with.

usage: check_verbs.py BUILD/bin [--plugin PJRT_PLUGIN.so] [--only WORD], with the Python that has onnx. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("bin", type=Path)
PARSER.add_argument("--plugin", type=Path, help="a PJRT plugin that the tests run on as well")
PARSER.add_argument("--only", default="", help="checks whose name holds this word")
OPTIONS = PARSER.parse_args()
CUPEL = OPTIONS.bin.resolve() / "cupel"

CHECKS: list[Callable[[Path], None]] = []


def check(function: Callable[[Path], None]) -> Callable[[Path], None]:
    CHECKS.append(function)
    return function


def expect(condition: object, message: object) -> None:
    if not condition:
        raise AssertionError(str(message))


def cupel(folder: Path, *words: object, code: int = 0) -> subprocess.CompletedProcess:
    result = subprocess.run([str(CUPEL), *map(str, words)], capture_output=True, text=True, errors="replace", cwd=folder, stdin=subprocess.DEVNULL, timeout=300)
    expect(result.returncode == code, f"cupel {' '.join(map(str, words))} ended with {result.returncode}, not {code}:\n{result.stdout}{result.stderr}")
    return result


def run(folder: Path, *words: object, code: int = 0) -> list[dict]:
    """The records of a run."""
    report = folder / "report.json"
    cupel(folder, "run", *words, "--json", report, "--results", folder / "results", code=code)
    return json.loads(report.read_text())["tests"]


def value(name: str, shape: list, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def save(path: Path, nodes: list, inputs: list, outputs: list, weights: dict[str, numpy.ndarray] | None = None, opset: int = 18,
         domains: dict[str, int] | None = None, value_info: list | None = None) -> Path:
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
                              value_info=value_info)
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, version) for name, version in (domains or {}).items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def save_data(folder: Path, inputs: list[numpy.ndarray], outputs: list[numpy.ndarray]) -> None:
    folder.mkdir(parents=True)
    for stem, arrays in (("input", inputs), ("output", outputs)):
        for i, array in enumerate(arrays):
            (folder / f"{stem}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


WEIGHT = numpy.random.default_rng(1).standard_normal((64, 32), dtype=numpy.float32)
BIAS = numpy.random.default_rng(2).standard_normal(32, dtype=numpy.float32)


def dense_layer(path: Path, batch: object = "batch") -> Path:
    """relu(x @ w + b), with a weight large enough to stay outside the program."""
    return save(path, [helper.make_node("MatMul", ["x", "w"], ["xw"], name="product"), helper.make_node("Add", ["xw", "b"], ["s"]),
                       helper.make_node("Relu", ["s"], ["y"])],
                [value("x", [batch, 64])], [value("y", [batch, 32])], {"w": WEIGHT, "b": BIAS})


def dense_result(x: numpy.ndarray) -> numpy.ndarray:
    return numpy.maximum(x @ WEIGHT + BIAS, 0)


def sample(rows: int, seed: int = 3) -> numpy.ndarray:
    return numpy.random.default_rng(seed).standard_normal((rows, 64), dtype=numpy.float32)


@check
def data_sets_are_tests(folder: Path) -> None:
    dense_layer(folder / "suite/layer/model.onnx")
    for i, rows in enumerate((2, 5, 1)):
        x = sample(rows, i)
        save_data(folder / f"suite/layer/test_data_set_{i}", [x], [dense_result(x) + (i == 2)])
    listed = cupel(folder, "list", "suite", "--format", "ids").stdout.split()
    expect(listed == ["onnx::layer", "onnx::layer#2", "onnx::layer#3"], listed)
    records = {record["id"]: record for record in run(folder, "suite", code=1)}
    expect([records[name]["outcome"] for name in ("layer", "layer#2", "layer#3")] == ["passed", "passed", "failed"], records)
    wrong = records["layer#3"]
    expect(wrong["error_class"] == "wrong_result" and wrong["last_stage"] == "compare", wrong)
    expect(wrong["bringup_status"] == "INCORRECT_RESULT" and wrong["reasons"][0]["name"] == "DATA_MISMATCH_ALL_CLOSE", wrong)
    stages = [stage["stage"] for stage in records["layer"]["stages"]]
    expect(stages == ["load", "frontend", "compile", "execute", "compare"], stages)
    expect(records["layer"]["notes"]["expectation"] == "the outputs stored with it", records["layer"])


@check
def models_of_a_folder_share_the_data_that_fit_them(folder: Path) -> None:
    dense_layer(folder / "one/resnet.onnx")
    x = sample(2)
    save_data(folder / "one/test_data_set_0", [x], [dense_result(x)])
    record, = run(folder, "one")
    expect(record["id"] == "resnet.onnx" and record["notes"]["expectation"] == "the outputs stored with it", record)
    dense_layer(folder / "one/other.onnx")
    save(folder / "one/narrow.onnx", [helper.make_node("Add", ["x", "x"], ["y"])], [value("x", [3])], [value("y", [3])])
    records = {record["id"]: record for record in run(folder, "one")}
    for name in ("resnet.onnx", "other.onnx"):
        expect(records[name]["outcome"] == "passed" and records[name]["notes"]["expectation"] == "the outputs stored with it", records[name])
    # Data of other shapes are not its own.
    expect(records["narrow.onnx"]["outcome"] == "unjudged" and "no expectation" in records["narrow.onnx"]["message"], records["narrow.onnx"])
    # One more model takes nobody's data away, whatever its name.
    dense_layer(folder / "one/model.onnx")
    records = {record["id"]: record for record in run(folder, "one")}
    expect([records[name]["outcome"] for name in ("one", "resnet.onnx", "other.onnx", "narrow.onnx")] == ["passed", "passed", "passed", "unjudged"], records)


@check
def the_suites_bounds_hold_unless_the_configuration_says_otherwise(folder: Path) -> None:
    save(folder / "s/double/model.onnx", [helper.make_node("Add", ["x", "x"], ["y"])], [value("x", [3])], [value("y", [3])])
    x = numpy.array([1, 2, 4], numpy.float32)
    save_data(folder / "s/double/test_data_set_0", [x], [2 * x * numpy.float32(1.002)])
    record, = run(folder, "s", code=1)
    expect(record["comparisons"][0]["rtol_threshold"] == 1e-3 and record["comparisons"][0]["atol_threshold"] == 1e-7, record)
    (folder / "config.yaml").write_text("test_config:\n  double:\n    status: EXPECTED_PASSING\n    allclose_rtol: 0.01\n    reason: made up\n")
    record, = run(folder, "s", "--config", "config.yaml")
    expect(record["outcome"] == "passed" and record["comparisons"][0]["rtol_threshold"] == 0.01, record)
    (folder / "config.yaml").write_text("test_config:\n  double:\n    status: KNOWN_FAILURE_XFAIL\n    reason: made up\n")
    record, = run(folder, "s", "--config", "config.yaml")
    expect(record["outcome"] == "xfailed", record)


@check
def without_data_inputs_are_made_up(folder: Path) -> None:
    dense_layer(folder / "layer.onnx")
    record, = run(folder, "layer.onnx", "--seed", 7, code=1)  # Nothing of the run was judged.
    expect(record["outcome"] == "unjudged" and record["notes"]["inputs"] == "made from seed 7", record)
    expect("dimension 0 ('batch') of input 'x' is taken as 1" in record["notes"]["import"], record)


@check
def files_beside_a_model_are_its_data(folder: Path) -> None:
    dense_layer(folder / "layer.onnx")
    x = sample(4)
    save_file({"x": x}, folder / "layer.inputs.safetensors")
    save_file({"y": dense_result(x)}, folder / "layer.expected.safetensors")
    record, = run(folder, "layer.onnx")
    expect(record["outcome"] == "passed" and record["notes"]["expectation"] == "the file beside it", record)
    save_file({"y": dense_result(-x)}, folder / "layer.expected.safetensors")
    record, = run(folder, "layer.onnx", code=1)
    expect(record["error_class"] == "wrong_result", record)
    save_file({"z": x}, folder / "layer.inputs.safetensors")
    record, = run(folder, "layer.onnx", code=1)
    expect("the model has no input 'z'" in record["message"], record)


@check
def a_device_is_compared_with_the_reference(folder: Path) -> None:
    if not OPTIONS.plugin:
        return
    dense_layer(folder / "models/layer.onnx")
    dense_layer(folder / "models/data/model.onnx")
    x = sample(3)
    save_data(folder / "models/data/test_data_set_0", [x], [dense_result(x)])
    save(folder / "models/norm.onnx", [helper.make_node("LayerNormalization", ["x", "s"], ["y"], axis=-1)], [value("x", [4, 64])],
         [value("y", [4, 64])], {"s": numpy.ones(64, numpy.float32)})
    records = {record["id"]: record for record in run(folder, "models", "--device", OPTIONS.plugin.resolve())}
    outcomes = {name: record["outcome"] for name, record in records.items()}
    expect(outcomes == {"data": "passed", "layer.onnx": "passed", "norm.onnx": "passed"}, records)
    # Where our plugin computes with the reference's kernels, that both agree is no verdict.
    same = {record["id"]: record["outcome"] for record in run(folder, "models", "--device", f"{OPTIONS.plugin.resolve()}?backend=reference")}
    expect(same == {"data": "passed", "layer.onnx": "unjudged", "norm.onnx": "unjudged"}, same)
    stages = [stage["stage"] for stage in records["layer.onnx"]["stages"]]
    expect(stages == ["load", "frontend", "compile", "execute", "reference", "compare"], stages)
    expect(records["layer.onnx"]["notes"]["expectation"] == "the reference's result", records["layer.onnx"])
    expect(records["layer.onnx"]["comparisons"][0]["pcc"] > 0.999, records["layer.onnx"])
    expect(records["data"]["notes"]["expectation"] == "the outputs stored with it", records["data"])


@check
def refusals_say_whether_for_good(folder: Path) -> None:
    save(folder / "m/nonzero.onnx", [helper.make_node("NonZero", ["x"], ["y"], name="where")], [value("x", [3])], [value("y", [1, "n"], TensorProto.INT64)])
    save(folder / "m/unknown.onnx", [helper.make_node("Frobnicate", ["x"], ["y"], name="f", speed=3)], [value("x", [2, 3])], [value("y", [2, 3])])
    save(folder / "m/foreign.onnx", [helper.make_node("Frobnicate", ["x"], ["y"], domain="acme")], [value("x", [2, 3])], [value("y", [2, 3])],
         domains={"acme": 1})
    save(folder / "m/strings.onnx", [helper.make_node("Identity", ["x"], ["y"])], [value("x", [2], TensorProto.STRING)], [value("y", [2], TensorProto.STRING)])
    records = {record["id"]: record for record in run(folder, "m", code=1)}

    def is_refused(name: str, outcome: str, error: str, note: str, reason: str, *words: str) -> None:
        record = records[name]
        expect((record["outcome"], record["error_class"], record["notes"]["refusal"]) == (outcome, error, note), record)
        expect(record["last_stage"] == "frontend", record)
        expect(record["reasons"] and record["reasons"][0]["name"] == reason, record)
        for word in words:
            expect(word in record["message"], f"no '{word}' in {record['message']}")

    is_refused("nonzero.onnx", "skipped", "data_dependent_shape", "never: data-dependent shape", "DATA_DEPENDENT_SHAPE", "never supported", "'where' (NonZero, opset 18)",
               "3xf32")
    is_refused("unknown.onnx", "failed", "not_yet_lowered", "not yet", "NOT_YET_LOWERED", "not supported yet", "'f' (Frobnicate, opset 18)", "2x3xf32", "speed=3")
    is_refused("foreign.onnx", "skipped", "other_domain", "never: other domain", "OTHER_DOMAIN", "(acme.Frobnicate, opset 1)")
    is_refused("strings.onnx", "skipped", "needs_strings", "never: strings", "NEEDS_STRINGS", "input 'x'")
    expect(records["unknown.onnx"]["bringup_status"] == "FAILED_FE_COMPILATION", records["unknown.onnx"])


@check
def bad_files_are_failures_with_a_place(folder: Path) -> None:
    good = dense_layer(folder / "good.onnx").read_bytes()
    bad = folder / "bad"
    bad.mkdir()
    (bad / "empty.onnx").write_bytes(b"")
    (bad / "text.onnx").write_text("no model at all\n")
    (bad / "cut.onnx").write_bytes(good[:len(good) // 2])
    for record in run(folder, "bad", code=1):
        expect(record["outcome"] == "failed" and record["error_class"] == "invalid_model", record)
        expect(record["message"].startswith(record["file"]) or record["id"] in record["message"], record)
        expect(record["reasons"][0]["name"] == "INVALID_MODEL", record)
    for verb in ("compile", "ops"):
        result = cupel(folder, verb, "bad/cut.onnx", code=1)
        expect("bad/cut.onnx" in result.stderr, result.stderr)
        expect("no such file" in cupel(folder, verb, "gone.onnx", code=2).stderr.lower(), "a missing file")


@check
def data_that_do_not_fit_are_named(folder: Path) -> None:
    for name in ("missing", "type", "rank", "size"):
        save(folder / f"d/{name}/model.onnx", [helper.make_node("Add", ["a", "b"], ["y"])], [value("a", [2, "n"]), value("b", [2, "n"])], [value("y", [2, "n"])])
    a = numpy.ones((2, 3), numpy.float32)
    save_data(folder / "d/missing/test_data_set_0", [a], [a])
    save_data(folder / "d/type/test_data_set_0", [a, a.astype(numpy.int32)], [a])
    save_data(folder / "d/rank/test_data_set_0", [a, a[0]], [a])
    save_data(folder / "d/size/test_data_set_0", [a, a[:1]], [a])
    messages = {record["id"]: record["message"] for record in run(folder, "d", code=1)}
    expect("test_data_set_0: holds no input_1.pb for input 'b'" in messages["missing"], messages)
    expect("input 'b' is" in messages["type"] and "i32" in messages["type"], messages)
    expect("input 'b' has rank 2 in the model, but 1 was given" in messages["rank"], messages)
    expect("dimension 0 of input 'b' is 2 in the model, but 1 was given" in messages["size"], messages)


@check
def inputs_that_decide_shapes_are_bound(folder: Path) -> None:
    save(folder / "m/reshape/model.onnx", [helper.make_node("Reshape", ["x", "s"], ["y"])], [value("x", [2, 6]), value("s", [2], TensorProto.INT64)],
         [value("y", ["a", "b"])])
    x = numpy.arange(12, dtype=numpy.float32).reshape(2, 6)
    save_data(folder / "m/reshape/test_data_set_0", [x, numpy.array([3, 4])], [x.reshape(3, 4)])
    record, = run(folder, "m")
    expect("input 's' decides shapes: its value is taken from the data" in record["notes"]["import"], record)
    compiled = cupel(folder, "compile", "m/reshape/model.onnx")
    expect("tensor<3x4xf32>" in compiled.stdout and "input 's' decides shapes" in compiled.stderr, compiled)
    refused = cupel(folder, "compile", "m/reshape/model.onnx", "--no-data", code=1).stderr
    expect("data-dependent shape" in refused and "input 's'" in refused, refused)


@check
def compiled_programs_run_again(folder: Path) -> None:
    dense_layer(folder / "layer.onnx")
    x = sample(2)
    numpy.save(folder / "x.npy", x)
    for emit, ending in (("stablehlo", "mlir"), ("portable", "mlirbc")):
        place = folder / emit
        place.mkdir()
        cupel(folder, "compile", "layer.onnx", f"--emit={emit}", "--shape", "x=2x64", "-o", f"{emit}/layer.{ending}")
        weights = load_file(place / "layer.weights.safetensors")
        expect(list(weights) == ["w"] and (weights["w"] == WEIGHT).all(), weights)
        cupel(folder, "eval", f"{emit}/layer.{ending}", "--args", "x.npy", "--save", place)
        expect(numpy.allclose(numpy.load(place / "result0.npy"), dense_result(x), 1e-4, 1e-5), f"{emit} and eval")
        if emit == "stablehlo":
            expect('loc("w")' in (place / "layer.mlir").read_text(), "the weight's argument has its name")
        save_file({"0": x}, place / "layer.inputs.safetensors")
        save_file({"0": dense_result(x)}, place / "layer.expected.safetensors")
        record, = run(folder, f"{emit}/layer.{ending}")
        expect(record["suite"] == "programs" and record["outcome"] == "passed", record)
    (folder / "inline").mkdir()
    cupel(folder, "compile", "layer.onnx", "--weights=inline", "--shape", "x=2x64", "-o", "inline/layer.mlir")
    expect(sorted(path.name for path in (folder / "inline").iterdir()) == ["layer.mlir"], "weights are inside")
    cupel(folder, "eval", "inline/layer.mlir", "--args", "x.npy", "--save", "inline")
    expect(numpy.allclose(numpy.load(folder / "inline/result0.npy"), dense_result(x), 1e-4, 1e-5), "inline and eval")
    # A program goes the same way.
    cupel(folder, "compile", "inline/layer.mlir", "--emit=portable", "-o", "again.mlirbc")
    cupel(folder, "eval", "again.mlirbc", "--args", "x.npy", "--save", folder)
    expect(numpy.array_equal(numpy.load(folder / "result0.npy"), numpy.load(folder / "inline/result0.npy")), "a program compiled")
    expect("use -o FILE" in cupel(folder, "compile", "layer.onnx", code=2).stderr, "weights and standard output")


@check
def shapes_are_taken_and_checked(folder: Path) -> None:
    save(folder / "two.onnx", [helper.make_node("Add", ["a", "b"], ["y"])], [value("a", ["n", 3]), value("b", ["n", 3])], [value("y", ["n", 3])])
    one = cupel(folder, "compile", "two.onnx")
    expect("tensor<1x3xf32>" in one.stdout and "'n'" in one.stderr and "--shape" in one.stderr, one)
    # A symbol that one input decides holds for the others.
    five = cupel(folder, "compile", "two.onnx", "--shape", "a=5x3")
    expect("%arg1: tensor<5x3xf32>" in five.stdout and not five.stderr, five)
    expect("dimension 1 of input 'a' is 3 in the model, but 4 was given" in cupel(folder, "compile", "two.onnx", "--shape", "a=5x4", code=1).stderr, "a wrong size")
    expect("no input 'z'; it has a" in cupel(folder, "compile", "two.onnx", "--shape", "z=1", code=2).stderr, "a wrong name")
    for wrong in ("a", "a=x", "a=2x", "a=-1x3", "=2"):
        expect("wants NAME=2x3" in cupel(folder, "compile", "two.onnx", "--shape", wrong, code=2).stderr, wrong)


@check
def contradictory_types_name_the_node(folder: Path) -> None:
    refused = 0
    for op, count in (("Erf", 1), ("Gelu", 1), ("Softmax", 1), ("LayerNormalization", 2), ("And", 2), ("Sin", 1), ("Conv", 2), ("BatchNormalization", 5), ("Pow", 2)):
        for kind in (TensorProto.BOOL, TensorProto.COMPLEX64):
            operands = [f"x{i}" for i in range(count)]
            save(folder / "m.onnx", [helper.make_node(op, operands, ["y"], name="guilty")],
                 [value(name, [4, 4], kind if i == 0 else TensorProto.FLOAT) for i, name in enumerate(operands)], [value("y", None)], opset=20)
            result = subprocess.run([str(CUPEL), "compile", "m.onnx"], capture_output=True, text=True, cwd=folder, timeout=300, stdin=subprocess.DEVNULL)
            expect(result.returncode in (0, 1) and "does not verify" not in result.stderr, f"{op}: {result.returncode} {result.stderr}")
            refused += result.returncode
            expect(result.returncode == 0 or "'guilty'" in result.stderr or "input 'x0'" in result.stderr, f"{op}: {result.stderr}")
    expect(refused >= 9, f"only {refused} of 18 were refused")


@check
def run_takes_shapes_as_well(folder: Path) -> None:
    dense_layer(folder / "m/layer.onnx")
    record, = run(folder, "m/layer.onnx", "--shape", "x=3x64", "--device", OPTIONS.plugin.resolve() if OPTIONS.plugin else "reference", code=0 if OPTIONS.plugin else 1)
    expect(record["outcome"] == ("passed" if OPTIONS.plugin else "unjudged") and record["notes"]["shape"] == "x=3x64" and "import" not in record["notes"], record)
    if OPTIONS.plugin:
        expect(record["comparisons"][0]["shape"] == [3, 32] if "shape" in record["comparisons"][0] else record["comparisons"], record)
    record, = run(folder, "m/layer.onnx", code=1)
    expect("'batch'" in record["notes"]["import"] and "--shape" in record["notes"]["import"], record)  # 1, with a note
    record, = run(folder, "m/layer.onnx", "--shape", "x=3x65", code=1)
    expect("dimension 1 of input 'x' is 64 in the model, but 65 was given" in record["message"], record)
    for wrong in ("x", "x=2y3", "=2"):
        expect("wants NAME=2x3" in cupel(folder, "run", "m/layer.onnx", "--shape", wrong, code=2).stderr, wrong)
    # Of several models it holds for those that have the input; a name that none has is an error.
    save(folder / "m/other.onnx", [helper.make_node("Relu", ["a"], ["b"])], [value("a", ["n", 2])], [value("b", ["n", 2])])
    layer, other = run(folder, "m", "--shape", "x=5x64", code=1)
    expect(layer["notes"]["shape"] == "x=5x64" and "shape" not in other["notes"], (layer, other))
    result = cupel(folder, "run", "m", "--shape", "z=5", "--results", folder / "results", code=2)
    expect("--shape z=5: no model of this run took it" in result.stdout + result.stderr and "it has x float[batch,64]" in result.stdout + result.stderr, result)


@check
def a_shape_says_more_than_data_of_another(folder: Path) -> None:
    dense_layer(folder / "m/layer.onnx")
    x = sample(2)
    save_file({"x": x}, folder / "m/layer.inputs.safetensors")
    save_file({"0": -dense_result(x)}, folder / "m/layer.expected.safetensors")
    record, = run(folder, "m", code=1)
    expect(record["error_class"] == "wrong_result", record)
    record, = run(folder, "m", "--shape", "x=2x64", code=1)  # The shape they have.
    expect(record["error_class"] == "wrong_result", record)
    record, = run(folder, "m", "--shape", "x=4x64", code=1)
    expect(record["outcome"] == "unjudged" and "x: made from seed" in record["notes"]["inputs"] and "left aside" in record["notes"]["import"], record)
    # Values that decide shapes are taken from the data all the same.
    save(folder / "d/reshape/model.onnx", [helper.make_node("Reshape", ["x", "s"], ["y"])], [value("x", ["n", 6]), value("s", [2], TensorProto.INT64)], [value("y", None)])
    save_data(folder / "d/reshape/test_data_set_0", [numpy.zeros((2, 6), numpy.float32), numpy.array([-1, 4])], [numpy.zeros((3, 4), numpy.float32)])
    record, = run(folder, "d", "--shape", "x=4x6", code=1)
    expect("input 's' decides shapes" in record["notes"]["import"] and "left aside" in record["notes"]["import"], record)


@check
def composites_can_be_written_out(folder: Path) -> None:
    save(folder / "gelu.onnx", [helper.make_node("Gelu", ["x"], ["y"])], [value("x", [4])], [value("y", [4])], opset=20)
    kept, plain = cupel(folder, "compile", "gelu.onnx").stdout, cupel(folder, "compile", "gelu.onnx", "--no-composites").stdout
    expect("stablehlo.composite \"tenstorrent.gelu\"" in kept and "stablehlo.composite" not in plain, kept + plain)


@check
def ops_tells_what_fails_and_goes_on(folder: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["r"], name="first"), helper.make_node("Frobnicate", ["r"], ["f"], name="bad", mode="fast"),
             helper.make_node("Sigmoid", ["f"], ["s"], name="typed"), helper.make_node("Mystery", ["r"], ["m"], name="worse"),
             helper.make_node("Tanh", ["m"], ["t"], name="lost"), helper.make_node("Relu", ["s"], ["y"], name="last"), helper.make_node("Relu", ["t"], ["z"])]
    save(folder / "model.onnx", nodes, [value("x", [2, 3])], [value("y", [2, 3]), value("z", ["q"])], value_info=[value("f", [2, 3])])
    found = json.loads(cupel(folder, "ops", "model.onnx", "--format", "json", code=1).stdout)
    ops = {entry["op"]: entry for entry in found["ops"]}
    expect((found["nodes"], found["lowered"], found["failed"], found["unreached"]) == (7, 3, 2, 2), found)
    expect(ops["Relu"]["count"] == 3 and ops["Relu"]["lowered"] == 2 and ops["Relu"]["supported"], ops["Relu"])
    expect(ops["Sigmoid"]["lowered"] == 1 and ops["Tanh"]["unreached"] == 1, ops)
    failure, = ops["Frobnicate"]["failures"]
    expect(failure["node"] == "bad" and failure["kind"] == "not yet" and "mode=fast" in failure["message"] and "2x3xf32" in failure["message"], failure)
    expect(ops["Sigmoid"]["forms"] == [{"operands": ["f32[2,3]"], "results": ["f32[2,3]"], "count": 1}], ops["Sigmoid"])
    table = cupel(folder, "ops", "model.onnx", code=1).stdout
    expect("7 nodes of 5 operators: 3 supported, 2 fail, 2 not reached" in table and "node 'worse' (Mystery, opset 18)" in table, table)
    dense_layer(folder / "layer.onnx")
    table = cupel(folder, "ops", "layer.onnx", "--shape", "x=8x64").stdout
    expect("f32[8,64], f32[64,32] -> f32[8,32]" in table and "3 nodes of 3 operators: 3 supported, 0 fail" in table, table)
    known = json.loads(cupel(folder, "ops", "--known", "--format", "json").stdout)
    expect(known[".onnx"]["Softmax"], known.keys())
    cupel(folder, "ops", code=2)


@check
def ops_counts_what_functions_and_bodies_hold(folder: Path) -> None:
    body = helper.make_graph([helper.make_node("Add", ["v", "x"], ["w"]), helper.make_node("Identity", ["c"], ["d"])], "body",
                             [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("v", [3])],
                             [value("d", [], TensorProto.BOOL), value("w", [3])])
    save(folder / "loop.onnx", [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)], [value("x", [3])], [value("y", [3])],
         {"n": numpy.array(4)})
    found = json.loads(cupel(folder, "ops", "loop.onnx", "--format", "json").stdout)
    counts = {entry["op"]: entry["count"] for entry in found["ops"]}
    expect(counts == {"Loop": 1, "Add": 1, "Identity": 1}, counts)
    # Shapes that are computed from shapes are gone before the program is written.
    save(folder / "shapes.onnx", [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Reshape", ["x", "s"], ["y"])], [value("x", [2, 3])],
         [value("y", [2, 3])])
    found = json.loads(cupel(folder, "ops", "shapes.onnx", "--format", "json").stdout)
    expect({entry["op"]: (entry["folded"], entry["lowered"]) for entry in found["ops"]} == {"Shape": (1, 0), "Reshape": (0, 1)}, found)
    function = helper.make_function("acme", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 18)])
    graph = helper.make_graph([helper.make_node("Twice", ["x"], ["t"], domain="acme"), helper.make_node("Twice", ["t"], ["y"], domain="acme")], "g",
                              [value("x", [3])], [value("y", [3])])
    onnx.save(helper.make_model(graph, functions=[function], opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("acme", 1)], ir_version=9),
              folder / "function.onnx")
    found = json.loads(cupel(folder, "ops", "function.onnx", "--format", "json").stdout)
    expect({entry["op"]: entry["count"] for entry in found["ops"]} == {"Add": 2}, found)


def main() -> int:
    passed = failed = 0
    for function in CHECKS:
        if OPTIONS.only not in function.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(Path(folder))
                passed += 1
            except Exception as error:  # noqa: BLE001
                failed += 1
                print(f"{function.__name__}: {error if isinstance(error, AssertionError) else traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
