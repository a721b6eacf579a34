"""Standalone code of models: what `cupel.jax` and `cupel.torch` share, and running generated folders.

`load_codegen_py(folder)` runs a generated folder of Python, edited or not, in this process; its `check`
compares what it gives with the program that it was generated from. `load_codegen_cpp(folder)` builds and
runs one of C++. `python -m cupel.codegen FOLDER --check` does that from outside, for both.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cupel._files import command_path

# NumPy's names, and those of ml_dtypes, for what safetensors can hold.
_STORED = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16", "uint32": "U32",
    "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
}  # fmt: skip


class CodegenError(RuntimeError):
    """Code could not be generated; nothing was written."""


def write_inputs(path: Path, values: Sequence[np.ndarray], names: Sequence[str] = (), kinds: Sequence[str] = ()) -> None:
    """By their names, or places: arg0, arg1, ...; of the types that they are, or are said to be."""
    header, parts, at = {}, [], 0
    for i, value in enumerate(values):
        kind = (kinds[i] if kinds else "") or _STORED.get(value.dtype.name)
        if kind is None:
            raise TypeError(f"argument {i} is of {value.dtype}, which cannot be exported (export_tensors=False leaves inputs out)")
        part = np.ascontiguousarray(value).tobytes()
        header[names[i] if names else f"arg{i}"] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [at, at + len(part)]}
        at += len(part)
        parts.append(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def generate(language: str, model: Path, export_path: str | os.PathLike[str], export_tensors: bool,
             compiler_options: Mapping[str, Any] | None, inputs: Sequence[np.ndarray] | None) -> None:  # fmt: skip
    """Calls `cupel codegen`; what it refuses is raised."""
    command = [command_path(), "codegen", language, str(model), "-o", str(export_path)]
    for key, value in (compiler_options or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        command += ["--option", f"{key}={text}"]
    if not export_tensors:
        command.append("--no-tensors")
    elif inputs:
        file = model.with_suffix(".inputs.safetensors")
        write_inputs(file, inputs)
        command += ["--inputs", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CodegenError(done.stderr.strip() or f"cupel codegen ended with {done.returncode}")


def read_stored(path: Path) -> dict[str, tuple[np.ndarray, str]]:
    """A file of safetensors, with what it calls the types; what NumPy has no type for comes as raw bytes (V1, V2)."""
    contents = path.read_bytes()
    size = int.from_bytes(contents[:8], "little")
    kinds = {kind: name for name, kind in _STORED.items()}
    result = {}
    for name, entry in json.loads(contents[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind = kinds[entry["dtype"]]
        data = np.frombuffer(contents[8 + size + begin : 8 + size + end], {"bfloat16": "V2"}.get(kind, "V1" if kind.startswith("float8") else kind))
        result[name] = data.reshape(entry["shape"]), entry["dtype"]
    return result


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """A file of safetensors; what NumPy has no type for comes as f32 where that is exact (bf16), else as bytes."""
    result = {}
    for name, (value, kind) in read_stored(path).items():
        if kind == "BF16":
            value = (value.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        result[name] = value.view(np.uint8) if value.dtype == np.dtype("V1") else value
    return result


class GeneratedModel:
    """A generated folder: call it with inputs (or none, for those that lie in tensors/)."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()

    def inputs(self) -> list[np.ndarray]:
        raise NotImplementedError

    def stored_inputs(self) -> list[tuple[np.ndarray, str]]:
        """Bit by bit, with what safetensors call their types: code may hold narrow floats in wider ones."""
        file = self.path / "tensors/inputs.safetensors"
        if not file.is_file():
            return [(np.asarray(value), "") for value in self.inputs()]
        stored = read_stored(file)
        return [stored[each["name"]] for each in json.loads((self.path / "manifest.json").read_text())["inputs"]]

    def run(self, inputs: Sequence[np.ndarray] | None) -> dict[str, np.ndarray]:
        """The results by name."""
        raise NotImplementedError

    def __call__(self, *inputs: Any) -> list[np.ndarray]:
        return list(self.run([np.asarray(x) for x in inputs] if inputs else None).values())

    def check(self, tolerance: float | None = None) -> dict[str, float]:
        """How far each result is from the original program's, by the largest expected value; too far is an error: by the noise of the program (the strict
        rule of docs/reference/compare.md), or farther than `tolerance`, if one is given."""
        with tempfile.TemporaryDirectory(prefix="cupel-codegen-") as scratch:
            program = Path(scratch) / "shlo.mlir"
            shutil.copy(self.path / "irs/shlo.mlir", program)
            weights = self.path / "tensors/weights.safetensors"
            if weights.is_file():
                (Path(scratch) / "shlo.weights.safetensors").symlink_to(weights)
            inputs = self.stored_inputs()
            files = []
            for i, (value, _) in enumerate(inputs):
                files.append(f"{scratch}/input{i}.npy")
                np.save(files[-1], value)
            arguments = ["--args", *files] if files else []
            done = subprocess.run([command_path(), "eval", str(program), "--save", f"{scratch}/expected", *arguments],
                                  capture_output=True, text=True, check=False)  # fmt: skip
            if done.returncode:
                raise CodegenError(f"the original program does not run: {done.stderr.strip()}")
            actual = {name: np.asarray(value) for name, value in self.run(None).items()}
            expected = [np.load(f"{scratch}/expected/result{i}.npy") for i in range(len(actual))]
            distances = {name: distance(value, wanted) for (name, value), wanted in zip(actual.items(), expected)}
            wrong = {name: far for name, far in distances.items() if not far <= (np.inf if tolerance is None else tolerance) or far == np.inf}
            complaint = "" if wrong or tolerance is not None else by_noise(program, inputs, [stored(value, wanted) for value, wanted in zip(actual.values(), expected)])
        if wrong or complaint:
            raise AssertionError(f"{self.path}: differs from the program it was generated from: {wrong or complaint}")
        return distances


