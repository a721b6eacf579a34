"""Testers of whole models in a user's own pytest, with tt-torch's interface: derive, load the model and its inputs, `test_model()`, `finalize()`.

    class ThisTester(ModelTester):
        def _load_model(self): ...
        def _load_inputs(self): ...

Without a bound of its own a test is judged by Cupel's strict rule. What fails is told by `finalize()`, after the report has its properties.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cupel._native import Noise, RanOn, comparator_default
from cupel.testing.arguments import BACKENDS, choice, correlation, difference, flag, ordinals
from cupel.testing.comparison import POLICY, ComparisonError, check
from cupel.testing.compiler_config import CompileDepth, CompilerConfig, OpByOpBackend

OWNER = "cupel"


class NotAsserted(UserWarning):
    """A result that is wrong, in a test that asserts nothing of it."""


@dataclass
class Verification:
    """What the comparison of all outputs found."""

    pccs: list[float | None] = field(default_factory=list)
    atols: list[float] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Of what is asserted."""
    remarks: list[str] = field(default_factory=list)
    """Of what is not."""


def measure(actual: Any, golden: Any) -> tuple[float | None, float]:
    """PCC (nothing for one element) and atol of two tensors, as tt-torch has them."""
    import torch

    a, g = actual.detach().to(torch.float32).flatten(), golden.detach().to(torch.float32).flatten()
    if torch.equal(a, g):
        return (None if a.numel() == 1 else 1.0), 0.0
    if not torch.equal(a.isnan(), g.isnan()):
        atol = math.nan
    elif not torch.equal(a.isinf(), g.isinf()) or not torch.equal(a[a.isinf()], g[g.isinf()]):
        atol = math.inf
    else:
        finite = a.isfinite()
        atol = float((a[finite] - g[finite]).abs().max()) if finite.any() else 0.0
    if a.numel() == 1:
        return None, atol
    valid = a.isfinite() & g.isfinite()
    if valid.sum() < 2:
        return 0.0, atol
    pcc = float(torch.corrcoef(torch.stack([a[valid].double(), g[valid].double()]))[0, 1])
    return (0.0 if math.isnan(pcc) else pcc), atol


def _tag(value: float | None) -> float | None:
    if value is None:
        return None
    return -1.0 if not math.isfinite(value) else max(-(2.0**32), min(2.0**32, value))


