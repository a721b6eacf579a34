"""Generated C++ of many programs in few binaries: headers are read once for a batch, not once a program.

A batch is a file that includes the main.cpp of each program in a namespace of its own; what it does not
build is built one by one, so that a program that is wrong is named.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

FLAGS = "-O0 -Wall -Wextra -Werror"


def compile_command(source: Path, binary: Path) -> list[str]:
    flags = os.environ.get("CODEGEN_CXXFLAGS", FLAGS).split()
    return [os.environ.get("CODEGEN_CXX", "g++"), "-std=c++17", *flags, "-o", str(binary), str(source), "-pthread"]


def prelude(ops: Path) -> Path:
    """The headers of generated folders, compiled once for all batches that have the same ones."""
    flags = " ".join(compile_command(Path("x"), Path("y")))
    state = hashlib.sha256(flags.encode() + b"".join(file.read_bytes() for file in sorted(ops.iterdir()))).hexdigest()[:16]
    place = Path(tempfile.gettempdir()) / f"codegen-prelude-{os.getuid()}-{state}"
    header = place / "ops/model.h"
    if not place.exists():
        made = Path(tempfile.mkdtemp(prefix="codegen-prelude-"))
        shutil.copytree(ops, made / "ops")
        subprocess.run(compile_command(made / "ops/model.h", made / "ops/model.h.gch"), capture_output=True, check=False)
        try:
            made.rename(place)
        except OSError:  # Another batch was faster.
            shutil.rmtree(made)
    return header


def build_all(folders: list[Path], scratch: Path) -> dict[Path, tuple[list[str], str]]:
    """For each folder the command that runs it (inside the folder), or why it does not build."""
    if not folders:
        return {}
    text = [f'#include "{prelude(folders[0] / "ops")}"']
    for number, folder in enumerate(folders):
        # The headers of all folders are the same; each program keeps its own line of including them.
        body = (folder / "main.cpp").read_text().replace('#include "ops/model.h"', "").replace("int main(", f"int main_{number}(")
        body = re.sub(r"^namespace model \{", f"namespace model_{number} {{", body, flags=re.M).replace("model::", f"model_{number}::")
        text += [f'#line 1 "{folder.name}/main.cpp"', body]
    names = ", ".join(f"main_{number}" for number in range(len(folders)))
    text += [f"int (*const mains[])(int, char **) = {{{names}}};",
             "int main(int argc, char **argv) { return argc < 2 ? 2 : mains[std::atoi(argv[1])](argc - 1, argv + 1); }"]  # fmt: skip
    source, binary = scratch / "batch.cpp", scratch / "batch"
    source.write_text("\n".join(text))
    built = subprocess.run(compile_command(source, binary), capture_output=True, text=True)
    if built.returncode == 0:
        return {folder: ([str(binary), str(number)], "") for number, folder in enumerate(folders)}
    if len(folders) > 1:
        half, result = len(folders) // 2, {}
        for name, part in (("a", folders[:half]), ("b", folders[half:])):
            (scratch / name).mkdir()
            result |= build_all(part, scratch / name)
        return result
    why = next((line for line in built.stderr.splitlines() if "error" in line), built.stderr[:300])
    return {folders[0]: ([], "does not build: " + why)}
