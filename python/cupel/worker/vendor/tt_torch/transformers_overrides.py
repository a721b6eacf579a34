"""Sliding-window caches and masks: the vendor lays them out for its device; what the model computes is the same, so here they stay."""

from __future__ import annotations

from typing import Any


def override_cache_sliding_window_layers(cache: Any, *_: Any, **__: Any) -> None:
    """Leaves the cache with the library's own layers."""


def override_model_sliding_window_causal_mask(model: Any) -> None:
    """Leaves the model with the library's own mask."""
