"""Runs one operator case: inputs, the expected result on the CPU, and either the program for the C++ side or another backend's result."""

from __future__ import annotations

import json
from typing import Any, Callable

import torch

from cupel.worker.capture import CannotCapture, run_and_capture
from cupel.worker.inputs import BadInput, cloned, make_arguments, tensors_in
from cupel.worker.operators import UnknownOperator, resolve
from cupel.worker.shared_tensors import SharedTensors
from cupel.worker.uninitialised import depends_on_uninitialised_memory

_ERROR_TYPES = {kind.__name__: kind for kind in (RuntimeError, ValueError, TypeError, AssertionError, IndexError, NotImplementedError,
                                                 AttributeError, Exception)}


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:1000] if text else type(error).__name__


def failed(error_class: str, message: str) -> dict[str, Any]:
    return {"outcome": "failed", "error_class": error_class, "message": message}


def _judge_error(case: dict[str, Any], error: BaseException | None) -> dict[str, Any]:
    """Whether the CPU raised what the case expects."""
    wanted = case["expects_error"]
    match = wanted.get("match", "")
    described = f"{wanted['type']}" + (f" with '{match}'" if match else "")
    if error is None:
        return failed("no_error", f"{case['op']} raised nothing, and {described} is expected")
    raised = f"{type(error).__name__}: {one_line(error)}"
    if not isinstance(error, _ERROR_TYPES[wanted["type"]]):
        return failed("other_error", f"{case['op']} raised {raised}, and {described} is expected")
    # torch.compile's errors name the call that failed before they say why; a match may be meant for either part.
    if match not in str(error) and match not in f"{case['op']}: {error}":
        return failed("other_error", f"{case['op']} raised {raised}, whose text lacks '{match}'")
    return {"outcome": "passed", "notes": {"expectation": "an error of the CPU", "raised": raised}}


def _run_backend(function: Callable[..., Any], backend: str, positional: list[Any], named: dict[str, Any]) -> Any:
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, dynamic=False, fullgraph=True)
    with torch.no_grad():
        return compiled(*positional, **named)


def _results(result: Any, changed: list[torch.Tensor]) -> list[torch.Tensor]:
    """What is compared: the tensors that come out; of an operator that gives none, those it changed."""
    return tensors_in(result) or changed


class OpCases:
    def __init__(self, shared: SharedTensors):
        self._shared = shared

    @staticmethod
    def _again(function: Callable[..., Any], case: dict[str, Any]) -> list[torch.Tensor]:
        """The results of a case once more, from inputs made anew."""
        positional, named = make_arguments(case)
        with torch.inference_mode():
            return tensors_in(function(*positional, **named)) or tensors_in(positional) + tensors_in(named)

    def run(self, case: dict[str, Any], backend: str, tensors: str, enter_stage: Callable[[str], None]) -> dict[str, Any]:
        """The outcome; where there is something for the worker to judge, what it needs is in `handover`, its tensors in the file `tensors`."""
        try:
            function = resolve(case["op"])
        except UnknownOperator as error:
            return failed("unknown_operator", str(error))
        try:
            positional, named = make_arguments(case)
        except FileNotFoundError as error:
            return failed("unreadable_file", f"{error.filename}: no such file")
        except BadInput as error:
            return failed("bad_input", str(error))
        except Exception as error:
            return failed("bad_input", f"the inputs cannot be made: {type(error).__name__}: {one_line(error)}")
        self._shared.use(tensors)
        given = tensors_in(positional) + tensors_in(named)
        inputs = [self._shared.put(tensor) for tensor in given]
        copies = None if backend == "cupel" else (cloned(positional), cloned(named))

        enter_stage("reference")
        error = None
        try:
            result, program = run_and_capture(function, positional, named)
        except CannotCapture as raised:
            return {"outcome": "skipped", "message": str(raised), "error_class": "cannot_capture"}
        except Exception as raised:
            error = raised
        if "expects_error" in case:
            return _judge_error(case, error)
        if error is not None:
            return failed("cpu_error", f"{case['op']} fails on the CPU: {type(error).__name__}: {one_line(error)}")

        expected = _results(result, program.mutated)
        if not expected:
            return {"outcome": "skipped", "error_class": "no_tensor",
                    "message": f"{case['op']} gives no tensor ({type(result).__name__}): there is nothing for a device to compute"}
        if program.is_random:
            return {"outcome": "skipped", "error_class": "random", "message": "its result is random: no two runs need agree"}
        if program.may_be_uninitialised and depends_on_uninitialised_memory(lambda: self._again(function, case)):
            return {"outcome": "skipped", "error_class": "uninitialised",
                    "message": "its result is memory that nobody wrote (torch.empty and its like): there is nothing to expect"}
        capture: dict[str, Any] = {key: case[key] for key in ("op", "rtol", "atol") if key in case} | {"torch": torch.__version__}
        capture |= {"inputs": inputs + [self._shared.put(tensor) for tensor in program.constants()]}
        if backend == "cupel":
            try:
                capture["model"] = json.dumps(program.model(expected))
            except CannotCapture as raised:
                return {"outcome": "skipped", "message": str(raised), "error_class": "cannot_capture"}
        capture["expected"] = [self._shared.put(tensor) for tensor in expected]
        if backend != "cupel":
            enter_stage("compile")
            try:
                actual = _results(_run_backend(function, backend, *copies), [])
            except Exception as raised:
                return failed("backend_error", f"torch.compile(backend='{backend}'): {type(raised).__name__}: {one_line(raised)}")
            if not actual:
                # It changes its arguments: the same ones changed on the other side.
                places = [i for i, tensor in enumerate(given) if any(tensor is changed for changed in expected)]
                copied = tensors_in(copies[0]) + tensors_in(copies[1])
                actual = [copied[i] for i in places]
            capture["actual"] = [self._shared.put(tensor) for tensor in actual]
        return {"outcome": "passed", "handover": capture}
