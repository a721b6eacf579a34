"""Operator cases (RFC-0186) from outside: outcomes, selection, duplicates, backends, errors with places, figures.

usage: .venv/bin/python check_opcases.py BUILD/bin. Ends with `N passed, N failed`. Run by the Python that has torch; the cases run in it too.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import torch

CUPEL = Path(sys.argv[1]).resolve() / "cupel"
ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "zoo/ops/template.yaml"
sys.path.insert(0, str(ROOT / "python"))

from cupel.worker import instructions  # noqa: E402

instructions.settle()  # Before torch computes anything.

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(str(message))


class Bench:
    """A folder with case files and results of its own."""

    def __init__(self, folder: str):
        self.folder = Path(folder)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def run(self, *arguments: object, verb: str = "run", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        words = [str(CUPEL), verb, *map(str, arguments)]
        if verb in ("run", "show"):
            words += ["--results", str(self.folder / "results")]
        if verb == "run" and "--python" not in words:
            words += ["--python", sys.executable]
        return subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                              env={**os.environ, **(env or {})})

    def records(self, *arguments: object, **options: object) -> dict[str, dict]:
        """Runs, and the records by the case's name."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = self.run(*arguments, "--json", report, "-j", 1, **options)
        expect(report.is_file(), f"{done.args}: no report\n{done.stdout}{done.stderr}")
        self.report = json.loads(report.read_text())
        self.done = done
        return {test["id"].partition("#")[2]: test for test in self.report["tests"]}


def passed_all(records: dict[str, dict], count: int) -> None:
    bad = {name: (test["outcome"], test.get("message")) for name, test in records.items() if test["outcome"] != "passed"}
    expect(not bad and len(records) == count, f"{len(records)} of {count} cases, not passed: {bad}")


# --- the template of the spec ------------------------------------------------------------------------------------------------------------


@check
def template_on_torch_itself(bench: Bench) -> None:
    passed_all(bench.records(TEMPLATE, "--compile-backend", "eager"), 13)
    expect(bench.done.returncode == 0, bench.done.stdout)


@check
def template_on_the_reference(bench: Bench) -> None:
    records = bench.records(TEMPLATE)
    passed_all(records, 13)
    expect(records["add_basic"]["comparisons"], "add_basic was not compared")
    expect("view" in records["view_should_error_on_noncontig"]["notes"]["raised"], records["view_should_error_on_noncontig"])


@check
def template_on_the_plugin(bench: Bench) -> None:
    passed_all(bench.records(TEMPLATE, "--device", "cupel"), 13)


# --- inputs ------------------------------------------------------------------------------------------------------------------------------


@check
def inputs_are_what_torch_makes(bench: Bench) -> None:
    from cupel.worker.inputs import make_arguments
    spec = {"shape": [3, 4], "dtype": "float16"}
    case = {"seed": 123, "inputs": [{"tensor": {**spec, "init": "randn"}}, {"tensor": {**spec, "init": "rand", "dtype": "bool", "shape": [40, 50]}},
                                    {"tensor": {**spec, "init": "randint", "dtype": "int64", "low": 0, "high": 9}},
                                    {"tensor": {**spec, "init": "uniform", "low": -1.0, "high": 1.0}}]}
    made, _ = make_arguments(case)
    torch.manual_seed(123)
    expect(torch.equal(made[0], torch.randn([3, 4], dtype=torch.float16)), made[0])
    expect(torch.equal(made[1], torch.rand([40, 50]) < 0.5), "bools")
    expect(torch.equal(made[2], torch.randint(0, 9, [3, 4])), made[2])
    expect(torch.equal(made[3], torch.empty([3, 4], dtype=torch.float16).uniform_(-1.0, 1.0)), made[3])
    expect(abs(made[1].float().mean().item() - 0.5) < 0.05, "half of random bools are True")


