"""Loads a program into a peer, checks its results, and runs it as often as it is asked to."""

from __future__ import annotations

import gc
import json
import math
import os
import sys
import time
from typing import Any, TextIO

from cupel.bench.arrays import difference, read_arrays
from cupel.bench.peers import PEERS, CannotRead, Facts


def memory(key: str) -> int:
    """Bytes of resident memory: `VmRSS` now, `VmHWM` at the worst moment."""
    with open("/proc/self/status") as status:
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith(key + ":")), 0)


def timed(run: Any) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def answer(out: TextIO, line: dict[str, Any]) -> None:
    # JSON has no word for infinity; null says that there is no number.
    cleaned = {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in line.items()}
    out.write(json.dumps(cleaned) + "\n")
    out.flush()


def serve(name: str, facts: Facts, out: TextIO) -> None:
    load = PEERS[name]
    peer = load(facts)
    ready = {"version": peer.version, "compile_seconds": peer.compile_seconds, "base_bytes": peer.base_bytes, "note": peer.note}
    ready["first"] = [timed(peer.run) for _ in range(3)]
    if os.path.exists(facts.expected):
        ready["difference"] = difference(peer.results(), read_arrays(facts.expected))
    gc.collect()
    gc.disable()
    answer(out, ready)
    for line in sys.stdin:
        request = json.loads(line)
        if "end" in request:
            break
        peer.run()  # Others had the caches since.
        times = []
        until = time.perf_counter() + request["seconds"]
        while not times or time.perf_counter() < until:
            times.append(timed(peer.run))
        answer(out, {"times": times})
    answer(out, {"peak_bytes": memory("VmHWM")})


def main(name: str, facts_file: str) -> int:
    # Runtimes print where they like.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        with open(facts_file) as file:
            facts = Facts(**json.load(file))
        serve(name, facts, out)
    except ImportError as error:
        answer(out, {"failure": f"cannot be imported: {error} (--python names another interpreter)"})
        return 1
    except CannotRead as error:
        answer(out, {"failure": str(error)[:400]})
        return 1
    except Exception as error:  # What a peer cannot do is a finding, not an end.
        words = str(error).strip().splitlines() or [""]
        answer(out, {"failure": f"{type(error).__name__}: {words[0]}"[:400]})
        return 1
    return 0
