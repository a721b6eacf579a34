// The dashboard in Chromium: every view, filters, keyboard, downloads, hostile data, a large store, the report from disk.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { accessible, cupel, equal, expect, firstRows, go, makeStore, openPage, ready, scratch, serve, test } from "./lib.mjs";

const shots = process.env.CUPEL_SCREENSHOTS;
const shoot = async (page, name) => { if (shots) await page.screenshot({ path: join(shots, name + ".png") }); };
const cells = (page) => page.$$eval(".grid .row", (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
const count = (page) => page.$eval(".grid", (grid) => Number(grid.getAttribute("aria-rowcount")) - 1);

test("dashboard: from the overview to why a test fails in three clicks", async () => {
  const server = await serve("serve", "--results", makeStore("small"));
  const page = await openPage(server.address);
  await ready(page, "overview");
  equal(await count(page), 60, "tests in the overview");
  const heads = await page.$$eval(".grid [role=columnheader]", (all) => all.map((one) => one.textContent));
  equal(heads.slice(0, 4), ["Test", "n150 · cupel", "n300 · cupel", "p150 · cupel"], "columns");
  await accessible(page, "overview");
  await shoot(page, "overview");
  await page.click(".tile:has-text('failed')");
  const failing = await cells(page);
  expect(failing.length && failing.every((row) => row.some((text) => text.startsWith("failed"))), "the tile does not filter");
  await page.click(".grid .row a");
  await ready(page, "test");
  const text = await page.textContent("main");
  for (const wanted of ["pcc 0.62 is below 0.99", "what this reason means", "cupel run zoo --arch", "Flakiness:", "first line", "Stages", "INCORRECT_RESULT"]) expect(text.includes(wanted), `the test's page lacks '${wanted}'`);
  await accessible(page, "a test");
  await shoot(page, "test");
  await page.goBack();
  await ready(page, "overview");
  expect(await page.$("main .tile[aria-pressed=true]"), "going back forgets the filter");
  await page.done();
  await server.stop();
});

test("dashboard: expressions, fields, groups, what is shown, addresses", async () => {
  const server = await serve("serve", "--results", makeStore("small"));
  const page = await openPage(server.address + "#/?k=llama%20or%20bert&by=family", { mayFail: /status of 400/ }); // Of the expression that is wrong on purpose.
  await ready(page, "overview");
  equal((await cells(page)).filter((row) => row.length === 1).map((row) => row[0].replace(/\).*/, ")")), ["▾ bert (8)", "▾ llama (8)"], "groups of an address");
  await page.fill("input[placeholder^='llama']", "llama and not v8");
  await page.waitForFunction(() => document.querySelector(".grid").getAttribute("aria-rowcount") === "9");
  await page.fill("input[placeholder^='n150']", "training");
  await page.waitForURL(/m=training/);
  equal(await count(page), 8, "tests of both expressions, and their group");
  await page.fill("input[placeholder^='n150']", "training and (");
  await page.waitForSelector(".error:not([hidden])");
  expect((await page.textContent(".error")).includes("column"), "a wrong expression is not explained");
  await page.fill("input[placeholder^='n150']", "");
  await page.fill("input[placeholder^='llama']", "");
  await page.waitForFunction(() => document.querySelector(".grid").getAttribute("aria-rowcount") === "69");
  await page.selectOption("label:has-text('Group by') select", "");
  await page.selectOption("label:has-text('Show') select", "pcc");
  expect((await cells(page)).some((row) => row[1].includes("0.99")), "PCC is not shown");
  await page.selectOption("label:has-text('Show') select", "bringup");
  expect((await cells(page)).some((row) => row.slice(1).includes("not started")), "what is not started is not shown as such");
  await page.click("summary");
  await page.getByLabel("Task", { exact: true }).selectOption("audio_asr");
  equal(await count(page), 12, "tests of a task");
  // The same view in another window.
  const again = await openPage(page.url());
  await ready(again, "overview");
  equal(await count(again), 12, "tests at the same address");
  await again.done();
  await page.done();
  await server.stop();
});

test("dashboard: every view, accessible in light and dark, on a phone", async () => {
  const server = await serve("serve", "--results", makeStore("small"));
  const overview = await server.json("overview"), failed = overview.columns.outcome.codes.findIndex((code) => overview.columns.outcome.words[code] === "failed"), name = "models::" + overview.columns.id[failed];
  const views = { "": ["as it ran last"], ["test?name=" + encodeURIComponent(name)]: ["Run it again", "Flakiness", "Open its graph"], changes: ["New failures", "Fixed", "Worse PCC"], fix: ["Top reasons", "Unlocks tests", "OUT_OF_SRAM"],
    trends: ["Bring-up", "Health of devices", "Crashes a thousand"], operators: ["no operator cases"], thresholds: ["Ledger", "PCC limit"], durations: ["The slowest", "compile"], graph: ["Open the graph"], jobs: ["None yet"] };
  const visit = async (page, each) => {
    for (const [view, wanted] of Object.entries(views)) {
      const called = view.replace(/\?.*/, "") || "overview";
      await go(page, "#/" + view, called);
      const text = await page.textContent("main");
      for (const word of wanted) expect(text.includes(word), `${called} lacks '${word}'`);
      expect(!(await page.$("main .error:not([hidden])")), `${called}: ${await page.$eval("main", (main) => main.querySelector(".error:not([hidden])")?.textContent)}`);
      await each(called);
    }
  };
  const page = await openPage(server.address, { mayFail: /status of 404/ }); // Of the graph, which is not open.
  await ready(page, "overview");
  for (const theme of ["light", "dark"]) {
    if ((await page.evaluate(() => document.documentElement.dataset.theme)) !== theme) await page.click("#theme");
    await visit(page, async (view) => { await accessible(page, view + ", " + theme); await shoot(page, view + "-" + theme); });
  }
  await go(page, "#/nosuch", "nosuch");
  expect((await page.textContent(".error")).includes("no view"), "an unknown view is not explained");
  await page.done();
  const phone = await openPage(server.address, { viewport: { width: 390, height: 800 }, mayFail: /status of 404/ });
  await ready(phone, "overview");
  await visit(phone, async (view) => { expect(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${view} is wider than a phone`); await shoot(phone, view + "-phone"); });
  await phone.done();
  await server.stop();
});

test("dashboard: what changed between two runs and between two dates", async () => {
  // A run every hour, two days long; the last five have other outcomes than those before.
  const server = await serve("serve", "--results", makeStore("small", 30, 45));
  const page = await openPage(server.address + "#/changes");
  await ready(page, "changes");
  const runs = (await server.json("runs?limit=100")).runs, addressed = () => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1])));
  const day = (run) => new Date(run.started_at * 1000).toISOString().slice(0, 10), last = (date, chip) => runs.find((run) => day(run) <= date && run.arch === chip).id;
  equal([day(runs[0]), day(runs.at(-1))], ["2026-09-23", "2026-09-21"], "days of the store");
  await page.getByLabel("or as it was on", { exact: true }).fill("2026-09-22");
  const compared = (from, to) => page.waitForFunction((text) => document.querySelector("main .hint")?.textContent === text, `From ${from} to ${to}`);
  await compared(last("2026-09-22", runs[0].arch), runs[0].id);
  equal(await addressed(), { before: last("2026-09-22", runs[0].arch), after: runs[0].id }, "the runs of a day and of now");
  const counts = () => page.$$eval(".tile", (all) => Object.fromEntries(all.map((one) => [one.lastChild.textContent, Number(one.firstChild.textContent)])));
  const now = await counts();
  expect(now["New failures"] > 0 && now.Fixed > 0 && now["Worse PCC"] > 0, JSON.stringify(now));
  const worse = await page.$eval(".grid[aria-label='Worse PCC'] .row", (row) => [...row.children].slice(3, 5).map((cell) => Number(cell.textContent)));
  expect(worse[1] < worse[0], `worse from ${worse}`);
  await page.click(".tile:has-text('Worse PCC')");
  expect(await page.$eval("#changes-worse", (head) => head.getBoundingClientRect().top >= 0 && head.getBoundingClientRect().top < innerHeight), "the tile does not lead to its table");
  await page.getByLabel("or as it was on the day", { exact: true }).fill("2026-09-22");
  await compared(last("2026-09-22", runs[0].arch), last("2026-09-22", runs[0].arch));
  equal((await counts())["New failures"], 0, "new failures between two runs of the same day");
  await page.done();
  await server.stop();
});

test("dashboard: keyboard, CSV and SVG", async () => {
  const server = await serve("serve", "--results", makeStore("small"));
  const page = await openPage(server.address);
  await ready(page, "overview");
  await page.focus(".grid");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowUp");
  const at = await page.$eval(".grid .row[data-at]", (row) => row.getAttribute("aria-rowindex"));
  equal(at, "60", "the row that End and Up lead to");
  const name = await page.$eval(".grid .row[data-at] a", (link) => link.textContent);
  // Above the first row are the heads of columns: Enter sorts by one.
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  equal(await page.$$eval(".grid [role=columnheader]", (all) => all.map((one) => one.getAttribute("aria-sort"))), ["ascending", "none", "none", "none", "none"], "columns after Enter on a head");
  const first = (await cells(page))[0][0];
  await page.keyboard.press("Enter");
  expect((await cells(page))[0][0] !== first, "Enter on the same head does not turn the order round");
  // A cell leads to its own architecture's run.
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  equal(await page.$eval(".grid", (grid) => document.getElementById(grid.getAttribute("aria-activedescendant")).getAttribute("role")), "gridcell", "what is active");
  const there = await page.$eval(".grid .cell[data-at] a", (link) => link.getAttribute("href"));
  await page.keyboard.press("Enter");
  await ready(page, "test");
  equal(await page.evaluate(() => location.hash), there, "where a cell leads");
  await page.goBack();
  await ready(page, "overview");
  await page.focus(".grid");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowUp");
  let [file] = await Promise.all([page.waitForEvent("download"), page.click("button:has-text('CSV')")]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\r\n");
  equal([lines.length, lines[0]], [61, "Test,n150 · cupel,n300 · cupel,p150 · cupel,Reason"], "the CSV file");
  await page.focus(".grid");
  await page.keyboard.press("Enter");
  await ready(page, "test");
  equal(await page.textContent("h1"), name, "what Enter opens");
  [file] = await Promise.all([page.waitForEvent("download"), page.click("figure button:has-text('SVG')")]);
  expect(readFileSync(await file.path(), "utf8").startsWith("<svg"), "the plot's file is no SVG");
  await page.done();
  await server.stop();
});

test("dashboard: nothing of a result becomes HTML, on the server's pages and in a report", async () => {
  const store = makeStore("hostile"), folder = join(scratch, "hostile-report");
  const server = await serve("serve", "--results", store);
  cupel("report", "html", "latest", "-o", folder, "--results", store);
  for (const base of [server.address, pathToFileURL(join(folder, "index.html")).href]) {
    const page = await openPage(base);
    await ready(page, "overview");
    equal(await count(page), 16, "hostile tests");
    const names = await page.$$eval(".grid .row a:first-child", (all) => all.map((one) => one.getAttribute("href")));
    for (const view of ["fix", "thresholds", "operators", "durations", "trends"]) await go(page, "#/" + view, view);
    for (const href of new Set(names)) {
      await go(page, href, "test");
      expect(!(await page.$("main .error")), `${href}: ${await page.$eval("main", (main) => main.querySelector(".error")?.textContent)}`);
    }
    equal(await page.evaluate(() => [window.stolen, document.querySelectorAll("main script, main img, main iframe").length]), [null, 0], "what a result could do");
    const links = await page.$$eval("a", (all) => all.map((one) => one.protocol).filter((one) => !["http:", "file:"].includes(one)));
    equal(links, [], "links elsewhere");
    await page.done();
  }
  await server.stop();
});

test("dashboard: 20,000 tests and 500 runs, painted in a second, scrolled and filtered without a stall", async () => {
  const server = await serve("serve", "--results", makeStore("large"));
  const { page, times } = await firstRows(server);
  equal(await count(page), 20000, "tests");
  const stall = await page.evaluate(async () => {
    const grid = document.querySelector(".grid");
    let worst = 0, last = performance.now();
    for (let i = 0; i < 60; ++i) {
      grid.scrollTop = (i * 9000) % (20000 * 28 - 1000);
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const now = performance.now();
      worst = Math.max(worst, now - last);
      last = now;
    }
    return worst;
  });
  const begin = performance.now();
  await page.fill("input[placeholder^='llama']", "llama and not (v1 or v2)");
  await page.waitForFunction(() => Number(document.querySelector(".grid").getAttribute("aria-rowcount")) < 20000);
  const filtered = performance.now() - begin;
  await go(page, "#/trends", "trends");
  equal(await page.$$eval(".grid", (all) => Number(all.at(-1).getAttribute("aria-rowcount")) - 1), 500, "runs");
  console.log(`20,000 tests, 500 runs: first rows after ${times.map((time) => time.toFixed(0)).join(", ")} ms; longest frame while scrolling ${stall.toFixed(0)} ms; filtered in ${filtered.toFixed(0)} ms (150 of them waiting for the typist)`);
  // The best of three: other work on the machine only ever adds.
  expect(Math.min(...times) < 1000, `first rows after ${times.map((time) => time.toFixed(0))} ms`);
  expect(stall < 250, `a frame took ${stall.toFixed(0)} ms while scrolling`);
  expect(filtered < 1500, `filtering took ${filtered.toFixed(0)} ms`);
  await page.done();
  await server.stop();
}, { alone: true, seconds: 180 });

test("dashboard: the report from disk filters as the server does", async () => {
  const store = makeStore("small"), folder = join(scratch, "small-report");
  const server = await serve("serve", "--results", store);
  cupel("report", "html", "latest", "-o", folder, "--results", store);
  const page = await openPage(pathToFileURL(join(folder, "index.html")).href);
  await ready(page, "overview");
  for (const [k, m] of [["llama", ""], ["not llama and (v1 or training)", ""], ["", "n300 and not inference"], ["test_all_models_torch[ll", ""], ["runner", ""], ["not not v5 or bert", "single_device"], ["EXPECTED", ""]]) {
    const wanted = (await server.json("select?" + new URLSearchParams({ k, m, run: "latest" }))).rows;
    const rows = await page.evaluate(async ([words, marks]) => window.Cupel.selectRows(await window.Cupel.overview(""), words, marks), [k, m]);
    equal(rows, wanted, `rows of -k '${k}' -m '${m}'`);
  }
  for (const wrong of ["a and", "(a", "a b", "or", "not"]) {
    const refused = (await server.json("select?" + new URLSearchParams({ k: wrong }))).error;
    const message = await page.evaluate(async (words) => { try { window.Cupel.selectRows(await window.Cupel.overview(""), words, ""); return ""; } catch (error) { return error.message; } }, wrong);
    expect(refused && message, `'${wrong}' is taken: ${refused} / ${message}`);
  }
  for (const view of ["changes", "fix", "trends", "thresholds", "durations"]) {
    await go(page, "#/" + view, view);
    expect(!(await page.$("main .error")), `${view}: ${await page.$eval("main", (main) => main.querySelector(".error")?.textContent)}`);
  }
  await page.done();
  await server.stop();
});

test("dashboard: operators on two architectures, a model operation by operation, the ledger, placeholders", async () => {
  const folder = join(scratch, "a-project"), store = join(folder, "results");
  for (const name of ["config", "zoo"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "cupel.yaml"), "config: config\nzoo: zoo\n");
  writeFileSync(join(folder, "config/lowered-thresholds.jsonl"), JSON.stringify({ when: "2026-11-01", test: "models::<b>m</b>", arch: "n150", from: 0.99, to: 0.95, why: "as measured" }) + "\n");
  writeFileSync(join(folder, "ops.mlir"), `func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %a = stablehlo.tanh %x : tensor<4xf32>
  %b = stablehlo.add %n, %n : tensor<4xi32>
  return %a, %b : tensor<4xf32>, tensor<4xi32>
}
`);
  for (const arch of ["n150", "n300"]) cupel("run", join(folder, "ops.mlir"), "--device", "cupel", "--arch", arch, "--depth", "execute-op-by-op", "--results", store, { cwd: folder });
  writeFileSync(join(folder, "config/models.yaml"), "PLACEHOLDER_MODELS:\n  acme/WonderNet:\n    bringup_status: NOT_STARTED\n");
  try { cupel("run", "--suite", "placeholder", "--arch", "n150", "--results", store, { cwd: folder }); } catch (error) { equal(error.status, 1, "a run of what has no loader yet"); }
  const server = await serve("serve", "--results", store, { cwd: folder });
  const page = await openPage(server.address);
  await ready(page, "overview");
  // A model that nobody has begun with is shown as that, not as a test that was skipped.
  equal((await cells(page)).find((row) => row[0] === "placeholder::acme/WonderNet").filter((text) => text === "not started").length, 1, "how a placeholder is shown");
  await go(page, "#/trends", "trends");
  expect((await page.textContent(".legend")).includes("not started"), "placeholders are not among the areas of bring-up");
  await go(page, "#/operators", "operators");
  const heads = await page.$$eval(".grid", (all) => [...all[0].querySelectorAll("[role=columnheader]")].map((one) => one.textContent));
  equal(heads, ["Operator", "f32 on n150", "f32 on n300", "i32 on n150", "i32 on n300"], "element types and architectures");
  expect((await cells(page)).some((row) => row[0] === "stablehlo.tanh" && row[1] === "1 of 1" && row[3] === ""), `operators: ${JSON.stringify(await cells(page))}`);
  await page.click(".grid a[href*='#/ops']");
  await ready(page, "ops");
  const table = await cells(page);
  expect(table.length === 2 && table.every((row) => row[2] === "executed"), `operation by operation: ${JSON.stringify(table)}`);
  await accessible(page, "operation by operation");
  await go(page, "#/thresholds", "thresholds");
  expect((await page.textContent("main")).includes("models::<b>m</b>"), "the ledger is not shown");
  equal(await page.$$eval("main b", (all) => all.filter((one) => one.textContent === "m").length), 0, "the ledger became HTML");
  const [file] = await Promise.all([page.waitForEvent("download"), page.click("div:has(> .grid[aria-label='Lowered thresholds']) button:has-text('CSV')")]);
  expect(readFileSync(await file.path(), "utf8").includes("as measured"), "the ledger as CSV");
  await page.done();
  await server.stop();
});