@check
def presets_give_the_layouts_they_name(bench: Bench) -> None:
    from cupel.worker.inputs import make_tensor
    def made(preset: str, shape: list[int] = [2, 3, 8], **arguments: object) -> torch.Tensor:
        return make_tensor({"shape": shape, "dtype": "float32", "init": "rand", "preset": preset, "preset_args": arguments})
    layouts = {
        "noncontig_slice": (made("noncontig_slice", dim=1, step=2), (48, 16, 1)),
        "transpose_view": (made("transpose_view", dim0=1, dim1=2), (24, 1, 3)),
        "permute_view": (made("permute_view", dims=[2, 0, 1]), (1, 16, 2)),
        "expand_view": (made("expand_view", dims=[1]), (8, 0, 1)),
        "narrow": (made("narrow", dim=2, start=1, after=1), (30, 10, 1)),
        "channels_last": (made("channels_last", [2, 3, 4, 5]), (60, 1, 15, 3)),
        "strided": (made("strided", [2, 3], strides=[1, 2]), (1, 2)),
    }
    for name, (tensor, strides) in layouts.items():
        expect(tensor.stride() == strides, f"{name}: {tensor.stride()}")


@check
def every_kind_of_input_runs(bench: Bench) -> None:
    torch.save(torch.arange(6.0).reshape(2, 3), bench.folder / "x.pt")
    torch.save({"w": torch.ones(3), "b": torch.zeros(3)}, bench.folder / "state.pt")
    bench.write("all.yaml", """
        model: everything
        default: {dtype: fp32, seed: 1, rtol: 1.0e-4, atol: 1.0e-5}
        cases:
          - {name: data, op: torch.mul, inputs: [tensor: {init: data, data: [[1, 2], [3, .inf]]}, value: 2.0]}
          - {name: file, op: torch.add, inputs: [file: x.pt, file: {path: state.pt, key: w}]}
          - {name: list, op: torch.stack, inputs: [tensor_list: [{shape: [2, 3]}, {shape: [2, 3]}]], attrs: {dim: 1}}
          - {name: tuple, op: torch.permute, inputs: [tensor: {shape: [2, 3, 4]}, value: "(2, 0, 1)"]}
          - {name: dtype, op: torch.to, inputs: [tensor: {shape: [4]}, value: torch.float16]}
          - {name: keyword, op: torch.sum, inputs: [tensor: {shape: [4, 5]}], attrs: {dim: 1, keepdim: true}}
          - {name: tensor_keyword, op: torch.nn.functional.linear, inputs: [tensor: {shape: [2, 8]}], attrs: {weight: {tensor: {shape: [4, 8]}}}}
          - {name: in_place, op: torch.add_, inputs: [tensor: {shape: [4]}, value: 1.0]}
          - {name: setitem, op: torch.setitem, inputs: [tensor: {shape: [4, 4]}, py: "(0, slice(1, 3))", value: 5.0]}
          - {name: python_operator, op: operator.__matmul__, inputs: [tensor: {shape: [2, 3]}, tensor: {shape: [3, 2]}]}
          - {name: several_results, op: torch.max, inputs: [tensor: {shape: [3, 4]}, value: 1]}
          - {name: functional, op: torch.nn.functional.layer_norm, inputs: [tensor: {shape: [2, 8]}, value: [8]]}
          - {name: method, op: torch.Tensor.expand, inputs: [tensor: {shape: [1, 3]}, value: [4, 3]]}
          - {name: overload, op: torch.ops.aten.sum.dim_IntList, inputs: [tensor: {shape: [2, 3]}, value: [0]]}
          - {name: empty, op: torch.cat, inputs: [tensor_list: [{shape: [0, 3]}, {shape: [2, 3]}]]}
    """)
    for backend in ("eager", "cupel"):
        passed_all(bench.records("all.yaml", "--compile-backend", backend), 15)


@check
def pickles_run_nothing(bench: Bench) -> None:
    class Bad:
        def __reduce__(self):
            return os.system, (f"touch {bench.folder}/ran",)
    (bench.folder / "bad.pt").write_bytes(pickle.dumps(Bad(), protocol=2))
    torch.save(Bad(), bench.folder / "bad2.pt")
    bench.write("c.yaml", "cases:\n" + "".join(f"  - {{name: {n}, op: torch.neg, inputs: [file: {n}.pt]}}\n" for n in ("bad", "bad2", "gone")))
    records = bench.records("c.yaml", "--compile-backend", "eager")
    expect(all(test["outcome"] == "failed" for test in records.values()), records)
    expect("no such file" in records["gone"]["message"], records["gone"])
    expect(not (bench.folder / "ran").exists(), "the pickle ran a command")


