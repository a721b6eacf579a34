"""The pytest side of the testers: `--serialize`, `--cupel-strict`, `--cupel-precision`, `--cupel-device` and `@pytest.mark.filecheck([...])`.

pytest loads it through the entry point `cupel`; it imports no framework.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from cupel.testing.artifacts import DONE, FOLDER
from cupel.testing.comparison import POLICY


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cupel")
    group.addoption("--serialize", action="store_true", help=f"write the stages of compilations to {FOLDER}/<test>/ (tests that pass `request`)")
    group.addoption("--cupel-strict", action="store_true", help="judge results by noise also where a test configures comparators")
    group.addoption("--cupel-device", default=POLICY.device, metavar="D", help="where testers run: cupel, or a PJRT plugin's .so file; cupel?arch=n300")
    group.addoption("--cupel-precision", default=POLICY.precision, metavar="P", help="what the device computes in: f32, tf32, bf16, ... (f32)")


def pytest_configure(config: pytest.Config) -> None:
    POLICY.strict, POLICY.precision = config.getoption("--cupel-strict"), config.getoption("--cupel-precision")
    POLICY.device = config.getoption("--cupel-device")
    config.addinivalue_line("markers", "filecheck(patterns): run LLVM's FileCheck with these files (NAME.STAGE.mlir) on the stages of the test's compilation")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    for mark in item.iter_markers("filecheck"):
        if len(mark.args) != 1 or not isinstance(mark.args[0], (list, tuple)) or not mark.args[0] or not all(isinstance(p, str) for p in mark.args[0]):
            pytest.fail('the mark takes one list of pattern files: @pytest.mark.filecheck(["add.shlo.mlir"])', pytrace=False)
    result = yield
    if next(item.iter_markers("filecheck"), None) and not getattr(item, DONE, False):
        pytest.fail("the test is marked filecheck but checked nothing: pass request=request to the tester", pytrace=False)
    return result
