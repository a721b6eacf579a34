"""What Model Explorer loads: an adapter for programs and models, and providers of node data that run on a device.

Classes register themselves where they are defined; Model Explorer makes a new object for every request, so none keeps anything.
"""

from __future__ import annotations

import re
from typing import Any

from model_explorer import (
    Adapter,
    AdapterMetadata,
    GetConfigEditorsResult,
    ModelExplorerGraphs,
    NodeDataProvider,
    NodeDataProviderFilter,
    NodeDataProviderMetadata,
    NodeDataProviderResult,
)
from model_explorer.config_editor import ConfigEditor, SlideToggleConfigEditor, TextInputConfigEditor
from model_explorer.graph_builder import Graph, GraphNode, IncomingEdge, KeyValue, MetadataItem
from model_explorer.node_data_builder import GradientItem, GraphNodeData, NodeDataResult, ThresholdItem

from cupel.explorer import commands

ADAPTER = "cupel"
ENDINGS = ["mlir", "mlirbc", "onnx", "pt2"]


def _pairs(entries: list[dict[str, Any]]) -> list[KeyValue]:
    return [KeyValue(key=entry["key"], value=entry["value"]) for entry in entries]


def _items(entries: list[dict[str, Any]]) -> list[MetadataItem]:
    return [MetadataItem(id=entry["id"], attrs=_pairs(entry["attrs"])) for entry in entries]


def _node(entry: dict[str, Any]) -> GraphNode:
    edges = [IncomingEdge(**edge) for edge in entry.get("incomingEdges", [])]
    return GraphNode(id=entry["id"], label=entry["label"], namespace=entry.get("namespace", ""), attrs=_pairs(entry.get("attrs", [])),
                     incomingEdges=edges, outputsMetadata=_items(entry.get("outputsMetadata", [])))  # fmt: skip


def _graph_data(entry: dict[str, Any], name: str) -> GraphNodeData:
    results = {node: NodeDataResult(**one) for node, one in entry["results"].items()}
    return GraphNodeData(results=results, name=entry.get("name", name), thresholds=[ThresholdItem(**one) for one in entry.get("thresholds", [])],
                         gradient=[GradientItem(**one) for one in entry.get("gradient", [])])  # fmt: skip


class CupelAdapter(Adapter):
    """Programs and models through our own readers, at every stage of their compilation."""

    metadata = AdapterMetadata(id=ADAPTER, name="Cupel", description="StableHLO, ONNX and torch.export, at every stage of their compilation",
                               fileExts=ENDINGS)  # fmt: skip

    def __init__(self) -> None:
        super().__init__()

    def convert(self, model_path: str, settings: dict[str, Any]) -> ModelExplorerGraphs:
        return {"graphs": [Graph(id=graph["id"], nodes=[_node(node) for node in graph["nodes"]]) for graph in commands.graphs_of(model_path)]}


DEVICE = TextInputConfigEditor(id="device", label="Device", defaultValue="cupel", required=True,
                               description="cupel, an architecture that it presents (n300), or the path of a PJRT plugin's .so file")  # fmt: skip
SEED = TextInputConfigEditor(id="seed", label="Seed of made-up inputs", defaultValue="0", number=True)
RUNS = TextInputConfigEditor(id="runs", label="Runs", defaultValue="20", number=True)
EXECUTES = SlideToggleConfigEditor(id="executes", label="Run and judge them", defaultValue=True, description="else it is only asked which the device takes")

# By id: what it is called, what it does, what its dialog asks for, and what computes it from the answers.
PROVIDERS: dict[str, tuple[str, str, list[ConfigEditor], Any]] = {
    "cupel_time": ("Cupel: time on our own device", "Runs the compiled program and colours each launch of the graph 'device' by its time.", [RUNS], lambda model, given: commands.time_on_device(model, int(given.get("runs") or 20))),
    "cupel_error": ("Cupel: error of a device against the golden reference", "Runs on a device and shows how far its values are off, operation after operation.", [DEVICE, SEED],
                    lambda model, given: commands.error_on_device(model, str(given.get("device") or "cupel"), int(given.get("seed") or 0))),
    "cupel_ops": ("Cupel: operation by operation on a device", "Gives a device every operation alone: which it takes, and which are right.", [DEVICE, EXECUTES],
                  lambda model, given: commands.op_by_op(model, str(given.get("device") or "cupel"), bool(given.get("executes", True)))),
    "cupel_values": ("Cupel: magnitudes of values", "Evaluates the program on the golden reference: the largest magnitude of every value.", [SEED], lambda model, given: commands.values_of(model, int(given.get("seed") or 0))),
}  # fmt: skip


class CupelNodeData(NodeDataProvider):
    """Runs on a device and colours the graph."""

    metadata = [NodeDataProviderMetadata(id=provider, name=name, description=description, icon="memory",
                                         filter=NodeDataProviderFilter(modelFileExts=ENDINGS, adapterIds=[ADAPTER]))
                for provider, (name, description, _, _) in PROVIDERS.items()]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()

    def get_config_editors(self, provider_id: str) -> GetConfigEditorsResult:
        return GetConfigEditorsResult(configEditors=list(PROVIDERS[provider_id][2]))

    def run(self, provider_id: str, model_path: str, graph_id: str, config_values: dict[str, Any], graph: Graph | None) -> NodeDataProviderResult:
        name, _, _, compute = PROVIDERS[provider_id]
        # Where several models are open, Model Explorer numbers graphs of the same name: "stablehlo (2)".
        stage = re.sub(r" \(\d+\)$", "", graph_id)
        try:
            found = compute(model_path, config_values)
        except (commands.CupelError, FileNotFoundError, ValueError) as error:
            return NodeDataProviderResult(error=str(error))
        if stage not in found:
            stages = ", ".join(found) or "no graph"
            return NodeDataProviderResult(error=f"there is nothing to say of the graph '{stage}'; it is known of {stages}")
        return NodeDataProviderResult(result=_graph_data(found[stage], name))