# --- outcomes ----------------------------------------------------------------------------------------------------------------------------


@check
def wrong_results_fail(bench: Bench) -> None:
    bench.write("site/liar.py", """
        def compile(module, inputs):
            def call(*arguments):
                result = module.forward(*arguments)
                return tuple(tensor * 1.01 for tensor in result)
            return call
        """)
    bench.write("site/liar-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: liar\nVersion: 1.0\n")
    bench.write("site/liar-1.0.dist-info/entry_points.txt", "[torch_dynamo_backends]\nliar = liar:compile\n")
    bench.write("c.yaml", """
        default: {dtype: fp32}
        cases:
          - {name: strict, op: torch.add, rtol: 1.0e-3, atol: 0, inputs: [tensor: {shape: [4], init: ones}, value: 1.0]}
          - {name: lenient, op: torch.add, rtol: 0.1, inputs: [tensor: {shape: [4], init: ones}, value: 1.0]}
          - {name: default, op: torch.add, inputs: [tensor: {shape: [4], init: ones}, value: 1.0]}
        """)
    records = bench.records("c.yaml", "--compile-backend", "liar", "--no-dedupe", env={"PYTHONPATH": str(bench.folder / "site")})
    expect([records[n]["outcome"] for n in ("strict", "lenient", "default")] == ["failed", "passed", "failed"],
           {n: (t["outcome"], t.get("message")) for n, t in records.items()})
    expect("result 0 is wrong" in records["strict"]["message"], records["strict"]["message"])
    expect(bench.done.returncode == 1, bench.done.returncode)


@check
def expected_errors_must_come(bench: Bench) -> None:
    bench.write("c.yaml", """
        cases:
          - {name: none, op: torch.neg, expects_error: {type: RuntimeError}, inputs: [tensor: {shape: [2]}]}
          - {name: type, op: torch.bmm, expects_error: {type: ValueError}, inputs: [tensor: {shape: [2]}, tensor: {shape: [2]}]}
          - {name: text, op: torch.bmm, expects_error: {type: RuntimeError, match: banana}, inputs: [tensor: {shape: [2]}, tensor: {shape: [2]}]}
          - {name: right, op: torch.bmm, expects_error: {type: RuntimeError, match: 3D}, inputs: [tensor: {shape: [2]}, tensor: {shape: [2]}]}
          - {name: unexpected, op: torch.bmm, inputs: [tensor: {shape: [2]}, tensor: {shape: [2]}]}
          - {name: unknown, op: torch.ad, inputs: [tensor: {shape: [2]}]}
        """)
    records = bench.records("c.yaml")
    said = {name: (test["outcome"], test.get("message", "")) for name, test in records.items()}
    expect(said["none"][0] == "failed" and "raised nothing" in said["none"][1], said)
    expect(said["type"][0] == "failed" and "raised RuntimeError" in said["type"][1], said)
    expect(said["text"][0] == "failed" and "banana" in said["text"][1], said)
    expect(said["right"][0] == "passed", said)
    expect(said["unexpected"][0] == "failed" and "fails on the CPU" in said["unexpected"][1], said)
    expect("did you mean 'torch.add'?" in said["unknown"][1], said)


