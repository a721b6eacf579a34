// One test in one run: what happened, why, how good its results are, what it printed, its history, and how to run it again.
"use strict";
(function (C) {
  C.views = C.views || {};
  function comparisons(list) {
    const figure = (value, limit, asserted) => (value === undefined || value === null ? "–" : C.figure(value) + (limit === undefined ? "" : " (limit " + C.figure(limit) + (asserted ? "" : ", not asserted") + ")"));
    return C.table({ label: "Outputs", word: "output", file: "outputs", rows: list, height: Math.min(320, list.length * 28 + 48), columns: [
      { title: "Output", width: 90, number: true, value: (one) => one.output },
      { title: "Verdict", width: 110, value: (one) => (one.passed ? "passed" : "failed"), cell: (one) => C.state(one.passed ? "passed" : "failed") },
      { title: "PCC", width: 190, value: (one) => C.figure(one.pcc), cell: (one) => figure(one.pcc, one.pcc_threshold, one.pcc_asserted) },
      { title: "Max absolute", width: 200, value: (one) => C.figure(one.max_absolute), cell: (one) => figure(one.max_absolute, one.atol_threshold, one.atol_asserted) },
      { title: "Relative L2", width: 110, value: (one) => C.figure(one.relative_l2) },
      { title: "Worst, in noise", width: 150, value: (one) => C.figure(one.worst_in_noise) },
      { title: "Rule", width: 100, value: (one) => one.rule || "" },
      { title: "Sentence", width: 620, value: (one) => one.sentence || "", title_of: (one) => one.sentence || null },
    ] }).element;
  }
  function flakiness(history) {
    const verdicts = history.filter((row) => !["skipped", "unjudged", "interrupted", "not run"].includes(row.outcome));
    let changes = 0;
    for (let i = 1; i < verdicts.length; ++i) changes += C.isBad(verdicts[i].outcome) !== C.isBad(verdicts[i - 1].outcome);
    const flaky = history.filter((row) => row.flaky).length;
    if (verdicts.length < 2) return "too few runs to say";
    return (changes ? "changed sides " + C.plural(changes, "time") : "never changed sides") + " in " + C.plural(verdicts.length, "run") +
      (flaky ? ", and differed between tries of one run " + C.plural(flaky, "time") : "");
  }

  C.views.test = async function (main, parameters) {
    const name = parameters.get("name") || "", run = parameters.get("run") || "";
    const { run: info, test, commands, history, has_workload: hasWorkload } = await C.get("test", { name, run });
    document.title = test.id + " – Cupel";
    main.append(C.make("h1", {}, test.suite + "::" + test.id));
    const verdict = (test.comparisons || []).find((one) => !one.passed) || (test.comparisons || [])[0];
    main.append(C.make("p", { class: "verdict" }, C.state(test.outcome, test.flaky ? "(flaky)" : ""), " ", test.message || (verdict && verdict.sentence) || "",
      test.last_stage && test.last_stage !== "done" ? " – stopped in stage " + test.last_stage : ""));
    if (test.reasons && test.reasons.length) {
      const [first, ...others] = test.reasons;
      main.append(C.make("p", { class: "reason" }, C.make("b", {}, first.name), first.description ? ": " + first.description : "", first.component ? " [" + first.component + "]" : "",
        first.summary ? " – " + first.summary : "", others.length ? " (also fits: " + others.map((one) => one.name).join(", ") + ")" : ""));
    }
    main.append(C.facts([
      ["Run", C.make("a", { href: C.link("overview", { run: info.id }) }, info.id + ", " + C.when(info.started_at) + " UTC")],
      ["Architecture", info.arch], ["Device", test.device || info.device], ["Configured", test.test_status], ["Bring-up", test.bringup_status],
      ["Guidance", (test.guidance || []).join(", ")], ["Took", C.seconds(test.seconds)], ["Peak memory", test.peak_memory_bytes ? C.bytes(test.peak_memory_bytes) : ""],
      ["Model", [test.model_name || test.model_path, test.variant, test.task, test.source, test.framework].filter(Boolean).join(" · ")],
      ["Markers", (test.markers || []).join(" ")], ["Tries", test.attempts > 1 ? (test.try_outcomes || []).join(", ") : ""],
      ["File", test.file], ["Error class", test.error_class], ["Signal", test.signal], ["Exit code", test.exit_code],
    ]));
    main.append(C.make("h2", {}, "Run it again"), ...commands.map((command) => C.make("p", { class: "command" }, C.make("code", {}, command), C.copyButton(command))));
    const quoted = "'" + (test.suite + "::" + test.id).replaceAll("'", "'\\''") + "'";
    main.append(C.make("h2", {}, "Look at its graph"), C.isStatic ? "" : C.make("p", {}, C.make("a", { class: "open-graph", href: C.link("graph", { key: test.suite + "::" + test.id }) }, "Open its graph"), " – every stage of its compilation, where it goes wrong, and jobs that run, explain and change it"), C.make("p", { class: "command" }, C.make("code", {}, "cupel explore " + quoted + " --open"), C.copyButton("cupel explore " + quoted + " --open")));
    const downloads = [];
    if (hasWorkload && !C.isStatic) downloads.push(C.make("a", { href: "api/v1/workload?" + new URLSearchParams({ name: test.suite + "::" + test.id, run: info.id }), download: "" }, "Workload (tar)"));
    else if (test.reproduction) downloads.push("Workload: " + test.reproduction);
    if (!C.isStatic) for (const artifact of test.artifacts || [])
      downloads.push(C.make("a", { href: "api/v1/artifact?" + new URLSearchParams({ sha256: artifact.sha256, name: artifact.name }), download: "" }, artifact.name + " (" + C.bytes(artifact.bytes) + ")"));
    if (downloads.length) main.append(C.make("p", { class: "bar" }, ...downloads));
    if (test.stages && test.stages.length) main.append(C.make("h2", {}, "Stages"), C.barPlot("stages", "Time by stage", test.stages.map((stage) => ({ name: stage.stage, value: stage.seconds, text: C.seconds(stage.seconds) }))));
    if (test.comparisons && test.comparisons.length) main.append(C.make("h2", {}, "Results against what is expected"), comparisons(test.comparisons));
    const oldest = [...history].reverse();
    main.append(C.make("h2", {}, "History"), C.make("p", {}, C.sparkline(oldest)), C.make("p", { class: "flakiness" }, "Flakiness: " + flakiness(oldest) + "."));
    const xs = oldest.map((row) => row.run.slice(4, 6) + "-" + row.run.slice(6, 8));
    if (oldest.length > 1) main.append(C.make("div", { class: "two" },
      C.make("div", {}, C.make("h2", {}, "Time"), C.linePlot("time", "Time by run", xs, [{ values: oldest.map((row) => row.seconds) }], C.seconds, true)),
      oldest.some((row) => typeof row.pcc === "number") ? C.make("div", {}, C.make("h2", {}, "PCC"), C.linePlot("pcc", "PCC by run", xs, [{ values: oldest.map((row) => row.pcc) }], C.figure)) : ""));
    if (test.notes && test.notes["op table"]) main.append(C.make("p", {}, C.make("a", { href: C.link("ops", { name: test.suite + "::" + test.id, run: info.id }) }, "Operation by operation")));
    const notes = Object.entries(test.notes || {}).filter(([key]) => key !== "explanation");
    if (notes.length) main.append(C.make("h2", {}, "Notes"), C.facts(notes));
    if (test.notes && test.notes.explanation) {
      let explained = null;
      try { explained = JSON.parse(test.notes.explanation); } catch { /* Then it is a text. */ }
      main.append(C.make("h2", {}, "Explanation"), explained && explained.sentence ? C.make("p", {}, explained.sentence) : C.make("pre", {}, test.notes.explanation));
    }
    if (test.output) main.append(C.make("h2", {}, "What it printed"), C.make("pre", { tabindex: "0", "aria-label": "Output" }, test.output));
    main.append(C.make("h2", {}, "Outcomes"), C.table({ label: "Outcomes of this test", word: "run", file: "history", rows: history, height: Math.min(360, history.length * 28 + 48),
      open: (row) => C.link("test", { name: test.suite + "::" + test.id, run: row.run }), columns: [
        { title: "Run", width: 200, value: (row) => row.run, cell: (row) => C.make("a", { href: C.link("test", { name: test.suite + "::" + test.id, run: row.run }), tabindex: "-1" }, row.run) },
        { title: "Outcome", width: 140, value: (row) => row.outcome, cell: (row) => C.state(row.outcome, row.flaky ? "(flaky)" : "") },
        { title: "Time", width: 100, number: true, value: (row) => row.seconds, cell: (row) => C.seconds(row.seconds) },
        { title: "PCC", width: 100, number: true, value: (row) => row.pcc, cell: (row) => C.figure(row.pcc) },
        { title: "Why", width: 700, value: (row) => row.reason || row.message || "" },
      ] }).element);
  };

  C.views.ops = async function (main, parameters) {
    const table = await C.get("op-table", { name: parameters.get("name") || "", run: parameters.get("run") || "" });
    main.append(C.make("h1", {}, table.test), C.make("p", { class: "hint" }, "Operation by operation on " + table.device), C.table({ label: "Operations", word: "operation", file: "operations", rows: table.ops, columns: [
      { title: "Operation", width: 280, value: (op) => op.name }, { title: "Count", width: 70, number: true, value: (op) => op.count },
      { title: "Came to", width: 210, value: (op) => op.status, cell: (op) => C.stateText(op.failure || op.passed === false ? "Failure" : op.passed ? "Pass" : "Unjudged", op.status.toLowerCase().replaceAll("_", " ")) },
      { title: "PCC", width: 90, number: true, value: (op) => op.pcc, cell: (op) => C.figure(op.pcc) }, { title: "Inputs", width: 320, value: (op) => op.inputs }, { title: "Outputs", width: 200, value: (op) => op.outputs },
      { title: "Execute", width: 90, number: true, value: (op) => op.execute_seconds, cell: (op) => C.seconds(op.execute_seconds) }, { title: "Why", width: 500, value: (op) => op.error || op.sentence || "" },
    ] }).element);
  };
})(window.Cupel);
