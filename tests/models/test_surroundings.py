"""Loaders that set timers, options, hooks and streams of the process, leave threads, or take modules away: the next test meets a process as it was, and the one that did it gets its own outcome."""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import torch
from test_faults import command, make_zoo, records

from cupel.worker import golden_cache, patches, surroundings
from cupel.worker.model_output import Descriptors


class _Adds(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        return function(*args, **(kwargs or {}))


def _hook() -> None:
    torch.nn.modules.module.register_module_forward_hook(lambda module, args, output: output * 0)


SETS = {
    "an alarm": (lambda: signal.alarm(100), lambda: signal.getitimer(signal.ITIMER_REAL)),
    "a handler": (lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN), lambda: signal.getsignal(signal.SIGUSR1)),
    "a mask": (lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2}), lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    "a limit": (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, resource.getrlimit(resource.RLIMIT_NOFILE)[1])), lambda: resource.getrlimit(resource.RLIMIT_NOFILE)),
    "recursion": (lambda: sys.setrecursionlimit(5000), sys.getrecursionlimit),
    "a trace": (lambda: sys.settrace(lambda *given: None), sys.gettrace),
    "no collection": (gc.disable, gc.isenabled),
    "finders": (sys.meta_path.clear, lambda: list(sys.meta_path)),
    "path hooks": (sys.path_hooks.clear, lambda: list(sys.path_hooks)),
    "warnings": (lambda: warnings.simplefilter("error"), lambda: list(warnings.filters)),
    "errors of numpy": (lambda: numpy.seterr(all="raise"), numpy.geterr),
    "a start method": (lambda: multiprocessing.set_start_method("spawn", force=True), lambda: multiprocessing.get_start_method(allow_none=True)),
    "a priority": (lambda: os.nice(3), lambda: os.getpriority(os.PRIO_PROCESS, 0)),
    "a temporary folder": (lambda: setattr(tempfile, "tempdir", "/nonexistent"), lambda: tempfile.tempdir),
    "a timeout of sockets": (lambda: socket.setdefaulttimeout(0.001), socket.getdefaulttimeout),
    "small stacks": (lambda: threading.stack_size(1 << 20), lambda: threading.stack_size()),
    "a callback of the collection": (lambda: gc.callbacks.append(print), lambda: list(gc.callbacks)),
    "a switch interval": (lambda: sys.setswitchinterval(50), sys.getswitchinterval),
    "an end of the process": (lambda: faulthandler.dump_traceback_later(3600, exit=True), lambda: len(os.listdir("/proc/self/task"))),
    "closed output": (lambda: sys.stdout.close(), lambda: sys.stdout.closed),
    "denormals": (lambda: torch.set_flush_denormal(True), lambda: float(torch.full((1,), 1e-39) * 1.5)),
    "precision": (lambda: torch.set_float32_matmul_precision("medium"), torch.get_float32_matmul_precision),
    "autocast": (lambda: torch.autocast("cpu").__enter__(), lambda: torch.is_autocast_enabled("cpu")),
    "a mode": (lambda: _Adds().__enter__(), lambda: len(torch.overrides._get_current_function_mode_stack())),
    "a hook": (_hook, lambda: float(torch.nn.Identity()(torch.ones(1)))),
    "oneDNN": (lambda: torch._C._set_mkldnn_enabled(False), torch._C._get_mkldnn_enabled),
    "attention": (lambda: torch.backends.cuda.enable_flash_sdp(False), torch.backends.cuda.flash_sdp_enabled),
    "the compiler": (lambda: setattr(torch._dynamo.config, "disable", True), lambda: torch._dynamo.config.disable),
}
NUMBERS = ("denormals", "precision", "autocast", "a mode", "a hook", "oneDNN", "attention")