class ModelTester:
    """Tests a PyTorch model. `mode` is `eval` (its outputs are compared) or `train` (the gradient of its one input is)."""

    _has_torch_operations = True

    def __init__(self, model_name: str, mode: str, loader: Any = None, model_info: Any = None, required_pcc: float | None = None, required_atol: float | None = None,
                 relative_atol: float | None = None, compiler_config: CompilerConfig | None = None, assert_pcc: bool = True, assert_atol: bool = True,
                 run_generate: bool = False, record_property_handle: Callable[[str, Any], None] | None = None, model_group: str = "generality",
                 is_token_output: bool = False, model_name_suffix: str = "", devices: Sequence[int] | None = None, data_parallel_mode: bool = False,
                 backend: str = "tt-experimental", forge_models_test: bool = False) -> None:
        if mode not in ("train", "eval"):
            raise ValueError(f"there is no mode {mode!r}: train and eval are")
        if required_atol is not None and relative_atol is not None:
            raise ValueError("required_atol and relative_atol are two ways to say one thing: give one")
        if compiler_config is not None and not isinstance(compiler_config, CompilerConfig):
            raise ValueError(f"compiler_config is a CompilerConfig, not {compiler_config!r}")
        if record_property_handle is not None and not callable(record_property_handle):
            raise ValueError(f"record_property_handle is pytest's record_property, not {record_property_handle!r}")
        choice("backend", backend, BACKENDS)
        for name, value in (("assert_pcc", assert_pcc), ("assert_atol", assert_atol), ("run_generate", run_generate), ("is_token_output", is_token_output),
                            ("data_parallel_mode", data_parallel_mode)):
            flag(name, value)
        required_pcc = None if required_pcc is None else correlation("required_pcc", required_pcc)
        required_atol = None if required_atol is None else difference("required_atol", required_atol)
        relative_atol = None if relative_atol is None else difference("relative_atol", relative_atol)
        devices = None if devices is None else ordinals("devices", devices)
        if model_info is not None:
            model_name, model_group = str(getattr(model_info, "name", model_name)), str(getattr(getattr(model_info, "group", model_group), "value", model_group))
        self.model_name, self.model_group = f"{model_name}{model_name_suffix}", str(model_group)
        self.mode, self.loader = mode, loader
        self.is_strict = required_pcc is None and required_atol is None and relative_atol is None and assert_pcc and assert_atol
        self.required_pcc = comparator_default("required_pcc") if required_pcc is None else required_pcc
        self.required_atol = comparator_default("model_required_atol") if required_atol is None and relative_atol is None else required_atol
        self.relative_atol = relative_atol
        self.assert_pcc, self.assert_atol = assert_pcc, assert_atol
        self.run_generate, self.is_token_output = run_generate, is_token_output
        self.record_property = record_property_handle or (lambda name, value: None)
        self.devices, self.data_parallel_mode = devices, data_parallel_mode
        self.backend, self.forge_models_test = backend, forge_models_test
        self.compiler_config = compiler_config or CompilerConfig()
        self.compiler_config.model_name, self.compiler_config.model_group = self.model_name, self.model_group
        self.verification = Verification()
        self.failure: Exception | None = None
        self.achieved: list[str] = []
        self._golden: Any = None
        self._state: Any = None  # What every run begins with, of a model that keeps something.
        self._was_run = False
        self.framework_model = self._load_model()
        self.inputs = self._load_inputs()
        self._set_mode()

    # --- what derived classes give ---------------------------------------------------------------------------------------------------------

    def _load_model(self) -> Any:
        """The model to be tested."""
        if self.loader is None:
            raise NotImplementedError("derive from the tester and give it _load_model(), or pass a loader")
        return self.loader.load_model()

    def _load_inputs(self) -> Any:
        """What the model is called with: a tensor, a mapping (by name) or a sequence (by position)."""
        if self.loader is None:
            raise NotImplementedError("derive from the tester and give it _load_inputs(), or pass a loader")
        return self.loader.load_inputs()

    def _extract_outputs(self, output_object: Any) -> tuple[Any, ...]:
        """The tensors (and numbers and strings) of an output, in a fixed order. Override it for objects that this does not know."""
        import numpy
        import torch

        if isinstance(output_object, (torch.Tensor, str, bytes)) or output_object is None:
            return () if output_object is None else (output_object,)
        if isinstance(output_object, (bool, int, float)):
            return (torch.tensor(output_object),)
        if isinstance(output_object, numpy.ndarray):
            return (torch.from_numpy(output_object),)
        if isinstance(output_object, Mapping):
            return tuple(leaf for key in sorted(output_object, key=str) for leaf in self._extract_outputs(output_object[key]))
        if isinstance(output_object, (list, tuple)):
            return tuple(leaf for one in output_object for leaf in self._extract_outputs(one))
        if any(kind.__name__ == "Cache" for kind in type(output_object).__mro__):  # transformers' key-value caches.
            from cupel.torch.structure import results_of

            return tuple(tensor for _, tensor in results_of(output_object))
        if hasattr(output_object, "to_tuple"):
            return self._extract_outputs(output_object.to_tuple())
        raise NotImplementedError(f"outputs of the type {type(output_object).__name__} are not known; override _extract_outputs")

    def _set_mode(self) -> None:
        if hasattr(self.framework_model, "train"):
            self.framework_model.train(self.mode == "train")

    # --- the run ---------------------------------------------------------------------------------------------------------------------------

    def test_model(self, on_device: bool = True, assert_eval_token_mismatch: bool = True) -> Any:
        """Runs the model as far as the configuration says; gives the device's outputs, or the framework's own where the device does not come to it."""
        from cupel.worker.instructions import settle_once

        settle_once()
        config = self.compiler_config
        config.apply_environment_overrides()
        config.warn_of_ignored(self._has_torch_operations)
        golden = self._run_golden()
        self._was_run = True
        if not on_device:
            self.verification.remarks.append("on_device=False: nothing ran on the device, and nothing was compared")
            return golden
        try:
            return self._test_on_device(golden, assert_eval_token_mismatch)
        except Exception as error:
            self.failure = error  # Told by finalize too, for those who catch this.
            raise

    def _test_on_device(self, golden: Any, assert_tokens: bool) -> Any:
        config = self.compiler_config
        if config.compile_depth.is_op_by_op:
            self._run_op_by_op()
            return golden
        results = []
        for ordinal in self._ordinals():
            outputs, noise = self._run_on_device(ordinal)
            if config.compile_depth is not CompileDepth.EXECUTE:
                return golden
            self._achieve("EXECUTE")
            self.verify_against_golden(outputs, golden, noise, assert_tokens)
            results.append(outputs)
        if config.enable_intermediate_verification:
            from cupel.testing.op_tables import csv_of

            print(csv_of(self._make_table()))
        if not self.verification.complaints:
            self._achieve("PASSED")
        return results[0] if len(results) == 1 else results

    def _ordinals(self) -> Sequence[int]:
        if not self.data_parallel_mode:
            return [self.devices[0] if self.devices else 0]
        if self.compiler_config.compile_depth.is_op_by_op:
            raise ValueError("data_parallel_mode has no op by op")
        from cupel.torch.backend import open_device
        from cupel.torch.options import parse

        return self.devices or range(len(open_device(parse(self._options(0)))))

    def _achieve(self, depth: str) -> None:
        if depth not in self.achieved:
            self.achieved.append(depth)
            self.record_property("achieved_compile_depth", depth)

    def _call(self, model: Callable[..., Any]) -> Any:
        if self.run_generate:
            if not hasattr(self.framework_model, "generate"):
                raise ValueError(f"run_generate: {type(self.framework_model).__name__} cannot generate")
            return self.framework_model.generate(**self.inputs)
        if isinstance(self.inputs, Mapping):
            return model(**self.inputs)
        if isinstance(self.inputs, (list, tuple)):
            return model(*self.inputs)
        return model(self.inputs)

    def _outputs_of(self, model: Callable[..., Any]) -> Any:
        """One run: its outputs, or the gradient of its input. The model gets copies of its inputs: what it writes to them is no part of the next run."""
        import torch

        from cupel.torch.structure import replaced

        inputs = self.inputs
        if self.mode == "eval":
            self.inputs = replaced(inputs, lambda tensor: tensor.detach().clone())
            try:
                with torch.no_grad():
                    return self._call(model)
            finally:
                self.inputs = inputs
        if not isinstance(inputs, torch.Tensor):
            raise ValueError("train: the input must be one tensor")
        torch.manual_seed(99)
        self.inputs = inputs.detach().clone().requires_grad_()
        try:
            out = [one for one in self._extract_outputs(self._call(model)) if isinstance(one, torch.Tensor) and one.requires_grad]
            if not out:
                raise ValueError("train: no output of the model depends on its input")
            out[0].mean().backward()
            gradient, self.inputs.grad = self.inputs.grad, None
            return gradient
        finally:
            self.inputs = inputs
            if hasattr(self.framework_model, "zero_grad"):
                self.framework_model.zero_grad()

    def _run_golden(self) -> Any:
        import torch

        from cupel.torch.model_state import ModelState, settled
        from cupel.torch.structure import replaced

        if self._golden is None:
            model = self.framework_model
            before = ModelState(model) if isinstance(model, torch.nn.Module) else None
            # A model may give tensors that it keeps: what the device writes to them must not become what was expected.
            self._golden = replaced(self._outputs_of(model), lambda tensor: tensor.detach().clone())
            if before is not None:
                self._state, _ = settled(before, model, lambda: self._tensors_of(self._outputs_of(model)), self._tensors_of(self._golden))
        return self._golden

    def _tensors_of(self, outputs: Any) -> list[Any]:
        import torch

        return [one for one in self._extract_outputs(outputs) if isinstance(one, torch.Tensor)]

    def _begin(self) -> None:
        """Every run begins as the golden one did."""
        if self._state is not None:
            self._state.put_back()

    def _options(self, ordinal: int, folder: Path | None = None) -> dict[str, Any]:
        given = POLICY.device_options() | {"compile_options": dict(self.compiler_config.compile_options), "ordinal": ordinal}
        return given | ({"export_path": str(folder)} if folder else {})

    def _run_on_device(self, ordinal: int) -> tuple[Any, Noise]:
        """Compiles and runs on the device; less where the depth says so, with the framework's own result."""
        import tempfile

        import torch

        from cupel.testing.torch_depths import backend_for, print_stages, save_stages
        from cupel.torch.backend import watched

        config = self.compiler_config
        self._begin()
        with tempfile.TemporaryDirectory(prefix="cupel-stages-") as folder:
            keeps = bool(config.save_mlir_override or config.dump_info or config.dump_debug)
            backend = backend_for(config.compile_depth, self._options(ordinal, Path(folder) if keeps else None), self._achieve)
            torch._dynamo.reset()
            model, forward = self.framework_model, None
            if self.run_generate:
                forward, model.forward = model.forward, torch.compile(model.forward, backend=backend, dynamic=False)
            compiled = model if self.run_generate else torch.compile(model, backend=backend, dynamic=False)
            try:
                with watched() as calls:
                    outputs = self._outputs_of(compiled)
            finally:
                if forward is not None:
                    model.forward = forward
            if config.compile_depth is CompileDepth.EXECUTE and not calls and self._tensors_of(self._golden):
                raise RuntimeError("nothing of the model ran on the device: torch.compile made no graph of it (TORCH_LOGS=graph_breaks says why)")
            if config.save_mlir_override:
                save_stages(Path(folder), config, self.model_name)
            if config.dump_info or config.dump_debug:
                print_stages(Path(folder))
        single = len(calls) == 1 and self.mode == "eval"
        return outputs, Noise(POLICY.precision_with(config.compile_options), calls[0].program if single else None, calls[0].ran_on() if single else None)

    # --- op by op --------------------------------------------------------------------------------------------------------------------------

    def _make_table(self) -> dict[str, Any]:
        import tempfile

        from cupel.testing.op_tables import make_table
        from cupel.testing.torch_depths import save_graphs

        self._begin()
        with tempfile.TemporaryDirectory(prefix="cupel-graphs-") as folder:
            save_graphs(self.framework_model, self._outputs_of, Path(folder), self.model_name)
            return make_table(Path(folder), self.compiler_config, self.model_name, self.model_group)

    def _run_op_by_op(self) -> None:
        from cupel.testing.op_tables import not_executing

        config = self.compiler_config
        table = self._make_table()
        if config.verify_op_by_op:
            for key, record in table.items():
                if record.get("passed") is False:
                    warnings.warn(NotAsserted(f"{key}: {record['sentence']}"), stacklevel=4)
        if config.check_all_ops_execute and (missing := not_executing(table)):
            self.verification.complaints.append(f"{len(missing)} of {len(table)} operations do not execute:\n" + "\n".join(missing))

    # --- the verdict -----------------------------------------------------------------------------------------------------------------------

    def verify_against_golden(self, outputs: Any, golden: Any, noise: Noise, assert_tokens: bool = True) -> None:
        """Compares and keeps what was found for finalize."""
        import torch

        from cupel.torch.arrays import to_array

        found = self.verification
        if type(outputs) is not type(golden):
            found.complaints.append(f"the output is of {type(outputs).__name__}, expected {type(golden).__name__}")
            return
        if self.is_token_output:
            texts = [getattr(self, "tokenizer").batch_decode(one, skip_special_tokens=True) for one in (outputs, golden)]
            if texts[0] != texts[1]:
                (found.complaints if assert_tokens else found.remarks).append(f"the tokens decode to {texts[0]}, expected {texts[1]}")
            return
        actual, expected = self._extract_outputs(outputs), self._extract_outputs(golden)
        if not expected:
            found.complaints.append("the model gives nothing that could be compared")
            return
        if len(actual) != len(expected):
            found.complaints.append(f"there are {len(actual)} outputs, expected {len(expected)}")
            return
        arrays: list[tuple[int, Any, Any]] = []
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            if not isinstance(e, torch.Tensor):
                if a != e:
                    found.complaints.append(f"output {i} is {a!r}, expected {e!r}")
                continue
            if not isinstance(a, torch.Tensor) or a.shape != e.shape:
                found.complaints.append(f"output {i} is of shape {list(getattr(a, 'shape', []))}, expected {list(e.shape)}")
                continue
            arrays.append((i, a, e))
            self._verify_bounds(i, a, e)
        if self.is_strict:
            try:
                check([to_array(a.detach()) for _, a, _ in arrays], [to_array(e.detach()) for _, _, e in arrays], None, noise if len(arrays) == len(actual) else None)
            except ComparisonError as error:
                found.complaints.append(str(error))

    def _verify_bounds(self, i: int, actual: Any, expected: Any) -> None:
        """By correlation and largest difference; where nobody named bounds the numbers are kept alone."""
        found = self.verification
        pcc, atol = measure(actual, expected)
        found.pccs.append(pcc)
        found.atols.append(atol)
        if self.is_strict:
            return
        limit = self.required_atol
        if self.relative_atol is not None:
            finite = expected.detach().float().abs().nan_to_num(0.0)
            limit = self.relative_atol * (float(finite.max()) if finite.numel() else 0.0)
        # The correlation is that of elements that are numbers on both sides, and says nothing of the others.
        if not math.isfinite(atol) and not self.assert_atol and self.assert_pcc:
            found.complaints.append(f"output {i}: NaN or infinity stands where it is not expected; PCC of the rest is {pcc}")
        if pcc is not None and not pcc >= self.required_pcc:
            (found.complaints if self.assert_pcc else found.remarks).append(f"output {i}: PCC is {pcc:.6g}, required is {self.required_pcc}")
        if not atol <= (limit or 0.0):
            (found.complaints if self.assert_atol else found.remarks).append(f"output {i}: largest difference is {atol:.6g}, required is {limit:.6g}")

    def _bringup_status(self) -> str:
        depth = self.compiler_config.compile_depth
        if depth is CompileDepth.TORCH_FX:
            return "FAILED_TTMLIR_COMPILATION"
        if depth in (CompileDepth.STABLEHLO, CompileDepth.TTNN_IR):
            return "FAILED_RUNTIME"
        return "PASSED" if depth is CompileDepth.EXECUTE and "EXECUTE" in self.achieved and not self.verification.complaints and not self.failure else "INCORRECT_RESULT"

    def tags(self) -> dict[str, Any]:
        pccs = [one for one in (_tag(pcc) for pcc in self.verification.pccs) if one is not None]
        atols = [one for one in (_tag(atol) for atol in self.verification.atols) if one is not None]
        tags: dict[str, Any] = {
            "backend": self.backend, "model_name": self.model_name, "frontend": "cupel", "required_pcc": self.required_pcc, "required_atol": self.required_atol,
            "is_asserting_pcc": self.assert_pcc, "is_asserting_atol": self.assert_atol, "parallelism": "runtime_data_parallel" if self.data_parallel_mode else "single_device",
            "forge_models_test": self.forge_models_test, "pccs": pccs, "atols": atols, "bringup_status": self._bringup_status(),
            "judged_by": "strict" if self.is_strict else "configured",
        }
        for name, values, worst in (("pcc", pccs, min), ("atol", atols, max)):
            if values:
                tags |= {f"avg_{name}": sum(values) / len(values), f"min_{name}": min(values), f"max_{name}": max(values), name: worst(values)}
        return tags

    def finalize(self) -> None:
        """Writes the properties of the report, then fails the test if something was wrong."""
        if not self._was_run and self.failure is None:
            self.failure = RuntimeError("test_model() was not called: nothing was compared")
        for name, value in (("model_name", self.model_name), ("frontend", "cupel"), ("owner", OWNER), ("group", self.model_group),
                            ("config.compiler_config", {key: value for key, value in self.compiler_config.to_dict().items() if key not in ("unique_ops", "stable_hlo_ops")}),
                            ("tags", self.tags())):
            self.record_property(name, value)
        for remark in self.verification.remarks:
            warnings.warn(NotAsserted(remark), stacklevel=2)
        if self.failure is not None:
            raise AssertionError(f"{self.model_name} did not come to its end: {self.failure}") from self.failure
        if self.verification.complaints:
            raise ComparisonError("\n".join(self.verification.complaints))


