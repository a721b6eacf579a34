// The explorer: the graph of a program at one stage, or two side by side. The server computes where boxes stand for the groups that
// are open; here they are drawn on a canvas, found by search, selected, and coloured by an overlay.
"use strict";
(function (C) {
  C.views = C.views || {};
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // From pale to strong, told apart by the colour-blind; words get colours of their own.
  const RAMP = ["#fff3c4", "#fdd49e", "#fdae6b", "#f16913", "#a63603"], WORDS = ["#8ecae6", "#f4a261", "#90be6d", "#e5989b", "#cdb4db", "#e9c46a", "#a8dadc"];

  // One stage in one pane. `link(node)` is called with the details of what is selected.
  function makePane(graph, stageName, options) {
    const state = { stage: stageName, open: new Set(options.open), overlay: options.overlay || "", view: null, scale: 1, x: 0, y: 0, selected: null, marked: new Set(), threshold: 0 };
    const canvas = C.make("canvas", { tabindex: "0", role: "img", "aria-label": "Graph; the lists beside it name what it shows" });
    const box = C.make("div", { class: "graph" }, canvas), legend = C.make("div", { class: "legend" });
    const element = C.make("section", { class: "pane" });
    const painter = canvas.getContext("2d");
    const stage = () => graph.stages.find((one) => one.name === state.stage);
    const overlay = () => stage().overlays.find((one) => one.name === state.overlay);

    async function load(fit) {
      const mine = (state.turn = (state.turn || 0) + 1);
      const view = await C.get("graph/view", { stage: state.stage, open: [...state.open].join(","), overlay: state.overlay });
      if (mine !== state.turn) return;
      state.view = view;
      const values = view.boxes.filter((one) => !one.open && typeof one.value === "number").map((one) => one.value);
      state.most = Math.max(1e-30, ...values);
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
        if (one.value < state.threshold) return null;
        return RAMP[Math.min(RAMP.length - 1, Math.floor((one.value / state.most) * RAMP.length))];
      }
      return WORDS[Math.max(0, overlay().words.indexOf(one.value)) % WORDS.length];
    }
    function drawLegend() {
      const one = overlay();
      if (!one) { legend.replaceChildren(); return; }
      const swatch = (colour, text) => { const patch = C.make("span", { class: "swatch" }); patch.style.background = colour; return C.make("span", {}, patch, text); };
      const number = (value) => (one.unit === "s" ? C.seconds(value) : one.unit === "B" ? C.bytes(value) : C.figure(value) + (one.unit ? " " + one.unit : ""));
      legend.replaceChildren(...(one.words.length ? one.words.map((word, index) => swatch(WORDS[index % WORDS.length], word))
        : RAMP.map((colour, index) => swatch(colour, "from " + number((state.most * index) / RAMP.length)))));
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
        const isChosen = !one.group && one.id === state.selected, isMarked = !one.group && state.marked.has(one.id);
        painter.strokeStyle = isChosen ? colours.focus : isMarked ? colours.link : colours.soft;
        painter.lineWidth = isChosen || isMarked ? 3.5 : 1;
        painter.setLineDash(isMarked && !isChosen ? [6, 3] : []);
        painter.stroke();
        painter.setLineDash([]);
        if (state.scale < 0.25) continue;
        painter.fillStyle = fill ? "#1b1f24" : colours.text;
        painter.font = (one.group ? "600 " : "") + "12px system-ui, sans-serif";
        painter.fillText(one.group ? "▸ " + one.label + " (" + one.count + ")" : one.label, one.x + 10, one.y + one.height / 2 + 4, one.width - 18);
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
      if (one.group) { await toggle(one.id); return; }
      state.selected = one.id;
      draw();
      await options.selected?.(state.stage, one.id);
    });
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); const rect = canvas.getBoundingClientRect(); zoom(Math.exp(-event.deltaY / 400), event.clientX - rect.left, event.clientY - rect.top); }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 60, moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      const room = box.getBoundingClientRect();
      if (event.key in moves) { state.x += moves[event.key][0]; state.y += moves[event.key][1]; draw(); }
      else if (event.key === "+" || event.key === "=") zoom(1.2, room.width / 2, room.height / 2);
      else if (event.key === "-") zoom(1 / 1.2, room.width / 2, room.height / 2);
      else if (event.key === "0") { fitAll(); draw(); }
      else return;
      event.preventDefault();
    });
    const watcher = new ResizeObserver(() => draw());
    watcher.observe(box);

    const stageBox = C.selectBox("Stage", graph.stages.map((one) => [one.name, one.title + (one.nodes ? " (" + one.nodes + ")" : " (none)")]), state.stage, async (value) => { state.stage = value; state.open = new Set(); state.selected = null; state.marked = new Set(); state.overlay = overlay() ? state.overlay : ""; await rebuild(); });
    const tools = C.make("div", { class: "bar" });
    async function rebuild() {
      const one = stage();
      tools.replaceChildren(stageBox,
        C.selectBox("Overlay", [["", "none"], ...one.overlays.map((each) => [each.name, each.name])], state.overlay, async (value) => { state.overlay = value; state.threshold = 0; await load(false); }),
        C.make("button", { type: "button", onclick: async () => { state.open = new Set(Array.from({ length: one.groups }, (_, index) => index + 1)); await load(true); } }, "Open all"),
        C.make("button", { type: "button", onclick: async () => { state.open = new Set(); await load(true); } }, "Close all"),
        C.make("button", { type: "button", onclick: () => { fitAll(); draw(); } }, "Fit"),
        C.make("label", {}, "Colour from", C.make("input", { type: "range", min: 0, max: 100, value: 0, oninput: (event) => { state.threshold = (state.most * event.target.value) / 100; draw(); } })));
      if (one.error) tools.append(C.make("p", { class: "hint" }, "This stage: " + one.error));
      await load(true);
    }
    element.append(tools, legend, box);
    return { element, state, rebuild, reveal, draw, mark(ids) { state.marked = new Set(ids); draw(); }, boxes: () => state.view?.boxes || [], where: (id) => {
      const one = state.view.boxes.find((candidate) => candidate.id === id && !candidate.open), rect = canvas.getBoundingClientRect();
      return one && { x: rect.left + state.x + (one.x + one.width / 2) * state.scale, y: rect.top + state.y + (one.y + one.height / 2) * state.scale };
    } };
  }

  C.views.graph = async function (main, parameters) {
    const graph = await C.get("graph", {});
    const usable = graph.stages.filter((one) => one.nodes);
    main.append(C.make("h1", {}, graph.file));
    const details = C.make("div", { class: "details", tabindex: "0", role: "region", "aria-label": "Details" }, C.make("p", { class: "hint" }, "Select an operation to see what it is. Drag to move, turn the wheel to zoom, click a group to open it; arrow keys, + and - and 0 do the same."));
    const results = C.make("div", { class: "details", tabindex: "0", role: "region", "aria-label": "Found" });
    const panes = [], shelf = C.make("div", { class: "panes" });
    const keep = () => C.keepInAddress({ stage: panes[0].state.stage, open: [...panes[0].state.open].join("."), overlay: panes[0].state.overlay, second: panes[1] ? panes[1].state.stage : "", node: panes[0].state.selected === null ? "" : String(panes[0].state.selected) });
    const nodeButton = (pane, node, text) => C.make("button", { type: "button", class: "node", onclick: () => pane.reveal(node, true) }, text || node.label + (node.path ? " – " + node.path : ""));

    async function selected(stageName, id) {
      const pane = panes.find((one) => one.state.stage === stageName) || panes[0];
      const node = await C.get("graph/node", { stage: stageName, id });
      details.replaceChildren(C.make("h2", {}, node.op), C.facts([["In", node.path], ["Place", node.place], ["Gives", node.types.join(", ")],
        ...Object.entries(node.overlays).map(([name, value]) => [name, typeof value === "number" ? C.figure(value) : value]), ...Object.entries(node.attributes), ["Came from", node.origins.join("; ")]]));
      const list = (title, nodes, where) => { if (nodes.length) details.append(C.make("h3", {}, title + " (" + nodes.length + ")"), ...nodes.slice(0, 40).map((one) => nodeButton(where, one))); };
      list("Reads", node.inputs, pane);
      list("Read by", node.readers, pane);
      for (const [other, nodes] of Object.entries(node.linked)) {
        if (!nodes.length) continue;
        const title = graph.stages.find((one) => one.name === other).title;
        const there = panes.find((one) => one.state.stage === other);
        details.append(C.make("h3", {}, "In " + title + " (" + nodes.length + ")"), ...nodes.slice(0, 20).map((one) => there ? nodeButton(there, one)
          : C.make("button", { type: "button", class: "node", onclick: () => { location.hash = C.link("graph", { stage: other, open: one.groups.join("."), node: one.id }); } }, one.label + (one.path ? " – " + one.path : ""))));
        if (there && there !== pane) {
          there.mark(nodes.map((one) => one.id));
          await there.reveal(nodes[0], false);
        }
      }
      keep();
    }
    async function top() {
      const pane = panes[0], name = pane.state.overlay, one = graph.stages.find((each) => each.name === pane.state.stage).overlays.find((each) => each.name === name);
      if (!one || one.words.length) { results.replaceChildren(); return; }
      const answer = await C.get("graph/top", { stage: pane.state.stage, overlay: name });
      results.replaceChildren(C.make("h2", {}, "Top 10 by " + name), ...answer.nodes.map((node) => nodeButton(pane, node, (one.unit === "s" ? C.seconds(node.value) : one.unit === "B" ? C.bytes(node.value) : C.figure(node.value)) +
        (answer.sum ? " (" + ((100 * node.value) / answer.sum).toFixed(1) + " %) " : " ") + node.label)));
    }
    let lastTop = "";
    const changed = () => { if (!panes.length) return; keep(); const key = panes[0].state.stage + panes[0].state.overlay; if (key !== lastTop) { lastTop = key; top(); } };
    const first = usable.find((one) => one.name === parameters.get("stage")) || usable[0];
    if (!first) { main.append(C.make("p", { class: "error" }, "There is nothing to show: " + graph.stages.map((one) => one.error).filter(Boolean).join("; "))); return; }
    const open = (parameters.get("open") || "").split(".").filter(Boolean).map(Number);
    panes.push(makePane(graph, first.name, { open, overlay: parameters.get("overlay") || "", selected, changed }));
    const second = usable.find((one) => one.name === parameters.get("second"));
    if (second) panes.push(makePane(graph, second.name, { open: [], selected, changed }));
    shelf.append(...panes.map((pane) => pane.element));
    let timer = 0;
    const search = C.make("input", { type: "text", placeholder: "dot, 8x128, layer.3, model.py:12", oninput: () => { clearTimeout(timer); timer = setTimeout(async () => {
      if (!search.value) { lastTop = ""; changed(); return; }
      const answer = await C.get("graph/search", { stage: panes[0].state.stage, q: search.value });
      results.replaceChildren(C.make("h2", {}, C.plural(answer.count, "node") + " found"), ...answer.nodes.slice(0, 60).map((node) => nodeButton(panes[0], node)));
      panes[0].mark(answer.nodes.map((node) => node.id));
    }, 150); } });
    main.append(C.make("div", { class: "bar" }, C.make("label", {}, "Search: operation, type, place, path", search),
      C.selectBox("Beside it", [["", "nothing"], ...usable.map((one) => [one.name, one.title])], second ? second.name : "", (value) => { C.keepInAddress({ second: value }); dispatchEvent(new HashChangeEvent("hashchange")); })),
    C.make("div", { class: "explorer" }, shelf, C.make("aside", {}, details, results)));
    for (const pane of panes) await pane.rebuild();
    if (parameters.get("node")) {
      const node = await C.get("graph/node", { stage: first.name, id: parameters.get("node") });
      await panes[0].reveal(node, true);
    }
    C.explorer = { panes };
  };
})(window.Cupel);
