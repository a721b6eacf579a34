// The explorer: the graph of a program at one stage, or two side by side. The server computes where boxes stand for the groups that
// are open; here they are drawn on a canvas, found by search, selected, and coloured by an overlay.
"use strict";
(function (C) {
  C.views = C.views || {};
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // From pale to strong, told apart by the colour-blind; words get colours of their own.
  const MEANT = { nan: "#f28e6b", inf: "#f28e6b", "-inf": "#f28e6b", right: "#7fc8a9", taken: "#7fc8a9", device: "#7fc8a9", compiled: "#7fc8a9", wrong: "#f28e6b", "to blame": "#f28e6b", reference: "#f4c95d", "reference (fallback)": "#f4c95d" };
  const RAMP = ["#fff3c4", "#fdd49e", "#fdae6b", "#f16913", "#a63603"], WORDS = ["#8ecae6", "#f4a261", "#90be6d", "#e5989b", "#cdb4db", "#e9c46a", "#a8dadc"];

  const MOST_WORDS = 12;
  const overlayText = (overlay, value) => (typeof value !== "number" ? value : overlay.unit === "s" ? C.seconds(value) : overlay.unit === "B" ? C.bytes(value) : C.figure(value) + (overlay.unit && overlay.unit !== "PCC" ? " " + overlay.unit : ""));

  // One stage in one pane. `link(node)` is called with the details of what is selected.
  function makePane(model, stageName, options) {
    const state = { stage: stageName, open: new Set(options.open), overlay: options.overlay || "", view: null, scale: 1, x: 0, y: 0, selected: null, cursor: null, marked: new Set(), chosen: new Set(), threshold: null };
    const canvas = C.make("canvas", { tabindex: "0", role: "application", "aria-roledescription": "graph", "aria-label": "Graph: n and p go from box to box, Enter opens a group or shows an operation, arrow keys move, + and - zoom" });
    const spoken = C.make("span", { class: "spoken", role: "status" });
    const box = C.make("div", { class: "graph" }, canvas), legend = C.make("div", { class: "legend" });
    const element = C.make("section", { class: "pane" });
    const painter = canvas.getContext("2d");
    const stage = () => model.graph.stages.find((one) => one.name === state.stage);
    const overlay = () => stage().overlays.find((one) => one.name === state.overlay);
    // Of what is better the higher it is, the lowest is what to look at.
    const isLowBad = () => overlay()?.together === "least";

    async function load(fit) {
      const mine = (state.turn = (state.turn || 0) + 1);
      const view = await C.get("graph/view", { key: model.key, stage: state.stage, open: [...state.open].join(","), overlay: state.overlay });
      if (mine !== state.turn) return;
      state.view = view;
      const values = view.boxes.filter((one) => !one.open && typeof one.value === "number").map((one) => one.value);
      // From the least to the most that is in sight; where nothing is below zero and high is what counts, from zero.
      state.most = values.reduce((most, value) => Math.max(most, value), -Infinity);
      state.least = values.reduce((least, value) => Math.min(least, value), Infinity);
      if (!isLowBad()) state.least = Math.min(0, state.least);
      // All alike: pale.
      const little = (Math.abs(state.most) || 1) * 1e-9;
      if (!(state.most > state.least)) isLowBad() ? (state.least = state.most - little) : (state.most = state.least + little);
      if (fit) fitAll();
      drawLegend();
      draw();
      canvas.dataset.boxes = view.boxes.length;
      options.changed?.(state);
    }
    function fitAll() {
      const { width, height } = state.view, room = box.getBoundingClientRect();
      state.scale = Math.max(0.02, Math.min(1.25, (room.width - 40) / (width || 1), (room.height - 40) / (height || 1)));
      // A long graph is read from its beginning.
      if (state.scale < 0.35) state.scale = Math.min(0.8, Math.max(0.35, (room.width - 40) / (width || 1)));
      state.x = (room.width - width * state.scale) / 2;
      state.y = 20;
    }
    function colourOf(one) {
      if (one.value === undefined) return null;
      if (typeof one.value === "number") {
        if (state.threshold !== null && (isLowBad() ? one.value > state.threshold : one.value < state.threshold)) return null;
        const part = (one.value - state.least) / (state.most - state.least);
        return RAMP[Math.max(0, Math.min(RAMP.length - 1, Math.floor((isLowBad() ? 1 - part : part) * RAMP.length)))];
      }
      return wordColour(one.value);
    }
    const wordColour = (word) => MEANT[word] || (/^(not taken|wrong|failed|crashed|timed out)/.test(word) ? MEANT.wrong : WORDS[Math.max(0, overlay().words.indexOf(word)) % WORDS.length]);
    function drawLegend() {
      const one = overlay();
      if (!one) { legend.replaceChildren(); return; }
      const swatch = (colour, text) => { const patch = C.make("span", { class: "swatch" }); patch.style.background = colour; return C.make("span", {}, patch, text); };
      const shown = one.words.slice(0, MOST_WORDS);
      legend.replaceChildren(...(one.words.length ? [...shown.map((word) => swatch(wordColour(word), word)), one.words.length > MOST_WORDS ? C.make("span", {}, "and " + (one.words.length - MOST_WORDS) + " more") : ""]
        : RAMP.map((colour, index) => { const part = ((state.most - state.least) * index) / RAMP.length; return isLowBad() ? swatch(colour, "up to " + overlayText(one, state.most - part)) : swatch(colour, "from " + overlayText(one, state.least + part)); })));
    }
    function draw() {
      const room = box.getBoundingClientRect(), ratio = devicePixelRatio || 1;
      if (canvas.width !== Math.round(room.width * ratio) || canvas.height !== Math.round(room.height * ratio)) { canvas.width = Math.round(room.width * ratio); canvas.height = Math.round(room.height * ratio); }
      painter.setTransform(ratio, 0, 0, ratio, 0, 0);
      painter.fillStyle = css("--ground");
      painter.fillRect(0, 0, room.width, room.height);
      if (!state.view) return;
      painter.translate(state.x, state.y);
      painter.scale(state.scale, state.scale);
      const { boxes, edges } = state.view, low = -state.x / state.scale, left = -state.y / state.scale;
      const inSight = (one) => one.x + one.width > low && one.x < low + room.width / state.scale && one.y + one.height > left && one.y < left + room.height / state.scale;
      const colours = { ground: css("--ground"), raised: css("--raised"), line: css("--line"), text: css("--text"), soft: css("--soft"), link: css("--link"), focus: css("--focus") };
      for (const one of boxes) {
        if (!one.open || !inSight(one)) continue;
        painter.fillStyle = colours.raised;
        painter.globalAlpha = 0.6;
        painter.fillRect(one.x, one.y, one.width, one.height);
        painter.globalAlpha = 1;
        painter.strokeStyle = colours.line;
        painter.lineWidth = 1;
        painter.strokeRect(one.x, one.y, one.width, one.height);
        painter.fillStyle = colours.soft;
        painter.font = "600 12px system-ui, sans-serif";
        painter.fillText("▾ " + one.label, one.x + 8, one.y + 17, one.width - 16);
      }
      painter.strokeStyle = colours.soft;
      const chosen = state.selected;
      for (const [from, to, count] of edges) {
        const a = boxes[from], b = boxes[to];
        if (!inSight(a) && !inSight(b)) continue;
        const isChosen = chosen !== null && [a, b].some((one) => !one.group && one.id === chosen);
        painter.globalAlpha = isChosen ? 1 : 0.55;
        painter.strokeStyle = isChosen ? colours.focus : colours.soft;
        painter.lineWidth = isChosen ? 2.5 : Math.min(4, 0.8 + Math.log2(count) * 0.5);
        const x1 = a.x + a.width / 2, y1 = a.y + a.height, x2 = b.x + b.width / 2, y2 = b.y, bend = Math.max(12, Math.abs(y2 - y1) / 2);
        painter.beginPath();
        painter.moveTo(x1, y1);
        painter.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
        painter.stroke();
      }
      painter.globalAlpha = 1;
      for (const one of boxes) {
        if (one.open || !inSight(one)) continue;
        const fill = colourOf(one);
        painter.fillStyle = fill || (one.group ? colours.raised : colours.ground);
        painter.beginPath();
        painter.roundRect(one.x, one.y, one.width, one.height, one.group ? 10 : 4);
        painter.fill();
        const isChosen = !one.group && (one.id === state.selected || state.chosen.has(one.id)), isMarked = !one.group && state.marked.has(one.id);
        painter.strokeStyle = isChosen ? colours.focus : isMarked ? colours.link : colours.soft;
        painter.lineWidth = isChosen || isMarked ? 3.5 : 1;
        painter.setLineDash(isMarked && !isChosen ? [6, 3] : []);
        painter.stroke();
        painter.setLineDash([]);
        if (state.scale < 0.25) continue;
        painter.fillStyle = fill === RAMP.at(-1) ? "#ffffff" : fill ? "#1b1f24" : colours.text;
        painter.font = (one.group ? "600 " : "") + "12px system-ui, sans-serif";
        painter.fillText(one.group ? "▸ " + one.label + " (" + one.count + ")" : one.label, one.x + 10, one.y + one.height / 2 + 4, one.width - 18);
      }
      const here = at();
      if (here) {
        painter.strokeStyle = colours.focus;
        painter.lineWidth = 3;
        painter.strokeRect(here.x - 3, here.y - 3, here.width + 6, here.height + 6);
      }
    }
    function hit(event) {
      const rect = canvas.getBoundingClientRect(), x = (event.clientX - rect.left - state.x) / state.scale, y = (event.clientY - rect.top - state.y) / state.scale;
      const inside = (state.view?.boxes || []).filter((one) => x >= one.x && x <= one.x + one.width && y >= one.y && y <= one.y + one.height);
      return inside.at(-1) || null;
    }
    function zoom(factor, x, y) {
      const scale = Math.min(4, Math.max(0.02, state.scale * factor));
      state.x = x - ((x - state.x) * scale) / state.scale;
      state.y = y - ((y - state.y) * scale) / state.scale;
      state.scale = scale;
      draw();
    }
    async function toggle(group) {
      state.open.has(group) ? state.open.delete(group) : state.open.add(group);
      await load(false);
    }
    function center(id) {
      const one = state.view.boxes.find((candidate) => !candidate.group && candidate.id === id), room = box.getBoundingClientRect();
      if (!one) return;
      if (state.scale < 0.5) state.scale = 0.9;
      state.x = room.width / 2 - (one.x + one.width / 2) * state.scale;
      state.y = room.height / 2 - (one.y + one.height / 2) * state.scale;
    }
    // Opens what stands around a node and goes there.
    async function reveal(node, select) {
      for (const group of node.groups) state.open.add(group);
      if (select) state.selected = node.id;
      await load(false);
      center(node.id);
      draw();
      if (select) await options.selected?.(state.stage, node.id);
    }
    // Boxes by the keyboard, in the order in which they are read: from the top, then from the left.
    const at = () => (state.cursor === null ? null : state.view?.boxes.find((one) => one.id === state.cursor.id && Boolean(one.group) === state.cursor.group)) || null;
    function stepTo(step) {
      const all = [...(state.view?.boxes || [])].sort((a, b) => a.y - b.y || a.x - b.x);
      if (!all.length) return;
      const one = all[(all.indexOf(at()) + step + all.length) % all.length], room = box.getBoundingClientRect();
      state.cursor = { id: one.id, group: Boolean(one.group) };
      const x = state.x + one.x * state.scale, y = state.y + one.y * state.scale;
      if (x < 0 || y < 0 || x + one.width * state.scale > room.width || y + Math.min(one.height, 40) * state.scale > room.height) { state.x += room.width / 3 - x; state.y += room.height / 3 - y; }
      spoken.textContent = one.label + (one.group ? ", group of " + one.count + (one.open ? ", open" : ", closed") : "") + (one.value === undefined ? "" : ", " + overlayText(overlay() || {}, one.value));
      draw();
    }
    async function activate(one) {
      if (one.group) { await toggle(one.id); return; }
      state.selected = one.id;
      draw();
      await options.selected?.(state.stage, one.id);
    }
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, moved: false, left: state.x, top: state.y }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return;
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4) drag.moved = true;
      if (drag.moved) { state.x = drag.left + event.clientX - drag.x; state.y = drag.top + event.clientY - drag.y; draw(); }
    });
    canvas.addEventListener("pointerup", async (event) => {
      const moved = drag?.moved;
      drag = null;
      if (moved) return;
      const one = hit(event);
      if (!one) return;
      if (event.shiftKey) { await options.chosen?.(state.stage, one); return; }
      await activate(one);
    });
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); const rect = canvas.getBoundingClientRect(); zoom(Math.exp(-event.deltaY / 400), event.clientX - rect.left, event.clientY - rect.top); }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 60, moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      const room = box.getBoundingClientRect();
      if (event.key in moves) { state.x += moves[event.key][0]; state.y += moves[event.key][1]; draw(); }
      else if (event.key === "+" || event.key === "=") zoom(1.2, room.width / 2, room.height / 2);
      else if (event.key === "-") zoom(1 / 1.2, room.width / 2, room.height / 2);
      else if (event.key === "0") { fitAll(); draw(); }
      else if (event.key === "n" || event.key === "p") stepTo(event.key === "n" ? 1 : -1);
      else if (event.key === "Enter" && at()) activate(at());
      else return;
      event.preventDefault();
    });
    const watcher = new ResizeObserver(() => draw());
    watcher.observe(box);

    const stageBox = C.selectBox("Stage", model.graph.stages.map((one) => [one.name, one.title + (one.nodes ? " (" + one.nodes + ")" : " (none)")]), state.stage, async (value) => { state.stage = value; state.open = new Set(); state.selected = null; state.marked = new Set(); state.overlay = overlay() ? state.overlay : ""; await rebuild(); });
    const tools = C.make("div", { class: "bar" });
    // From which value on nodes are coloured and listed.
    function thresholdBox() {
      const one = overlay();
      if (!one || one.words.length) return [];
      const text = C.make("span", { class: "thresholds" }, "everything");
      return [C.make("label", {}, isLowBad() ? "Colour up to" : "Colour from", C.make("input", { type: "range", min: 0, max: 100, value: 0, oninput: (event) => {
        const part = Number(event.target.value);
        const way = ((one.most - one.least) * part) / 100;
        state.threshold = part === 0 ? null : isLowBad() ? one.most - way : one.least + way;
        text.textContent = part === 0 ? "everything" : overlayText(one, state.threshold);
        draw();
        options.changed?.(state);
      } }), text)];
    }
    async function rebuild(stays) {
      const one = stage();
      tools.replaceChildren(stageBox,
        C.selectBox("Overlay", [["", "none"], ...one.overlays.map((each) => [each.name, each.name])], state.overlay, async (value) => { state.overlay = value; state.threshold = null; await rebuild(true); }),
        C.make("button", { type: "button", onclick: async () => { state.open = new Set(Array.from({ length: one.groups }, (_, index) => index + 1)); await load(true); } }, "Open all"),
        C.make("button", { type: "button", onclick: async () => { state.open = new Set(); await load(true); } }, "Close all"),
        C.make("button", { type: "button", onclick: () => { fitAll(); draw(); } }, "Fit"),
        ...thresholdBox());
      if (one.error) tools.append(C.make("p", { class: "hint" }, "This stage: " + one.error));
      await load(!stays);
    }
    element.append(tools, legend, box, spoken);
    return { element, state, rebuild, reveal, draw, mark(ids) { state.marked = new Set(ids); draw(); }, boxes: () => state.view?.boxes || [], where: (id) => {
      const one = state.view.boxes.find((candidate) => candidate.id === id && !candidate.open), rect = canvas.getBoundingClientRect();
      return one && { x: rect.left + state.x + (one.x + one.width / 2) * state.scale, y: rect.top + state.y + (one.y + one.height / 2) * state.scale };
    } };
  }

  // Without a program: the test that is asked for is opened by a job, or the page says how to open one.
  async function openFirst(main, key) {
    const { kinds } = await C.get("jobs");
    const room = C.make("div", {});
    main.append(C.make("h1", {}, key || "No program is open"), room);
    if (!key) main.append(C.make("p", { class: "hint" }, "A test's page opens its graph, and so does: cupel explore FILE"));
    C.jobForm(room, kinds.find((kind) => kind.name === "open"), { values: { test: key }, at_once: Boolean(key), ended: (result) => {
      if (C.address().view !== "graph") return;
      if (result.key === key) dispatchEvent(new HashChangeEvent("hashchange"));
      else location.hash = C.link("graph", { key: result.key });
    } });
  }

  C.views.graph = async function (main, parameters) {
    const key = parameters.get("key") || "";
    const model = { key, graph: null };
    try { model.graph = await C.get("graph", { key }); } catch (error) {
      if (C.isStatic) throw error;
      await openFirst(main, key);
      return;
    }
    const { kinds } = await C.get("jobs");
    const graph = () => model.graph, usable = () => graph().stages.filter((one) => one.nodes);
    main.append(C.make("h1", {}, graph().file));
    const details = C.make("div", { class: "details", tabindex: "0", role: "region", "aria-label": "Details" }, C.make("p", { class: "hint" }, "Select an operation to see what it is. Drag to move, turn the wheel to zoom, click a group to open it; with the keyboard n and p go from box to box, Enter opens, arrow keys move, + and - zoom, 0 fits. Shift and a click choose operations and groups, to extract them."));
    const results = C.make("div", { class: "details", tabindex: "0", role: "region", "aria-label": "Found" });
    const work = C.make("div", { class: "work" }), choice = C.make("div", { class: "bar choice" });
    const panes = [], shelf = C.make("div", { class: "panes" });
    const edits = new Map();
    let order = "most", limit = 10, sorted = "";
    const keep = () => C.keepInAddress({ key, stage: panes[0].state.stage, open: [...panes[0].state.open].join("."), overlay: panes[0].state.overlay, second: panes[1] ? panes[1].state.stage : "", node: panes[0].state.selected === null ? "" : String(panes[0].state.selected) });
    const nodeButton = (pane, node, text) => C.make("button", { type: "button", class: "node", onclick: () => pane.reveal(node, true) }, text || node.label + (node.path ? " – " + node.path : ""));
    const stageOf = (name) => graph().stages.find((one) => one.name === name);

    // What may be asked of one operation is a table of the server's; `edits` holds what was chosen, by node and option.
    const operationOptions = kinds.flatMap((kind) => kind.fields).find((field) => field.kind === "edits")?.options || [];
    const editList = () => [...edits].flatMap(([node, chosen]) => [...chosen.values()].map((what) => node + ":" + what));
    function editBoxes(node) {
      const set = (option, what) => {
        const chosen = edits.get(node.id) || new Map();
        what ? chosen.set(option.name, what) : chosen.delete(option.name);
        chosen.size ? edits.set(node.id, chosen) : edits.delete(node.id);
        drawChoice();
      };
      return operationOptions.length === 0 ? "" : C.make("fieldset", {}, C.make("legend", {}, "When compiled again"), operationOptions.map((option) => {
        const choices = option.choices.length ? option.choices.map((choice) => [option.name + "=" + choice, choice]) : [[option.name, "yes"]];
        const box = C.selectBox(option.label, [["", "as it is"], ...choices], edits.get(node.id)?.get(option.name) || "", (what) => set(option, what));
        box.title = option.help;
        return C.make("div", { class: "field" }, box, C.make("small", { class: "hint" }, option.help));
      }));
    }
    function drawChoice() {
      const chosen = panes.flatMap((pane) => (pane.state.stage === "stablehlo" ? [...pane.state.chosen] : []));
      choice.replaceChildren(...[
        chosen.length ? C.make("span", {}, C.plural(chosen.length, "operation") + " chosen") : "",
        chosen.length ? C.make("button", { type: "button", onclick: () => start("extract", { nodes: chosen.sort((a, b) => a - b).join(",") }) }, "Extract as a program…") : "",
        chosen.length ? C.make("button", { type: "button", onclick: () => { for (const pane of panes) { pane.state.chosen.clear(); pane.draw(); } drawChoice(); } }, "Choose none") : "",
        edits.size ? C.make("span", {}, C.plural(edits.size, "operation") + " to be compiled otherwise: " + editList().join(", ")) : "",
        edits.size ? C.make("button", { type: "button", onclick: () => start("compile") }, "Compile with them…") : "",
        edits.size ? C.make("button", { type: "button", onclick: () => { edits.clear(); drawChoice(); } }, "Forget them") : ""].filter(Boolean));
    }
    async function chosen(stageName, box) {
      const pane = panes.find((one) => one.state.stage === stageName);
      if (stageName !== "stablehlo") { choice.replaceChildren(C.make("span", { class: "hint" }, "Operations are chosen in the stage StableHLO.")); return; }
      const ids = box.group ? (await C.get("graph/group", { key, stage: stageName, id: box.id })).nodes : [box.id];
      const isIn = ids.every((id) => pane.state.chosen.has(id));
      for (const id of ids) isIn ? pane.state.chosen.delete(id) : pane.state.chosen.add(id);
      pane.draw();
      drawChoice();
    }
    // What a job knows more of this program is laid over it.
    async function ended(result) {
      if (result.key || !result.overlay) return;
      model.graph = await C.get("graph", { key });
      const pane = panes[0];
      if (result.stage && result.stage !== pane.state.stage && !panes.some((one) => one.state.stage === result.stage)) {
        pane.state.stage = result.stage;
        pane.state.open = new Set();
        pane.state.selected = null;
      }
      if (stageOf(pane.state.stage).overlays.some((one) => one.name === result.overlay)) { pane.state.overlay = result.overlay; pane.state.threshold = null; }
      lastTop = "";
      for (const one of panes) await one.rebuild(true);
      if (result.node !== undefined) {
        const there = panes.find((one) => one.state.stage === result.stage);
        const node = await C.get("graph/node", { key, stage: result.stage, id: result.node });
        await there.reveal(node, true);
      }
    }
    function start(name, values) {
      const kind = kinds.find((one) => one.name === name);
      C.jobForm(work, kind, { key: graph().key, values: { edits: editList().join(","), ...values }, ended });
      work.scrollIntoView({ block: "nearest" });
    }

    async function selected(stageName, id) {
      const pane = panes.find((one) => one.state.stage === stageName) || panes[0];
      const node = await C.get("graph/node", { key, stage: stageName, id });
      const place = node.place.replace(/^loc\("(.*)"\)$/, "$1");
      details.replaceChildren(C.make("h2", {}, node.op), C.facts([["In", node.path], ["Place", node.origins.join() === place ? "" : place], ["Gives", node.types.join(", ")],
        ...Object.entries(node.overlays).map(([name, value]) => [name, overlayText(stageOf(stageName).overlays.find((one) => one.name === name) || {}, value)]), ...Object.entries(node.attributes), ["Came from", node.origins.join("; ")]]));
      if (stageName === "stablehlo" && node.op.startsWith("stablehlo.")) details.append(editBoxes(node));
      const list = (title, nodes, where) => { if (nodes.length) details.append(C.make("h3", {}, title + " (" + nodes.length + ")"), ...nodes.slice(0, 40).map((one) => nodeButton(where, one))); };
      list("Reads", node.inputs, pane);
      list("Read by", node.readers, pane);
      for (const [other, nodes] of Object.entries(node.linked)) {
        if (!nodes.length) continue;
        const there = panes.find((one) => one.state.stage === other);
        details.append(C.make("h3", {}, "In " + stageOf(other).title + " (" + nodes.length + ")"), ...nodes.slice(0, 20).map((one) => there ? nodeButton(there, one)
          : C.make("button", { type: "button", class: "node", onclick: () => { location.hash = C.link("graph", { key, stage: other, open: one.groups.join("."), node: one.id }); } }, one.label + (one.path ? " – " + one.path : ""))));
        if (there && there !== pane) {
          there.mark(nodes.map((one) => one.id));
          await there.reveal(nodes[0], false);
        }
      }
      keep();
    }
    // What the overlay says most, or least, from the threshold on; of words how often each stands there.
    async function top() {
      const pane = panes[0], name = pane.state.overlay, one = stageOf(pane.state.stage).overlays.find((each) => each.name === name);
      if (!one) { results.replaceChildren(); return; }
      if (sorted !== name) { sorted = name; order = one.together === "least" ? "least" : "most"; }
      const edge = pane.state.threshold ?? "", from = one.together === "least" ? "" : edge, to = one.together === "least" ? edge : "";
      const answer = await C.get("graph/top", { key, stage: pane.state.stage, overlay: name, order, limit, from, to });
      if (one.words.length) {
        results.replaceChildren(C.make("h2", {}, name), ...answer.words.slice(0, 40).map(({ word, count }) => C.make("button", { type: "button", class: "node", onclick: async () => {
          const found = await C.get("graph/top", { key, stage: pane.state.stage, overlay: name, word, limit: 60 });
          results.replaceChildren(C.make("h2", {}, word + ": " + C.plural(found.count, "node")), ...found.nodes.map((node) => nodeButton(pane, node)));
          pane.mark(found.nodes.map((node) => node.id));
        } }, word + ": " + C.plural(count, "node"))));
        return;
      }
      results.replaceChildren(C.make("h2", {}, (order === "most" ? "Top " : "Lowest ") + limit + " by " + name), C.make("div", { class: "bar" },
        C.selectBox("Sort", [["most", "highest first"], ["least", "lowest first"]], order, (value) => { order = value; top(); }),
        C.selectBox("List", [["10", "10"], ["100", "100"]], String(limit), (value) => { limit = Number(value); top(); }), C.make("span", { class: "hint" }, answer.count + " of " + C.plural(stageOf(pane.state.stage).nodes, "node"))),
      ...answer.nodes.map((node) => nodeButton(pane, node, overlayText(one, node.value) + (answer.sum > 0 && one.together === "sum" ? " (" + ((100 * node.value) / answer.sum).toFixed(1) + " %) " : " ") + node.label)));
    }
    let lastTop = "";
    const changed = () => { if (!panes.length) return; keep(); const { stage, overlay, threshold } = panes[0].state, now = [stage, overlay, threshold].join("|"); if (now !== lastTop) { lastTop = now; top(); } };
    const first = usable().find((one) => one.name === parameters.get("stage")) || usable().find((one) => one.name === "stablehlo") || usable()[0];
    if (!first) { main.append(C.make("p", { class: "error" }, "There is nothing to show: " + graph().stages.map((one) => one.error).filter(Boolean).join("; "))); return; }
    const open = (parameters.get("open") || "").split(".").filter(Boolean).map(Number);
    panes.push(makePane(model, first.name, { open, overlay: parameters.get("overlay") || "", selected, changed, chosen }));
    const second = usable().find((one) => one.name === parameters.get("second"));
    if (second) panes.push(makePane(model, second.name, { open: [], selected, changed, chosen }));
    shelf.append(...panes.map((pane) => pane.element));
    let timer = 0;
    const search = C.make("input", { type: "text", placeholder: "dot, 8x128, layer.3, model.py:12", oninput: () => { clearTimeout(timer); timer = setTimeout(async () => {
      if (!search.value) { lastTop = ""; changed(); return; }
      const answer = await C.get("graph/search", { key, stage: panes[0].state.stage, q: search.value });
      results.replaceChildren(C.make("h2", {}, C.plural(answer.count, "node") + " found"), ...answer.nodes.slice(0, 60).map((node) => nodeButton(panes[0], node)));
      panes[0].mark(answer.nodes.map((node) => node.id));
    }, 150); } });
    const actions = C.make("div", { class: "actions", role: "group", "aria-label": "What can be done with this program" }, kinds.filter((kind) => kind.needs_program && kind.name !== "extract").map((kind) =>
      C.make("button", { type: "button", title: kind.summary, onclick: () => start(kind.name) }, kind.title + "…")));
    main.append(actions, choice, C.make("div", { class: "bar" }, C.make("label", {}, "Search: operation, type, place, path", search),
      C.selectBox("Beside it", [["", "nothing"], ...usable().map((one) => [one.name, one.title])], second ? second.name : "", (value) => { C.keepInAddress({ second: value }); dispatchEvent(new HashChangeEvent("hashchange")); })),
    C.make("div", { class: "explorer" }, shelf, C.make("aside", {}, work, details, results)));
    for (const pane of panes) await pane.rebuild();
    if (parameters.get("node")) {
      const node = await C.get("graph/node", { key, stage: first.name, id: parameters.get("node") });
      await panes[0].reveal(node, true);
    }
    C.explorer = { panes, model };
  };
})(window.Cupel);
