// Where views get their data: from the API of the server, or, in a static report, from scripts beside the page.
"use strict";
(function (C) {
  const isStatic = Boolean(window.CUPEL_STATIC);
  C.isStatic = isStatic;
  const kept = new Map();
  const waiting = new Map();

  function key(question, parameters) {
    const sorted = Object.entries(parameters || {}).filter(([, value]) => value !== "" && value !== null && value !== undefined).sort();
    return question + (sorted.length ? "?" + new URLSearchParams(sorted).toString() : "");
  }

  async function fromServer(question, parameters) {
    const response = await fetch("api/v1/" + key(question, parameters), { headers: { Accept: "application/json" } });
    const body = await response.json().catch(() => ({ error: "the server's answer is no JSON" }));
    if (!response.ok) throw new Error(body.error || "the server said " + response.status);
    return body;
  }

  // Scripts of a report call this with what they hold.
  window.cupelData = function (name, value) {
    kept.set(name, value);
    const resolve = waiting.get(name);
    waiting.delete(name);
    if (resolve) resolve(value);
  };
  function fromScript(name) {
    if (kept.has(name)) return Promise.resolve(kept.get(name));
    return new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      document.head.append(C.make("script", { src: "data/" + name + ".js", onerror: () => reject(new Error("this report does not hold it")) }));
    });
  }
  async function fromReport(question, parameters) {
    const known = window.CUPEL_STATIC;
    if (question === "overview") return fromScript("overview");
    if (question === "select") return { rows: C.selectRows(await C.overview(""), parameters.k || "", parameters.m || "") };
    if (question === "test" || question === "op-table") {
      const number = known.tests.indexOf(parameters.name);
      if (number < 0) throw new Error("no test '" + parameters.name + "' in this report");
      const piece = await fromScript("tests-" + Math.floor(number / known.testsAPiece));
      const found = piece[number % known.testsAPiece];
      if (question === "op-table") {
        if (!found.op_table) throw new Error("this test was not run op by op");
        return found.op_table;
      }
      return found;
    }
    if (question === "diff" && ((parameters.before && parameters.before !== known.before) || (parameters.after && parameters.after !== known.run)))
      throw new Error("a static report compares its run with the one before it only");
    return fromScript(question);
  }

  C.get = function (question, parameters) { return isStatic ? fromReport(question, parameters || {}) : fromServer(question, parameters); };
  // The overview as rows are asked for: columns decoded where they are words. Kept until the store changes.
  let overviews = new Map();
  C.forget = () => { overviews = new Map(); };
  C.overview = function (run) {
    if (!overviews.has(run)) {
      const made = C.get("overview", { run }).then((raw) => {
        const table = { count: raw.count, run: raw.run, words: {}, columns: {} };
        for (const [name, column] of Object.entries(raw.columns)) {
          if (Array.isArray(column)) { table.columns[name] = column; continue; }
          table.words[name] = column.words;
          // Decoded when somebody first looks: most views look at few columns.
          Object.defineProperty(table.columns, name, { configurable: true, enumerable: true, get() {
            const values = column.codes.map((code) => column.words[code]);
            Object.defineProperty(table.columns, name, { value: values });
            return values;
          } });
        }
        return table;
      });
      made.catch(() => overviews.delete(run));
      overviews.set(run, made);
    }
    return overviews.get(run);
  };
  C.chipOf = (arch, device) => (arch && device ? arch + " · " + device : arch || device || "reference");

  C.listen = function (changed) {
    if (isStatic) return;
    const source = new EventSource("api/v1/events");
    source.addEventListener("changed", (event) => changed(JSON.parse(event.data).runs));
  };
})(window.Cupel);
