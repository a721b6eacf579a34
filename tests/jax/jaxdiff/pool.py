"""Bundles of cases over processes that may die: XLA ends its process on some programs instead of refusing them."""

from __future__ import annotations

import collections
import multiprocessing
import multiprocessing.connection
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import jax

from .execute import Outcome, run_cases
from .families import case_of

BUNDLE = 50  # Cases in one program: starting compilers costs more than the cases.
LIMIT_S = 300  # For a bundle.
BUNDLES_A_PROCESS = 40  # JAX grows.


def run_bundle(cupel: Path, seed: int, numbers: list[int], only: list[str]) -> Outcome:
    outcome = Outcome()
    cases = [case_of(seed, n, only) for n in numbers]
    for platform in sorted({c.platform for c in cases}):
        run_cases(cupel, seed, [c for c in cases if c.platform == platform], outcome)
    jax.clear_caches()
    return outcome


def serve(connection, cupel: Path, seed: int, only: list[str]) -> None:
    for _ in range(BUNDLES_A_PROCESS):
        numbers = connection.recv()
        if numbers is None:
            break
        try:
            connection.send(run_bundle(cupel, seed, numbers, only))
        except Exception:  # noqa: BLE001 - a bug of ours, told where it can be seen
            connection.send(traceback.format_exc())
    connection.close()


class Worker:
    def __init__(self, arguments):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, *arguments), daemon=True)
        self.process.start()
        other.close()
        self.numbers: list[int] | None = None
        self.left = BUNDLES_A_PROCESS
        self.started = 0.0

    def give(self, numbers: list[int]) -> None:
        self.numbers, self.started, self.left = numbers, time.monotonic(), self.left - 1
        self.connection.send(numbers)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def outcomes(cupel: Path, seed: int, numbers: list[int], only: list[str], jobs: int) -> Iterator[Outcome]:
    """Of all cases. A bundle whose process dies is run again case by case, so that only the guilty one is not judged."""
    arguments = (cupel, seed, only)
    todo = collections.deque(numbers[i : i + BUNDLE] for i in range(0, len(numbers), BUNDLE))
    workers: list[Worker] = []
    try:
        while todo or any(w.numbers for w in workers):
            while todo and len(workers) < jobs:
                workers.append(Worker(arguments))
            for worker in workers:
                if todo and worker.numbers is None:
                    worker.give(todo.popleft())
            busy = {w.connection: w for w in workers if w.numbers}
            for connection in multiprocessing.connection.wait(list(busy), timeout=1):
                worker = busy[connection]
                try:
                    outcome = connection.recv()
                    if isinstance(outcome, str):
                        raise RuntimeError(f"cases {worker.numbers[0]} to {worker.numbers[-1]}:\n{outcome}")
                    yield outcome
                except EOFError:
                    workers.remove(worker)
                    worker.end()
                    yield from lost(worker.numbers, todo, f"the process of JAX ended with {worker.process.exitcode}")
                    continue
                worker.numbers = None
                if worker.left == 0:
                    workers.remove(worker)
                    worker.end()
            for worker in [w for w in workers if w.numbers and time.monotonic() - w.started > LIMIT_S]:
                workers.remove(worker)
                worker.end()
                yield from lost(worker.numbers, todo, f"it took longer than {LIMIT_S} s")
    finally:
        for worker in workers:
            worker.end()


def lost(numbers: list[int], todo, why: str) -> Iterator[Outcome]:
    if len(numbers) > 1:
        todo.extendleft([n] for n in reversed(numbers))
    else:
        yield Outcome(skipped=[(numbers[0], "?", why)])
