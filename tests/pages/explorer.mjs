// The explorer in Chromium: stages, groups, search, details, stages side by side, overlays, large graphs; files for Model Explorer.
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { accessible, cupel, equal, expect, openPage, ready, scratch, serve, test } from "./lib.mjs";

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

// A model as ONNX's protobuf: a number in base 128, a field of bytes, and messages of such fields.
const number = (value) => { const bytes = []; do { bytes.push((value & 127) | (value > 127 ? 128 : 0)); value >>= 7; } while (value); return Buffer.from(bytes); };
const bytes = (field, value) => { const data = Buffer.from(value); return Buffer.concat([number((field << 3) | 2), number(data.length), data]); };
const whole = (field, value) => Buffer.concat([number(field << 3), number(value)]);
const message = (...parts) => Buffer.concat(parts);
const valueInfo = (field, name, ...sizes) => bytes(field, message(bytes(1, name), bytes(2, bytes(1, message(whole(1, 1), bytes(2, message(...sizes.map((size) => bytes(1, whole(1, size))))))))));
const node = (name, op, inputs, output) => bytes(1, message(...inputs.map((one) => bytes(1, one)), bytes(2, output), bytes(3, name), bytes(4, op)));
const ONNX = message(whole(1, 8), bytes(7, message(node("/layers.0/MatMul", "MatMul", ["x", "w"], "p"), node("/layers.0/Tanh", "Tanh", ["p"], "t"), node("/layers.1/Add", "Add", ["t", "t"], "y"), bytes(2, "two_layers"),
  bytes(5, message(whole(1, 4), whole(1, 4), whole(2, 1), bytes(8, "w"), bytes(9, Buffer.alloc(64, 63)))), valueInfo(11, "x", 2, 4), valueInfo(12, "y", 2, 4))), bytes(8, whole(2, 17)));

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
