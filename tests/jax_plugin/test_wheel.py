"""`pip install .`: what the wheel holds, and JAX and the commands from it, away from the source tree."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

setuptools = pytest.importorskip("setuptools", minversion="70")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("wheel")
    if not (ROOT / "build/build.ninja").exists():
        pytest.skip("the wheel is made from build/")
    done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-q", "-w", folder, ROOT],
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: pathlib.Path, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", folder, wheel], check=True, timeout=300)
    return folder


def in_empty_folder(tmp_path: pathlib.Path, installed: pathlib.Path, *command: str, **more: str) -> subprocess.CompletedProcess:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CUPEL_", "JAX_", "PJRT_"))}
    env.update(PYTHONPATH=str(installed), **more)
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)


def test_it_holds_everything_and_for_any_python(wheel: pathlib.Path):
    assert wheel.name.startswith("cupel-") and "-py3-none-" in wheel.name
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("lib/pjrt_plugin_cupel.so", "lib/libcupel.so", "bin/cupel", "bin/cupel-worker", "bin/cupel-device", "bin/cupel-lsp", "jax/__init__.py"):
        assert f"cupel/{name}" in names, name
    ours = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python/cupel").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == ours


def test_jax_finds_it_when_it_asks(tmp_path: pathlib.Path, installed: pathlib.Path):
    code = """
import sys, jax
print([name for name in sys.modules if name.split(".")[0] == "cupel"])
print(jax.devices(), len(jax.devices("cupel")), jax.jit(lambda x: x + 1)(jax.numpy.arange(3)).tolist())
"""
    done = in_empty_folder(tmp_path, installed, sys.executable, "-c", code, JAX_PLATFORMS="cupel", CUPEL_NUM_DEVICES="2")
    assert done.stdout.splitlines() == ["[]", "[CupelDevice(id=0), CupelDevice(id=1)] 2 [1, 2, 3]"], done.stdout + done.stderr
    done = in_empty_folder(tmp_path, installed, sys.executable, "-c", "import jax; print(jax.devices(), jax.devices('cupel'))")
    assert done.stdout.splitlines() == ["[CpuDevice(id=0)] [CupelDevice(id=0)]"], done.stdout + done.stderr


def test_the_command_works(tmp_path: pathlib.Path, installed: pathlib.Path):
    done = in_empty_folder(tmp_path, installed, sys.executable, "-m", "cupel", "doctor")
    assert done.returncode == 0 and "MISSING" not in done.stdout and "./run" not in done.stdout, done.stdout + done.stderr
    done = in_empty_folder(tmp_path, installed, sys.executable, "-m", "cupel", "doctor", "--device", "cupel")
    assert done.returncode == 0 and "self-test    passed" in done.stdout, done.stdout + done.stderr
    # It says itself what is right: our device alone could only be judged by its own kernels.
    (tmp_path / "p.mlir").write_text("""func.func @main() {
      %a = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
      %b = stablehlo.add %a, %a : tensor<2xf32>
      check.expect_eq_const %b, dense<[2.0, -4.0]> : tensor<2xf32>
      return
    }
    """)
    done = in_empty_folder(tmp_path, installed, sys.executable, "-m", "cupel", "run", "p.mlir", "--device", "cupel")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
