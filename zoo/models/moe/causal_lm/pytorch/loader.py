"""A mixture of experts: each token goes to the best two of four; all experts computed and weighed, or tokens sorted into groups of them."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, tokens
from ....config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....layers import Attention, two_rows


class Experts(nn.Module):
    def __init__(self, width: int, experts: int, chosen: int):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.up, self.down = nn.Parameter(torch.randn(experts, width, 2 * width) * 0.1), nn.Parameter(torch.randn(experts, 2 * width, width) * 0.1)
        self.chosen = chosen

    def _routed(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, indices = torch.topk(torch.softmax(self.router(x).float(), -1), self.chosen, -1)
        return (weights / weights.sum(-1, keepdim=True)).to(x.dtype), indices

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, indices = self._routed(x)
        gates = torch.zeros(*x.shape[:-1], self.up.shape[0], dtype=x.dtype).scatter(-1, indices, weights)
        hidden = nn.functional.silu(torch.einsum("btw,ewh->beth", x, self.up))
        return torch.einsum("beth,ehw,bte->btw", hidden, self.down, gates), gates


class GroupedExperts(Experts):
    """The same, with one product a group of tokens."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, indices = self._routed(x)
        order = torch.argsort(indices.flatten(), stable=True)
        ends = torch.cumsum(nn.functional.one_hot(indices.flatten(), self.up.shape[0]).sum(0), 0).to(torch.int32)
        sorted_tokens = x.flatten(0, -2)[order // self.chosen]
        hidden = nn.functional.silu(torch._grouped_mm(sorted_tokens, self.up, offs=ends))
        given = torch._grouped_mm(hidden, self.down, offs=ends) * weights.flatten()[order, None]
        mixed = given[torch.argsort(order)].view(*weights.shape, -1).sum(-2)
        return mixed, weights


class MoE(nn.Module):
    def __init__(self, kind: type[Experts] = Experts, vocabulary: int = 167, width: int = 32):
        super().__init__()
        self.words, self.attention = nn.Embedding(vocabulary, width), Attention(width, 4)
        self.norm1, self.norm2, self.experts = nn.LayerNorm(width), nn.LayerNorm(width), kind(width, 4, 2)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, input_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.words(input_ids)
        x = x + self.attention(self.norm1(x), is_causal=True)
        mixed, gates = self.experts(self.norm2(x))
        return self.head(x + mixed), gates


class ModelVariant(StrEnum):
    DENSE = "dense"
    GROUPED = "grouped"


class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.DENSE: ModelConfig("moe_dense"), ModelVariant.GROUPED: ModelConfig("moe_grouped")}
    DEFAULT_VARIANT = ModelVariant.DENSE

    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("MoE", variant, ModelGroup.GENERALITY, ModelTask.NLP_CAUSAL_LM, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return MoE(GroupedExperts if self._variant == ModelVariant.GROUPED else Experts)

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        return {"input_ids": tokens(generator, batch_size, 12, 167)}

    def unpack_forward_output(self, fwd_output: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return fwd_output[0]

    def get_mesh_config(self, num_devices: int) -> tuple[tuple[int, int], tuple[str, str]]:
        if num_devices > 8:
            raise ValueError(f"four experts cannot be split over {num_devices} devices")
        return two_rows(num_devices)

    def load_shard_spec(self, model: nn.Module) -> dict[nn.Parameter, tuple[str | None, ...]]:
        """Each device has some of the experts."""
        return {model.experts.up: ("model", None, None), model.experts.down: ("model", None, None)}

    def load_activation_shard_spec(self, model: nn.Module) -> dict[nn.Module, tuple[str | None, ...]]:
        return {model.norm2: (None, "batch", None)}
