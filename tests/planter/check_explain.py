"""Faults planted by a rule about operations: does `cupel explain` blame the operation, and does `cupel reduce` leave three operations at most?

  check_explain.py BUILD [--full] [-k WORD] [--page FILE] [--verbose]
  check_explain.py BUILD --full --resume FOLDER --for SECONDS     until it says that all are examined

Every program that the planter is given is changed wherever its rule holds, so that a part is as wrong as the whole. Without --full a small set is run.
"""

from __future__ import annotations

import argparse
import array
import concurrent.futures
import json
import math
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from operation_faults import ALONE, FAULTS, MODELS, SMALL, Fault, deep_model

ROOT = Path(__file__).resolve().parent.parent.parent
PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("build", type=Path)
PARSER.add_argument("--full", action="store_true", help="all kinds in all models")
PARSER.add_argument("--page", type=Path, help="write what was found as a page")
PARSER.add_argument("--verbose", action="store_true")
PARSER.add_argument("-k", default="", help="only kinds and models that contain this")
PARSER.add_argument("--resume", type=Path, help="keeps what was found here, and goes on from there")
PARSER.add_argument("--again", action="store_true", help="with --resume: what had a problem is examined anew")
PARSER.add_argument("--for", dest="seconds", type=float, default=float("inf"), help="after so many seconds no other fault is begun (exit code 3)")
OPTIONS = PARSER.parse_args()
BUILD = OPTIONS.build.resolve()
CUPEL = BUILD / "bin/cupel"
PLANTER = BUILD / "lib/operation_planter.so"
COMMIT = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
PINNED_GOAL, SMALL_GOAL, EXPLAIN_SECONDS, REDUCE_SECONDS = 0.95, 0.90, 10, 60


class Found(NamedTuple):
    kind: str
    model: str
    answer: dict
    reduced: dict | None
    problem: str
    commit: str = ""
    """Of the source that was built."""

    @property
    def shows(self) -> bool:
        """Otherwise the fault changes nothing in this model."""
        return self.answer.get("answer") != "passes"

    @property
    def is_small(self) -> bool:
        return bool(self.reduced) and self.reduced["after"]["operations"] <= 3


class Findings:
    """What was found of each fault, kept in a file as it comes."""

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / "found.jsonl" if folder else None
        self.lock = threading.Lock()
        self.of: dict[tuple[str, str], Found] = {}
        if self.path and self.path.exists():
            for line in self.path.read_text().splitlines():
                one = Found(*json.loads(line))
                self.of[one.kind, one.model] = one
            if OPTIONS.again:
                self.of = {pair: one for pair, one in self.of.items() if not one.problem and (not one.shows or one.is_small)}

    def add(self, one: Found) -> None:
        one = one._replace(commit=COMMIT)
        with self.lock:
            self.of[one.kind, one.model] = one
            if self.path:
                with self.path.open("a") as file:
                    file.write(json.dumps(one) + "\n")


def cupel(*words: object, timeout: float = 200) -> subprocess.CompletedProcess:
    return subprocess.run([CUPEL, *map(str, words)], capture_output=True, text=True, timeout=timeout, check=False, env={**os.environ, **ENVIRONMENT})


ENVIRONMENT: dict[str, str] = {}


