"""Builds the wheel of this package with Python alone, so that it installs without a network (PEP 517)."""

from __future__ import annotations

import zipfile
from pathlib import Path

NAME, VERSION = "cupel_windows", "1.0"


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    wheel, info = f"{NAME}-{VERSION}-py3-none-any.whl", f"{NAME}-{VERSION}.dist-info"
    files = {f"{NAME}/{path.name}": path.read_text() for path in sorted((Path(__file__).parent / NAME).glob("*.py"))}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: cupel\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel
