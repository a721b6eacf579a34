"""The options of torch.compile(model, backend="cupel", options={...}); this table is all that knows them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


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
    decompose: bool = _option(True, "decompose to core ATen before lowering")
    export_path: str = _option("", "a folder that gets every stage of every graph")


def describe() -> str:
    """One line an option."""
    return "\n".join(f"{f.name}: {f.metadata['help']} (default {getattr(Options(), f.name)!r})" for f in fields(Options))


def parse(given: Mapping[str, Any] | None) -> Options:
    """Refuses what does not exist or has another type, with the nearest name."""
    known = {f.name: f for f in fields(Options)}
    defaults = Options()
    for name, value in (given or {}).items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise ValueError(f"backend 'cupel' has no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"))
        wanted = type(getattr(defaults, name))
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise ValueError(f"backend 'cupel': option {name!r} is a {wanted.__name__}, not {value!r}")
    return Options(**dict(given or {}))
