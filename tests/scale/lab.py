"""A lab as check_slurm.py tests it: a cluster, a database and a disk that can be full, and projects whose tests a fake worker runs on them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import private_postgres
import private_slurm

SLOW_SECONDS = 1.0  # Of a slow test.


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(message)


class SharedDisk:
    """A folder that can be full: a file system of its own where we may mount one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.filler = folder, folder / "filler"
        folder.mkdir()
        self.is_own = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m,mode=755", "cupel-shared", folder], capture_output=True).returncode == 0

    def fill(self) -> None:
        with open(self.filler, "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    continue

    def free(self) -> None:
        self.filler.unlink(missing_ok=True)

    def close(self) -> None:
        if self.is_own:
            subprocess.run(["umount", "-l", self.folder], check=True, capture_output=True)


class Lab:
    """The cluster, the database and the disk that a lab has."""

    def __init__(self, bin: Path) -> None:
        self.cupel = bin / "cupel"
        self.slurm = private_slurm.Slurm()
        self.disk = SharedDisk(self.slurm.folder / "shared")
        self.postgres = private_postgres.Postgres() if private_postgres.tools() else None
        self.worker = self.slurm.folder / "fake-worker"
        shutil.copy(bin / "tests/fake-worker", self.worker)

    def settle(self) -> None:
        """Everything runs again, and no job is left."""
        self.disk.free()
        for daemon in ("slurmctld", *self.slurm.NODES):
            if not self.slurm.pid(daemon):
                self.slurm.start(daemon)
        self.slurm.wait(lambda: "PING" not in self.slurm.tool("scontrol", "ping", check=False) and "UP" in self.slurm.tool("scontrol", "ping", check=False), 30, "no controller")
        for job in self.slurm.tool("squeue", "-h", "-o", "%A", check=False).split():
            self.slurm.tool("scancel", job, check=False)
        for node in self.slurm.NODES:
            self.slurm.tool("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
        self.slurm.wait(lambda: self.slurm.tool("sinfo", "-h", "-o", "%D %t", check=False).split() == ["3", "idle"], 90, "the nodes do not come back")

    def close(self) -> None:
        self.slurm.kill("slurmctld")
        for node in self.slurm.NODES:
            self.slurm.kill(node, with_tasks=True)
        self.disk.close()
        self.slurm.close()
        if self.postgres:
            self.postgres.close()


class Project:
    """Programs that a fake worker runs, on the shared disk, with a store of their own."""

    number = 0

    def __init__(self, lab: Lab, quick: int, slow: int, profile: str = "") -> None:
        Project.number += 1
        self.lab, self.folder = lab, lab.disk.folder / f"p{Project.number}"
        (self.folder / "programs").mkdir(parents=True)
        for i in range(quick):
            action = "compare fail" if i % 50 == 7 else "execute abort" if i % 100 == 9 else "compare pass"
            (self.folder / f"programs/q{i:04}.mlir").write_text(f"// fake: {action}\n")
        for i in range(slow):
            (self.folder / f"programs/s{i:02}.mlir").write_text(f"// fake: execute sleep {SLOW_SECONDS}\n")
        (self.folder / "cupel.yaml").write_text("slurm:\n  default:\n    partition: lab\n    gres: accel\n    chunk_seconds: 1\n    stale_seconds: 3\n    slots: 6\n" + profile)
        self.place = "results"
        self.environment = dict(lab.slurm.environment, CUPEL_WORKER=str(lab.worker), CUPEL_CHIP_LOCKS=str(lab.slurm.folder / "chips"),
                                CUPEL_CACHE_DIR=str(lab.slurm.folder / "cache"), CUPEL_RESULTS_FOLDER=str(self.folder / "results"))

    def use_database(self, name: str) -> None:
        if self.lab.postgres:
            self.place = self.lab.postgres.database(name)

    def words(self, *words: object) -> list[str]:
        return [str(self.lab.cupel), *map(str, words), "--results", self.place]

    def start(self, *words: object, **environment: str) -> subprocess.Popen:
        return subprocess.Popen(self.words(*words), cwd=self.folder, env=self.environment | environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)

    def cupel(self, *words: object, code: int = 0, **environment: str) -> str:
        process = self.start(*words, **environment)
        try:
            output, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            raise AssertionError(f"{words}: no end after 120 s: {output}") from None
        expect(process.returncode == code, f"{[str(word) for word in words]}: exit code {process.returncode}, wanted {code}: {output[-3000:]}")
        return output

    def run_words(self, *words: object) -> tuple[object, ...]:
        return ("run", "programs", "-q", "--keep-failed", "none", "--retries", 1, *words)

    def report(self, run: str) -> dict:
        said = self.cupel("show", run, "--json")
        return json.loads(said[said.index("{"):])  # A note on what came from journals may stand before it.

    def outcomes(self, run: str = "latest") -> dict[str, str]:
        tests = self.report(run)["tests"]
        found = {test["id"]: test["outcome"] for test in tests}
        expect(len(found) == len(tests), "a test has two outcomes")
        return found

    def runs(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "results/slurm").iterdir()) if (self.folder / "results/slurm").is_dir() else []

    def ended(self) -> int:
        """Outcomes that tasks wrote so far."""
        return sum(path.read_bytes().count(b'{"record":') for path in (self.folder / "results/slurm").glob("*/journals/*.jsonl"))

    def wait_for(self, outcomes: int, process: subprocess.Popen | None = None) -> None:
        end = time.monotonic() + 60
        while self.ended() < outcomes:
            expect(time.monotonic() < end and (process is None or process.poll() is None), f"{self.ended()} outcomes, waiting for {outcomes}: {process.stdout.read() if process and process.poll() is not None else ''}")
            time.sleep(0.1)
