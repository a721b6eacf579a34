#!/usr/bin/env python3
"""cupel-device from outside: crashes, exits, hangs and growth of a plugin, the pipe protocol, reports.

Prints a line for each failure and ends with `N passed, N failed`. Needs bin/cupel-device and
lib/fault_plugin.so of the build tree that CUPEL_BUILD names (build).
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CUPEL_BUILD", ROOT / "build"))
DEVICE = BUILD / "bin/cupel-device"
PLUGIN = BUILD / "lib/fault_plugin.so"
CHECKS: list[Callable[[Path], None]] = []


def check(function: Callable[[Path], None]) -> Callable[[Path], None]:
    CHECKS.append(function)
    return function


def safetensors(tensors: dict[str, list[float]]) -> bytes:
    """Rank-1 f32 tensors in the safetensors format."""
    header, body = {}, b""
    for name, values in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": [len(values)],
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def parse_safetensors(data: bytes) -> dict[str, list[float]]:
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    body = data[8 + size:]
    result = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        result[name] = list(struct.unpack(f"<{(end - begin) // 4}f", body[begin:end]))
    return result


def workload(folder: Path, name: str = "w", expected: list[float] | None = None,
             program: str = "echo 1", options: dict | None = None) -> Path:
    path = folder / name
    path.mkdir()
    (path / "program.mlirbc").write_text(program)
    (path / "inputs.safetensors").write_bytes(safetensors({"0": [1.0, 2.0, 3.0]}))
    if expected is not None:
        (path / "expected.safetensors").write_bytes(safetensors({"0": expected}))
    if options is not None:
        (path / "options.json").write_text(json.dumps(options))
    return path


def device(*arguments: object, fault: str = "", stdin: bytes = b"",
           limit: float = 60) -> subprocess.CompletedProcess[bytes]:
    environment = dict(os.environ)
    environment.pop("CUPEL_FAULT", None)
    if fault:
        environment["CUPEL_FAULT"] = fault
    return subprocess.run([DEVICE, *map(str, arguments)], input=stdin, env=environment, timeout=limit,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def run_report(folder: Path, fault: str, *arguments: object, **kwargs: object) -> tuple[int, dict]:
    """The exit code and the report of the one workload."""
    path = workload(folder, **kwargs)
    out = folder / "report.json"
    limit = () if "--timeout" in arguments else ("--timeout", 20)
    done = device("run", PLUGIN, path, "--json", out, *limit, *arguments, fault=fault)
    return done.returncode, json.loads(out.read_text())["runs"][0]


@check
def a_good_plugin_passes(folder: Path) -> None:
    code, report = run_report(folder, "", expected=[1, 2, 3])
    assert code == 0 and report["outcome"] == "passed", report
    assert [s["name"] for s in report["stages"]] == ["compile", "transfer", "execute", "read back"]
    assert report["results"] == [["tensor<3xf32>"]], report


@check
def without_expectations_it_just_runs(folder: Path) -> None:
    code, report = run_report(folder, "")
    assert code == 0 and report["outcome"] == "ran", report


@check
def wrong_results_are_told(folder: Path) -> None:
    code, report = run_report(folder, "result-wrong", expected=[1, 2, 3])
    assert code == 1 and report["outcome"] == "incorrect", report
    assert not report["comparisons"][0]["passed"]
    assert report["comparisons"][0]["what"] == "result 0"


@check
def wrong_types_are_told(folder: Path) -> None:
    code, report = run_report(folder, "dtype-wrong", expected=[1, 2, 3])
    assert code == 1 and report["outcome"] == "incorrect", report
    assert "tensor<3xi32> where a tensor<3xf32>" in report["comparisons"][0]["sentence"]


@check
def wrong_number_of_results_is_told(folder: Path) -> None:
    code, report = run_report(folder, "outputs-more", expected=[1, 2, 3])
    assert code == 1 and report["failure"]["class"] == "bad_answer", report
    assert report["failure"]["call"] == "PJRT_Executable_NumOutputs", report


@check
def checks_are_made(folder: Path) -> None:
    checks = [{"kind": "equal", "actual": 0, "expected": 1, "location": "a.mlir:3:5"}]
    code, report = run_report(folder, "", program="echo 2", options={"checks": checks})
    # The second result is a scalar zero: the check compares different types.
    assert code == 1 and report["outcome"] == "incorrect", report
    assert report["comparisons"][0]["what"] == "check 0 (a.mlir:3:5)", report


def dies(fault: str, outcome: str, stage: str, message: str, *arguments: object) -> None:
    def test(folder: Path) -> None:
        code, report = run_report(folder, fault, *arguments)
        assert code == 1, code
        assert report["outcome"] == outcome, report
        assert report["last_stage"] == stage, report
        assert re.search(message, report["failure"]["message"]), report
    test.__name__ = fault.replace("-", "_")
    CHECKS.append(test)


dies("client-crash", "crashed", "client", "SIGSEGV.*in stage client")
dies("compile-crash", "crashed", "compile", "SIGSEGV.*in stage compile")
dies("compile-abort", "crashed", "compile", "SIGABRT.*in stage compile")
dies("compile-exit", "exited", "compile", "exit code 3 in stage compile")
dies("compile-hang", "timed out", "compile", "hangs in stage compile", "--timeout", 1)
dies("compile-grow", "out of memory", "compile", "beyond 256 MiB", "--memory-limit", 256)
dies("execute-crash", "crashed", "execute", "SIGSEGV.*in stage execute")
dies("execute-hang", "timed out", "execute", "hangs in stage execute", "--timeout", 1)
dies("event-never", "timed out", "execute", "PJRT_LoadedExecutable_Execute: .*deadline",
     "--timeout", 1)
dies("copy-never", "timed out", "read back", "PJRT_Buffer_ToHostBuffer: .*deadline", "--timeout", 1)
dies("compile-error", "failed", "compile", "PJRT_Client_Compile: INVALID_ARGUMENT: op 'x.y'")
dies("table-null", "failed", "load", "GetPjrtApi returned null")
dies("initialize-error", "failed", "initialize", "PJRT_Plugin_Initialize: FAILED_PRECONDITION")
dies("client-null", "failed", "client", "no client")


@check
def what_it_printed_is_kept(folder: Path) -> None:
    _, report = run_report(folder, "compile-abort")
    assert "assertion failed: the compiler is broken" in report["output"], report


@check
def noise_on_standard_output_does_no_harm(folder: Path) -> None:
    code, report = run_report(folder, "noise", expected=[1, 2, 3])
    assert code == 0 and report["outcome"] == "passed", report
    assert "prints where it likes" in report["output"], report


@check
def a_crash_costs_one_workload(folder: Path) -> None:
    paths = [workload(folder, name, [1, 2, 3]) for name in "abc"]
    done = device("run", PLUGIN, *paths, fault="compile-crash")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert sum(line.startswith("crashed") for line in lines) == 3, lines
    assert lines[-1] == "3 workloads, 0 as expected, 3 not", lines


@check
def results_are_written(folder: Path) -> None:
    path = workload(folder)
    done = device("run", PLUGIN, path, "--out", folder / "out", "--repeat", 3)
    assert done.returncode == 0, done
    results = parse_safetensors((folder / "out/w/results.safetensors").read_bytes())
    assert results == {"0": [1.0, 2.0, 3.0]}, results
    report = json.loads((folder / "out/w/report.json").read_text())
    assert len(report["execute_seconds"]) == 3, report


@check
def two_devices(folder: Path) -> None:
    path = workload(folder, program="echo 1 on 2", options={"replicas": 2})
    (path / "inputs.safetensors").write_bytes(safetensors({"d0/0": [1], "d1/0": [2]}))
    done = device("run", PLUGIN, path, "--out", folder / "out")
    assert done.returncode == 0, done
    results = parse_safetensors((folder / "out/w/results.safetensors").read_bytes())
    assert results == {"d0/0": [1.0], "d1/0": [2.0]}, results


@check
def too_many_devices(folder: Path) -> None:
    code, report = run_report(folder, "", options={"replicas": 3})
    assert code == 1 and "runs on 3 devices, the plugin has 2" in report["failure"]["message"], report


@check
def a_page_is_made_of_reports(folder: Path) -> None:
    """scripts/device_reference.py puts every workload into one column and tells its reason."""
    wanted = {"good": ("", "as expected", ""), "wrong": ("result-wrong", "incorrect", "beyond 8x noise"), "refused": ("compile-error", "not compiled", "PJRT_Client_Compile"),
              "dead": ("execute-crash", "crashed or exited", "SIGSEGV"), "wide": ("", "needs more devices", "the plugin has 2")}
    for name, (fault, _, _) in wanted.items():
        path = workload(folder, name, expected=[1, 2, 3], options={"replicas": 3} if name == "wide" else None)
        device("run", PLUGIN, path, "--json", folder / f"{name}.json", "--timeout", 20, fault=fault)
    page = subprocess.run([sys.executable, ROOT / "scripts/device_reference.py", "--title", "Faults", *(folder / f"{name}.json" for name in wanted)],
                          stdout=subprocess.PIPE, check=True, text=True).stdout
    table = [[part.strip() for part in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    for name, (_, column, text) in wanted.items():
        row = next(row for row in table if row[0] == name)
        assert [head for head, value in zip(table[0][2:], row[2:], strict=True) if value == "1"] == [column], (name, row)
        assert not text or any(f"{name}/{name}" in line and text in line for line in page.splitlines()), (name, page)


@check
def a_crash_while_shutting_down_is_a_warning(folder: Path) -> None:
    path = workload(folder, expected=[1, 2, 3])
    done = device("run", PLUGIN, path, fault="destroy-crash")
    assert done.returncode == 0, done
    assert b"SIGABRT" in done.stderr and b"in stage shutdown" in done.stderr, done


@check
def a_second_callback_is_a_warning(folder: Path) -> None:
    code, report = run_report(folder, "event-twice", expected=[1, 2, 3])
    assert code == 0 and "more than once" in report["warnings"][0], report


@check
def workloads_that_are_none(folder: Path) -> None:
    done = device("run", PLUGIN, folder / "missing")
    assert done.returncode == 1 and b"no such folder" in done.stdout, done


@check
def info_of_the_fault_plugin(folder: Path) -> None:
    # Its programs return their first argument, so an addition goes wrong.
    done = device("info", PLUGIN)
    text = done.stdout.decode()
    assert done.returncode == 1, done
    for part in ("PJRT API     0.100, table of 1144 bytes", "platform     fault", "devices      2",
                 "extensions   Example", "self-test    FAILED",
                 "[1, -2, 3.5, 0] + [10, 20, 0.25, -1] gave [1, -2, 3.5, 0]"):
        assert part in text, text


@check
def info_of_bad_plugins(folder: Path) -> None:
    for fault, message in (("no-devices", "no device that can be used"),
                           ("client-crash", "SIGSEGV"), ("compile-hang", "hangs in stage compile"),
                           ("major-wrong", "speaks PJRT 7.100"),
                           ("compile-missing", "PJRT_Client_Compile")):
        done = device("info", PLUGIN, "--timeout", 1, fault=fault)
        assert done.returncode == 1, (fault, done)
        assert message in done.stdout.decode(), (fault, done)
    # What was known before the crash is still said.
    done = device("info", PLUGIN, "--json", fault="compile-crash")
    report = json.loads(done.stdout)
    assert report["client"]["platform"] == "fault", report


@check
def info_of_other_files(folder: Path) -> None:
    for path in (folder / "missing.so", folder, Path(__file__), BUILD / "lib/fault_plugin_without_entry.so"):
        done = device("info", path)
        assert done.returncode == 1 and b"cannot be used" in done.stdout, done


@check
def doctor_tells_the_same(folder: Path) -> None:
    done = subprocess.run([BUILD / "bin/cupel", "doctor", "--device", PLUGIN, "--timeout", "1"],
                          env=dict(os.environ, CUPEL_FAULT="compile-hang"), stdout=subprocess.PIPE,
                          timeout=60, check=False)
    assert done.returncode == 1 and b"hangs in stage compile" in done.stdout, done
    done = subprocess.run([BUILD / "bin/cupel", "doctor", "--device", PLUGIN, "--json", "--option",
                           "fault=no-devices"], stdout=subprocess.PIPE, timeout=60, check=False)
    assert json.loads(done.stdout)["failure"]["class"] == "no_devices", done


@check
def doctor_looks_through_a_launcher(folder: Path) -> None:
    plugin = BUILD / "lib/pjrt_plugin_cupel.so"
    for launcher in (f"env {DEVICE}", f"sh -c 'exec \"$0\" \"$@\"' {DEVICE}"):
        done = cupel("doctor", "--device", plugin, "--device-launcher", launcher)
        assert done.returncode == 0 and "self-test    passed" in done.stdout, done
    for launcher, told in (("no-such-launcher", "cannot start"), ("'open", "is not closed"), (" ", "names no command")):
        done = cupel("doctor", "--device", plugin, "--device-launcher", launcher)
        assert done.returncode == 2 and told in done.stdout, done


@check
def wrong_usage(folder: Path) -> None:
    for arguments in ((), ("run",), ("run", PLUGIN), ("info", PLUGIN, "--option", "nonsense"),
                      ("info", PLUGIN, "--timeout", "-1"), ("dance",)):
        done = device(*arguments)
        assert done.returncode == 2 and done.stderr.startswith(b"cupel-device: error: "), done


def talk(requests: list[bytes], *arguments: object, fault: str = "") -> tuple[int, list[dict], bytes]:
    """Sends requests to `serve`; returns the exit code, the JSON lines and the bytes of files."""
    done = device("serve", PLUGIN, *arguments, fault=fault, stdin=b"".join(requests))
    lines, files, rest = [], b"", done.stdout
    while rest:
        line, rest = rest.split(b"\n", 1)
        lines.append(json.loads(line))
        for size in lines[-1].get("files", {}).values():
            files, rest = files + rest[:size], rest[size:]
    return done.returncode, lines, files


def run_request(program: bytes = b"echo 1", **more: object) -> bytes:
    inputs = safetensors({"0": [4.0, 5.0, 6.0]})
    header = {"do": "run", "files": {"program.mlirbc": len(program), "inputs.safetensors": len(inputs)},
              **more}
    return json.dumps(header).encode() + b"\n" + program + inputs


@check
def serve_runs_what_comes_through_the_pipe(folder: Path) -> None:
    code, lines, files = talk([run_request(), run_request(repeat=2)])
    assert code == 0, lines
    done = [line["done"] for line in lines if "done" in line]
    assert [d["outcome"] for d in done] == ["ran", "ran"], lines
    assert {"stage": "compile"} in lines, lines
    assert parse_safetensors(files[:len(files) // 2]) == {"0": [4.0, 5.0, 6.0]}
    # The second request found the plugin loaded.
    assert sum(line == {"stage": "load"} for line in lines) == 1, lines


@check
def serve_survives_crashes(folder: Path) -> None:
    code, lines, _ = talk([run_request(), run_request()], fault="execute-crash")
    done = [line["done"]["outcome"] for line in lines if "done" in line]
    assert code == 0 and done == ["crashed", "crashed"], lines


@check
def serve_answers_info(folder: Path) -> None:
    code, lines, _ = talk([b'{"do":"info","timeout":10}\n'])
    assert code == 0 and lines[-1]["done"]["client"]["platform"] == "fault", lines


@check
def serve_refuses_nonsense(folder: Path) -> None:
    for request in (b"nonsense\n", b'{"do":"run","files":{"../x":3}}\nabc', b'{"do":"run","files":7}\n',
                    b'{"do":"run","files":{"program.mlirbc":100}}\nshort',
                    b'{"do":"run","files":{"a":99999999999999}}\n'):
        code, lines, _ = talk([request])
        assert code == 2 and lines[-1]["done"]["outcome"] == "failed", (request, lines)
    code, lines, _ = talk([b'{"do":"dance"}\n', b'{"do":["run"],"timeout":"x"}\n'])
    assert code == 0 and len(lines) == 2, lines


PROGRAMS = """\
func.func @main() {
  %a = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %0 = stablehlo.abs %a : tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}
