// The pages over a PostgreSQL store: the same answers as over the folder that it was copied from, also for a role that may only read,
// and a run that comes in while somebody listens.
import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bin, cupel, equal, expect, firstRows, makeStore, openPage, ready, scratch, serve, test } from "./lib.mjs";

// A server of the test's own (tests/scale); it lives until `close`. Commands are SQL, a line each.
async function postgres() {
  const script = `
import sys
sys.path.insert(0, ${JSON.stringify(join(import.meta.dirname, "../scale"))})
from private_postgres import Postgres, tools
if not tools():
    print("missing", flush=True)
    sys.exit()
server = Postgres()
try:
    print(server.database("pages"), flush=True)
    for line in sys.stdin:
        server.sql(line, "pages")
        print(server.address("pages", "reader"), flush=True)
finally:
    server.close()
`;
  const child = spawn("python3", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = [], waiting = [];
  let rest = "";
  child.stdout.on("data", (data) => { rest += data; const parts = rest.split("\n"); rest = parts.pop(); for (const line of parts) waiting.length ? waiting.shift()(line) : lines.push(line); });
  const line = () => (lines.length ? Promise.resolve(lines.shift()) : new Promise((resolve, reject) => { waiting.push(resolve); child.on("exit", () => reject(new Error("PostgreSQL's helper ended"))); }));
  const address = await line();
  return { address, missing: address === "missing", sql: async (text) => { child.stdin.write(text + "\n"); return line(); },
    close: () => new Promise((resolve) => { child.on("exit", resolve); child.stdin.end(); }) };
}

test("server: a PostgreSQL store, a role that only reads, a run that comes in", async () => {
  const database = await postgres();
  expect(!database.missing, "PostgreSQL is not installed; scripts/install-packages installs it");
  try {
    const folder = makeStore("small", 30, 5);
    cupel("results", "copy", folder, database.address);
    const reader = await database.sql("CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;");
    const local = await serve("serve", "--results", folder), shared = await serve("serve", "--results", database.address), read = await serve("serve", "--results", reader);
    const name = encodeURIComponent("models::" + (await local.json("overview?run=latest")).columns.id[0]);
    for (const question of ["overview", "overview?run=latest", "runs?limit=10", "trend", "triage", "thresholds", "durations", "operators", "diff", "select?k=llama", "history?name=" + name, "test?name=" + name]) {
      const wanted = await local.json(question);
      for (const [which, server] of [["the whole role", shared], ["the reader", read]]) {
        const answer = await server.json(question);
        // What to type names the store.
        for (const one of [wanted, answer]) { delete one.commands; delete one.state; }
        equal(answer, wanted, `${question} of ${which}`);
      }
    }
    const page = await openPage(read.address);
    await ready(page, "overview");
    equal(await page.$eval(".grid", (grid) => Number(grid.getAttribute("aria-rowcount")) - 1), 30, "tests of the reader's page");
    // A run that another machine enters shows up while the page is open.
    await page.waitForFunction(() => document.getElementById("live").textContent.startsWith("Last run"));
    const journal = join(scratch, "20991231-000000-0002.jsonl");
    writeFileSync(journal, JSON.stringify({ cupel_journal: 1, run: { id: "20991231-000000-0002", started_at: 4102358400, selected: 2, arch: "n150", device: "cupel" } }) + "\n" + JSON.stringify({ record: { suite: "models", id: "live", outcome: "failed", last_stage: "compare" } }) + "\n");
    cupel("results", "ingest", journal, "--results", database.address);
    await page.waitForFunction(() => document.getElementById("live").textContent === "Running: 1 of 2, 1 bad", null, { timeout: 15000 });
    await page.done();
    for (const server of [local, shared, read]) await server.stop();
  } finally { await database.close(); }
});

test("dashboard: 20,000 tests and 500 runs in PostgreSQL, painted in a second", async () => {
  const database = await postgres();
  expect(!database.missing, "PostgreSQL is not installed; scripts/install-packages installs it");
  try {
    execFileSync(join(bin, "cupel_make_store"), [database.address, "large"], { stdio: "pipe" });
    const server = await serve("serve", "--results", database.address);
    const { page, times } = await firstRows(server);
    console.log(`PostgreSQL: first rows after ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
    equal(await page.$eval(".grid", (grid) => Number(grid.getAttribute("aria-rowcount")) - 1), 20000, "tests");
    expect(Math.min(...times) < 1000, `first rows after ${times.map((time) => time.toFixed(0))} ms`);
    await page.done();
    await server.stop();
  } finally { await database.close(); }
}, { alone: true, seconds: 180 });
