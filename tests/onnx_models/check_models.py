"""Compares Cupel with ONNX Runtime on models that torch's dynamo exporter writes, on models that ONNX Runtime's own
optimizer rewrote, on one-operator models of the com.microsoft operators, and on forms that ONNX's suite lacks.

Outputs must agree to 1e-4 of the largest expected value, or exactly where they are integers. What is exported is kept
in FOLDER and made again when these scripts or the packages change. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy
import onnx
import onnxruntime
import torch
from onnx import numpy_helper

import contrib_ops
import models
import standard_ops

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from cupel.worker.instructions import settle  # noqa: E402

settle()  # Before torch computes anything.

HERE = Path(__file__).resolve().parent
RELATIVE = 1e-4


def session(model: Path, level: onnxruntime.GraphOptimizationLevel, write: Path | None = None) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if write is not None:
        options.optimized_model_filepath = str(write)
    # Where processors lack VNNI, ONNX Runtime adds pairs of products of u8 and s8 in 16 bits, which overflow, unless it is told not to.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def write_case(folder: Path, inputs: list[numpy.ndarray], level: onnxruntime.GraphOptimizationLevel) -> None:
    """Feeds ONNX Runtime and keeps inputs and outputs beside model.onnx."""
    running = session(folder / "model.onnx", level)
    feeds = {declared.name: value for declared, value in zip(running.get_inputs(), inputs, strict=True)}
    for i, (name, value) in enumerate(feeds.items()):
        (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())
    for i, value in enumerate(running.run(None, feeds)):
        numpy.save(folder / f"expected_{i}.npy", value)


def export(name: str, folder: Path) -> list[numpy.ndarray]:
    torch.manual_seed(sum(name.encode()))
    entry = models.ENTRIES[name]
    module, inputs = entry.make().eval(), entry.inputs()
    for part in module.modules():  # Statistics of a network that has seen data.
        if isinstance(part, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(part.running_mean, -0.5, 0.5)
            torch.nn.init.uniform_(part.running_var, 0.5, 2)
    program = torch.onnx.export(module, inputs, dynamo=True, verbose=False)
    program.save(folder / "model.onnx")
    return [value.numpy() for value in inputs]


class Calibration:
    """Batches of the kind the model will see, for onnxruntime.quantization."""

    def __init__(self, name: str, example: numpy.ndarray) -> None:
        generator = numpy.random.default_rng(7)
        self.batches = iter([{name: generator.standard_normal(example.shape).astype(example.dtype)} for _ in range(4)])

    def get_next(self) -> dict[str, numpy.ndarray] | None:
        return next(self.batches, None)


def quantize(folder: Path, example: numpy.ndarray) -> None:
    from onnxruntime import quantization

    plain = folder / "plain.onnx"
    (folder / "model.onnx").rename(plain)
    name = onnx.load(plain, load_external_data=False).graph.input[0].name
    quantization.quantize_static(plain, folder / "model.onnx", Calibration(name, example), quant_format=quantization.QuantFormat.QDQ,
                                 per_channel=True, weight_type=quantization.QuantType.QInt8)


def export_torch_models(root: Path) -> None:
    basic = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for name in models.ENTRIES:
        folder = root / name
        folder.mkdir(parents=True)
        inputs = export(name, folder)
        if name == "quantized_cnn":
            quantize(folder, inputs[0])
        write_case(folder, inputs, basic)


def inputs_of(folder: Path) -> list[numpy.ndarray]:
    return [numpy_helper.to_array(onnx.load_tensor(folder / f"input_{i}.pb")) for i in range(len(list(folder.glob("input_*.pb"))))]


def optimize_models(root: Path) -> None:
    """What ONNX Runtime's optimizers, that of sessions and that for transformers, make of some of them: operators of com.microsoft."""
    from onnxruntime.transformers import optimizer

    def by_session(name: str, target: Path) -> None:
        session(root / name / "model.onnx", onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, target)

    def for_transformers(name: str, target: Path) -> None:
        optimizer.optimize_model(str(root / name / "model.onnx"), model_type="bert", num_heads=4, hidden_size=32,
                                 opt_level=0).save_model_to_file(str(target))

    rewritten = [("optimized", name, by_session) for name in ("bert_encoder", "gpt_decoder", "resnet", "quantized_cnn")]
    rewritten += [("fused", name, for_transformers) for name in ("bert_encoder", "vit")]
    for kind, name, rewrite in rewritten:
        folder = root / f"{kind}_{name}"
        folder.mkdir()
        rewrite(name, folder / "model.onnx")
        domains = {node.domain for node in onnx.load(folder / "model.onnx").graph.node}
        if "com.microsoft" not in domains:
            raise RuntimeError(f"ONNX Runtime's optimizer wrote no com.microsoft operator for {name}")
        write_case(folder, inputs_of(root / name), onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)


