"""Large files of model loaders: `get_file(path or URL)` gives the local copy, fetched once for all processes of a machine.

Roots, variables and names are those of tt-forge-models' own get_file. A copy appears whole or not at all, under a lock, and what was fetched before a connection broke is
not fetched again; its checksum is kept beside it. Needs nothing but Python's library. Never trusts a server: lengths, ranges and checksums are compared. By
hand: `cupel cache files`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path

PRIVATE = Path("models/tt-ci-models-private")
_CHUNK = 1 << 20
_TRIES = 4
_CONNECT_S = 15
_STALL_S = 60
_PROGRESS_S = 5


class _Broken(Exception):
    """A try came to nothing; another one may go on where it stopped."""


class _Refused(Exception):
    """No further try can help."""


def _stall_seconds() -> float:
    return float(os.environ.get("CUPEL_FILES_TIMEOUT") or _STALL_S)


# --- where files lie -------------------------------------------------------------------------------------------------------------------------


def _home_cache() -> Path:
    return Path(os.path.expanduser("~/.cache"))


def _shared_cache() -> str:
    """The folder that others fill for many machines: upstream's code reads the first variable, its documents name the second."""
    return os.environ.get("DOCKER_CACHE_ROOT") or os.environ.get("DOCKER_CACHE_DIR") or ""


def _root() -> Path | None:
    """The root that a variable names; None: the home folder's cache."""
    if (shared := _shared_cache()) and Path(shared).exists():
        return Path(shared)
    return Path(local) if (local := os.environ.get("LOCAL_LF_CACHE")) else None


def _is_url(path: str) -> bool:
    return path.startswith(("http://", "https://"))


def url_name(url: str) -> str:
    """What the copy of a URL is called."""
    digest = hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()[:10]
    base = os.path.basename(urllib.parse.urlparse(url).path)
    return f"{digest}_{base}" if base else f"downloaded_file_{digest}"


def _places(path: str) -> tuple[Path, Path]:
    """Where the file should lie, and where it goes if that cannot be written."""
    if _is_url(path):
        below, home = Path("url_cache") / url_name(path), _home_cache() / "url_cache" / url_name(path)
    else:
        inner = Path(path)
        if inner.is_absolute() or ".." in inner.parts or not inner.name:
            raise ValueError(f"{path}: a path below the mirror's root is wanted")
        below, home = PRIVATE / inner, _home_cache() / "lfcache" / inner
    root = _root()
    return (home if root is None else root / below), home


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def get_file(path: str, sha256: str = "") -> Path:
    """The local copy of a URL, or of a path below the mirror (IRD_LF_CACHE). With `sha256` the copy must be that very file."""
    path = str(path)
    wanted, home = _places(path)
    if not wanted.is_file() and not _is_writable(wanted.parent):
        if wanted != home:
            warnings.warn(f"{wanted.parent} cannot be written: {home.parent} is used instead", stacklevel=2)
        wanted = home
        wanted.parent.mkdir(parents=True, exist_ok=True)
    if not _is_writable(wanted.parent):
        return _checked(wanted, sha256)  # It is there, in a folder that somebody else keeps.
    with _locked(wanted):
        if not wanted.is_file():
            _fetch(_source(path), wanted, sha256)
        return _checked(wanted, sha256)


