"""PyTorch on Cupel: `torch.compile(model, backend="cupel")` and `cupel.torch.export(model, args)`.

torch finds the backend through the entry point group `torch_dynamo_backends`; nothing of this is imported before.
"""

from __future__ import annotations

from cupel.torch.backend import backend as backend
from cupel.torch.codegen import codegen_cpp as codegen_cpp
from cupel.torch.codegen import codegen_py as codegen_py
from cupel.torch.codegen import load_codegen_cpp as load_codegen_cpp
from cupel.torch.codegen import load_codegen_py as load_codegen_py
from cupel.torch.composites import StableHLOCompositeBuilder as StableHLOCompositeBuilder
from cupel.torch.composites import register_composite as register_composite
from cupel.torch.composites import unregister_composite as unregister_composite
from cupel.torch.fusion import FusionProvider as FusionProvider
from cupel.torch.fusion import RMSNormFusionProvider as RMSNormFusionProvider
from cupel.torch.fusion import run_fusion_passes as run_fusion_passes
from cupel.torch.options import set_custom_compile_options as set_custom_compile_options
from cupel.torch.weight_formats import apply_weight_dtype_overrides as apply_weight_dtype_overrides
from cupel.torch.workload import Workload as Workload
from cupel.torch.workload import export as export