def write_operator_models(root: Path) -> None:
    for kind, source in (("contrib", contrib_ops), ("standard", standard_ops)):
        for name, model, inputs in source.cases():
            folder = root / f"{kind}_{name}"
            folder.mkdir()
            onnx.save(model, folder / "model.onnx")
            write_case(folder, inputs, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)


def make_all(root: Path) -> None:
    """Everything, unless it is there already."""
    digest = hashlib.sha256(f"{torch.__version__} {onnxruntime.__version__} {onnx.__version__}".encode())
    for source in sorted(HERE.glob("*.py")):
        digest.update(source.read_bytes())
    stamp = root / "version"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        export_torch_models(root)
        optimize_models(root)
        write_operator_models(root)
    stamp.write_text(digest.hexdigest())


def difference(actual: numpy.ndarray, expected: numpy.ndarray) -> str:
    """What is wrong, or nothing."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} was computed, {expected.dtype}{list(expected.shape)} expected"
    if expected.dtype.kind in "iub":
        wrong = int(numpy.count_nonzero(actual != expected))
        return f"{wrong} of {expected.size} elements differ" if wrong else ""
    if not numpy.array_equal(numpy.isfinite(actual), numpy.isfinite(expected)):
        return "infinities or NaN in other places"
    finite = numpy.isfinite(expected)
    error = numpy.abs(actual[finite].astype(numpy.float64) - expected[finite]).max(initial=0)
    scale = numpy.abs(expected[finite]).astype(numpy.float64).max(initial=0)
    limit = RELATIVE if expected.dtype != numpy.float16 else 2e-3
    return f"differs by {error:.3g} where the largest value is {scale:.3g}" if error > limit * scale else ""


def compare(folder: Path) -> str:
    count = len(list(folder.glob("expected_*.npy")))
    for i in range(count):
        result = folder / f"result_{i}.npy"
        if not result.exists():
            return f"output {i} was not computed"
        if wrong := difference(numpy.load(result), numpy.load(folder / f"expected_{i}.npy")):
            return f"output {i} {wrong}"
    return "" if count else "there is nothing to compare with"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="the folder of cupel_onnx")
    parser.add_argument("folder", type=Path, help="where models are written")
    parser.add_argument("--only", default="", metavar="REGEX", help="models whose name matches")
    options = parser.parse_args()
    make_all(options.folder)
    folders = [path.parent for path in sorted(options.folder.glob("*/model.onnx")) if re.search(options.only, path.parent.name)]
    for result in (path for folder in folders for path in folder.glob("result_*.npy")):
        result.unlink()
    said: dict[str, str] = {}
    rest = folders
    while rest:
        run = subprocess.run([options.bin / "cupel_onnx", "run", *rest], capture_output=True, text=True, errors="replace", check=False)
        for line in run.stdout.splitlines():
            if match := re.match(r"(RAN|FAILED) (\S+?)(?:: (.*))?$", line):
                said[match[2]] = match[3] or ""
        left = [folder for folder in rest if folder.name not in said]
        if left:  # The next one took the process down.
            said[left[0].name] = f"crashed ({run.returncode}): {run.stderr.strip()[:300]}"
        rest = left[1:]
    failed = 0
    for folder in folders:
        wrong = said[folder.name] or compare(folder)
        if wrong:
            failed += 1
            print(f"{folder.name}: {wrong}")
    print(f"{len(folders) - failed} passed, {failed} failed")
    return 1 if failed or not folders else 0


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
