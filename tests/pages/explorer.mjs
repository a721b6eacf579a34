// The explorer in Chromium: stages, groups, search, details, stages side by side, overlays, large graphs; files for Model Explorer.
import { readdirSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { accessible, cupel, equal, expect, openPage, ready, scratch, serve, test } from "./lib.mjs";
import { sums, WRONG } from "./jobs.mjs";
import { ONNX } from "./onnx_model.mjs";

const shots = process.env.CUPEL_SCREENSHOTS;
const shoot = async (page, name) => { if (shots) await page.screenshot({ path: join(shots, name + ".png") }); };
const boxes = (page, pane = 0) => page.evaluate((at) => window.Cupel.explorer.panes[at].boxes().map((one) => ({ ...one })), pane);
const click = async (page, id, pane = 0) => { const at = await page.evaluate(([which, node]) => window.Cupel.explorer.panes[which].where(node), [pane, id]); await page.mouse.click(at.x, at.y); };

// Two layers with names as JAX gives them, then a product.
const LAYERS = `module @two_layers {
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {
${[0, 1].map((i) => `    %p${i} = stablehlo.dot_general ${i ? "%t0" : "%x"}, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("jit(f)/layer_${i}/dense/dot_general")
    %t${i} = stablehlo.tanh %p${i} : tensor<8x16xf32> loc("jit(f)/layer_${i}/tanh")`).join("\n")}
    return %t1 : tensor<8x16xf32>
  }
}
`;

test("explorer: groups, details, stages side by side, overlays", async () => {
  const file = join(scratch, "layers.mlir");
  writeFileSync(file, LAYERS);
  const server = await serve("explore", file, "--runs", "3");
  const page = await openPage(server.address);
  await ready(page, "graph");
  equal((await boxes(page)).map((one) => one.label + (one.group ? " (" + one.count + ")" : "")).sort(), ["argument 0", "argument 1", "jit(f) (4)", "return"], "the whole stage, groups closed");
  await click(page, (await boxes(page)).find((one) => one.group).id);
  await page.waitForFunction(() => window.Cupel.explorer.panes[0].boxes().some((one) => one.label === "layer_1"));
  await page.click("button:has-text('Open all')");
  await page.waitForFunction(() => window.Cupel.explorer.panes[0].boxes().filter((one) => one.label === "tanh").length === 2);
  const tanh = (await boxes(page)).find((one) => one.label === "tanh");
  await click(page, tanh.id);
  await page.waitForFunction(() => document.querySelector(".details h2")?.textContent === "stablehlo.tanh");
  const details = await page.textContent(".details");
  for (const wanted of ["tensor<8x16xf32>", "jit(f)/layer_0", "Reads (1)", "Read by (1)", "In Tensor IR"]) expect(details.includes(wanted), `details lack '${wanted}': ${details}`);
  await accessible(page, "explorer");
  await shoot(page, "explorer");
  const old = await page.$(".graph canvas");
  await page.click("#theme");
  await page.waitForFunction((before) => document.querySelector(".details h2")?.textContent === "stablehlo.tanh" && !before.isConnected, old);
  await accessible(page, "explorer, the other theme");
  await shoot(page, "explorer-dark");
  // With the keyboard alone: from box to box, a group closed and opened, an operation shown.
  await page.focus(".graph canvas");
  const spoken = () => page.textContent(".spoken");
  for (let i = 0; i < 12 && !(await spoken()).startsWith("layer_1, group of 2, open"); ++i) await page.keyboard.press("n");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => window.Cupel.explorer.panes[0].boxes().some((one) => one.label === "layer_1" && !one.open));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => window.Cupel.explorer.panes[0].boxes().filter((one) => one.label === "tanh").length === 2);
  for (let i = 0; i < 12 && (await spoken()) !== "dot_general"; ++i) await page.keyboard.press("p");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".details h2")?.textContent === "stablehlo.dot_general");
  await click(page, tanh.id);
  await page.waitForFunction(() => document.querySelector(".details h2")?.textContent === "stablehlo.tanh");
  // What became of it, beside it.
  await page.getByLabel("Beside it", { exact: true }).selectOption("device");
  await ready(page, "graph");
  await page.waitForFunction(() => window.Cupel.explorer.panes.length === 2 && window.Cupel.explorer.panes[1].state.marked.size > 0);
  const second = await page.evaluate(() => ({ stage: window.Cupel.explorer.panes[1].state.stage, marked: [...window.Cupel.explorer.panes[1].state.marked], labels: window.Cupel.explorer.panes[1].boxes().map((one) => [one.id, one.label]) }));
  equal(second.stage, "device", "the second stage");
  expect(second.labels.some(([id, label]) => second.marked.includes(id) && label === "product"), `the launch that does it is not marked: ${JSON.stringify(second)}`);
  await shoot(page, "side-by-side");
  // An overlay of the stage, with its legend and its list.
  await page.goto(server.address.replace(/#.*/, "") + "#/graph?stage=device&overlay=time");
  await page.waitForFunction(() => [...document.querySelectorAll("h2")].some((one) => one.textContent === "Top 10 by time"));
  expect((await page.textContent(".legend")).includes("from"), "the overlay has no legend");
  expect((await boxes(page)).some((one) => typeof one.value === "number" && one.value > 0), "no box has a time");
  await page.fill("input[placeholder^='dot']", "product");
  await page.waitForFunction(() => [...document.querySelectorAll("h2")].some((one) => one.textContent.endsWith("found")));
  await page.click("aside .node");
  await page.waitForFunction(() => document.querySelector(".details h2")?.textContent === "dev.launch");
  expect(/node=\d/.test(page.url()), "the address does not say what is selected");
  await page.done();
  await server.stop();
});

