"""A results store in PostgreSQL, from outside: runs, verbs, a server that dies, passwords, moving between stores.

usage: check_store.py BUILD/bin. Ends with `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import private_postgres  # noqa: E402

BIN = Path(sys.argv[1]).resolve()
CUPEL = BIN / "cupel"
PROGRAM = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
BROKEN = "func.func @main() { nonsense }\n"
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(message)


class Project:
    """A folder with four programs, one of which fails."""

    def __init__(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "programs").mkdir()
        for name in ("one", "two", "three"):
            (self.folder / f"programs/{name}.mlir").write_text(PROGRAM)
        (self.folder / "programs/wrong.mlir").write_text(BROKEN)

    def start(self, *words: object, **environment: str) -> subprocess.Popen:
        return subprocess.Popen([CUPEL, *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                stdin=subprocess.DEVNULL, env=os.environ | environment)

    def cupel(self, *words: object, code: int = 0, **environment: str) -> str:
        process = self.start(*words, **environment)
        output, _ = process.communicate(timeout=120)
        expect(process.returncode == code, f"{[str(word) for word in words]}: exit code {process.returncode}, wanted {code}: {output}")
        return output

    def run(self, place: str, code: int = 1, **environment: str) -> str:
        return self.cupel("run", "programs", "-q", "--keep-failed", "none", "--results", place, code=code, **environment)

    def outcomes(self, place: str, run: str = "latest") -> dict[str, str]:
        tests = json.loads(self.cupel("show", run, "--json", "--results", place))["tests"]
        return {test["id"]: test["outcome"] for test in tests}


def exported(project: Project, place: str) -> str:
    return project.cupel("results", "export", "latest", "--results", place)


@check
def a_run_is_remembered_by_the_server(server):
    project, place = Project(), server.database("remembered")
    project.run(place)
    project.run(place)
    expect(project.outcomes(place) == {"one.mlir": "unjudged", "two.mlir": "unjudged", "three.mlir": "unjudged", "wrong.mlir": "failed"}, project.outcomes(place))
    expect(server.sql("SELECT count(*) FROM runs", "remembered") == "2", "runs")
    expect(len(json.loads(project.cupel("history", "programs::one.mlir", "--json", "--results", place))) > 0, "history")
    project.cupel("diff", "latest~1", "latest", "--results", place)
    expect(not (project.folder / ".cupel/results/results.sqlite").exists(), "a file was made as well")
    # The project file and the environment name it too.
    (project.folder / "cupel.yaml").write_text(f"results: '{place}'\n")
    expect("wrong.mlir" in project.cupel("show", "latest", "--failed"), "cupel.yaml")
    (project.folder / "cupel.yaml").unlink()
    expect("wrong.mlir" in project.cupel("show", "latest", "--failed", CUPEL_RESULTS=place), "environment")
    expect("nothing wrong" in project.cupel("results", "check", "--results", place), "check")


@check
def a_server_that_is_away_costs_nothing(server):
    project, place = Project(), server.database("away")
    project.run(place)
    server.kill()
    try:
        output = project.run(place)
        expect("outcomes go to the journal only" in output and "cupel results ingest" in output, output)
        expect("cannot be reached" in project.cupel("show", "--results", place, code=2), "show")
        running = project.start("run", "programs", "-q", "--keep-failed", "none", "--results", place)
    finally:
        server.start()
    output, _ = running.communicate(timeout=120)
    expect(running.returncode == 1, output)
    output = project.cupel("results", "ingest", "--results", place)
    expect("4 added" in output or "is in the store" in output, output)
    expect(server.sql("SELECT count(*) FROM runs", "away") == "3", "runs")
    expect(server.sql("SELECT count(*) FROM outcomes", "away") == "12", "outcomes")
    expect("every journal" in project.cupel("results", "ingest", "--results", place), "nothing is left")


@check
def ten_runs_at_once(server):
    for attempt in range(4):  # Each into an empty database, whose tables all of them want to make.
        name = f"ten{attempt}"
        project, place = Project(), server.database(name)
        running = [project.start("run", "programs", "-q", "-j1", "--keep-failed", "none", "--results", place) for _ in range(10)]
        for process in running:
            output, _ = process.communicate(timeout=170)
            expect(process.returncode == 1 and "cannot be used" not in output, output)
        expect(server.sql("SELECT count(*) FROM runs WHERE ended_at > 0", name) == "10", "runs")
        expect(server.sql("SELECT count(*), min(tests) FROM (SELECT run_id, count(*) AS tests FROM outcomes GROUP BY run_id) AS each", name) == "10|4", "outcomes")
        expect("nothing wrong" in project.cupel("results", "check", "--results", place), "check")


@check
def runs_move_between_stores(server):
    project, place = Project(), server.database("moved")
    project.run("here")
    project.cupel("results", "copy", "here", place)
    expect(exported(project, "here") == exported(project, place), "a copy differs")
    expect("0 added, 0 replaced, 4 were there" in project.cupel("results", "copy", "here", place), "again")
    project.cupel("results", "copy", place, "back", "latest")
    expect(exported(project, "back") == exported(project, "here"), "the copy of the copy differs")
    project.cupel("results", "export", "--output", "journals", "--results", place)
    project.cupel("results", "ingest", "journals", "--results", "fourth")
    expect(exported(project, "fourth") == exported(project, "here"), "exported and ingested it differs")
    expect("1 run pruned, 4 outcomes removed" in project.cupel("results", "prune", "--older-than", "0h", "--results", place), "prune")
    expect(server.sql("SELECT sum(tests) FROM counts", "moved") == "4", "the summary is gone")
    project.cupel("results", "prune", "--older-than", "soon", "--results", place, code=2)


@check
def a_role_that_only_reads_shows_and_compares(server):
    project, place = Project(), server.database("readers")
    project.run(place)
    project.run(place)
    server.sql("CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", "readers")
    guest, reading = Project(), server.address("readers", "reader")
    expect("wrong.mlir" in guest.cupel("show", "latest", "--failed", "--results", reading), "show")
    guest.cupel("diff", "latest~1", "latest", "--results", reading)
    guest.cupel("history", "programs::one.mlir", "--results", reading)
    guest.cupel("triage", "--results", reading)
    output = guest.run(reading)
    expect("this role may not" in output, output)


@check
def passwords_come_from_their_own_places(server):
    project, secret = Project(), "correct-horse"
    place = server.database("locked")
    server.sql(f"CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '{secret}'")
    hba = server.folder / "data/pg_hba.conf"
    before = hba.read_text()
    hba.write_text("local all guarded scram-sha-256\n" + before)
    try:
        server.sql("SELECT pg_reload_conf()")
        guarded = server.address("locked", "guarded")
        expect("cannot be reached" in project.cupel("show", "--results", guarded, code=2), "without a password")
        passwords = project.folder / "pgpass"
        passwords.write_text(f"*:*:*:guarded:{secret}\n")
        passwords.chmod(0o600)
        told = project.run(guarded, PGPASSFILE=str(passwords))
        told += project.cupel("show", "latest", "--json", "--results", guarded, PGPASSFILE=str(passwords))
        told += project.cupel("show", "--results", place)
        told += "".join(path.read_text(errors="replace") for path in project.folder.rglob("*.jsonl"))
        told += server.sql("SELECT string_agg(record, '') FROM outcomes", "locked") + server.sql("SELECT string_agg(command_line, '') FROM runs", "locked")
        expect(secret not in told, "the password was told")
        wrong = guarded.replace("postgresql:///", f"postgresql://guarded:{secret}@/")
        for words in (("show", "--results", wrong), ("run", "programs", "--results", wrong), ("results", "copy", wrong, "x")):
            output = project.cupel(*words, code=2)
            expect("holds a password" in output and secret not in output and len(output.strip().splitlines()) == 1, output)
    finally:
        hba.write_text(before)
        server.sql("SELECT pg_reload_conf()")


@check
def wrong_places_are_told_in_one_line(server):
    project = Project()
    server.database("foreign_one")
    server.sql("CREATE TABLE customers (id BIGINT)", "foreign_one")
    server.database("newer")
    project.run(server.address("newer"))
    server.sql("UPDATE schema_version SET version = 99", "newer")
    for place, words in ((server.address("nowhere"), 'database "nowhere" does not exist'), ("postgresql:///x?host=/nowhere", "cannot be reached"),
                         (server.address("foreign_one"), "has a table 'customers'"), (server.address("newer"), "newer Cupel"),
                         ("postgresql:///x?wrong=1", "not one that libpq understands")):
        output = project.cupel("show", "--results", place, code=2)
        expect(words in output and len(output.strip().splitlines()) == 1, f"{place}: {output}")
        output = project.cupel("results", "ingest", "--results", place, code=2)
        expect(words in output and len(output.strip().splitlines()) == 1, f"{place}: {output}")


class OldServer(threading.Thread):
    """Greets as PostgreSQL 14 does, and says no more."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"postgresql://127.0.0.1:{self.socket.getsockname()[1]}/x?sslmode=disable&gssencmode=disable"
        self.start()

    def run(self) -> None:
        def message(kind: bytes, body: bytes) -> bytes:
            return kind + struct.pack("!I", len(body) + 4) + body

        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                client.recv(4096)
                client.sendall(message(b"R", struct.pack("!I", 0)) + message(b"S", b"server_version\0" + b"14.9\0") + message(b"S", b"client_encoding\0UTF8\0")
                               + message(b"K", struct.pack("!II", 1, 1)) + message(b"Z", b"I"))
                client.recv(4096)


