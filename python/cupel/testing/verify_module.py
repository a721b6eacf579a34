"""A bare module or ONNX model tested in one call, with tt-torch's interface: `verify_module(mod, input_shapes=[(2, 3)])`.

Inputs that nobody gives are drawn from a seeded generator. Without a bound of its own the result is judged by Cupel's strict rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cupel.testing.arguments import interval
from cupel.testing.compiler_config import CompilerConfig
from cupel.testing.model_tester import ModelTester, OnnxModelTester


def _is_onnx(mod: Any) -> bool:
    return isinstance(mod, (str, Path)) or type(mod).__name__ == "ModelProto"


def _drawn(shapes: Sequence[Sequence[int]], types: Sequence[Any] | None, floats: tuple[float, float], integers: tuple[int, int]) -> list[Any]:
    import torch

    types = list(types) if types is not None else [torch.float32] * len(shapes)
    if len(types) != len(shapes):
        raise ValueError(f"there are {len(shapes)} input_shapes and {len(types)} input_data_types")
    generator = torch.Generator().manual_seed(0)
    found = []
    for shape, dtype in zip(shapes, types, strict=True):
        if dtype is torch.bool:
            found.append(torch.randint(0, 2, tuple(shape), generator=generator, dtype=torch.bool))
        elif dtype.is_floating_point:
            low, high = floats
            found.append((torch.rand(tuple(shape), generator=generator) * (high - low) + low).to(dtype))
        elif dtype.is_complex:
            raise ValueError(f"no inputs are made up for {dtype}: give them as inputs=")
        else:
            found.append(torch.randint(*integers, tuple(shape), generator=generator, dtype=dtype))
    return found


def _onnx_inputs(mod: Any, floats: tuple[float, float], integers: tuple[int, int]) -> list[Any]:
    """By what the model says of them."""
    import numpy
    import onnx
    import torch

    proto = mod if isinstance(mod, onnx.ModelProto) else onnx.load(str(mod))
    weights = {one.name for one in proto.graph.initializer}
    shapes, types = [], []
    for one in (one for one in proto.graph.input if one.name not in weights):
        sizes = one.type.tensor_type.shape.dim
        if any(not size.HasField("dim_value") for size in sizes):
            raise ValueError(f"the input '{one.name}' has sizes that the model leaves open: give inputs= or input_shapes=")
        shapes.append([size.dim_value for size in sizes])
        array = onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type)
        types.append(torch.from_numpy(numpy.zeros(1, array)).dtype)
    return _drawn(shapes, types, floats, integers)


def verify_module(mod: Any, inputs: Any = None, input_shapes: Sequence[Sequence[int]] | None = None, input_data_types: Sequence[Any] | None = None,
                  required_pcc: float | None = None, required_atol: float | None = None, input_range: tuple[float, float] = (-0.5, 0.5),
                  input_range_int: tuple[int, int] = (0, 1000), compiler_config: CompilerConfig | None = None, do_assert: bool = True, device: int | None = None) -> Any:
    """Runs a module, or an ONNX model (a ModelProto or a file), on the device and fails where its results are wrong; gives them."""
    interval("input_range", input_range)
    interval("input_range_int", input_range_int)
    if inputs is None:
        if input_shapes is not None:
            inputs = _drawn(input_shapes, input_data_types, input_range, input_range_int)
        elif _is_onnx(mod):
            inputs = _onnx_inputs(mod, input_range, input_range_int)
        else:
            raise ValueError("give inputs= or input_shapes=")

    class Given(OnnxModelTester if _is_onnx(mod) else ModelTester):  # type: ignore[misc]
        def _load_model(self) -> Any:
            return mod

        def _load_inputs(self) -> Any:
            return inputs

    name = Path(mod).stem if isinstance(mod, (str, Path)) else type(mod).__name__
    tester = Given(name, "eval", required_pcc=required_pcc, required_atol=required_atol, compiler_config=compiler_config, assert_pcc=do_assert, assert_atol=do_assert,
                   devices=None if device is None else [device])
    outputs = tester.test_model()
    tester.finalize()
    return outputs
