"""What goes wrong in a lab, by kinds, and what puts it right again: daemons, nodes, tasks, workers, the database, its connections and the one who
follows are killed, and the shared disk is filled. check_slurm.py's rounds are made of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

from lab import Lab

KINDS = ("slurmd", "node", "slurmctld", "database", "follower", "task", "worker", "disk", "connection")


class Disturbances:
    """Things that go wrong at their moments, and are put right a while later."""

    def __init__(self, lab: Lab, kinds: list[str], chance: random.Random, spread: float) -> None:
        """`spread`: seconds within which all of them strike."""
        self.lab, self.chance, self.done, self.administered = lab, chance, [], 0.0
        self.events = sorted(((chance.uniform(0.5, spread), kind) for kind in kinds), key=lambda event: event[0])
        self.repairs: list[tuple[float, object]] = []

    def victims(self, word: bytes) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if word in (entry / "cmdline").read_bytes() and str(self.lab.slurm.folder).encode() in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def kill_one(self, processes: list[int]) -> bool:
        if processes:
            try:
                os.kill(self.chance.choice(processes), signal.SIGKILL)
            except ProcessLookupError:
                return False
        return bool(processes)

    def strike(self, kind: str, follower: subprocess.Popen, now: float) -> None:
        slurm, postgres, node = self.lab.slurm, self.lab.postgres, self.chance.choice(self.lab.slurm.NODES)
        later = lambda seconds, repair: self.repairs.append((now + seconds, repair))  # noqa: E731
        if kind in ("slurmd", "node"):
            slurm.kill(node, with_tasks=kind == "node")
            later(self.chance.uniform(1, 4), lambda: slurm.pid(node) or slurm.start(node))
        elif kind == "slurmctld":
            slurm.kill("slurmctld")
            later(self.chance.uniform(1, 3), lambda: slurm.pid("slurmctld") or slurm.start("slurmctld"))
        elif kind == "database" and postgres:
            postgres.kill()
            later(self.chance.uniform(1, 4), postgres.start)
        elif kind == "connection" and postgres:
            try:
                postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL")
            except subprocess.CalledProcessError:
                pass  # It is down.
        elif kind == "follower":
            follower.kill()
        elif kind == "task":
            self.kill_one(self.victims(b"--task"))
        elif kind == "worker":
            self.kill_one(self.victims(b"fake-worker"))
        elif kind == "disk" and self.lab.disk.is_own:
            self.lab.disk.fill()
            later(self.chance.uniform(1, 3), self.lab.disk.free)
        self.done.append(kind)

    def administer(self, now: float) -> None:
        """What whoever runs the cluster does. A controller that is killed forgets its youngest jobs; when their numbers come round again, in this round or a
        later one, nodes that remember them refuse, and Slurm drains these nodes until somebody puts them back."""
        if now < self.administered + 3:
            return
        self.administered = now
        for line in self.lab.slurm.tool("sinfo", "-h", "-N", "-o", "%N|%T|%E", check=False).splitlines():
            node, _, state_and_reason = line.partition("|")
            state, _, reason = state_and_reason.partition("|")
            if state.startswith("drain") and reason == "Duplicate jobid":
                self.lab.slurm.tool("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
                self.done.append(f"resumed {node}")

    def step(self, now: float, follower: subprocess.Popen) -> None:
        self.administer(now)
        while self.events and self.events[0][0] <= now:
            self.strike(self.events.pop(0)[1], follower, now)
        for repair in [each for each in self.repairs if each[0] <= now]:
            self.repairs.remove(repair)
            repair[1]()

    def repair_all(self) -> None:
        for _, repair in self.repairs:
            repair()
        self.repairs.clear()

    @property
    def is_over(self) -> bool:
        return not self.events and not self.repairs
