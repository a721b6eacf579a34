"""The steps of a test in the Python worker: announced, timed, and whatever goes wrong in one told with the step it happened in."""

from __future__ import annotations

import contextlib
import errno
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cupel.worker import interrupts, process_memory
from cupel.worker.loaders import LoaderError, place_in_zoo
from cupel.worker.model_output import Descriptors, StepOutput
from cupel.zoo_import import text_of

# Stages of the worker protocol that a step belongs to.
STAGES = {"import": "load", "model": "load", "inputs": "load", "golden": "reference", "capture": "frontend", "lower": "frontend", "save": "frontend"}


class StepFailed(Exception):
    """A step ended the test; `kind` becomes the error class."""

    def __init__(self, kind: str, message: str, outcome: str = "failed"):
        super().__init__(message)
        self.kind, self.outcome = kind, outcome


def _is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or "can't allocate memory" in text_of(error)


def _is_out_of_room(error: BaseException) -> bool:
    return (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)) or "No space left on device" in text_of(error)


def _is_out_of_files(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


class Steps:
    """The steps of one test: announced, timed, and every failure told with the step it happened in."""

    def __init__(self, root: Path, enter_stage: Callable[[str], None]):
        self.output = StepOutput()
        self.seconds: dict[str, float] = {}
        self.processor_seconds: dict[str, float] = {}
        self.peak_bytes: dict[str, int] = {}
        """The most that this process held in each step."""
        self.current = ""
        self._root, self._enter_stage, self._stage = root, enter_stage, ""
        self._descriptors = Descriptors()
        interrupts.listen()

    def end(self) -> None:
        self._descriptors.close()

    @contextlib.contextmanager
    def step(self, name: str, kind: str, what: str) -> Iterator[None]:
        """`kind` is the error class of whatever is raised inside, `what` how its message begins."""
        self.current = name
        if STAGES[name] != self._stage:
            self._stage = STAGES[name]
            self._enter_stage(self._stage)
        begun, begun_work = time.monotonic(), time.process_time()
        try:
            with self.output.of(name):
                yield
        except StepFailed:
            raise
        except LoaderError as error:
            raise StepFailed(error.kind, str(error)) from error
        except BaseException as error:  # Also SystemExit: a loader may do anything.
            if interrupts.came(error):
                raise
            if _is_out_of_memory(error):
                raise StepFailed("out_of_memory", f"{what}: no memory was left: {one_line(error)}", "out of memory") from error
            if _is_out_of_room(error):
                raise StepFailed("no_room", f"{what}: {one_line(error)}; temporary files go to {tempfile.gettempdir()} (TMPDIR names another folder)") from error
            if isinstance(error, OSError) and error.errno == errno.EFBIG:
                most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
                raise StepFailed("no_room", f"{what}: {one_line(error)}: a file of this process may have at most {most} bytes (RLIMIT_FSIZE), by the loader's doing or by that of who started the run") from error
            if _is_out_of_files(error):
                raise StepFailed("no_files", f"{what}: {one_line(error)}: the loader, or the model, leaves its files open") from error
            place = place_in_zoo(error, self._root)
            raise StepFailed(kind, f"{what}: {type(error).__name__}: {one_line(error)}" + (f" [{place}]" if place else "")) from error
        finally:
            self._descriptors.put_back()
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - begun, 3)
            self.processor_seconds[name] = round(self.processor_seconds.get(name, 0.0) + time.process_time() - begun_work, 3)
            self.peak_bytes[name] = max(self.peak_bytes.get(name, 0), process_memory.peak())
            if name == "model":  # What weights were made of, in float32 and in files, lies there free.
                process_memory.give_back_free()
            process_memory.forget_peak()


def one_line(error: BaseException) -> str:
    return " ".join(text_of(error).split())[:1000]
