// What to do first: reasons, fixes and what they unlock; thresholds; operators; where the time goes.
"use strict";
(function (C) {
  C.views = C.views || {};
  async function runBar(main, view, parameters, first = "latest") {
    const run = parameters.get("run") || "";
    if (C.isStatic) return run;
    const runs = (await C.get("runs", { limit: 500 })).runs;
    main.append(C.make("div", { class: "bar" }, C.selectBox("Run", [["", first], ...runs.map((one) => [one.id, C.when(one.started_at) + "  " + C.chipOf(one.arch, one.device) + "  (" + one.finished + ")"])], run,
      (value) => { location.hash = C.link(view, { run: value }); })));
    return run;
  }
  const testLink = (name, run) => C.make("a", { href: C.link("test", { name, run }), tabindex: "-1" }, name);

  C.views.fix = async function (main, parameters) {
    main.append(C.make("h1", {}, "What to fix first"));
    const run = await runBar(main, "fix", parameters);
    const [triage, table] = await Promise.all([C.get("triage", { run }), C.overview(run || "latest")]);
    const shown = (triage.runs || [])[0] || "";
    main.append(C.make("p", {}, triage.passing + " of " + triage.total + " tests pass."));
    const reasons = new Map();
    for (let i = 0; i < table.count; ++i) if (table.columns.reason[i]) reasons.set(table.columns.reason[i], (reasons.get(table.columns.reason[i]) || 0) + 1);
    const top = [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 12);
    if (top.length) main.append(C.make("h2", {}, "Top reasons"), C.barPlot("reasons", "Tests by reason", top.map(([name, value]) => ({ name, value, text: String(value) }))));
    main.append(C.make("h2", {}, "Fixing one thing"), C.table({ label: "Fixes", word: "cause", file: "fixes", rows: triage.fixes, height: Math.min(420, triage.fixes.length * 28 + 48), columns: [
      { title: "Fixing", width: 380, value: (fix) => fix.name, title_of: (fix) => fix.name }, { title: "Kind", width: 120, value: (fix) => fix.kind },
      { title: "Unlocks tests", width: 140, number: true, value: (fix) => fix.unlocks_tests }, { title: "Unlocks models", width: 150, number: true, value: (fix) => fix.unlocks_models },
      { title: "Touches tests", width: 140, number: true, value: (fix) => fix.touches_tests },
      { title: "In common", width: 260, value: (fix) => Object.entries(fix.shared || {}).map(([key, value]) => key + " " + value).join(", ") },
      { title: "For example", width: 480, value: (fix) => fix.unlocked[0] || fix.touched[0] || "", cell: (fix) => (fix.unlocked[0] || fix.touched[0] ? testLink(fix.unlocked[0] || fix.touched[0], shown) : "") },
    ] }).element);
    if (triage.together.length) main.append(C.make("h2", {}, "Fixing several together"), C.table({ label: "Joint fixes", word: "set", file: "together", rows: triage.together, height: Math.min(300, triage.together.length * 28 + 48), columns: [
      { title: "Fixing all of", width: 620, value: (fix) => fix.causes.map((cause) => cause.name).join(", ") }, { title: "Unlocks tests", width: 140, number: true, value: (fix) => fix.unlocks_tests },
      { title: "Unlocks models", width: 150, number: true, value: (fix) => fix.unlocks_models }] }).element);
    main.append(C.make("h2", {}, "All that fail"), C.table({ label: "Failing tests", word: "test", file: "failing", rows: triage.failing, height: Math.min(480, triage.failing.length * 28 + 48), open: (one) => C.link("test", { name: one.test, run: shown }), columns: [
      { title: "Test", width: 480, value: (one) => one.test, cell: (one) => testLink(one.test, shown) }, { title: "Model", width: 240, value: (one) => one.model },
      { title: "Known", width: 80, value: (one) => (one.known ? "known" : "") }, { title: "Causes", width: 520, value: (one) => one.causes.map((cause) => cause.name).join(", ") }] }).element);
  };

  C.views.thresholds = async function (main, parameters) {
    main.append(C.make("h1", {}, "Thresholds"));
    const run = await runBar(main, "thresholds", parameters);
    const data = await C.get("thresholds", { run });
    const off = data.tests.filter((one) => !one.asserted && !one.atol_asserted && one.rule !== "strict").length, low = data.tests.filter((one) => one.asserted && one.pcc_threshold < 0.99).length;
    main.append(C.make("div", { class: "tiles" }, C.make("span", { class: "tile" }, C.make("b", {}, off), "judged by nothing that is asserted"), C.make("span", { class: "tile" }, C.make("b", {}, low), "with a PCC limit below 0.99"),
      C.make("span", { class: "tile" }, C.make("b", {}, data.tests.filter((one) => one.only_as_configured).length), "pass only as configured")));
    main.append(C.table({ label: "What tests are held to", word: "test", file: "thresholds", rows: data.tests, sort: 2, height: 480, open: (one) => C.link("test", { name: one.test, run: data.run }), columns: [
      { title: "Test", width: 440, value: (one) => one.test, cell: (one) => testLink(one.test, data.run) }, { title: "Outcome", width: 130, value: (one) => one.outcome, cell: (one) => C.state(one.outcome) },
      { title: "PCC limit", width: 100, number: true, value: (one) => one.pcc_threshold, cell: (one) => C.figure(one.pcc_threshold) }, { title: "Asserted", width: 90, value: (one) => (one.asserted ? "yes" : "no") },
      { title: "PCC", width: 100, number: true, value: (one) => one.pcc, cell: (one) => C.figure(one.pcc) }, { title: "Max absolute", width: 120, number: true, value: (one) => one.atol, cell: (one) => C.figure(one.atol) },
      { title: "Rule", width: 100, value: (one) => one.rule }, { title: "Only as configured", width: 150, value: (one) => (one.only_as_configured ? "yes" : "") }, { title: "Guidance", width: 240, value: (one) => one.guidance.join(", ") }] }).element);
    main.append(C.make("h2", {}, "Ledger of lowered thresholds"), data.lowered.length ? C.table({ label: "Lowered thresholds", word: "entry", file: "ledger", rows: data.lowered, height: 300, columns:
      [...new Set(data.lowered.flatMap((entry) => Object.keys(entry)))].map((key) => ({ title: key, width: 200, value: (entry) => (Array.isArray(entry[key]) ? entry[key].join(", ") : entry[key]) })) }).element
      : C.make("p", { class: "hint" }, "None was lowered (cupel accept --allow-lower-pcc writes one down)."));
  };

  C.views.operators = async function (main, parameters) {
    main.append(C.make("h1", {}, "Operators"));
    const run = await runBar(main, "operators", parameters, "every test as it ran last");
    const data = await C.get("operators", { run: C.isStatic ? "" : run || "all" });
    const types = [...new Set(data.operators.map((one) => one.dtype + " on " + one.arch))].sort(), ops = new Map();
    for (const one of data.operators) {
      if (!ops.has(one.op)) ops.set(one.op, { op: one.op });
      ops.get(one.op)[one.dtype + " on " + one.arch] = one;
    }
    const text = (one) => (one ? one.passed + " of " + (one.passed + one.failed + one.other) : null);
    main.append(data.operators.length ? C.table({ label: "Operators by element type and architecture", word: "operator", file: "operators", rows: [...ops.values()], columns: [
      { title: "Operator", width: 320, value: (row) => row.op }, ...types.map((type) => ({ title: type, width: 170, value: (row) => text(row[type]),
        cell: (row) => (row[type] ? C.stateText(row[type].failed ? "Failure" : row[type].passed ? "Pass" : "Unjudged", text(row[type])) : "") }))] }).element
      : C.make("p", { class: "hint" }, "This run has no operator cases and no tables of operations (cupel run --depth execute-op-by-op makes them)."));
    if (data.tables.length) main.append(C.make("h2", {}, "Models, operation by operation"), C.table({ label: "Tables of operations", word: "model", file: "op-tables", rows: data.tables, height: 300, open: (one) => C.link("ops", { name: one.test, run: one.run }), columns: [
      { title: "Test", width: 420, value: (one) => one.test, cell: (one) => C.make("a", { href: C.link("ops", { name: one.test, run: one.run }), tabindex: "-1" }, one.test) }, { title: "Outcome", width: 130, value: (one) => one.outcome, cell: (one) => C.state(one.outcome) },
      { title: "Where", width: 160, value: (one) => one.arch }, { title: "Operations", width: 110, number: true, value: (one) => one.operations }, { title: "Different", width: 100, number: true, value: (one) => one.unique }, { title: "Stop it", width: 90, number: true, value: (one) => one.stopping }, { title: "", width: 300, value: (one) => one.error || "" }] }).element);
  };

  C.views.durations = async function (main, parameters) {
    main.append(C.make("h1", {}, "Where the time goes"));
    const run = await runBar(main, "durations", parameters);
    const data = await C.get("durations", { run });
    const bars = (list, key) => [...list].sort((a, b) => b.seconds - a.seconds).map((one) => ({ name: one[key] + " (" + one.tests + ")", value: one.seconds, text: C.seconds(one.seconds) }));
    main.append(C.make("div", { class: "two" }, C.make("div", {}, C.make("h2", {}, "Stages"), C.barPlot("stages", "Time by stage", bars(data.stages, "stage"))), C.make("div", {}, C.make("h2", {}, "Suites"), C.barPlot("suites", "Time by suite", bars(data.suites, "suite")))));
    const all = data.suites.reduce((sum, one) => sum + one.seconds, 0);
    main.append(C.make("h2", {}, "The slowest"), C.table({ label: "Slowest tests", word: "test", file: "slowest", rows: data.slowest, height: 480, open: (one) => C.link("test", { name: one.test, run: data.run }), columns: [
      { title: "Test", width: 560, value: (one) => one.test, cell: (one) => testLink(one.test, data.run) }, { title: "Time", width: 110, number: true, value: (one) => one.seconds, cell: (one) => C.seconds(one.seconds) },
      { title: "Share", width: 100, number: true, value: (one) => one.seconds / (all || 1), cell: (one) => ((100 * one.seconds) / (all || 1)).toFixed(1) + " %" }] }).element);
  };
})(window.Cupel);
