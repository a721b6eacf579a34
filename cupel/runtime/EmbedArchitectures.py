"""Writes the descriptors of zoo/archs into a C++ source: EmbedArchitectures.py OUT FILE..."""

import pathlib
import sys


def main() -> None:
    out, files = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
    rows = []
    for path in sorted(files, key=lambda path: path.stem):
        text = path.read_text()
        if ')yaml"' in text:
            sys.exit(f"{path}: cannot be embedded")
        described = "false" if "\ndescribed: false" in text else "true"
        rows.append(f'    {{"{path.stem}", R"yaml({text})yaml", {described}}},\n')
    out.write_text(
        '#include "cupel/runtime/BuiltInArchitectures.h"\n\n'
        "namespace cupel::runtime {\n\n"
        "static constexpr BuiltInArchitecture kAll[] = {\n" + "".join(rows) + "};\n\n"
        "std::span<const BuiltInArchitecture> builtInArchitectures() { return kAll; }\n\n"
        "} // namespace cupel::runtime\n")


main()
