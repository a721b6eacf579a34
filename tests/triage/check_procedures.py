"""`cupel triage bfloat16|inputs|unpack-forward-output` on loaders of our own, one for every row of every decision table: what is decided, which
edit is made, what configuration and report say; that nothing is written without --apply, and inference entries never.

usage: check_procedures.py BUILD/bin [--mode default|quick|full] [-k TEXT]
       check_procedures.py BUILD/bin --mode full --resume FILE --for SECONDS     until it says that all rows were run
Ends with `N passed, N failed`. Only `full` runs all rows: each is several processes with torch, half a minute of an idle core. Run by the Python that
has it.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import filecmp
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ZOO = Path(__file__).resolve().parent / "zoo"
MISMATCH = "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16"
HANDLER = "tt-forge-models doesn't implement unpack_forward_output for this model."
XFAIL = "    status: KNOWN_FAILURE_XFAIL\n    bringup_status: FAILED_FE_COMPILATION\n    reason: \"{}\"\n"


@dataclasses.dataclass
class Row:
    """One row: the loader, what its entry says, and what must come of it."""

    procedure: str
    model: str
    reason: str
    stopped: str = ""
    branch: str = ""
    fix: str = ""  # A part of the line that the report names.
    no_fix: str = ""
    added: tuple[str, ...] = ()  # Lines of the patch.
    states: dict[str, str] = dataclasses.field(default_factory=dict)  # The beginning, by variant or model.
    review: tuple[str, ...] = ()
    quick: bool = False
    variants: tuple[str, ...] = ("Base",)
    inference: str = "EXPECTED_PASSING"
    name: str = ""  # What is typed; else the key.
    more: str = ""  # Further entries of the training configuration.


def key(model: str, variant: str = "Base", mode: str = "training") -> str:
    return f"{model}/pytorch-{variant}-single_device-{mode}"


DTYPE = "+        values = torch.ones(4, 2, dtype=dtype_override)"
ROWS = [
    Row("bfloat16", "loader_bug", MISMATCH, branch="B", fix="loader_bug/pytorch/loader.py:38: values = torch.ones(4, 2, dtype=dtype_override)",
        added=(DTYPE, "+    status: EXPECTED_PASSING"), states={"Base": "EXPECTED_PASSING"}, quick=True),
    Row("bfloat16", "loader_bug", MISMATCH, branch="B", fix="values = torch.ones", name="pytorch_LoaderBug_Base_cv_image_cls_github", states={"Base": "EXPECTED_PASSING"}),
    Row("bfloat16", "no_kernel", "RuntimeError: 'deformable_im2col' not implemented for 'BFloat16'", branch="A", no_fix="nothing in a loader mends this",
        states={"Base": "KNOWN_FAILURE_XFAIL (FAILED_FE_COMPILATION: RuntimeError: 'deformable_im2col' not implemented for 'BFloat16')"}, quick=True),
    Row("bfloat16", "both", MISMATCH, branch="C", fix="values = torch.ones(4, 2, dtype=dtype_override)",
        added=(DTYPE, "+    reason: \"RuntimeError: this model wants a wider type\""),
        states={"Base": "KNOWN_FAILURE_XFAIL (FAILED_FE_COMPILATION: RuntimeError: this model wants a wider type)"}, quick=True),
    Row("bfloat16", "neither", MISMATCH, stopped="does not fail on the CPU in bfloat16"),
    Row("bfloat16", "also_float32", MISMATCH, stopped="fails in float32 too, which is another problem: RuntimeError: no float32 either"),
    Row("bfloat16", "other_error", MISMATCH, stopped="for another reason: RuntimeError: the moon is in the wrong place"),
    Row("bfloat16", "other_error", "RuntimeError: out of cheese", stopped="This is for bfloat16 dtype-mismatch training failures only. The failing reason here is: RuntimeError: out of cheese."),
    Row("bfloat16", "unpack_too", MISMATCH, stopped="triage that first, with cupel triage unpack-forward-output"),
    Row("bfloat16", "inside", MISMATCH, branch="A", no_fix="no input is float32 in the bfloat16 phase", states={"Base": "KNOWN_FAILURE_XFAIL"}),
    Row("bfloat16", "several", MISMATCH, branch="A", no_fix="2 inputs are float32 (first, second), and not all can be traced", states={"Base": "KNOWN_FAILURE_XFAIL"},
        review=("2 inputs are float32 in the bfloat16 phase: first, second",)),
    Row("bfloat16", "same_again", MISMATCH, branch="A", no_fix="after the fix it fails as before on the CPU", states={"Base": "KNOWN_FAILURE_XFAIL"}),
    Row("bfloat16", "helper", MISMATCH, branch="B", fix="values = values.to(dtype_override) if dtype_override is not None else values", states={"Base": "EXPECTED_PASSING"}),
    Row("bfloat16", "buffer", MISMATCH, branch="B", fix="model.register_buffer(\"scale\", torch.ones(4, 2, dtype=dtype_override))", states={"Base": "EXPECTED_PASSING"}),
    Row("bfloat16", "variants", MISMATCH, branch="B", fix="values = torch.ones", variants=("Small", "Large", "Plain", "Stubborn"), quick=True,
        states={"Small": "EXPECTED_PASSING", "Large": "EXPECTED_PASSING", "Plain": "unchanged", "Stubborn": "unchanged"},
        review=("Stubborn-single_device-training still fails after the fix and is left out",), inference=f"KNOWN_FAILURE_XFAIL\n    reason: \"{MISMATCH}\""),
    Row("bfloat16", "loader_bug", MISMATCH, stopped="Could not resolve pytorch_Nobody_Base_cv_image_cls_github to a YAML entry or loader.", name="pytorch_Nobody_Base_cv_image_cls_github"),
    Row("bfloat16", "loader_bug", MISMATCH, stopped="this is for training tests", name=key("loader_bug", mode="inference")),
    Row("inputs", "decoder", "ValueError: You have to specify either decoder_input_ids or decoder_inputs_embeds.", branch="B",
        fix="\"decoder_input_ids\": torch.full((", states={"Base": "EXPECTED_PASSING"}, inference="NOT_SUPPORTED_SKIP\n    reason: \"You have to specify either decoder_input_ids or decoder_inputs_embeds.\""),
    Row("inputs", "decoder_place", "ValueError: You have to specify either decoder_input_ids or decoder_inputs_embeds.", branch="B",
        fix="return {\"x\": x, \"decoder_input_ids\": decoder_input_ids}", states={"Base": "EXPECTED_PASSING"}),
    Row("inputs", "targets", "AssertionError: targets should not be none when in training mode", branch="B", fix="return {\"images\": images, \"targets\": [",
        states={"Base": "EXPECTED_PASSING"}, quick=True),
    Row("inputs", "processor", "AssertionError: targets should not be none when in training mode", branch="A", no_fix="prepare makes the inputs, which nothing can be added to",
        states={"Base": "KNOWN_FAILURE_XFAIL (FAILED_FE_COMPILATION: AssertionError: targets should not be none when in training mode)"}),
    Row("inputs", "norm", "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 8, 1, 1])", branch="B", fix="x = x.repeat(2, 1, 1, 1)",
        states={"Base": "EXPECTED_PASSING"}),
    Row("inputs", "norm_inference", "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 8, 1, 1])", branch="A",
        no_fix="inference does not pass with it", states={"Base": "KNOWN_FAILURE_XFAIL"}, review=("passes no longer",)),
    Row("inputs", "neither", "AssertionError: targets should not be none when in training mode", stopped="does not fail on the CPU"),
    Row("inputs", "other_error", "Model expects targets to be passed while in training mode", stopped="for another reason"),
    Row("inputs", "neither", MISMATCH, stopped="This is for missing-input training failures only."),
    Row("unpack-forward-output", "registered", HANDLER, branch="B", no_fix="its output is handled already: only the entry is stale", states={"Base": "EXPECTED_PASSING"}),
    Row("unpack-forward-output", "named", HANDLER, branch="B", fix="training_utils.py:17: _register_attr(\"Depicted\", \"logits\")", quick=True,
        states={"named": "EXPECTED_PASSING", "named_too": "EXPECTED_PASSING", "bare": "unchanged"}, more="".join(f"  {key(one)}:\n" + XFAIL.format(HANDLER) for one in ("named_too", "bare"))),
    Row("unpack-forward-output", "wrong_line", HANDLER, branch="B", fix="def unpack_forward_output: return forward_output.logits", states={"Base": "EXPECTED_PASSING"},
        added=("-_register_attr(\"Pyramid\", \"levels\")", "+        return forward_output.logits"), review=("the registry's line for Pyramid is wrong",)),
    Row("unpack-forward-output", "bare", HANDLER, branch="B", fix="return forward_output[1]", states={"Base": "EXPECTED_PASSING"}),
    Row("unpack-forward-output", "heads", HANDLER, branch="B", fix="torch.cat([forward_output[0].flatten(), forward_output[1].flatten()])", states={"Base": "EXPECTED_PASSING"},
        review=("which of 2 tensors a loss is computed from is not known",)),
    Row("unpack-forward-output", "nested", HANDLER, branch="A", no_fix="its output is nested", states={"Base": "KNOWN_FAILURE_XFAIL"}),
    Row("unpack-forward-output", "opaque", HANDLER, branch="A", no_fix="which attribute of Measured a loss is computed from is not known", states={"Base": "KNOWN_FAILURE_XFAIL"}),
    Row("unpack-forward-output", "broken", HANDLER, stopped="it fails before its output is there, in forward"),
]


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(message)


def same(left: Path, right: Path) -> bool:
    found = filecmp.dircmp(left, right, ignore=["__pycache__"])
    return not (found.left_only or found.right_only or found.diff_files) and all(same(left / name, right / name) for name in found.common_dirs)


def check(row: Row, cupel: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(ZOO, folder / "zoo", ignore=shutil.ignore_patterns("__pycache__"))
        config = folder / "config/torch"
        config.mkdir(parents=True)
        training, inference = config / "test_config_training_single_device.yaml", config / "test_config_inference_single_device.yaml"
        training.write_text("test_config:\n" + "".join(f"  # {variant}\n  {key(row.model, variant)}:\n" + XFAIL.format(row.reason) for variant in row.variants) + row.more)
        inference.write_text("test_config:\n" + "".join(f"  {key(row.model, variant, 'inference')}:\n    status: {row.inference}\n" for variant in row.variants))
        before = training.read_text(), inference.read_text()
        words = [str(cupel), "triage", row.procedure, row.name or key(row.model, row.variants[0]), "--zoo", "zoo", "--config", "config", "--device", "cupel",
                 "--python", sys.executable, "--json"]
        shutil.copytree(folder / "zoo", folder / "before")
        result = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)
        expect(result.returncode == (1 if row.stopped else 0), f"exit code {result.returncode}: {result.stdout}{result.stderr}")
        found = json.loads(result.stdout)
        expect(same(folder / "zoo", folder / "before") and (training.read_text(), inference.read_text()) == before, "something was written without --apply")
        expect(row.stopped in found["stopped"] and bool(row.stopped) == bool(found["stopped"]), found["stopped"])
        if row.stopped:
            expect(not found["patch"], found["patch"])
            return
        expect(found["branch"] == row.branch, found)
        expect(row.fix in found["fix"] and bool(row.fix) == bool(found["fix"]), found["fix"] or found["no_fix"])
        expect(row.no_fix in found["no_fix"], found["no_fix"])
        states = {entry["test"]: entry["state"] for entry in found["entries"]}
        for name, state in row.states.items():
            test = key(row.model, name) if name in row.variants else key(name)
            expect(states.get(test, "").startswith(state), f"{test}: {found['entries']}")
        for line in row.added:
            expect(line in found["patch"].splitlines(), f"{line!r} is not in:\n{found['patch']}")
        for text in row.review:
            expect(any(text in line for line in found["review"]), found["review"])
        expect(("inference" not in found["patch"]), found["patch"])
        expect(found["stale_inference"] == ([key(row.model, variant, "inference") for variant in row.variants] if row.fix and "reason" in row.inference else []), found["stale_inference"])
        # A patch that git takes, and that says what --apply writes.
        if found["patch"]:
            subprocess.run(["git", "apply", "-"], input=found["patch"], cwd=folder, text=True, check=True)
            expect(inference.read_text() == before[1], "inference was touched")
            for entry in found["entries"]:
                if entry["state"].startswith("EXPECTED_PASSING"):
                    block = training.read_text().split(f"  {entry['test']}:\n")[1].split("\n  ")[0]
                    expect("status: EXPECTED_PASSING" in block and "reason" not in block, training.read_text())
            expect(all(f"# {variant}\n" in training.read_text() for variant in row.variants), "comments stay")


def check_apply(cupel: Path) -> None:
    """--apply writes what is printed, and commits nothing."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(ZOO, folder / "zoo", ignore=shutil.ignore_patterns("__pycache__"))
        path = folder / "config/torch/test_config_training_single_device.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(f"test_config:\n  {key('loader_bug')}:\n    status: NOT_SUPPORTED_SKIP\n    reason: \"{MISMATCH}\"\n")
        for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "all"]):
            subprocess.run(["git", *words], cwd=folder, check=True)
        words = [str(cupel), "triage", "bfloat16", key("loader_bug"), "--zoo", "zoo", "--config", "config", "--device", "cupel", "--python", sys.executable, "--apply",
                 "--report", "report.txt"]
        result = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)
        expect(result.returncode == 0, result.stdout + result.stderr)
        changed = subprocess.run(["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True).stdout.split()
        expect(changed[1::2] == ["config/torch/test_config_training_single_device.yaml", "zoo/loader_bug/pytorch/loader.py", "report.txt"], changed)
        expect("torch.ones(4, 2, dtype=dtype_override)" in (folder / "zoo/loader_bug/pytorch/loader.py").read_text(), "the loader")
        expect(path.read_text() == f"test_config:\n  {key('loader_bug')}:\n    status: EXPECTED_PASSING\n", path.read_text())
        report = (folder / "report.txt").read_text()
        for part in ("flavour        cross_dtype", "BFLOAT16: FAILED - RuntimeError", "FLOAT32: OK", "branch         B", "nothing is committed", "its entries are not touched"):
            expect(part in report, report)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=Path)
    parser.add_argument("--mode", choices=["default", "quick", "full"], default="default")
    parser.add_argument("-k", default="", help="rows whose procedure or model contains this")
    parser.add_argument("--resume", type=Path, help="keeps the rows that passed here, and goes on from there")
    parser.add_argument("--for", dest="seconds", type=float, default=float("inf"), help="after so many seconds no other row is begun (exit code 3)")
    options = parser.parse_args()
    cupel = options.bin.resolve() / "cupel"
    jobs = {f"{row.procedure} {row.model} {row.branch or 'stops'} ({row.stopped or row.fix or row.no_fix})": (lambda row=row: check(row, cupel))
            for row in ROWS if (row.quick or options.mode == "full" or options.k) and options.k in f"{row.procedure} {row.model}"}
    if options.k in "apply" and (options.mode != "quick" or options.k):
        jobs["apply"] = lambda: check_apply(cupel)
    known = set(options.resume.read_text().splitlines()) & set(jobs) if options.resume and options.resume.exists() else set()
    began, passed, rest = time.monotonic(), len(known), []

    def run(name: str) -> bool | Exception:
        """Whether it was begun; what went wrong."""
        if time.monotonic() - began > options.seconds:
            return False
        try:
            jobs[name]()
        except Exception as error:  # noqa: BLE001  (a check may fail in any way)
            return error
        return True

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, future in [(name, pool.submit(run, name)) for name in jobs if name not in known]:
            outcome = future.result()
            if outcome is False:
                rest.append(name)
            elif outcome is not True:
                failed += 1
                print(f"FAILED {name}: {type(outcome).__name__}: {outcome}", flush=True)
            else:
                passed += 1
                if options.resume:
                    with options.resume.open("a") as file:
                        file.write(f"{name}\n")
    print(f"{len(jobs)} rows in {time.monotonic() - began:.0f} s" + (f", {len(known)} of them known" if known else ""))
    print(f"{passed} passed, {failed} failed")
    if rest:
        print(f"{len(rest)} rows are still to be run: run the same again")
        return 3
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
