// Jobs in Chromium: from a failing test to the operation that is to blame, forms, overlays, options of single operations, a part of a
// program, the token.
import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { accessible, bin, equal, expect, openPage, ready, scratch, serve, test } from "./lib.mjs";
import { sums, WRONG } from "./jobs.mjs";

const shots = process.env.CUPEL_SCREENSHOTS;
const shoot = async (page, name) => { if (shots) await page.screenshot({ path: join(shots, name + ".png") }); };
const boxes = (page, pane = 0) => page.evaluate((at) => window.Cupel.explorer.panes[at].boxes().map((one) => ({ ...one })), pane);
const click = async (page, id, modifiers = []) => { const at = await page.evaluate((node) => window.Cupel.explorer.panes[0].where(node), id); for (const key of modifiers) await page.keyboard.down(key); await page.mouse.click(at.x, at.y); for (const key of modifiers) await page.keyboard.up(key); };
const act = async (page, title) => { await page.click(`.actions button:has-text('${title}')`); await page.click("form.job button.start"); };
const finished = async (page, state = "done") => page.waitForSelector(`section.job[data-state='${state}']`, { timeout: 40000 });

test("pages: from a failing test to the operation that is to blame", async () => {
  const store = join(scratch, "store-of-jobs");
  try { execFileSync(join(bin, "cupel"), ["run", sums(), "--device", WRONG, "--results", store, "--keep-failed", join(scratch, "kept-of-jobs")], { stdio: "pipe", cwd: scratch }); } catch (error) { expect(error.status === 1, String(error.stdout)); }
  const server = await serve("serve", "--results", store, "--device", WRONG);
  const page = await openPage(server.printed, { mayFail: /status of 404/ }); // Of the graph that is not open yet.
  await ready(page, "overview");
  expect(!page.url().includes("token"), "the token stays in the address");
  // One click to the test, one to its graph, one to the reason.
  await page.click(".grid .row a");
  await ready(page, "test");
  await shoot(page, "failing-test");
  await page.click("a.open-graph");
  await page.waitForSelector(".actions");
  await act(page, "Find the first bad operation");
  await finished(page);
  await page.waitForFunction(() => document.querySelector("[aria-label=Details] h2")?.textContent === "stablehlo.add");
  expect((await page.textContent("section.job")).includes("stablehlo.add"), "the card does not name the operation");
  expect((await page.textContent(".legend")).includes("to blame"), "the operation is not coloured");
  await accessible(page, "a job's card");
  await shoot(page, "first-bad-operation");
  // It is on the page of jobs as well, and the graph has an address.
  const address = page.url();
  await page.goto(server.address + "#/jobs");
  await ready(page, "jobs");
  await page.waitForFunction(() => document.querySelectorAll("section.job[data-state=done]").length === 2);
  await accessible(page, "jobs");
  await page.goto(address);
  await page.waitForFunction(() => document.querySelector("[aria-label=Details] h2")?.textContent === "stablehlo.add");
  await page.done();
  await server.stop();
});

