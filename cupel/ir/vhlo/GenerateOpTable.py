#!/usr/bin/env python3
"""Derives everything that knows the portable operations from the definition of stablehlo.

Input is what `llvm-tblgen --dump-json StablehloOps.td` prints. Outputs, each if asked for:

  --table FILE      the vhlo operations of all versions (included by OpTable.cpp)
  --attributes FILE how the attributes of each stablehlo operation map to portable ones (included by
                    cupel/ir/portable)
  --listing FILE    the same operations as plain text, which OpTableTest pins

An operation's definition is written for the newest version; older ones follow by undoing its
revisions, the last one first.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass, replace

CURRENT = (1, 20, 0)
FIRST = (0, 9, 0)
LAST_BEFORE_ONE = (0, 20, 0)

# How a default is named in the definitions -> enumerator of cupel::vhlo::Default.
DEFAULTS = {
    "default_accuracy": "DefaultAccuracy",
    "default_precision": "DefaultPrecision",
    "empty_array": "EmptyArray",
    "empty_backend_config": "EmptyBackendConfig",
    "empty_dictionary": "EmptyDictionary",
    "empty_dims": "EmptyDims",
    "empty_pairs": "EmptyDims",
    "empty_string": "EmptyString",
    "false": "False",
    "minus_one": "MinusOne",
    "no_algorithm": "NoneType",
    "no_reversal": "NoReversal",
    "no_type": "NoType",
    "ones": "Ones",
    "original_api": "OriginalApi",
    "required": "Required",
    "zero_channel": "Zero",
    "zero_padding": "ZeroPadding",
    "zero_version": "Zero",
}

# Attributes that are several in the portable format, one for each of their parameters.
SPLIT_CODECS = {
    "Stablehlo_ConvDimensionNumbersAttr": "Convolution",
    "Stablehlo_DotAlgorithmAttr": "DotAlgorithm",
    "Stablehlo_DotDimensionNumbersAttr": "Dot",
    "Stablehlo_GatherDimensionNumbersAttr": "Gather",
    "Stablehlo_ScatterDimensionNumbersAttr": "Scatter",
}

STORAGE_CODECS = {
    "::mlir::DenseI64ArrayAttr": "Integers",
    "::mlir::DenseBoolArrayAttr": "Booleans",
    "::mlir::FlatSymbolRefAttr": "Symbol",
    "::mlir::UnitAttr": "Unit",
}


def fail(message):
    sys.exit(f"GenerateOpTable.py: {message}")


@dataclass(frozen=True)
class Slot:
    name: str
    variadic: bool = False

    def __str__(self):
        return self.name + ("*" if self.variadic else "")


@dataclass
class SourceAttribute:
    """An attribute of a stablehlo operation."""

    name: str
    codec: str
    portable: list  # names in the portable format


@dataclass
class Op:
    base: str
    revision: int
    since: tuple
    until: tuple
    operands: list
    attributes: dict  # portable name -> Default
    regions: list
    results: list
    promotes_since: tuple = (0, 0, 0)

    @property
    def name(self):
        return f"{self.base}_v{self.revision}"


class Definitions:
    def __init__(self, records):
        self.records = records

    def record(self, reference):
        return self.records[reference["def"]]

    def isA(self, record, name):
        return name in record["!superclasses"]

    def base(self, record):
        """The attribute inside OptionalAttr, DefaultValuedAttr and ConfinedAttr."""
        while record.get("baseAttr"):
            record = self.record(record["baseAttr"])
        return record

    def slots(self, dag, unnamed, kind="Variadic"):
        return [
            Slot(name or unnamed, self.isA(self.record(definition), kind))
            for definition, name in dag["args"]
        ]

    def operations(self):
        for name in self.records["!instanceof"]["StablehloOp"]:
            yield self.records[name]


def version(text):
    parts = tuple(int(part) for part in text.split("."))
    if len(parts) != 3 or not FIRST <= parts <= CURRENT:
        fail(f"'{text}' is not a version between {FIRST} and {CURRENT}")
    return parts


def versionBefore(v):
    if v == (1, 0, 0):
        return LAST_BEFORE_ONE
    return (v[0], v[1] - 1, 0)


def snakeCase(name):
    return re.sub(r"([A-Z])", lambda match: "_" + match.group(1).lower(), name)


def sourceAttribute(definitions, op, name, record):
    """Codec and portable attributes (name -> default) of one attribute of a stablehlo operation."""
    where = f"{op['opName']}.{name}"
    portableDefault = record.get("portableDefault")
    if portableDefault is None:
        default = "Required"
    elif portableDefault in DEFAULTS:
        default = DEFAULTS[portableDefault]
    else:
        fail(f"{where}: unknown portable default '{portableDefault}'; known: {sorted(DEFAULTS)}")
    base = definitions.base(record)
    storage = (base["storageType"] or "").strip()

    if base["!name"] in SPLIT_CODECS:
        added = {part for revision in op["revisions"]
                 for part in definitions.record(revision)["addedAttributes"]}
        names = {}
        for _, parameter in base["parameters"]["args"]:
            part = snakeCase(parameter)
            # A list of dimensions that a revision added is empty in the versions before.
            isAdded = part in added and default == "Required"
            names[part] = "EmptyDims" if isAdded else default
        return SourceAttribute(name, SPLIT_CODECS[base["!name"]], list(names)), names
    if base["!name"] == "Stablehlo_ChannelHandleAttr":
        # Only where a channel is required its type is kept.
        if default == "Required":
            names = {"channel_id": default, "channel_type": default}
            return SourceAttribute(name, "Channel", list(names)), names
        return SourceAttribute(name, "ChannelId", ["channel_id"]), {"channel_id": default}
    if base["!name"] == "Stablehlo_CustomCallApiVersionAttr":
        codec = "ApiVersion"
    elif storage == "::mlir::ArrayAttr" and "symbol ref" in base["summary"]:
        codec = "Symbols"
    elif portableDefault == "zero_version":
        codec = "Version"
    else:
        codec = STORAGE_CODECS.get(storage, "Plain")
    if codec == "Unit":
        default = "False"
    if default == "Required" and (record.get("isOptional") or record.get("defaultValue")):
        if portableDefault != "required":
            fail(f"{where} is optional but says no portableDefault")
    return SourceAttribute(name, codec, [name]), {name: default}


def newestForm(definitions, record):
    sources, attributes, operands = [], {}, []
    for reference, name in record["arguments"]["args"]:
        definition = definitions.record(reference)
        if definitions.isA(definition, "AttrConstraint"):
            source, portable = sourceAttribute(definitions, record, name, definition)
            sources.append(source)
            attributes.update(portable)
        else:
            operands.append(Slot(name, definitions.isA(definition, "Variadic")))
    revisions = [definitions.record(reference) for reference in record["revisions"]]
    since = version(revisions[-1]["since"] if revisions else record["sinceVersion"])
    op = Op(
        base=record["opName"],
        revision=len(revisions) + 1,
        since=since,
        until=CURRENT,
        operands=operands,
        attributes=attributes,
        regions=definitions.slots(record["regions"], "region", "VariadicRegion"),
        results=definitions.slots(record["results"], "results"),
        promotes_since=version(record["promotesSince"]) if record["promotesSince"] else (0, 0, 0),
    )
    return op, sources, revisions


def undo(op, revision, since):
    """The form of an operation before a revision."""
    older = replace(op, revision=op.revision - 1, since=since, until=versionBefore(op.since))
    older.attributes = dict(op.attributes)
    for name in revision["addedAttributes"]:
        if older.attributes.pop(name, None) in (None, "Required"):
            fail(f"{op.name}: the added attribute '{name}' does not exist or has no default")
    for name in revision["removedAttributes"]:
        older.attributes[name] = "ZeroPadding" if name == "padding" else fail(
            f"{op.name}: no value is known for the removed attribute '{name}'")
    for renaming in revision["renamedOperands"]:
        new, old = renaming.split("=")
        older.operands = [replace(s, name=old) if s.name == new else s for s in older.operands]
    if revision["becameVariadic"]:
        def single(slots):
            return [Slot(s.name.removesuffix("s"), False) if s.variadic else s for s in slots]
        older.operands, older.results = single(older.operands), single(older.results)
    if revision["addedRegions"]:
        older.regions = []
    return older


def allForms(definitions):
    ops, sources = [], {}
    for record in definitions.operations():
        op, attributes, revisions = newestForm(definitions, record)
        sources[record["opName"]] = attributes
        ops.append(op)
        for index in range(len(revisions) - 1, -1, -1):
            before = revisions[index - 1]["since"] if index else record["sinceVersion"]
            op = undo(op, revisions[index], version(before))
            ops.append(op)
    # Functions are the portable form of the func dialect.
    required = "Required"
    ops += [
        Op("func", 1, FIRST, CURRENT, [], {"arg_attrs": "EmptyArray", "function_type": required,
           "res_attrs": "EmptyArray", "sym_name": required, "sym_visibility": "EmptyString"},
           [Slot("body")], []),
        Op("call", 1, FIRST, CURRENT, [Slot("operands", True)], {"callee": required}, [],
           [Slot("results", True)]),
    ]
    return sorted(ops, key=lambda op: op.name), sources


# ---------------------------------------------------------------------------------------------


def cppVersion(v):
    return "{%d, %d, %d}" % v


def writeTable(ops, out):
    arrays, rows = [], []

    def array(kind, op, elements):
        if not elements:
            return "{}"
        name = f"k{kind}_{op.name.replace('-', '_')}"
        element = "AttributeSlot" if kind == "Attributes" else "Slot"
        arrays.append(f"constexpr {element} {name}[] = {{{', '.join(elements)}}};")
        return name

    def slots(kind, op, values):
        return array(kind, op, ['{"%s", %s}' % (s.name, str(s.variadic).lower()) for s in values])

    for op in ops:
        attributes = ['{"%s", Default::%s}' % item for item in sorted(op.attributes.items())]
        rows.append('    {"%s", "%s", %d, %s, %s, %s, %s, %s, %s, %s},' % (
            op.name, op.base, op.revision, cppVersion(op.since), cppVersion(op.until),
            slots("Operands", op, op.operands), array("Attributes", op, attributes),
            slots("Regions", op, op.regions), slots("Results", op, op.results),
            cppVersion(op.promotes_since)))
    out.write("// Generated by GenerateOpTable.py from StablehloOps.td.\n")
    out.write("\n".join(arrays))
    out.write("\nconstexpr OpInfo kOps[] = {\n" + "\n".join(rows) + "\n};\n")


def writeAttributes(sources, out):
    out.write("// Generated by GenerateOpTable.py from StablehloOps.td.\n")
    rows = []
    for name in sorted(sources):
        attributes = sources[name]
        if not attributes:
            continue
        identifier = name.replace("-", "_")
        entries = []
        for attribute in attributes:
            array = f"kNames_{identifier}_{attribute.name}"
            names = ", ".join(f'"{portable}"' for portable in attribute.portable)
            out.write(f"constexpr StringLiteral {array}[] = {{{names}}};\n")
            entries.append('{"%s", Codec::%s, %s}' % (attribute.name, attribute.codec, array))
        out.write(f"constexpr AttributeMapping kAttributes_{identifier}[] = "
                  f"{{{', '.join(entries)}}};\n")
        rows.append('    {"%s", kAttributes_%s},\n' % (name, identifier))
    out.write("constexpr OpMapping kMappings[] = {\n" + "".join(rows) + "};\n")


def join(values):
    return ", ".join(str(value) for value in values) or "-"


def writeListing(ops, out):
    out.write("# Every vhlo operation: name | first version | last version | operands | "
              "attributes | regions | results\n")
    for op in ops:
        out.write(" | ".join([op.name, "%d.%d" % op.since[:2], "%d.%d" % op.until[:2],
                              join(op.operands), join(sorted(op.attributes)), join(op.regions),
                              join(op.results)]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", help="output of llvm-tblgen --dump-json")
    for output in ("table", "attributes", "listing"):
        parser.add_argument(f"--{output}", metavar="FILE")
    arguments = parser.parse_args()
    with open(arguments.json, encoding="utf-8") as file:
        definitions = Definitions(json.load(file))
    ops, sources = allForms(definitions)

    def write(path, function, *values):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                function(*values, file)

    write(arguments.table, writeTable, ops)
    write(arguments.attributes, writeAttributes, sources)
    write(arguments.listing, writeListing, ops)


if __name__ == "__main__":
    main()
