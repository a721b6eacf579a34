// What all views are written with: elements made from text only (nothing from a result is ever taken for HTML), formats, downloads.
"use strict";
window.Cupel = {};
(function (C) {
  // make("a", {href: "#/x", class: "b"}, "text", child, ...): strings become text nodes.
  C.make = function (tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== "").map((child) =>
      child instanceof Node ? child : document.createTextNode(String(child))));
    return element;
  };
  const SVG = "http://www.w3.org/2000/svg";
  C.svg = function (tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) element.setAttribute(name, String(value));
    element.append(...children.flat().map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
    return element;
  };

  C.seconds = function (value) {
    if (!value) return "–";
    if (value < 0.001) return (value * 1e6).toFixed(0) + " µs";
    if (value < 1) return (value * 1e3).toFixed(value < 0.01 ? 1 : 0) + " ms";
    if (value < 90) return value.toFixed(1) + " s";
    return value < 5400 ? (value / 60).toFixed(1) + " min" : (value / 3600).toFixed(1) + " h";
  };
  C.bytes = function (value) {
    if (!value) return "–";
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (value >= 1024 && unit < 4) { value /= 1024; ++unit; }
    return value.toFixed(unit && value < 10 ? 1 : 0) + " " + units[unit];
  };
  C.figure = function (value) {
    if (value === null || value === undefined) return "–";
    if (typeof value === "string") return value;
    return value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6) ? value.toExponential(2) : String(Math.round(value * 1e6) / 1e6);
  };
  // A figure that may be the word nan or inf, to sort by: nan is worse than any number.
  C.sortable = (value) => (value === null || value === undefined ? Infinity : value === "nan" ? -Infinity : Number(value));
  C.when = (seconds) => (seconds ? new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ") : "–");
  C.plural = (count, word) => count.toLocaleString("en") + " " + word + (count === 1 ? "" : "s");

  // An address of a view: C.link("test", {name: ...}) is "#/test?name=...".
  C.link = function (view, parameters) {
    const query = new URLSearchParams(Object.entries(parameters || {}).filter(([, value]) => value !== "" && value !== null && value !== undefined)).toString();
    return "#/" + view + (query ? "?" + query : "");
  };
  C.address = function () {
    const [view, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
    return { view: decodeURIComponent(view), parameters: new URLSearchParams(query || "") };
  };
  // Changes parameters of the view that is open, without going through it again.
  C.keepInAddress = function (changes) {
    const { view, parameters } = C.address();
    for (const [name, value] of Object.entries(changes)) value ? parameters.set(name, value) : parameters.delete(name);
    history.replaceState(null, "", C.link(view, Object.fromEntries(parameters)));
  };

  C.save = function (name, type, text) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const anchor = C.make("a", { href: url, download: name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };
  C.csv = function (columns, rows) {
    // A cell that a spreadsheet would compute is kept as text.
    const cell = (value) => {
      let text = value === null || value === undefined ? "" : String(value);
      if (/^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+(e[-+]?\d+)?$/i.test(text)) text = "'" + text;
      return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    };
    return [columns.map(cell).join(","), ...rows.map((row) => row.map(cell).join(","))].join("\r\n") + "\r\n";
  };
  C.copyButton = (text) => C.make("button", { type: "button", onclick: async (event) => {
    try { await navigator.clipboard.writeText(text); event.target.textContent = "Copied"; } catch { event.target.textContent = "Select it by hand"; }
  } }, "Copy");
  C.selectBox = function (label, options, chosen, change) {
    const box = C.make("select", { "aria-label": label, onchange: () => change(box.value) },
      options.map(([value, text]) => C.make("option", { value, selected: value === chosen }, text)));
    return C.make("label", {}, label, box);
  };
  C.facts = (pairs) => C.make("dl", { class: "facts" }, pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined)
    .map(([name, value]) => [C.make("dt", {}, name), C.make("dd", {}, value)]).flat());
})(window.Cupel);
