"""Tests of language models: decode with a static cache, prefill of a length, each with a batch, a strategy and a mesh.

What a combination means and which ones are no tests, as the zoo's own runner has it; `Phase.of` reads the fields of a request. Used by ModelTest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_DEFAULT_MESH = "mesh_default"


@dataclass(frozen=True)
class Phase:
    """One combination, as ids spell it."""

    name: str
    """`llm_decode` or `llm_prefill`."""
    sharding: str
    mesh: str
    sequence_length: int
    batch_size: int
    run_mode: str

    @staticmethod
    def of(fields: Mapping[str, Any], run_mode: str) -> Phase | None:
        """None for a test that is not of this suite."""
        if not fields.get("phase"):
            return None
        return Phase(fields["phase"], fields.get("sharding", ""), fields.get("mesh", ""), fields.get("sequence_length", 0), fields.get("llm_batch_size", 0), run_mode)

    @property
    def strategy(self) -> str:
        """`fsdp` or `megatron`; empty: the loader's default."""
        found = re.match(r"(fsdp|megatron)-(?:no_)?dp-", self.sharding)
        return found[1] if found else ""

    @property
    def splits_inputs(self) -> bool:
        return bool(re.match(r"(fsdp|megatron)-dp-", self.sharding))

    @property
    def mesh_shape(self) -> tuple[int, ...] | None:
        """None where the loader says it."""
        found = re.fullmatch(r"mesh_(\d+)x(\d+)", self.mesh)
        return (int(found[1]), int(found[2])) if found else None

    @property
    def is_decode(self) -> bool:
        return self.name == "llm_decode"

    @property
    def rows(self) -> int:
        """Batches are those of a device: with inputs that are split there are as many as rows of the mesh."""
        return self.batch_size * (self.mesh_shape[0] if self.splits_inputs and self.mesh_shape else 1)

    def why_skipped(self) -> str:
        """Empty for a combination that is a test."""
        if self.strategy and not self.mesh_shape:
            return f"{self.strategy} needs a mesh"
        if not self.strategy and self.mesh != _DEFAULT_MESH:
            return f"{self.sharding} takes the loader's mesh, not {self.mesh}"
        if self.mesh_shape and self.mesh_shape[0] == 1 and not (self.strategy == "megatron" and not self.splits_inputs):
            return f"{self.mesh} is for megatron without data parallelism alone"
        if self.is_decode:
            if self.sequence_length > 1:
                return "decode has no sequence length"
            if self.batch_size != 1:
                return "decode has a batch of 1"
            if self.run_mode == "training":
                return "decode is inference"
            return f"decode takes no strategy, and {self.strategy} was asked for" if self.strategy else ""
        if self.sequence_length < 2:
            return "prefill needs a sequence length"
        if self.sharding == "tensor_parallel":
            return "prefill loaders take strategies: the default sharding is none of theirs"
        return ""


class Padding:
    """The positions of a batch that count: those that the attention mask does not hide."""

    def __init__(self, mask: torch.Tensor):
        self._shape = tuple(mask.shape)
        self.kept = mask.flatten().bool().nonzero().flatten()

    @staticmethod
    def of(inputs: Any) -> Padding | None:
        """None where nothing is padded."""
        import torch

        mask = inputs.get("attention_mask") if isinstance(inputs, Mapping) else None
        if not isinstance(mask, torch.Tensor) or mask.dim() != 2 or bool(mask.bool().all()):
            return None
        return Padding(mask)

    def __str__(self) -> str:
        batch, length = self._shape
        return f"{batch * length - self.kept.numel()} of {batch * length} positions left out"

    def left_out(self, tensor: torch.Tensor, kept: torch.Tensor | None = None) -> torch.Tensor:
        """The rows of positions that count, of a tensor [batch, ..., positions, features]; any other as it is. `kept`: the same positions, as a graph has them."""
        batch, length = self._shape
        if tensor.dim() not in (3, 4) or tensor.shape[0] != batch or tensor.shape[-2] != length:
            return tensor
        return tensor.movedim(-2, 1).flatten(0, 1).index_select(0, self.kept if kept is None else kept)
