"""Checks of `cupel bench` from outside: what it measures of a program, what peers cost and say, interrupts, bad inputs.

usage: check_bench.py BUILD/bin. Ends with `N passed, N failed[, N skipped]`. That times are good is the business of bench/models; here
they must be there, in order, and told for what they are.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

BIN = Path(sys.argv[1]).resolve()
PROGRAM = """func.func @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %0, %arg1 : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
"""
# In a process without packages: a peer that answers as the real ones do, a little later than any device.
FAKE_PYTHON = """#!/usr/bin/env python3
import json, sys, time
print(json.dumps({"version": "1", "compile_seconds": 0.1, "base_bytes": 1, "first": [0.1, 0.1, 0.1], "difference": DIFFERENCE, "note": "a note"}), flush=True)
for line in sys.stdin:
    if "end" in json.loads(line):
        print(json.dumps({"peak_bytes": 123000000}), flush=True)
        break
    print(json.dumps({"times": [0.5, 0.25]}), flush=True)
"""
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(str(message))


def bench(*arguments, **options) -> subprocess.CompletedProcess:
    options = {"capture_output": True, "text": True, "timeout": 120, "stdin": subprocess.DEVNULL} | options
    return subprocess.run([str(BIN / "cupel"), "bench", *map(str, arguments)], **options)


def program(folder: Path) -> Path:
    path = folder / "product.mlir"
    path.write_text(PROGRAM)
    return path


def measured(folder: Path, *arguments) -> tuple[subprocess.CompletedProcess, dict]:
    report = folder / "report.json"
    result = bench(program(folder), "--seconds", "0.05", "--rounds", "2", "--threads", "1", "--json", report, *arguments)
    expect(report.exists(), f"no report: {result.stderr}")
    return result, json.loads(report.read_text())["models"][0]


@check
def a_program_is_measured(folder: Path) -> None:
    result, model = measured(folder)
    expect(result.returncode == 0 and result.stderr == "", (result.returncode, result.stderr))
    expect(model["form"] == "mlir" and model["threads"] == 1 and model["checked_by"] == "the golden reference", model)
    # 64^3 multiplications and additions, and 64^2 additions.
    expect(abs(model["flops"] - (2 * 64**3 + 64**2)) <= 64**2, model["flops"])
    expect(model["input_bytes"] == 2 * 64 * 64 * 4 and model["result_bytes"] == 64 * 64 * 4, model)
    expect(model["machine"]["flops_per_second"] > 1e8 and model["machine"]["bytes_per_second"] > 1e8, model["machine"])
    (ours,) = model["contestants"]
    expect(0 < ours["min_seconds"] <= ours["p50_seconds"] <= ours["p90_seconds"] <= ours["p99_seconds"], ours)
    expect(len(ours["first_seconds"]) == 3 and ours["runs"] >= 2 and ours["runs_per_second"] > 0, ours)
    expect(ours["compile_seconds"] > 0 and ours["recompile_seconds"] > 0 and ours["peak_bytes"] > ours["base_bytes"] > 0, ours)
    expect(0 <= ours["difference"] < 1e-5 and not ours["wrong"] and "ratio_to_best_peer" not in ours, ours)
    expect(abs(ours["flops_per_second"] - model["flops"] / ours["p50_seconds"]) < 1, ours)
    for word in ("p50", "p99", "GFLOP/s", "this machine", "cupel?backend=cpu"):
        expect(word in result.stdout, result.stdout)


@check
def several_models_and_devices(folder: Path) -> None:
    saved = subprocess.run([BIN / "cupel", "eval", program(folder), "--save-workload", folder / "saved"], capture_output=True, text=True)
    expect(saved.returncode == 0, saved.stderr)
    result = bench(program(folder), folder / "saved/product", "--seconds", "0.05", "--rounds", "1", "--device", "cpu", "--device", "reference", "--json", "-")
    models = json.loads(result.stdout)["models"]  # and nothing else on standard output
    expect([model["form"] for model in models] == ["mlir", "workload"], models)
    expect(all([one["name"] for one in model["contestants"]] == ["cpu", "reference"] for model in models), models)
    expect(all(one["runs"] > 0 for model in models for one in model["contestants"]), models)


@check
def a_device_that_is_wrong_fails(folder: Path) -> None:
    result, model = measured(folder, "--device", "cupel?backend=cpu&plant_wrong_rewrite=1")
    expect(result.returncode == 1 and "WRONG" in result.stdout, (result.returncode, result.stdout))
    expect(model["contestants"][0]["wrong"] and model["contestants"][0]["difference"] > 1e-3, model)


def fake(folder: Path, difference: str) -> Path:
    path = folder / f"python-{len(list(folder.iterdir()))}"
    path.write_text(FAKE_PYTHON.replace("DIFFERENCE", difference))
    path.chmod(0o755)
    return path


@check
def a_peer_gives_a_ratio(folder: Path) -> None:
    result, model = measured(folder, "--against", "onnxruntime", "--python", fake(folder, "1e-7"))
    ours, peer = model["contestants"]
    expect(model["best_peer"] == "onnxruntime" and peer["peer"] and not ours["peer"], model)
    # Nearest rank: of 0.5, 0.25, 0.5, 0.25 the median is 0.25.
    expect(peer["p50_seconds"] == 0.25 and peer["peak_bytes"] == 123000000 and peer["note"] == "a note", peer)
    expect(abs(ours["ratio_to_best_peer"] - ours["p50_seconds"] / 0.25) < 1e-9, ours)
    expect("of the time of the best peer, onnxruntime" in result.stdout and result.returncode == 0, result.stdout)


@check
def a_peer_that_is_wrong_is_no_yardstick(folder: Path) -> None:
    for difference in ("0.01", "None"):  # far, and infinitely far
        result, model = measured(folder, "--against", "openvino", "--python", fake(folder, difference))
        expect("best_peer" not in model and model["contestants"][1]["wrong"] and "WRONG" in result.stdout, model)


@check
def a_peer_in_bf16_is_held_to_bf16_and_asked_for_by_name(folder: Path) -> None:
    result, model = measured(folder, "--against", "openvino_bf16", "--python", fake(folder, "0.01"))
    expect(model["best_peer"] == "openvino_bf16" and not model["contestants"][1].get("wrong"), model)
    result, model = measured(folder, "--against", "openvino_bf16", "--python", fake(folder, "0.1"))
    expect("best_peer" not in model and model["contestants"][1]["wrong"], model)
    result, model = measured(folder, "--against", "all", "--python", fake(folder, "1e-7"))
    names = [one["name"] for one in model["contestants"]]
    expect("openvino" in names and "openvino_bf16" not in names, names)


@check
def peers_that_cannot_run_are_named(folder: Path) -> None:
    # This interpreter has no site-packages at all.
    bare = folder / "bare"
    bare.write_text('#!/bin/sh\nexec python3 -I -S "$@"\n')
    bare.chmod(0o755)
    result, model = measured(folder, "--against", "onnxruntime,xla", "--python", bare)
    expect(result.returncode == 0, result.stderr)
    for peer in model["contestants"][1:]:
        expect("p50_seconds" not in peer and "No module named" in peer["failure"], peer)
    expect("onnxruntime: not run:" in result.stdout and "xla: not run:" in result.stdout, result.stdout)
    result, model = measured(folder, "--against", "torch", "--python", "/nowhere/python")
    expect("/nowhere/python" in model["contestants"][1]["failure"], model)


@check
def an_interrupt_leaves_what_was_measured(folder: Path) -> None:
    report = folder / "report.json"
    process = subprocess.Popen([BIN / "cupel", "bench", program(folder), "--seconds", "600", "--rounds", "2000", "--json", report], stdout=subprocess.PIPE, text=True, start_new_session=True)
    # Long enough for some rounds on a busy machine; what follows needs one.
    time.sleep(8)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    model = json.loads(report.read_text())["models"][0]
    expect(process.returncode == 5, process.returncode)
    expect(model["interrupted"] and model["contestants"][0]["runs"] > 0 and "interrupted" in output, model)


@check
def a_terminal_gets_a_bar_and_a_pipe_does_not(folder: Path) -> None:
    master, slave = pty.openpty()
    result = bench(program(folder), "--seconds", "0.05", "--rounds", "2", capture_output=False, stdout=subprocess.PIPE, stderr=slave, env=os.environ | {"TERM": "xterm"})
    os.close(slave)
    shown = os.read(master, 1 << 20).decode()
    os.close(master)
    expect("round 2 of 2" in shown and "[####" in shown, shown)
    expect("round" not in result.stdout, result.stdout)


@check
def bad_input_is_told_in_one_line(folder: Path) -> None:
    broken = folder / "broken.mlir"
    broken.write_text("func.func @main( {")
    cases = [(2, ["--against", "onnxruntim", program(folder)], "did you mean 'onnxruntime'"), (2, ["--device", "nosuch", program(folder)], "'nosuch' is not known"),
             (2, ["--threads", "1000", program(folder)], "processors"), (2, ["--device", "a.so@ssh lab", program(folder)], "on this machine"),
             (1, [folder / "absent.mlir"], "no such file"), (1, [folder], "without a workload"), (1, [broken], "broken.mlir"),
             (2, ["--devcie", "x", program(folder)], "--device'"), (2, [], "MODEL")]
    for code, arguments, words in cases:
        result = bench(*arguments)
        lines = result.stderr.splitlines()
        expect(result.returncode == code and len(lines) == 1 and words in lines[0] and result.stdout == "", (arguments, result.returncode, lines, result.stdout))
    result = bench(program(folder), "--device", folder / "absent.so", "--seconds", "0.05", "--rounds", "1")
    expect(result.returncode == 1 and "absent.so: not run:" in result.stdout, result.stdout)


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """A protocol buffer of numbers and bytes: no package is needed to write a small model."""
    def varint(number: int) -> bytes:
        out = b""
        while number >= 0x80:
            out += bytes([number & 0x7F | 0x80])
            number >>= 7
        return out + bytes([number])

    out = b""
    for field, value in fields:
        if isinstance(value, int):
            out += varint(field << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(field << 3 | 2) + varint(len(data)) + data
    return out


def batched_model(folder: Path) -> Path:
    """tanh(x w) for x of N x 256."""
    def value(name: str, *dims: bytes) -> bytes:
        return message((1, name), (2, message((1, message((1, 1), (2, b"".join(message((1, dim)) for dim in dims)))))))

    batch, wide = message((2, "N")), message((1, 256))
    weight = message((1, 256), (1, 256), (2, 1), (8, "w"), (9, struct.pack("<65536f", *((i % 17 - 8) / 64 for i in range(65536)))))
    graph = message((1, message((1, "x"), (1, "w"), (2, "p"), (4, "MatMul"))), (1, message((1, "p"), (2, "y"), (4, "Tanh"))), (2, "g"), (5, weight),
                    (11, value("x", batch, wide)), (12, value("y", batch, wide)))
    path = folder / "model.onnx"
    path.write_bytes(message((1, 8), (7, graph), (8, message((2, 17)))))
    return path


def tune(folder: Path, *arguments) -> tuple[subprocess.CompletedProcess, dict]:
    report = folder / "tuned.json"
    done = subprocess.run([str(BIN / "cupel"), "tune", *map(str, arguments), "--seconds", "0.05", "--threads", "1", "--json", report], capture_output=True,
                          text=True, timeout=120, stdin=subprocess.DEVNULL)
    return done, json.loads(report.read_text()) if report.exists() else {}


@check
def batch_sizes_are_tried_kept_and_drawn(folder: Path) -> None:
    model, curve = batched_model(folder), folder / "curve.svg"
    done, tuned = tune(folder, model, "--batch", "4,1,2", "--all", "--svg", curve)
    expect(done.returncode == 0 and [point["batch"] for point in tuned["points"]] == [1, 2, 4], (done.stdout, done.stderr))
    expect(tuned["winner"] in (1, 2, 4) and f"a batch of {tuned['winner']} gives" in done.stdout and "<-" in done.stdout, done.stdout)
    for point in tuned["points"]:
        expect(len(point["first_seconds"]) == 3 and abs(point["samples_per_second"] * point["seconds"] - point["batch"]) < 1e-6, point)
    expect(ElementTree.parse(curve).getroot().tag.endswith("svg") and curve.read_text().count("<circle") == 3, curve.read_text())
    # What was measured is not measured again; with other settings it is.
    _, again = tune(folder, model, "--batch", "1,2,8", "--all", "--resume")
    expect([point["batch"] for point in again["points"]] == [1, 2, 8] and again["points"][:2] == tuned["points"][:2], again)
    _, other = tune(folder, model, "--batch", "1", "--resume", "--option", "optimization_level=0")
    expect(other["points"][0] != tuned["points"][0] and "optimization_level=0" in other["device"], other)


@check
def tuning_that_is_interrupted_says_so_and_goes_on(folder: Path) -> None:
    model, report = batched_model(folder), folder / "kept.json"
    words = [str(BIN / "cupel"), "tune", str(model), "--batch", "1,2,4,8,16", "--all", "--threads", "1", "--json", str(report)]
    process = subprocess.Popen([*words, "--seconds", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not report.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    kept = json.loads(report.read_text())["points"]
    expect(process.returncode not in (0, None) and 0 < len(kept) < 5, (process.returncode, kept))
    expect(f"interrupted after {len(kept)} of 5 batch sizes; --resume goes on behind them" in said, said)
    subprocess.run([*words, "--seconds", "2", "--resume", "--batch", f"1,{kept[-1]['batch']}"], capture_output=True, timeout=120, check=True)
    expect(json.loads(report.read_text())["points"][0] == kept[0], report.read_text())


@check
def batch_sizes_end_where_memory_does(folder: Path) -> None:
    done, tuned = tune(folder, batched_model(folder), "--batch", "1,8192,16384", "--device", "n150?memory_limit=3000000")
    expect(done.returncode == 0 and tuned["stopped"] == "memory ends at a batch of 8192" and tuned["winner"] == 1, (done.stdout, done.stderr))
    expect(len(tuned["points"]) == 2 and "buffers in" in tuned["points"][0].get("sram", ""), tuned)


@check
def what_cannot_be_tuned_is_told(folder: Path) -> None:
    model = batched_model(folder)
    for words, part in (((program(folder),), "the sizes of a program stand in it"), ((model, "--batch", "0"), "sizes from 1 on"),
                        ((model, "--batch", "few"), "sizes from 1 on"), ((model, "--option", "level=1"), "No such client option"),
                        ((folder / "none.onnx",), "no such file"), ((model, "--shape", "z=Bx256", "--batch", "2"), "z")):
        done, _ = tune(folder, *words)
        expect(done.returncode in (1, 2) and part in done.stdout + done.stderr, (words, done.returncode, done.stdout, done.stderr))


def correlation_in_blocks(values: list[float], digits: int) -> float:
    """Of numbers with what is left of them in blocks of sixteen, by an encoding written by another hand."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cupel/tensor/testdata"))
    import block_floats

    held = []
    for at in range(0, len(values), 16):
        shared, codes = block_floats.encode(list(struct.unpack("<16I", struct.pack("<16f", *values[at : at + 16]))), digits)
        held += [(-1 if code >> digits else 1) * (code & ((1 << digits) - 1)) * 2.0 ** (shared - 127 - (digits - 1)) for code in codes]
    a, b = sum(values) / len(values), sum(held) / len(held)
    both = sum((x - a) * (y - b) for x, y in zip(values, held))
    return both / (sum((x - a) ** 2 for x in values) * sum((y - b) ** 2 for y in held)) ** 0.5