@check
def a_server_of_another_version_is_told(server):
    del server
    project, old = Project(), OldServer()
    try:
        for words in (("show",), ("results", "ingest")):
            output = project.cupel(*words, "--results", old.address, code=2)
            expect("14" in output and "15" in output and len(output.strip().splitlines()) == 1, output)
        # A run is never lost for it.
        output = project.run(old.address)
        expect("outcomes go to the journal only" in output and "14" in output, output)
    finally:
        old.socket.close()


def certificate(server: private_postgres.Postgres, name: str) -> tuple[Path, Path]:
    """One that speaks for itself, and its key."""
    key, cert = server.folder / f"{name}.key", server.folder / f"{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    key.chmod(0o600)
    if server.user:
        shutil.chown(key, server.user)
    return key, cert


@check
def tls_is_asked_for_in_the_address(server):
    if not shutil.which("openssl"):
        raise AssertionError("openssl is not installed (Debian: apt-get install openssl)")
    project = Project()
    server.database("encrypted")
    (key, cert), (_, other) = certificate(server, "server"), certificate(server, "other")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server.kill()
    server.start(f"-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on -c ssl_key_file={key} -c ssl_cert_file={cert}")
    try:
        place = f"postgresql://cupel@localhost:{port}/encrypted?sslmode=verify-full&sslrootcert="
        project.run(f"{place}{cert}")
        expect(len(project.outcomes(f"{place}{cert}")) == 4, "a run through TLS")
        refused = project.cupel("show", "--results", f"{place}{other}", code=2)
        expect("certificate" in refused and len(refused.strip().splitlines()) == 1, refused)
    finally:
        server.kill()
        server.start()


