"""Runs a folder of pytest tests and ends with the line that ./test reads: run_pytest.py FOLDER [PYTEST OPTIONS]."""

from __future__ import annotations

import sys

import pytest


class Counter:
    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed:
            self.failed += 1
        elif report.skipped:
            self.skipped += 1
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, "wasxfail", "")
            print(f"\nSKIPPED {report.nodeid}: {reason}")
        elif report.when == "call":
            self.passed += 1

    def pytest_collectreport(self, report) -> None:
        self.failed += report.failed


def main() -> int:
    counter = Counter()
    code = pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", "--show-capture=no", *sys.argv[1:]], plugins=[counter])
    if code not in (0, 1) and not counter.failed:
        counter.failed = 1
    print(f"{counter.passed} passed, {counter.failed} failed" + (f", {counter.skipped} skipped" if counter.skipped else ""))
    return 1 if counter.failed else 0


if __name__ == "__main__":
    sys.exit(main())
