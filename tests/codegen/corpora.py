"""The programs that code is generated of: StableHLO's vectors, ONNX's backend tests, the bundled zoo. Used by coverage.py."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from judging import ROOT, Case

SEPARATOR = "// -----"
VECTORS = ROOT.parent / "shared/conformance/stablehlo"
MADE_TO_FAIL = "faults/"


def sampled(all_of_them: list, count: int | None, name: Callable) -> list:
    """So many, chosen by their names; all without a count."""
    if count is None:
        return all_of_them
    return sorted(all_of_them, key=lambda one: hashlib.sha256(name(one).encode()).hexdigest())[:count]


def stablehlo(_cupel: Path, _build: Path, sample: int | None) -> list[Case]:
    """Every program that checks itself: files hold several, separated by a line."""
    found = []
    for file in sorted(file for folder in ("testdata", "interpret", "quantized") for file in (VECTORS / folder).rglob("*.mlir")):
        parts = file.read_text().split(SEPARATOR)
        for number, part in enumerate(parts):
            if re.search(r"check\.(expect|eq)", part):
                found.append(Case(f"{file.parent.name}/{file.name}" + (f"#{number}" if len(parts) > 1 else ""), text=part))
    return sampled(found, sample, lambda case: case.name)


def onnx(_cupel: Path, build: Path, sample: int | None) -> list[Case]:
    """What tests/onnx/generate_cases.py wrote, with the first set of test data of each."""
    found = []
    for model in sorted((build / "onnx-cases").glob("*/*/model.onnx")):
        outputs = sorted((model.parent / "test_data_set_0").glob("output_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
        found.append(Case(f"{model.parent.parent.name}/{model.parent.name}", file=str(model), expected=tuple(map(str, outputs))))
    return sampled(found, sample, lambda case: case.name)


def zoo(cupel: Path, build: Path, sample: int | None) -> list[Case]:
    """Every test on one device, captured once and kept as a workload a graph; what nobody can capture has no program. Models that are made to fail are left out."""
    kept = build / "codegen-zoo"
    listed = subprocess.run([cupel, "list", ROOT / "zoo/models", "--suite", "models", "--format", "json"], capture_output=True, text=True, check=True)
    tests = [test for test in json.loads(listed.stdout)["tests"] if test["parallelism"] == "single_device" and not test["id"].startswith(MADE_TO_FAIL)]
    found = []
    for test in sampled(tests, sample, lambda test: test["id"]):
        place = kept / test["id"]
        if not (place / "done").is_file():
            _capture(test, place)
        for program in sorted(place.rglob("program.mlirbc")):
            name = test["id"] if program.parent == place else f"{test['id']}/{program.parent.name}"
            expected = program.parent / "expected.safetensors"
            found.append(Case(name, file=str(program.parent), expected=(str(expected),) if expected.is_file() else ()))
    return found


def _capture(test: dict, place: Path) -> None:
    from cupel.worker import model

    place.mkdir(parents=True, exist_ok=True)
    request = model.Request(loader=test["file"], folder=str(place), zoo=str(ROOT / "zoo/models"), variant=test.get("variant", ""), run_mode=test["run_mode"],
                            framework=test["framework"])  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):
        answer = model.make_test(request, lambda _: None).run()
    if "capture" not in answer:
        print(f"{test['id']}: has no program: {answer.get('message', '')}", file=sys.stderr)
    (place / "done").write_text(json.dumps(answer, default=str))


CORPORA = {"stablehlo": stablehlo, "onnx": onnx, "zoo": zoo}
