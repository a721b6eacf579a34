"""Runs one test of a model loader as far as Python is needed: load, golden result on the CPU, capture, lowering; the rest is C++'s.

What comes out is a folder a graph, a workload that any device runs and that says what is expected of it. Served by `python -m cupel.worker`
as the request `model`; `python -m cupel.worker.model LOADER --out DIR` does the same by hand. Never judges a device.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from cupel.worker import instructions, process_memory
from cupel.worker.configured import compile_options_of, not_heeded
from cupel.worker.llm import Padding, Phase
from cupel.worker.loaders import LoaderError, arguments_of, call_named, choose_variant, import_class, instantiate, zoo_of
from cupel.worker.protocol import RunFirst
from cupel.worker.steps import STAGES, StepFailed, Steps, one_line

LLM_FIELDS = ("phase", "sharding", "mesh", "sequence_length", "llm_batch_size")

# Of golden results that were not computed again.
REMEMBERED = "an earlier run: the same program, weights and inputs"

# Frameworks whose loaders are run.
SERVED = ("pytorch", "jax", "bounty_jax", "onnx")


@dataclass
class Request:
    """What a test of a model loader is; the JSON of the request has these names."""

    loader: str
    folder: str
    """Where the workloads go."""
    zoo: str = ""
    variant: str = ""
    run_mode: str = "inference"
    parallelism: str = "single_device"
    dtype: str = "bfloat16"
    """As upstream always asks for; `none`: the loader decides."""
    batch_size: int | None = None
    dropout: bool = True
    """Otherwise nothing is dropped in training."""
    compile_options: dict[str, Any] = field(default_factory=dict)
    """For the device's compiler, by name; one that it does not know is its to refuse."""
    seed: int = 0
    test: str = ""
    """The test's full name, for the record."""
    tolerance: dict[str, Any] = field(default_factory=dict)
    """Bounds of results for those who have nothing but the plugin; `cupel run` goes by the configuration, or by noise."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Further arguments, passed where a signature names them (num_layers, seq_len, ...)."""
    framework: str = ""
    """pytorch, jax, onnx; empty: what the loader's folder is called."""
    chips: int = 0
    """How many the device has; 0: nobody knows."""
    weights: str = "pretrained"
    """`random`: seeded ones, from the architecture's configuration."""
    op_by_op: bool = False
    """A graph that cannot be lowered is handed on as an archive, for a table of its operators."""
    layers: int = 0
    """With random weights: at most so many; also offered to the loader as num_layers."""
    check_export: bool = False
    """The device computed what the reference does, and not what is expected: torch runs the graph of torch.export too, and another is made where it is not the model."""
    seconds: float | None = None
    """When the test ends, whatever it does until then; None: it does not."""
    llm: dict[str, Any] = field(default_factory=dict)
    """Of a language model: `phase`, `sharding`, `mesh`, `sequence_length`, `llm_batch_size`, as the runner's request has them."""

    @staticmethod
    def of(body: Mapping[str, Any]) -> Request:
        known = {one.name for one in fields(Request)}
        unknown = sorted(set(body) - known)
        if unknown:
            raise ValueError(f"a model request has no field {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        return Request(**body)


def too_few_chips(needed: int, chips: int) -> StepFailed:
    """For a device that has `chips`, of which nobody may know."""
    has = f"this one has {chips}" if chips else "nobody knows how many this one has"
    return StepFailed("", f"needs a device with {needed if needed > 2 else 'several'} chips, and {has}: --device cupel with an --arch that has so many, "
                      "or ?num_devices=N behind the device's name; the reference is one chip", "not run")


def drop_nothing(model: Any) -> int:
    """Sets every rate of dropout that a module holds to 0, those of attention and of whole layers too; how many there were."""
    count = 0
    for module in model.modules():
        is_dropout = "dropout" in type(module).__name__.lower()
        for name, value in list(vars(module).items()):
            if isinstance(value, float) and value > 0 and ("dropout" in name or name in ("drop_prob", "layerdrop") or (is_dropout and name == "p")):
                setattr(module, name, 0.0)
                count += 1
    return count


def _memory_note(facts: Mapping[str, Any]) -> str:
    """What the test took in this process, beside what was there before (torch itself, mostly), and how much it was at most in each step."""
    if "parameter_bytes" not in facts:
        return ""
    steps = ", ".join(f"{name} {taken / 2**20:.0f}" for name, taken in facts["memory_of_steps"].items())
    return f"weights {facts['parameter_bytes'] / 2**20:.1f} MiB; the Python worker took {facts['memory_bytes'] / 2**20:.1f} MiB for the test ({steps})"


def _seconds_note(seconds: Mapping[str, float]) -> str:
    """How long each step took; `golden` is the framework's own run."""
    return ", ".join(f"{name} {value:.3f}" for name, value in seconds.items() if name in STAGES)


def _tensors_left() -> int:
    """Tensors without values that captures of this process left in tables."""
    recorded = sys.modules.get("cupel.torch.recorded")
    return recorded.tensors_left() if recorded else 0


class ModelTest:
    """One test from its request to its workload folders."""

    framework = "pytorch"

    def __init__(self, request: Request, enter_stage: Callable[[str], None]):
        self.request = request
        self.loader_file = Path(request.loader)
        self.root = Path(request.zoo) if request.zoo else zoo_of(self.loader_file)
        self.steps = Steps(self.root, enter_stage)
        self.facts: dict[str, Any] = {"dtype": request.dtype}
        self.loader_class = "ModelLoader"
        self._random: Any = None
        self._captured_first: Any = None  # Where the golden result was known: what knows it.
        self._left_before = _tensors_left()
        self._placement: Any = None
        self._specs: list[Any] = []
        """Of the inputs of all graphs so far."""
        self._ways: list[Any] = []
        self._way = 0
        """To repeat arguments for data parallelism, and the one that is tried."""
        self._padding: Any = None
        self._lying: set[int] = set()
        """Where weights lie, of a model on several chips."""

    # --- load ----------------------------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _weights(self) -> Iterator[None]:
        """Where random weights are asked for, what the record has to say of them."""
        if self.request.weights != "random":
            yield
            return
        from cupel.worker.random_weights import RandomWeights

        if self.request.layers:
            self.request.arguments.setdefault("num_layers", self.request.layers)
        with RandomWeights(self.request.layers) as self._random:
            try:
                yield
            except StepFailed as failure:
                if failure.kind == "loader_model":
                    self._random.failed()
                raise
            finally:
                self.facts["weights"] = self._random.note()

    def _open_loader(self) -> Any:
        """The loader of the test's variant."""
        from cupel.worker.patches import watched
        from cupel.worker.seeds import seed_all

        request = self.request
        watched().expect(self.framework, self.root)
        seed_all(request.seed)
        with self.steps.step("import", "loader_import", "the loader cannot be imported"):
            loader_class = import_class(self.root, self.loader_file, self.loader_class)
            variant = choose_variant(loader_class, request.variant)
            loader = instantiate(loader_class, variant, request.arguments)
            self.facts["variant"] = "" if variant is None else str(getattr(variant, "value", variant))
            info = loader_class.get_model_info(variant=variant)
            self.facts["model_info"] = str(getattr(info, "name", ""))
            watched().see()
            if self._random is not None:
                self._random.replace_in(self.loader_file)
        return loader

    def _phase(self) -> Phase | None:
        """What a test of a language model is; ends one that is no test."""
        phase = Phase.of(self.request.llm, self.request.run_mode)
        if phase is None:
            return None
        if reason := phase.why_skipped():
            raise StepFailed("", reason, "skipped")
        if not phase.is_decode:
            self.loader_class = "ModelLoaderPrefill"
        return phase

    def _check_chips(self, phase: Phase | None) -> int:
        """How many chips the test is for; ends it where the device has not as many."""
        request = self.request
        if request.parallelism == "single_device":
            return 1
        needed = math.prod(phase.mesh_shape) if phase and phase.mesh_shape else 2
        if request.chips < needed:
            raise too_few_chips(needed, request.chips)
        return needed if phase and phase.mesh_shape else request.chips

    @staticmethod
    def _check_splits(loader: Any, phase: Phase | None) -> None:
        """Ends a test that the loader does not have, before its model is loaded."""
        from cupel.worker.parallel import why_not_split

        if reason := why_not_split(loader, ("strategy", "batch_axis") if phase and phase.mesh_shape else ()):
            raise StepFailed("", f"{reason}; single_device and data_parallel need none", "not run")

    def _dtype(self) -> Any:
        import torch

        dtype = None if self.request.dtype in ("", "none") else getattr(torch, self.request.dtype, None)
        if self.request.dtype not in ("", "none") and not isinstance(dtype, torch.dtype):
            raise StepFailed("unsupported", f"there is no dtype '{self.request.dtype}'")
        return dtype

    def _load(self) -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]]:
        """The loader, its model and the model's arguments."""
        import torch

        request = self.request
        if request.run_mode not in ("inference", "training"):
            raise StepFailed("unsupported", f"there is no run mode '{request.run_mode}'", "not run")
        phase = self._phase()
        chips = self._check_chips(phase)
        is_training, dtype = request.run_mode == "training", self._dtype()
        loader = self._open_loader()
        if chips > 1 and request.parallelism == "tensor_parallel":
            self._check_splits(loader, phase)
        from cupel.worker.uninitialised import Zeroed

        with self.steps.step("model", "loader_model", "load_model fails"):
            with Zeroed() as zeroed:
                model = call_named(loader.load_model, dtype_override=dtype, **request.arguments)
            self.facts["class"] = type(model).__name__
            if not isinstance(model, torch.nn.Module):
                raise StepFailed("not_a_module", f"load_model gives a {type(model).__module__}.{type(model).__name__}, which is no torch.nn.Module")
            with contextlib.suppress(*(() if is_training else (NotImplementedError,))):  # What torch.export gave has the mode it was exported in.
                model.train(is_training)
            if not request.dropout:
                self.facts["dropout"] = f"{drop_nothing(model)} rates set to 0"
            self._tell_unwritten(zeroed.names_of_unwritten([*model.named_parameters(), *model.named_buffers()]))
            parameters = list(model.parameters())
            parameters = [one for one in parameters if not torch.nn.parameter.is_lazy(one)]  # Those have no size before the first run.
            self.facts["parameters"] = sum(one.numel() for one in parameters)
            self.facts["parameter_bytes"] = sum(one.nbytes for one in parameters)
        with self.steps.step("inputs", "loader_inputs", "load_inputs fails"):
            with Zeroed():
                inputs = self._load_inputs(loader, phase, dtype)
            from cupel.torch.structure import describe

            args, kwargs = arguments_of(inputs)
            if request.parallelism == "data_parallel":
                from cupel.worker.parallel import repeat

                self._ways = repeat(args, kwargs, chips)
                args, kwargs = self._ways[self._way].args, self._ways[self._way].kwargs
                if self._way == 0 and self._ways[0].how:
                    self.facts["repeated"] = f"{self._ways[0].how}; the zoo's own way finds no tensor on top"
            self.facts["inputs"] = describe(kwargs or args if request.parallelism == "data_parallel" else inputs)
        if chips > 1:
            with self.steps.step("inputs", "bad_shard_spec", "the model cannot be split"):
                self._placement = self._place(loader, model, args, kwargs, chips, phase)
                self._lying = {one.data_ptr() for one in [*model.parameters(), *model.buffers()] if not torch.nn.parameter.is_lazy(one)}
        return loader, model, args, kwargs

    def _tell_unwritten(self, names: list[str]) -> None:
        """Weights that the loader made and nobody wrote, which a checkpoint would: they have no value, so that memory would decide what the model gives."""
        if names:
            self.facts["unwritten_weights"] = f"{len(names)} taken as zero, which nothing ever wrote: {', '.join(names[:8])}" + (", ..." if len(names) > 8 else "")

    def _load_inputs(self, loader: Any, phase: Phase | None, dtype: Any) -> Any:
        request = self.request
        if phase is None:
            batch = request.batch_size or (2 if request.run_mode == "training" else None)
            return call_named(loader.load_inputs, dtype_override=dtype, batch_size=batch, **request.arguments)
        if phase.is_decode:
            return call_named(loader.load_inputs_decode, dtype_override=dtype, batch_size=phase.rows, **request.arguments)
        inputs = call_named(loader.load_inputs_prefill, dtype_override=dtype, batch_size=phase.rows, seq_len=phase.sequence_length, **request.arguments)
        if padding := Padding.of(inputs):
            self._padding, self.facts["padding"] = padding, str(padding)
        return inputs

    def _place(self, loader: Any, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], chips: int, phase: Phase | None) -> Any:
        """Where the model's tensors lie on the mesh."""
        from cupel.torch.shardings import Mesh
        from cupel.worker import parallel

        if self.request.parallelism == "data_parallel":
            return parallel.data_parallel(chips, self._ways[self._way].rows)
        axis = "data" if phase and phase.splits_inputs else "batch"
        try:
            if phase is None or not phase.mesh_shape:
                return parallel.tensor_parallel(loader, model, parallel.mesh_of(loader, chips))
            placement = parallel.tensor_parallel(loader, model, Mesh.of(phase.mesh_shape, (axis, "model")), strategy=phase.strategy, batch_axis=axis)
        except parallel.Skipped as reason:
            raise StepFailed("", str(reason), "skipped") from reason
        if phase.splits_inputs:
            placement.add_arguments(parallel.named_arguments(args, kwargs), axis)
        return placement

    # --- the whole -----------------------------------------------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """The answer. `not run` with `capture`: everything is made that a device needs, and none has run it yet."""
        from cupel.worker.surroundings import restored

        begun = time.monotonic()
        process_memory.set_aside()
        process_memory.forget_peak()
        before = process_memory.held()
        answer: dict[str, Any]
        try:
            with restored(with_compiler=self.framework == "pytorch"), self._weights():
                answer = {"outcome": "not run", "message": "captured; no device has run it yet", "capture": self._capture()}
        except StepFailed as failure:
            answer = {"outcome": failure.outcome, "error_class": failure.kind, "message": str(failure), "step": self.steps.current}
            cause = failure.__cause__
            if cause is not None and not isinstance(cause, LoaderError):
                answer["traceback"] = "".join(traceback.format_exception(cause, limit=-12))[-4000:]
        answer["model"] = self.facts
        answer["seconds"] = self.steps.seconds | {"total": round(time.monotonic() - begun, 3)}
        answer["processor_seconds"] = self.steps.processor_seconds
        answer["peak_memory_bytes"] = max(process_memory.peak(), *self.steps.peak_bytes.values(), 0)
        self.facts["memory_bytes"] = max(0, answer["peak_memory_bytes"] - before)
        self.facts["memory_of_steps"] = {name: max(0, peak - before) for name, peak in self.steps.peak_bytes.items()}
        answer |= self.steps.output.json()
        self.steps.end()
        process_memory.clean_up_behind(before)
        if self._captured_first and _tensors_left() > self._left_before:
            self._captured_first.run_first()  # The worker begins anew, which this test is to cost no second time.
        return answer

    def _capture(self) -> dict[str, Any]:
        from cupel.torch.time_limit import test_time
        from cupel.worker.model_golden import plain_encoders

        with plain_encoders(), test_time(self.request.seconds):
            refusal: StepFailed | None = None
            begun = time.monotonic()
            while True:
                tried = time.monotonic()
                try:
                    return self._capture_loaded()
                except StepFailed as failure:
                    refusal = refusal or failure  # The zoo's own way is what is told of, where none does.
                    if failure.kind != "golden_error" or self._way + 1 >= len(self._ways):
                        raise refusal from refusal.__cause__
                    now = time.monotonic()
                    if self.request.seconds and now - begun + (now - tried) > self.request.seconds / 2:
                        # A test that fails is told so, and not that its time is over.
                        raise StepFailed(refusal.kind, f"{refusal}; no time was left to load it once more with them repeated otherwise") from refusal.__cause__
                self._way += 1
                self.facts["repeated"] = f"{self._ways[self._way].how}; the zoo's own way, every argument on top, does not do: {refusal}"

    def _capture_loaded(self) -> dict[str, Any]:
        loader, model, args, kwargs = self._load()
        from cupel.worker.remembered import Remembered

        memory = Remembered(self.request)
        known = None
        if memory.is_likely and not self.request.check_export:
            with self.steps.step("capture", "not_captured", "the model cannot be captured"), self._constraining():
                known = memory.recall(loader, model, args, kwargs, self._padding)
            if known is None:
                loader = model = args = kwargs = None  # Two copies of the weights would be one too many.
                if _tensors_left() > self._left_before:
                    memory.run_first()
                    raise RunFirst
                loader, model, args, kwargs = self._load()
            else:
                self.facts |= known[0].facts | {"golden_from": REMEMBERED}
                self._captured_first = memory
        golden, captured = known or self._run_and_capture(loader, model, args, kwargs)
        if known is None:
            with self.steps.step("capture", "internal", "the golden result cannot be remembered"):
                memory.keep(golden, captured)
        told: dict[str, Any] = {"method": captured.method, "graphs": len(captured.graphs), "workloads": []}
        for name, value in (("export_refusal", captured.refusal), ("graph_breaks", captured.breaks), ("outside_of_graphs", captured.outside),
                            ("not_recorded", captured.graphs[0].not_recorded if captured.method == "export" else ""),
                            ("decided", "; ".join(line or "outside of any forward" for line in captured.graphs[0].decided) if captured.method == "export" else "")):
            if value:
                told[name] = value
        for index, graph in enumerate(captured.graphs):
            told["workloads"].append(self._save(index, len(captured.graphs), graph, golden.result_names if captured.method != "compile" else [], captured.method == "compile"))
        if self._placement and not self._placement.splits_anything(self._specs):
            told["untested"] = (f"nothing of it is split over {self._placement.mesh.size} chips: each computed all of it, as one chip does in a test of a single device"
                                + (f" (not cut into equal pieces: {self.facts['not_split']})" if self.facts["not_split"] else ""))
        return told

    def _constraining(self) -> contextlib.AbstractContextManager[Any]:
        return self._placement.constraining() if self._placement else contextlib.nullcontext()

    def _run_and_capture(self, loader: Any, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The golden result, and then the model's graphs."""
        from cupel.torch.captured import capture
        from cupel.torch.graphs import NotCaptured
        from cupel.worker.model_golden import golden_inference, golden_training

        make = golden_training if self.request.run_mode == "training" else golden_inference
        repeated = ", with its arguments repeated for each chip" if self._ways else ""
        with self.steps.step("golden", "golden_error", f"the model fails on the CPU in {self.request.dtype}{repeated}"):
            golden = make(loader, model, args, kwargs, self.request.seed, self._padding)
            self.facts |= golden.facts
            if not golden.expected:
                raise StepFailed("no_tensor", f"the model's result, {self.facts['output']}, holds no tensor: there is nothing to compare")
            if self.request.check_export:
                self._check_repeats(golden)
        with self.steps.step("capture", "not_captured", "the model cannot be captured"):
            try:
                with self._constraining():
                    if self.request.check_export and golden.capture:
                        with contextlib.suppress(NotCaptured):  # The graph that is doubted is better than none.
                            return golden, golden.capture(True)
                    return golden, golden.capture() if golden.capture else capture(golden.flat, golden.expected, self.request.seed)
            except NotCaptured as error:
                self._check_repeats(golden)
                raise StepFailed("not_captured", str(error)) from error

    @staticmethod
    def _check_repeats(golden: Any) -> None:
        """Ends the test of a model that is another one each time: whatever a device gives, nothing says what it should have been."""
        if difference := golden.differs_again():
            raise StepFailed("model_not_deterministic", "the model gives another result each time that it runs on the CPU, though all generators of torch, Python and numpy are seeded alike "
                             f"({difference}): it goes by something that no seed reaches, such as the clock, the system's entropy, a generator of its own, or what a run before it left where torch does not see it")

    def _save(self, index: int, count: int, graph: Any, result_names: list[str], is_of_compile: bool = False) -> dict[str, Any]:
        from cupel._native import NativeError
        from cupel.worker.model_files import Placed, lower, save, save_archive

        request = self.request
        name = (request.test or self.facts.get("model_info") or self.loader_file.parent.name) + (f"#{index}" if count > 1 else "")
        folder = Path(request.folder) if count == 1 else Path(request.folder) / f"graph-{index:02}"
        with self.steps.step("lower", "not_lowered", f"graph {index} of {count} cannot be lowered to StableHLO" if count > 1 else "the model cannot be lowered to StableHLO"):
            placed = None
            if self._placement:
                placed = Placed(self._placement.mesh, self._placement.specs(graph.input_names, graph.inputs, self._lying if is_of_compile else None))
                self._specs += placed.specs
                self.facts["mesh"] = self._placement.describe(self._specs)
                self.facts["not_split"] = "; ".join(self._placement.uneven)
            try:
                module = lower(graph, placed)
            except NativeError:
                if not request.op_by_op:
                    raise
                # The worker's frontend goes through it past what fails.
                return {"folder": str(save_archive(folder, graph)), "inputs": len(graph.inputs), "results": len(graph.expected)}
        with self.steps.step("save", "internal", "the workload cannot be written"):
            origin = {"test": request.test, "file": str(self.loader_file), "part": index, "frontend": "torch", "variant": self.facts["variant"],
                      "parallelism": request.parallelism, "run_mode": request.run_mode, "expectation": f"torch on the CPU, {request.dtype}", "seed": request.seed, "result_names": result_names}
            save(folder, name, graph, module, request.tolerance, origin, request.compile_options, placed)
        row = {"folder": str(folder), "inputs": len(graph.inputs), "results": len(graph.expected)}
        if result_names:
            row["result_names"] = result_names
        return row | ({"calls": graph.calls} if graph.calls > 1 else {})


def run(body: Mapping[str, Any], enter_stage: Callable[[str], None]) -> dict[str, Any]:
    """Serves the request `model`."""
    try:
        request = Request.of(body)
    except (TypeError, ValueError) as error:
        return {"outcome": "not run", "error_class": "bad_request", "message": one_line(error)}
    return make_test(request, enter_stage).run()


def make_test(request: Request, enter_stage: Callable[[str], None]) -> ModelTest:
    """The test of the loader's framework; raises for one that nobody serves."""
    framework = request.framework or Path(request.loader).resolve().parent.name
    if framework in ("jax", "bounty_jax"):
        from cupel.worker.jax_model import JaxTest

        return JaxTest(request, enter_stage)
    if framework == "onnx":
        from cupel.worker.onnx_model import OnnxTest

        return OnnxTest(request, enter_stage)
    return ModelTest(request, enter_stage)


def run_test(body: Mapping[str, Any], enter_stage: Callable[[str], None]) -> dict[str, Any]:
    """Serves a test that the runner chose: the outcome where it ended here, else the workloads for the worker to run and judge."""
    framework = body.get("framework", "")
    if framework not in SERVED:
        return {"outcome": "not run", "message": f"needs a part of the Python worker for loaders of {framework}, which this version does not have"}
    folder = body["handover"]["folder"]  # The worker reads it next, and takes it away.
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    request = Request(loader=os.path.join(body.get("folder", ""), body["file"]), folder=folder, variant=body.get("variant", ""),
                      run_mode=body.get("run_mode", "inference"), parallelism=body.get("parallelism", "single_device"), seed=body.get("seed", 0),
                      test=f"{body.get('suite', 'models')}::{body['id']}", framework=framework, chips=body["handover"].get("chips", 0),
                      dtype=body["handover"].get("dtype") or "bfloat16", dropout=body["handover"].get("dropout", True), batch_size=body.get("batch_size"),
                      compile_options=compile_options_of(body), weights=body["handover"].get("weights", "pretrained"), layers=body["handover"].get("layers", 0),
                      op_by_op=bool(body["handover"].get("op_by_op")), check_export=bool(body["handover"].get("check_export")), seconds=body.get("timeout_seconds") or None, llm={name: body[name] for name in LLM_FIELDS if body.get(name)})
    answer = make_test(request, enter_stage).run()
    facts, capture = answer["model"], answer.get("capture", {})
    notes = {"dtype": facts["dtype"], "parameters": facts.get("parameters"), "captured by": capture.get("method"), "graphs": capture.get("graphs"),
             "export refused": capture.get("export_refusal"), "torch.export asked": capture.get("not_recorded"), "decided by inputs": capture.get("decided"), "between graphs": capture.get("outside_of_graphs"), "golden by": facts.get("golden_calls"), "dropout": facts.get("dropout"), "training output": facts.get("training_output"),
             "step": answer.get("step"), "golden": facts.get("without golden"), "golden from": facts.get("golden_from"), "weights": facts.get("weights"), "weights without values": facts.get("unwritten_weights"), "state": facts.get("state"),
             "memory": _memory_note(facts), "seconds of steps": _seconds_note(answer["seconds"]), "mesh": facts.get("mesh"), "repeated": facts.get("repeated"), "not split": facts.get("not_split"), "padding": facts.get("padding"),
             "not heeded": not_heeded(body)}
    if "traceback" in answer:
        print(f"[{answer['step']}: what was raised]\n{answer['traceback'].rstrip()}", file=sys.stderr)
    result = {"outcome": answer["outcome"], "error_class": answer.get("error_class", ""), "message": answer["message"],
              "peak_memory_bytes": answer["peak_memory_bytes"], "notes": {name: str(value) for name, value in notes.items() if value}}
    if capture:
        result |= {"outcome": "passed", "message": "", "handover": {"workloads": [one["folder"] for one in capture["workloads"]]}}
        if capture.get("untested"):
            result["handover"]["untested"] = capture["untested"]
        if "model" in capture["workloads"][0]:  # A file that the worker's frontend reads.
            result["handover"] |= {"model": capture["workloads"][0]["model"], "expectation": capture["expectation"]}
    return result


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="cupel.worker.model", description="Makes the workloads of one model loader: DIR, or a folder a graph below it.")
    parser.add_argument("loader", help="path of a loader.py")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the workload goes")
    parser.add_argument("--zoo", default="", help="root of the zoo (else the nearest folder above with base.py and config.py)")
    parser.add_argument("--variant", default="", help="else the loader's default")
    parser.add_argument("--run-mode", default="inference", choices=["inference", "training"])
    parser.add_argument("--dtype", default="bfloat16", help="dtype_override; none: the loader decides")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--parallelism", default="single_device", choices=["single_device", "data_parallel", "tensor_parallel"])
    parser.add_argument("--weights", default="pretrained", choices=["pretrained", "random"], help="random: seeded, from the architecture's configuration")
    parser.add_argument("--layers", type=int, default=0, help="with random weights: at most so many")
    parser.add_argument("--chips", type=int, default=0, help="of the device, for tests on several")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--test", default="", help="the test's full name, for the record")
    parser.add_argument("--pcc", type=float, help="correlation that a device must reach (without it results are judged by noise)")
    parser.add_argument("--argument", action="append", default=[], metavar="NAME=VALUE", help="passed where a signature names it; VALUE is JSON")
    options = parser.parse_args(arguments)
    instructions.settle()
    extra = {name: json.loads(value) for name, _, value in (text.partition("=") for text in options.argument)}
    request = Request(loader=options.loader, folder=options.out, zoo=options.zoo, variant=options.variant, run_mode=options.run_mode, dtype=options.dtype,
                      batch_size=options.batch_size, seed=options.seed, tolerance={} if options.pcc is None else {"pcc": options.pcc}, arguments=extra,
                      parallelism=options.parallelism, chips=options.chips, weights=options.weights, layers=options.layers, test=options.test)
    try:
        answer = make_test(request, lambda stage: print(f"stage {stage}", file=sys.stderr)).run()
    except RunFirst:
        os.execv(sys.executable, sys.orig_argv)
    if "capture" in answer and options.pcc is None:
        from cupel.worker.stored_noise import add_noise

        for one in answer["capture"]["workloads"]:
            if "folder" in one and (why := add_noise(Path(one["folder"]))):
                one["without_noise"] = why
                print(f"{one['folder']}: its noise is not known ({why}): cupel-device judges it by the device's precision alone, `cupel run` measures it", file=sys.stderr)
    print(json.dumps(answer, indent=1))
    return 0 if "capture" in answer else 1


if __name__ == "__main__":
    sys.exit(main())
