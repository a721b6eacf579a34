"""Large files of loaders against a server that drops, stalls, truncates and lies; several processes; and what is there without a network."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from cupel import files
from cupel.files import get_file

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BODY = bytes(range(256)) * 4096  # 1 MiB
SHA = hashlib.sha256(BODY).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    requests: list[tuple[str, str]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    """The first word of a path says how it misbehaves: the first time, or always where its name begins with `always`."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None: ...

    def do_GET(self) -> None:  # noqa: N802
        how, asked = self.path.split("/")[1], self.headers.get("Range", "")
        is_first = not any(path == self.path for path, _ in self.server.requests)
        self.server.requests.append((self.path, asked))
        if is_first or how.startswith("always"):
            return getattr(self, how.removeprefix("always").strip("-"))()
        return self.good()

    def answer(self, status: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(BODY) if length is None else length))
        for name, value in ({"ETag": '"one"'} | {key.replace("_", "-"): value for key, value in headers.items()}).items():
            self.send_header(name, value)
        self.end_headers()

    def good(self) -> None:
        asked = self.headers.get("Range", "")
        if asked and self.headers.get("If-Range") == '"one"':
            begin = int(asked.removeprefix("bytes=").rstrip("-"))
            self.answer(206, len(BODY) - begin, Content_Range=f"bytes {begin}-{len(BODY) - 1}/{len(BODY)}")
            self.wfile.write(BODY[begin:])
        else:
            self.answer()
            self.wfile.write(BODY)

    def drop(self) -> None:
        self.answer()
        self.wfile.write(BODY[:300_000])
        self.close_connection = True

    def stall(self) -> None:
        self.answer()
        self.wfile.write(BODY[:300_000])
        self.wfile.flush()
        time.sleep(3)
        self.close_connection = True

    def busy(self) -> None:
        self.answer(503, 0)

    def missing(self) -> None:
        self.answer(404, 0)

    def lie(self) -> None:
        """Other bytes than it promises."""
        self.answer(Repr_Digest=f"sha-256=:{base64.b64encode(bytes.fromhex(SHA)).decode()}:")
        self.wfile.write(bytes(len(BODY)))

    def changed(self) -> None:
        """The beginning of another file: the rest of this one must not be put behind it."""
        self.answer(ETag='"other"')
        self.wfile.write(bytes(300_000))
        self.close_connection = True

    def elsewhere(self) -> None:
        """A range that nobody asked for."""
        if not self.headers.get("Range"):
            return self.drop()
        self.answer(206, len(BODY), Content_Range=f"bytes 0-{len(BODY) - 1}/{len(BODY)}")
        self.wfile.write(BODY)

    def unknown(self) -> None:
        """A range of a whole that it does not know, and less than it says."""
        if not self.headers.get("Range"):
            return self.drop()
        begin = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.answer(206, len(BODY) - begin, Content_Range=f"bytes {begin}-{len(BODY) - 1}/*")
        self.wfile.write(BODY[begin:begin + 1000])
        self.close_connection = True

    def empty(self) -> None:
        self.answer(204, 0)

    def slow(self) -> None:
        self.answer()
        for begin in range(0, len(BODY), 1 << 17):
            self.wfile.write(BODY[begin:begin + (1 << 17)])
            self.wfile.flush()
            time.sleep(0.25)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.requests = []
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def caches(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for name in ("DOCKER_CACHE_ROOT", "DOCKER_CACHE_DIR", "IRD_LF_CACHE", "http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOCAL_LF_CACHE", str(tmp_path / "root"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CUPEL_FILES_TIMEOUT", "0.5")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path


def left(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".lock"))


def test_a_url_is_fetched_once(server: Server, caches: pathlib.Path) -> None:
    url = f"{server.url}/good/weights.bin"
    path = get_file(url)
    assert path == caches / "root/url_cache" / files.url_name(url) and path.read_bytes() == BODY
    assert path.name == hashlib.md5(url.encode()).hexdigest()[:10] + "_weights.bin"
    assert get_file(url, sha256=SHA) == path and len(server.requests) == 1
    assert files.known(path) == files.Known(url, len(BODY), SHA)


@pytest.mark.parametrize("how", ["drop", "stall"])
def test_what_came_before_a_break_is_not_fetched_again(server: Server, how: str) -> None:
    assert get_file(f"{server.url}/{how}/a").read_bytes() == BODY
    begins = [asked for _, asked in server.requests]
    assert begins[0] == "" and begins[1].startswith("bytes=") and int(begins[1][6:-1]) > 0, begins


def test_the_rest_of_another_file_is_not_put_behind(server: Server) -> None:
    assert get_file(f"{server.url}/changed/a").read_bytes() == BODY
    assert [bool(asked) for _, asked in server.requests] == [False, True]


@pytest.mark.parametrize("how", ["busy", "lie"])
def test_another_try_mends_it(server: Server, how: str) -> None:
    assert get_file(f"{server.url}/{how}/a").read_bytes() == BODY
    assert len(server.requests) == 2 and server.requests[1][1] == ""


@pytest.mark.parametrize(("how", "says"), [("drop", r"300000 of 1048576 bytes came"), ("lie", "the server promised"), ("busy", "503"), ("missing", "404"), ("elsewhere", "what begins at 300000 was asked for"),
                                           ("unknown", "of 1048576 bytes came"), ("empty", "204 .*brings no file")])
def test_what_stays_wrong_leaves_no_file(server: Server, caches: pathlib.Path, how: str, says: str) -> None:
    url = f"{server.url}/always-{how}/a"
    if how == "drop":
        Handler.good, good = Handler.drop, Handler.good  # Ranges too.
    try:
        with pytest.raises(RuntimeError, match="Failed to download .*" + says):
            get_file(url)
    finally:
        if how == "drop":
            Handler.good = good
    assert not (caches / "root/url_cache" / files.url_name(url)).exists()
    assert len(server.requests) == (1 if how == "missing" else 4), server.requests


def test_a_wrong_checksum_is_an_error(server: Server, caches: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="is wanted"):
        get_file(f"{server.url}/good/a", sha256="0" * 64)
    assert left(caches / "root") == []
    path = get_file(f"{server.url}/good/a")
    with pytest.raises(RuntimeError, match="is wanted"):
        get_file(f"{server.url}/good/a", sha256="0" * 64)
    path.write_bytes(BODY[:-1])
    with pytest.raises(RuntimeError, match="has 1048575 bytes, and 1048576 were fetched"):
        get_file(f"{server.url}/good/a")


def test_a_checksum_is_that_of_the_bytes_that_are_there(server: Server) -> None:
    path = get_file(f"{server.url}/good/a", sha256=SHA)
    path.write_bytes(bytes(len(BODY)))
    with pytest.raises(RuntimeError, match="is wanted: remove it"):
        get_file(f"{server.url}/good/a", sha256=SHA)


def test_addresses_may_be_in_any_script(server: Server) -> None:
    assert get_file(f"{server.url}/good/gewichte für alle.bin").read_bytes() == BODY
    assert server.requests[0][0] == "/good/gewichte%20f%C3%BCr%20alle.bin"
    assert get_file(f"{server.url}/good/a%20b?x=1&y=[2]").read_bytes() == BODY
    assert server.requests[1][0] == "/good/a%20b?x=1&y=[2]"


def test_a_lock_that_was_removed_is_nobodys(server: Server, caches: pathlib.Path) -> None:
    """One waits for the lock while another removes the file and the lock with it: a third must not fetch beside it."""
    url = f"{server.url}/slow/a"
    lock = caches / "root/url_cache" / f".{files.url_name(url)}.lock"
    lock.parent.mkdir(parents=True)
    with open(lock, "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = start(url)
        deadline = time.monotonic() + 60
        while f" {lock.stat().st_ino} " not in "".join(line.replace(":", " ") for line in pathlib.Path("/proc/locks").read_text().splitlines(True) if "->" in line):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        lock.unlink()
    last = start(url)
    assert {one.communicate(timeout=60)[0].strip() for one in (waiting, last)} == {str(lock.parent / files.url_name(url))}
    assert len(server.requests) == 1, server.requests


def test_a_full_disk_is_told_and_gone_on_with(server: Server, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", small], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount")
    try:
        monkeypatch.setenv("LOCAL_LF_CACHE", str(small))
        with pytest.raises(RuntimeError, match="Failed to download .*No space left on device"):
            get_file(f"{server.url}/good/a")
        assert not any(path.name.endswith("_a") and not path.name.startswith(".") for path in small.rglob("*"))
        subprocess.run(["mount", "-o", "remount,size=4m", small], check=True)
        assert get_file(f"{server.url}/good/a").read_bytes() == BODY
        assert [asked for _, asked in server.requests][0] == "" and server.requests[1][1].startswith("bytes="), server.requests
    finally:
        subprocess.run(["umount", small], check=True)


def test_nobody_there_is_told(caches: pathlib.Path) -> None:
    with pytest.raises(RuntimeError, match="in 4 tries: .*[Rr]efused"):
        get_file("http://127.0.0.1:9/a")
    assert left(caches / "root") == []


def start(url: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, ROOT / "python/cupel/files.py", "get", url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            env=os.environ | {"CUPEL_FILES_TIMEOUT": "20"})


def test_processes_share_one_download(server: Server) -> None:
    running = [start(f"{server.url}/slow/a") for _ in range(4)]
    paths = {one.communicate(timeout=60)[0].strip() for one in running}
    assert len(paths) == 1 and pathlib.Path(paths.pop()).read_bytes() == BODY
    assert len(server.requests) == 1, server.requests


def test_a_killed_download_leaves_a_part_that_is_gone_on_with(server: Server, caches: pathlib.Path) -> None:
    url = f"{server.url}/slow/a"
    part = caches / "root/url_cache" / f".{files.url_name(url)}.part"
    running = start(url)
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size >= 1 << 17) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert part.stat().st_size < len(BODY) and not part.with_name(files.url_name(url)).exists()
    assert get_file(url).read_bytes() == BODY
    assert server.requests[-1][1].startswith("bytes="), server.requests


def test_paths_come_from_the_mirror(server: Server, caches: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="IRD_LF_CACHE"):
        get_file("good/x/weights.bin")
    monkeypatch.setenv("IRD_LF_CACHE", server.url)
    assert get_file("good/x/weights.bin") == caches / "root/models/tt-ci-models-private/good/x/weights.bin"
    monkeypatch.delenv("LOCAL_LF_CACHE")
    assert get_file("good/x/weights.bin") == caches / "home/.cache/lfcache/good/x/weights.bin"
    (caches / "docker").mkdir()
    for variable in ("DOCKER_CACHE_ROOT", "DOCKER_CACHE_DIR"):  # The second is how upstream's documents call it.
        with monkeypatch.context() as set_one:
            set_one.setenv(variable, str(caches / "docker"))
            with pytest.raises(FileNotFoundError, match="DOCKER_CACHE_ROOT"):
                get_file("good/x/weights.bin")
    with pytest.raises(ValueError, match="below the mirror"):
        get_file("../../etc/passwd")


def test_a_folder_that_cannot_be_written_costs_a_warning(server: Server, caches: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (caches / "file").touch()
    monkeypatch.setenv("LOCAL_LF_CACHE", str(caches / "file/root"))
    with pytest.warns(UserWarning, match="cannot be written"):
        path = get_file(f"{server.url}/good/a")
    assert path.parent == caches / "home/.cache/url_cache" and path.read_bytes() == BODY


def test_the_cache_is_listed_verified_and_cleared(server: Server) -> None:
    from cupel._files import command_path

    first, second = get_file(f"{server.url}/good/first"), get_file(f"{server.url}/good/second")
    os.utime(first.with_name(f".{first.name}.lock"), (time.time() - 60,) * 2)

    def cache(*arguments: str) -> tuple[int, str]:
        done = subprocess.run([command_path("cupel"), "cache", "files", *arguments, "--python", sys.executable], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout + done.stderr

    code, printed = cache("--json")
    rows = json.loads(printed)
    assert code == 0 and [row["path"] for row in rows] == [str(second), str(first)] and rows[0]["sha256"] == SHA, printed
    first.write_bytes(bytes(len(BODY)))
    code, printed = cache("verify")
    assert code == 1 and "damaged" in printed and "sound" in printed, printed
    code, printed = cache("clear", "--limit", "1M")
    assert code == 0 and "1 file, 1.0 MiB" in printed and second.exists() and not first.exists(), printed
    assert "0 files" in cache("clear")[1] and not second.exists()


def test_loaders_of_any_zoo_fetch_with_it(tmp_path: pathlib.Path) -> None:
    from cupel.worker.loaders import import_class

    zoo = tmp_path / "zoo"
    for name, text in (("base.py", ""), ("config.py", ""), ("tools/utils.py", "def get_file(path):\n    raise RuntimeError(path)\n"),
                       ("m/pytorch/loader.py", "from ...tools.utils import get_file\nfrom ...tools import utils\nclass ModelLoader: fetch = [get_file, utils]\n")):
        (zoo / name).parent.mkdir(parents=True, exist_ok=True)
        (zoo / name).write_text(text)
    found = import_class(zoo, zoo / "m/pytorch/loader.py")
    module = sys.modules[found.__module__]
    assert module.get_file is get_file and found.fetch[1].get_file is get_file


def test_the_bundled_loader_checks_what_it_fetches(caches: pathlib.Path) -> None:
    from cupel.worker.model import run

    loader = ROOT / "zoo/models/word_vectors/pytorch/loader.py"
    answer = run({"loader": str(loader), "folder": str(caches / "out")}, lambda stage: None)
    assert "capture" in answer, answer
    copy = caches / "root/models/tt-ci-models-private/cupel/words.txt"
    assert copy.read_text().split()[13] == "cupel" and files.known(copy).source.startswith("file://")
    copy.write_text("cupel\n")
    answer = run({"loader": str(loader), "folder": str(caches / "again")}, lambda stage: None)
    assert answer["error_class"] == "loader_model" and "were fetched from" in answer["message"], answer