@check
def formats_of_weights_are_found_for_a_correlation(folder: Path) -> None:
    model, overrides = batched_model(folder), folder / "formats.json"

    def formats(*arguments) -> tuple[subprocess.CompletedProcess, dict]:
        return tune(folder, model, "--formats", "--shape", "x=4x256", *arguments)

    done, found = formats("--pcc", "0.9", "--overrides", overrides)
    expect(done.returncode == 0 and found["pcc"] >= 0.9 and found["required_pcc"] == 0.9, (done.stdout, done.stderr))
    (weight,) = found["weights"]
    expect(weight["name"] == "w" and weight["chosen"] == "bfp_bf4" and weight["bytes"] == 4 * 65536 and weight["bytes_then"] == 64 * 576, weight)
    expect(json.loads(overrides.read_text()) == found["overrides"] == {"w": "bfp_bf4", "default": "bf16"}, overrides.read_text())
    values = [(i % 17 - 8) / 64 for i in range(65536)]
    for name, digits in (("bfp8", 7), ("bfp4", 3)):
        expect(abs(weight[name]["pcc_of_weight"] - correlation_in_blocks(values, digits)) < 1e-9, (name, weight))
    # What asks for more gets less; what nothing can keep leaves weights as they are.
    _, exact = formats("--pcc", str((1 + found["pcc"]) / 2))
    expect(exact["weights"][0]["chosen"] != "bfp_bf4" and exact["pcc"] > found["pcc"], exact)
    # The file says the same as the search did, here and to a device's compiler.
    done, given = formats("--option", f"experimental_weight_dtype={overrides}")
    expect(done.returncode == 0 and given["pcc"] == found["pcc"] and given["weights"][0]["pcc_of_layers"] == weight["pcc_of_layers"], (done.stderr, given))
    report = subprocess.run([str(BIN / "cupel"), "compile", model, "--shape", "x=4x256", "--emit=device", "--report", "-o", os.devnull, "--option",
                             f"experimental_weight_dtype={overrides}"], capture_output=True, text=True)
    expect(report.returncode == 0 and "as bfp_bf4, 36864 bytes instead of 262144" in report.stderr, report)
    for words, part in ((("--option", "experimental_weight_dtype=bfp9"), "is no format of weights"), (("--option", "optimization_level=1"), "experimental_weight_dtype alone"),
                        (("--option", f"experimental_weight_dtype={folder}/none.json"), "no such file"), (("--overrides", folder / "no/where.json"), "no/where.json")):
        done, _ = formats(*words)
        expect(done.returncode == 2 and part in done.stderr, (words, done.returncode, done.stderr))


@check
def tables_of_models_have_ratios_and_stand_between_marks(folder: Path) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "models"))
    import run

    page = folder / "page.md"
    page.write_text("# Before\n")
    ours = {"ratio_to_best_peer": 0.91, "ratio_to_best_peer_min": 0.88, "p50_seconds": 123.0}
    models = [{"name": "mlp", "threads": 1, "best_peer": "onnxruntime", "contestants": [ours]}, {"name": "mlp", "threads": 2, "failure": "no report"}]
    for _ in range(2):  # The second time in the place of the first.
        run.write_table(page, run.table(models, {"mlp": 1.0}))
    text = page.read_text()
    expect(text.startswith("# Before\n") and text.count("## Models") == 1 and text.count("| mlp |") == 1, text)
    expect("| mlp | 0.91 (0.88) onnxruntime |  | 1.00 |" in text and "123" not in text and "Measured on" in text, text)


def main() -> int:
    passed = failed = 0
    for function in CHECKS:
        with tempfile.TemporaryDirectory(prefix="cupel-bench-") as folder:
            try:
                function(Path(folder))
                passed += 1
            except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError, KeyError, IndexError) as error:
                print(f"FAILED {function.__name__}: {error!r}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