// -----
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
WRONG = """\
func.func @main() {
  %a = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %0 = stablehlo.negate %a : tensor<2xf32>
  check.expect_eq_const %0, dense<[-1.0, -2.0]> : tensor<2xf32>
  return
}
"""


def cupel(*arguments: object, fault: str = "") -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, CUPEL_FAULT=fault)
    return subprocess.run([BUILD / "bin/cupel", *map(str, arguments)], env=environment, timeout=120, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


@check
def programs_run_on_our_plugin(folder: Path) -> None:
    (folder / "p.mlir").write_text(PROGRAMS)
    (folder / "w.mlir").write_text(WRONG)
    done = cupel("eval", folder / "p.mlir", "--device", "cupel", "--print")
    assert done.returncode == 0 and done.stdout.endswith("2 passed, 0 failed\n"), done
    assert "tensor<4xf32>" in done.stdout, done
    done = cupel("eval", folder, "--device", "cupel")
    assert done.returncode == 1 and "2 passed, 1 failed" in done.stdout, done
    assert "check_failed: check 0" in done.stdout and "w.mlir:4:3" in done.stdout, done


@check
def programs_run_through_a_pipe(folder: Path) -> None:
    (folder / "p.mlir").write_text(PROGRAMS)
    (folder / "w.mlir").write_text(WRONG)
    remote = f"{BUILD / 'lib/pjrt_plugin_cupel.so'}@{DEVICE}"
    done = cupel("eval", folder, "--device", remote)
    assert done.returncode == 1 and "2 passed, 1 failed" in done.stdout, done
    assert "check_failed: check 0" in done.stdout, done
    done = cupel("eval", folder / "p.mlir", "--device", f"{PLUGIN}@{DEVICE}", fault="execute-crash")
    assert done.returncode == 2 and "SIGSEGV" in done.stdout or "device_lost" in done.stdout, done
    done = cupel("eval", folder / "p.mlir", "--device", f"{PLUGIN}@no-such-command")
    assert done.returncode == 2 and "cannot start" in done.stdout, done


@check
def launchers_are_read_as_a_shell_does(folder: Path) -> None:
    """Quotes, greetings of login scripts before the first answer, folders with spaces."""
    (folder / "p.mlir").write_text(PROGRAMS)
    plugin = BUILD / "lib/pjrt_plugin_cupel.so"
    spaced = folder / "a lab"
    spaced.mkdir()
    (spaced / "plugin.so").symlink_to(plugin)
    (spaced / "launch it").write_text('#!/bin/sh\necho Welcome to the lab\necho\nprintf "last login: > "\nexec "$@"\n')
    (spaced / "launch it").chmod(0o755)
    environment = dict(os.environ, PATH=f"{BUILD / 'bin'}:{os.environ['PATH']}")
    for launcher in (str(spaced / "launch it").replace(" ", "\\ "), f"'{spaced}/launch it'", f"""sh -c '"$0" "$@"; true' "{spaced}/launch it" """):
        done = subprocess.run([BUILD / "bin/cupel", "run", folder / "p.mlir", "--results", folder / "results", "--device", spaced / "plugin.so",
                               "--device-launcher", launcher], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


@check
def launchers_that_fail_say_why(folder: Path) -> None:
    (folder / "p.mlir").write_text(PROGRAMS)
    plugin = BUILD / "lib/pjrt_plugin_cupel.so"
    for launcher, told in (("sh -c 'echo no route to host >&2; exit 255'", "exit code 255; it said: no route to host"),
                           ("sh -c 'kill -9 $$'", "signal 9, SIGKILL"), ("sh -c 'unclosed", "a ' is not closed"),
                           ("sh -c 'echo this is a menu; exit 3'", "exit code 3); instead of answers came 'this is a menu'"),
                           ("no-such-launcher lab", "no-such-launcher: cannot start")):
        done = cupel("run", folder / "p.mlir", "--results", folder / "results", "--device", plugin, "--device-launcher", launcher)
        assert done.returncode == 1 and told in done.stdout, (launcher, done.stdout)


@check
def a_bad_plugin_gives_one_failure_each(folder: Path) -> None:
    (folder / "p.mlir").write_text(PROGRAMS)
    done = cupel("eval", folder / "p.mlir", "--device", PLUGIN, fault="compile-error")
    assert done.stdout.count("invalid_program: PJRT_Client_Compile: INVALID_ARGUMENT: op 'x.y'") == 2, done
    done = cupel("eval", folder / "p.mlir", "--device", PLUGIN, "--timeout", 1, fault="event-never")
    assert "timeout: PJRT_LoadedExecutable_Execute" in done.stdout and "device_lost" in done.stdout, done
    done = cupel("eval", folder / "p.mlir", "--device", PLUGIN, fault="client-null")
    assert done.returncode == 2 and "no client" in done.stdout, done
    done = cupel("eval", folder / "p.mlir", "--device", "nonsense")
    assert done.returncode == 2 and "is not known" in done.stdout, done


@check
def saved_workloads_run_elsewhere(folder: Path) -> None:
    (folder / "p.mlir").write_text(PROGRAMS)
    done = cupel("eval", folder / "p.mlir", "--save-workload", folder / "saved")
    assert done.returncode == 0 and "2 saved, 0 failed" in done.stdout, done
    paths = sorted((folder / "saved").iterdir())
    assert [path.name for path in paths] == ["p-0", "p-1"], paths
    assert (paths[0] / "program-v1.0.0.mlirbc").exists() and (paths[0] / "constants.safetensors").exists()
    done = device("run", BUILD / "lib/pjrt_plugin_cupel.so", *paths)
    assert done.returncode == 0 and b"2 workloads, 2 as expected" in done.stdout, done
    # The fault plugin gives back its first argument, which is wrong for both.
    done = device("run", PLUGIN, *paths)
    assert done.returncode == 1 and done.stdout.count(b"incorrect") == 2, done


@check
def no_process_is_left_behind(folder: Path) -> None:
    path = workload(folder)
    marker = folder / "marker_plugin.so"
    marker.symlink_to(PLUGIN)
    device("run", marker, path, "--timeout", 1, fault="compile-hang")
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes()
        except OSError:
            continue
        assert str(marker).encode() not in words, words


def left_behind(word: str) -> list[bytes]:
    """Command lines of processes that still have this word, after a moment."""
    for _ in range(50):
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                found += [line for line in [entry.read_bytes()] if word.encode() in line]
            except OSError:
                continue
        if not found:
            break
        time.sleep(0.1)
    return found


@check
def a_hanging_plugin_goes_down_with_us(folder: Path) -> None:
    """Whatever ends cupel-device: the plugin's process would go on holding the device."""
    path = workload(folder)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        marker = folder / f"marker_{number}.so"
        marker.symlink_to(PLUGIN)
        process = subprocess.Popen([DEVICE, "run", marker, path], env=dict(os.environ, CUPEL_FAULT="compile-hang"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   # These are ignored where the tests were started in the background or by nohup.
                                   preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in (signal.SIGINT, signal.SIGHUP)])
        time.sleep(0.5)
        process.send_signal(number)
        assert process.wait(20) == -number, process.returncode
        assert not left_behind(str(marker)), number


@check
def serve_ends_when_nobody_listens(folder: Path) -> None:
    """As when the connection to a lab is lost while its plugin hangs."""
    marker = folder / "marker_plugin.so"
    marker.symlink_to(PLUGIN)
    process = subprocess.Popen([DEVICE, "serve", marker], env=dict(os.environ, CUPEL_FAULT="compile-hang"),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdin.write(run_request(timeout=1000))
    process.stdin.flush()
    while b"compile" not in process.stdout.readline():
        pass
    process.stdout.close()
    process.wait(20)
    process.stdin.close()
    assert not left_behind(str(marker))


@check
def it_runs_in_a_bare_folder(folder: Path) -> None:
    """A root with glibc and nothing else, not even /proc."""
    if os.geteuid() != 0 or "san" in subprocess.run(["ldd", DEVICE], stdout=subprocess.PIPE, check=True).stdout.decode():
        return
    for file in {DEVICE, PLUGIN}:
        listed = subprocess.run(["ldd", file], stdout=subprocess.PIPE, check=True).stdout.decode()
        for library in re.findall(r"(/\S+\.so\S*) \(", listed):
            target = folder / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(Path(library).read_bytes())
            target.chmod(0o755)
        (folder / file.name).write_bytes(file.read_bytes())
        (folder / file.name).chmod(0o755)
    workload(folder, expected=[1, 2, 3])
    done = subprocess.run(["chroot", folder, "/cupel-device", "run", "/fault_plugin.so", "/w"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0 and done.stdout.startswith(b"passed"), done


@check
def it_needs_nothing_but_glibc(folder: Path) -> None:
    needed = subprocess.run(["objdump", "-p", DEVICE], stdout=subprocess.PIPE, check=True).stdout.decode()
    libraries = set(re.findall(r"NEEDED\s+(\S+)", needed))
    if "libasan" in needed or any("san" in name for name in libraries):
        return
    allowed = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2",
               "ld-linux-aarch64.so.1"}
    assert libraries <= allowed, libraries
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+\.\d+)", needed)}
    assert max(versions) <= (2, 34), sorted(versions)
    assert DEVICE.stat().st_size < 8 << 20


def main() -> int:
    failed = 0
    wanted = sys.argv[1:]
    chosen = [c for c in CHECKS if not wanted or any(w in c.__name__ for w in wanted)]
    for test in chosen:
        with tempfile.TemporaryDirectory(prefix="cupel-check-device-") as folder:
            try:
                test(Path(folder))
            except Exception as error:  # noqa: BLE001 - every kind of failure is one line
                failed += 1
                print(f"FAILED {test.__name__}: {type(error).__name__}: {str(error)[:2000]}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
