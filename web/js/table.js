// A table of any length: only the rows in sight are elements. Sorts by a click on a column, groups, and downloads as CSV. With the
// keyboard: up and down choose a row (above the first: the columns' heads), left and right a cell of it, Enter opens, or sorts. Columns: {title, width, number, value(item) to sort and save, cell(item) to show (else the value)}.
"use strict";
(function (C) {
  let tables = 0;

  C.table = function (options) {
    const { columns, label } = options;
    // On a phone columns are narrow and rows have three lines.
    const isNarrow = window.innerWidth < 640, ROW = isNarrow ? 58 : 28, widthOf = (column) => (!isNarrow ? column.width : column.width > 300 ? 170 : Math.min(column.width, 120)) + "px";
    const state = { rows: options.rows, lines: [], sort: options.sort ?? -1, down: Boolean(options.down), at: -1, column: -1, closed: new Set(), groupOf: options.groupOf || null };
    const id = "grid-" + ++tables;
    const head = C.make("div", { class: "head", role: "row" }), body = C.make("div", { class: "body", role: "rowgroup" });
    const grid = C.make("div", { class: isNarrow ? "grid narrow" : "grid", role: "grid", tabindex: "0", "aria-label": label, id }, C.make("div", { role: "rowgroup" }, head), body);
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
      const room = Math.min(state.lines.length * ROW + 46, options.height ? (options.height * ROW) / 28 : Math.max(260, window.innerHeight - 290));
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
        const button = C.make("button", { type: "button", tabindex: "-1", title: column.title, onclick: () => sortBy(index) }, column.title + mark);
        button.style.width = "100%";
        if (column.number) button.style.textAlign = "right";
        const isHere = state.at < 0 && state.column === index;
        const cell = C.make("div", { role: "columnheader", "aria-sort": sorted, id: isHere ? id + "-at" : null, "data-at": isHere ? "" : null }, button);
        cell.style.width = widthOf(column);
        cell.style.flex = "none";
        return cell;
      }));
    }
    function sortBy(index) {
      state.down = state.sort === index ? !state.down : Boolean(columns[index].number);
      state.sort = index;
      arrange();
    }
    function rowElement(line, number) {
      const isGroup = line !== null && typeof line === "object" && "group" in line;
      const isHere = number === state.at, column = isGroup ? -1 : state.column;
      const row = C.make("div", { class: "row", role: "row", "aria-rowindex": number + 2, "data-at": isHere ? "" : null, id: isHere && column < 0 ? id + "-at" : null });
      row.style.top = number * ROW + "px";
      if (isGroup) {
        const cell = C.make("div", { class: "cell group", role: "gridcell" }, state.closed.has(line.group) ? "▸ " : "▾ ", line.group + " (" + line.rows.length + ") ",
          options.groupSummary ? options.groupSummary(line.rows) : "");
        row.append(cell);
        row.addEventListener("click", () => toggle(line.group));
        return row;
      }
      columns.forEach((one, index) => {
        const shown = one.cell ? one.cell(line) : one.value(line), isCell = isHere && index === column;
        const cell = C.make("div", { class: one.number ? "cell number" : "cell", role: "gridcell", title: one.title_of ? one.title_of(line) : null, id: isCell ? id + "-at" : null, "data-at": isCell ? "" : null }, shown);
        cell.style.width = widthOf(one);
        row.append(cell);
      });
      return row;
    }
    function toggle(group) {
      state.closed.has(group) ? state.closed.delete(group) : state.closed.add(group);
      arrange();
    }
    function draw() {
      const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - 4), count = Math.ceil((grid.clientHeight || 600) / ROW) + 8;
      body.replaceChildren(...state.lines.slice(first, first + count).map((line, index) => rowElement(line, first + index)));
      const here = document.getElementById(id + "-at");
      here ? grid.setAttribute("aria-activedescendant", id + "-at") : grid.removeAttribute("aria-activedescendant");
      return here;
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
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }, sideways = { ArrowLeft: -1, ArrowRight: 1 };
      if (event.key in moves) {
        const least = event.key === "ArrowUp" ? -1 : 0;
        state.at = Math.max(least, Math.min(state.lines.length - 1, state.at + moves[event.key]));
        if (state.at < 0) state.column = Math.max(0, state.column);
        const top = Math.max(0, state.at) * ROW;
        if (top < grid.scrollTop) grid.scrollTop = top;
        else if (top + 2 * ROW > grid.scrollTop + grid.clientHeight - ROW) grid.scrollTop = top - grid.clientHeight + 3 * ROW;
      } else if (event.key in sideways) {
        state.column = Math.max(state.at < 0 ? 0 : -1, Math.min(columns.length - 1, state.column + sideways[event.key]));
      } else if (event.key === "Enter" && state.at >= 0) {
        const line = state.lines[state.at], link = state.column >= 0 ? document.getElementById(id + "-at")?.querySelector("a") : null;
        if (line && line.group !== undefined) toggle(line.group);
        else if (link) link.click();
        else if (options.open) location.hash = options.open(line);
        event.preventDefault();
        return;
      } else if (event.key === "Enter" && state.column >= 0) {
        sortBy(state.column);
        event.preventDefault();
        return;
      } else return;
      drawHead();
      const here = draw();
      if (event.key in sideways && here) here.scrollIntoView({ block: "nearest", inline: "nearest" });
      event.preventDefault();
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
