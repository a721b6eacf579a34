// A table of any length: only the rows in sight are elements. Sorts by a click on a column, groups, moves with the keyboard, and
// downloads as CSV. Columns: {title, width, number, value(item) to sort and save, cell(item) to show (else the value)}.
"use strict";
(function (C) {
  const ROW = 28;
  let tables = 0;

  C.table = function (options) {
    const { columns, label } = options;
    const state = { rows: options.rows, lines: [], sort: options.sort ?? -1, down: Boolean(options.down), at: -1, closed: new Set(), groupOf: options.groupOf || null };
    const id = "grid-" + ++tables;
    const head = C.make("div", { class: "head", role: "row" }), body = C.make("div", { class: "body", role: "rowgroup" });
    const grid = C.make("div", { class: "grid", role: "grid", tabindex: "0", "aria-label": label, id }, C.make("div", { role: "rowgroup" }, head), body);
    const note = C.make("span", { class: "hint", role: "status" });
    const tools = C.make("div", { class: "bar" }, note, C.make("button", { type: "button", onclick: download }, "CSV"));
    const element = C.make("div", {}, tools, grid);

    function compare(a, b) {
      const column = columns[state.sort];
      const x = column.value(a), y = column.value(b);
      const order = column.number ? C.sortable(x) - C.sortable(y) : String(x ?? "").localeCompare(String(y ?? ""), "en", { numeric: true });
      return state.down ? -order : order;
    }
    function arrange() {
      const sorted = (rows) => (state.sort < 0 ? rows : [...rows].sort(compare));
      if (!state.groupOf) {
        state.lines = sorted(state.rows);
      } else {
        const groups = new Map();
        for (const row of state.rows) {
          const name = state.groupOf(row) || "(none)";
          if (!groups.has(name)) groups.set(name, []);
          groups.get(name).push(row);
        }
        state.lines = [];
        for (const name of [...groups.keys()].sort()) {
          state.lines.push({ group: name, rows: groups.get(name) });
          if (!state.closed.has(name)) state.lines.push(...sorted(groups.get(name)));
        }
      }
      state.at = Math.min(state.at, state.lines.length - 1);
      body.style.height = state.lines.length * ROW + "px";
      const room = Math.min(state.lines.length * ROW + 46, options.height || Math.max(260, window.innerHeight - 290));
      grid.style.height = room + "px";
      grid.setAttribute("aria-rowcount", String(state.lines.length + 1));
      note.textContent = C.plural(state.rows.length, options.word || "row");
      drawHead();
      draw();
    }
    function drawHead() {
      head.replaceChildren(...columns.map((column, index) => {
        const sorted = state.sort === index ? (state.down ? "descending" : "ascending") : "none";
        const mark = state.sort === index ? (state.down ? " ▾" : " ▴") : "";
        const button = C.make("button", { type: "button", tabindex: "-1", title: column.title, onclick: () => {
          state.down = state.sort === index ? !state.down : Boolean(column.number);
          state.sort = index;
          arrange();
        } }, column.title + mark);
        button.style.width = "100%";
        const cell = C.make("div", { role: "columnheader", "aria-sort": sorted }, button);
        cell.style.width = column.width + "px";
        cell.style.flex = "none";
        return cell;
      }));
    }
    function rowElement(line, number) {
      const isGroup = line !== null && typeof line === "object" && "group" in line;
      const row = C.make("div", { class: "row", role: "row", "aria-rowindex": number + 2, "data-at": number === state.at ? "" : null });
      row.style.top = number * ROW + "px";
      if (isGroup) {
        const cell = C.make("div", { class: "cell group", role: "gridcell" }, state.closed.has(line.group) ? "▸ " : "▾ ", line.group + " (" + line.rows.length + ") ",
          options.groupSummary ? options.groupSummary(line.rows) : "");
        row.append(cell);
        row.addEventListener("click", () => toggle(line.group));
        return row;
      }
      for (const column of columns) {
        const shown = column.cell ? column.cell(line) : column.value(line);
        const cell = C.make("div", { class: column.number ? "cell number" : "cell", role: "gridcell", title: column.title_of ? column.title_of(line) : null }, shown);
        cell.style.width = column.width + "px";
        row.append(cell);
      }
      return row;
    }
    function toggle(group) {
      state.closed.has(group) ? state.closed.delete(group) : state.closed.add(group);
      arrange();
    }
    function draw() {
      const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - 4), count = Math.ceil((grid.clientHeight || 600) / ROW) + 8;
      body.replaceChildren(...state.lines.slice(first, first + count).map((line, index) => rowElement(line, first + index)));
    }
    let waits = false;
    grid.addEventListener("scroll", () => {
      if (waits) return;
      waits = true;
      requestAnimationFrame(() => { waits = false; draw(); });
    });
    grid.addEventListener("keydown", (event) => {
      if (event.target !== grid) return;
      const page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 2);
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
      if (event.key in moves) {
        state.at = Math.max(0, Math.min(state.lines.length - 1, state.at + moves[event.key]));
        const top = state.at * ROW;
        if (top < grid.scrollTop) grid.scrollTop = top;
        else if (top + 2 * ROW > grid.scrollTop + grid.clientHeight - ROW) grid.scrollTop = top - grid.clientHeight + 3 * ROW;
        draw();
        event.preventDefault();
      } else if (event.key === "Enter" && state.at >= 0) {
        const line = state.lines[state.at];
        if (line && line.group !== undefined) toggle(line.group);
        else if (options.open) location.hash = options.open(line);
        event.preventDefault();
      }
    });
    function download() {
      const rows = state.lines.filter((line) => !(line && line.group !== undefined)).map((line) => columns.map((column) => column.value(line)));
      C.save((options.file || "table") + ".csv", "text/csv", C.csv(columns.map((column) => column.title), rows));
    }
    arrange();
    requestAnimationFrame(draw);
    return { element, grid, show(rows, groupOf) { state.rows = rows; state.groupOf = groupOf || null; grid.scrollTop = 0; arrange(); }, lines: () => state.lines };
  };
})(window.Cupel);
