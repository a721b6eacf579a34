"""Writes the backend tests that come with the onnx package into a folder, in ONNX's own layout.

DIR/KIND/NAME/model.onnx with test_data_set_N/{input,output}_M.pb. KIND is node, simple, pytorch-operator,
pytorch-converted or light. Light models carry their graph in the package; those that would have to be downloaded
(kind real) are left out. Beside the cases stand operators-of-cases.tsv (which operators, in which version, each model holds)
and operators.tsv (all versions of all operators of the standard). Prints how many cases there are.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import warnings
from pathlib import Path

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

STORED_KINDS = ("simple", "pytorch-operator", "pytorch-converted", "light")


def proto_of(value: object, type_proto: onnx.TypeProto, name: str) -> bytes:
    """A value in the form that ONNX stores test data in."""
    if isinstance(value, onnx.TensorProto | onnx.SequenceProto | onnx.OptionalProto | onnx.MapProto):
        return value.SerializeToString()
    kind = type_proto.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value, name).SerializeToString()
    if kind == "sequence_type":
        return numpy_helper.from_list(value, name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name).SerializeToString()
    return numpy_helper.from_array(numpy.asarray(value), name).SerializeToString()


def write_data_set(folder: Path, graph: onnx.GraphProto, inputs: list[object], outputs: list[object]) -> None:
    folder.mkdir(parents=True)
    initializers = {tensor.name for tensor in graph.initializer}
    declared = list(graph.input)
    if len(declared) != len(inputs):
        declared = [value for value in declared if value.name not in initializers]
    for i, (info, value) in enumerate(zip(declared, inputs)):
        (folder / f"input_{i}.pb").write_bytes(proto_of(value, info.type, info.name))
    for i, (info, value) in enumerate(zip(graph.output, outputs)):
        (folder / f"output_{i}.pb").write_bytes(proto_of(value, info.type, info.name))


def generate_node_cases(out: Path) -> int:
    from onnx.backend.test.case.node import collect_testcases

    written = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        if case.model is None or case.data_sets is None:
            continue
        folder = out / case.kind / case.name
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        for i, (inputs, outputs) in enumerate(case.data_sets):
            write_data_set(folder / f"test_data_set_{i}", case.model.graph, inputs, outputs)
        written += 1
    return written


def write_light_case(folder: Path, path: Path) -> None:
    """The input is the ramp i/n, as the package's own runner makes it."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    shutil.copyfile(path, folder / "model.onnx")
    shutil.copyfile(path.with_name(f"{path.stem}_output_0.pb"), data / "output_0.pb")
    graph = onnx.load(path, load_external_data=False).graph
    initializers = {tensor.name for tensor in graph.initializer}
    for i, info in enumerate(value for value in graph.input if value.name not in initializers):
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        count = int(numpy.prod(shape))
        ramp = (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(ramp, info.name).SerializeToString())


def copy_stored_cases(out: Path) -> int:
    written = 0
    data = Path(loader.__file__).parent.parent / "data"
    for kind in STORED_KINDS:
        for model in sorted((data / kind).rglob("model.onnx")):
            target = out / kind / model.parent.name
            if target.exists():
                continue
            shutil.copytree(model.parent, target)
            written += 1
        for path in sorted((data / kind).glob("*.onnx")):  # the light models: one file and one output each
            write_light_case(out / kind / path.stem, path)
            written += 1
    return written


def operators_in(nodes: list[onnx.NodeProto], opsets: dict[str, int], functions: set[tuple[str, str]]) -> set[str]:
    """`Conv-11`: with the version that the operator set stands for; `domain.Op` for those of other sets."""
    found = set()
    for node in nodes:
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                found |= operators_in(list(graph.node), opsets, functions)
        domain = "" if node.domain == "ai.onnx" else node.domain
        if (domain, node.op_type) in functions:
            continue
        name = node.op_type if not domain else f"{domain}.{node.op_type}"
        try:
            schema = onnx.defs.get_schema(node.op_type, max_inclusive_version=opsets.get(domain, 1), domain=domain)
            found.add(f"{name}-{schema.since_version}")
        except onnx.defs.SchemaError:
            found.add(name)
    return found


def write_operators(out: Path) -> None:
    rows = []
    for path in sorted(out.glob("*/*/model.onnx")):
        model = onnx.load(path, load_external_data=False)
        opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
        functions = {("" if function.domain == "ai.onnx" else function.domain, function.name) for function in model.functions}
        held = operators_in(list(model.graph.node), opsets, functions)
        for function in model.functions:
            inner = opsets | {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in function.opset_import}
            held |= operators_in(list(function.node), inner, functions)
        rows.append(f"{path.parent.parent.name}/{path.parent.name}\t{' '.join(sorted(held))}\n")
    (out / "operators-of-cases.tsv").write_text("".join(rows))
    versions: dict[str, list[tuple[int, bool]]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions.setdefault(schema.name, []).append((schema.since_version, schema.deprecated))
    lines = [f"{name}\t{since}{' deprecated' if deprecated else ''}\n" for name in sorted(versions) for since, deprecated in sorted(versions[name])]
    (out / "operators.tsv").write_text("".join(lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="is emptied first")
    arguments = parser.parse_args()
    stamp = arguments.folder / "version"
    version = f"onnx {onnx.__version__} form 2\n"
    if stamp.exists() and stamp.read_text() == version:
        if not (arguments.folder / "operators.tsv").exists():
            write_operators(arguments.folder)
        print(f"{arguments.folder} is current")
        return 0
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    total = generate_node_cases(arguments.folder) + copy_stored_cases(arguments.folder)
    write_operators(arguments.folder)
    stamp.write_text(version)
    print(f"{total} cases in {arguments.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
