// The engine in WebAssembly, called as the page calls it: every call, and runs with the results that the native engine has.
//
//   tools/web.sh && node --test web/test/engine.test.mjs
//
// ENGINE is the module (target/web/softwarp.wasm).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const root = new URL("../../", import.meta.url).pathname;
const path = process.env.ENGINE ?? join(root, "target/web/softwarp.wasm");
const bytes = readFileSync(path);

/** A page's engine. */
function engine() {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {});
  const raw = (request) => {
    const at = exports.alloc(request.length);
    new Uint8Array(exports.memory.buffer, at, request.length).set(request);
    const answer = exports.call(at, request.length);
    exports.free(at, request.length);
    const length = new DataView(exports.memory.buffer).getUint32(answer, true);
    const text = new TextDecoder().decode(new Uint8Array(exports.memory.buffer, answer + 4, length));
    exports.free(answer, 4 + length);
    return JSON.parse(text);
  };
  const call = (name, request = {}) => raw(new TextEncoder().encode(JSON.stringify({ call: name, ...request })));
  const ok = (name, request) => {
    const answer = call(name, request);
    assert.ok(!answer.error, `${name}: ${JSON.stringify(answer.error)}`);
    return answer.ok;
  };
  return { raw, call, ok, exports };
}

const file = (name) => readFileSync(join(root, name), "utf8");
const saxpy = file("examples/saxpy.ptx");
const launch = {
  text: saxpy,
  kernel: "saxpy",
  grid: [2],
  block: [64],
  arguments: [
    { scalar: { type: "f32", value: 2 } },
    { buffer: { format: "f32", count: 100, fill: "iota" } },
    { buffer: { format: "f32", count: 100, fill: 1 } },
    { scalar: { type: "u32", value: 100 } },
  ],
};

test("the module needs nothing from the page", () => {
  assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(bytes)), []);
});

test("every call answers", () => {
  const { call, ok } = engine();
  for (const name of ok("version").calls) {
    const answer = call(name);
    assert.ok("ok" in answer || typeof answer.error.message === "string", name);
  }
});

test("what is no request is refused", () => {
  const { raw, call } = engine();
  assert.match(raw(new Uint8Array([255, 0])).error.message, /not JSON/);
  assert.match(raw(new Uint8Array()).error.message, /not JSON/);
  assert.match(call("chek").error.message, /check/);
});

test("an editor gets its answers", () => {
  const { ok } = engine();
  assert.equal(ok("check", { text: saxpy }).errors, 0);
  const broken = ok("check", { text: file("examples/broken.ptx") });
  assert.ok(broken.errors > 0 && broken.diagnostics[0].code.startsWith("E"));
  const line = saxpy.split("\n").findIndex((one) => one.includes("fma.rn.f32"));
  const position = { line, character: saxpy.split("\n")[line].indexOf("fma") + 1 };
  assert.match(ok("hover", { text: saxpy, position }).contents, /fma/);
  assert.ok(ok("complete", { text: saxpy, position }).length > 0);
  assert.ok(ok("symbols", { text: saxpy }).length > 0);
  assert.ok(ok("tokens", { text: saxpy }).length > 20);
  assert.ok(ok("format", { text: saxpy }).text.length > 100);
  const places = { text: saxpy, position: { line, character: saxpy.split("\n")[line].indexOf("%") + 1 } };
  assert.ok(ok("definition", places).length > 0 && ok("references", places).length > 1);
  assert.ok(ok("rename", { ...places, name: "%other" }).length > 1);
  assert.ok("signatures" in (ok("signature", places) ?? {}));
  assert.equal(ok("explain", { code: "E0601" }).code, "E0601");
});

test("modules are laid out and lowered", () => {
  const { ok } = engine();
  const { layout, svg } = ok("layout", { text: file("examples/layout.ptx") });
  assert.ok(layout.variables.length > 3 && svg.startsWith("<svg"));
  assert.ok(ok("lower", { text: saxpy }).kernels[0].functions[0].operations.length > 5);
  assert.equal(ok("kernels", { text: saxpy })[0].parameters.filter((one) => one.pointer).length, 2);
});

test("a launch runs, and its results are right", () => {
  const result = engine().ok("run", launch);
  assert.equal(result.state, "done");
  const expected = Array.from({ length: 100 }, (_, index) => String(2 * index + 1));
  assert.deepEqual(result.buffers[1].values, expected);
  assert.ok(result.stats.warpInstructions > 0 && result.findingsTotal === 0);
});

