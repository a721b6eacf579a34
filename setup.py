"""Builds the plugin and the commands with CMake and puts them into the wheel beside the Python files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
# What the wheel carries: target, file in build/, place in the package.
PARTS = [
    ("pjrt_plugin_cupel", "lib/pjrt_plugin_cupel.so", "lib"),
    ("cupel_capi", "lib/libcupel.so", "lib"),
    ("cupel", "bin/cupel", "bin"),
    ("cupel-worker", "bin/cupel-worker", "bin"),
    ("cupel-device", "bin/cupel-device", "bin"),
    ("cupel-serve", "bin/cupel-serve", "bin"),
    ("cupel-lsp", "bin/cupel-lsp", "bin"),
]


def run(*command: str) -> None:
    try:
        subprocess.run(command, cwd=ROOT, check=True)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is missing; scripts/install-packages installs what Cupel is built with (Debian 12)")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(command)} ended with {error.returncode}; ./run says what a build needs")


class BuildWithPlugin(build_py):
    def run(self) -> None:
        # Everything in there goes into the wheel, also what an earlier build left.
        shutil.rmtree(Path(self.build_lib) / "cupel", ignore_errors=True)
        super().run()
        for script in ("fetch-python-grammar", "fetch-onnx-schema"):
            run(f"scripts/{script}")
        if not (ROOT / "build/build.ninja").exists():
            run("cmake", "--preset", "release")
        run("ninja", "-C", "build", *(target for target, _, _ in PARTS))
        for _, built, folder in PARTS:
            target = Path(self.build_lib) / "cupel" / folder
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / "build" / built, target)
        shutil.copy2(ROOT / "zoo/reasons.yaml", Path(self.build_lib) / "cupel")


class BinaryDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True  # The wheel is for one platform.


class AnyPython(bdist_wheel):
    """Nothing in the wheel links Python, so one wheel serves every version of it."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildWithPlugin, "bdist_wheel": AnyPython}, distclass=BinaryDistribution)
