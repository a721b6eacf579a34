// Jobs from outside, without a browser: what may be started and by whom, what ends them, what comes of them.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cupel, equal, expect, scratch, serve, test } from "./lib.mjs";

// Two layers with names as JAX gives them, and a sum, which the device below can be told to get wrong.
export const SUMS = `module @two_layers {
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x16xf32> {
${[0, 1].map((i) => `    %p${i} = stablehlo.dot_general ${i ? "%t0" : "%x"}, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("jit(f)/layer_${i}/dense/dot_general")
    %s${i} = stablehlo.add %p${i}, ${i ? "%t0" : "%x"} : tensor<8x16xf32> loc("jit(f)/layer_${i}/add")
    %t${i} = stablehlo.tanh %s${i} : tensor<8x16xf32> loc("jit(f)/layer_${i}/tanh")`).join("\n")}
    return %t1 : tensor<8x16xf32>
  }
}
`;
// Of our own device: the second sum becomes a difference.
export const WRONG = "cupel?plant_wrong_rewrite=2";

export function sums() {
  const file = join(scratch, "sums.mlir");
  if (!existsSync(file)) writeFileSync(file, SUMS);
  return file;
}
// Runs long enough to be ended.
function slow() {
  const file = join(scratch, "slow.mlir");
  writeFileSync(file, `func.func @main(%v0: tensor<768x768xf32>) -> tensor<768x768xf32> {\n${Array.from({ length: 8 }, (_, i) => `  %v${i + 1} = stablehlo.dot_general %v${i}, %v${i}, contracting_dims = [1] x [0] : (tensor<768x768xf32>, tensor<768x768xf32>) -> tensor<768x768xf32>\n`).join("")}  return %v8 : tensor<768x768xf32>\n}\n`);
  return file;
}
const post = (server, path, body, token = server.token) => server.get("/api/v1/" + path, { method: "POST", body: JSON.stringify(body), headers: { Authorization: "Bearer " + token } });
const start = async (server, kind, values = {}, key = "program") => { const response = await post(server, "jobs", { kind, key, values }); const answer = await response.json(); expect(response.status === 201, `${kind}: ${JSON.stringify(answer)}`); return answer.id; };
async function until(server, id, states = ["done", "failed", "cancelled"]) {
  for (let i = 0; i < 400; ++i) {
    const job = await server.json("jobs/" + id);
    if (states.includes(job.state)) return job;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`job ${id} does not become ${states}: ${JSON.stringify(await server.json("jobs/" + id))}`);
}
const done = async (server, kind, values, key) => { const job = await until(server, await start(server, kind, values, key)); expect(job.state === "done", `${kind}: ${job.state}, ${job.message}\n${job.log}`); return job; };
// The processes whose command line holds a text.
const running = (text) => readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((name) => { try { return readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").includes(text); } catch { return false; } }).map(Number);
const gone = async (text) => { for (let i = 0; i < 60 && running(text).length; ++i) await new Promise((resolve) => setTimeout(resolve, 100)); return running(text).length === 0; };

test("jobs: who may start one, and what", async () => {
  const server = await serve("explore", sums(), "--device", WRONG);
  equal((await server.get("/api/v1/jobs", { method: "POST", body: '{"kind": "values", "key": "program"}' })).status, 401, "without the token");
  equal((await post(server, "jobs", { kind: "values", key: "program" }, "wrong")).status, 401, "with another token");
  const wrong = [[{ kind: "shell", key: "program" }, 404], [{ kind: "values", key: "nothing" }, 400], [{ kind: "values", key: "program", values: { "--trace": "all" } }, 400], [{ kind: "values", key: "program", values: [] }, 400],
    [{ kind: "values", key: "program", values: { seed: "1 --save-program=/tmp/x" } }, 400], [{ kind: "values", key: "program", values: { seed: "-1" } }, 400], [{ kind: "run", key: "program", values: { device: "/tmp/evil.so" } }, 400],
    [{ kind: "run", key: "program", values: { device: "cupel?export_path=/etc" } }, 400], [{ kind: "run", key: "program", values: { "option.export_path": "/etc" } }, 400], [{ kind: "run", key: "program", values: { "option.accumulate": "f64&export_path=/etc" } }, 400],
    [{ kind: "compile", key: "program", values: { edits: "1:fusion-barrier,--help" } }, 400], [{ kind: "compile", key: "program", values: { edits: "1:placement=elsewhere" } }, 400], [{ kind: "compile", key: "program", values: { edits: "1:precision" } }, 400], [{ kind: "extract", key: "program", values: { nodes: "1;2" } }, 400], [{ kind: "run", key: "program", values: { inputs: "not base 64!" } }, 400],
    [{ kind: "open", values: { test: "--help" } }, 400], [{ kind: "open", values: { test: "/etc/passwd" } }, 400], [{ kind: "values", key: "program", values: { seed: 3 } }, 400], ["text", 400]];
  for (const [body, status] of wrong) equal((await post(server, "jobs", body)).status, status, JSON.stringify(body));
  equal((await server.json("jobs")).jobs, [], "jobs that were started nevertheless");
  // The forms come from the table of the device's options.
  const kinds = (await server.json("jobs")).kinds, run = kinds.find((one) => one.name === "run");
  equal(run.fields.find((one) => one.name === "option.accumulate").choices, ["(default)", "native", "f64"], "choices of an option");
  expect(run.fields.find((one) => one.name === "device").choices.includes(WRONG) && !run.fields.some((one) => one.name.includes("export_path")), "devices or options of the form");
  await server.stop();
  const closed = await serve("explore", sums(), "--read-only");
  expect(!closed.printed.includes("token"), "a read-only server prints its token");
  equal((await post(closed, "jobs", { kind: "values", key: "program" })).status, 403, "on a read-only server");
  await closed.stop();
});

test("jobs: run, explain, op by op, values, times, compile, override, extract, workload", async () => {
  const server = await serve("explore", sums(), "--device", WRONG);
  const ids = {};
  for (const [kind, values] of [["run", { device: WRONG }], ["explain", { device: WRONG }], ["op-by-op", { device: "cupel" }], ["values", { seed: "3" }], ["time", { runs: "3" }], ["compile", { "option.opt_bisect_limit": "0" }],
    ["workload", { seed: "1" }]]) ids[kind] = await start(server, kind, values);
  const jobs = {};
  for (const [kind, id] of Object.entries(ids)) { jobs[kind] = await until(server, id); expect(jobs[kind].state === "done", `${kind}: ${jobs[kind].message}\n${jobs[kind].log}`); }
  equal(jobs.run.result.outcome, "failed", "a run on a wrong device");
  expect(jobs.run.result.files.length === 1, "the failed run keeps no workload");
  const node = async (id, stage = "stablehlo", key = "program") => server.json("graph/node?" + new URLSearchParams({ key, stage, id }));
  const bad = await node(jobs.explain.result.node);
  expect(bad.op === "stablehlo.add" && bad.path.startsWith("jit(f)/layer_") && bad.overlays.blamed === "to blame", `the first bad operation: ${JSON.stringify(bad)}\n${jobs.explain.message}`);
  const stages = (await server.json("graph")).stages, names = stages.find((one) => one.name === "stablehlo").overlays.map((one) => one.name);
  for (const wanted of ["blamed", "op by op", "coverage of the device", "largest magnitude", "not finite", "placement", "fusion group", "error against the reference"]) expect(names.includes(wanted), `no overlay '${wanted}': ${names}`);
  expect(stages.find((one) => one.name === "device").overlays.some((one) => one.name === "time"), "no overlay of times");
  // What the overlays say of a node.
  const tanh = (await server.json("graph/search?stage=stablehlo&q=tanh")).nodes[0], facts = (await node(tanh.id)).overlays;
  equal([facts["op by op"], facts["coverage of the device"], facts.placement, facts["not finite"]], ["right", "taken", "device", 0], "overlays of tanh");
  expect(facts["largest magnitude"] > 0 && facts["largest magnitude"] <= 1, `tanh has values up to ${facts["largest magnitude"]}`);
  const top = await server.json("graph/top?" + new URLSearchParams({ stage: "stablehlo", overlay: "largest magnitude", order: "least", limit: 2 }));
  expect(top.nodes.length === 2 && top.nodes[0].value <= top.nodes[1].value, "the lowest are not sorted");
  equal((await server.json("graph/top?" + new URLSearchParams({ stage: "stablehlo", overlay: "op by op" }))).words, [{ word: "right", count: 6 }], "words of an overlay");
  // Without its rewrites the device has more launches.
  const launches = async (key) => (await server.json("graph?" + new URLSearchParams({ key }))).stages.find((one) => one.name === "device").nodes;
  expect(await launches(jobs.compile.result.key) > await launches("program"), "opt_bisect_limit changes nothing");
  // A barrier gives an operation a launch of its own, and what was made runs.
  const barred = await done(server, "compile", { edits: `${tanh.id}:fusion-barrier` });
  expect(await launches(barred.result.key) > await launches("program"), "a fusion barrier changes nothing");
  equal((await done(server, "run", { device: "cupel" }, barred.result.key)).result.outcome, "passed", "the program with a barrier");
  // Placed on the reference it has a launch of its own that the device's kernels do not do, also where another process runs it.
  const placed = await done(server, "compile", { edits: `${tanh.id}:placement=reference` });
  const where = async (id, key) => (await node(id, "stablehlo", key)).overlays.placement;
  equal([await where(tanh.id), await where(tanh.id, placed.result.key), await where(tanh.id - 1, placed.result.key)], ["device", "reference (fallback)", "device"], "who computes tanh and the sum before it");
  equal((await done(server, "run", { device: "cupel" }, placed.result.key)).result.outcome, "passed", "the program with an operation on the reference");
  const rounded = await done(server, "compile", { edits: `${tanh.id}:precision=bf16` });
  expect((await server.json("graph/search?" + new URLSearchParams({ key: rounded.result.key, stage: "stablehlo", q: "reduce_precision" }))).count === 2, "what a rounded operation takes and gives is not rounded");
  // A part as a program, with inputs from a file.
  const part = await done(server, "extract", { nodes: (await server.json("graph/group?stage=stablehlo&id=" + (await server.json("graph/node?stage=stablehlo&id=" + tanh.id)).groups[0])).nodes.join(",") });
  const text = await (await server.get(`/api/v1/jobs/${part.id}/file?name=part.mlir`)).text();
  expect(text.includes("stablehlo.tanh") && text.includes("stablehlo.dot_general") && !text.includes("layer_1"), text);
  const header = JSON.stringify({ 0: { dtype: "F32", shape: [8, 16], data_offsets: [0, 512] }, 1: { dtype: "F32", shape: [16, 16], data_offsets: [512, 1536] } }), size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  const inputs = Buffer.concat([size, Buffer.from(header), Buffer.alloc(1536)]).toString("base64");
  equal((await done(server, "run", { device: "cupel", inputs }, part.result.key)).result.outcome, "passed", "the part with inputs of its own");
  // What lies between two chosen operations has to be chosen too.
  const gap = await until(server, await start(server, "extract", { nodes: [tanh.id - 2, tanh.id].join(",") }));
  expect(gap.state === "failed" && gap.log.includes("stablehlo.add) lies between the chosen operations"), `a part with a gap: ${gap.state}\n${gap.log}`);
  equal((await server.get(`/api/v1/jobs/${part.id}/file?name=../../../etc/passwd`)).status, 404, "a file that the job did not make");
  const tar = Buffer.from(await (await server.get(`/api/v1/jobs/${jobs.workload.id}/file?name=${encodeURIComponent(jobs.workload.result.files[0])}`)).arrayBuffer());
  writeFileSync(join(scratch, "workload.tar"), tar);
  execFileSync("tar", ["xf", join(scratch, "workload.tar"), "-C", scratch]);
  cupel("run", join(scratch, "sums"), "--device", "cupel", "--results", join(scratch, "of-the-workload"));
  await server.stop();
});

test("jobs: called off, killed, too many, and nothing outlives the server", async () => {
  const server = await serve("explore", slow());
  const long = await start(server, "time", { runs: "10000" });
  await until(server, long, ["running"]);
  const folder = (await until(server, long, ["running"])).log.match(/-o (\S+)\/graph\.json/)[1];
  for (let i = 0; i < 50 && running(folder).length < 2; ++i) await new Promise((resolve) => setTimeout(resolve, 100));
  equal((await post(server, `jobs/${long}/cancel`, {})).status, 200, "calling a job off");
  equal((await until(server, long)).state, "cancelled", "a job that was called off");
  expect(await gone(folder), "its processes are still there");
  // One that dies harms nobody.
  const dies = await start(server, "time", { runs: "10000" });
  const place = (await until(server, dies, ["running"])).log.match(/-o (\S+)\/graph\.json/)?.[1] || `/${dies}/graph.json`;
  for (let i = 0; i < 50 && !running(place).length; ++i) await new Promise((resolve) => setTimeout(resolve, 100));
  for (const id of running(place)) process.kill(id, "SIGSEGV");
  const dead = await until(server, dies);
  expect(dead.state === "failed" && /SIGSEGV|exit code/.test(dead.message), `a job that crashed: ${dead.state} ${dead.message}`);
  equal((await server.get("/")).status, 200, "the page afterwards");
  // Two run, sixteen wait, and no more.
  const many = [];
  for (let i = 0; i < 24; ++i) many.push((await post(server, "jobs", { kind: "time", key: "program", values: { runs: "10000" } })).status);
  expect(many.filter((status) => status === 201).length <= 19 && many.at(-1) === 429, `jobs that were taken: ${many}`);
  equal((await server.json("jobs")).jobs.filter((job) => job.state === "running").length <= 2, true, "jobs at once");
  const scratchOfJobs = folder.replace(/\/\d+$/, "");
  expect(running(scratchOfJobs).length > 0, "nothing runs");
  server.child.removeAllListeners("exit");
  // Even where it cannot say goodbye.
  // Guards of jobs are forked from the server and are called as it is: they are not what dies here.
  const called = running("explore " + join(scratch, "slow.mlir") + " --port"), parentOf = (id) => Number(readFileSync(`/proc/${id}/stat`, "utf8").split(") ").at(-1).split(" ")[1]);
  for (const id of called.filter((one) => !called.includes(parentOf(one)))) process.kill(id, "SIGKILL");
  expect(await gone(scratchOfJobs), "jobs outlive the server");
  expect(await gone(join(scratch, "slow.mlir")), "what jobs started outlives the server");
});

