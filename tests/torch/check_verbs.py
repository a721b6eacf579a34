"""Checks of `cupel run`, `list`, `compile` and `ops` on `.pt2` archives, from outside: several programs in one archive, shapes, damage.

usage: .venv/bin/python tests/torch/check_verbs.py BUILD/bin [--only WORD]. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.export.pt2_archive._package import package_pt2

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.

PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("bin", type=Path)
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


def cupel(folder: Path, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    result = subprocess.run([str(CUPEL), *map(str, words)], capture_output=True, text=True, errors="replace", cwd=folder, stdin=subprocess.DEVNULL, timeout=300)
    expect(result.returncode == code, f"cupel {' '.join(map(str, words))} ended with {result.returncode}, not {code}:\n{result.stdout}{result.stderr}")
    return result


def run(folder: Path, *words: object, code: int = 0) -> dict[str, dict]:
    """The records of a run, by id."""
    report = folder / "report.json"
    cupel(folder, "run", *words, "--json", report, "--results", folder / "results", code=code)
    return {record["id"]: record for record in json.loads(report.read_text())["tests"]}


class Scale(torch.nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), factor))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def exported(factor: float = 2.0, rows: int = 4, dynamic: bool = False) -> torch.export.ExportedProgram:
    shapes = ({0: torch.export.Dim("rows", min=1, max=64)},) if dynamic else None
    return torch.export.export(Scale(factor), (torch.ones(rows, 3),), dynamic_shapes=shapes)


def several(path: Path, **factors: float) -> Path:
    """One archive with a program a factor, each of another number of rows."""
    package_pt2(str(path), exported_programs={name: exported(factor, rows=i + 2) for i, (name, factor) in enumerate(factors.items())})
    return path


def edited(path: Path, target: Path, edit: Callable[[dict], None]) -> Path:
    """The archive with its program's JSON changed."""
    with zipfile.ZipFile(path) as archive:
        records = {info.filename: archive.read(info) for info in archive.infolist()}
    name = next(name for name in records if name.endswith("models/model.json"))
    program = json.loads(records[name])
    edit(program["graph_module"]["graph"])
    records[name] = json.dumps(program).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    return target


@check
def programs_of_an_archive_are_tests(folder: Path) -> None:
    several(folder / "llm.pt2", prefill=2.0, decode=3.0)
    listed = cupel(folder, "list", "llm.pt2", "--format", "ids").stdout.split()
    expect(listed == ["pt2::llm.pt2#decode", "pt2::llm.pt2#prefill"], listed)
    x = torch.arange(6.0).reshape(2, 3)
    save_file({"0": x}, folder / "llm.prefill.inputs.safetensors")
    save_file({"0": x * 2}, folder / "llm.prefill.expected.safetensors")
    y = torch.arange(9.0).reshape(3, 3)
    save_file({"0": y}, folder / "llm.decode.inputs.safetensors")
    save_file({"0": y * -3}, folder / "llm.decode.expected.safetensors")  # Wrong: its factor is 3.
    records = run(folder, "llm.pt2", code=1)
    prefill, decode = records["llm.pt2#prefill"], records["llm.pt2#decode"]
    expect(prefill["outcome"] == "passed" and prefill["notes"]["expectation"] == "the file beside it", prefill)
    expect(decode["outcome"] == "failed" and decode["error_class"] == "wrong_result", decode)
    records = run(folder, "llm.pt2", "-k", "prefill")
    expect(list(records) == ["llm.pt2#prefill"], records)
    records = run(folder, "llm.pt2", "pt2::llm.pt2#prefill")
    expect(list(records) == ["llm.pt2#prefill"], records)


@check
def a_program_that_is_alone_has_the_archives_id(folder: Path) -> None:
    torch.export.save(exported(), folder / "one.pt2")
    package_pt2(str(folder / "named.pt2"), exported_programs={"forward": exported()})
    several(folder / "both.pt2", model=2.0, decode=3.0)
    (folder / "bad.pt2").write_bytes(b"no archive")
    listed = cupel(folder, "list", ".", "--format", "ids").stdout.split()
    expect(listed == ["pt2::bad.pt2", "pt2::both.pt2#decode", "pt2::both.pt2", "pt2::named.pt2", "pt2::one.pt2"], listed)
    records = run(folder, ".", code=1)
    outcomes = {name: record["outcome"] for name, record in records.items()}
    expect(outcomes == {"bad.pt2": "failed", "both.pt2": "unjudged", "both.pt2#decode": "unjudged", "named.pt2": "unjudged", "one.pt2": "unjudged"}, records)


@check
def compile_and_ops_choose_a_program(folder: Path) -> None:
    several(folder / "llm.pt2", prefill=2.0, decode=3.0)
    for verb in ("compile", "ops"):
        asked = cupel(folder, verb, "llm.pt2", code=1).stderr
        expect("holds several programs: decode, prefill; --program chooses one" in asked, asked)
        wrong = cupel(folder, verb, "llm.pt2", "--program", "prefil", code=1).stderr
        expect("holds no program 'prefil'; it has decode, prefill" in wrong, wrong)
    for name, rows in (("prefill", 2), ("decode", 3)):
        text = cupel(folder, "compile", "llm.pt2", "--program", name, "--weights=inline").stdout
        expect(f"tensor<{rows}x3xf32>" in text, text)
        expect(f"f32[{rows},3]" in cupel(folder, "ops", "llm.pt2", "--program", name).stdout, name)
        cases = cupel(folder, "ops", "extract", "llm.pt2", "--program", name).stdout
        expect(f"[{rows}, 3]" in cases, cases)
    (folder / "m.onnx").write_bytes(b"")
    expect("holds one program" in cupel(folder, "compile", "m.onnx", "--program", "x", code=1).stderr, "a model that is one")


