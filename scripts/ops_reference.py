"""Makes docs/reference/ops.md from the TableGen definitions of the dialects."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLEGEN = Path("/usr/lib/llvm-19/bin/llvm-tblgen")
LLVM_INCLUDES = Path("/usr/lib/llvm-19/include")

# The dialects and the file that includes the whole of each.
DIALECTS = {
    "stablehlo": "cupel/ir/stablehlo/StablehloOps.td",
    "chlo": "cupel/ir/chlo/ChloOps.td",
}


def records(definitions: str) -> dict:
    output = subprocess.run([TABLEGEN, "--dump-json", "-I", LLVM_INCLUDES, "-I", ROOT, ROOT / definitions],
                            capture_output=True, text=True, check=True).stdout
    return json.loads(output)


def is_a(table: dict, kind: dict, base: str) -> bool:
    record = table.get(kind.get("def") or "", {})
    return base in record.get("!superclasses", [])


def is_optional_attribute(table: dict, kind: dict) -> bool:
    record = table[kind["def"]]
    return bool(record.get("isOptional")) or bool(record.get("defaultValue"))


def values(table: dict, entries: list) -> str:
    """Operands, results or regions: `name`, with ? for optional and * for any number."""
    names = []
    for kind, name in entries:
        mark = "*" if is_a(table, kind, "Variadic") or is_a(table, kind, "VariadicRegion") else ""
        mark = "?" if is_a(table, kind, "Optional") else mark
        names.append(f"`{name or 'result'}`{mark}")
    return ", ".join(names) or "-"


def attributes(table: dict, entries: list) -> str:
    names = [f"`{name}`" + ("?" if is_optional_attribute(table, kind) else "") for kind, name in entries]
    return ", ".join(names) or "-"


def history(table: dict, op: dict) -> str:
    """When the op appeared in the portable format, and when it changed there."""
    steps = [op["sinceVersion"]] if "sinceVersion" in op else []
    for number, reference in enumerate(op.get("revisions", []), start=2):
        revision = table[reference["def"]]
        changes = []
        if revision["becameVariadic"]:
            changes.append("variadic")
        if revision.get("addedRegions"):
            changes.append("regions")
        changes += [f"+`{name}`" for name in revision["addedAttributes"]]
        changes += [f"-`{name}`" for name in revision["removedAttributes"]]
        changes += [f"`{pair.replace('=', '` was `')}`" for pair in revision["renamedOperands"]]
        steps.append(f"v{number} {revision['since']} ({', '.join(changes)})" if changes else f"v{number} {revision['since']}")
    return "; ".join(steps)


def dialect_section(name: str, definitions: str) -> list[str]:
    table = records(definitions)
    ops = sorted((table[op] for op in table["!instanceof"]["Op"] if table[op]["opDialect"]["def"].lower().startswith(name)),
                 key=lambda op: op["opName"])
    versioned = any("sinceVersion" in op for op in ops)
    columns = ["op", "what it does", "operands", "attributes", "regions", "results"] + (["portable format"] if versioned else [])
    lines = [f"## {name}: {len(ops)} ops", "", f"Defined in `{definitions}` and what it includes.", "",
             "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for op in ops:
        arguments = op["arguments"]["args"]
        is_attribute = [is_a(table, kind, "Attr") for kind, _ in arguments]
        cells = [f"`{name}.{op['opName']}`", op["summary"].replace("|", "\\|"),
                 values(table, [entry for entry, attribute in zip(arguments, is_attribute) if not attribute]),
                 attributes(table, [entry for entry, attribute in zip(arguments, is_attribute) if attribute]),
                 values(table, op["regions"]["args"]), values(table, op["results"]["args"])]
        lines.append("| " + " | ".join(cells + ([history(table, op)] if versioned else [])) + " |")
    return lines + [""]


def ops_page() -> str:
    lines = ["# Operations", "",
             "Made by `scripts/docs.py` from the TableGen definitions: change those, not this page.",
             "`?` marks what may be absent, `*` what may occur any number of times. The last column says since which",
             "version of the portable format an op exists and what changed when it got a new form.", ""]
    for name, definitions in DIALECTS.items():
        if (ROOT / definitions).exists():
            lines += dialect_section(name, definitions)
    return "\n".join(lines)
