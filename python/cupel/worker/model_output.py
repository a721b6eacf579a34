"""What a loader prints and warns while a step of a test runs, kept with the step; it goes on to where it would have gone as well, below the step's name."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

_MAX_TEXT = 4000
_MAX_WARNINGS = 20


class _Tee:
    def __init__(self, stream: TextIO, keep: Any):
        self._stream, self._keep = stream, keep

    def write(self, text: str) -> int:
        heading = self._keep(text)
        if self._stream is None or self._stream.closed:
            return len(text)
        if heading:
            self._stream.write(heading)
        return self._stream.write(text)

    def close(self) -> None:
        """The stream is the worker's, which has more to say."""

    def flush(self) -> None:
        if self._stream is not None and not self._stream.closed:
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class StepOutput:
    """The first characters of each step's output, and its warnings, each once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._left_out: dict[str, int] = {}
        self._warnings: list[dict[str, str]] = []
        self._last_step = ""

    def json(self) -> dict[str, Any]:
        printed = [{"step": step, "text": text} | ({"left_out": self._left_out[step]} if self._left_out.get(step) else {}) for step, text in self._texts.items() if text.strip()]
        return {name: value for name, value in (("printed", printed), ("warnings", self._warnings)) if value}

    def _keep(self, step: str, text: str) -> str:
        """A heading, where this is the first text of the step: what goes on to the record of a test is one text."""
        known = self._texts.setdefault(step, "")
        room = _MAX_TEXT - len(known)
        self._texts[step] = known + text[:max(room, 0)]
        if len(text) > room:
            self._left_out[step] = self._left_out.get(step, 0) + len(text) - max(room, 0)
        if not text.strip() or step == self._last_step:
            return ""
        self._last_step = step
        return f"[{step}]\n"

    def _warn(self, step: str, message: Any, category: type[Warning]) -> None:
        row = {"step": step, "class": category.__name__, "text": " ".join(str(message).split())[:500]}
        if len(self._warnings) < _MAX_WARNINGS and row not in self._warnings:
            self._warnings.append(row)

    @contextlib.contextmanager
    def of(self, step: str) -> Iterator[None]:
        """Keeps what is printed and warned inside."""
        before = sys.stdout, sys.stderr
        with warnings.catch_warnings():
            show = warnings.showwarning

            def keep(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
                self._warn(step, message, category)
                show(message, category, *rest, **named)

            warnings.showwarning = keep
            sys.stdout, sys.stderr = (_Tee(stream, lambda text: self._keep(step, text)) for stream in before)  # type: ignore[assignment]
            try:
                yield
            finally:
                sys.stdout, sys.stderr = before


class Descriptors:
    """Where standard input and outputs go. A loader that closes one of them (as daemons do) would have what is opened next in its place, and everybody's lines in a file of weights."""

    def __init__(self) -> None:
        self._kept: dict[int, int] = {}
        with contextlib.suppress(OSError):  # Where no more may be open.
            for number in range(3):
                if _identity(number):
                    self._kept[number] = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 64)

    def put_back(self) -> None:
        for number, kept in self._kept.items():
            if (identity := _identity(kept)) and _identity(number) != identity:
                os.dup2(kept, number)

    def close(self) -> None:
        for kept in self._kept.values():
            with contextlib.suppress(OSError):
                os.close(kept)


def _identity(number: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino
