// Which view is open: the part of the address behind #. Everything that is shown can be reached by an address.
"use strict";
(function (C) {
  const NAMED = [["", "Overview"], ["changes", "What changed"], ["fix", "Fix first"], ["trends", "Over time"], ["operators", "Operators"], ["thresholds", "Thresholds"], ["durations", "Durations"]];
  const main = document.getElementById("main"), views = document.getElementById("views"), live = document.getElementById("live"), theme = document.getElementById("theme");
  let turn = 0;

  async function open() {
    const mine = ++turn, { view, parameters } = C.address();
    C.takeToken();
    const named = C.isStatic ? NAMED : [...NAMED, ["graph", "Graph"], ["jobs", "Jobs"]];
    views.replaceChildren(...named.map(([name, title]) => C.make("a", { href: "#/" + name, "aria-current": name === view || (!name && view === "overview") ? "page" : null }, title)));
    document.title = (named.find(([name]) => name === view) || ["", "Cupel"])[1] + " – Cupel";
    // Each view draws in a room of its own: one that is left before it is ready draws where nobody sees it.
    const room = C.make("div", {});
    const shown = C.views[view];
    main.replaceChildren(room);
    try {
      if (!shown) throw new Error("there is no view '" + view + "'");
      await shown(room, parameters);
    } catch (error) {
      room.append(C.make("p", { class: "error", role: "alert" }, error.message));
    }
    if (mine === turn) document.body.dataset.ready = view || "overview";
  }
  addEventListener("hashchange", () => { delete document.body.dataset.ready; open(); window.scrollTo(0, 0); });

  function nameTheme() { theme.textContent = document.documentElement.dataset.theme === "dark" ? "Light" : "Dark"; }
  theme.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("cupel-theme", next); } catch { /* Then it lasts as long as the page. */ }
    nameTheme();
    open();
  });
  nameTheme();
  C.listen((runs) => {
    const running = runs.find((run) => !run.ended_at);
    const bad = (run) => Object.entries(run.outcomes).filter(([outcome]) => C.isBad(outcome)).reduce((sum, [, count]) => sum + count, 0);
    live.textContent = running ? "Running: " + running.finished + " of " + running.selected + (bad(running) ? ", " + bad(running) + " bad" : "") : runs.length ? "Last run: " + runs[0].finished + (runs[0].finished === 1 ? " test" : " tests") : "";
    const first = document.body.dataset.state;
    document.body.dataset.state = JSON.stringify(runs.map((run) => [run.id, run.finished, run.ended_at]));
    if (first !== undefined && first !== document.body.dataset.state) {
      C.forget();
      // What is being typed, or looked at in a graph, is not taken away.
      if (!["INPUT", "SELECT"].includes(document.activeElement?.tagName) && !["graph", "jobs"].includes(C.address().view) && !document.querySelector("form.job, section.job")) open();
    }
  });
  open();
})(window.Cupel);
