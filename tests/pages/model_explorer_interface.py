"""The interface of Model Explorer's extensions as its documentation states it, for machines without the package: base classes that register
their subclasses, and the dataclasses that they return. Installed under the names of the package; nothing else of it is here."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

REGISTERED: list[type] = []


class Extension:
    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        if cls.__module__ != __name__:
            REGISTERED.append(cls)


@dataclass
class AdapterMetadata:
    id: str = ""
    name: str = ""
    description: str = ""
    source_repo: str = ""
    fileExts: list[str] = field(default_factory=list)


@dataclass
class NodeDataProviderFilter:
    modelFileExts: list[str] | None = None
    adapterIds: list[str] | None = None


@dataclass
class NodeDataProviderMetadata:
    id: str = ""
    name: str = ""
    description: str = ""
    source_repo: str = ""
    icon: str = "extension"
    filter: NodeDataProviderFilter | None = None


@dataclass
class NodeDataProviderResult:
    result: Any = None
    error: str = ""


@dataclass
class GetConfigEditorsResult:
    configEditors: list[Any] | None = None
    error: str = ""


class Adapter(Extension):
    metadata = AdapterMetadata()


class NodeDataProvider(Extension):
    metadata: Any = NodeDataProviderMetadata()


@dataclass
class KeyValue:
    key: str
    value: Any


@dataclass
class MetadataItem:
    id: str
    attrs: list[KeyValue] = field(default_factory=list)


@dataclass
class IncomingEdge:
    sourceNodeId: str
    sourceNodeOutputId: str = "0"
    targetNodeInputId: str = "0"


@dataclass
class GraphNode:
    id: str
    label: str
    namespace: str = ""
    subgraphIds: list[str] = field(default_factory=list)
    attrs: list[KeyValue] = field(default_factory=list)
    incomingEdges: list[IncomingEdge] = field(default_factory=list)
    outputsMetadata: list[MetadataItem] = field(default_factory=list)
    inputsMetadata: list[MetadataItem] = field(default_factory=list)


@dataclass
class Graph:
    id: str
    nodes: list[GraphNode] = field(default_factory=list)


@dataclass
class NodeDataResult:
    value: Any
    bgColor: str | None = None
    textColor: str | None = None


@dataclass
class ThresholdItem:
    value: float
    bgColor: str
    textColor: str | None = None


@dataclass
class GradientItem:
    stop: float
    bgColor: str | None = None
    textColor: str | None = None


@dataclass
class GraphNodeData:
    results: dict[str, NodeDataResult]
    name: str | None = None
    thresholds: list[ThresholdItem] = field(default_factory=list)
    gradient: list[GradientItem] = field(default_factory=list)


@dataclass
class ConfigEditor:
    type: str = ""
    id: str = ""
    label: str = ""
    description: str = ""
    help: str = ""
    required: bool = False
    defaultValue: Any = None


@dataclass
class TextInputConfigEditor(ConfigEditor):
    type: str = "text_input"
    number: bool = False


@dataclass
class SlideToggleConfigEditor(ConfigEditor):
    type: str = "slide_toggle"


def install() -> None:
    """Under the names that an extension imports."""
    here = sys.modules[__name__]
    package = ModuleType("model_explorer")
    package.__path__ = []  # type: ignore[attr-defined]
    parts = {"config_editor": ("ConfigEditor", "TextInputConfigEditor", "SlideToggleConfigEditor"),
             "graph_builder": ("Graph", "GraphNode", "IncomingEdge", "KeyValue", "MetadataItem"),
             "node_data_builder": ("GraphNodeData", "NodeDataResult", "ThresholdItem", "GradientItem")}  # fmt: skip
    for name in ("Adapter", "AdapterMetadata", "GetConfigEditorsResult", "NodeDataProvider", "NodeDataProviderFilter", "NodeDataProviderMetadata", "NodeDataProviderResult"):
        setattr(package, name, getattr(here, name))
    package.ModelExplorerGraphs = dict  # type: ignore[attr-defined]
    sys.modules["model_explorer"] = package
    for part, names in parts.items():
        module = ModuleType("model_explorer." + part)
        for name in names:
            setattr(module, name, getattr(here, name))
        setattr(package, part, module)
        sys.modules["model_explorer." + part] = module


def as_dictionary(value: Any) -> Any:
    return dataclasses.asdict(value)
