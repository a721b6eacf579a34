// What the tests of the pages share: a list of tests that is run and counted, stores, servers, and pages of Debian's Chromium that
// fail the test on any error of the console, any request that fails and any request that leaves this machine.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

// scripts/install-page-tests puts the packages there.
const require = createRequire(join(import.meta.dirname, "../../.cache/page-tests/here.js"));
export const bin = resolve(process.argv[2]);
export const scratch = mkdtempSync(join(tmpdir(), "cupel-pages-"));
const token = "a-token-of-the-tests";
const tests = [];
const processes = new Set();
const browsers = {};

// Tests run two at a time, but for those that measure times: these are `alone`. `skip` says why one cannot be run here.
export function test(name, body, { alone = false, skip = "", seconds = 60 } = {}) { tests.push({ name, body, alone, skip, seconds }); }
export function expect(condition, message) { if (!condition) throw new Error(message); }
export function equal(actual, expected, what) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a} instead of ${b}`);
}

// Made once for all tests that read it; who writes asks for numbers of its own.
export function makeStore(kind, ...numbers) {
  const folder = join(scratch, [kind, ...numbers].join("-"));
  if (existsSync(folder)) return folder;
  execFileSync(join(bin, "cupel_make_store"), [folder, kind, ...numbers.map(String)], { stdio: "pipe" });
  return folder;
}
export function cupel(...words) {
  const options = typeof words.at(-1) === "object" ? words.pop() : {};
  return execFileSync(join(bin, "cupel"), words, { encoding: "utf8", stdio: "pipe", cwd: scratch, ...options });
}

// Starts `cupel serve` (or another verb) and waits for its address.
export async function serve(...words) {
  const begin = performance.now(), options = typeof words.at(-1) === "object" ? words.pop() : {};
  const child = spawn(join(bin, "cupel"), [...words, "--port", "0"], { cwd: scratch, ...options, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, CUPEL_TOKEN: token } });
  processes.add(child);
  let said = "";
  const printed = await new Promise((resolve, reject) => {
    child.stdout.on("data", (data) => { said += data; if (said.includes("Ctrl-C")) resolve(said.split("\n").find((line) => line.startsWith("http"))); });
    child.stderr.on("data", (data) => { said += data; });
    child.on("exit", (code) => reject(new Error(`cupel ${words.join(" ")} ended with ${code}: ${said}`)));
  });
  // What is printed lets its reader start work; tests that do not want to leave the token out.
  const address = printed.replace(/#(.*?)[?&]token=[^&]*/, (_, view) => (view === "/" ? "" : "#" + view));
  return { child, address, printed, token, startMs: performance.now() - begin, said: () => said,
    get: async (path, options) => fetch(new URL(path, address), options),
    json: async (path) => (await fetch(new URL("/api/v1/" + path, address))).json(),
    stop: () => new Promise((resolve) => { processes.delete(child); child.removeAllListeners("exit"); child.on("exit", resolve); child.kill("SIGTERM"); }) };
}

export async function openPage(url, options = {}) {
  // Another one where WebGL is wanted: it costs the others time.
  const flags = options.webgl ? ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"] : ["--disable-gpu"], kind = options.webgl ? "webgl" : "plain";
  if (!browsers[kind]) browsers[kind] = require("playwright-core").chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", ...flags] });
  const context = await (await browsers[kind]).newContext({ viewport: options.viewport || { width: 1280, height: 900 }, acceptDownloads: true });
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push("page: " + error.message));
  page.on("console", (message) => { if (message.type() === "error" && !options.mayFail?.test(message.text())) troubles.push("console: " + message.text()); });
  page.on("request", (request) => { if (!/^(http:\/\/127\.0\.0\.1|file:|data:|blob:)/.test(request.url()) && !options.mayAsk?.test(request.url())) troubles.push("request to " + request.url()); });
  page.done = async () => { await context.close(); if (troubles.length) throw new Error(troubles.join("; ")); };
  await page.goto(url, { waitUntil: "commit" });
  return page;
}
export const ready = (page, view) => page.waitForSelector(`body[data-ready="${view}"]`, { state: "attached", timeout: 20000 });
// Goes to a view of the page that is open.
export async function go(page, hash, view) {
  await page.waitForSelector("body[data-ready]", { state: "attached" });
  await page.evaluate((to) => { if (location.hash !== to) { delete document.body.dataset.ready; location.hash = to; } }, hash);
  await ready(page, view);
}
// How long it takes from an address to rows of the overview, in milliseconds, the server's first answer and two more, each in a page of
// its own; the last one stays open.
export async function firstRows(server) {
  const times = [];
  let page = null;
  for (let i = 0; i < 3; ++i) {
    if (page) await page.done();
    page = await openPage("about:blank");
    const begin = performance.now();
    await page.goto(server.address, { waitUntil: "commit" });
    await page.waitForSelector(".grid .row");
    times.push(performance.now() - begin);
  }
  return { page, times };
}
export async function accessible(page, what) {
  // The page's own policy lets no script in; the check comes in through the debugger.
  if (!await page.evaluate(() => Boolean(window.axe))) await page.evaluate(require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  expect(!serious.length, what + ": " + serious.map((one) => `${one.id} (${one.nodes.length}x, ${one.nodes[0].target} ${one.nodes[0].failureSummary?.split("\n")[1] || ""})`).join("; "));
}

export async function run() {
  let passed = 0, failed = 0, skipped = 0;
  const only = process.argv[3] || "", chosen = tests.filter((one) => only.split("|").some((part) => one.name.includes(part)));
  async function one({ name, body, skip, seconds }) {
    if (skip) { ++skipped; console.log(`SKIPPED ${name}: ${skip}`); return; }
    const begin = performance.now();
    try {
      await Promise.race([body(), new Promise((_, reject) => setTimeout(() => reject(new Error(`took longer than ${seconds} s`)), seconds * 1000).unref())]);
      ++passed;
      if (process.env.CUPEL_VERBOSE) console.log(`passed ${name} (${Math.round(performance.now() - begin)} ms)`);
    } catch (error) {
      ++failed;
      console.log(`FAILED ${name}: ${error.stack || error}`);
    }
  }
  for (const measuring of chosen.filter((each) => each.alone)) await one(measuring);
  const others = chosen.filter((each) => !each.alone);
  const lane = async () => { while (others.length) await one(others.shift()); };
  await Promise.all([lane(), lane()]);
  for (const one of Object.values(browsers)) await (await one).close();
  for (const child of processes) child.kill("SIGKILL");
  rmSync(scratch, { recursive: true, force: true });
  console.log(`${passed} passed, ${failed} failed` + (skipped ? `, ${skipped} skipped` : ""));
  process.exit(failed ? 1 : 0);
}