// What each overlay must say of the two layers of SUMS, in the stages that have it: words, or numbers of which the largest is given.
const OVERLAYS = [
  ["stablehlo", "memory", "numbers"], ["stablehlo", "flops", "numbers"], ["stablehlo", "placement", ["device", "reference (fallback)"]], ["stablehlo", "fusion group", /^launch \d+$/], ["stablehlo", "kernel", /^\w/],
  ["stablehlo", "largest magnitude", "numbers"], ["stablehlo", "mean", "numbers"], ["stablehlo", "deviation", "numbers"], ["stablehlo", "zeros", "numbers"], ["stablehlo", "not finite", "numbers"],
  ["stablehlo", "error against the reference", "numbers"], ["stablehlo", "error of its own", "numbers"], ["stablehlo", "blamed", ["to blame"]],
  ["stablehlo", "op by op", ["right"]], ["stablehlo", "PCC op by op", "numbers"], ["stablehlo", "coverage of the device", ["taken"]],
  ["tensor", "memory", "numbers"],
  ["device", "time", "numbers"], ["device", "memory", "numbers"], ["device", "flops", "numbers"], ["device", "bytes moved", "numbers"], ["device", "fused operations", "numbers"], ["device", "kernel", /^\w/], ["device", "fallback", ["compiled", "reference"]],
];

