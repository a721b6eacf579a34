// The dashboard in Chromium: every view, filters, keyboard, downloads, hostile data, a large store, the report from disk.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { accessible, cupel, equal, expect, go, makeStore, openPage, ready, scratch, serve, test } from "./lib.mjs";

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

test("dashboard: every view, accessible, dark, on a phone", async () => {
  const server = await serve("serve", "--results", makeStore("small"));
  const page = await openPage(server.address + "#/changes");
  const views = { changes: ["New failures", "Fixed"], fix: ["Top reasons", "Unlocks tests", "OUT_OF_SRAM"], trends: ["Bring-up", "Health of devices"], operators: ["no operator cases"], thresholds: ["Ledger", "PCC limit"], durations: ["The slowest", "compile"] };
  for (const [view, wanted] of Object.entries(views)) {
    await go(page, "#/" + view, view);
    const text = await page.textContent("main");
    for (const word of wanted) expect(text.includes(word), `${view} lacks '${word}'`);
    expect(!(await page.$("main .error")), `${view}: ${await page.$eval("main", (main) => main.querySelector(".error")?.textContent)}`);
    await accessible(page, view);
    await shoot(page, view);
  }
  await page.click("#theme");
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await go(page, "#/trends", "trends");
  await accessible(page, "the other theme: " + theme);
  await shoot(page, "trends-" + theme);
  await go(page, "#/nosuch", "nosuch");
  expect((await page.textContent(".error")).includes("no view"), "an unknown view is not explained");
  await page.done();
  const phone = await openPage(server.address, { viewport: { width: 390, height: 800 } });
  await ready(phone, "overview");
  expect(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "the page is wider than a phone");
  await shoot(phone, "phone");
  await phone.done();
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
  await (await server.get("/api/v1/overview")).text();
  const page = await openPage("about:blank");
  const times = [];
  for (let i = 0; i < 3; ++i) {
    const begin = performance.now();
    await page.goto(server.address, { waitUntil: "commit" });
    await page.waitForSelector(".grid .row");
    times.push(performance.now() - begin);
  }
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
}, { alone: true });

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
