// What is different between two runs.
"use strict";
(function (C) {
  C.views = C.views || {};
  const KINDS = [["new_failures", "New failures"], ["fixed", "Fixed"], ["worse", "Worse PCC"], ["better", "Better PCC"], ["figures", "Other figures"], ["slower", "Slower"], ["faster", "Faster"], ["otherwise", "Otherwise different"], ["added", "New tests"], ["removed", "Disappeared"]];
  const change = (value, text) => (value === null ? "–" : text(value));

  // The API has one list of other figures; which way PCC went is what people ask first.
  function splitFigures(diff) {
    const step = (one) => C.sortable(one.after.pcc) - C.sortable(one.before.pcc);
    const worse = diff.figures.filter((one) => step(one) < 0), better = diff.figures.filter((one) => step(one) > 0);
    return { ...diff, worse, better, figures: diff.figures.filter((one) => !(step(one) < 0) && !(step(one) > 0)) };
  }
  // The last run that had begun when a day ended, of the same chip where there is one.
  function runOfDay(runs, day, alike) {
    const end = Date.parse(day + "T23:59:59.999Z") / 1000, known = runs.filter((run) => run.started_at <= end);
    return known.find((run) => alike && run.arch === alike.arch && run.device === alike.device) || known[0] || runs.at(-1);
  }

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
      const byId = (id) => runs.find((run) => run.id === id), go = (from, to) => { location.hash = C.link("changes", { before: from, after: to }); };
      const dayBox = (label, id, change) => C.make("label", {}, label, C.make("input", { type: "date", "aria-label": label, value: C.when(byId(id)?.started_at).slice(0, 10), onchange: (event) => { if (event.target.value) change(event.target.value); } }));
      main.append(C.make("div", { class: "bar" }, C.selectBox("From", options, before, (value) => go(value, after)), dayBox("or as it was on", before, (day) => go(runOfDay(runs, day, byId(after)).id, after)),
        C.selectBox("To", options, after, (value) => go(before, value)), dayBox("or as it was on the day", after, (day) => go(before, runOfDay(runs, day, byId(before)).id))));
    }
    const diff = splitFigures(await C.get("diff", { before, after }));
    main.append(C.make("p", { class: "hint" }, "From " + diff.before + " to " + diff.after));
    main.append(C.make("div", { class: "tiles" }, KINDS.map(([key, title]) => C.make("button", { type: "button", class: "tile", disabled: !diff[key].length, onclick: () => document.getElementById("changes-" + key).scrollIntoView() }, C.make("b", {}, diff[key].length), title))));
    if (KINDS.every(([key]) => !diff[key].length)) main.append(C.make("p", {}, "Nothing is different between these two runs."));
    for (const [key, title] of KINDS) {
      if (!diff[key].length) continue;
      const ratio = (one) => (one.before && one.after && one.before.seconds ? one.after.seconds / one.before.seconds : null);
      main.append(C.make("h2", { id: "changes-" + key }, title), C.table({ label: title, word: "test", file: key, rows: diff[key], height: Math.min(400, diff[key].length * 28 + 48),
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