test("explorer: every overlay colours nodes, and has a legend and a list", async () => {
  const file = sums(), ops = join(scratch, "ops-of-overlays"), found = join(scratch, "explanation-of-overlays.json");
  cupel("run", file, "--device", "cupel", "--depth", "execute-op-by-op", "--op-by-op-dir", ops, "--results", join(scratch, "results-of-overlays"));
  try { cupel("explain", file, "--device", WRONG, "--json", "--results", join(scratch, "results-of-overlays"), "--keep", join(scratch, "values-of-overlays"), "--output", join(scratch, "smallest-of-overlays")); } catch (error) { writeFileSync(found, error.stdout); }
  const table = readdirSync(ops, { recursive: true }).find((name) => name.endsWith("_unique_ops.json"));
  const server = await serve("explore", file, "--runs", "3", "--values", "0", "--explanation", found, "--op-table", join(ops, table), "--override", "4:placement=reference");
  const page = await openPage(server.address);
  await ready(page, "graph");
  let stage = "stablehlo";
  for (const [where, name, wanted] of OVERLAYS) {
    if (where !== stage) await page.getByLabel("Stage", { exact: true }).selectOption(stage = where);
    await page.getByLabel("Overlay", { exact: true }).selectOption(name);
    await page.waitForFunction(([one, is]) => window.Cupel.explorer.panes[0].state.stage === is && document.querySelector("[aria-label=Found] h2")?.textContent.endsWith(one), [name, where]);
    await page.click("button:has-text('Open all')");
    await page.waitForFunction(() => { const all = window.Cupel.explorer.panes[0].boxes(); return all.some((one) => !one.group && one.value !== undefined) && all.every((one) => !one.group || one.open); });
    // What is on the canvas where a box with a value stands, and where one without does.
    const seen = await page.evaluate(() => {
      const pane = window.Cupel.explorer.panes[0], canvas = document.querySelector(".graph canvas"), rect = canvas.getBoundingClientRect(), ratio = canvas.width / rect.width;
      const colour = (box) => [...canvas.getContext("2d").getImageData((pane.state.x + (box.x + 4) * pane.state.scale) * ratio, (pane.state.y + (box.y + box.height / 2) * pane.state.scale) * ratio, 1, 1).data].slice(0, 3).join();
      const all = pane.boxes().filter((one) => !one.group && !one.open), inSight = (one) => { const at = pane.where(one.id); return at && at.x > rect.left && at.x < rect.right && at.y > rect.top + 20 && at.y < rect.bottom - 20; };
      return { values: all.filter((one) => one.value !== undefined).map((one) => one.value), coloured: all.filter((one) => one.value !== undefined && inSight(one)).map(colour), plain: all.filter((one) => one.value === undefined && inSight(one)).map(colour) };
    });
    const legend = await page.$$eval(".legend > span", (all) => all.map((one) => one.textContent)), listed = await page.$$eval("[aria-label=Found] .node", (all) => all.length), what = `${where}, ${name}`;
    if (wanted === "numbers") expect(seen.values.every((value) => typeof value === "number") && legend.length === 5 && legend.every((text) => /^(from|up to) /.test(text)), `${what}: ${JSON.stringify([seen.values, legend])}`);
    else if (Array.isArray(wanted)) equal([[...new Set(seen.values)].sort(), [...legend].sort()], [wanted, wanted], what);
    else expect(seen.values.every((value) => wanted.test(value)) && legend.length > 0, `${what}: ${JSON.stringify([seen.values, legend])}`);
    expect(listed > 0 && seen.coloured.length > 0 && seen.coloured.every((one) => !seen.plain.includes(one)), `${what} colours nothing, or lists nothing: ${JSON.stringify(seen)}`);
    await shoot(page, "overlay-" + where + "-" + name.replaceAll(" ", "-"));
  }
  await page.done();
  await server.stop();
});

test("explorer: 50,000 operations stay usable", async () => {
  const file = join(scratch, "large.mlir"), count = 50000;
  writeFileSync(file, "func.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> {\n" + Array.from({ length: count }, (_, i) => `  %v${i + 1} = stablehlo.${i % 2 ? "add" : "multiply"} %v${i}, %v${Math.max(0, i - 5)} : tensor<4xf32>\n`).join("") + `  return %v${count} : tensor<4xf32>\n}\n`);
  const server = await serve("explore", file);
  const page = await openPage(server.address);
  await ready(page, "graph");
  const first = await boxes(page);
  expect(first.length < 200 && first.reduce((sum, one) => sum + (one.group ? one.count : 1), 0) === count + 2, `${first.length} boxes at first`);
  let begin = performance.now();
  await click(page, first.find((one) => one.group).id);
  await page.waitForFunction((before) => window.Cupel.explorer.panes[0].boxes().length > before, first.length);
  const opened = performance.now() - begin;
  begin = performance.now();
  await page.fill("input[placeholder^='dot']", "large.mlir:40000:");
  await page.waitForFunction(() => document.querySelector("aside")?.textContent.includes("1 node found"));
  await page.click("aside .node:last-child");
  await page.waitForFunction(() => document.querySelector(".details h2")?.textContent.startsWith("stablehlo."));
  const found = performance.now() - begin;
  begin = performance.now();
  const all = await (await server.get("/api/v1/graph/view?stage=stablehlo&open=all")).json();
  const whole = performance.now() - begin;
  expect(all.boxes.length > count, "not all boxes came");
  console.log(`50,000 operations: a group opens in ${opened.toFixed(0)} ms, one is found and shown in ${found.toFixed(0)} ms, all ${all.boxes.length} boxes laid out and sent in ${whole.toFixed(0)} ms`);
  expect(opened < 2000 && found < 4000, `opened in ${opened.toFixed(0)} ms, found in ${found.toFixed(0)} ms`);
  await page.done();
  await server.stop();
}, { alone: true });