class GeneratedPython(GeneratedModel):
    """A folder of Python, loaded into this process."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        if not (self.path / "main.py").is_file():
            raise FileNotFoundError(f"{path} holds no main.py: is it a folder that codegen_py wrote?")
        # The package `ops` of each folder is its own.
        for name in [n for n in sys.modules if n == "ops" or n.startswith("ops.")]:
            del sys.modules[name]
        spec = importlib.util.spec_from_file_location(f"cupel_generated_{abs(hash(str(self.path)))}", self.path / "main.py")
        assert spec is not None and spec.loader is not None
        self.module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(self.path))
        try:
            spec.loader.exec_module(self.module)
        finally:
            sys.path.remove(str(self.path))
        self.weights = self.module.load_weights()

    def inputs(self) -> list[np.ndarray]:
        return self.module.load_inputs()

    def run(self, inputs: Sequence[np.ndarray] | None) -> dict[str, np.ndarray]:
        return self.module.run(self.inputs() if inputs is None else inputs, self.weights)


class GeneratedCpp(GeneratedModel):
    """A folder of C++: `run` builds it where that is still to be done."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        if not (self.path / "main.cpp").is_file():
            raise FileNotFoundError(f"{path} holds no main.cpp: is it a folder that codegen_cpp wrote?")
        self.manifest = json.loads((self.path / "manifest.json").read_text())

    def inputs(self) -> list[np.ndarray]:
        if not self.manifest["inputs"]:
            return []
        file = self.path / "tensors/inputs.safetensors"
        if not file.is_file():
            raise CodegenError(f"{self.path}: inputs were not exported")
        stored = read_tensors(file)
        return [stored[each["name"]] for each in self.manifest["inputs"]]

    def run(self, inputs: Sequence[np.ndarray] | None) -> dict[str, np.ndarray]:
        with tempfile.TemporaryDirectory(prefix="cupel-codegen-") as scratch:
            command = [str(self.path / "run"), "--save", f"{scratch}/results.safetensors"]
            if inputs is not None:
                write_inputs(Path(scratch) / "inputs.safetensors", inputs, [each["name"] for each in self.manifest["inputs"]])
                command += ["--inputs", f"{scratch}/inputs.safetensors"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise CodegenError(f"{self.path}: {done.stderr.strip()[-2000:]}")
            results = read_tensors(Path(scratch) / "results.safetensors")
        return {each["name"]: results[each["name"]] for each in self.manifest["outputs"] if each["name"] in results}


def distance(actual: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference by the largest expected value; infinite where shapes, NaN or infinities differ."""
    if actual.shape != expected.shape:
        return float("inf")
    if expected.dtype.kind not in "fcV" and actual.dtype.kind not in "fc":
        return 0.0 if np.array_equal(actual, expected) else float("inf")
    if expected.dtype == np.dtype("V2"):  # bf16, kept as bits
        expected = (expected.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if expected.dtype.kind == "V":  # f8 and its like
        raise CodegenError(f"results of {expected.dtype} cannot be compared")
    a, b = actual.astype(np.complex128), expected.astype(np.complex128)
    special = ~np.isfinite(a) | ~np.isfinite(b)
    if not np.array_equal(a[special], b[special], equal_nan=True):
        return float("inf")
    size = max(float(np.max(np.abs(b[~special]), initial=0)), 1e-30)
    return float(np.max(np.abs(a[~special] - b[~special]), initial=0)) / size


def stored(value: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, str]:
    """A result, and what safetensors call its type. Those of bf16 come as f32, which holds them exactly."""
    if expected.dtype == np.float16:
        return np.asarray(value).astype(np.float16), "F16"
    if expected.dtype == np.dtype("V2") and value.dtype == np.float32:
        return (np.ascontiguousarray(value).view(np.uint32) >> 16).astype(np.uint16), "BF16"
    return value, _STORED.get(value.dtype.name, "")


def by_noise(program: Path, inputs: Sequence[tuple[np.ndarray, str]], results: Sequence[tuple[np.ndarray, str]]) -> str:
    """What `cupel run` says of the results, which it holds against the program by its noise; nothing where they are right."""
    stem = program.with_suffix("")
    write_inputs(Path(f"{stem}.inputs.safetensors"), [value for value, _ in inputs], [str(i) for i in range(len(inputs))], [kind for _, kind in inputs])
    write_inputs(Path(f"{stem}.expected.safetensors"), [value for value, _ in results], [str(i) for i in range(len(results))], [kind for _, kind in results])
    report = program.with_suffix(".json")
    done = subprocess.run([command_path(), "run", str(program), "--device", "reference", "--strict", "--results", f"{stem}-results", "--json", str(report), "--quiet"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if not report.is_file():
        raise CodegenError(f"the original program does not run: {done.stdout.strip()}{done.stderr.strip()}")
    test = json.loads(report.read_text())["tests"][0]
    return "" if test["outcome"] == "passed" else f"{test['outcome']}: {test.get('message') or 'nothing can be said'}"


def load_codegen_py(path: str | os.PathLike[str], *inputs: Any) -> Any:
    """The folder as something to call; with inputs, what it gives."""
    model = GeneratedPython(path)
    return model(*inputs) if inputs else model


def load_codegen_cpp(path: str | os.PathLike[str], *inputs: Any) -> Any:
    """The same of a folder of C++."""
    model = GeneratedCpp(path)
    return model(*inputs) if inputs else model


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        print("usage: python -m cupel.codegen FOLDER [--check]", file=sys.stderr)
        return 2
    model = (GeneratedCpp if (Path(arguments[0]) / "main.cpp").is_file() else GeneratedPython)(arguments[0])
    if "--check" not in arguments:
        for name, value in model.run(None).items():
            print(f"{name}: {value}")
        return 0
    try:
        for name, far in model.check().items():
            print(f"{name}: {far:.2g} from the original")
    except (AssertionError, CodegenError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
