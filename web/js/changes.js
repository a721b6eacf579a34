// What is different between two runs.
"use strict";
(function (C) {
  C.views = C.views || {};
  const KINDS = [["new_failures", "New failures"], ["fixed", "Fixed"], ["figures", "Other figures"], ["slower", "Slower"], ["faster", "Faster"], ["otherwise", "Otherwise different"], ["added", "New tests"], ["removed", "Disappeared"]];
  const change = (value, text) => (value === null ? "–" : text(value));

  C.views.changes = async function (main, parameters) {
    main.append(C.make("h1", {}, "What changed"));
    const runs = C.isStatic ? null : (await C.get("runs", { limit: 500 })).runs;
    let before = parameters.get("before") || "", after = parameters.get("after") || "";
    if (runs) {
      if (runs.length < 2) { main.append(C.make("p", { class: "hint" }, "There is only one run.")); return; }
      after = after || runs[0].id;
      const at = runs.findIndex((run) => run.id === after);
      // The run before it on the same chip says more than whatever ran last.
      const alike = runs.slice(at + 1).find((run) => run.arch === runs[at]?.arch && run.device === runs[at]?.device);
      before = before || (alike || runs[at + 1] || runs[runs.length - 1]).id;
      const options = runs.map((run) => [run.id, C.when(run.started_at) + "  " + C.chipOf(run.arch, run.device) + "  (" + run.finished + ")"]);
      main.append(C.make("div", { class: "bar" }, C.selectBox("From", options, before, (value) => { location.hash = C.link("changes", { before: value, after }); }),
        C.selectBox("To", options, after, (value) => { location.hash = C.link("changes", { before, after: value }); })));
    }
    const diff = await C.get("diff", { before, after });
    main.append(C.make("p", { class: "hint" }, "From " + diff.before + " to " + diff.after));
    main.append(C.make("div", { class: "tiles" }, KINDS.map(([key, title]) => C.make("span", { class: "tile" }, C.make("b", {}, diff[key].length), title))));
    for (const [key, title] of KINDS) {
      if (!diff[key].length) continue;
      const ratio = (one) => (one.before && one.after && one.before.seconds ? one.after.seconds / one.before.seconds : null);
      main.append(C.make("h2", {}, title), C.table({ label: title, word: "test", file: key, rows: diff[key], height: Math.min(400, diff[key].length * 28 + 48),
        open: (one) => C.link("test", { name: one.test, run: one.after ? diff.after : diff.before }), columns: [
          { title: "Test", width: 460, value: (one) => one.test, title_of: (one) => one.test, cell: (one) => C.make("a", { href: C.link("test", { name: one.test, run: one.after ? diff.after : diff.before }), tabindex: "-1" }, one.test) },
          { title: "Before", width: 130, value: (one) => one.before && one.before.outcome, cell: (one) => change(one.before, (row) => C.state(row.outcome)) },
          { title: "After", width: 130, value: (one) => one.after && one.after.outcome, cell: (one) => change(one.after, (row) => C.state(row.outcome)) },
          { title: "PCC before", width: 100, number: true, value: (one) => one.before && one.before.pcc, cell: (one) => change(one.before, (row) => C.figure(row.pcc)) },
          { title: "PCC after", width: 100, number: true, value: (one) => one.after && one.after.pcc, cell: (one) => change(one.after, (row) => C.figure(row.pcc)) },
          { title: "Time before", width: 100, number: true, value: (one) => one.before && one.before.seconds, cell: (one) => change(one.before, (row) => C.seconds(row.seconds)) },
          { title: "Time after", width: 100, number: true, value: (one) => one.after && one.after.seconds, cell: (one) => change(one.after, (row) => C.seconds(row.seconds)) },
          { title: "Factor", width: 80, number: true, value: ratio, cell: (one) => (ratio(one) === null ? "–" : ratio(one).toFixed(2)) },
          { title: "Why", width: 500, value: (one) => (one.after || one.before).reason || (one.after || one.before).message || "" },
        ] }).element);
    }
  };
})(window.Cupel);