@check
def skips_marks_and_conditions(bench: Bench) -> None:
    bench.write("c.yaml", """
        model: m
        cases:
          - {name: by_device, op: torch.neg, skip_if: [{expr: "cfg.test_device.type == 'reference' and dtype_str == 'fp16'", reason: not here}],
             inputs: [tensor: {shape: [2]}]}
          - {name: not_by_device, op: torch.abs, skip_if: [{expr: "arch in ['p150']", reason: not there}], inputs: [tensor: {shape: [2]}]}
          - {name: marked_skip, op: torch.exp, mark: skip, inputs: [tensor: {shape: [2]}]}
          - {name: known, op: torch.bmm, mark: [xfail, slow], inputs: [tensor: {shape: [2]}]}
          - {name: marked, op: torch.exp, mark: slow, inputs: [tensor: {shape: [3]}]}
        """)
    said = {name: (test["outcome"], test.get("message", "")) for name, test in bench.records("c.yaml").items()}
    expect(said["by_device"] == ("skipped", "not here"), said)
    expect(said["not_by_device"][0] == "passed", said)
    expect(said["marked_skip"][0] == "skipped" and said["known"][0] == "xfailed", said)
    expect(bench.records("c.yaml", "--arch", "p150")["not_by_device"]["outcome"] == "skipped", "arch")
    expect(set(bench.records("c.yaml", "-m", "slow")) == {"known", "marked"}, "-m slow")
    expect(set(bench.records("c.yaml", "-k", "torch.exp and not marked_skip")) == {"marked"}, "-k")


@check
def marks_can_be_registered(bench: Bench) -> None:
    bench.write("ops/c.yaml", """
        cases:
          - {name: a, op: torch.neg, mark: smoke, inputs: [tensor: {shape: [2]}]}
          - {name: b, op: torch.abs, mark: smoek, inputs: [tensor: {shape: [2]}]}
        """)
    done = bench.run("ops", "--list-cases")
    expect("not registered" not in done.stderr, done.stderr)
    bench.write("cupel.yaml", "op_cases: ops\nmarkers: [smoke]\n")
    done = bench.run("--list-cases", "-m", "smoke")
    expect("the mark 'smoek' is not registered" in done.stderr and "did you mean 'smoke'?" in done.stderr, done.stderr)
    expect("c.yaml#a" in done.stdout and "c.yaml#b" not in done.stdout, done.stdout)


@check
def problems_have_places(bench: Bench) -> None:
    path = bench.write("c.yaml", """\
        model: m
        cases:
          - name: a
            op: torch.neg
            inputs:
              - tensor: {shap: [2]}
          - {name: b, op: torch.neg, inputs: [tensor: {shape: [2]}]}
        """)
    done = bench.run("c.yaml")
    expect(f"{path}:6:18: a tensor has no key 'shap'; did you mean 'shape'?" in done.stderr, done.stderr)
    expect(done.returncode == 1 and "1 test selected" in done.stdout, done.stdout)


# --- selection and duplicates ------------------------------------------------------------------------------------------------------------

TWINS = """
    model: {model}
    default: {{dtype: fp32, rtol: {rtol}}}
    cases:
      - {{name: {prefix}add, op: torch.add, inputs: [tensor: {{shape: [4, 4]}}, tensor: {{shape: [4, 4]}}]}}
      - {{name: {prefix}own, op: torch.{own}, inputs: [tensor: {{shape: [4, 4]}}]}}
"""


def twins(bench: Bench) -> None:
    bench.write("ops/gpt-oss.yaml", TWINS.format(model="gpt-oss", prefix="g_", own="neg", rtol=0.01))
    bench.write("ops/granite.yaml", TWINS.format(model="granite", prefix="r_", own="abs", rtol=0.01))
    bench.write("ops/strict.yaml", TWINS.format(model="strict", prefix="s_", own="exp", rtol=0.001))


@check
def duplicates_name_their_twins(bench: Bench) -> None:
    twins(bench)
    records = bench.records("ops")
    expect(records["r_add"]["outcome"] == "skipped" and "duplicate of opcases::gpt-oss.yaml#g_add" in records["r_add"]["message"], records["r_add"])
    # The same with a tighter tolerance is another test.
    expect(records["s_add"]["outcome"] == "passed" and records["g_add"]["outcome"] == "passed", records["s_add"])
    expect(bench.report["summary"]["opcases"]["dedupe"]["duplicates"] == 1, bench.report["summary"]["opcases"])
    passed_all(bench.records("ops", "--no-dedupe"), 6)
    # A twin that is not selected stands for nobody.
    passed_all(bench.records("ops", "--model", "granite"), 2)


