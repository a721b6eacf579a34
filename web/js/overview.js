// The overview: tests by architectures, filtered by the expressions of -k and -m and by fields, grouped, one click from a test.
"use strict";
(function (C) {
  const FIELDS = [["suite", "Suite"], ["framework", "Framework"], ["family", "Family"], ["task", "Task"], ["source", "Source"], ["group", "Group"],
    ["parallelism", "Parallelism"], ["run_mode", "Mode"], ["test_status", "Configured"], ["bringup_status", "Bring-up"], ["outcome", "Outcome"], ["reason", "Reason"]];
  const SHOWN = { status: "Status", bringup: "Bring-up", pcc: "PCC", time: "Time" };

  // Tests with a cell an architecture; `chosen` says which rows of the overview count.
  function gather(table, chosen) {
    const { suite, id, arch, device, outcome } = table.columns, tests = new Map(), chips = new Map();
    for (let i = 0; i < table.count; ++i) {
      if (chosen && !chosen(i)) continue;
      const name = suite[i] + "::" + id[i], chip = C.chipOf(arch[i], device[i]);
      let test = tests.get(name);
      if (!test) tests.set(name, (test = { name, first: i, isBad: false, cells: {} }));
      test.cells[chip] = i;
      // What a test's name leads to, and its reason, are those of where it fails.
      if (!test.isBad && C.isBad(outcome[i])) { test.isBad = true; test.first = i; }
      chips.set(chip, (chips.get(chip) || 0) + 1);
    }
    // What needs somebody comes first.
    const all = [...tests.values()];
    return { tests: [...all.filter((test) => test.isBad), ...all.filter((test) => !test.isBad)], chips: [...chips.keys()].sort() };
  }
  function cellOf(table, index, shown) {
    if (index === undefined) return "";
    const columns = table.columns;
    if (shown === "pcc") return C.stateText(C.familyOf(columns.outcome[index]), C.figure(columns.pcc[index]));
    if (shown === "time") return C.stateText(C.familyOf(columns.outcome[index]), C.seconds(columns.seconds[index]));
    if (shown === "bringup" || C.isPlaceholder({ suite: columns.suite[index], bringup_status: columns.bringup_status[index] })) {
      const status = columns.bringup_status[index] || "UNKNOWN";
      return C.stateText(C.bringupFamily(status), status === "NOT_STARTED" ? "not started" : status.toLowerCase().replaceAll("_", " "));
    }
    return C.state(columns.outcome[index], columns.flaky[index] ? "(flaky)" : "");
  }
  function valueOf(table, index, shown) {
    if (index === undefined) return null;
    const columns = table.columns;
    return shown === "pcc" ? columns.pcc[index] : shown === "time" ? columns.seconds[index] : shown === "bringup" ? columns.bringup_status[index] : columns.outcome[index];
  }

  C.views = C.views || {};
  C.views[""] = C.views.overview = async function (main, parameters) {
    const run = parameters.get("run") || "";
    const table = await C.overview(run);
    const filters = Object.fromEntries(FIELDS.map(([field]) => [field, parameters.get(field) || ""]));
    let shown = parameters.get("show") || "status", group = parameters.get("by") || "", chip = parameters.get("chip") || "";
    let expression = null;
    const tiles = C.make("div", { class: "tiles" }), wrong = C.make("p", { class: "error", hidden: true, role: "alert" }), room = C.make("div", {});
    let grid = null, gridKey = "";

    // Which rows count, by all filters or all but that of outcomes.
    function choice(withOutcome) {
      const active = FIELDS.filter(([field]) => filters[field] && (withOutcome || field !== "outcome")).map(([field]) => [table.columns[field], filters[field]]);
      const { arch, device } = table.columns;
      if (!expression && !chip && !active.length) return null;
      return (i) => (!expression || expression.has(i)) && (!chip || C.chipOf(arch[i], device[i]) === chip) && active.every(([column, wanted]) => (column[i] || "(none)") === wanted);
    }
    function drawTiles() {
      const counts = new Map(), isChosen = choice(false), outcome = table.columns.outcome;
      for (let i = 0; i < table.count; ++i) if (!isChosen || isChosen(i)) counts.set(outcome[i], (counts.get(outcome[i]) || 0) + 1);
      tiles.replaceChildren(...C.outcomes.filter((outcome) => counts.has(outcome)).map((outcome) => C.make("button", { type: "button", class: "tile", title: C.meaning(outcome),
        "aria-pressed": String(filters.outcome === outcome), onclick: () => { filters.outcome = filters.outcome === outcome ? "" : outcome; refresh(); } },
      C.make("b", {}, counts.get(outcome).toLocaleString("en")), C.state(outcome))));
    }
    function refresh() {
      const { tests, chips } = gather(table, choice(true));
      drawTiles();
      C.keepInAddress({ ...filters, show: shown === "status" ? "" : shown, by: group, chip, k: words.value, m: marks.value });
      const groupOf = group ? (test) => table.columns[group][test.first] : null;
      const key = shown + "|" + chips.join("|");
      if (grid && key === gridKey) return grid.show(tests, groupOf);
      gridKey = key;
      grid = C.table({
        label: "Tests by architecture", word: "test", file: "overview", rows: tests, groupOf,
        open: (test) => C.link("test", { name: test.name, run: table.columns.run[test.first] }),
        groupSummary: (rows) => {
          const counts = {};
          for (const test of rows) for (const cell of Object.values(test.cells)) counts[table.columns.outcome[cell]] = (counts[table.columns.outcome[cell]] || 0) + 1;
          return C.outcomes.filter((outcome) => counts[outcome]).flatMap((outcome) => [C.state(outcome, String(counts[outcome])), " "]);
        },
        columns: [
          { title: "Test", width: 460, value: (test) => test.name, title_of: (test) => test.name,
            cell: (test) => C.make("a", { href: C.link("test", { name: test.name, run: table.columns.run[test.first] }), tabindex: "-1" }, test.name) },
          ...chips.map((one) => ({ title: one, width: 190, number: shown === "pcc" || shown === "time", value: (test) => valueOf(table, test.cells[one], shown),
            title_of: (test) => (test.cells[one] === undefined ? null : table.columns.message[test.cells[one]] || null),
            cell: (test) => (test.cells[one] === undefined ? "" : C.make("a", { href: C.link("test", { name: test.name, run: table.columns.run[test.cells[one]] }), tabindex: "-1" }, cellOf(table, test.cells[one], shown))) })),
          { title: "Reason", width: 260, value: (test) => table.columns.reason[test.first], title_of: (test) => table.columns.message[test.first] || null },
        ],
      });
      room.replaceChildren(grid.element);
    }
    let waits = 0;
    async function ask() {
      const mine = ++waits;
      try {
        const answer = words.value || marks.value ? await C.get("select", { k: words.value, m: marks.value, run }) : null;
        if (mine !== waits) return;
        expression = answer && new Set(answer.rows);
        wrong.hidden = true;
      } catch (error) {
        if (mine !== waits) return;
        wrong.textContent = error.message;
        wrong.hidden = false;
        return;
      }
      refresh();
    }
    let timer = 0;
    const later = () => { clearTimeout(timer); timer = setTimeout(ask, 150); };
    const words = C.make("input", { type: "text", value: parameters.get("k") || "", placeholder: "llama and not large", oninput: later });
    const marks = C.make("input", { type: "text", value: parameters.get("m") || "", placeholder: "n150 and inference", oninput: later });
    const boxes = C.make("div", { class: "bar" });
    for (const [field, title] of FIELDS) {
      const choices = [...new Set((table.words[field] || []).map((word) => word || "(none)"))].sort();
      if (choices.length > 1) boxes.append(C.selectBox(title, [["", "any"], ...choices.map((word) => [word, word])], filters[field], (value) => { filters[field] = value; refresh(); }));
    }
    const chips = [...new Set(table.columns.arch.map((arch, i) => arch + "\n" + table.columns.device[i]))].map((pair) => C.chipOf(...pair.split("\n"))).sort();
    if (chips.length > 1) boxes.append(C.selectBox("Architecture", [["", "any"], ...chips.map((one) => [one, one])], chip, (value) => { chip = value; refresh(); }));
    main.append(C.make("h1", {}, run ? "Run " + table.run : C.isStatic ? "Run " + window.CUPEL_STATIC.run : "Every test, as it ran last"), tiles,
      C.make("div", { class: "bar" }, C.make("label", {}, "-k: words in names", words), C.make("label", {}, "-m: markers", marks),
        C.selectBox("Group by", [["", "nothing"], ["family", "family"], ["task", "task"], ["source", "source"], ["suite", "suite"], ["framework", "framework"], ["reason", "reason"]], group, (value) => { group = value; refresh(); }),
        C.selectBox("Show", Object.entries(SHOWN), shown, (value) => { shown = value; refresh(); })),
      C.make("details", { open: FIELDS.some(([field]) => filters[field]) }, C.make("summary", {}, "More filters"), boxes), wrong, room);
    if (!table.count) {
      room.replaceChildren(C.make("p", { class: "hint" }, "No outcomes yet: cupel run fills this page."));
      return;
    }
    words.value || marks.value ? await ask() : refresh();
  };
})(window.Cupel);
