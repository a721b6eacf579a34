"""A pytest plugin for run_jax_tests.py: writes one line when a test starts and one when it ends.

What is written survives a crash of the process, so the parent knows which test was running. Tests listed in
CUPEL_JAX_DONE are left out, with CUPEL_JAX_ONLY all that it does not list, and with CUPEL_JAX_SAMPLE ("per mille:seed")
all that a hash of their names does not choose; JAX's tests are told that they run on the platform CUPEL_JAX_DUT.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import sys
import time
import zlib
from pathlib import Path

import pytest

_log = open(os.environ["CUPEL_JAX_LOG"], "a", buffering=1)
_done_file = os.environ.get("CUPEL_JAX_DONE", "")
_done = set(Path(_done_file).read_text().splitlines()) if _done_file else set()
_only_file = os.environ.get("CUPEL_JAX_ONLY", "")
_only = set(Path(_only_file).read_text().splitlines()) if _only_file else None
_per_mille, _, _seed = os.environ.get("CUPEL_JAX_SAMPLE", "1000:0").partition(":")


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
        # Programs that JAX saved for the CPU are looked at by another way.
        from jax._src.internal_test_util import export_back_compat_test_util

        export_back_compat_test_util.CompatTestBase.default_jax_backend = lambda self: dut
        # JAX says once of every platform that it does not know that it is experimental; some tests count messages.
        logging.getLogger("jax._src.xla_bridge").addFilter(lambda record: "is experimental" not in record.getMessage())


def _is_wanted(name: str) -> bool:
    if name in _done or (_only is not None and name not in _only):
        return False
    return zlib.crc32(f"{_seed}/{name}".encode()) % 1000 < int(_per_mille)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if not _is_wanted(item.nodeid)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_wanted(item.nodeid)]
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
