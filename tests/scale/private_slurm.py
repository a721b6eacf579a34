"""A Slurm cluster of a test's own: a controller and three nodes on this machine, in a folder, with a munge of their own.

Runs as root or as any user (whose jobs it then runs), on ports that were free. However the test ends, a keeper beside it (this file, run with --keep
FOLDER) ends every process that the cluster ever started, the tasks of jobs too, and removes its folder.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
CONFIGURATION = """ClusterName=cupel
SlurmctldHost=localhost
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/spool/ctl
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/spool/slurmctld.pid
SlurmdPidFile={folder}/spool/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=5,sched_min_interval=100000,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout=10
KillWait=2
JobRequeue=1
MinJobAge=3600
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MaxArraySize=1001
GresTypes=accel
MailProg=/bin/true
NodeName=n[1-3] NodeHostname=localhost NodeAddr=127.0.0.1 Port={nodes} CPUs=2 RealMemory=1000 Gres=accel:2 State=UNKNOWN
PartitionName=lab Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why there can be none; empty: there can."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    return f"{', '.join(absent)} not installed (Debian: apt-get install slurm-wlm slurm-wlm-basic-plugins munge)" if absent else ""


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens on."""
    for first in range(20000 + os.getpid() % 8000, 32000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as each:
                    each.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


def children_of(process: int) -> list[int]:
    """It and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                parents.setdefault(int(stat[stat.rindex(")") + 2:].split()[1]), []).append(int(entry.name))
            except (OSError, ValueError, IndexError):
                continue
    found = [process]
    for each in found:
        found += parents.get(each, [])
    return found


def end_all(folder: Path) -> None:
    """Ends whatever has the folder in its words or the cluster in its environment, and removes the folder."""
    ours = f"SLURM_CONF={folder}/slurm.conf".encode()
    for _ in range(5):  # What is being started meanwhile is found the next time.
        found = 0
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes() if entry.name.isdigit() and int(entry.name) not in (os.getpid(), os.getppid()) else b""
                is_daemon = str(folder).encode() in words and any(name in words for name in (b"slurmctld", b"slurmd", b"slurmstepd", b"munged"))
                if words and (is_daemon or ours in (entry / "environ").read_bytes()):
                    os.kill(int(entry.name), signal.SIGKILL)
                    found += 1
            except (OSError, ValueError):
                continue
        if not found:
            break
        time.sleep(0.1)
    while os.path.ismount(folder / "shared") and subprocess.run(["umount", "-l", folder / "shared"], capture_output=True).returncode == 0:
        pass
    shutil.rmtree(folder, ignore_errors=True)


class Slurm:
    NODES = ("n1", "n2", "n3")

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cupel-slurm-"))
        self.folder.chmod(0o755)
        # It waits for the end of its input, which the death of this process is too.
        self.keeper = subprocess.Popen([sys.executable, __file__, "--keep", self.folder], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True, cwd="/")
        for name in ("munge", "spool/ctl", *(f"spool/{node}" for node in self.NODES), "log"):
            (self.folder / name).mkdir(parents=True)
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        first = free_ports(4)
        self.conf = self.folder / "slurm.conf"
        self.conf.write_text(CONFIGURATION.format(folder=self.folder, user=getpass.getuser(), controller=first, nodes=f"{first + 1}-{first + 3}"))
        (self.folder / "gres.conf").write_text("Name=accel Count=2\n")
        self.environment = dict(os.environ, SLURM_CONF=str(self.conf), PATH=PATH)
        try:
            munge = self.folder / "munge"
            self.tool("munged", f"--key-file={key}", f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
            self.start("slurmctld")
            for node in self.NODES:
                self.start(node)
            self.wait(lambda: self.tool("sinfo", "-h", "-o", "%D %t").split() == ["3", "idle"], 60, "the nodes are not idle")
        except BaseException:
            self.close()
            raise

    def tool(self, name: str, *words: object, check: bool = True) -> str:
        # A file, not a pipe: daemons that stay hold on to what they were given.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run([shutil.which(name, path=PATH), *map(str, words)], env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, timeout=90, cwd=self.folder)
            output.seek(0)
            text = output.read().decode(errors="replace")
        if check and done.returncode:
            raise RuntimeError(f"{name} {words}: {text}")
        return text

    def wait(self, condition, seconds: float, complaint: str) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(complaint + "".join(f"\n{path.name}: {path.read_text(errors='replace')[-600:]}" for path in (self.folder / "log").iterdir()))
            time.sleep(0.2)

    def pid(self, daemon: str) -> int | None:
        path = self.folder / ("spool/slurmctld.pid" if daemon == "slurmctld" else "munge/pid" if daemon == "munged" else f"spool/slurmd.{daemon}.pid")
        try:
            process = int(path.read_text())
            return process if daemon.encode() in Path(f"/proc/{process}/cmdline").read_bytes() or str(self.folder).encode() in Path(f"/proc/{process}/cmdline").read_bytes() else None
        except (OSError, ValueError):
            return None

    def start(self, daemon: str) -> None:
        if daemon == "slurmctld":
            self.tool("slurmctld", "-f", self.conf)
        else:
            self.tool("slurmd", "-f", self.conf, "-N", daemon)

    def tasks_of(self, node: str) -> list[int]:
        """Processes of jobs on the node: their slurmstepd, which outlive their slurmd, and all below them."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environment = (entry / "environ").read_bytes()
                except OSError:
                    continue
                if f"SLURM_CONF={self.conf}".encode() in environment and f"SLURMD_NODENAME={node}".encode() in environment:
                    found.append(int(entry.name))
        return found

    def kill(self, daemon: str, with_tasks: bool = False) -> None:
        """At once, as if it had lost its power; a node without its tasks unless they go with it."""
        process = self.pid(daemon)
        doomed = [process] if process else []
        if with_tasks and process:
            doomed = children_of(process) + self.tasks_of(daemon)
        for each in doomed:
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def running_tasks(self) -> int:
        return len(self.tool("squeue", "-h", "-t", "running", check=False).splitlines())

    def close(self) -> None:
        self.keeper.stdin.close()
        self.keeper.wait(120)


if __name__ == "__main__" and sys.argv[1:2] == ["--keep"]:
    sys.stdin.read()
    end_all(Path(sys.argv[2]))
