// Work that is started from the pages: forms made from what the server says its jobs take, and cards that follow a job to its end.
// To start one takes the token that stands in the printed address; the page keeps it for as long as its tab is open.
"use strict";
(function (C) {
  const KEPT = "cupel-token";
  let token = "";
  try { token = sessionStorage.getItem(KEPT) || ""; } catch { /* Then it is asked for. */ }

  function keepToken(text) {
    token = text;
    try { text ? sessionStorage.setItem(KEPT, text) : sessionStorage.removeItem(KEPT); } catch { /* Then it lasts as long as the page. */ }
  }
  // The printed address carries the token behind #: taken once, and out of the address bar.
  C.takeToken = function () {
    const { view, parameters } = C.address();
    if (!parameters.has("token")) return;
    keepToken(parameters.get("token"));
    parameters.delete("token");
    history.replaceState(null, "", C.link(view, Object.fromEntries(parameters)));
  };
  C.takeToken();

  async function post(path, body) {
    const response = await fetch("api/v1/" + path, { method: "POST", headers: { Authorization: "Bearer " + token, "Content-Type": "application/json" }, body: JSON.stringify(body || {}) });
    const answer = await response.json().catch(() => ({}));
    if (response.status === 401) keepToken("");
    if (!response.ok) throw new Error(answer.error || "the server said " + response.status);
    return answer;
  }

  const base64 = (buffer) => { let text = ""; for (const byte of new Uint8Array(buffer)) text += String.fromCharCode(byte); return btoa(text); };

  // An input for one field, and how its value is read.
  function fieldOf(field, given) {
    const value = given ?? field.initial, id = "field-" + field.name;
    let input, read = async () => input.value;
    if (field.kind === "choice") input = C.make("select", { id }, field.choices.map((one) => C.make("option", { value: one, selected: one === value }, one)));
    else if (field.kind === "toggle") { input = C.make("input", { id, type: "checkbox", checked: value === "true" }); read = async () => String(input.checked); }
    else if (field.kind === "integer") input = C.make("input", { id, type: "number", value, min: field.least, max: field.most });
    else if (field.kind === "file") {
      input = C.make("input", { id, type: "file" });
      read = async () => (input.files.length ? base64(await input.files[0].arrayBuffer()) : undefined);
    } else input = C.make("input", { id, type: "text", value, readonly: ["nodes", "edits"].includes(field.kind) });
    return { name: field.name, read, element: C.make("div", { class: "field" }, C.make("label", { for: id }, field.label), input, field.help ? C.make("small", { class: "hint" }, field.help) : "") };
  }

  // Shows the form of a kind in `room`. `options`: key, values (of fields), ended(result) when the job went well.
  C.jobForm = function (room, kind, options) {
    const important = kind.fields.filter((field) => !field.name.startsWith("option.")), more = kind.fields.filter((field) => field.name.startsWith("option."));
    const fields = [...important, ...more].map((field) => fieldOf(field, options.values?.[field.name]));
    const element = (name) => fields.find((field) => field.name === name).element;
    const problem = C.make("p", { class: "error", role: "alert", hidden: true });
    const secret = C.make("input", { type: "password", id: "field-token", autocomplete: "off" });
    const asks = C.make("div", { class: "field" }, C.make("label", { for: "field-token" }, "Token"), secret, C.make("small", { class: "hint" }, "It stands in the address that the server printed when it was started."));
    asks.hidden = Boolean(token);
    async function start(event) {
      event?.preventDefault();
      problem.hidden = true;
      if (secret.value) keepToken(secret.value);
      try {
        const values = {};
        for (const field of fields) { const value = await field.read(); if (value !== undefined) values[field.name] = value; }
        const { id } = await post("jobs", { kind: kind.name, key: options.key || "", values });
        room.replaceChildren();
        C.jobCard(room, id, options.ended);
      } catch (error) {
        asks.hidden = Boolean(token);
        problem.textContent = error.message;
        problem.hidden = false;
      }
    }
    const form = C.make("form", { class: "job", onsubmit: start }, C.make("h2", {}, kind.title), C.make("p", { class: "hint" }, kind.summary), important.map((field) => element(field.name)),
      more.length ? C.make("details", {}, C.make("summary", {}, "Options of our own device"), more.map((field) => element(field.name))) : "", asks, problem,
      C.make("div", { class: "bar" }, C.make("button", { type: "submit", class: "start" }, "Start"), C.make("button", { type: "button", onclick: () => room.replaceChildren() }, "Close")));
    room.replaceChildren(form);
    if (options.at_once && token) start();
  };

  // Follows a job: its state, time, step, log; a way to call it off; what came of it.
  C.jobCard = function (room, id, ended) {
    const state = C.make("b", { class: "job-state" }), note = C.make("span", { class: "hint" }), title = C.make("h2", {}), message = C.make("p", { class: "job-message" });
    const log = C.make("pre", { tabindex: "0", "aria-label": "Log" }), files = C.make("div", { class: "bar" });
    const cancel = C.make("button", { type: "button", onclick: async () => { try { await post("jobs/" + id + "/cancel"); } catch (error) { message.textContent = error.message; } } }, "Cancel");
    const progress = C.make("progress", { "aria-label": "Commands done", max: 1 });
    const card = C.make("section", { class: "job", "data-job": id }, title, C.make("div", { class: "bar" }, C.make("span", { role: "status" }, state), note, progress, cancel), message, files, C.make("details", {}, C.make("summary", {}, "Log"), log));
    room.append(card);
    let from = 0;
    async function follow() {
      if (!card.isConnected) return;
      let job;
      try { job = await C.get("jobs/" + id, { from }); } catch (error) { state.textContent = "gone"; message.textContent = error.message; return; }
      from = job.log_bytes;
      log.append(job.log);
      title.textContent = job.title;
      state.textContent = job.state;
      card.dataset.state = job.state;
      note.textContent = C.seconds(job.seconds) + (job.steps > 1 ? ", command " + job.step + " of " + job.steps : "");
      progress.max = job.steps;
      progress.value = job.state === "done" ? job.steps : Math.max(0, job.step - 1);
      message.textContent = job.message || (job.state === "running" ? job.last_line : "");
      if (["waiting", "running"].includes(job.state)) { setTimeout(follow, 300); return; }
      cancel.hidden = progress.hidden = true;
      if (job.state === "failed") card.querySelector("details").open = true;
      const result = job.result || {};
      files.replaceChildren(...(result.files || []).map((name) => C.make("a", { href: "api/v1/jobs/" + id + "/file?" + new URLSearchParams({ name }), download: "" }, "Download " + name)));
      if (result.key) files.append(C.make("a", { href: C.link("graph", { key: result.key }) }, "Open its graph"));
      if (job.state === "done") await ended?.(result, files);
    }
    follow();
  };

  C.views = C.views || {};
  C.views.jobs = async function (main) {
    const { jobs } = await C.get("jobs");
    main.append(C.make("h1", {}, "Jobs"), C.make("p", { class: "hint" }, "Work that was started from these pages since the server began. Each runs in a process of its own and ends with the server."));
    if (!jobs.length) main.append(C.make("p", {}, "None yet. A test's page and the graph of a program start them."));
    for (const job of jobs) C.jobCard(main, job.id);
  };
})(window.Cupel);