test("a launch is stepped through in both directions", () => {
  const { ok } = engine();
  const first = ok("launch.start", launch);
  const id = { launch: first.launch };
  assert.equal(first.moment, 0);
  const line = saxpy.split("\n").findIndex((one) => one.includes("fma.rn.f32"));
  assert.equal(ok("launch.breakpoints", { ...id, lines: [line] }).set[0].line, line);
  const stop = ok("launch.step", { ...id, by: "continue" });
  assert.equal(stop.at.line, line);
  assert.equal(ok("launch.registers", id).registers.length > 5, true);
  assert.equal(ok("launch.warps", id).warps.length, 2);
  assert.equal(ok("launch.memory", { ...id, name: "x", bytes: 16 }).values.length, 4);
  assert.equal(ok("launch.buffers", id).length, 2);
  assert.ok(ok("launch.evaluate", { ...id, expression: "%tid.x" }).text.length > 0);
  const next = ok("launch.step", { ...id, by: "any", trace: true });
  assert.equal(next.moment, stop.moment + 1);
  assert.ok(next.steps.length > 0);
  assert.equal(ok("launch.back", { ...id, by: "any" }).moment, stop.moment);
  assert.equal(ok("launch.focus", { ...id, lane: 4 }).at.lane, 4);
  assert.equal(ok("launch.goto", { ...id, moment: 3 }).moment, 3);
  assert.equal(ok("launch.status", id).moment, 3);
  assert.equal(ok("launch.stats", id).warpInstructions, 3);
  assert.equal(ok("launch.step", { ...id, by: "run" }).state, "done");
  assert.equal(ok("launch.end", id), null);
});

test("kernels that never end, and too large requests, are bounded", () => {
  const { ok, call } = engine();
  const text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nL:\n    bra L;\n}\n";
  const forever = { text, kernel: "k", grid: [1], block: [32], limit: 100000 };
  assert.equal(ok("run", forever).state, "limit");
  const { launch: id } = ok("launch.start", forever);
  const bound = ok("launch.step", { launch: id, by: "continue", max: 5000 });
  assert.deepEqual([bound.reason, bound.moment], ["bound", 5000]);
  const huge = structuredClone(launch);
  huge.arguments[1].buffer.count = 2 ** 40;
  assert.match(call("run", huge).error.message, /more than/);
  const shared = { ...launch, shared: 2 ** 31 };
  assert.match(call("run", shared).error.message, /shared/);
  assert.ok("error" in call("run", { ...launch, text: `${saxpy}\n.global .b8 far[${2 ** 33}];\n` }));
  assert.ok(call("check", { text: "{".repeat(100000) }).ok.errors > 0);
  // The engine still works.
  assert.equal(ok("run", launch).state, "done");
});

test("time stands still, and clocks of kernels do not", () => {
  const text = `.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to)\n{
    .reg .b64 %to, %a, %b;\n    .reg .pred %p;\n    ld.param.u64 %to, [to];\n    mov.u64 %a, %globaltimer;
L:\n    mov.u64 %b, %globaltimer;\n    sub.u64 %b, %b, %a;\n    setp.lt.u64 %p, %b, 1000;\n    @%p bra L;
    st.global.u64 [%to], %b;\n    ret;\n}\n`;
  const given = [{ buffer: { format: "u64", count: 1 } }];
  const result = engine().ok("run", { text, kernel: "k", grid: [1], block: [1], arguments: given });
  assert.equal(result.state, "done");
  assert.ok(Number(result.buffers[0].values[0]) >= 1000);
});

test("numbers, blocks and tensors", () => {
  const { ok } = engine();
  assert.ok(ok("formats").length > 10);
  assert.equal(ok("number.decode", { format: "e4m3", bits: "0x7e" }).text, "448");
  assert.equal(ok("number.line", { format: "e2m1" }).complete, true);
  assert.ok(ok("number.svg", { format: "e2m1" }).svg.startsWith("<svg"));
  const form = { form: "rn.satfinite.e4m3x2.f32", values: ["1.5", "-300"] };
  assert.equal(ok("number.cvt", form).result.bits, "0x3cf9");
  assert.ok(ok("number.forms", { from: "f32", to: "e4m3" }).length > 0);
  assert.ok(ok("number.compare", { from: "f32", to: "f16", value: "0.1" }).length > 2);
  assert.equal(ok("number.explain", { code: "E0601" }).code, "E0601");
  const values = Array.from({ length: 64 }, (_, index) => Math.sin(index) * 5);
  assert.equal(ok("number.blocks", { format: "mxfp4", values }).blocks.length, 2);
  const map = JSON.parse(file("examples/tensor/tile.json"));
  assert.ok(ok("tensor.show", { map }).svg.startsWith("<svg"));
  assert.ok(ok("tensor.walk", { map }).elements.length > 16);
  assert.equal(ok("tensor.tmem", { shape: "32x32b.x4" }).cells.length, 128);
});

test("results are those of the native engine", () => {
  const { ok } = engine();
  for (const { name, file: path, request, expected } of JSON.parse(file("web/test/runs.json"))) {
    const result = ok("run", { ...request, text: file(path) });
    const found = {
      state: result.state,
      fault: result.fault?.message ?? null,
      findings: result.findingsTotal,
      warpInstructions: result.stats.warpInstructions,
      buffers: result.buffers.map((buffer) => buffer.hex),
    };
    assert.deepEqual(found, expected, name);
  }
});