def postmaster_below(place: str) -> int | None:
    """The process of the server that a test below this folder has, if any: initdb has servers too, whose files come and go between two looks."""
    for file in Path(place).glob("cupel-pg-*/data/postmaster.pid"):
        try:
            return abs(int(file.read_text().split()[0]))  # Negative: a server for one user, as initdb's are.
        except (FileNotFoundError, IndexError):
            continue
    return None


@check
def a_server_goes_with_its_test(server):
    """However that ends: nothing runs on, and no folder stays."""
    del server
    script = f"import sys, time; sys.path.insert(0, {str(Path(__file__).parent)!r}); import private_postgres; private_postgres.Postgres(); time.sleep(600)"
    # What is left behind is for the checks to find, not for the removal of the folder to stumble over in their place.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        os.chmod(place, 0o1777)
        for words in ([sys.executable, "-c", script], [BIN / "bench_store", "--only", "postgresql", "--records", "100000000"]):
            test = subprocess.Popen(words, env=os.environ | {"TMPDIR": place}, stdout=subprocess.DEVNULL)
            try:
                end = time.monotonic() + 60
                while (postmaster := postmaster_below(place)) is None:
                    expect(test.poll() is None and time.monotonic() < end, f"{words[0]}: no server")
                    time.sleep(0.05)
            finally:
                test.kill()
                test.wait()
            end = time.monotonic() + 30
            while Path(f"/proc/{postmaster}").exists() or list(Path(place).glob("cupel-pg-*")):
                expect(time.monotonic() < end, f"{words[0]}: its server lives on, or its folder")
                time.sleep(0.05)


def main() -> int:
    if private_postgres.tools() is None:
        print("SKIPPED the store in PostgreSQL: PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)")
        print(f"0 passed, 0 failed, {len(CHECKS)} skipped")
        return 0
    server, failed = private_postgres.Postgres(), 0
    try:
        for function in CHECKS:
            try:
                function(server)
            except Exception as error:  # noqa: BLE001  (a check may fail in any way)
                failed += 1
                print(f"FAILED {function.__name__}: {type(error).__name__}: {error}")
    finally:
        server.close()
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
