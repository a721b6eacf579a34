"""One test of an ONNX loader as far as Python is needed: the exported model, its inputs and ONNX Runtime's results, in ONNX's own test layout.

The worker imports the model with the ONNX frontend, runs and judges it. Where ONNX Runtime cannot compute the model's results nothing is
expected here: the reference's result then counts, and the record says so.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cupel.worker.golden_cache import GoldenCache, key_of, of_array, surroundings, to_arrays
from cupel.worker.loaders import LoaderError, call_named
from cupel.worker.model import REMEMBERED, ModelTest
from cupel.worker.steps import StepFailed

# A serialised message must stay below 2 GiB; what is larger goes to a file of its own.
_LARGE_BYTES = 1 << 20


def _arrays_in(value: Any, name: str = "") -> list[tuple[str, np.ndarray]]:
    """Every array of whatever load_inputs gave, with the key it lies under, in order."""
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        import torch

        dense = value.detach().cpu()
        return [(name, (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy())]
    if isinstance(value, (np.ndarray, np.generic)):
        return [(name, np.asarray(value))]
    if isinstance(value, Mapping):
        return [one for key in value for one in _arrays_in(value[key], str(key))]
    if isinstance(value, (list, tuple)):
        return [one for item in value for one in _arrays_in(item, name)]
    if isinstance(value, (bool, int, float)):
        return [(name, np.asarray(value))]
    return []


def _graph_inputs(model: Any) -> list[Any]:
    weights = {one.name for one in model.graph.initializer}
    return [one for one in model.graph.input if one.name not in weights]


def _fits(array: np.ndarray, wanted: Any) -> bool:
    """Whether an array can be this input: its rank, the sizes that are known, and a type of the same sort."""
    import onnx

    kind = wanted.type.tensor_type
    sizes = [one.dim_value if one.HasField("dim_value") else None for one in kind.shape.dim]
    types = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return len(sizes) == array.ndim and all(size in (None, given) for size, given in zip(sizes, array.shape, strict=True)) and (
        types == array.dtype or (types.kind in "fV") == (array.dtype.kind in "fV"))


def match_inputs(model: Any, inputs: Any) -> dict[str, np.ndarray]:
    """A value for each input of the graph, in its order: that of its name, else the next one given that can be it."""
    import onnx

    given, found = _arrays_in(inputs), {}
    by_name = {name: array for name, array in given if name}
    left = [array for _, array in given]
    for wanted in _graph_inputs(model):
        named = by_name.get(wanted.name)
        chosen = named if named is not None and _fits(named, wanted) else next((one for one in left if _fits(one, wanted)), None)
        if chosen is None:
            raise LoaderError("bad_inputs", f"load_inputs gives nothing for the model's input {onnx.helper.printable_value_info(wanted)}; it gives "
                              + ", ".join(f"{array.dtype}{list(array.shape)}" for _, array in given))
        left = [one for one in left if one is not chosen]
        found[wanted.name] = chosen.astype(onnx.helper.tensor_dtype_to_np_dtype(wanted.type.tensor_type.elem_type), copy=False)
    return found


def _runtime_results(path: Path, inputs: Mapping[str, np.ndarray]) -> tuple[list[Any], bool]:
    """What ONNX Runtime computes, and whether an earlier test had it compute the same."""
    import onnxruntime

    cache, weights = GoldenCache(), path.parent / "weights"
    pieces = [path.read_bytes(), *([np.memmap(weights, np.uint8, "r")] if weights.is_file() and weights.stat().st_size else [])]
    said = surroundings({"onnxruntime": onnxruntime.__version__}, (__file__,)) | {"inputs": list(inputs)}
    key = key_of(said, pieces, (of_array(array) for array in inputs.values())) if cache.is_on else ""
    if (known := to_arrays(cache.find(key))) is not None:
        return known, True
    results = _computed(onnxruntime, path, inputs)
    if all(isinstance(one, np.ndarray) and one.dtype.kind not in "OSU" for one in results):
        cache.keep(key, {}, [of_array(one) for one in results])
    return results, False


def _computed(onnxruntime: Any, path: Path, inputs: Mapping[str, np.ndarray]) -> list[Any]:
    """One thread each way, as it is meant to be repeatable."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = False  # It doubles what it holds to be faster in further runs, and there is one.
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))


