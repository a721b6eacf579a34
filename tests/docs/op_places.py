"""Where the sources know an operation by its name: docs/adding-an-op.md promises three places at most.

Used by check_docs.py. Every operation that a record of cupel/ir defines is looked for in all of cupel/ but tests. (Those of sdy
are not: they are no computation, they say how one is split, and what the propagation and the partitioner are about.) A *place*
is a file that recognises the operation: by its class (`isa`, `dyn_cast`, a typed argument, ...) or by its name in quotes. What
counts, and what does not:

- Allowed are the record; the methods of the operation's own class beside it (`XOp::verify`, `XOp::getFlops`, ...), one place
  however many they are, since the linker asks for them and nobody must remember them; and one file of the reference.
- Making an operation (`create<XOp>`, `make(loc, "stablehlo.x", ...)`, what a chlo operation is lowered to, the names that
  frontends build with) is no place: who makes one has a use for it, and a new operation needs none of that.
- A name alone in quotes ("add") is taken for an operation in files that have LIST of them or more: those are lists, which
  must be derived from traits and interfaces instead (cupel/ir/stablehlo/OpFacts.td).
- RULES: rooms where one operation may have a rule for what it alone means, the implementation of an interface: how it is split
  over devices, how chlo is lowered, what becomes of the operations that check and steer, what it asks of the values it is given
  (positive definite matrices, indices inside), which of its sizes belong together (one without a rule keeps its sizes), how its
  regions are run one by one, what it becomes when they are opened. One file of a room is no place.
- FORMS: the compiled device. An operation may have a form of its own there that makes it fast; one that has none is carried as it
  is and runs on the reference's kernel, so that a new operation needs none of it. Its files are no places, and which products have
  weights in block floats or take bf16 is its affair too. Nor are those of standalone code: an operation that has no form in the other language is refused there by its name.
- EXCEPTIONS are operations that a pass exists for, each with the file and the reason, and STRUCTURE what is not an operation
  on values at all. One that is not needed fails too.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = 6
DIALECTS = ("stablehlo", "chlo", "check", "interpreter")
RULES = ("cupel/compiler/partition/", "cupel/compiler/passes/LowerChlo", "cupel/compiler/passes/ExtractChecks", "cupel/compiler/passes/ExtractGrid",
         "cupel/testbench/worker/ChosenInputs", "cupel/testbench/worker/ShrinkShapes", "cupel/testbench/worker/BlameInside", "cupel/testbench/worker/BlameOpened",
         "cupel/testbench/worker/ReduceRegions")
FORMS = ("cupel/compiler/tensor/", "cupel/compiler/device/", "cupel/compiler/codegen/", "cupel/compiler/brief/", "cupel/compiler/backends/cpu/",
         "cupel/compiler/standalone/", "cupel/compiler/passes/RoundWeights", "cupel/compiler/passes/NarrowProducts")
EXCEPTIONS = {
    ("chlo.broadcast_compare", "Broadcasting.cpp"): "the element type of its results is another than that of its operands",
    ("chlo.broadcast_complex", "Broadcasting.cpp"): "the same",
    ("chlo.broadcast_select", "Broadcasting.cpp"): "the same",
    ("chlo.cosh", "RewriteCalls.cpp"): "JAX calls it as a composite of that name",
    ("chlo.sinh", "RewriteCalls.cpp"): "the same",
    ("stablehlo.all_reduce", "CombineReductions.cpp"): "the pass joins sums over devices, and nothing else",
    ("stablehlo.async_done", "ProgramText.cpp"): "hosts read no futures: what was started is done at once",
    ("stablehlo.async_start", "ProgramText.cpp"): "the same",
    ("stablehlo.constant", "ProgramText.cpp"): "hosts read truth values otherwise than MLIR 19 writes them",
    ("stablehlo.constant", "Verify.cpp"): "shapes that are given as constants are read before these are verified",
    ("stablehlo.scatter", "SkipOverhangingWindows.cpp"): "hosts may ask for another meaning of windows out of bounds",
    ("stablehlo.transpose", "Inspect.cpp"): "a result that is one has a layout in which nothing is copied",
}
# Operations that everybody must know: what they are is said by something else.
STRUCTURE = {
    "stablehlo.composite": "a call: whoever follows calls follows it as he does func.call",
    "stablehlo.custom_call": "a call: its targets are the operations, and each belongs to whoever knows it",
    "stablehlo.return": "the end of a region",
}

DEFINITION = re.compile(r"^def (Stablehlo|Chlo|Check|Interpreter)_(\w+Op)\s*:\s*\w+<\s*\"([^\"]+)\"", re.MULTILINE)
MAKING = r"(?:(?:create|make|binary|unary|replaceOpWithNewOp|BroadcastPattern)<[^;()]*|OperationState \w+\([^;]*)$"
MAKING_BY_NAME = r"(?:make|create|emit|OperationState \w+|OperationState)\([^;]*$"


def operations() -> dict[tuple[str, str], tuple[str, str]]:
    """(dialect, class) -> (name, the file of its record)."""
    found = {}
    for path in sorted((ROOT / "cupel/ir").glob("*/*Ops.td")):
        for dialect, cls, name in DEFINITION.findall(path.read_text()):
            found[dialect.lower(), cls] = (name, str(path.relative_to(ROOT)))
    return found


def sources() -> dict[str, str]:
    """All sources without comments."""
    found = {}
    for path in sorted((ROOT / "cupel").rglob("*")):
        if path.suffix in (".h", ".cpp", ".td", ".py", ".inc", ".def") and not re.search(r"Test\.cpp$|Testing\.h$", path.name):
            comment = r"#.*" if path.suffix == ".py" else r"//.*"
            found[str(path.relative_to(ROOT))] = re.sub(comment, "", path.read_text())
    return found


def is_made(file: str, text: str, start: int) -> bool:
    before = text[max(0, start - 160):start]
    # Frontends make operations by templates of their own; what they recognise they ask for in these words.
    if file.startswith("cupel/frontends/"):
        return re.search(r"(?:isa|cast|cast_or_null|getDefiningOp)<[^;()]*$", before) is None
    return re.search(MAKING, before) is not None


def places_by_class(file: str, text: str, dialect: str) -> dict[str, set[str]]:
    """class -> places of one file."""
    found: dict[str, set[str]] = {}
    speaks = re.search(rf"namespace (?:cupel::)?{dialect}\b", text)
    for match in re.finditer(r"(?:(\w+)::)?\b(\w+Op)\b", text):
        scope, cls = match[1], match[2]
        if not (scope == dialect or (speaks and scope is None)) or is_made(file, text, match.start()):
            continue
        own = file.startswith(f"cupel/ir/{dialect}/") and re.search(rf"\b{cls}::(?!getOperationName)", text)
        found.setdefault(cls, set()).add(f"cupel/ir/{dialect} (methods of {cls})" if own else file)
    return found


def places(sources: dict[str, str]) -> dict[str, set[str]]:
    """The full name of each operation -> its places."""
    defined = operations()
    by_name = {f"{dialect}.{name}": (dialect, cls) for (dialect, cls), (name, _) in defined.items()}
    bare = {name: f"{dialect}.{name}" for (dialect, _), (name, _) in defined.items() if dialect == "stablehlo"}
    found = {f"{dialect}.{name}": {record} for (dialect, _), (name, record) in defined.items()}
    for file, text in sources.items():
        if file.endswith(".td"):
            continue
        for dialect in DIALECTS:
            for cls, where in places_by_class(file, text, dialect).items():
                if (dialect, cls) in defined:
                    found[f"{dialect}.{defined[dialect, cls][0]}"] |= where
        is_frontend = file.startswith("cupel/frontends/")
        for match in () if is_frontend else re.finditer(rf"\"((?:{'|'.join(DIALECTS)})\.[\w-]+)\"", text):
            if match[1] in by_name and not re.search(MAKING_BY_NAME, text[max(0, match.start() - 160):match.start()]):
                found[match[1]].add(file)
        if not is_frontend:
            listed = {name for name in re.findall(r"\"([\w-]+)\"", text) if name in bare}
            for name in listed if len(listed) >= LIST else ():
                found[bare[name]].add(file)
    return found


def beyond(operation: str, files: set[str]) -> set[str]:
    """What is left of an operation's places without its record, its methods, one file of the reference and its rules."""
    dialect = operation.partition(".")[0]
    files = {file for file in files if not file.endswith(".td") and not file.startswith(f"cupel/ir/{dialect} (methods")}
    files = {file for file in files if not file.startswith(FORMS)}
    for room in ("cupel/reference/", *RULES):
        files -= set(sorted(file for file in files if file.startswith(room))[:1])
    return files


def complaints(places: dict[str, set[str]]) -> list[str]:
    result, needed = [], set()
    for operation, files in sorted(places.items()):
        more = set() if operation in STRUCTURE else beyond(operation, files)
        needed |= {(operation, Path(file).name) for file in more} & set(EXCEPTIONS)
        more = sorted(file for file in more if (operation, Path(file).name) not in EXCEPTIONS)
        if more:
            result.append(f"{operation} is known by name in {', '.join(more)}, beside its record, its methods and its kernel")
    return result + [f"tests/docs/op_places.py: the exception for {operation} in {file} is not needed" for operation, file in sorted(set(EXCEPTIONS) - needed)]