class OnnxModelTester(ModelTester):
    """Tests an ONNX model (a ModelProto, or a file's path) against ONNX Runtime. Inputs are tensors, matched to the model's by name or position."""

    _has_torch_operations = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.mode == "train":
            raise NotImplementedError("ONNX models are not trained")

    def _load_torch_inputs(self) -> Any:
        """What tt-torch's own testers override; `_load_inputs` is as good."""
        raise NotImplementedError("derive from the tester and give it _load_inputs() or _load_torch_inputs()")

    def _load_inputs(self) -> Any:
        return self._load_torch_inputs()

    def _set_mode(self) -> None:
        pass

    def _proto(self) -> Any:
        import onnx

        return self.framework_model if isinstance(self.framework_model, onnx.ModelProto) else onnx.load(str(self.framework_model))

    def _named_inputs(self) -> dict[str, Any]:
        proto = self._proto()
        weights = {one.name for one in proto.graph.initializer}
        names = [one.name for one in proto.graph.input if one.name not in weights]
        if isinstance(self.inputs, Mapping):
            return {name: self.inputs[name] for name in names}
        given = list(self.inputs) if isinstance(self.inputs, (list, tuple)) else [self.inputs]
        if len(given) != len(names):
            raise ValueError(f"the model takes {', '.join(names)}, and {len(given)} inputs were given")
        return dict(zip(names, given, strict=True))

    @staticmethod
    def _numpy(tensor: Any) -> Any:
        import torch

        return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).detach().numpy() if isinstance(tensor, torch.Tensor) else tensor

    def _run_golden(self) -> Any:
        import onnxruntime
        import torch

        if self._golden is None:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            session = onnxruntime.InferenceSession(self._proto().SerializeToString(), options, providers=["CPUExecutionProvider"])
            results = session.run(None, {name: self._numpy(value) for name, value in self._named_inputs().items()})
            self._golden = [torch.from_numpy(one) if hasattr(one, "dtype") else one for one in results]
        return self._golden

    def _saved(self, folder: Path) -> Path:
        """The model with its inputs as a file, in the layout of ONNX's own tests."""
        import onnx
        from onnx import numpy_helper

        onnx.save(self._proto(), folder / "model.onnx")
        data = folder / "test_data_set_0"
        data.mkdir()
        for i, (name, value) in enumerate(self._named_inputs().items()):
            (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(self._numpy(value), name).SerializeToString())
        return folder / "model.onnx"

    def _make_table(self) -> dict[str, Any]:
        import tempfile

        from cupel.testing.op_tables import make_table

        if self.compiler_config.op_by_op_backend is OpByOpBackend.TORCH:
            self.compiler_config.op_by_op_backend = OpByOpBackend.STABLEHLO  # The only one that ONNX models have.
        with tempfile.TemporaryDirectory(prefix="cupel-onnx-") as folder:
            return make_table(self._saved(Path(folder)), self.compiler_config, self.model_name, self.model_group)

    def _run_on_device(self, ordinal: int) -> tuple[Any, Noise]:
        import subprocess
        import tempfile

        import torch

        from cupel._files import command_path
        from cupel.torch.arrays import from_array, to_array
        from cupel.torch.backend import open_device
        from cupel.torch.options import parse

        depth = self.compiler_config.compile_depth
        with tempfile.TemporaryDirectory(prefix="cupel-onnx-") as folder:
            program = Path(folder) / "program.mlirbc"
            done = subprocess.run([command_path("cupel"), "compile", str(self._saved(Path(folder))), "--emit", "portable", "--weights", "inline", "-o", str(program)],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"the model cannot be lowered to StableHLO: {done.stderr.strip()}")
            code = program.read_bytes()
        inputs = [to_array(torch.from_numpy(self._numpy(value)).contiguous()) for value in self._named_inputs().values()]
        noise = Noise(POLICY.precision_with(self.compiler_config.compile_options), lambda: (code, inputs), RanOn(POLICY.device, self.compiler_config.compile_options))
        if depth is CompileDepth.TORCH_FX:
            return None, noise
        self._achieve("STABLEHLO")
        if depth is CompileDepth.STABLEHLO:
            return None, noise
        options = parse(self._options(ordinal))
        executable = open_device(options).compile(code, options.compile_options, options.ordinal)
        self._achieve("TTNN_IR")
        if depth is CompileDepth.TTNN_IR:
            return None, noise
        return [from_array(one) for one in executable.run(inputs)], noise
