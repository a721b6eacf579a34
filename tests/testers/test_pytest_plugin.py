"""The pytest plugin: stages on disk, FileCheck, and failures where nothing was checked."""

from __future__ import annotations

import pathlib
import tomllib

TEST = """
import pytest, torch
from cupel.testing import run_op_test

{mark}
def test_op({arguments}):
    run_op_test(torch.nn.functional.gelu, [torch.randn(4, 4)]{pass_on})
"""


def run(pytester, *options, mark="", request=True, patterns=None):
    for name, text in (patterns or {}).items():
        (pytester.path / name).write_text(text)
    pytester.makepyfile(TEST.format(mark=mark, arguments="request" if request else "", pass_on=", request=request" if request else ""))
    return pytester.runpytest_subprocess("-p", "cupel.testing.pytest_plugin", *options)


def test_serialize(pytester):
    run(pytester, "--serialize").assert_outcomes(passed=1)
    written = {path.name for path in (pytester.path / "output_artifact/test_op").rglob("*.mlir")}
    assert any("stablehlo" in name for name in written) and any("vhlo" in name for name in written), written


def test_nothing_is_written_unasked(pytester):
    run(pytester).assert_outcomes(passed=1)
    assert not (pytester.path / "output_artifact").exists()


def test_filecheck(pytester):
    mark = '@pytest.mark.filecheck(["gelu.stablehlo.mlir"])'
    run(pytester, mark=mark, patterns={"gelu.stablehlo.mlir": "// CHECK: stablehlo.composite \"tenstorrent.gelu\"\n"}).assert_outcomes(passed=1)


def test_filecheck_fails(pytester):
    mark = '@pytest.mark.filecheck(["gelu.stablehlo.mlir"])'
    result = run(pytester, mark=mark, patterns={"gelu.stablehlo.mlir": "// CHECK: stablehlo.convolution\n"})
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*gelu.stablehlo.mlir does not match*"])


def test_a_missing_pattern_fails(pytester):
    result = run(pytester, mark='@pytest.mark.filecheck(["nowhere.stablehlo.mlir"])')
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*there is no pattern file nowhere.stablehlo.mlir*"])


def test_a_missing_stage_fails(pytester):
    result = run(pytester, mark='@pytest.mark.filecheck(["gelu.ttnn.mlir"])', patterns={"gelu.ttnn.mlir": "// CHECK: x\n"})
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no stage 'ttnn' was written*"])


def test_a_mark_without_request_fails(pytester):
    result = run(pytester, mark='@pytest.mark.filecheck(["gelu.stablehlo.mlir"])', request=False, patterns={"gelu.stablehlo.mlir": "// CHECK: gelu\n"})
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*pass request=request*"])


def test_an_installed_plugin_may_be_named_in_a_conftest_too():
    entries = tomllib.loads((pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert entries and all(name == module for name, module in entries.items()), "pytest refuses a module that it knows under another name"
