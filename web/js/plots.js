// Plots as SVG elements, which download as they are seen: lines, stacked areas, bars, sparklines.
"use strict";
(function (C) {
  // On a phone a plot is narrow instead of small, so that its text can be read.
  const isNarrow = window.innerWidth < 640, WIDE = isNarrow ? 380 : 760, NAMES = isNarrow ? 130 : 230, TALL = 240, LEFT = 56, RIGHT = 10, TOP = 10, LOW = 34;

  function ticks(low, high) {
    const span = high - low || 1, step = 10 ** Math.floor(Math.log10(span / 3));
    const nice = [1, 2, 5, 10].map((factor) => factor * step).find((one) => span / one <= 5) || span;
    const list = [];
    for (let at = Math.ceil(low / nice) * nice; at <= high + nice * 1e-6; at += nice) list.push(at);
    return list;
  }
  function frame(label, xs, low, high, format, right = RIGHT) {
    const x = (value) => LEFT + (xs.length < 2 ? (WIDE - LEFT - right) / 2 : (value * (WIDE - LEFT - right)) / (xs.length - 1));
    const y = (value) => TALL - LOW - ((value - low) * (TALL - LOW - TOP)) / (high - low || 1);
    const plot = C.svg("svg", { class: "plot", viewBox: `0 0 ${WIDE} ${TALL}`, width: WIDE, height: TALL, role: "img", "aria-label": label });
    for (const tick of ticks(low, high)) {
      plot.append(C.svg("line", { class: "axis", x1: LEFT, x2: WIDE - right, y1: y(tick), y2: y(tick) }),
        C.svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, tick === 0 ? "0" : format(tick)));
    }
    const every = Math.max(1, Math.ceil(xs.length / (isNarrow ? 3 : 6)));
    xs.forEach((text, index) => {
      if (index % every) return;
      const isCutOff = x(index) + text.length * 3.5 > WIDE; // About 7 units a character.
      plot.append(C.svg("text", { class: "soft", x: isCutOff ? WIDE : x(index), y: TALL - 14, "text-anchor": isCutOff ? "end" : "middle" }, text));
    });
    return { plot, x, y };
  }
  function withDownload(plot, name, legend) {
    return C.make("figure", {}, plot, C.make("div", { class: "legend" }, legend || "", C.make("button", { type: "button", onclick: () => {
      const copy = plot.cloneNode(true), style = getComputedStyle(document.documentElement);
      copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      for (const text of copy.querySelectorAll("text")) { text.setAttribute("fill", style.getPropertyValue("--text").trim()); text.setAttribute("font", "11px sans-serif"); text.setAttribute("font-size", "11"); }
      for (const line of copy.querySelectorAll(".axis")) line.setAttribute("stroke", style.getPropertyValue("--line").trim());
      C.save(name + ".svg", "image/svg+xml", new XMLSerializer().serializeToString(copy));
    } }, "SVG")));
  }
  const bounds = (values, fromZero) => {
    const finite = values.filter((value) => Number.isFinite(value));
    const low = fromZero ? 0 : Math.min(...finite), high = Math.max(...finite);
    return finite.length ? [low, high === low ? low + (Math.abs(low) || 1) * 0.01 : high] : [0, 1];
  };

  // series: [{name, family, values}], one value a label of `xs`; null where there is none.
  C.linePlot = function (name, label, xs, series, format, fromZero) {
    const [low, high] = bounds(series.flatMap((one) => one.values), fromZero);
    const { plot, x, y } = frame(label, xs, low, high, format);
    for (const one of series) {
      const colour = C.colour(one.family || "UnexpectedPass");
      let path = "", pen = "M";
      one.values.forEach((value, index) => {
        if (!Number.isFinite(value)) { pen = "M"; return; }
        path += pen + x(index).toFixed(1) + " " + y(value).toFixed(1);
        pen = "L";
        plot.append(C.svg("circle", { cx: x(index), cy: y(value), r: 2.5, fill: colour }, C.svg("title", {}, xs[index] + ": " + format(value))));
      });
      plot.append(C.svg("path", { d: path, fill: "none", stroke: colour, "stroke-width": 1.5 }));
    }
    return withDownload(plot, name);
  };
  C.areaPlot = function (name, label, xs, series) {
    const sums = xs.map((_, index) => series.reduce((sum, one) => sum + (one.values[index] || 0), 0));
    const { plot, x, y } = frame(label, xs, 0, Math.max(1, ...sums), (value) => String(value), isNarrow ? RIGHT : 150);
    const below = xs.map(() => 0);
    let lowest = Infinity;
    for (const one of series) {
      const top = below.map((value, index) => value + (one.values[index] || 0));
      const up = top.map((value, index) => x(index).toFixed(1) + " " + y(value).toFixed(1)), down = below.map((value, index) => x(index).toFixed(1) + " " + y(value).toFixed(1)).reverse();
      const bar = xs.length < 2 ? null : "M" + up.join("L") + "L" + down.join("L") + "Z";
      const fill = C.colour(one.family);
      plot.append(bar ? C.svg("path", { d: bar, fill, "fill-opacity": 0.75, stroke: fill }, C.svg("title", {}, one.name))
        : C.svg("rect", { x: x(0) - 30, width: 60, y: y(top[0]), height: Math.max(0, y(below[0]) - y(top[0])), fill }, C.svg("title", {}, one.name)));
      // Named where it ends, so that nobody has to tell colours apart; what is too thin for its name is in the legend.
      const middle = (y(top.at(-1)) + y(below.at(-1))) / 2;
      if (!isNarrow && top.at(-1) > below.at(-1) && lowest - middle >= 11) {
        lowest = middle;
        plot.append(C.svg("text", { x: (xs.length < 2 ? x(0) + 30 : x(xs.length - 1)) + 6, y: middle + 4 }, one.name));
      }
      top.forEach((value, index) => { below[index] = value; });
    }
    return withDownload(plot, name, series.map((one) => C.stateText(one.family, one.name)));
  };
  // bars: [{name, value, text}]
  C.barPlot = function (name, label, bars) {
    const tall = bars.length * 22 + 12, most = Math.max(1e-12, ...bars.map((bar) => bar.value));
    const plot = C.svg("svg", { class: "plot", viewBox: `0 0 ${WIDE} ${tall}`, width: WIDE, height: tall, role: "img", "aria-label": label });
    bars.forEach((bar, index) => {
      const wide = ((WIDE - NAMES - 90) * bar.value) / most;
      plot.append(C.svg("text", { x: NAMES - 8, y: index * 22 + 17, "text-anchor": "end" }, bar.name.length > NAMES / 6.4 ? "…" + bar.name.slice(1 - Math.floor(NAMES / 6.4)) : bar.name),
        C.svg("rect", { x: NAMES, y: index * 22 + 5, width: Math.max(1, wide), height: 15, fill: C.colour("UnexpectedPass") }, C.svg("title", {}, bar.name)),
        C.svg("text", { x: NAMES + 6 + wide, y: index * 22 + 17 }, bar.text));
    });
    return withDownload(plot, name);
  };
  // History at a glance, oldest first: a mark a run, its height the value, its shape and colour the outcome.
  C.sparkline = function (rows) {
    const step = Math.min(14, Math.max(4, 560 / Math.max(1, rows.length))), wide = rows.length * step + 4;
    const plot = C.svg("svg", { class: "plot", viewBox: `0 0 ${wide} 34`, width: wide, height: 34, role: "img",
      "aria-label": "Outcomes of the last " + rows.length + " runs, oldest first: " + rows.map((row) => row.outcome).join(", ") });
    const most = Math.max(1e-9, ...rows.map((row) => row.seconds || 0));
    rows.forEach((row, index) => {
      const family = C.familyOf(row.outcome), fill = C.colour(family), tall = 6 + (22 * (row.seconds || 0)) / most, x = 2 + index * step;
      const title = C.svg("title", {}, row.run + ": " + row.outcome + ", " + C.seconds(row.seconds));
      plot.append(family === "Pass" ? C.svg("rect", { x, y: 30 - tall, width: step - 2, height: tall, fill }, title)
        : C.svg("path", { d: `M${x} 30l${(step - 2) / 2} ${-tall}l${(step - 2) / 2} ${tall}z`, fill, stroke: fill }, title));
    });
    return plot;
  };
})(window.Cupel);
