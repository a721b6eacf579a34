"""Reads a JUnit file as the scripts of CI systems do, and checks its structure."""

from __future__ import annotations

import ast
import json
import sys
import xml.etree.ElementTree as ET

ALWAYS = {"test_name", "specific_test_case", "category", "model_info", "run_phase", "bringup_status", "model_test_status",
          "failing_reason", "guidance"}


def check(path: str) -> int:
    root = ET.parse(path).getroot()
    assert root.tag == "testsuites", root.tag
    suites = root.findall("testsuite")
    assert len(suites) == 1
    suite = suites[0]
    cases = suite.findall("testcase")
    children = {name: sum(case.find(name) is not None for case in cases) for name in ("failure", "error", "skipped")}
    assert int(suite.get("tests")) == len(cases)
    assert int(suite.get("failures")) == children["failure"], children
    assert int(suite.get("errors")) == children["error"], children
    assert int(suite.get("skipped")) == children["skipped"], children
    float(suite.get("time"))
    names = set()
    for case in cases:
        assert case.get("classname") and case.get("name")
        names.add((case.get("classname"), case.get("name")))
        float(case.get("time"))
        verdicts = [child for child in case if child.tag in children]
        assert len(verdicts) <= 1
        for verdict in verdicts:
            assert verdict.get("message")
        properties = {p.get("name"): p.get("value") for p in case.find("properties").findall("property")}
        assert "owner" in properties
        tags = json.loads(properties["tags"])
        assert ALWAYS <= tags.keys(), ALWAYS - tags.keys()
        # Scripts that expect a Python dict get one, with the same contents.
        assert ast.literal_eval(properties["tags"]) == tags
        # Scripts that turn a Python dict into JSON by replacing words get a dict too.
        text = properties["tags"].replace("'", '"').replace("None", "null").replace("True", "true").replace("False", "false")
        assert isinstance(json.loads(text.replace("nan", "null").replace("inf", "null")), dict)
        if case.get("classname") == "tests.runner.test_models":
            function, bracket, rest = case.get("name").partition("[")
            assert bracket and rest.endswith("]") and function.startswith("test_")
            assert tags["test_name"] == function
    assert len(names) == len(cases), "two cases of one name"
    print(f"{len(cases)} cases, {children}")
    return 0


if __name__ == "__main__":
    sys.exit(check(sys.argv[1]))
