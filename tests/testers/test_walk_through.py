"""The guide's walk through all stages: LlamaRMSNorm -> rms_norm -> composite -> one kernel. Each stage has a file of patterns in filecheck/."""

from __future__ import annotations

import pytest
import torch

from cupel.testing import Framework, run_graph_test
from cupel.torch import fusion


class LlamaRMSNorm(torch.nn.Module):
    def __init__(self, size: int = 16, eps: float = 1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


@pytest.mark.filecheck(["llama_rms_norm.stablehlo.mlir", "llama_rms_norm.shlo.mlir", "llama_rms_norm.tensor.mlir", "llama_rms_norm.device.mlir"])
def test_llama_rms_norm(request):
    before = fusion.counts["rms_norm_fusion"]
    run_graph_test(LlamaRMSNorm(), [torch.randn(4, 16)], framework=Framework.TORCH, request=request)
    assert fusion.counts["rms_norm_fusion"] == before + 1


@pytest.mark.filecheck(["llama_rms_norm_unfused.stablehlo.mlir"])
def test_without_fusion_it_is_no_composite(request):
    run_graph_test(LlamaRMSNorm(), [torch.randn(4, 16)], framework=Framework.TORCH, torch_options={"tt_enable_torch_fx_fusion_pass": False}, request=request)