@pytest.mark.parametrize("what", SETS)
def test_what_a_loader_sets_is_put_back(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Twice: a process serves many loaders."""
    change, read = SETS[what]
    monkeypatch.setattr(sys, "stdout", (tmp_path / "out").open("w"))
    for _ in range(2):
        before = read()
        with surroundings.restored():
            change()
            assert read() != before, "it does change something"
        assert read() == before


@pytest.mark.parametrize("what", NUMBERS)
def test_nothing_is_remembered_of_numbers_that_a_setting_decides(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUPEL_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(golden_cache.VARIABLE, "1G")
    monkeypatch.setattr(golden_cache, "is_trusted", golden_cache.is_trusted)
    monkeypatch.setattr(patches, "_watched", None)
    patches.watched()
    cache, value = golden_cache.GoldenCache(), golden_cache.of_tensor(torch.ones(2))
    with surroundings.restored():
        SETS[what][0]()
        cache.keep("ab" * 32, {}, [value])
    assert cache.find("ab" * 32) is None
    cache.keep("ab" * 32, {}, [value])
    with surroundings.restored():
        SETS[what][0]()
        assert cache.find("ab" * 32) is None
    assert cache.find("ab" * 32) is not None


def test_descriptors_are_kept_as_far_as_limits_let_us() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, before[1]))
    try:
        kept = Descriptors()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    kept.put_back()
    kept.close()


def test_modules_that_are_gone_or_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    known = patches.AsItWas()
    with monkeypatch.context() as replacing:
        replacing.setitem(sys.modules, "json", None)
        replacing.delitem(sys.modules, "torch.fft")
        replacing.setitem(sys.modules, "numpy.linalg", numpy)
        assert known.replaced() == ["sys.modules['json']", "sys.modules['numpy.linalg']", "sys.modules['torch.fft']"]
    assert known.replaced() == []


BEFORE = "import os, signal, sys, threading, time"
# One after another, by name, in one worker.
LOADERS = {
    "1_closes_its_output": "os.close(1); os.close(2); sys.stdout.close(); sys.stderr = None",
    "2_good": "print('in its place')",
    "3_sets_an_alarm": "signal.setitimer(signal.ITIMER_REAL, 0.5)" + "; signal.signal(signal.SIGALRM, lambda *given: None)",
    "4_good": "time.sleep(1)",
    "5_leaves_a_thread": "threading.Timer(8, lambda: os._exit(3)).start()",
    "6_good": "time.sleep(10)",
    "6a_lowers_limits": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))",
    "6b_good": "pass",
    "7_takes_modules_away": "sys.modules['json'] = sys.modules['torch.export'] = None; sys.meta_path.clear()",
    "8_good": "import json",
    "8a_opens_files": "sys.left = []; exec('try:\\n while True: sys.left.append(open(os.devnull))\\nexcept OSError: pass')",
    "8b_good": "open(os.devnull).close()",
    "8c_stays_in_a_mode": "self.mode = torch.inference_mode(); self.mode.__enter__()",
    "8d_good": "assert not torch.is_inference_mode_enabled()",
    "8e_raises_at_length": "raise ValueError('x' * (100 << 20))",
    "8f_escapes": "os.fork() == 0 and (os.setsid(), os.fork() and os._exit(0), os.execv('/bin/sleep', ['sleep', '1000']))",
    "8g_good": "pass",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("surroundings")
    zoo = make_zoo(folder / "tt_forge_models", {name: (BEFORE, build) for name, build in LOADERS.items()})
    done = subprocess.run(command(folder, zoo), capture_output=True, text=True, check=False, timeout=600, env=os.environ | {"CUPEL_CACHE_DIR": str(folder / "cache")},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))  # Soon used up, wherever this runs.
    tests = {test["model_path"].split("/")[0]: test for test in records(folder)}
    assert len(tests) == len(LOADERS), done.stdout + done.stderr
    return tests


@pytest.mark.parametrize("name", [name for name in LOADERS if "good" in name or "closes" in name or "alarm" in name or "thread" in name or "escapes" in name])
def test_what_comes_next_meets_a_process_as_it_was(ran: dict[str, dict], name: str) -> None:
    assert ran[name]["outcome"] == "passed", ran[name]


def test_what_cannot_be_put_back_is_told_of_who_did_it(ran: dict[str, dict]) -> None:
    assert ran["5_leaves_a_thread"]["notes"]["replaced"].startswith("thread ")
    assert "sys.modules['json']" in ran["7_takes_modules_away"]["notes"]["replaced"]
    assert "files: the worker began anew" in ran["8a_opens_files"]["notes"]["left open"] and ran["8a_opens_files"]["reasons"][0]["name"] == "TOO_MANY_OPEN_FILES"
    assert ran["8c_stays_in_a_mode"]["notes"]["replaced"].startswith("torch"), "it is in a mode, or does not compute any more"
    assert "left running" in ran["8f_escapes"]["notes"]["left_running"]
    assert not [name for name, test in ran.items() if "good" in name and "replaced" in test["notes"]]


def test_long_words_are_cut(ran: dict[str, dict]) -> None:
    test = ran["8e_raises_at_length"]
    assert (test["outcome"], test["last_stage"]) == ("failed", "load") and len(test["message"]) < 2000 and len(test["output"]) < 1 << 20, len(test["output"])


def test_what_is_printed_goes_where_it_went(ran: dict[str, dict]) -> None:
    assert "in its place" in ran["2_good"]["output"]
