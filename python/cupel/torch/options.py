"""The options of torch.compile(model, backend="cupel", options={...}): what concerns PyTorch is in the table here, what concerns the
compiler in the one that all of Cupel has (docs/reference/plugin-options.md)."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from cupel._native import option_table


def _option(default: Any, help: str) -> Any:
    factory = {"default_factory": dict} if isinstance(default, dict) else {"default": default}
    return field(**factory, metadata={"help": help})


@dataclass(frozen=True)
class Options:
    device: str = _option("cupel", "Cupel's own plugin, or the path of a vendor's PJRT plugin (.so)")
    client_options: dict[str, Any] = _option({}, "what the plugin's client is created with, e.g. {'arch': 'n150'}")
    compile_options: dict[str, Any] = _option({}, "the plugin's own compile options (docs/reference/plugin-options.md)")
    ordinal: int = _option(0, "which of the plugin's devices")
    composites: bool = _option(True, "keep gelu, layer_norm, rms_norm, softmax and attention as stablehlo.composite")
    fusions: bool = _option(True, "run fusion providers over graphs first (cupel.torch.FusionProvider)")
    without_fusions: str = _option("", "names of providers that are not run, parted by commas")
    decompose: bool = _option(True, "decompose to core ATen before lowering")
    export_path: str = _option("", "a folder that gets every stage of every graph")


# What other stacks call them.
_ALIASES = {"tt_enable_composite_ops": "composites", "tt_enable_torch_fx_fusion_pass": "fusions"}

_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}

_for_all: dict[str, Any] = {}


def set_custom_compile_options(options: Mapping[str, Any]) -> None:
    """Options of every graph that is compiled from now on, until others are set; what torch.compile is given itself comes first. All that was set before is forgotten."""
    parse(options)  # What does not exist is told here, not at the first graph.
    _for_all.clear()
    _for_all.update(options)


def _of_compiler() -> dict[str, dict[str, Any]]:
    """The options of the compiler by every name that they have."""
    return {name: option for option in option_table() if "program" in option["scopes"] for name in (option["name"], *option["aliases"])}


def describe() -> str:
    """One line an option."""
    own = [f"{f.name}: {f.metadata['help']} (default {getattr(Options(), f.name)!r})" for f in fields(Options)]
    known = {f.name for f in fields(Options)}
    return "\n".join(own + [f"{o['name']}: {o['help']} (default {o['default']})" for n, o in _of_compiler().items() if n == o["name"] and n not in known])


def parse(given: Mapping[str, Any] | None) -> Options:
    """Refuses what does not exist or has another type, with the nearest name. Options of the compiler go on to it as they are."""
    known = {f.name: f for f in fields(Options)}
    compiler = _of_compiler()
    defaults = Options()
    own: dict[str, Any] = {}
    of_compiler: dict[str, Any] = {}
    chosen = {_ALIASES.get(spelled, spelled.replace("-", "_")): (spelled, value) for spelled, value in _for_all.items()}
    chosen |= {_ALIASES.get(spelled, spelled.replace("-", "_")): (spelled, value) for spelled, value in (given or {}).items()}
    for spelled, value in chosen.values():
        name = _ALIASES.get(spelled, spelled.replace("-", "_"))
        if name not in known and name in compiler:
            of_compiler[compiler[name]["name"]] = value
            continue
        if name not in known:
            near = difflib.get_close_matches(name, [*known, *compiler, *_ALIASES], 1)
            raise ValueError(f"backend 'cupel' has no option {spelled!r}" + (f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join([*known, *compiler])}"))
        wanted = type(getattr(defaults, name))
        if wanted is bool and isinstance(value, str):
            value = _WORDS.get(value.lower(), value)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise ValueError(f"backend 'cupel': option {name!r} is a {wanted.__name__}, not {value!r}")
        own[name] = value
    options = Options(**own)
    return dataclasses.replace(options, compile_options={**options.compile_options, **of_compiler})
