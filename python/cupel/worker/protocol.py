"""Frames of the worker protocol: 4 bytes of length, little endian, and a payload of one line of words and a JSON object."""

from __future__ import annotations

import os
import struct
from json import dumps, loads
from os import write  # Their own names here: a loader that replaces them elsewhere still gets its outcome told.
from typing import Any

VERSION = 1
MAX_FRAME_BYTES = 64 << 20


class RunFirst(Exception):
    """A capture left tensors without values in this process: the test is to begin again in another one, and its model is to be run before it is captured."""


class Connection:
    """Two descriptors, one to read requests from and one to write replies to."""

    def __init__(self, requests: int, replies: int):
        self._requests = os.fdopen(requests, "rb", buffering=1 << 16)
        self._replies = replies

    def receive(self) -> tuple[list[str], dict[str, Any]] | None:
        """The words and the body of the next request; None where the other side has gone."""
        header = self._requests.read(4)
        if len(header) < 4:
            return None
        (size,) = struct.unpack("<I", header)
        if size > MAX_FRAME_BYTES:
            raise ValueError(f"a frame of {size} bytes, which cannot be one of ours")
        payload = self._requests.read(size)
        if len(payload) < size:
            return None
        line, _, body = payload.partition(b"\n")
        return line.decode("utf-8", "replace").split(" "), loads(body) if body else {}

    def send(self, line: str, body: dict[str, Any] | None = None) -> None:
        # Halves of characters, as names of files have them that are not UTF-8, would be escaped, and are no JSON for others.
        payload = (line + "\n" + (dumps(body, ensure_ascii=False) if body is not None else "")).encode("utf-8", "replace")
        rest = memoryview(struct.pack("<I", len(payload)) + payload)
        while rest:
            rest = rest[write(self._replies, rest):]
