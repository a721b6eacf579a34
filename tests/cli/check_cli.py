"""Checks of the cupel command that lit is no place for: start-up times, bad inputs, the language server.

usage: check_cli.py BUILD/bin. Ends with `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.argv[1]).resolve()
CUPEL = BIN / "cupel"
ROOT = Path(__file__).resolve().parents[2]
SANITIZED = 'san"' in subprocess.run([CUPEL, "version", "--json"], capture_output=True, text=True).stdout

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Skip(Exception):
    pass


def run(*arguments, **options) -> subprocess.CompletedProcess:
    options = {"capture_output": True, "text": True, "errors": "replace", "timeout": 60, "stdin": subprocess.DEVNULL} | options
    return subprocess.run([str(CUPEL), *map(str, arguments)], **options)


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def best_ms(*arguments, runs: int = 20) -> float:
    """The best of several runs: what the program costs, not what else the machine does."""
    best = float("inf")
    for _ in range(runs):
        begin = time.perf_counter()
        run(*arguments)
        best = min(best, (time.perf_counter() - begin) * 1000)
    return best


def expect_one_line(result: subprocess.CompletedProcess, code: int, *parts: str) -> None:
    lines = result.stderr.splitlines()
    expect(len(lines) == 1, f"expected one line on standard error, got {lines}")
    expect(result.stdout == "", f"unexpected output {result.stdout!r}")
    expect(result.returncode == code, f"expected exit code {code}, got {result.returncode}: {lines[0]}")
    for part in parts:
        expect(part in lines[0], f"'{part}' is not in: {lines[0]}")


def trivial(folder: Path) -> Path:
    path = folder / "trivial.mlir"
    path.write_text("func.func @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  return %arg0 : tensor<2xf32>\n}\n")
    return path


@check
def options_of_compilers_are_the_same_everywhere(folder: Path) -> None:
    program = folder / "negate.mlir"
    program.write_text("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo.negate %a : tensor<4xf32>\n"
                       "  return %0 : tensor<4xf32>\n}\n")
    own = ("--results", folder, "--device")
    for words in (("run", program, *own, "cupel"), ("bench", program), ("compile", program, "--emit=device")):
        expect_one_line(run(*words, "--option", "acumulate=f64"), 2, "--option", "the nearest is 'accumulate'")
        expect_one_line(run(*words, "--option", "strict"), 2, "NAME=VALUE")
    expect_one_line(run("run", program, "--option", "strict=on"), 2, "the golden reference takes no options")
    # Our own plugin as a vendor's: what it is given goes to its compiler with every program.
    for device in ("cupel", BIN.parent / "lib/pjrt_plugin_cupel.so"):
        done = run("run", program, *own, device, "--option", "backend=null", "-j", "1")
        expect(done.returncode == 1 and "is not computed by the backend null" in done.stdout, f"{device}: {done.stdout}{done.stderr}")
        done = run("run", program, *own, device, "--option", "backend=default", "-j", "1")
        expect(done.returncode == 0, f"{device}: {done.stdout}{done.stderr}")
    done = run("compile", program, "--emit=device", "--option", "opt_bisect_limit=0")
    expect(done.returncode == 0 and "stablehlo.negate" in done.stdout and "tir.map" not in done.stdout, done.stdout + done.stderr)
    done = run("compile", program, "--emit=device", "--option", "accumulate=f64")
    expect(done.returncode == 1 and "accumulates in f64" in done.stderr, done.stderr)


@check
def help_starts_within_10_ms(_: Path) -> None:
    if SANITIZED:
        raise Skip("start-up times mean nothing under the sanitizers")
    ms = best_ms("--help")
    expect(ms <= 10, f"cupel --help takes {ms:.1f} ms at best")


@check
def opt_of_a_trivial_file_takes_at_most_100_ms(folder: Path) -> None:
    if SANITIZED:
        raise Skip("start-up times mean nothing under the sanitizers")
    ms = best_ms("opt", trivial(folder))
    expect(ms <= 100, f"cupel opt of a trivial file takes {ms:.1f} ms at best")


@check
def eval_that_is_stopped_at_once_counts_what_is_left(folder: Path) -> None:
    """Two signals on each other's heels: the runner says nothing more of what ran, and it must not be taken for done."""
    source = ROOT / "tests/lit/eval/Inputs/pool-b-endless.mlir"
    (folder / "endless.mlir").write_text(source.read_text())
    # A tool started in the background may have been told to ignore the interrupt.
    process = subprocess.Popen([CUPEL, "eval", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=60)[0]
    expect(process.returncode == 5 and "interrupted: 1 of 1 files were not run to their end" in output, f"{process.returncode}: {output}")


@check
def cupel_itself_links_no_mlir(_: Path) -> None:
    needed = subprocess.run(["ldd", CUPEL], capture_output=True, text=True).stdout
    expect("libc.so" in needed, f"ldd said {needed!r}")
    expect("libMLIR" not in needed and "libLLVM" not in needed, "cupel links MLIR or LLVM")


@check
def every_verb_explains_itself_with_examples(_: Path) -> None:
    verbs = [line.split()[0] for line in run("--help").stdout.split("Verbs:\n")[1].split("\n\n")[0].splitlines()]
    expect({"opt", "lsp", "doctor", "version"} <= set(verbs), f"the verbs are {verbs}")
    for verb in verbs:
        result = run(verb, "--help")
        expect(result.returncode == 0, f"{verb} --help ends with {result.returncode}: {result.stderr}")
        expect("Examples:" in result.stdout and f"cupel {verb}" in result.stdout, f"{verb} --help has no examples")


@check
def no_arguments_is_a_usage_error(_: Path) -> None:
    result = run()
    expect(result.returncode == 2 and "usage: cupel VERB" in result.stdout, f"{result}")


@check
def a_missing_file(folder: Path) -> None:
    expect_one_line(run("opt", folder / "absent.mlir"), 2, "absent.mlir", "no such file")


@check
def an_empty_file(folder: Path) -> None:
    (folder / "empty.mlir").touch()
    expect_one_line(run("opt", folder / "empty.mlir"), 1, "empty.mlir", "is empty")


@check
def empty_standard_input(_: Path) -> None:
    expect_one_line(run("opt", "-"), 1, "<stdin>", "is empty")


@check
def a_directory(folder: Path) -> None:
    expect_one_line(run("opt", folder), 2, str(folder), "is a directory")


@check
def a_file_that_cannot_be_opened(folder: Path) -> None:
    loop = folder / "loop.mlir"
    loop.symlink_to(loop)
    expect_one_line(run("opt", loop), 2, "loop.mlir", "cannot open: Too many levels of symbolic links")


@check
def a_binary_that_is_not_mlir(folder: Path) -> None:
    expect_one_line(run("opt", CUPEL), 1, "not an MLIR program", "ELF")
    noise = folder / "noise.bin"
    noise.write_bytes(bytes(range(256)) * 16)
    expect_one_line(run("opt", noise), 1, "noise.bin", "neither text nor MLIR bytecode")


@check
def a_file_of_3_gb(folder: Path) -> None:
    path = folder / "huge.mlir"
    with path.open("wb") as file:
        file.truncate(3 << 30)  # sparse: takes no space
    begin = time.monotonic()
    expect_one_line(run("opt", path), 2, "huge.mlir", "3.0 GiB", "2.0 GiB")
    expect(time.monotonic() - begin < 5, "the huge file was read before it was refused")


@check
def a_truncated_artifact(folder: Path) -> None:
    artifact = folder / "a.mlirbc"
    run("opt", trivial(folder), "--emit=bytecode", "-o", artifact)
    whole = artifact.read_bytes()
    for length in range(1, len(whole)):
        artifact.write_bytes(whole[:length])
        result = run("opt", artifact)
        expect(result.returncode in (0, 1), f"cut at {length}: exit code {result.returncode}\n{result.stderr}")
        expect(result.returncode == 0 or "a.mlirbc" in result.stderr, f"cut at {length}: {result.stderr!r}")


@check
def binary_output_is_not_written_to_a_terminal(folder: Path) -> None:
    try:
        leader, follower = pty.openpty()
    except OSError as error:
        raise Skip(f"this machine has no pseudo-terminals: {error}") from error
    try:
        result = run("opt", trivial(folder), "--emit=bytecode", capture_output=False, stdout=follower, stderr=subprocess.PIPE)
    finally:
        os.close(leader)
        os.close(follower)
    expect(result.returncode == 2 and "terminal" in result.stderr, f"{result}")


@check
def a_reader_that_goes_away_does_no_harm(folder: Path) -> None:
    command = f"'{CUPEL}' opt '{trivial(folder)}' | true; echo ${{PIPESTATUS[0]}}"
    output = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    expect(output.stdout.strip() in ("0", "2", "141"), f"{output}")


@check
def standard_output_that_is_full(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        result = run("opt", trivial(folder), capture_output=False, stdout=full, stderr=subprocess.PIPE)
    expect(result.returncode == 2 and "No space left on device" in result.stderr, f"{result}")


def diagnosed(uri: str, *texts: str) -> list[list[dict]]:
    """What the language server says of a document at each of its versions."""
    opened = {"textDocument": {"uri": uri, "languageId": "mlir", "version": 1, "text": texts[0]}}
    messages = [
        {"id": 1, "method": "initialize", "params": {"processId": 1, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": opened},
        *({"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": 2 + i}, "contentChanges": [{"text": text}]}} for i, text in enumerate(texts[1:])),
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    stream = b""
    for message in messages:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stream += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    result = subprocess.run([CUPEL, "lsp"], input=stream, capture_output=True, timeout=60)
    replies, rest = [], result.stdout
    while rest:
        header, rest = rest.split(b"\r\n\r\n", 1)
        length = int(header.split(b"Content-Length:")[1].split()[0])
        replies.append(json.loads(rest[:length]))
        rest = rest[length:]
    initialized = next(reply for reply in replies if reply.get("id") == 1)
    expect("hoverProvider" in initialized["result"]["capabilities"], f"{initialized}")
    published = [reply["params"] for reply in replies if reply.get("method") == "textDocument/publishDiagnostics"]
    expect(len(published) == len(texts) and all(one["uri"] == uri for one in published), f"{replies}")
    expect(result.returncode == 0, f"the server ended with {result.returncode}")
    return [one["diagnostics"] for one in published]


@check
def the_language_server_reports_a_bad_program(_: Path) -> None:
    text = "func.func @f(%arg0: tensor<2xf32>) -> tensor<3xf32> {\n  return %arg0 : tensor<2xf32>\n}\n"
    ((complaint,),) = diagnosed("test:///bad.mlir", text)
    expect("doesn't match function result type" in complaint["message"], f"{complaint}")
    expect(complaint["range"]["start"] == {"line": 1, "character": 2}, f"{complaint}")


@check
def the_language_server_knows_element_types_that_mlir_lacks(_: Path) -> None:
    for name in ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E8M0FNU"):
        good = (f"func.func @f(%arg0: tensor<2x{name}>) -> tensor<2xf32> {{\n  %c = stablehlo.constant dense<1.0> : tensor<2x{name}>\n"
                f"  %0 = stablehlo.convert %c : (tensor<2x{name}>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}}\n")
        opened, changed, mended = diagnosed("test:///rare.mlir", good, good.replace("return %0", "return %c"), good)
        expect(opened == [] and mended == [], f"{name}: {opened} {mended}")
        expect(len(changed) >= 1 and changed[0]["range"]["start"]["line"] == 3, f"{name}: {changed}")


# What a user may mistype, and what was meant.
@check
def what_is_no_plugin_is_no_device(folder: Path) -> None:
    """A program behind --device was taken for a device that stands in for the first one, and was not tested."""
    program = folder / "add.mlir"
    program.write_text("func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}\n")
    for test in (program, folder, "programs::add.mlir"):
        done = run("run", ROOT / "zoo/programs", "--results", folder / "results", "--device", "cupel", test)
        expect_one_line(done, 2, f"--device {test}: there are reference", "name tests before it")
    expect_one_line(run("run", program, "--results", folder / "results", "--device", "nowhere.so"), 2, "nowhere.so: no such file")


NEAREST = {"list": ("--fromat", "--format"), "run": ("--devcie", "--device"), "show": ("--faild", "--failed"), "diff": ("--slwer", "--slower"),
           "history": ("--limt", "--limit"), "eval": ("--prnit", "--print"), "compile": ("--shap", "--shape"), "doctor": ("--devce", "--device"),
           "ci-matrix": ("--compct", "--compact"), "version": ("--jsn", "--json"), "opt": ("--emti", "--emit")}


@check
def unknown_options_name_the_nearest(_: Path) -> None:
    for verb, (wrong, right) in NEAREST.items():
        result = run(verb, wrong, "x")
        expect(result.returncode == 2 and f"{right}'" in result.stderr, f"{verb} {wrong}: {result.returncode} {result.stderr}")
    result = run("cache", "--jsn")
    expect(result.returncode == 2 and "did you mean '--json'?" in result.stderr, result.stderr)
    device = subprocess.run([BIN / "cupel-device", "run", "a.so", "case", "--repaet", "2"], capture_output=True, text=True)
    expect(device.returncode == 2 and "did you mean '--repeat'?" in device.stderr, device.stderr)


@check
def an_option_is_no_value_of_another(folder: Path) -> None:
    """`--keep-failed --json F` took `--json` for the folder and said nothing."""
    for words in (("run", "--keep-failed", "--json", "report.json"), ("list", "-k", "--zoo=models"), ("list", "--format", "-k", "conv"), ("show", "--results", "--failed")):
        result = subprocess.run([BIN / "cupel", *words], capture_output=True, text=True, cwd=folder)
        expect(result.returncode == 2 and f"{words[1]} wants a value" in result.stderr and f"and {words[2]} is an option" in result.stderr, f"{words}: {result.returncode} {result.stderr}")
    expect(not list(folder.iterdir()), "something was written")
    # Behind an equals sign it is a value, and what is no option of the verb is one anyhow.
    result = subprocess.run([BIN / "cupel", "list", "-k", "not conv", "--zoo=--json"], capture_output=True, text=True, cwd=folder)
    expect("wants a value" not in result.stderr and "--json" in result.stderr, result.stderr)
    device = subprocess.run([BIN / "cupel-device", "run", "a.so", "case", "--out", "--repeat", "2"], capture_output=True, text=True)
    expect(device.returncode == 2 and "--out wants a value" in device.stderr, device.stderr)


def main() -> int:
    passed = failed = skipped = 0
    for function in CHECKS:
        with tempfile.TemporaryDirectory(prefix="cupel-cli-") as folder:
            try:
                function(Path(folder))
                passed += 1
            except Skip as reason:
                print(f"SKIPPED {function.__name__}: {reason}")
                skipped += 1
            except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError, KeyError, StopIteration) as error:
                print(f"FAILED {function.__name__}: {error!r}")
                failed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