@check
def models_are_selected_and_listed(bench: Bench) -> None:
    twins(bench)
    expect(set(bench.records("ops", "--model", "gpt_oss", "--model", "strict")) == {"g_add", "g_own", "s_add", "s_own"}, "two models")
    done = bench.run("ops", "--model", "granit")
    expect(done.returncode == 2 and "did you mean 'granite'?" in done.stderr, done.stderr)
    done = bench.run("ops", "--list-models")
    expect(all(name in done.stdout for name in ("gpt-oss", "granite", "strict")) and done.returncode == 0, done.stdout + done.stderr)
    done = bench.run("ops", "--list-cases")
    expect("granite.yaml#r_add" in done.stdout and "torch.add(4x4xfloat32, 4x4xfloat32)" in done.stdout, done.stdout)
    expect("= opcases::gpt-oss.yaml#g_add" in done.stdout, done.stdout)


# --- cases of models ----------------------------------------------------------------------------------------------------------------------


@check
def cases_are_extracted_and_pass(bench: Bench) -> None:
    subprocess.run([sys.executable, str(Path(__file__).parent / "export_models.py"), str(bench.folder)], check=True, capture_output=True, timeout=300)
    for name, count in (("convnet", 31), ("llama-block", 57)):
        done = bench.run("extract", f"{name}.pt2", "-o", f"{name}.yaml", verb="ops")
        expect(done.returncode == 0, done.stderr)
        text = (bench.folder / f"{name}.yaml").read_text()
        expect("File: opcases/export_models.py:" in text and str(ROOT) not in text, text[:2000])
        # What ships is what is extracted, but for the lines of the exporting script.
        shipped = (ROOT / f"zoo/ops/{name}.yaml").read_text()
        plain = [[line for line in one.splitlines() if not line.startswith(("#", "      File:"))] for one in (text, shipped)]
        expect(plain[0] == plain[1], f"zoo/ops/{name}.yaml is not what `cupel ops extract` makes now")
        passed_all(bench.records(f"{name}.yaml"), count)


@check
def cases_of_onnx_models_mean_their_nodes(bench: Bench) -> None:
    import numpy
    import onnx
    import onnx_extraction as extraction
    from cupel.worker.inputs import make_arguments

    path = extraction.model(bench.folder / "net.onnx")
    done = bench.run("extract", "net.onnx", "--shape", "ids=3x4", "-o", "net.yaml", verb="ops")
    expect(done.returncode == 0, done.stderr)
    cases = extraction.cases_of(bench.folder / "net.yaml")
    source = onnx.load(path)
    # Every node is a case, but for Identity, the call that stands there twice, and the two that are left out by name.
    nodes = {node.name for node in source.graph.node if node.op_type != "Identity"}
    missing = nodes - {extraction.node_of(case) for case in cases}
    expect(missing == {"again", "uneven", "clip"} and len(cases) == len(nodes) - 3, (missing, len(cases)))
    twice = next(case for case in cases if case["op"] == "torch.matmul")
    expect("Calls: 2" in twice["description"], twice)
    expect("it pads its two sides differently" in done.stderr + done.stdout and "its bounds are tensors" in done.stderr + done.stdout, done.stderr + done.stdout)
    for case in cases:
        arguments, attributes = make_arguments({"seed": 3, **case})
        tensors = [value for argument in arguments for value in (argument if isinstance(argument, list) and argument and isinstance(argument[0], torch.Tensor) else [argument])
                   if isinstance(value, torch.Tensor)]
        node = extraction.node_of(case)
        wanted = extraction.node_result(source, node, [tensor.numpy() for tensor in tensors])
        made = extraction.case_result(case, arguments, attributes).numpy()
        expect(made.shape == wanted.shape and numpy.allclose(made, wanted, rtol=1e-4, atol=1e-5), f"{case['name']} ({case['op']}) is not what node {node} computes")
    passed_all(bench.records("net.yaml"), len(cases))


@check
def softmax_of_old_onnx_models_is_told_apart(bench: Bench) -> None:
    import onnx_extraction as extraction

    extraction.old_softmax(bench.folder / "old.onnx")
    done = bench.run("extract", "old.onnx", "-o", "old.yaml", verb="ops")
    case, = extraction.cases_of(bench.folder / "old.yaml")
    expect(extraction.node_of(case) == "of_rows" and case["attrs"] == {"dim": {"value": 1}}, case)
    expect("of_planes" in done.stderr + done.stdout and "before opset 13" in done.stderr + done.stdout, done.stderr + done.stdout)


