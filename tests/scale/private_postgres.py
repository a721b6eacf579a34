"""A PostgreSQL server of a test's own: in a folder, run by an unprivileged user, reachable through a socket there and by nothing else.

However the test ends, a keeper beside it stops the server and removes the folder once nobody is left to want them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def tools() -> Path | None:
    """Debian does not put initdb and pg_ctl on the PATH."""
    found = [folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if folder.parent.name.isdigit() and int(folder.parent.name) >= 15]
    return max(found, key=lambda folder: int(folder.parent.name), default=None)


class Postgres:
    def __init__(self) -> None:
        self.bin = tools()
        self.folder = Path(tempfile.mkdtemp(prefix="cupel-pg-"))
        self.user = "nobody" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        # It waits for the end of its input, which the death of this process is too.
        script = (Path(__file__).resolve().parents[2] / "cupel/results/store/keep_postgres.sh").read_text()
        self.keeper = subprocess.Popen(["/bin/sh", "-c", script, "keeper", self.bin, self.folder], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True, user=self.user, cwd="/")
        self.tool("initdb", "-A", "trust", "-U", "cupel", "--no-locale", "-E", "UTF8", "--no-sync")
        self.start()

    def tool(self, name: str, *words: str) -> None:
        # Its output goes to a file: a server that stays holds on to what it was given.
        with open(self.folder / "tool.log", "ab") as log:
            subprocess.run([self.bin / name, "-D", self.folder / "data", *words], check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                           timeout=120, user=self.user, cwd="/")

    def start(self, options: str = "-c listen_addresses=''") -> None:
        self.tool("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", f"-k {self.folder} -c fsync=off {options}", "start")

    def kill(self) -> None:
        """As if it had lost its power."""
        self.tool("pg_ctl", "-m", "immediate", "stop")

    def address(self, database: str, role: str = "cupel") -> str:
        return f"postgresql:///{database}?host={self.folder}&user={role}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        done = subprocess.run([self.bin / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.address(database), "-c", statement],
                              check=True, capture_output=True, text=True, timeout=60)
        return done.stdout.strip()

    def database(self, name: str) -> str:
        self.sql(f"CREATE DATABASE {name}")
        return self.address(name)

    def close(self) -> None:
        self.keeper.stdin.close()
        self.keeper.wait(120)