class OnnxTest(ModelTest):
    framework = "onnx"

    def _capture(self) -> dict[str, Any]:
        request = self.request
        if request.run_mode != "inference" or request.parallelism != "single_device":
            raise StepFailed("", f"needs {request.run_mode} of an ONNX model on {request.parallelism}, which there is not: ONNX models run inference on one device", "not run")
        try:
            import onnx
        except ImportError as error:
            raise StepFailed("", f"needs the Python package 'onnx': {error}", "not run") from error
        loader = self._open_loader()
        self.facts["dtype"] = "as exported"
        folder = Path(request.folder)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "test_data_set_0").mkdir(parents=True)
        try:
            return self._make(onnx, loader, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _make(self, onnx: Any, loader: Any, folder: Path) -> dict[str, Any]:
        request, path = self.request, folder / "model.onnx"
        with tempfile.TemporaryDirectory(prefix="cupel-onnx-") as scratch, self.steps.step("model", "loader_model", "load_model fails"):
            model = call_named(loader.load_model, onnx_tmp_path=scratch, **request.arguments)
            self.facts["class"] = type(model).__name__
            if not isinstance(model, onnx.ModelProto):
                raise StepFailed("not_a_module", f"load_model gives a {type(model).__module__}.{type(model).__name__}, which is no onnx.ModelProto")
            # Weights that the export left in files of its own are read while those are there.
            onnx.external_data_helper.load_external_data_for_model(model, scratch)
            self.facts["parameters"] = sum(int(np.prod(one.dims)) for one in model.graph.initializer)
            onnx.save_model(model, path, save_as_external_data=True, all_tensors_to_one_file=True, location="weights", size_threshold=_LARGE_BYTES)
        with self.steps.step("inputs", "loader_inputs", "load_inputs fails"):
            described = onnx.load_model(path, load_external_data=False)
            inputs = match_inputs(described, call_named(loader.load_inputs, **request.arguments))
            self.facts["inputs"] = ", ".join(f"{name}: {array.dtype}[{'x'.join(map(str, array.shape))}]" for name, array in inputs.items())
            self._write(onnx, folder, "input", list(inputs.items()))
        expectation = self._golden(onnx, folder, path, inputs, [one.name for one in described.graph.output])
        return {"method": "torch.onnx" if "pytorch" in described.producer_name else described.producer_name or "ONNX", "graphs": 1,
                "workloads": [{"folder": str(folder), "model": str(path), "inputs": len(inputs), "results": len(described.graph.output)}], "expectation": expectation}

    def _golden(self, onnx: Any, folder: Path, path: Path, inputs: Mapping[str, np.ndarray], names: list[str]) -> str:
        """Whose word the expected values are; empty where there are none."""
        with self.steps.step("golden", "golden_error", "the model fails in ONNX Runtime on the CPU"):
            try:
                results, is_remembered = _runtime_results(path, inputs)
            except ImportError as error:
                self.facts["without golden"] = f"ONNX Runtime cannot be imported ({error}): the reference's result is expected"
                return ""
            except Exception as error:
                if "NOT_IMPLEMENTED" not in str(error):
                    raise
                self.facts["without golden"] = f"ONNX Runtime has no kernel for it, so the reference's result is expected: {' '.join(str(error).split())[:300]}"
                return ""
            if any(not isinstance(one, np.ndarray) for one in results):
                raise StepFailed("no_tensor", "the model gives results that are no tensors (sequences, optionals)")
            self._write(onnx, folder, "output", list(zip(names, results, strict=True)))
            self.facts["finite"] = all(bool(np.isfinite(one).all()) for one in results if one.dtype.kind == "f")
            if is_remembered:
                self.facts["golden_from"] = REMEMBERED
            import onnxruntime

            return f"ONNX Runtime {onnxruntime.__version__} on the CPU"

    @staticmethod
    def _write(onnx: Any, folder: Path, what: str, values: list[tuple[str, np.ndarray]]) -> None:
        for i, (name, array) in enumerate(values):
            data = onnx.numpy_helper.from_array(np.ascontiguousarray(array) if array.ndim else array, name).SerializeToString()
            (folder / "test_data_set_0" / f"{what}_{i}.pb").write_bytes(data)