test("pages: forms, overlays, options of an operation, a part of a program", async () => {
  const server = await serve("explore", sums());
  const page = await openPage(server.printed);
  await ready(page, "graph");
  await page.click(".actions button:has-text('Run and compare')");
  await page.click("form.job summary");
  equal(await page.$eval("#field-option\\.accumulate", (one) => [...one.options].map((option) => option.value)), ["(default)", "native", "f64"], "options of the device");
  await accessible(page, "a job's form");
  await shoot(page, "job-form");
  await page.selectOption("#field-device", "n300");
  await page.click("form.job button.start");
  await finished(page);
  expect(/^passed/.test(await page.textContent(".job-message")), "the verdict is not shown");
  await act(page, "Operation by operation");
  await finished(page);
  await page.waitForFunction(() => document.querySelector("[aria-label=Found] h2")?.textContent === "op by op");
  expect((await page.textContent("[aria-label=Found]")).includes("right: 6 nodes"), "words of the overlay are not counted");
  await act(page, "Value statistics");
  await finished(page);
  await page.waitForFunction(() => document.querySelector("[aria-label=Found] h2")?.textContent === "Top 10 by largest magnitude");
  const highest = await page.textContent("[aria-label=Found] .node");
  await page.getByLabel("Sort", { exact: true }).selectOption("least");
  await page.waitForFunction(() => document.querySelector("[aria-label=Found] h2")?.textContent === "Lowest 10 by largest magnitude");
  expect(highest !== await page.textContent("[aria-label=Found] .node"), "sorting changes nothing");
  const listed = await page.$$eval("[aria-label=Found] .node", (all) => all.length);
  await page.getByLabel(/^Colour from/).fill("60");
  await page.waitForFunction((before) => document.querySelectorAll("[aria-label=Found] .node").length < before, listed);
  await page.click("button:has-text('Open all')");
  await page.waitForFunction(() => window.Cupel.explorer.panes[0].boxes().some((one) => one.label === "tanh"));
  await shoot(page, "values");
  // An operation is placed elsewhere, another gets a launch of its own and a precision: what is offered is the server's table.
  const tanh = (await boxes(page)).find((one) => one.label === "tanh");
  await click(page, tanh.id);
  await page.waitForFunction(() => document.querySelector("[aria-label=Details] h2")?.textContent === "stablehlo.tanh");
  const table = (await server.json("jobs")).kinds.find((kind) => kind.name === "compile").fields.find((field) => field.kind === "edits").options;
  equal(table.map((option) => option.name), ["fusion-barrier", "precision", "placement"], "options of single operations");
  for (const option of table) equal(await page.getByLabel(option.label, { exact: true }).evaluate((box) => [...box.options].length - 1), Math.max(1, option.choices.length), "choices of " + option.name);
  await page.getByLabel("Placement", { exact: true }).selectOption("placement=reference");
  const add = (await boxes(page)).find((one) => one.label === "add");
  await click(page, add.id);
  await page.waitForFunction(() => document.querySelector("[aria-label=Details] h2")?.textContent === "stablehlo.add");
  await page.getByLabel("Fusion barrier", { exact: true }).selectOption("fusion-barrier");
  await page.getByLabel("Precision", { exact: true }).selectOption("precision=bf16");
  await accessible(page, "options of an operation");
  await page.click("button:has-text('Compile with them')");
  equal(await page.$eval("#field-edits", (one) => one.value), `${tanh.id}:placement=reference,${add.id}:fusion-barrier,${add.id}:precision=bf16`, "what is to be changed");
  await shoot(page, "options-of-operations");
  await page.click("form.job button.start");
  await finished(page);
  await page.click("section.job a:has-text('Open its graph')");
  await page.waitForFunction(() => document.querySelector("h1")?.textContent.includes("fusion-barrier") && window.Cupel.explorer?.model.key);
  await ready(page, "graph");
  await page.getByLabel("Overlay", { exact: true }).selectOption("placement");
  await page.waitForFunction(() => document.querySelector("[aria-label=Found]")?.textContent.includes("reference (fallback): 1 node"));
  await page.click("[aria-label=Found] .node:has-text('reference (fallback)')");
  await page.click("[aria-label=Found] .node:has-text('tanh')");
  await page.waitForFunction(() => document.querySelector("[aria-label=Details] h2")?.textContent === "stablehlo.tanh");
  await shoot(page, "placement");
  // Operations and groups are chosen with Shift, and become a program.
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector("h1")?.textContent.includes("fusion-barrier"));
  await ready(page, "graph");
  await page.click("button:has-text('Close all')");
  await page.waitForFunction(() => window.Cupel.explorer.panes[0].boxes().filter((one) => one.group).length === 1);
  await click(page, (await boxes(page)).find((one) => one.group).id, ["Shift"]);
  await page.waitForFunction(() => document.querySelector(".choice")?.textContent.includes("6 operations chosen"));
  await page.click("button:has-text('Extract as a program')");
  await page.click("form.job button.start");
  await finished(page);
  const [file] = await Promise.all([page.waitForEvent("download"), page.click("a:has-text('Download part.mlir')")]);
  expect(readFileSync(await file.path(), "utf8").includes("stablehlo.tanh"), "the part is no program");
  await page.done();
  await server.stop();
});

test("pages: without the token a form asks for it", async () => {
  const server = await serve("explore", sums());
  const page = await openPage(server.address, { mayFail: /status of 401/ });
  await ready(page, "graph");
  await page.click(".actions button:has-text('Value statistics')");
  await page.fill("#field-token", "guessed");
  await page.click("form.job button.start");
  await page.waitForSelector("form.job .error:not([hidden])");
  await page.fill("#field-token", server.token);
  await page.click("form.job button.start");
  await finished(page);
  await page.done();
  await server.stop();
});
