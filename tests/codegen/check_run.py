"""`cupel run` on generated folders, as on any other test: found by their manifest, built, run and judged. check_run.py BIN

The last line is `N passed, N failed`.
"""

from __future__ import annotations

import json
import os
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from check_codegen import ADD, cupel, layers
from running import run_all

QUICK = dict(os.environ, CXXFLAGS="-O0")


def generated(folder: Path, language: str, program: str, name: str, *options: str) -> Path:
    file = folder / f"{name}.mlir"
    file.write_text(program)
    done = cupel("codegen", language, file, "-o", folder / "all" / name, *options)
    assert done.returncode == 0, done.stderr
    return folder / "all" / name


def tested(folder: Path, *arguments: str | Path) -> tuple[int, str, dict[str, dict]]:
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = cupel("run", *arguments, "--results", folder / "results", "--json", report, "--junitxml", folder / "junit.xml", "--python", sys.executable,
                 "-j", "1", env=QUICK)
    tests = {test["id"]: test for test in json.loads(report.read_text())["tests"]} if report.exists() else {}
    return done.returncode, done.stdout + done.stderr, tests


def both_languages_pass_and_their_stages_are_no_tests(folder: Path) -> None:
    for language in ("py", "cpp"):
        generated(folder, language, layers(), f"layers_{language}")
        generated(folder, language, ADD.format(op="add"), f"ones_{language}", "--no-tensors")
    code, printed, tests = tested(folder, folder / "all")
    assert code == 0 and sorted(tests) == ["layers_cpp", "layers_py", "ones_cpp", "ones_py"], printed
    for test in tests.values():
        assert test["suite"] == "generated" and test["outcome"] == "passed", test
        assert test["notes"]["runs on"] == "the generated code" and test["comparisons"], test
        assert {"frontend", "compile", "execute", "reference", "compare"} <= {one["stage"] for one in test["stages"]}, test
    cases = ElementTree.parse(folder / "junit.xml").getroot().iter("testcase")
    assert len(list(cases)) == 4
    # A stage that is named is a test of its own.
    _, printed, tests = tested(folder, folder / "all/layers_py/irs/shlo.mlir")
    assert [test["suite"] for test in tests.values()] == ["programs"], printed


def an_edit_is_noticed(folder: Path) -> None:
    python = generated(folder, "py", ADD.format(op="add"), "python")
    text = (python / "main.py").read_text()
    assert " + " in text, text
    (python / "main.py").write_text(text.replace(" + ", " - "))
    cpp = generated(folder, "cpp", ADD.format(op="add"), "cpp")
    code, printed, tests = tested(folder, cpp)
    assert code == 0, printed
    text = (cpp / "main.cpp").read_text()
    assert " + " in text, text
    (cpp / "main.cpp").write_text(text.replace(" + ", " - "))  # It is built anew.
    code, printed, tests = tested(folder, folder / "all")
    assert code == 1 and len(tests) == 2, printed
    for name, test in tests.items():
        assert test["outcome"] == "failed" and test["last_stage"] == "compare" and test["error_class"] == "wrong_result", test
        assert test["reproduction"] == str(folder / "all" / name), test


def what_does_not_build_or_run_fails_where_it_does(folder: Path) -> None:
    cpp = generated(folder, "cpp", ADD.format(op="add"), "cpp")
    (cpp / "main.cpp").write_text((cpp / "main.cpp").read_text() + "\nthis is no C++\n")
    python = generated(folder, "py", ADD.format(op="add"), "python")
    (python / "main.py").write_text("raise SystemExit('broken on purpose')\n")
    lost = generated(folder, "py", layers(), "lost")
    for file in (lost / "tensors").iterdir():
        file.unlink()
    code, printed, tests = tested(folder, folder / "all")
    assert code == 1, printed
    assert tests["cpp"]["last_stage"] == "compile" and "cannot be built" in tests["cpp"]["message"], tests["cpp"]
    assert tests["python"]["last_stage"] == "execute" and "broken on purpose" in tests["python"]["message"], tests["python"]
    assert tests["lost"]["outcome"] == "failed" and "inputs.safetensors" in tests["lost"]["message"], tests["lost"]


def manifests_of_others_are_left_alone(folder: Path) -> None:
    (folder / "all").mkdir()
    (folder / "all/manifest.json").write_text('{"generator": "somebody else"}')
    (folder / "all/add.mlir").write_text(ADD.format(op="add"))
    code, printed, tests = tested(folder, folder / "all")
    assert code != 2 and [test["suite"] for test in tests.values()] == ["programs"], printed


if __name__ == "__main__":
    sys.exit(run_all([both_languages_pass_and_their_stages_are_no_tests, an_edit_is_noticed, what_does_not_build_or_run_fails_where_it_does,
                      manifests_of_others_are_left_alone]))