def _source(path: str) -> str:
    if _is_url(path):
        return path
    if shared := _shared_cache():
        raise FileNotFoundError(f"{path} is not in the cache below {shared} (DOCKER_CACHE_ROOT), which is filled from outside")
    mirror = os.environ.get("IRD_LF_CACHE")
    if not mirror:
        raise ValueError(f"{path} is not in the cache, and IRD_LF_CACHE, the mirror to fetch it from, is not set")
    return f"{mirror.rstrip('/')}/{urllib.parse.quote(path)}"


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Of several processes that want a file one fetches it, and the others wait for it."""
    while True:
        with open(_beside(file, "lock"), "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _say(f"{file.name}: another process fetches it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_at(lock.fileno(), _beside(file, "lock")):
                yield
                return
            # Somebody has removed the file and its lock meanwhile: the next one would lock another.


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _beside(file: Path, what: str) -> Path:
    return file.with_name(f".{file.name}.{what}")


def _say(text: str) -> None:
    print(f"cupel: {text}", file=sys.stderr, flush=True)


# --- what is known of a copy -----------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Known:
    """Kept beside a copy: where it came from and what it is."""

    source: str
    bytes: int
    sha256: str


def known(file: Path) -> Known | None:
    try:
        found = json.loads(_beside(file, "json").read_text())
        return Known(str(found["source"]), int(found["bytes"]), str(found["sha256"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(file: Path) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _checked(file: Path, sha256: str) -> Path:
    """The file, if it is what it should be; its time of use is kept for who clears the cache."""
    record = known(file)
    size = file.stat().st_size
    if record and record.bytes != size:
        raise RuntimeError(f"{file} has {size} bytes, and {record.bytes} were fetched from {record.source}: remove it to have it fetched again")
    # What is wanted is these very bytes: what was kept of them says nothing of a disk that has lost some since.
    if sha256 and (found := _digest(file)) != sha256.lower():
        raise RuntimeError(f"{file} has the sha256 {found}, and {sha256} is wanted: remove it to have it fetched again")
    with contextlib.suppress(OSError):
        os.utime(_beside(file, "lock"))
    return file


def last_used(file: Path) -> float:
    """When somebody last asked for it; of a copy that another program made, when it was last read."""
    try:
        return _beside(file, "lock").stat().st_mtime
    except OSError:
        return file.stat().st_atime


# --- fetching --------------------------------------------------------------------------------------------------------------------------------


def _fetch(url: str, target: Path, sha256: str) -> None:
    part, reasons = _beside(target, "part"), []
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(min(0.2 * 2**attempt, _stall_seconds()))
            _say(f"{target.name}: {reasons[-1]}; try {attempt + 1} of {_TRIES}")
        try:
            promised = _fetch_rest(url, part)
            digest = _digest(part)
            _compare(digest, sha256, promised, part)
            record = Known(url, part.stat().st_size, digest)
            _beside(target, "json").write_text(json.dumps(dataclasses.asdict(record)) + "\n")
            with open(part, "rb") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
            _validator_file(part).unlink(missing_ok=True)
            return
        except _Refused as error:
            raise RuntimeError(f"Failed to download {url}: {error}") from error
        except (_Broken, OSError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and error.errno in (28, 122):  # No room, or none left for us: the part stays for later.
                raise RuntimeError(f"Failed to download {url}: {error}") from error
            reasons.append(str(error) or type(error).__name__)
    raise RuntimeError(f"Failed to download {url} in {_TRIES} tries: {'; '.join(dict.fromkeys(reasons))}")


def _compare(digest: str, wanted: str, promised: str, part: Path) -> None:
    """A file that is wrong from its first byte on is not gone on with."""
    for expected, who in ((wanted.lower(), "is wanted"), (promised, "the server promised")):
        if expected and digest != expected:
            size = part.stat().st_size
            _forget(part)
            raise _Broken(f"its {size} bytes have the sha256 {digest}, and {expected} {who}")


def _fetch_rest(url: str, part: Path) -> str:
    """Completes the part; the checksum that the server promises, or an empty text."""
    begin, validator = _begun(part)
    request = urllib.request.Request(urllib.parse.quote(url, safe="%/:=&?~#+!$,;'@()*[]"), headers={"User-Agent": "cupel", "Accept-Encoding": "identity"})
    if begin:
        request.add_header("Range", f"bytes={begin}-")
        request.add_header("If-Range", validator)
    try:
        answer = urllib.request.urlopen(request, timeout=min(_CONNECT_S, _stall_seconds()))
    except urllib.error.HTTPError as error:
        if error.code == 416:  # The part is longer than the file: it is of another one.
            _forget(part)
            raise _Broken("the part does not belong to it") from error
        kind = _Refused if 400 <= error.code < 500 and error.code not in (408, 425, 429) else _Broken
        raise kind(f"the server says {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _Broken(str(error.reason)) from error
    with answer:
        begin, whole = _agreed(answer, begin)
        validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        _validator_file(part).unlink(missing_ok=True)
        if validator and not validator.startswith("W/"):  # Only a strong one says that the rest is of the same file.
            _validator_file(part).write_text(json.dumps({"validator": validator}) + "\n")
        _set_stall_limit(answer)
        received = _copy(answer, part, begin, whole)
        if whole is not None and received != whole:
            if received > whole:
                _forget(part)
            raise _Broken(f"{received} of {whole} bytes came")
        return _promised(answer.headers)


def _validator_file(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _validator_file(part).unlink(missing_ok=True)


def _begun(part: Path) -> tuple[int, str]:
    """How much is there already, and by what the server knows the same file again."""
    try:
        validator = str(json.loads(_validator_file(part).read_text())["validator"])
        return part.stat().st_size, validator
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""


def _agreed(answer: http.client.HTTPResponse, begin: int) -> tuple[int, int | None]:
    """Where what comes begins, and how long the whole is; a range that was not asked for is an error."""
    length = answer.headers.get("Content-Length")
    size = int(length) if length and length.isdigit() else None
    if answer.status not in (None, 200, 206):  # None: of a file.
        raise _Broken(f"the server says {answer.status} {answer.reason}, which brings no file")
    if answer.status != 206:
        return 0, size
    span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", answer.headers.get("Content-Range", ""))
    if not span or int(span[1]) != begin:
        raise _Broken(f"the server sends the range '{answer.headers.get('Content-Range', '')}', and what begins at {begin} was asked for")
    # A server that does not know the whole still says where what it sends ends.
    return begin, int(span[2]) + 1 if span[3] == "*" else int(span[3])


def _set_stall_limit(answer: http.client.HTTPResponse) -> None:
    with contextlib.suppress(AttributeError):
        answer.fp.raw._sock.settimeout(_stall_seconds())


def _copy(answer: http.client.HTTPResponse, part: Path, begin: int, whole: int | None) -> int:
    """How many bytes the part has at the end; what came before a break stays."""
    told = started = time.monotonic()
    at = begin
    with open(part, "r+b" if begin else "wb") as file:
        file.truncate(begin)
        file.seek(begin)
        while True:
            try:
                chunk = answer.read1(_CHUNK)
            except (TimeoutError, OSError) as error:
                raise _Broken("nothing came for too long" if isinstance(error, TimeoutError) else str(error)) from error
            if not chunk:
                return at
            file.write(chunk)
            at += len(chunk)
            if time.monotonic() - told > _PROGRESS_S:
                told = time.monotonic()
                of = f" of {whole >> 20}" if whole else ""
                _say(f"{part.name[1:-5]}: {at >> 20}{of} MiB, {(at - begin) / (1 << 20) / (told - started):.1f} MiB/s")


def _promised(headers: http.client.HTTPMessage) -> str:
    """The sha256 of the whole that a server states, as hexadecimal text."""
    import base64

    stated = re.search(r"sha-256=:?([A-Za-z0-9+/=]+):?", headers.get("Repr-Digest", "") or headers.get("Digest", ""), re.IGNORECASE)
    text = stated[1] if stated else headers.get("x-amz-checksum-sha256", "")
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return ""
    return raw.hex() if len(raw) == 32 else ""


# --- the cache as a whole --------------------------------------------------------------------------------------------------------------------


def folders() -> list[Path]:
    """Every folder that copies may lie in, as the environment stands."""
    roots = [Path(value) for value in (_shared_cache(), os.environ.get("LOCAL_LF_CACHE")) if value]
    places = [root / below for root in roots for below in ("url_cache", str(PRIVATE))] + [_home_cache() / "url_cache", _home_cache() / "lfcache"]
    return [one for one in dict.fromkeys(places) if one.is_dir()]


def cached() -> list[Path]:
    """All copies, those used last first."""
    found = [path for folder in folders() for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return sorted(found, key=lambda path: -last_used(path))


def _remove(file: Path) -> bool:
    """Not while somebody fetches or checks it."""
    with open(_beside(file, "lock"), "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        for path in (file, _beside(file, "json"), _beside(file, "part"), _beside(file, "part.json"), _beside(file, "lock")):
            path.unlink(missing_ok=True)
    return True


def _size_text(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _verified(file: Path) -> str:
    record = known(file)
    if record is None:
        return "unknown"
    return "sound" if record.bytes == file.stat().st_size and record.sha256 == _digest(file) else "damaged"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="cupel cache files", description="Large files that model loaders fetched (LOCAL_LF_CACHE, DOCKER_CACHE_ROOT, ~/.cache).")
    parser.add_argument("action", nargs="?", default="list", choices=["list", "verify", "clear", "get"], help="verify compares checksums; clear removes; get fetches and prints the copy")
    parser.add_argument("path", nargs="?", default="", help="for get: a URL, or a path below the mirror (IRD_LF_CACHE)")
    parser.add_argument("--limit", type=int, metavar="BYTES", help="for clear: keep what was used last, up to so much")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.action == "get":
        try:
            print(get_file(options.path))
        except (RuntimeError, ValueError, OSError) as error:
            print(f"cupel cache files: error: {error}", file=sys.stderr)
            return 1
        return 0
    if options.action == "clear":
        kept = 0
        for file in cached():
            kept += file.stat().st_size
            if kept > (options.limit or 0):
                _remove(file)
    rows = []
    for file in cached():
        record = known(file)
        row: dict[str, object] = {"path": str(file), "bytes": file.stat().st_size, "last_used": last_used(file), "source": record.source if record else "", "sha256": record.sha256 if record else ""}
        rows.append(row | ({"state": _verified(file)} if options.action == "verify" else {}))
    damaged = [row for row in rows if row.get("state") == "damaged"]
    if options.json:
        print(json.dumps(rows, indent=2))
        return 1 if damaged else 0
    for row in rows:
        state = f"{row['state']:8}  " if "state" in row else ""
        print(f"{_size_text(float(str(row['bytes']))):>10}  {time.strftime('%Y-%m-%d %H:%M', time.localtime(float(str(row['last_used']))))}  {state}{row['path']}")
    print(f"{len(rows)} file{'' if len(rows) == 1 else 's'}, {_size_text(sum(int(str(row['bytes'])) for row in rows))} in {', '.join(map(str, folders())) or 'no folder yet'}")
    return 1 if damaged else 0


if __name__ == "__main__":
    sys.exit(main())
