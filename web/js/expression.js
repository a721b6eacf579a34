// -k and -m in a static report, where no server can evaluate them: the same grammar, `or`, `and`, `not` and parentheses, and the same
// meaning of words as cupel/results/serve/Overview.cpp gives them (tests/pages compares the two).
"use strict";
(function (C) {
  function parse(text) {
    const tokens = [...text.matchAll(/\s*([()]|[^\s()]+)/g)].map((match) => ({ word: match[1], at: match.index + match[0].length - match[1].length + 1 }));
    let next = 0;
    const fail = (expected) => {
      const got = tokens[next];
      throw new Error("at column " + (got ? got.at : text.length + 1) + ": expected " + expected + "; got " + (got ? got.word : "end of input"));
    };
    const peek = () => (next < tokens.length ? tokens[next].word : "");
    function either() {
      let left = both();
      while (peek() === "or") { ++next; const a = left, b = both(); left = (holds) => a(holds) || b(holds); }
      return left;
    }
    function both() {
      let left = not();
      while (peek() === "and") { ++next; const a = left, b = not(); left = (holds) => a(holds) && b(holds); }
      return left;
    }
    function not() {
      if (peek() === "not") { ++next; const inner = not(); return (holds) => !inner(holds); }
      if (peek() === "(") {
        ++next;
        const inner = either();
        if (peek() !== ")") fail("right parenthesis");
        ++next;
        return inner;
      }
      const word = peek();
      if (!word || word === ")" || word === "and" || word === "or") fail("not OR left parenthesis OR identifier");
      ++next;
      return (holds) => holds(word);
    }
    if (!tokens.length) return () => true;
    const whole = either();
    if (next < tokens.length) fail("end of input");
    return whole;
  }

  C.selectRows = function (table, keyword, markers) {
    const k = parse(keyword), m = parse(markers), rows = [];
    const functions = window.CUPEL_STATIC ? window.CUPEL_STATIC.functions : {}, around = window.CUPEL_STATIC ? window.CUPEL_STATIC.around : [];
    for (let i = 0; i < table.count; ++i) {
      const marks = table.columns.markers[i].split(" ");
      if (!m((word) => marks.includes(word))) continue;
      const made = functions[table.columns.suite[i] + "/" + table.columns.framework[i]] || "";
      const name = (made ? made + "[" + table.columns.id[i] + "]" : table.columns.id[i]).toLowerCase();
      const file = made ? "" : (table.columns.file[i] || "").toLowerCase();
      if (k((word) => {
        const lower = word.toLowerCase();
        return name.includes(lower) || file.includes(lower) || (made && around.some((one) => one.toLowerCase().includes(lower))) ||
          marks.some((mark) => mark.toLowerCase().includes(lower));
      })) rows.push(i);
    }
    return rows;
  };
})(window.Cupel);
