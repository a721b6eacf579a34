"""Broken, unreadable and hostile trees, and the cache. Part of check_zoo.py."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import textwrap
import time
from pathlib import Path

from small_zoos import check, CUPEL, expect, HEAD, ids, INFO, run, Skip, write, zoo


@check
def broken_loaders_do_not_stop_the_rest(folder: Path) -> None:
    good = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"good/pytorch": good, "syntax/pytorch": "x = 1\nclass ModelLoader(:\n    pass\n", "indent/pytorch": "def f(:\n"})
    write(root / "latin" / "pytorch" / "loader.py", b"# -*- coding: latin-1 -*-\nNAME = '\xe9'\n" + textwrap.dedent(
        HEAD.format(dots="...") + '\nclass ModelLoader(ForgeModel):\n    _VARIANTS = {NAME: 1}\n' + INFO.format(group="RED")).encode())
    write(root / "bytes" / "pytorch" / "loader.py", b"a = 1\nb = '\xff\xfe'\n")
    write(root / "nul" / "pytorch" / "loader.py", b"a = 1\n\0\n")
    (root / "dangling" / "pytorch").mkdir(parents=True)
    (root / "dangling" / "pytorch" / "loader.py").symlink_to("/nonexistent")
    (root / "folder" / "pytorch" / "loader.py").mkdir(parents=True)
    result = run(folder, "--zoo", root, "--format", "ids")
    expect(result.returncode == 1, result.returncode)
    found = ids(result)
    expect(sum("good/pytorch" in line for line in found) == 8 and any("latin/pytorch-é-" in line for line in found), found)
    for place in ("syntax/pytorch/loader.py:2:", "indent/pytorch/loader.py:1:", "bytes/pytorch/loader.py:2:6:", "nul/pytorch/loader.py:2:1:"):
        expect(place in result.stderr, f"{place} in {result.stderr}")
    expect(len([line for line in result.stderr.splitlines() if "error" in line]) == 4, result.stderr)


@check
def unreadable_files_and_folders(folder: Path) -> None:
    if os.geteuid() == 0:
        # Root reads everything; an unprivileged child does not.
        probe = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", str(CUPEL), "list", "--help"], capture_output=True)
        if probe.returncode:
            raise Skip("no unprivileged user can be had")
    good = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"good/pytorch": good, "secret/pytorch": good, "closed/pytorch": good})
    (root / "secret" / "pytorch" / "loader.py").chmod(0)
    (root / "closed").chmod(0)
    folder.chmod(0o755)
    command = [str(CUPEL), "list", "--zoo", str(root), "--format", "ids", "--no-cache"]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")
    (root / "closed").chmod(0o755)
    expect(result.returncode == 1 and len(ids(result)) == 8, result.stdout + result.stderr)
    expect(result.stderr.count("Permission denied") == 2, result.stderr)


@check
def hostile_trees(folder: Path) -> None:
    good = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"good/pytorch": good})
    for i in range(10_000):
        (root / f"empty{i % 100}" / f"e{i}").mkdir(parents=True)
    (root / "loop").symlink_to(root)
    (root / "good" / "self").symlink_to(".")
    deep = root
    for _ in range(300):
        deep = deep / "d"
    subprocess.run(["mkdir", "-p", str(deep)], check=True)
    begin = time.monotonic()
    result = run(folder, "--zoo", root, "--format", "ids", "--no-cache")
    expect(len(ids(result)) == 8, result.stdout[:500])
    expect("nested too deeply" in result.stderr, result.stderr)
    expect(time.monotonic() - begin < 20, "it took too long")
    # The same tree as a path: everything in it that is a test.
    expect(len(ids(run(folder, root, "--format", "ids"))) == 8, "as a path")


@check
def hostile_loaders(folder: Path) -> None:
    good = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"good/pytorch": good})
    huge = write(root / "huge" / "pytorch" / "loader.py", good)
    with huge.open("ab") as file:
        file.write(b"x = 'a rather long line to fill the file with, as one would not'\n" * (50 * 1024 * 1024 // 64))
    deep = 20_000
    texts = {
        "parens": "x = " + "(" * deep + ")" * deep,
        "lists": "x = " + "[" * deep + "]" * deep,
        "calls": "x = " + "f(" * deep + ")" * deep,
        "attributes": "x = a" + ".b" * deep,
        "sums": "x = 1" + " + 1" * deep,
        "nots": "x = " + "not " * deep + "1",
        "blocks": "".join("\n" + " " * i + "if 1:" for i in range(90)) + "\n" + " " * 90 + "pass\n",
        "elifs": "if a: pass\n" + "elif b: pass\n" * deep,
        "powers": "x = 9 ** 9 ** 9 ** 9\ny = 2 ** 62 * 2 ** 62\nz = -1 // 0\n",
        "doubling": "x = 'a'\n" + "x = x + x\n" * 64,
        "endless": "for i in range(10 ** 18):\n    for j in range(10 ** 18):\n        pass\n",
        "nested loops": "a = list(range(90000))\nx = [i for i in a for j in a for k in a]\n",
        "recursion": "def f(n):\n    return f(n)\nx = f(1)\n",
        "own list": "x = []\nx.append(x)\ny = x == [x]\nz = {(1, (2,)): x}\n",
        "circular": "from .other import y\nx = y\n",
        "empty": "",
        "class of itself": "class A(A): pass\nclass B(A, A): pass\n",
    }
    for name, text in texts.items():
        write(root / name.replace(" ", "_") / "pytorch" / "loader.py", text + "\n" + "".join(
            [HEAD.format(dots="..."), "\nclass ModelLoader(ForgeModel):\n    _VARIANTS = {'v': 1}\n", INFO.format(group="RED")]))
    write(root / "circular" / "pytorch" / "other.py", "from .loader import x\ny = x\n")
    limit = 3 << 30
    begin = time.monotonic()
    result = run(folder, "--zoo", root, "--format", "json", "--no-cache",
                 preexec_fn=None if CUPEL.parent.parent.name.endswith("san") else lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    expect(result.returncode in (0, 1), f"{result.returncode} {result.stderr}")
    data = json.loads(result.stdout)
    listed = {t["model_path"] for t in data["tests"]}
    told = {u["model_path"] for u in data["undecided"]} | {"/".join(Path(e["file"]).parts[-3:-1]) for e in data["errors"]}
    wanted = {f"{name.replace(' ', '_')}/pytorch" for name in texts} | {"huge/pytorch", "good/pytorch"}
    expect(listed | told >= wanted, f"missing: {wanted - listed - told}")
    expect("good/pytorch" in listed and "huge/pytorch" in told, (listed, told))
    expect(time.monotonic() - begin < 60, "it took too long")


@check
def cache_is_a_cache(folder: Path) -> None:
    text = "{HEAD}\nclass ModelLoader(ForgeModel):\n    _VARIANTS = {'%s': 1}\n{INFO:RED}"
    root = zoo(folder, {"a/pytorch": text % "one", "b/pytorch": "from ...a.pytorch.loader import ModelLoader\n"})

    def found() -> list[str]:
        result = run(folder, "--zoo", root, "--format", "ids", "--suite", "models")
        expect(result.returncode == 0, result.stderr)
        return sorted({line.split("::")[1].rsplit("-", 2)[0] for line in ids(result)})

    expect(found() == ["a/pytorch-one", "b/pytorch-one"], found())
    cached = list((folder / "cache").glob("*"))
    expect(len(cached) == 1, cached)
    before = cached[0].read_bytes()
    expect(found() == ["a/pytorch-one", "b/pytorch-one"] and cached[0].read_bytes() == before, "a second time")
    # A file that another loader is made from changes.
    zoo(folder, {"a/pytorch": text % "two"})
    expect(found() == ["a/pytorch-two", "b/pytorch-two"], found())
    # A module appears that was looked for in vain, and disappears.
    write(root / "a" / "pytorch" / "loader" / "__init__.py", (root / "a" / "pytorch" / "loader.py").read_text().replace("two", "six")
          .replace("from ...", "from ...."))
    expect(found() == ["a/pytorch-two", "b/pytorch-six"], found())
    (root / "a" / "pytorch" / "loader" / "__init__.py").unlink()
    expect(found() == ["a/pytorch-two", "b/pytorch-two"], found())
    # Damage of any kind is as good as no cache.
    good = cached[0].read_bytes()
    for damaged in (b"", b"x", good[:-1], good[: len(good) // 2], good + b"x", good[:40] + bytes([good[40] ^ 1]) + good[41:], b"\xff" * len(good)):
        cached[0].write_bytes(damaged)
        expect(found() == ["a/pytorch-two", "b/pytorch-two"], damaged[:20])
    # Touched, not changed: still taken from the cache, which is then brought up to date.
    os.utime(root / "a" / "pytorch" / "loader.py")
    expect(found() == ["a/pytorch-two", "b/pytorch-two"], found())
    # A cache that cannot be written.
    result = run(folder, "--zoo", root, "--format", "ids", env={"CUPEL_CACHE": "/proc/none"})
    expect(result.returncode == 0 and not result.stderr, result.stderr)