@check
def extraction_refuses_what_is_no_model(bench: Bench) -> None:
    bench.write("a.pt2", "nothing")
    for name, words in (("a.pt2", "a.pt2"), ("b.pt2", "b.pt2"), ("c.txt", ".pt2 and .onnx")):
        done = bench.run("extract", name, verb="ops")
        expect(done.returncode == 2 and words in done.stderr, f"{name}: {done.returncode} {done.stderr}")


# --- the worker --------------------------------------------------------------------------------------------------------------------------


@check
def python_is_started_once(bench: Bench) -> None:
    starts = bench.folder / "starts"
    python = bench.write("python", f'#!/bin/sh\necho started >> {starts}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    passed_all(bench.records(TEMPLATE, "--python", python), 13)
    expect(starts.read_text().count("started") == 1, starts.read_text())
    passed_all(bench.records(TEMPLATE, "--python", "", env={"CUPEL_PYTHON": str(python)}), 13)
    expect(starts.read_text().count("started") == 2, "CUPEL_PYTHON was not used")


@check
def missing_packages_are_named(bench: Bench) -> None:
    bare = bench.write("bare", f'#!/bin/sh\nshift\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    records = bench.records(TEMPLATE, "-k", "add_basic", "--python", bare)
    test = records["add_basic"]
    expect(test["outcome"] == "not run" and "-m pip install torch" in test["message"], test)
    test = bench.records(TEMPLATE, "-k", "add_basic", "--python", "/no/such/python")["add_basic"]
    expect(test["outcome"] == "not run" and "/no/such/python" in test["message"] and "--python" in test["message"], test)


@check
def a_dying_worker_costs_one_case(bench: Bench) -> None:
    # Torch trusts what as_strided is told of memory that is not there; a process that dies must take one case with it.
    bench.write("site/usercustomize.py", "")
    bench.write("site/killer.py", """
        import os
        def compile(module, inputs):
            os.abort()
        """)
    bench.write("site/killer-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: killer\nVersion: 1.0\n")
    bench.write("site/killer-1.0.dist-info/entry_points.txt", "[torch_dynamo_backends]\nkiller = killer:compile\n")
    bench.write("c.yaml", """
        cases:
          - {name: dies, op: torch.neg, inputs: [tensor: {shape: [2]}]}
          - {name: fine, op: torch.bmm, expects_error: {type: RuntimeError}, inputs: [tensor: {shape: [2]}, tensor: {shape: [2]}]}
        """)
    records = bench.records("c.yaml", "--compile-backend", "killer", env={"PYTHONPATH": str(bench.folder / "site")})
    expect(records["dies"]["outcome"] == "crashed" and records["fine"]["outcome"] == "passed",
           {n: (t["outcome"], t.get("message")) for n, t in records.items()})


@check
def lowered_instructions_are_noted(bench: Bench) -> None:
    # Torch's products are made to die above a level: the doctor says so, and the records say what the expected values were computed with.
    planted = {"CUPEL_CACHE": str(bench.folder / "cache"), instructions.VARIABLE: "AVX512_CORE_VNNI", instructions.PLANTED: "AVX512_CORE"}
    note = "ONEDNN_MAX_CPU_ISA=AVX512_CORE: torch's bfloat16 matmul dies of SIGILL with AVX512_CORE_VNNI"
    # The doctor first: it tries the products and keeps what it finds, so that the cases need not wait for that.
    done = subprocess.run([str(CUPEL), "doctor", "--json"], capture_output=True, text=True, timeout=300, env={**os.environ, **planted, "CUPEL_PYTHON": sys.executable})
    found = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}["torch"]
    expect(found["present"] and found["detail"] == f"torch {torch.__version__}, {note} ({sys.executable})", found)
    bench.write("c.yaml", """
        cases:
          - {name: product, op: torch.matmul, rtol: 0.02, atol: 0.05, inputs: [tensor: {shape: [32, 64], dtype: bf16}, tensor: {shape: [64, 32], dtype: bf16}]}
          - {name: skipped, op: torch.empty_like, inputs: [tensor: {shape: [4]}]}
        """)
    records = bench.records("c.yaml", env=planted)
    expect({name: (test["outcome"], test.get("notes", {}).get("torch_instructions")) for name, test in records.items()} ==
           {"product": ("passed", note), "skipped": ("skipped", note)}, records)


@check
def memory_that_nobody_wrote_is_not_expected(bench: Bench) -> None:
    bench.write("c.yaml", """
        default: {dtype: fp32}
        cases:
          - {name: strided, op: torch.empty_strided, inputs: [value: [2, 3], value: [1, 2]]}
          - {name: like, op: torch.empty_like, inputs: [tensor: {shape: [3], dtype: int32}]}
          - {name: new, op: torch.Tensor.new_empty, inputs: [tensor: {shape: [3]}, value: [4, 5]]}
          - {name: nothing, op: torch.empty_like, inputs: [tensor: {shape: [0, 3]}]}
          - {name: zeros, op: torch.zeros_like, inputs: [tensor: {shape: [3]}]}
        """)
    for backend in ("cupel", "eager"):
        said = {name: (test["outcome"], test.get("message", "")) for name, test in bench.records("c.yaml", "--compile-backend", backend).items()}
        expect(all(said[name][0] == "skipped" and "memory that nobody wrote" in said[name][1] for name in ("strided", "like", "new")), said)
        expect(said["zeros"][0] == "passed" and said["nothing"][0] == "passed", said)


@check
def backend_from_the_environment(bench: Bench) -> None:
    test = bench.records(TEMPLATE, "-k", "add_basic", env={"TEST_COMPILE_BACKEND": "eager"})["add_basic"]
    expect(test["outcome"] == "passed" and test["notes"]["backend"] == "eager", test)
    expect(bench.report["run"]["device"] == "torch.compile:eager", bench.report["run"])
    test = bench.records(TEMPLATE, "-k", "add_basic", "--compile-backend", "nonesuch")["add_basic"]
    expect(test["outcome"] == "failed" and "nonesuch" in test["message"], test)


# --- figures -----------------------------------------------------------------------------------------------------------------------------


@check
def figures_in_three_forms(bench: Bench) -> None:
    twins(bench)
    markdown = bench.folder / "report.md"
    bench.records("ops", "--markdown", markdown, "--compile-backend", "eager")
    figures = bench.report["summary"]["opcases"]
    expect(figures["models"]["granite"]["pass_rate"] == 1 and figures["models"]["granite"]["duplicates"] == 1, figures["models"])
    expect(figures["ops"]["torch.add"]["executed"] == 2 and figures["total"]["distinct_ops"] == 4, figures["ops"])
    expect(figures["total"]["seconds_per_case"] > 0, figures["total"])
    expect("Operator cases: 5 of 5 that ran passed (100.0 %)" in bench.done.stdout, bench.done.stdout)
    expect("### Operator cases" in markdown.read_text() and "| torch.add |" in markdown.read_text(), markdown.read_text())
    # A second run with a failure shows in the trend.
    (bench.folder / "ops/strict.yaml").write_text(textwrap.dedent(TWINS.format(model="strict", prefix="s_", own="nope", rtol=0.001)))
    bench.records("ops", "--compile-backend", "eager")
    done = bench.run("--opcases", "--json", verb="show")
    trend = json.loads(done.stdout)["trend"]
    expect(len(trend) == 2 and trend[1]["new_failures"] == 1 and trend[0]["pass_rate"] == 1, trend)
    done = bench.run("--opcases", verb="show")
    expect("Trend" in done.stdout and "80.0 %" in done.stdout, done.stdout)


def main() -> int:
    wanted = sys.argv[2:]
    failed = 0
    chosen = [function for function in CHECKS if not wanted or function.__name__ in wanted]
    for function in chosen:
        with tempfile.TemporaryDirectory(prefix="cupel-opcases-") as folder:
            try:
                function(Bench(folder))
            except Exception as error:
                failed += 1
                print(f"FAILED {function.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