test("explorer: files for Model Explorer, and what cannot be shown", async () => {
  const file = join(scratch, "named.mlir"), out = join(scratch, "graph.json");
  writeFileSync(file, LAYERS);
  cupel("explore", file, "--format", "model-explorer", "--runs", "2", "-o", out);
  const graphs = JSON.parse(readFileSync(out, "utf8")).graphs;
  equal(graphs.map((one) => one.id), ["stablehlo", "tensor", "device"], "graphs");
  for (const graph of graphs) {
    const ids = new Set(graph.nodes.map((node) => node.id));
    equal(ids.size, graph.nodes.length, "ids that are unique");
    for (const node of graph.nodes) {
      expect(typeof node.namespace === "string" && node.incomingEdges.every((edge) => ids.has(edge.sourceNodeId)), "an edge from nowhere");
      for (const pair of node.attrs) expect(typeof pair.value === "string", "an attribute that is no text");
    }
  }
  expect(graphs[0].nodes.some((node) => node.namespace === "jit(f)/layer_0/dense"), "no namespaces");
  const time = JSON.parse(readFileSync(join(scratch, "graph.time.json"), "utf8")).device;
  expect(Object.values(time.results).every((one) => typeof one.value === "number") && time.gradient.length === 2, "the overlay of times");
  expect(existsSync(join(scratch, "graph.flops.json")), "the overlay of flops is missing");
  const wrong = join(scratch, "wrong.mlir");
  writeFileSync(wrong, "module { this is no program }");
  for (const [words, status, message] of [[["explore", wrong], 1, "wrong.mlir:1:"], [["explore", "nosuch.mlir"], 2, "neither a file"]])
    try { cupel(...words); expect(false, words.join(" ") + " did not fail"); } catch (error) { expect(error.status === status && String(error.stderr).includes(message), `${words.join(" ")}: ${error.status} ${error.stderr}`); }
});

test("explorer: the framework's own graph, linked with what became of it", async () => {
  const file = join(scratch, "model.onnx");
  writeFileSync(file, ONNX);
  const server = await serve("explore", file);
  const page = await openPage(server.address + "?stage=source&second=stablehlo");
  await ready(page, "graph");
  const heads = await page.$$eval(".pane select[aria-label=Stage]", (all) => all.map((one) => one.selectedOptions[0].textContent));
  expect(heads[0].startsWith("ONNX graph") && heads[1].startsWith("StableHLO"), `stages: ${heads}`);
  await page.click("button:has-text('Open all')");
  await page.waitForFunction(() => window.Cupel.explorer.panes[0].boxes().some((one) => one.label === "Tanh"));
  equal((await boxes(page)).filter((one) => one.group).map((one) => one.label), ["layers.0", "layers.1"], "groups of the ONNX graph");
  // What is selected here is marked there, and the other way round.
  await click(page, (await boxes(page)).find((one) => one.label === "Tanh").id);
  await page.waitForFunction(() => { const there = window.Cupel.explorer.panes[1]; return there.state.marked.size === 1 && there.boxes().some((one) => there.state.marked.has(one.id) && !one.group); });
  const marked = await page.evaluate(() => { const [there] = window.Cupel.explorer.panes[1].state.marked; return window.Cupel.explorer.panes[1].boxes().find((one) => one.id === there && !one.group).label; });
  equal(marked, "tanh", "what became of Tanh");
  await shoot(page, "source-beside-stablehlo");
  const add = (await boxes(page, 1)).find((one) => one.label === "layers.1");
  await click(page, add.id, 1);
  await page.waitForFunction(() => window.Cupel.explorer.panes[1].boxes().some((one) => one.label === "add"));
  await click(page, (await boxes(page, 1)).find((one) => one.label === "add").id, 1);
  await page.waitForFunction(() => document.querySelector("[aria-label=Details] h2")?.textContent === "stablehlo.add" && window.Cupel.explorer.panes[0].state.marked.size === 1);
  const details = await page.textContent("[aria-label=Details]");
  for (const wanted of ["In ONNX graph (1)", "/layers.1/Add"]) expect(details.includes(wanted), `details lack '${wanted}': ${details}`);
  await page.done();
  await server.stop();
});
