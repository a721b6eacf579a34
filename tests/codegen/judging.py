"""Generates code of one program after the other and runs it: each is right, refused by name, or wrong.

A program that checks itself is judged by its checks, of which at least one must have been made; any other by tensors
that others computed (ONNX's test data, a model's golden results), and where those are not met by the golden
reference's strict rule. A refusal must name what has no form, and leave nothing behind. Used by coverage.py.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import cpp_batches
import ml_dtypes
import numpy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from cupel.codegen import _STORED, CodegenError, GeneratedCpp, GeneratedPython  # noqa: E402

SECONDS = 120

REFUSAL = re.compile(r"(stablehlo|chlo|check|interpreter|sdy|func)\.[a-z_]+|custom call of @|calls itself|elements of type \w+, for which no code is generated|"
                     r"type \w+ does not exist|never supported \([a-z -]+\): |is for several devices")  # fmt: skip

SUMS = re.compile(r"stablehlo\.(dot|conv|fft|reduce|cholesky|triangular|batch_norm|einsum)")


@dataclass(frozen=True)
class Case:
    """A program, and what is expected of it."""

    name: str
    text: str = ""
    """A program that checks itself, or"""
    file: str = ""
    """what `cupel codegen` is given, and"""
    expected: tuple[str, ...] = ()
    """files of what it gives: a protobuf of ONNX each, or one safetensors file."""


@dataclass(frozen=True)
class Outcome:
    name: str
    verdict: str
    """right, near (its sums have another order), refused or wrong."""
    why: str = ""
    judge: str = ""
    """Whose word it is."""
    code: str = ""
    """A digest of what was generated: the same code is not judged twice."""


@dataclass
class Made:
    """A generated folder, and how it is run."""

    case: Case
    folder: Path
    command: list[str] = field(default_factory=list)

    def run(self, *arguments: str, tolerance: str = "") -> tuple[str, str]:
        """What it printed, and what is wrong with it."""
        os.environ.pop("OPS_CHECK_TOLERANCE", None)
        if tolerance:
            os.environ["OPS_CHECK_TOLERANCE"] = tolerance
        return self._run_cpp(arguments) if self.command else self._run_python(arguments)

    def _run_cpp(self, arguments: tuple[str, ...]) -> tuple[str, str]:
        try:
            ran = subprocess.run([*self.command, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=SECONDS, env=dict(os.environ, OPS_THREADS="2"))
        except subprocess.TimeoutExpired:
            return "", f"takes longer than {SECONDS} seconds"
        if ran.returncode:
            return ran.stdout, f"exit code {ran.returncode}: {(ran.stderr or ran.stdout).strip()[-300:]}"
        return ran.stdout, ""

    def _run_python(self, arguments: tuple[str, ...]) -> tuple[str, str]:
        for name in [n for n in sys.modules if n == "ops" or n.startswith("ops.")]:
            del sys.modules[name]
        sys.path.insert(0, str(self.folder))
        output, kept = io.StringIO(), sys.argv
        sys.argv = ["main.py", *arguments]
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(SECONDS)
        try:
            with contextlib.redirect_stdout(output):
                runpy.run_path(str(self.folder / "main.py"), run_name="__main__")
        except Exception as error:  # noqa: BLE001 - whatever generated code raises is its failure
            return output.getvalue(), f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
            sys.argv = kept
            sys.path.remove(str(self.folder))
        return output.getvalue(), ""


def _too_long(*_: object) -> None:
    raise TimeoutError(f"takes longer than {SECONDS} seconds")


def judge(cupel: str, language: str, cases: list[Case], known: dict[str, Outcome]) -> list[Outcome]:
    """The outcome of each program of a batch; C++ of a batch is one binary. Of programs whose code is that of a known outcome, that one."""
    outcomes: list[Outcome] = []
    made: list[Made] = []
    with tempfile.TemporaryDirectory(prefix="codegen-") as scratch:
        for number, case in enumerate(cases):
            place = Path(scratch) / str(number)
            if ended := _generate(cupel, language, case, place):
                outcomes.append(ended)
            elif case.name in known and known[case.name].code == _digest(place / "out"):
                outcomes.append(known[case.name])
            else:
                made.append(Made(case, place / "out"))
        built = cpp_batches.build_all([one.folder for one in made], Path(scratch)) if language == "cpp" else {}
        for one in made:
            one.command, why = built.get(one.folder, ([], ""))
            outcome = Outcome(one.case.name, "wrong", why) if why else _checks(one) if one.case.text else _tensors(cupel, one)
            outcomes.append(dataclasses.replace(outcome, code=_digest(one.folder)))
    return outcomes


def _digest(folder: Path) -> str:
    code = sorted(file for file in folder.rglob("*") if file.suffix in (".py", ".h", ".cpp"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in code)).hexdigest()[:16]


def _generate(cupel: str, language: str, case: Case, place: Path) -> Outcome | None:
    """Writes the folder `out` of a program; an outcome if that is the end of it."""
    place.mkdir()
    source, folder = Path(case.file) if case.file else place / "program.mlir", place / "out"
    if case.text:
        source.write_text(case.text)
    made = subprocess.run([cupel, "codegen", language, str(source), "-o", str(folder)], capture_output=True, text=True)
    if made.returncode == 0:
        return None
    message = made.stderr.strip().splitlines()[-1] if made.stderr.strip() else "no message"
    if folder.exists() or list(place.glob("out*")):
        return Outcome(case.name, "wrong", "refused, but something was written")
    if made.returncode != 1 or not REFUSAL.search(message):
        return Outcome(case.name, "wrong", f"refused without a name (exit code {made.returncode}): {message}")
    return Outcome(case.name, "refused", message.split(source.name + ":", 1)[-1].strip())


def _checks(one: Made) -> Outcome:
    """By the checks of the program itself."""

    def wrong(tolerance: str = "") -> str:
        printed, why = one.run(tolerance=tolerance)
        held = re.search(r"(\d+) checks hold", printed)
        return why or ("" if held and int(held[1]) > 0 else "no check was made")

    why = wrong()
    if "units in the last place" in why and SUMS.search(one.case.text) and not wrong("1e-5"):
        # The check asks for the roundings of one order of a sum; 1e-5 is what generated code promises.
        return Outcome(one.case.name, "near", why, "its checks")
    return Outcome(one.case.name, "wrong" if why else "right", why, "its checks")


def _tensors(cupel: str, one: Made) -> Outcome:
    """By what others computed, else by the golden reference."""
    saved = one.folder.parent / "results.safetensors"
    _, why = one.run("--save", str(saved))
    if why:
        return Outcome(one.case.name, "wrong", why)
    outputs = [output["name"] for output in json.loads((one.folder / "manifest.json").read_text())["outputs"]]
    found = _read(saved)
    apart = _apart([found[name] for name in outputs if name in found], _expected(one.case.expected))
    if not apart:
        return Outcome(one.case.name, "right", "", "its data")
    os.environ["CUPEL_COMMAND"] = cupel
    if one.command:
        # What `run` would build is built already.
        (one.folder / "model").write_text(f'#!/bin/sh\ncd {one.folder} && exec {" ".join(one.command)} "$@"\n')
        (one.folder / "model").chmod(0o755)
    try:
        (GeneratedCpp if one.command else GeneratedPython)(one.folder).check()
    except (AssertionError, CodegenError) as error:
        return Outcome(one.case.name, "wrong", f"{apart}; {str(error)[-400:]}")
    return Outcome(one.case.name, "right", apart, "the golden reference")


def _read(file: Path) -> dict[str, numpy.ndarray]:
    """A file of safetensors by name, with the types of ml_dtypes where NumPy has none."""
    contents = file.read_bytes()
    size = int.from_bytes(contents[:8], "little")
    found = {}
    for name, entry in json.loads(contents[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind = numpy.dtype(getattr(ml_dtypes, NAMES[entry["dtype"]], None) or NAMES[entry["dtype"]])
        found[name] = numpy.frombuffer(contents[8 + size + begin : 8 + size + end], kind).reshape(entry["shape"])
    return found


NAMES = {stored: name for name, stored in _STORED.items()} | {"C128": "complex128"}


def _expected(files: tuple[str, ...]) -> list[numpy.ndarray]:
    import onnx
    from onnx import numpy_helper

    found = []
    for file in files:
        if not file.endswith(".pb"):
            stored = _read(Path(file))
            return [stored[str(i)] for i in range(len(stored))]
        tensor = onnx.TensorProto()
        tensor.ParseFromString(Path(file).read_bytes())
        found.append(numpy_helper.to_array(tensor))
    return found


def _apart(actual: list[numpy.ndarray], expected: list[numpy.ndarray]) -> str:
    """Where results are not those expected, by the tolerance of ONNX's own tests; empty where they are."""
    if not expected or len(actual) != len(expected):
        return f"{len(actual)} results, {len(expected)} expected"
    for number, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        if ours.shape != theirs.shape:
            return f"result {number} has the shape {ours.shape}, not {theirs.shape}"
        if ours.dtype in (numpy.uint8, numpy.int8) and theirs.dtype.kind == "V" and "float" in theirs.dtype.name:
            theirs = theirs.view(numpy.uint8)  # A float that StableHLO of this version has no type for is held by its bits.
        if ours.dtype.kind in "biu":
            if not numpy.array_equal(ours.astype(numpy.int64), theirs.astype(numpy.int64)):
                return f"result {number} has other integers"
            continue
        wide = numpy.complex128 if ours.dtype.kind == "c" else numpy.float64
        if not numpy.allclose(ours.astype(wide), theirs.astype(wide), rtol=1e-3, atol=1e-6, equal_nan=True):
            return f"result {number} is not within 1e-3"
    return ""
