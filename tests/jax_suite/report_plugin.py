"""A pytest plugin for run_jax_tests.py: writes one line when a test starts and one when it ends.

What is written survives a crash of the process, so the parent knows which test was running. Tests listed in
CUPEL_JAX_DONE are left out; JAX's tests are told that they run on the platform CUPEL_JAX_DUT.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from pathlib import Path

import pytest

_log = open(os.environ["CUPEL_JAX_LOG"], "a", buffering=1)
_done_file = os.environ.get("CUPEL_JAX_DONE", "")
_done = set(Path(_done_file).read_text().splitlines()) if _done_file else set()


def _write(**entry: object) -> None:
    _log.write(json.dumps(entry) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("CUPEL_JAX_REGISTER"):
        # Before any backend exists; in a source tree there is no entry point for JAX to find.
        import cupel.jax

        cupel.jax.initialize()
    if dut := os.environ.get("CUPEL_JAX_DUT"):
        from jax._src import test_util

        test_util.device_under_test = lambda: dut


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if item.nodeid in _done]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid not in _done]
    _write(event="collected", count=len(items))


def pytest_runtest_logstart(nodeid: str) -> None:
    _write(event="start", id=nodeid, time=time.time())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    # JAX's helpers keep the standard streams of the moment when they are imported, which here is before pytest's.
    if os.environ.get("CUPEL_JAX_DUT"):
        from jax._src import test_util

        test_util.capture_stdout = functools.partial(test_util._capture_output, sys.stdout)
        test_util.capture_stderr = functools.partial(test_util._capture_output, sys.stderr)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" or report.failed or report.skipped:
        message = ""
        if report.failed and call.excinfo is not None:
            message = f"{call.excinfo.typename}: {call.excinfo.value}"[:2000]
        _write(event="end", id=item.nodeid, when=report.when, outcome=report.outcome, message=message, seconds=round(call.duration, 3))


def pytest_sessionfinish(session: pytest.Session) -> None:
    _write(event="finished")
