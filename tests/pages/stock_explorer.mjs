// Google's Model Explorer, unchanged, with our extension, in Chromium: programs and models through our adapter, and a provider of node
// data that runs on a device and colours the graph. Needs the package ai-edge-model-explorer in some Python; says so where it is not.
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { bin, expect, openPage, scratch, test } from "./lib.mjs";
import { sums } from "./jobs.mjs";
import { ONNX } from "./onnx_model.mjs";

const root = join(import.meta.dirname, "../.."), shots = process.env.CUPEL_SCREENSHOTS;
const shoot = async (page, name) => { if (shots) await page.screenshot({ path: join(shots, name + ".png") }); };
// scripts/install-page-tests --model-explorer puts it into the first; or whoever tests has it.
const pythons = [join(root, ".cache/model-explorer/bin/python"), join(root, ".venv/bin/python"), "python3"];
const python = pythons.find((one) => spawnSync(one, ["-c", "import importlib.util as u, sys; sys.exit(u.find_spec('model_explorer') is None)"]).status === 0);

// The tool by itself, with its address.
async function modelExplorer() {
  const port = await new Promise((resolve) => { const probe = createServer().listen(0, "127.0.0.1", () => { const { port: free } = probe.address(); probe.close(() => resolve(free)); }); });
  const child = spawn(python, ["-m", "model_explorer", "--extensions=cupel.explorer", "--no_open_in_browser", "--host", "127.0.0.1", "--port", String(port), "--skip_health_check"],
    { cwd: scratch, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, PYTHONPATH: join(root, "python"), CUPEL_COMMAND: join(bin, "cupel") } });
  let said = "", ended = null;
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => { said += data; });
  child.on("exit", (code) => { ended = code; });
  const address = `http://127.0.0.1:${port}`;
  for (let i = 0; i < 300; ++i) {
    expect(ended === null, `model_explorer ended with ${ended}: ${said}`);
    try { if ((await fetch(address + "/check_health")).ok) break; } catch { await new Promise((resolve) => setTimeout(resolve, 100)); }
  }
  return { address, said: () => said, stop: () => child.kill("SIGKILL") };
}

test("stock explorer: programs and models through our adapter, a device that colours the graph", async () => {
  const onnx = join(scratch, "stock.onnx");
  writeFileSync(onnx, ONNX);
  // Made by torch.export of two Linear and tanh, in modules layer_0 and layer_1.
  const files = [sums(), onnx, join(import.meta.dirname, "two_layers.pt2")];
  const tool = await modelExplorer();
  // It asks for a font and for newer versions of itself, and does without.
  const page = await openPage(tool.address + "/?data=" + encodeURIComponent(JSON.stringify({ models: files.map((url) => ({ url })) })), { mayFail: /Failed to load resource/, mayAsk: /fonts\.g|github/, webgl: true });
  try {
    await page.waitForSelector("text=GRAPH INFO", { timeout: 40000 });
    const list = async () => { await page.click("graph-selector .graph-selector-label"); await page.waitForSelector(".graph-selector-panel"); };
    const pick = async (name) => { await page.click(`.graph-selector-panel :text-is("${name}")`); await page.waitForSelector(".graph-selector-panel", { state: "detached" }); };
    await list();
    const listed = (await page.innerText(".graph-selector-panel")).split("\n").map((line) => line.trim());
    for (const wanted of ["sums.mlir", "stablehlo", "tensor", "device", "stock.onnx", "source", "two_layers.pt2", "source (2)", "stablehlo (3)"]) expect(listed.includes(wanted), `no graph '${wanted}': ${listed}`);
    await pick("stablehlo");
    // What a provider says, node by node, in the order of the table.
    const provide = async (title, answers = {}) => {
      await page.click("text=Add per-node data");
      await page.click(`.extension-container:has-text("${title}")`);
      for (const [field, value] of Object.entries(answers)) await page.fill(`[data-editor-id=${field}] input`, value);
      await page.click("run-ndp-extension-dialog .btn-run");
      await page.waitForSelector("run-ndp-extension-dialog", { state: "detached", timeout: 40000 });
    };
    const rows = async (heading) => {
      await page.waitForFunction((text) => document.querySelector("node-data-provider-summary-panel")?.innerText.includes(text), heading, { timeout: 40000 });
      return page.evaluate(() => [...document.querySelectorAll("node-data-provider-summary-panel tr")].map((row) => [...row.children].map((cell) => cell.innerText.trim())).filter((cells) => cells.length === 3 && /^\d+$/.test(cells[0])));
    };
    await provide("error of a device", { device: "cupel?plant_wrong_rewrite=2" });
    const errors = (await rows("error against the reference")).filter(([, name]) => name === "add").map(([, , value]) => Number(value));
    expect(errors.some((value) => value > 0.1), `the error of sums on a wrong device: ${errors}`);
    await shoot(page, "stock-explorer-error");
    // The third model, whose graphs are numbered.
    await list();
    await pick("stablehlo (3)");
    await provide("magnitudes of values");
    const values = (await rows("largest magnitude")).filter(([, name]) => name === "tanh").map(([, , value]) => Number(value));
    expect(values.length === 2 && values.every((value) => value > 0 && value <= 1), `magnitudes of tanh: ${values}`);
    await shoot(page, "stock-explorer-pt2");
    await list();
    await pick("source");
    await page.waitForFunction(() => /op node count\s*6\b/.test(document.body.innerText));
    await shoot(page, "stock-explorer-onnx");
    await page.done();
  } catch (error) { throw new Error(`${error.message}\n${tool.said()}`, { cause: error }); } finally { tool.stop(); }
}, { seconds: 120, skip: python ? "" : `ai-edge-model-explorer is in none of ${pythons.join(", ")}; scripts/install-page-tests --model-explorer fetches it` });
