"""Mixtures of experts: the vendor replaces them by modules of its own for its device; their results are the model's, so here the model stays.

`A2aSparseMLP` and `A2aSparseMLPWithSharedExperts` are classes that loaders ask about when they make shard specs: no module is one.
"""

from __future__ import annotations

from typing import Any

import torch


class A2aSparseMLP(torch.nn.Module):
    """Never made here."""


class A2aSparseMLPWithSharedExperts(torch.nn.Module):
    """Never made here."""


def enable_sparse_mlp(model: Any, *_: Any, **__: Any) -> Any:
    """Leaves the model as it is."""
    return model
