// How states look: every family of outcomes has a colour, a shape of its own and its word.
"use strict";
(function (C) {
  const FAMILIES = {
    "passed": "Pass", "failed": "Failure", "xfailed": "KnownFailure", "xpassed": "UnexpectedPass", "skipped": "Skip", "unjudged": "Unjudged",
    "crashed": "Crash", "timed out": "Limit", "out of memory": "Limit", "interrupted": "NoResult", "not run": "NoResult",
  };
  // Paths in a box of 12: tick, cross, wave, star, dash, question ring, bolt, hourglass, dots.
  const SHAPES = {
    Pass: "M1 6.5 4.5 10 11 2.5 9.6 1.2 4.4 7.3 2.3 5.2z",
    Failure: "M2 .8.8 2 4.8 6 .8 10 2 11.2l4-4 4 4 1.2-1.2-4-4 4-4L10 .8l-4 4z",
    KnownFailure: "M0 7q3-5 6-1.500T12 4v2.500q-3 5-6 1.500T0 9.500z",
    UnexpectedPass: "M6 .5 7.600 4.300 11.700 4.600 8.500 7.300 9.500 11.400 6 9.200 2.500 11.400 3.500 7.300.3 4.600 4.400 4.300z",
    Skip: "M1 5h10v2H1z",
    Unjudged: "M6 .5a5.500 5.500 0 1 0 .01 0zM6 2.500a3.500 3.500 0 1 1-.01 0z",
    Crash: "M7.500 0 1.500 7h3.500L4 12l6.500-7.500H7z",
    Limit: "M1.500 0h9v1.500L7 6l3.500 4.500V12h-9v-1.500L5 6 1.500 1.500z",
    NoResult: "M0 4.800h2.500v2.400H0zM4.800 4.800h2.400v2.400H4.800zM9.500 4.800H12v2.400H9.500z",
  };
  const BRINGUP = { PASSED: "Pass", INCORRECT_RESULT: "Failure", FAILED_FE_COMPILATION: "Crash", FAILED_TTMLIR_COMPILATION: "KnownFailure",
    FAILED_RUNTIME: "Limit", NOT_STARTED: "NoResult", UNKNOWN: "Skip" };
  const MEANINGS = { passed: "as it should be", failed: "an error, or a wrong result", xfailed: "failed, as its configuration expects", xpassed: "passed, although its configuration expects it to fail", skipped: "not to be run here",
    unjudged: "ran, and nothing could judge its result", crashed: "its process died", "timed out": "took longer than it may", "out of memory": "needed more memory than there is", interrupted: "its run was stopped", "not run": "its turn never came" };
  C.meaning = (outcome) => MEANINGS[outcome] || "";
  C.familyOf = (outcome) => FAMILIES[outcome] || "NoResult";
  C.isBad = (outcome) => ["Failure", "Crash", "Limit", "UnexpectedPass", "NoResult"].includes(C.familyOf(outcome));
  C.bringupFamily = (status) => BRINGUP[status] || "Skip";
  C.outcomes = Object.keys(FAMILIES);
  C.bringups = Object.keys(BRINGUP);
  C.colour = (family) => getComputedStyle(document.documentElement).getPropertyValue(
    { Pass: "--good", Failure: "--bad", KnownFailure: "--known", UnexpectedPass: "--better", Skip: "--skip", Unjudged: "--unjudged", Crash: "--crash", Limit: "--limit", NoResult: "--none" }[family]).trim();
  C.shape = (family) => C.svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, C.svg("path", { d: SHAPES[family], fill: "currentColor" }));
  C.stateText = (family, word) => C.make("span", { class: "state " + family }, C.shape(family), word);
  C.state = (outcome, more) => C.stateText(C.familyOf(outcome), more ? outcome + " " + more : outcome);
  // A test that nobody has begun with: a placeholder of the zoo.
  C.isPlaceholder = (row) => row.suite === "placeholder" || row.bringup_status === "NOT_STARTED";
})(window.Cupel);
