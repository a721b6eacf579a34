"""Lowers the instruction set of torch's narrow products (oneDNN's) until they live on this processor.

A virtual machine may show AMX and hide the sizes of its tiles; torch then dies of SIGILL in its first bfloat16 product, and takes whoever wanted an
expected value with it. Whatever computes expected values with torch calls `settle` before torch computes anything, at best before it is imported. The
products are tried in a process of their own (products.py), once for a boot of the machine and a torch: the finding is kept in the cache folder.
Never imports torch into its own process, and never raises the level that the environment gives.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import logging
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterator, MutableMapping

from cupel.worker import products

VARIABLE = "ONEDNN_MAX_CPU_ISA"
# Why the variable has its value, for processes that inherit it.
REASON = "CUPEL_ONEDNN_LOWERED"
# oneDNN's names, from the highest; each leaves out what those before it need.
LEVELS = ("AVX512_CORE_AMX_FP16", "AVX512_CORE_AMX", "AVX512_CORE_FP16", "AVX512_CORE_BF16", "AVX512_CORE_VNNI", "AVX512_CORE", "AVX2_VNNI_2", "AVX2_VNNI",
          "AVX2", "AVX", "SSE41")
# For tests: the level above which the products die, whatever this processor is; any other text: they die at every level.
PLANTED = "CUPEL_TEST_PRODUCTS_DIE_ABOVE"
# Deaths that a product can die; being killed from outside says nothing of it.
_DEATHS = (signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP)
_LIMIT_S = 120
_KEPT_S = 90 * 24 * 3600


@dataclasses.dataclass(frozen=True)
class Finding:
    """`level`: what oneDNN must be held to; empty where nothing need be lowered. `reason`: what became of the products above it; empty if nothing."""

    level: str = ""
    reason: str = ""


def _given(environment: MutableMapping[str, str]) -> str:
    # oneDNN's older name counts where the newer one is not set.
    return environment.get(VARIABLE) or environment.get("DNNL_MAX_CPU_ISA") or ""


def _cache_folder() -> Path:
    if named := os.environ.get("CUPEL_CACHE"):
        return Path(named) / "torch-products"
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "cupel/torch-products"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _key(torch_file: str, given: str) -> str:
    """Everything the finding depends on. A processor is known for one boot only: what its virtual machine hides is seen nowhere else."""
    processor = sorted(set(re.findall(r"^(?:model name|flags|Features)\s*:.*$", _read("/proc/cpuinfo"), re.MULTILINE)))
    boot = _read("/proc/sys/kernel/random/boot_id") or platform.node()
    version = os.stat(os.path.join(os.path.dirname(torch_file), "version.py"))
    parts = [boot, processor, sys.executable, torch_file, version.st_mtime_ns, version.st_size, given, os.environ.get("ATEN_CPU_CAPABILITY", ""),
             os.environ.get(PLANTED, ""), Path(products.__file__).read_text()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Of several processes that begin at once one tries the products, and the others wait for what it finds."""
    with open(folder / "lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _try(level: str) -> str | None:
    """What goes wrong at this level (empty: any that the processor has); an empty text if nothing does, None if that cannot be told."""
    environment = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "DNNL_MAX_CPU_ISA")}
    if level:
        environment[VARIABLE] = level
    planted = os.environ.get(PLANTED)
    dies = [products.DIES] if planted and (planted not in LEVELS or level not in LEVELS or LEVELS.index(level) < LEVELS.index(planted)) else []
    try:
        done = subprocess.run([sys.executable, products.__file__, *dies], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    last = done.stdout.strip().rpartition("\n")[2] or "import"
    if done.returncode == 0:
        return ""
    if done.returncode == products.WRONG_VALUE:
        return f"{last} is wrong"
    if -done.returncode in _DEATHS:
        return f"{last} dies of {signal.Signals(-done.returncode).name}"
    return None


def _find(given: str) -> Finding | None:
    """None where it cannot be told."""
    first = _try(given)
    if first is None or first == "":
        return None if first is None else Finding()
    reason = f"torch's {first} with {given or 'all that this processor shows'}"
    for level in LEVELS[LEVELS.index(given) + 1:] if given in LEVELS else LEVELS:
        wrong = _try(level)
        if wrong is None:
            return None
        if wrong == "":
            return Finding(level, reason)
    return Finding("", f"{reason}, and at every level below")


def _kept(path: Path) -> Finding | None:
    try:
        return Finding(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _keep(found: Finding, path: Path) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        json.dump(dataclasses.asdict(found), file)
    os.replace(file.name, path)
    for other in path.parent.iterdir():  # Of boots long past.
        if other.name != "lock" and time.time() - other.stat().st_mtime > _KEPT_S:
            other.unlink(missing_ok=True)


def finding() -> Finding:
    """What this processor and this torch can do together: from the cache, or tried now. Nothing is lowered where it cannot be told."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin or platform.machine() not in ("x86_64", "AMD64"):
        return Finding()
    given = _given(os.environ)
    try:
        folder = _cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_key(spec.origin, given)}.json"
        if kept := _kept(path):
            return kept
        with _locked(folder):
            found = _kept(path) or _find(given)
            if found is not None:
                _keep(found, path)
            return found or Finding()
    except OSError:  # No folder to keep it in: it costs a process each time.
        return _find(given) or Finding()


def settle(environment: MutableMapping[str, str] | None = None) -> str:
    """Lowers the level in the environment (this process's own) as far as it must be; what is to be said of it, empty where nothing is lowered."""
    environment = os.environ if environment is None else environment
    found = finding()
    if found.level:
        environment[VARIABLE] = found.level
        environment[REASON] = f"{found.level}: {found.reason}"
    if found.reason:
        return f"{VARIABLE}={found.level}: {found.reason}" if found.level else found.reason
    if given := _given(environment):
        reason = environment.get(REASON, "")
        return f"{VARIABLE}={reason}" if reason.startswith(f"{given}: ") else f"{VARIABLE}={given}, as the environment says"
    return ""


@functools.cache
def settle_once() -> None:
    """For a user's process, which may have been told of it already and must hear it once."""
    if lowered := settle():
        logging.getLogger("cupel").warning("torch computes expected values with %s", lowered)


def report() -> int:
    """One line for `cupel doctor`."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        print("torch is not installed")
        return 1
    print(f"torch {version}, {settle() or 'its narrow products are right with all that this processor shows'}")
    return 0
