"""Writes files as C++ string literals: embed.py OUTPUT FUNCTION=TARGET_FOLDER:FILE,FILE ..."""

import pathlib
import sys

CHUNK = 8000


def literal(text: str) -> str:
    """Long literals are split: compilers need not accept more than 64 KiB in one piece."""
    pieces = [text[i : i + CHUNK] for i in range(0, len(text), CHUNK)] or [""]
    return "\n".join(f'R"~cupel~({piece})~cupel~"' for piece in pieces)


def main() -> None:
    output, *groups = sys.argv[1:]
    parts = ['#include "cupel/compiler/standalone/Resources.h"\n', "namespace cupel::compiler::standalone {\n"]
    for group in groups:
        function, rest = group.split("=", 1)
        folder, files = rest.split(":", 1)
        parts.append(f"static constexpr Resource k_{function}[] = {{")
        for path in map(pathlib.Path, files.split(",")):
            parts.append(f'{{"{folder}{path.name}",\n{literal(path.read_text())}}},')
        parts.append("};")
        parts.append(f"std::span<const Resource> {function}() {{ return k_{function}; }}\n")
    parts.append("} // namespace cupel::compiler::standalone\n")
    text = "\n".join(parts)
    target = pathlib.Path(output)
    if not target.exists() or target.read_text() != text:
        target.write_text(text)
    else:
        target.touch()


main()
