"""Models with a requirements.txt in `cupel run`: an environment of their own, made once, and failures that say what pip said."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from test_run import ROOT

from cupel._files import command_path

SPECTRUM, CNN = "spectrum/pytorch-single_device-inference", "cnn/pytorch-small-single_device-inference"
MISSING = "faults/requirements/pytorch-single_device-inference"


def run(folder: pathlib.Path, zoo: pathlib.Path, *arguments: str, **environment: str) -> tuple[str, dict[str, dict]]:
    """What was printed, and the records by id; environments are kept in the folder."""
    report = folder / "run.json"
    report.unlink(missing_ok=True)
    inherited = {name: value for name, value in os.environ.items() if "MODEL_REQS" not in name}
    done = subprocess.run([command_path("cupel"), "run", "--zoo", zoo, *arguments, "--device", "cupel", "--python", sys.executable, "--results", folder / "results", "--json", report, "-j1"],
                          capture_output=True, text=True, check=False, timeout=600, env=inherited | {"CUPEL_CACHE_DIR": str(folder / "cache")} | environment)
    assert report.exists(), done.stdout + done.stderr
    return done.stdout + done.stderr, {test["id"]: test for test in json.loads(report.read_text())["tests"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("environments")


@pytest.fixture(scope="module")
def ran(folder: pathlib.Path) -> tuple[str, dict[str, dict]]:
    return run(folder, ROOT / "zoo/models", *(f"models::{name}" for name in (SPECTRUM, SPECTRUM.replace("inference", "training"), CNN, MISSING)), TT_XLA_REQS_DEBUG="1")


def test_a_model_runs_in_an_environment_of_its_own(ran: tuple[str, dict[str, dict]], folder: pathlib.Path) -> None:
    printed, records = ran
    for name in (SPECTRUM, SPECTRUM.replace("inference", "training"), CNN):
        assert records[name]["outcome"] == "passed", (records[name], printed)
    made = [one for one in (folder / "cache").rglob("cupel_windows") if one.is_dir()]
    assert len(made) == 1 and str(made[0]) not in sys.path, made
    assert printed.count("note: pip install -r requirements.txt") == 2, printed  # One of them for what nobody has.
    assert subprocess.run([sys.executable, "-c", "import cupel_windows"], capture_output=True, check=False).returncode == 1


def test_a_failed_installation_says_what_pip_said(ran: tuple[str, dict[str, dict]]) -> None:
    test = ran[1][MISSING]
    assert test["outcome"] == "failed" and test["error_class"] == "requirements" and test["last_stage"] == "load", test
    assert test["reasons"][0]["name"] == "REQUIREMENTS_NOT_INSTALLED" and "no-such-package" in test["message"] and "ERROR" in test["message"], test


def test_switched_off_the_base_serves(ran: tuple[str, dict[str, dict]], folder: pathlib.Path) -> None:
    printed, records = run(folder, ROOT / "zoo/models", f"models::{SPECTRUM}", "--no-model-requirements")
    test = records[SPECTRUM]
    assert test["outcome"] == "failed" and test["error_class"] == "loader_model" and "No module named 'cupel_windows'" in test["message"], printed
    assert "asks for packages" not in printed


def test_what_will_not_run_installs_nothing(folder: pathlib.Path) -> None:
    zoo = folder / "zoo"
    shutil.copytree(ROOT / "zoo/models/faults/requirements", zoo / "faults/requirements")
    for name in ("__init__.py", "base.py", "config.py"):
        shutil.copy(ROOT / "zoo/models" / name, zoo)
    (zoo / "config").mkdir()
    (zoo / "config/all.yaml").write_text(f"test_config:\n  {MISSING}:\n    status: NOT_SUPPORTED_SKIP\n    reason: not here\n")
    printed, records = run(folder, zoo, f"models::{MISSING}", "--config", str(zoo / "config"))
    assert records[MISSING]["outcome"] == "skipped" and "asks for packages" not in printed, printed