def examine(kind: str, name: str, model: Path, folder: Path) -> Found:
    fault = FAULTS[kind]
    place = folder / f"{name.replace('/', '-')}-{kind.replace(' ', '-')}"
    devices = "&num_devices=8" if "num_replicas" in model.read_text() else ""
    device = ("--device", f"{PLANTER}?{fault.rule}{devices}", "--results", place / "results")
    hangs = ("--probe-timeout", 4) if fault.outcome == "timed out" else ("--tries", 30) if fault.is_seldom else ()
    result = cupel("explain", model, *device, *hangs, "--json")
    if not result.stdout.startswith(("{", "[\n")):
        return Found(kind, name, {}, None, f"no answer: {result.stderr[-300:]}")
    answer = json.loads(result.stdout)
    if isinstance(answer, list):
        # The first of several programs in which it shows.
        answer = next((one for one in answer if one["answer"] != "passes"), answer[0])
        model = Path(f"{model}{answer['test'].partition('.mlir')[2] or '#1'}")
    if answer["answer"] == "passes":
        return Found(kind, name, answer, None, "")
    names = [one["name"] for one in answer["operations"]]
    problem = ""
    if fault.guilty not in names:
        problem = f"blames {names or 'nobody'} ({answer['answer']})"
    elif fault.answers and answer["answer"] not in fault.answers:
        problem = f"answers {answer['answer']}"
    elif answer["outcome"] not in (fault.outcome, fault.otherwise):
        problem = f"says that it {answer['outcome']}"
    reduction = cupel("reduce", model, *device, *hangs, "--json", "-o", place / "out")
    reduced = json.loads(reduction.stdout) if reduction.stdout.startswith("{") else None
    if reduced and not fault.is_seldom:
        script = subprocess.run([place / "out/repro.sh"], capture_output=True, text=True, check=False, timeout=400,
                                env={**os.environ, "CUPEL_DEVICE": str(BUILD / "bin/cupel-device")}) if "hang" not in fault.rule else None
        # Without its loop it comes to its end, and is wrong.
        ends = (fault.outcome, "incorrect") if fault.outcome == "timed out" else (fault.outcome,)
        if script and (script.returncode != 1 or not script.stdout.startswith(ends)):
            problem = problem or f"repro.sh: {script.stdout[:200]}{script.stderr[:200]}"
    return Found(kind, name, answer, reduced, problem)


def check_right_devices(models: list[Path], folder: Path) -> list[str]:
    """Nobody is blamed on a device that is right."""
    blamed = []
    for model in models:
        result = cupel("explain", model, "--device", f"{PLANTER}?op=stablehlo.nothing&effect=scale&num_devices=8", "--results", folder / "right", "--json")
        answer = json.loads(result.stdout) if result.stdout.startswith("{") else {"answer": result.stderr[-200:], "operations": []}
        if answer["answer"] != "passes" or result.returncode != 0:
            blamed.append(f"{model.stem}: {answer['answer']}")
    return blamed


def check_results_of_any_program(folder: Path) -> dict[str, bool]:
    """Faults in how results are written, whatever computed them: no operation is blamed."""
    model = ROOT / "tests/planter/models/lstm_cell.mlir"
    kinds = ("scaled", "row_zeroed", "exponent_bit", "off_by_one", "swapped_outputs", "second_is_first", "flaky", "stale") if not OPTIONS.full else \
        tuple(re.findall(r'\{"((?!right_|of_another)[a-z_]+)",', (ROOT / "tests/planter/Faults.cpp").read_text()))
    wrong = []
    for kind in kinds:
        result = cupel("explain", model, "--device", f"{BUILD / 'lib/planter_plugin.so'}?fault={kind}", "--results", folder / "any", "--json")
        answer = json.loads(result.stdout) if result.stdout.startswith("{") else {"answer": result.stderr[-200:], "operations": []}
        if answer["operations"] or answer["answer"] not in ("any program", "not deterministic"):
            wrong.append(f"{kind}: {answer['answer']}")
    for line in wrong:
        print(f"  no operation is to blame for {line}")
    return {"no operation is blamed where results of any program are wrong": not wrong}


def check_memory_of_it(model: Path, folder: Path) -> dict[str, bool]:
    """Explaining again takes no probe; a search that is killed loses the probe that ran."""
    words = ["explain", model, "--device", f"{PLANTER}?op=stablehlo.minimum&producer=stablehlo.subtract&effect=negate", "--results", folder / "again", "--json"]
    killed = 0
    for seconds in (0.3, 0.5, 0.8):
        process = subprocess.Popen([CUPEL, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT})
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
    first = json.loads(cupel(*words).stdout)
    began = time.monotonic()
    second = json.loads(cupel(*words).stdout)
    seconds = time.monotonic() - began
    same = all(first[key] == second[key] for key in ("answer", "operations", "sentence"))
    return {"a search that was killed knows what it had found": killed == 0 or first["known"] > 0 or first.get("remembered", False),
            "explaining again is instant and the same": second.get("remembered", False) and same and seconds < 3}


