"""Golden results of PyTorch's models that an earlier test computed, by the graph that torch.export makes of the model and the values it takes.

A test that was run before is captured first: only what its graph and every weight and input hash to decides whether the result is known. Models without such a graph
(torch.compile's graphs are found by running them) compute theirs every time, and so do those that are captured first no more: a function that remembers tensors (`lru_cache`, a table of
a library) remembers then what has no values, and whoever asks for it next gets that.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from cupel.torch import captured, captured_training, graphs, known_values, recorded, recorded_training, sound_kernels
from cupel.torch.captured import Capture
from cupel.torch.graphs import Graph
from cupel.torch.structure import Flat
from cupel.torch.time_limit import limited
from cupel.worker import model_golden, training_output
from cupel.worker.golden_cache import GoldenCache, key_of, of_tensor, surroundings, to_tensor
from cupel.worker.llm import Padding
from cupel.worker.model_golden import Golden

if TYPE_CHECKING:
    from cupel.worker.model import Request

_CODE = tuple(str(Path(module.__file__ or "")) for module in (captured, captured_training, graphs, known_values, recorded, recorded_training, sound_kernels, model_golden, training_output)) + (__file__,)
# Where a test's files go and how it is judged and compiled decides nothing of its golden result.
_INDIFFERENT = ("folder", "test", "tolerance", "compile_options", "op_by_op", "check_export", "seconds")

# In the place of what a hint says.
_RUN_FIRST = {"run": "first"}


def _meaning(program: bytes) -> bytes:
    """What a program says, without what it remembers of where it comes from: names of generated code count up from test to test."""
    whole = json.loads(program, object_hook=lambda fields: {name: value for name, value in fields.items() if name != "metadata"})
    return json.dumps(whole, sort_keys=True).encode()


class Remembered:
    """What is known of one test's golden result."""

    def __init__(self, request: Request):
        self._request = request
        self._cache = GoldenCache()
        self._around = surroundings({"torch": torch.__version__}, _CODE) | {"threads": torch.get_num_threads(), "mode": request.run_mode}
        asked = {name: value for name, value in asdict(request).items() if name not in _INDIFFERENT}
        self._hint_key = key_of(self._around | {"asked": asked}) if self._cache.is_on else ""
        self._hint = self._cache.find(self._hint_key)

    @property
    def is_likely(self) -> bool:
        """Whether this test was computed before; its model may have changed meanwhile."""
        return self._hint is not None and self._hint.facts != _RUN_FIRST

    def run_first(self) -> None:
        """From now on this test's model is run before it is captured."""
        self._cache.keep(self._hint_key, _RUN_FIRST, [])

    def _key(self, graph: Graph) -> str:
        return key_of(self._around, [_meaning(graph.program.text)], (of_tensor(tensor) for tensor in graph.inputs))

    def recall(self, loader: Any, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], padding: Padding | None) -> tuple[Golden, Capture] | None:
        """The golden result and its graph; None where the model is not what it was. The model is then to be loaded anew: an export may leave something in it."""
        assert self._hint
        seed, names = self._request.seed, [str(name) for name in self._hint.facts["result_names"]]
        with contextlib.suppress(Exception), limited(2 * captured.MAX_SECONDS, "torch.export"):
            if self._request.run_mode == "training":
                graph = model_golden.export_training(loader, model, args, kwargs, to_tensor(self._hint.values[0]), names[:-1], seed, padding,
                                                      [str(path) for path in self._hint.facts.get("output_paths", [])])
            else:
                graph = model_golden.export_inference(model, args, kwargs, len(names), seed, padding)
            if (known := self._cache.find(self._key(graph))) is not None and len(known.values) == len(names):
                graph.expected = [to_tensor(value) for value in known.values]
                flat = Flat(model, args, kwargs, lambda _: [])
                return Golden(flat, graph.expected, [str(name) for name in known.facts["result_names"]], dict(known.facts["facts"])), Capture([graph], "export")
        return None

    def keep(self, golden: Golden, capture: Capture) -> None:
        if not self._cache.is_on or capture.method != "export" or (self._hint is not None and not self.is_likely):
            return
        with contextlib.suppress(TypeError, ValueError):  # Of tensors that are more than their elements nothing is kept.
            facts = {"result_names": golden.result_names, "facts": golden.facts}
            self._cache.keep_all([
                (self._key(capture.graphs[0]), facts, [of_tensor(tensor) for tensor in golden.expected]),
                (self._hint_key, {"result_names": golden.result_names, "output_paths": golden.output_paths}, [of_tensor(golden.gradient)] if golden.gradient is not None else []),
            ])
