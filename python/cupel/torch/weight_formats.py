"""Formats of single weights: `apply_weight_dtype_overrides(model, {"layers.*.mlp.*": "bfp_bf4", "default": "bfp_bf8"})`.

Parameters are marked, and torch.compile with the backend `cupel` tells the device's compiler of those that a graph takes. What
is marked beats the option experimental_weight_dtype of the compilation. Gradients are computed with weights as they are, and
weights of convolutions are never rounded, whatever is asked.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

FORMATS = {"bfp8": "bfp_bf8", "bfp_bf8": "bfp_bf8", "bfp4": "bfp_bf4", "bfp_bf4": "bfp_bf4", "bf16": "bf16"}
_MARK = "_cupel_weight_dtype"
_OPTION = "experimental_weight_dtype"


def _format(name: Any) -> str:
    if name not in FORMATS:
        raise ValueError(f"{name!r} is no format of weights; there are {', '.join(FORMATS)} (bf16: as they are)")
    return FORMATS[name]


def _table(overrides: Mapping[str, str] | str | os.PathLike[str]) -> dict[str, str]:
    """Patterns and their formats; the longer one is the more particular, and comes first."""
    if isinstance(overrides, str) and overrides in FORMATS:
        overrides = {"default": overrides}
    elif not isinstance(overrides, Mapping):
        text = str(overrides)
        overrides = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text())
        if not isinstance(overrides, Mapping):
            raise ValueError("formats of weights are an object of JSON: patterns of names and their formats")
    return {pattern: _format(overrides[pattern]) for pattern in sorted(overrides, key=lambda pattern: (-len(pattern), pattern))}


def apply_weight_dtype_overrides(model: torch.nn.Module, overrides: Mapping[str, str] | str | os.PathLike[str]) -> dict[str, str]:
    """Says which weights of products are held in which format: patterns of parameters' names with `default` for the rest, a file of JSON with
    that (`cupel tune --formats` writes one), or one format for all. Returns the format of each parameter that has one now."""
    table = _table(overrides)
    default = table.pop("default", None)
    named = dict(model.named_parameters())
    for pattern in table:
        if not fnmatch.filter(named, _plain(pattern)):
            raise ValueError(f"no parameter of the model is called {pattern!r}; there are {', '.join(list(named)[:8])}{', ...' if len(named) > 8 else ''}")
    marked = {}
    for name, parameter in named.items():
        chosen = next((format_ for pattern, format_ in table.items() if fnmatch.fnmatchcase(name, _plain(pattern))), default)
        if chosen is None:
            if hasattr(parameter, _MARK):
                delattr(parameter, _MARK)
            continue
        setattr(parameter, _MARK, chosen)
        marked[name] = chosen
    return marked


def _plain(pattern: str) -> str:
    """The compiler's patterns take a backslash before what is meant as it stands, Python's a pair of brackets."""
    made, at = "", 0
    while at < len(pattern):
        if pattern[at] == "\\" and at + 1 < len(pattern):
            at += 1
            made += f"[{pattern[at]}]" if pattern[at] in "*?[" else pattern[at]
        else:
            made += pattern[at]
        at += 1
    return made


def marks_of(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> list[str | None]:
    """The formats of what a graph of Dynamo's takes, by position; nothing for what is not marked."""
    found = [getattr(value, _MARK, None) for value in inputs]
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    for i, node in enumerate(nodes[: len(found)]):
        example = getattr(node.meta.get("grapharg"), "example", None)
        found[i] = found[i] or getattr(example, _MARK, None)
    return found


# How AOTAutograd calls the inputs of a graph, in training and in inference.
_INPUT = re.compile(r"primals_(\d+)|arg(\d+)_1")


def marked_names(marks: Sequence[str | None], module: torch.fx.GraphModule) -> dict[str, str]:
    """The formats by what the compiler calls the arguments of a graph that AOTAutograd made: their places."""
    found, place = {}, 0
    for node in module.graph.nodes:
        if node.op != "placeholder":
            continue
        if match := _INPUT.fullmatch(node.name):
            number = int(match[1]) - 1 if match[1] else int(match[2])
            if number < len(marks) and (mark := marks[number]):
                found[f"arg{place}"] = mark
        place += isinstance(node.meta.get("val"), torch.Tensor)
    return found


def with_marks(options: Mapping[str, Any], marks: Mapping[str, str]) -> dict[str, Any]:
    """Options of a compilation that name the marked arguments, which come before what the options say themselves."""
    if not marks:
        return dict(options)
    given = str(options.get(_OPTION, "") or "")
    if given.endswith(".json"):
        given = Path(given).read_text()
    rest = json.loads(given) if given.lstrip().startswith("{") else {"default": given} if given else {}
    return {**options, _OPTION: json.dumps({**rest, **marks})}