def check_kills(model: Path, folder: Path) -> dict[str, bool]:
    """Killed at random moments, by either signal, a reduction goes on where it was, and ends in what it gives when nobody disturbs it."""
    rule = f"{PLANTER}?op=stablehlo.minimum&producer=stablehlo.subtract&effect=negate"

    def words(out: Path, *more: object) -> list[str]:
        return [str(CUPEL), *map(str, ("reduce", model, "--device", rule, "--results", folder / "killed-results", "--json", "-o", out, *more))]

    def environment(name: str) -> dict[str, str]:
        return {**os.environ, "CUPEL_CACHE_DIR": str(folder / name)}

    def program(out: Path) -> list[bytes]:
        return [path.read_bytes() for path in sorted((out / "workload").glob("*")) if path.suffix in (".mlirbc", ".safetensors")]

    calm = subprocess.run(words(folder / "calm"), capture_output=True, text=True, check=False, env=environment("calm-cache"), timeout=300)
    seconds = json.loads(calm.stdout)["seconds"] if calm.stdout.startswith("{") else 1.0
    chance = random.Random(18)
    for number in range(12 if OPTIONS.full else 4):
        process = subprocess.Popen(words(folder / "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment("killed-cache"))
        try:
            process.wait(0.2 + chance.random() * seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT if number % 2 else signal.SIGKILL)
            process.wait(60)
    after = subprocess.run(words(folder / "killed"), capture_output=True, text=True, check=False, env=environment("killed-cache"), timeout=300)
    done = json.loads(after.stdout) if after.stdout.startswith("{") else {}
    many = subprocess.run(words(folder / "many", "-j", 3), capture_output=True, text=True, check=False, env=environment("many-cache"), timeout=300)
    short = subprocess.run(words(folder / "short", "--time", 0.05), capture_output=True, text=True, check=False, env=environment("short-cache"), timeout=300)
    best = json.loads(short.stdout) if short.stdout.startswith("{") else {}
    return {"a reduction that was killed knows what it had tried": done.get("known", 0) > 0 or done.get("explanation", {}).get("remembered", False),
            "and ends in the same program": bool(program(folder / "calm")) and program(folder / "calm") == program(folder / "killed"),
            "several processes give the same program": many.returncode == 0 and program(folder / "calm") == program(folder / "many"),
            "a time limit leaves the best so far": best.get("timed_out") is True and (folder / "short/repro.sh").exists()}


def check_sources(folder: Path) -> dict[str, bool]:
    """What other sources than programs yield, a saved workload, and a device behind a launcher."""
    saved, launcher = folder / "saved", folder / "launcher.sh"
    launcher.write_text('#!/bin/sh\nexec "$@"\n')
    launcher.chmod(0o755)
    ENVIRONMENT["PATH"] = f"{BUILD / 'bin'}:{os.environ['PATH']}"
    lstm = ROOT / "tests/planter/models/lstm_cell.mlir"
    asked = {"an ONNX model": ("convolution", ROOT / "tests/fuzz/onnx_corpus/contrib_fused_conv_clip.onnx"),
             "an operator case": ("convolution", f"{ROOT / 'zoo/ops/convnet.yaml'}#conv2d_1"),
             "a program": ("tanh", lstm, "-o", saved), "a saved workload": ("tanh", saved),
             "a device behind a launcher": ("tanh", lstm, "--device-launcher", launcher)}
    checks = {}
    for what, (name, *words) in asked.items():
        result = cupel("explain", *words, "--device", f"{PLANTER}?op=stablehlo.{name}&effect=scale", "--results", folder / "sources", "--json")
        answer = json.loads(result.stdout) if result.stdout.startswith("{") else {"operations": []}
        checks[f"{what} is explained"] = [one["name"] for one in answer["operations"]] == [f"stablehlo.{name}"] and answer["answer"] == "operation alone"
    return checks


# On a mesh of two by two: whole tensors with shardings, and what each device computes by itself.
SHARDED = {"whole tensors": """
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.tanh %0 : tensor<8x16xf32>
    %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %3 = stablehlo.add %2, %x : tensor<8x8xf32>
    return %3 : tensor<8x8xf32>""", "each device by itself": """
    %0 = sdy.manual_computation(%x, %w, %v) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"y"}]>, <@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%a: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) {
      %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %2 = stablehlo.tanh %1 : tensor<4x8xf32>
      %3 = stablehlo.dot_general %2, %c, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %4 = "stablehlo.all_reduce"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %sum = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %sum : tensor<f32>
      }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      sdy.return %4 : tensor<4x8xf32>
    } : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>"""}
SHARDED_MAIN = """module @sharded attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %v: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {BODY
  }
}
"""


def write_sharded(folder: Path, body: str) -> None:
    """A workload folder of four devices, each with its pieces of the arguments."""
    folder.mkdir(parents=True)
    (folder / "program.mlir").write_text(SHARDED_MAIN.replace("BODY", body))
    (folder / "options.json").write_text(json.dumps({"format": 1, "name": "sharded", "partitions": 4, "use_spmd": True, "use_shardy": True}))
    entries, data = {}, b""
    for number, (rows, columns, split) in enumerate(((8, 8, "rows by x"), (8, 16, "columns by y"), (16, 8, "rows by y"))):
        for device in range(4):
            x, y = divmod(device, 2)
            own_rows = {"rows by x": range(4 * x, 4 * x + 4), "rows by y": range(8 * y, 8 * y + 8)}.get(split, range(rows))
            own_columns = range(8 * y, 8 * y + 8) if split == "columns by y" else range(columns)
            values = array.array("f", [math.sin(0.7 * (row * columns + column) + number) / 2 for row in own_rows for column in own_columns]).tobytes()
            entries[f"d{device}/{number}"] = {"dtype": "F32", "shape": [len(own_rows), len(own_columns)], "data_offsets": [len(data), len(data) + len(values)]}
            data += values
    header = json.dumps(entries).encode()
    (folder / "inputs.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + data)


def check_sharded(folder: Path) -> dict[str, bool]:
    """Programs of which devices hold pieces, by shardings: the operation is blamed, wherever it stands, and what is left of the test fails there too."""
    for what, body in SHARDED.items():
        write_sharded(folder / f"sharded/{what.replace(' ', '-')}", body)
    kinds = {"whole tensors": {"op=stablehlo.tanh&effect=scale": "stablehlo.tanh", "op=stablehlo.dot_general&processes=4&effect=scale": "stablehlo.dot_general",
                               "op=stablehlo.add&producer=stablehlo.dot_general&effect=negate": "stablehlo.add", "op=stablehlo.tanh&effect=crash_compile": "stablehlo.tanh",
                               "op=stablehlo.nothing&effect=scale": ""},
             "each device by itself": {"op=stablehlo.all_reduce&effect=scale": "stablehlo.all_reduce", "op=stablehlo.tanh&effect=second_device": "stablehlo.tanh",
                                       "op=stablehlo.dot_general&inside=sdy.manual_computation&effect=scale": "sdy.manual_computation",
                                       "op=stablehlo.nothing&effect=scale": ""}}
    checks = {}
    for what, faults in kinds.items():
        for rule, guilty in faults.items():
            test, out = folder / f"sharded/{what.replace(' ', '-')}", folder / f"sharded/out-{len(checks)}"
            device = ("--device", f"{PLANTER}?{rule}&num_devices=4", "--results", folder / "sharded/results")
            result = cupel("explain", test, *device, "--json")
            answer = json.loads(result.stdout) if result.stdout.startswith("{") else {"operations": [], "answer": result.stderr[-300:]}
            names = [one["name"] for one in answer["operations"]]
            holds = answer["answer"] == "passes" if not guilty else guilty in names and answer["answer"] in (*ALONE, "neighbours")
            if guilty and holds:
                cupel("reduce", test, *device, "-o", out)
                script = subprocess.run([out / "repro.sh"], capture_output=True, text=True, check=False, timeout=200, env={**os.environ, "CUPEL_DEVICE": str(BUILD / "bin/cupel-device")})
                holds = script.returncode == 1
                if not holds:
                    print(f"  {rule}: repro.sh: {script.stdout[-300:]}{script.stderr[-300:]}")
            elif not holds:
                print(f"  {what}, {rule}: {answer['answer']}, {names}")
            checks[f"of {what} on several devices {guilty or 'nobody'} is blamed ({rule})"] = holds
    return checks


EXPORT = """
import sys, torch
class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(6, 5)
    def forward(self, x):
        y = self.inner(x)
        return torch.tanh(y) + 1
torch.manual_seed(0)
torch.export.save(torch.export.export(Small().eval(), (torch.ones(2, 6),)), sys.argv[1])
"""


def check_model_sources(folder: Path) -> dict[str, bool]:
    """Models of both frameworks, and an exported one; the line of the model that the operation comes from is named."""
    python, exported, script = ROOT / ".venv/bin/python", folder / "small.pt2", folder / "export_small.py"
    if not python.exists():
        return {}
    script.write_text(EXPORT)
    subprocess.run([python, script, exported], check=True, capture_output=True, timeout=300)
    loaders = ROOT / "zoo/models/cnn"
    asked = {"a model of JAX": ("convolution", r"zoo/models/cnn/jax/loader\.py:\d+:", "models::cnn/jax-small-single_device-inference", loaders / "jax/loader.py"),
             "a model of PyTorch": ("convolution", r"zoo/models/cnn/pytorch/loader\.py:\d+:", "models::cnn/pytorch-small-single_device-inference", loaders / "pytorch/loader.py"),
             "a training step of PyTorch": ("convolution", r"zoo/models/cnn/pytorch/loader\.py:\d+:", "models::cnn/pytorch-small-single_device-training", loaders / "pytorch/loader.py"),
             "a model of JAX on a mesh": ("tanh", r"causal_lm/jax/loader\.py:\d+:", "models::gpt/causal_lm/jax-tiny-tensor_parallel-inference", ROOT / "zoo/models/gpt/causal_lm/jax/loader.py"),
             "a model of PyTorch on a mesh": ("dot_general", r"zoo/models/\w+\.py:\d+:", "models::vit/image_classification/pytorch-tiny-tensor_parallel-inference",
                                             ROOT / "zoo/models/vit/image_classification/pytorch/loader.py"),
             "an exported model": ("tanh", r"export_small\.py:9:", exported)}
    checks = {}
    for what, (name, place, *words) in asked.items():
        result = cupel("explain", *words, "--device", f"{PLANTER}?op=stablehlo.{name}&effect=scale&num_devices=8", "--results", folder / "models", "--json", timeout=400)
        answer = json.loads(result.stdout) if result.stdout.startswith("{") else {"operations": [], "answer": result.stderr[-300:]}
        names, places = ([one[key] for one in answer["operations"]] for key in ("name", "place"))
        checks[f"{what} is explained, with its line"] = names == [f"stablehlo.{name}"] and answer["answer"] == "operation alone" and bool(re.search(place, places[0]))
        if not checks[f"{what} is explained, with its line"]:
            print(f"  {what}: {answer['answer']}, {names} at {places}")
    return checks


def check_passes(deep: Path, folder: Path) -> dict[str, bool]:
    """The rewrite of our own compiler that was planted is named by its place, and so is its operation."""
    words = ("--device", "cupel?backend=cpu&plant_wrong_rewrite=5", "--bisect-passes", "--results", folder / "passes", "--json")
    answer = json.loads(cupel("explain", deep, *words).stdout)
    fifth = [number for number, line in enumerate(deep.read_text().splitlines(), 1) if "stablehlo.add %" in line][4]
    place = f"{deep}:{fifth}:"
    foreign = json.loads(cupel("explain", deep, "--device", f"{PLANTER}?op=stablehlo.logistic&effect=scale", *words[2:]).stdout)
    return {"the wrong rewrite is named": "pass plant-wrong-rewrite" in answer.get("pass", "") and place in answer.get("pass", ""),
            "the operation that it made wrong is blamed": any(one["place"].startswith(place) for one in answer["operations"]),
            "other devices have no passes of ours": "pass" not in foreign and any("none of ours" in remark for remark in foreign["remarks"])}


def check_own_checks(folder: Path) -> dict[str, bool]:
    """A test whose own checks ask for another last bit is not taken for one that passes, and no device is blamed for a kernel."""
    test = folder / "own.mlir"
    test.write_text("""func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = stablehlo.sqrt %a : tensor<2xf32>
  check.expect_eq_const %r, dense<[1.0, 1.41421366]> : tensor<2xf32>
  return
}
""")
    cupel("eval", test, "--save-workload", folder / "own-saved")
    answers = [json.loads(cupel("explain", one, "--device", "cupel", "--results", folder / "own", "--json").stdout) for one in (test, folder / "own-saved/own")]
    return {"checks that fail where the device is right are named so": all(one["answer"] == "own checks" and [op["name"] for op in one["operations"]] == ["stablehlo.sqrt"] for one in answers)}


def check_other_inputs(folder: Path) -> dict[str, bool]:
    """What is right for the inputs of the test and wrong for others of their kind is blamed on its operation, not on chance."""
    test = folder / "others.mlir"
    test.write_text("""func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %b = stablehlo.negate %a : tensor<8xf32>
  %r = stablehlo.sine %b : tensor<8xf32>
  return %r : tensor<8xf32>
}
""")
    write_tensor(folder / "others.inputs.safetensors", [8 * (0.999 - index / 100) for index in range(8)])
    answer = json.loads(cupel("explain", test, "--device", f"{PLANTER}?op=stablehlo.negate&effect=large", "--results", folder / "others", "--json").stdout)
    return {"what only other inputs show is blamed on its operation": [op["name"] for op in answer["operations"]] == ["stablehlo.negate"] and answer["answer"] in ("operation alone", "these values")}


def write_tensor(path: Path, values: list[float]) -> None:
    data = array.array("f", values).tobytes()
    header = json.dumps({"0": {"dtype": "F32", "shape": [len(values)], "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def check_goldens(folder: Path) -> dict[str, bool]:
    """What is expected may be wrong, and so may the reference: neither is blamed on an operation of the device."""
    test = folder / "golden.mlir"
    test.write_text("""func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = stablehlo.negate %a : tensor<4xf32>
  %r = stablehlo.tanh %b : tensor<4xf32>
  return %r : tensor<4xf32>
}
""")
    inputs = [0.5, 1.0, -2.0, 0.25]
    write_tensor(folder / "golden.inputs.safetensors", inputs)
    write_tensor(folder / "golden.expected.safetensors", [1.25 * math.tanh(-value) for value in inputs])

    def explained(device: str) -> dict:
        return json.loads(cupel("explain", test, "--device", device, "--results", folder / "golden", "--json").stdout)

    right, like_expected, wrong = (explained(f"{PLANTER}?op=stablehlo.{name}&effect={effect}") for name, effect in (("nothing", "scale"), ("tanh", "scale"), ("tanh", "negate")))
    return {"an expectation that device and reference disagree with is suspected": right["answer"] == "wrong golden" and "both disagree" in right["sentence"],
            "and so is a reference that disagrees with device and expectation": like_expected["answer"] == "wrong golden" and "disagrees with both" in like_expected["sentence"],
            "a device that disagrees with both is wrong": wrong["answer"] == "operation alone"}


def check_in_context(folder: Path) -> dict[str, bool]:
    """Of operations that are all wrong by themselves the one is blamed that is wrong where it stands."""
    model = ROOT / "tests/planter/explained/shared_parts.mlir"
    answer = json.loads(cupel("explain", model, "--device", f"{PLANTER}?op=stablehlo.tanh&takes=argument&effect=scale", "--results", folder / "context", "--json").stdout)
    line = next(number for number, text in enumerate(model.read_text().splitlines(), 1) if "stablehlo.tanh %x" in text)
    return {"what is right where it stands is not blamed": [f":{line}:" in one["place"] for one in answer["operations"]] == [True]}


def check_slow_starts(folder: Path) -> dict[str, bool]:
    """A process that takes longer to start than a probe may take says nothing of the program: what hangs is found all the same."""
    rule = f"{PLANTER}?op=stablehlo.tanh&effect=hang_run&slow_start=3300"
    result = cupel("explain", ROOT / "tests/planter/models/lstm_cell.mlir", "--device", rule, "--probe-timeout", 1, "--results", folder / "slow", "--json")
    answer = json.loads(result.stdout) if result.stdout.startswith("{") else {"answer": result.stderr[-200:], "operations": []}
    return {"what hangs is found on a device that is slow to start": [op["name"] for op in answer["operations"]] == ["stablehlo.tanh"] and answer["answer"] in ALONE}


def check_scripts(folder: Path) -> dict[str, bool]:
    """What reduce writes fails by itself, and passes where the device is right."""
    out = folder / "scripts"
    rule = f"{PLANTER}?op=stablehlo.tanh&effect=scale"
    cupel("reduce", ROOT / "tests/planter/models/lstm_cell.mlir", "--device", rule, "--results", folder / "scripts-results", "-o", out)
    program = out / "repro.mlir"
    right, wrong = cupel("eval", program), cupel("eval", program, "--device", rule)
    checks = {"repro.mlir holds on the reference and fails on the device": right.returncode == 0 and wrong.returncode == 1}
    python = ROOT / ".venv/bin/python"
    if python.exists():
        run = lambda *words: subprocess.run([python, out / "repro.py", *words], capture_output=True, text=True, check=False, timeout=200)
        wrong, right = run("planter", str(PLANTER)), run("cpu")
        checks["repro.py fails through the plugin and passes on the CPU"] = wrong.returncode == 1 and "wrong" in wrong.stdout and right.returncode == 0
    return checks


def report(found: list[Found], seconds: float, deep: list[Found]) -> tuple[dict[str, bool], list[str]]:
    pinned = [one for one in found if one.answer and FAULTS[one.kind].guilty in [op["name"] for op in one.answer["operations"]]]
    innocent = [one for one in found if one.answer and one.answer["answer"] in ALONE and one.answer["operations"][0]["name"] != FAULTS[one.kind].guilty]
    small = [one for one in found if one.is_small]
    slow = [one for one in found if one.reduced and one.reduced["seconds"] > REDUCE_SECONDS]
    median = statistics.median([one.answer["seconds"] for one in deep if one.answer] or [0])
    shrinking = statistics.median([one.reduced["seconds"] for one in deep if one.reduced] or [0])
    lines = [f"{len(found)} faults of {len({one.kind for one in found})} kinds in {len({one.model for one in found})} models: "
             f"{len(pinned)} pinned to the operation ({100 * len(pinned) / max(1, len(found)):.1f} %), {len(small)} reduced to 3 operations or fewer "
             f"({100 * len(small) / max(1, len(found)):.1f} %); median explanation of a model of 500 operations {median:.1f} s, median reduction {shrinking:.1f} s; {seconds:.0f} s in all"]
    checks = {f"at least {100 * PINNED_GOAL:.0f} % pinned": len(pinned) >= PINNED_GOAL * len(found),
              f"at least {100 * SMALL_GOAL:.0f} % reduced to 3 operations": len(small) >= SMALL_GOAL * len(found),
              "no innocent operation is blamed": not innocent, f"reduced in {REDUCE_SECONDS} s": not slow,
              f"500 operations explained in {EXPLAIN_SECONDS} s": median < EXPLAIN_SECONDS, f"and reduced in {REDUCE_SECONDS} s": shrinking < REDUCE_SECONDS,
              "every answer is of the right kind": all(not one.problem for one in found)}
    return checks, lines


def describe_builds(found: list[Found]) -> str:
    """A run that is resumed may have gone on with another build than it began with."""
    builds = Counter(one.commit or "unknown" for one in found)
    if len(builds) == 1:
        return f"Examined with the build of {next(iter(builds))}."
    return "Examined with " + " and ".join(f"the build of {commit} ({count})" for commit, count in builds.most_common()) + "."


def page(found: list[Found], summary: str) -> str:
    rows = Counter(one.kind for one in found)
    text = ["# What explanations pin", "",
            "Made by `tests/planter/check_explain.py BUILD --full --page docs/reference/explained.md`: a plugin that wraps ours changes every program it is given by a rule",
            "about an operation, and `cupel explain` and `cupel reduce` are asked.", "", summary, "", describe_builds(found), "",
            "| planted | models in which it shows | pinned | reduced to 3 operations or fewer | answers |", "|---|---|---|---|---|"]
    for kind in FAULTS:
        if not rows[kind]:
            continue
        own = [one for one in found if one.kind == kind]
        pinned = sum(bool(one.answer) and FAULTS[kind].guilty in [op["name"] for op in one.answer["operations"]] for one in own)
        small = sum(one.is_small for one in own)
        answers = ", ".join(sorted({one.answer.get("answer", "none") for one in own}))
        text.append(f"| {kind} | {len(own)} | {pinned} | {small} | {answers} |")
    return "\n".join(text) + "\n"


def main() -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cupel-explain-") as name:
        folder = OPTIONS.resume.resolve() if OPTIONS.resume else Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        ENVIRONMENT["CUPEL_CACHE_DIR"] = str(folder / "cache")
        deep = folder / "deep.mlir"
        deep.write_text(deep_model())
        models = {model.stem: model for model in [*MODELS, deep]}
        pairs = [(kind, model) for kind in FAULTS for model in models] if OPTIONS.full or OPTIONS.k else SMALL
        if OPTIONS.full or OPTIONS.k:
            # Every operation that there is, in the program that tests it.
            for file in sorted((ROOT / "tests/reference/ops").glob("*.mlir")):
                kind, guilty, text = f"{file.stem} is scaled", f"stablehlo.{file.stem}", file.read_text()
                # What runs programs of its own side by side is no operation of a model, nor is a call that is a check.
                if "interpreter.run_parallel" in text or "@check.eq" in text or "check.expect" not in text or kind in FAULTS:
                    continue
                if f"{guilty} " in text or f'"{guilty}"' in text:
                    FAULTS[kind] = Fault(f"op={guilty}&effect=scale", guilty)
                    models[f"ops/{file.stem}"] = file
                    pairs.append((kind, f"ops/{file.stem}"))
        texts = {name: model.read_text() for name, model in models.items()}
        # Where the operation does not stand, there is nothing to see.
        pairs = [(kind, model) for kind, model in pairs if FAULTS[kind].guilty in texts[model] and OPTIONS.k in f"{kind} in {model}"]
        findings = Findings(OPTIONS.resume and folder)

        def work(pair: tuple[str, str]) -> None:
            if pair not in findings.of and time.monotonic() - began < OPTIONS.seconds:
                findings.add(examine(pair[0], pair[1], models[pair[1]], folder))

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(work, pairs))
        rest = [pair for pair in pairs if pair not in findings.of]
        found = [findings.of[pair] for pair in pairs if pair in findings.of and findings.of[pair].shows]
        checks, lines = report(found, time.monotonic() - began, [one for one in found if one.model == "deep"])
        if OPTIONS.page and not rest:
            OPTIONS.page.write_text(page(found, lines[0].rsplit(";", 1)[0] + "."))
        blamed = []
        if not rest and not OPTIONS.k:
            missed = 0 if OPTIONS.full else len(SMALL) - len(found)
            checks["every fault of the small set shows"] = missed == 0
            blamed = check_right_devices([*MODELS, deep] if OPTIONS.full else [models["attention"], models["collectives"], deep], folder)
            checks["nobody is blamed on a right device"] = not blamed
            checks |= check_results_of_any_program(folder)
            checks |= check_memory_of_it(deep, folder)
            checks |= check_own_checks(folder)
            checks |= check_other_inputs(folder)
            checks |= check_kills(deep, folder)
            checks |= check_sources(folder)
            checks |= check_sharded(folder)
            checks |= check_model_sources(folder) if OPTIONS.full else {}
            checks |= check_goldens(folder)
            checks |= check_in_context(folder)
            checks |= check_slow_starts(folder)
            checks |= check_scripts(folder)
            checks |= check_passes(deep, folder)
    print("\n".join(lines))
    for one in found:
        if one.problem or OPTIONS.verbose or not one.is_small:
            size = one.reduced["after"]["operations"] if one.reduced else "not reduced"
            print(f"  {one.kind} in {one.model}: {one.problem or 'ok'}; {one.answer.get('answer')}, {one.answer.get('seconds', 0):.1f} s, {size}")
            if one.problem:
                print(f"    it said: {one.answer.get('sentence', '')}")
    for line in blamed:
        print(f"  blamed on a right device: {line}")
    for check, holds in checks.items():
        if not holds:
            print(f"FAIL {check}")
    print(f"{sum(checks.values())} passed, {len(checks) - sum(checks.values())} failed")
    if rest:
        print(f"{len(pairs) - len(rest)} of {len(pairs)} faults are examined: run the same again")
        return 3
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
