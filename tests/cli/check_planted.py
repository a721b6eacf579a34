"""Files that somebody planted, through the doors they come in by: archives of PyTorch, tensors beside programs, saved workloads.

usage: check_planted.py BUILD/bin. Ends with `N passed, N failed`. Nothing of them is executed, nothing outside them is read or written, no process crashes, and what is
wrong is told in one line: of the file, not that it is missing. The readers have unit tests of their own; here they stand in the binaries that people start, beside code
that is compiled without exceptions.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BIN = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo.add %x, %y : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"
RECORDS = "two_layers/"
WEIGHTS, MODEL = f"{RECORDS}data/weights/model_weights_config.json", f"{RECORDS}models/model.json"


class Executed:
    """Whoever unpickles it makes the file."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.mark),)


def archive(path: Path, changes: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(ROOT / "tests/pages/two_layers.pt2") as given, zipfile.ZipFile(path, "w") as made:
        for name in given.namelist():
            made.writestr(name, changes.get(name, given.read(name)))
    return path


def first_weight(**changes: object) -> dict[str, bytes]:
    with zipfile.ZipFile(ROOT / "tests/pages/two_layers.pt2") as given:
        whole = json.loads(given.read(WEIGHTS))
    entry = next(iter(whole["config"].values()))
    for key, value in changes.items():
        (entry["tensor_meta"] if key in entry["tensor_meta"] else entry)[key] = value
    return {WEIGHTS: json.dumps(whole).encode()}


def archives(mark: Path) -> dict[str, tuple[dict[str, bytes], str]]:
    """By name: what is changed in a good archive, and what is said of it; nothing where it is good in spite of that."""
    evil = pickle.dumps(Executed(mark), protocol=2)
    size = lambda value: [{"as_int": value}]  # noqa: E731
    return {
        "sample_pickle": ({f"{RECORDS}data/sample_inputs/model.pt": evil}, ""),
        "weight_pickle": (first_weight(use_pickle=True) | {f"{RECORDS}data/weights/weight_0": evil}, "cannot be read"),
        "outside": (first_weight(path_name="../../../../etc/passwd"), "which is not in the archive"),
        "absolute": (first_weight(path_name="/etc/passwd"), "which is not in the archive"),
        "short": ({f"{RECORDS}data/weights/weight_0": bytes(40)}, "reaches outside its storage"),
        "huge": (first_weight(sizes=size(2**40) * 2, strides=size(1) * 2), "impossible size"),
        "negative": (first_weight(sizes=size(-4)), "negative size"),
        "beyond": (first_weight(sizes=size(2**63)), "too large a number"),
        "empty_json": ({MODEL: b""}, "not valid JSON"),
        "open_json": ({MODEL: b'{"graph_module": ['}, "not valid JSON"),
        "deep_json": ({MODEL: b"[" * 1_000_000}, "not valid JSON"),
        "foreign_json": ({MODEL: b'{"\xff\xfe": 1}'}, "not valid JSON"),
        "foreign_weights": ({WEIGHTS: b"\x80\x04cos\nsystem\n"}, "not valid JSON"),
        "other_json": ({MODEL: b"{}"}, "is no exported program"),
    }


def safetensors(header: object, data: bytes = bytes(32)) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensors(**changes: object) -> bytes:
    one = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    return safetensors({"0": one | changes, "1": one | {"data_offsets": [16, 32]}})


TENSORS = {
    "overlapping": (tensors(data_offsets=[0, 20], shape=[5]), "inside the tensor before it"),
    "outside": (tensors(data_offsets=[0, 1600]), "data_offsets must be a pair within"),
    "negative": (tensors(data_offsets=[-16, 0]), "a negative number"),
    "beyond": (tensors(data_offsets=[2**63 - 16, 2**63]), "data_offsets must be a pair within"),
    "huge": (tensors(shape=[2**62, 4]), "does not take the 16 bytes"),
    "twice": (safetensors(b'{"0":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"0":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}}'), "occurs twice"),
    "foreign": (safetensors(b'{"\xff":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}', bytes(16)), "no valid JSON"),
    "lying": (struct.pack("<Q", 2**63) + b"{}", "claims a header of"),
    "pickle": (b"cos\nmkdir\n(S'/nowhere'\ntR.", "is no safetensors file"),
}
OPTIONS = {"other_kind": (b'{"replicas": "x"}', "has the wrong type"), "no_json": (b"{{", "is not JSON"), "foreign": (b'{"name": "\xff"}', "is not JSON"),
           "negative": (b'{"replicas": -1}', "must be between"), "deep": (b"[" * 500_000, "is not JSON"), "unknown": (b'{"run": "rm"}', "is not an option")}

PLANS = {"no_json": b"{{", "no_object": b"[]", "without": b'{"cupel_jobs": 1, "run": "x"}', "other_kind": b'{"cupel_jobs": 1, "run": 7, "jobs": []}',
         "other_tests": b'{"cupel_jobs": 1, "run": "x", "jobs": [{"name": "a", "arch": "", "estimated_seconds": 1, "timeout_minutes": -1, "tests": ["t"]}]}'}


class Door:
    def __init__(self, folder: Path):
        self.folder, self.mark = folder, folder / "executed"
        self.wrong: list[str] = []
        self.count = 0

    def expect(self, name: str, said: str, *arguments: object, reason: str = "", code: int = 1) -> None:
        """`said` and the reason, or success where nothing is to be said."""
        self.count += 1
        done = subprocess.run([BIN / "cupel", *map(str, arguments)], capture_output=True, text=True, errors="replace", timeout=120, check=False, stdin=subprocess.DEVNULL)
        printed = done.stdout + done.stderr
        good = done.returncode == 0 if not said else done.returncode == code and said in printed and reason in printed
        if not good or "CRASHED" in printed or self.mark.exists():
            self.wrong.append(f"{arguments[0]} {name}: exit code {done.returncode}{', and it was executed' if self.mark.exists() else ''}: {printed.strip()[:400] or 'not a word'}")

    def run(self, name: str, said: str, path: Path, reason: str) -> None:
        self.expect(name, said, "run", path, "--device", "cupel", "-j1", "--results", self.folder / "results", reason=reason)


def check(folder: Path) -> Door:
    door = Door(folder)
    for name, (changes, said) in archives(door.mark).items():
        path = archive(folder / f"{name}.pt2", changes)
        door.run(name, said, path, "INVALID_MODEL")
        door.expect(name, said, "compile", path, "-o", folder / "out.mlir")
        door.expect(name, said, "ops", path)
    program = folder / "beside/p.mlir"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    for name, (content, said) in TENSORS.items():
        for role in ("inputs", "expected"):
            file = program.with_name(f"p.{role}.safetensors")
            file.write_bytes(content)
            door.run(f"{name}, {role}", said, program, "INVALID_ARGUMENT")
            file.unlink()
    door.expect("save", "", "eval", program, "--save-workload", folder / "saved")
    for file, planted in (("options.json", OPTIONS), ("inputs.safetensors", TENSORS)):
        for name, (content, said) in planted.items():
            copy = folder / f"{name} {file}"
            shutil.copytree(folder / "saved/p", copy)
            (copy / file).write_bytes(content)
            door.run(f"{file} of a workload, {name}", said, copy, "INVALID_MODEL")
    for name, content in PLANS.items():
        plan = folder / f"{name}.json"
        plan.write_bytes(content)
        door.expect(f"plan, {name}", "not a plan of jobs", "run", "--job", f"{plan}:1", code=2)
    for option, name, said in (("--arch", "n999", "there are: galaxy-bh, "), ("--frameworks", "tensorflow", "there are: pytorch, jax, ")):
        door.expect(f"unknown {option}", said, "run", program, option, name, "--results", folder / "results", code=2)
    return door


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="cupel-planted-") as folder:
        door = check(Path(folder))
    for each in door.wrong:
        print(f"FAILED  {each}")
    print(f"{door.count - len(door.wrong)} passed, {len(door.wrong)} failed")
    return 1 if door.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
