"""One test of a JAX loader as far as Python is needed: load, golden result by JAX on the CPU, StableHLO of the same trace.

As the zoo's own runner does: no dtype and no batch size are passed, 64-bit types stay off unless JAX_ENABLE_X64 says otherwise, and several devices are
a mesh of one axis. What comes out is a workload folder; the rest is C++'s.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cupel.worker.model import REMEMBERED, ModelTest, too_few_chips
from cupel.worker.steps import StepFailed

_CPU_DEVICES = 8


def _start_jax(chips: int) -> Any:
    """JAX on CPU devices alone, as many as any test of this run wants; a process starts it once."""
    import jax
    from jax._src import xla_bridge

    if not xla_bridge.backends_are_initialized():
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", max(_CPU_DEVICES, chips))
    from cupel import jax as platform

    platform.initialize()  # Its lowering rules; no device of it is opened here.
    return jax


@contextlib.contextmanager
def _restored_configuration(jax: Any) -> Iterator[None]:
    """A loader may have set any of them; the next one meets them as they were."""
    known = dict(jax.config.values)
    try:
        yield
    finally:
        for name, value in known.items():
            if jax.config.values.get(name) != value:
                jax.config.update(name, value)
        jax.clear_caches()


class JaxTest(ModelTest):
    framework = "jax"

    def _capture(self) -> dict[str, Any]:
        request = self.request
        if request.run_mode not in ("inference", "training"):
            raise StepFailed("unsupported", f"there is no run mode '{request.run_mode}'", "not run")
        try:
            jax = _start_jax(request.chips)
        except ImportError as error:
            raise StepFailed("", f"needs the Python package '{error.name or 'jax'}': {error}", "not run") from error
        with _restored_configuration(jax):
            return self._run(jax)

    def _check_devices(self, jax: Any) -> None:
        request = self.request
        if request.parallelism == "single_device":
            return
        if request.chips < 2:
            raise too_few_chips(2, request.chips)
        if len(jax.devices("cpu")) < request.chips:
            raise StepFailed("", f"needs {request.chips} CPU devices of JAX, which was started with {len(jax.devices('cpu'))}", "not run")

    def _run(self, jax: Any) -> dict[str, Any]:
        from cupel.worker import jax_calls

        request, is_training = self.request, self.request.run_mode == "training"
        self._check_devices(jax)
        loader = self._open_loader()
        mesh = None if request.parallelism == "single_device" else jax_calls.make_mesh(request.chips)
        with self.steps.step("model", "loader_model", "load_model fails"):
            if mesh is not None:
                jax_calls.check_has_specs(loader)
            model = loader.load_model() if mesh is None else jax_calls.load_on_mesh(loader, request.chips, is_training)
            self.facts["class"] = type(model).__name__
            jax_calls.set_mode(model, is_training)
        with self.steps.step("inputs", "loader_inputs", "load_inputs fails"):
            inputs = jax_calls.call_named(loader.load_inputs, mesh=mesh)
            self.facts["inputs"] = _describe(inputs)
        with self.steps.step("model", "loader_parameters", "the model's parameters cannot be had"):
            if mesh is None:
                call = jax_calls.single_device(loader, model, inputs, request.run_mode)
            else:
                call = jax_calls.on_mesh(loader, model, inputs, request.run_mode, request.parallelism, mesh)
            self.facts["kind"] = call.kind
        from cupel.worker import jax_program

        with self.steps.step("golden", "golden_error", "the model fails in JAX on the CPU"):
            program = jax_program.training(call, jax_calls.wrapped(loader, call)) if is_training else jax_program.inference(call)
            self._describe_program(jax, program)
            traced = jax_program.Traced(program)
            golden = traced.golden()
            if traced.is_remembered:
                self.facts["golden_from"] = REMEMBERED
            if not golden:
                raise StepFailed("no_tensor", "the model's result holds no array: there is nothing to compare")
            # By NumPy: JAX would compile a program for every shape.
            self.facts["finite"] = all(bool(np.isfinite(one).all()) for one in golden if jax.numpy.issubdtype(one.dtype, jax.numpy.inexact))
        with self.steps.step("lower", "not_lowered", "JAX cannot lower the model for the device"):
            contents = traced.contents(golden)
        return self._keep(jax, contents, program)

    def _describe_program(self, jax: Any, program: Any) -> None:
        weights = [one for one, name in zip(program.inputs, program.names, strict=True) if jax.numpy.issubdtype(one.dtype, jax.numpy.inexact)]
        self.facts["parameters"] = sum(int(one.size) for one in weights)
        self.facts["parameter_bytes"] = sum(int(one.nbytes) for one in weights)
        found = sorted({str(one.dtype) for one in weights})
        self.facts["dtype"] = ", ".join(found) or "none"
        self.facts["output"] = f"{len(program.result_names)} arrays"

    def _keep(self, jax: Any, contents: Any, program: Any) -> dict[str, Any]:
        import jaxlib

        from cupel.worker.workload_folder import save

        request = self.request
        folder = Path(request.folder)
        with self.steps.step("save", "internal", "the workload cannot be written"):
            where = "on the CPU" if program.mesh is None else f"on {program.mesh.size} CPU devices"
            origin = {"test": request.test, "file": str(self.loader_file), "part": 0, "frontend": "jax", "variant": self.facts["variant"], "parallelism": request.parallelism,
                      "run_mode": request.run_mode, "expectation": f"JAX {where}, {self.facts['dtype']}", "seed": request.seed,
                      "result_names": program.result_names}
            save(folder, request.test or self.facts["model_info"], contents, request.tolerance, origin, {"jax": jax.__version__, "jaxlib": jaxlib.__version__}, request.compile_options)
        row = {"folder": str(folder), "inputs": len(contents.inputs[0]), "results": len(contents.expected[0]), "result_names": program.result_names}
        return {"method": "jax.jit", "graphs": 1, "workloads": [row]}


def _describe(value: Any, depth: int = 0) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{'x'.join(map(str, value.shape))}]"
    if hasattr(value, "items") and depth < 3:
        return "{" + ", ".join(f"{key}: {_describe(child, depth + 1)}" for key, child in value.items()) + "}"
    if isinstance(value, (list, tuple)) and depth < 3:
        return "[" + ", ".join(_describe(child, depth + 1) for child in value) + "]"
    return type(value).__name__
