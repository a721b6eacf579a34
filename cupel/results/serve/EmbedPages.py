"""Writes the files of web/ into a C++ source: EmbedPages.py OUT FOLDER FILE..."""

import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
PIECE = 8000  # Compilers promise no more than 65,535 characters a literal.


def literal(data: bytes) -> str:
    text = data.decode()
    pieces = [text[at:at + PIECE] for at in range(0, len(text), PIECE)] or [""]
    return "\n".join(f'R"~page~({piece})~page~"' for piece in pieces)


def main() -> None:
    out, folder, files = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), [pathlib.Path(name) for name in sys.argv[3:]]
    rows = []
    for path in sorted(files):
        data = path.read_bytes()
        if b')~page~"' in data:
            sys.exit(f"{path}: cannot be embedded")
        rows.append(f'    {{"{path.relative_to(folder).as_posix()}", "{TYPES[path.suffix]}",\n{literal(data)}}},\n')
    out.write_text('#include "cupel/results/serve/Pages.h"\n\nnamespace cupel::results::serve {\n\n'
                   "static constexpr PageFile kAll[] = {\n" + "".join(rows) + "};\n\n"
                   "std::span<const PageFile> pageFiles() { return kAll; }\n\n"
                   "const PageFile *findPage(std::string_view name) {\n  for (const PageFile &file : kAll)\n"
                   "    if (file.name == name)\n      return &file;\n  return nullptr;\n}\n\n} // namespace cupel::results::serve\n")


main()
