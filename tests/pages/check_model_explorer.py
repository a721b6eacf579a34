"""The extension for Google's Model Explorer: check_model_explorer.py BIN. Loaded and called as Model Explorer does it, by the package where it is
installed, else by the interface that it documents. Ends with `N passed, N failed`."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.argv[1]).resolve()
os.environ["CUPEL_COMMAND"] = str(BIN / "cupel")
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]
# The folder of this script holds no package of that name, so that this finds the real one or none.
try:
    import model_explorer  # noqa: F401

    IS_REAL = True
except ImportError:
    import model_explorer_interface

    model_explorer_interface.install()
    IS_REAL = False

PROGRAM = """func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("jit(f)/layer_0/dot_general")
  %s = stablehlo.add %p, %x : tensor<8x16xf32> loc("jit(f)/layer_0/add")
  %t = stablehlo.tanh %s : tensor<8x16xf32> loc("jit(f)/layer_0/tanh")
  return %t : tensor<8x16xf32>
}
"""


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(message)


def extensions() -> dict[str, type]:
    """Both classes, as whoever loads `cupel.explorer` finds them."""
    module = importlib.import_module("cupel.explorer.main")
    return {"adapter": module.CupelAdapter, "provider": module.CupelNodeData}


def the_package_loads_it(folder: Path) -> None:
    if IS_REAL:
        from model_explorer.extension_manager import ExtensionManager

        manager = ExtensionManager(["cupel.explorer"])
        manager.load_extensions()
        ids = {entry["id"] for entry in manager.get_extensions_metadata()}
        expect({"cupel", "cupel_time", "cupel_error", "cupel_ops", "cupel_values"} <= ids, ids)
    else:
        extensions()
        registered = {cls.__name__ for cls in model_explorer_interface.REGISTERED}
        expect({"CupelAdapter", "CupelNodeData"} <= registered, registered)
    metadata = extensions()["adapter"].metadata
    expect(metadata.fileExts == ["mlir", "mlirbc", "onnx", "pt2"], metadata)


def graphs_of_every_stage(folder: Path) -> None:
    found = extensions()["adapter"]().convert(str(folder / "model.mlir"), {})
    graphs = {graph.id: dataclasses.asdict(graph) for graph in found["graphs"]}
    expect(list(graphs) == ["stablehlo", "tensor", "device"], list(graphs))
    json.dumps(graphs)  # It travels as JSON.
    nodes = {node["id"]: node for node in graphs["stablehlo"]["nodes"]}
    tanh = next(node for node in nodes.values() if node["label"] == "tanh")
    expect(tanh["namespace"] == "jit(f)/layer_0", tanh)
    expect(nodes[tanh["incomingEdges"][0]["sourceNodeId"]]["label"] == "add", tanh["incomingEdges"])
    expect(any(pair["key"] == "tensor_shape" for item in tanh["outputsMetadata"] for pair in item["attrs"]), tanh["outputsMetadata"])


def providers_colour_the_graph(folder: Path) -> None:
    provider, model = extensions()["provider"](), str(folder / "model.mlir")
    graph = next(one for one in extensions()["adapter"]().convert(model, {})["graphs"] if one.id == "stablehlo")
    labels = {node.id: node.label for node in graph.nodes}
    for identity in ("cupel_time", "cupel_error", "cupel_ops", "cupel_values"):
        editors = provider.get_config_editors(identity).configEditors
        answers = {editor.id: editor.defaultValue for editor in editors}
        stage = "device" if identity == "cupel_time" else "stablehlo"
        # As it is called where another model was opened before.
        given = provider.run(identity, model, stage + " (2)" if identity == "cupel_values" else stage, answers, graph)
        expect(given.error == "" and given.result.results, f"{identity}: {given.error}")
        if stage == "stablehlo":
            expect(set(given.result.results) <= set(labels), f"{identity} speaks of nodes that are not there")
            expect({"dot_general", "add", "tanh"} <= {labels[node] for node in given.result.results}, f"{identity}: {given.result.results}")
        values = [one.value for one in given.result.results.values()]
        expect(all(isinstance(value, str) for value in values) if identity == "cupel_ops" else all(isinstance(value, int | float) for value in values), values)


def a_wrong_device_shows(folder: Path) -> None:
    provider = extensions()["provider"]()
    given = provider.run("cupel_error", str(folder / "model.mlir"), "stablehlo", {"device": "cupel?plant_wrong_rewrite=1", "seed": "0"}, None)
    expect(given.error == "", given.error)
    expect(max(one.value for one in given.result.results.values()) > 0.01, given.result.results)


def what_fails_is_said(folder: Path) -> None:
    provider = extensions()["provider"]()
    given = provider.run("cupel_error", str(folder / "model.mlir"), "stablehlo", {"device": "nosuch.so"}, None)
    expect(given.result is None and "nosuch.so" in given.error, given.error)
    given = provider.run("cupel_time", str(folder / "model.mlir"), "stablehlo", {"runs": "2"}, None)
    expect("it is known of device" in given.error, given.error)


def main() -> int:
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="cupel-model-explorer-") as name:
        folder = Path(name)
        (folder / "model.mlir").write_text(PROGRAM)
        os.chdir(folder)
        for check in (the_package_loads_it, graphs_of_every_stage, providers_colour_the_graph, a_wrong_device_shows, what_fails_is_said):
            try:
                check(folder)
                passed += 1
            except Exception:  # noqa: BLE001 - a check may fail in any way.
                failed += 1
                print(f"FAILED {check.__name__}: {traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