@check
def run_takes_shapes(folder: Path) -> None:
    torch.export.save(exported(dynamic=True), folder / "m.pt2")
    record = run(folder, "m.pt2", code=1)["m.pt2"]
    expect(record["outcome"] == "unjudged" and "shape" not in record["notes"] and "inputs" not in record["notes"], record)  # The sample inputs.
    record = run(folder, "m.pt2", "--shape", "x=7x3", code=1)["m.pt2"]
    expect(record["outcome"] == "unjudged" and record["notes"]["shape"] == "x=7x3" and "x: made from seed" in record["notes"]["inputs"], record)
    record = run(folder, "m.pt2", "--shape", "x=70x3", code=1)["m.pt2"]
    expect("the program was exported for 1 to 64" in record["message"], record)
    record = run(folder, "m.pt2", "--shape", "x=7x4", code=1)["m.pt2"]
    expect("dimension 1 of input 'x' is 3 in the program, but 4 was given" in record["message"], record)


class Nested(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.rest = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(8, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rest(self.first(x))


@check
def explore_shows_the_exported_graph_and_links_it(folder: Path) -> None:
    torch.export.save(torch.export.export(Nested(), (torch.ones(3, 4),)), folder / "nested.pt2")
    cupel(folder, "explore", "nested.pt2", "--format=graph", "-o", "graph.json")
    stages = {stage["name"]: stage["nodes"] for stage in json.loads((folder / "graph.json").read_text())["stages"]}
    expect(list(stages) == ["source", "stablehlo", "tensor", "device"], list(stages))
    source = stages["source"]
    tanh = next(node for node in source if node["op"] == "aten.tanh.default")
    expect(tanh["group"] == ["rest", "0"] and tanh["types"] == ["f32[3,8]"], tanh)
    expect(source[tanh["inputs"][0][0]]["op"] == "aten.linear.default", tanh["inputs"])
    expect({node["op"] for node in source} >= {"input", "weight", "output"}, source)
    expect(tanh["place"].split(":")[0].endswith(".py"), tanh["place"])
    # The same modules in StableHLO, and a place in common.
    lowered = next(node for node in stages["stablehlo"] if node["op"] == "stablehlo.tanh")
    expect(lowered["group"] == ["rest", "0"] and set(tanh["origins"]) & set(lowered["origins"]), lowered)


@check
def contradictions_name_the_call(folder: Path) -> None:
    """A type that its operator cannot have is told with the call, whatever the operator; never as an error of Cupel's own."""
    functions = [lambda x, y: torch.nn.functional.gelu(x), lambda x, y: torch.bitwise_and(y.int(), 3), lambda x, y: torch.fft.rfft(x), lambda x, y: torch.nn.functional.layer_norm(x, (4,)),
                 lambda x, y: x.softmax(1), lambda x, y: torch.nn.functional.scaled_dot_product_attention(x[None], y[None], x[None]), lambda x, y: torch.linalg.solve(x, y),
                 lambda x, y: torch.nn.functional.batch_norm(x, y[0], y[1])]
    files = []
    for function in functions:
        class Program(torch.nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                return function(x, y)  # noqa: B023: exported before the next one

        torch.export.save(torch.export.export(Program(), (torch.rand(4, 4), torch.rand(4, 4))), folder / "m.pt2")
        with zipfile.ZipFile(folder / "m.pt2") as archive:
            graph = json.loads(archive.read(next(name for name in archive.namelist() if name.endswith("models/model.json"))))["graph_module"]["graph"]
        for name in graph["tensor_values"]:
            for number in (12, 10, 5):  # bool, complex, int
                files.append(edited(folder / "m.pt2", folder / f"{len(files)}.pt2", lambda graph, name=name, number=number: graph["tensor_values"][name].update(dtype=number)))
    # One process for all of them; those that can be lowered all the same fail for lack of inputs.
    ran = subprocess.run([str(CUPEL.with_name("cupel-worker")), "pt2-cases", *map(str, files)], capture_output=True, text=True, timeout=300)
    lines = [line for line in ran.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "REFUSED"))]
    expect(len(lines) == len(files), f"{len(lines)} of {len(files)} were told of: {ran.returncode} {ran.stderr[-400:]}")
    contradictions = [line for line in lines if line.startswith("REFUSED")]
    for line in contradictions:
        expect(line.startswith("REFUSED(invalid)") and "does not verify" not in line, line)
        expect(": aten." in line and "check_verbs.py:" in line, line)
    expect(len(contradictions) >= 12, contradictions)
    expect(any("aten.gelu.default: the call that makes 'gelu': what the program declares of its tensors contradicts the operator" in line and
               "operand #0 cannot be 'tensor<4x4xcomplex<f32>>'" in line and "self=complex<f32>[4,4]" in line for line in contradictions), contradictions[0])


def main() -> int:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    passed = failed = 0
    for function in CHECKS:
        if OPTIONS.only not in function.__name__:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                function(Path(scratch))
                passed += 1
            except Exception:  # noqa: BLE001: whatever goes wrong, the others are checked too
                failed += 1
                print(f"FAILED {function.__name__}\n{traceback.format_exc(limit=3)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
