// Runs over time: how bring-up goes, how outcomes go, which runs there were, how healthy devices are.
"use strict";
(function (C) {
  C.views = C.views || {};
  function stacked(runs, field, words, family) {
    return words.filter((word) => runs.some((run) => run[field][word])).map((word) => ({ name: word.toLowerCase().replaceAll("_", " "), family: family(word), values: runs.map((run) => run[field][word] || 0) }));
  }
  C.views.trends = async function (main, parameters) {
    const all = (await C.get("trend", {})).runs;
    const chips = [...new Set(all.map((run) => C.chipOf(run.arch, run.device)))].sort();
    const chip = parameters.get("chip") || "";
    const runs = all.filter((run) => !chip || C.chipOf(run.arch, run.device) === chip);
    main.append(C.make("h1", {}, "Over time"), C.make("div", { class: "bar" }, C.selectBox("Architecture", [["", "all"], ...chips.map((one) => [one, one])], chip, (value) => { location.hash = C.link("trends", { chip: value }); })));
    if (!runs.length) { main.append(C.make("p", { class: "hint" }, "No runs yet.")); return; }
    const xs = runs.map((run) => run.id.slice(4, 6) + "-" + run.id.slice(6, 8) + " " + run.id.slice(9, 11) + ":" + run.id.slice(11, 13));
    main.append(C.make("div", { class: "two" },
      C.make("div", {}, C.make("h2", {}, "Bring-up"), C.areaPlot("bringup", "Tests by bring-up status, run after run", xs, stacked(runs, "bringup", C.bringups, C.bringupFamily))),
      C.make("div", {}, C.make("h2", {}, "Outcomes"), C.areaPlot("outcomes", "Tests by outcome, run after run", xs, stacked(runs, "outcomes", C.outcomes, C.familyOf))),
      C.make("div", {}, C.make("h2", {}, "Time of all tests"), C.linePlot("seconds", "Seconds of all tests, run after run", xs, [{ values: runs.map((run) => run.seconds) }], C.seconds, true))));
    const count = (run, words) => words.reduce((sum, word) => sum + (run.outcomes[word] || 0), 0);
    const devices = new Map();
    for (const run of all) {
      const name = C.chipOf(run.arch, run.device), one = devices.get(name) || { name, runs: 0, tests: 0, crashed: 0, late: 0, memory: 0, last: run };
      one.runs += 1; one.tests += count(run, C.outcomes); one.crashed += count(run, ["crashed"]); one.late += count(run, ["timed out"]); one.memory += count(run, ["out of memory"]); one.last = run;
      devices.set(name, one);
    }
    main.append(C.make("h2", {}, "Health of devices"), C.table({ label: "Devices", word: "device", file: "devices", rows: [...devices.values()], height: Math.min(300, devices.size * 28 + 48), columns: [
      { title: "Device", width: 260, value: (one) => one.name }, { title: "Runs", width: 70, number: true, value: (one) => one.runs }, { title: "Tests", width: 90, number: true, value: (one) => one.tests },
      { title: "Crashed", width: 90, number: true, value: (one) => one.crashed }, { title: "Timed out", width: 100, number: true, value: (one) => one.late }, { title: "Out of memory", width: 140, number: true, value: (one) => one.memory },
      { title: "Crashes a thousand", width: 190, number: true, value: (one) => (one.tests ? (1000 * one.crashed) / one.tests : 0), cell: (one) => (one.tests ? ((1000 * one.crashed) / one.tests).toFixed(2) : "–") },
      { title: "Last seen", width: 160, value: (one) => C.when(one.last.started_at) },
    ] }).element);
    main.append(C.make("h2", {}, "Runs"), C.table({ label: "Runs", word: "run", file: "runs", rows: [...runs].reverse(), height: 420, open: (run) => C.link("overview", { run: run.id }), columns: [
      { title: "Run", width: 200, value: (run) => run.id, cell: (run) => C.make("a", { href: C.link("overview", { run: run.id }), tabindex: "-1" }, run.id) },
      { title: "Began (UTC)", width: 160, value: (run) => C.when(run.started_at) }, { title: "Architecture", width: 180, value: (run) => C.chipOf(run.arch, run.device) },
      { title: "Tests", width: 80, number: true, value: (run) => count(run, C.outcomes) }, { title: "Passed", width: 80, number: true, value: (run) => count(run, ["passed"]) },
      { title: "Bad", width: 80, number: true, value: (run) => C.outcomes.filter((word) => C.isBad(word)).reduce((sum, word) => sum + (run.outcomes[word] || 0), 0) },
      { title: "Time", width: 90, number: true, value: (run) => run.seconds, cell: (run) => C.seconds(run.seconds) },
      { title: "Commit", width: 200, value: (run) => run.commit || "" },
      { title: "State", width: 120, value: (run) => (run.ended_at ? "ended" : "running or killed") },
    ] }).element);
  };
})(window.Cupel);
