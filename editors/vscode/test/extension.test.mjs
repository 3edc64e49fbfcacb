// Tests without an editor: the grammar on PTX, the manifest, and the bundle against the server it starts.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const { loadWASM, createOnigScanner, createOnigString } = require("vscode-oniguruma");
const { Registry, parseRawGrammar, INITIAL } = require("vscode-textmate");
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const read = (path) => readFileSync(join(root, path), "utf8");
const manifest = JSON.parse(read("package.json"));

async function grammar() {
  const wasm = readFileSync(require.resolve("vscode-oniguruma").replace(/main\.js$/, "onig.wasm"));
  await loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const path = "syntaxes/ptx.tmLanguage.json";
  const registry = new Registry({
    onigLib: Promise.resolve({ createOnigScanner, createOnigString }),
    loadGrammar: async () => parseRawGrammar(read(path), path),
  });
  return registry.loadGrammar("source.ptx");
}

test("the grammar tells tokens apart", async () => {
  const ptx = await grammar();
  const lines = [
    [".visible .entry saxpy(", { ".visible": "storage.modifier", ".entry": "storage.type.function", saxpy: "entity.name.function" }],
    ["$L__BB0_2:", { $L__BB0_2: "entity.name.label" }],
    ["@!%p1 bra $L__BB0_2; // away", { "%p1": "variable.other.register", bra: "keyword.operator.instruction", "// away": "comment.line" }],
    ["fma.rn.f32 %f1, %f2, 0f3F800000, -1.5;", { fma: "keyword.operator.instruction", ".rn": "support.type.modifier", ".f32": "storage.type", "0f3F800000": "constant.numeric.float", "1.5": "constant.numeric.float" }],
    ["mov.u32 %r1, %tid.x;", { "%tid.x": "support.variable", "%r1": "variable.other.register" }],
    ["ld.shared::cta.b32 %r1, [%rd1+0x10];", { ".shared::cta": "support.type.modifier", "0x10": "constant.numeric.integer" }],
    ['.file 1 "a.cu"', { ".file": "keyword.control.directive", '"a.cu"': "string.quoted" }],
  ];
  let stack = INITIAL;
  for (const [line, wanted] of lines) {
    const result = ptx.tokenizeLine(line, stack);
    stack = result.ruleStack;
    for (const [text, scope] of Object.entries(wanted)) {
      const at = line.indexOf(text);
      const token = result.tokens.find((one) => one.startIndex <= at && at < one.endIndex);
      assert.ok(token.scopes.some((one) => one.startsWith(scope)), `${text} in ${line}: ${token.scopes}`);
    }
  }
});

test("what the manifest names is there", () => {
  const { contributes, main } = manifest;
  const paths = [main, contributes.languages[0].configuration, contributes.grammars[0].path, contributes.jsonValidation[0].url];
  for (const path of paths) assert.ok(existsSync(join(root, path)), `${path}: run \`npm run build\` first`);
  JSON.parse(read(contributes.languages[0].configuration));
  const source = read("src/extension.ts");
  for (const { command } of contributes.commands) assert.ok(source.includes(`"${command}"`), command);
});

/** The opcodes of the instruction table: the first words of its rows. */
function opcodes() {
  const folder = join(root, "../../crates/isa/src/table");
  const rows = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), "utf8").split("\n"));
  const found = rows.map((line) => /^\s*(?:row|old)\([^"]*"([a-z0-9]+)/.exec(line)?.[1]).filter(Boolean);
  return new Set(found);
}

test("the grammar has every opcode of the instruction table", async () => {
  const ptx = await grammar();
  const known = opcodes();
  assert.ok(known.size > 130, `${known.size} opcodes`);
  for (const opcode of known) {
    const { tokens } = ptx.tokenizeLine(`    ${opcode}.x;`, INITIAL);
    const token = tokens.find((one) => one.startIndex === 4);
    assert.ok(token.scopes.includes("keyword.operator.instruction.ptx"), opcode);
  }
});

/** A client as simple as can be. */
class Client {
  constructor(program) {
    this.child = spawn(program, ["lsp"]);
    this.waiting = new Map();
    this.notified = [];
    this.buffer = Buffer.alloc(0);
    this.next = 0;
    this.child.stdout.on("data", (data) => this.take(data));
  }

  take(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const end = this.buffer.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/.exec(this.buffer.subarray(0, end).toString())[1]);
      if (this.buffer.length < end + 4 + length) return;
      const message = JSON.parse(this.buffer.subarray(end + 4, end + 4 + length).toString());
      this.buffer = this.buffer.subarray(end + 4 + length);
      if (message.method) this.notified.push(message);
      else this.waiting.get(message.id)?.(message);
    }
  }

  send(message) {
    const text = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.child.stdin.write(`Content-Length: ${text.length}\r\n\r\n`);
    this.child.stdin.write(text);
  }

  request(method, params) {
    const id = ++this.next;
    return new Promise((done) => {
      this.waiting.set(id, done);
      this.send({ id, method, params });
    });
  }
}

test("the server speaks with a client of JavaScript", { skip: !process.env.SOFTWARP }, async () => {
  const client = new Client(process.env.SOFTWARP);
  const { result } = await client.request("initialize", { processId: null, rootUri: null, capabilities: {} });
  assert.equal(result.serverInfo.name, "softwarp");
  client.send({ method: "initialized", params: {} });
  const uri = "file:///tmp/a.ptx";
  const text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { add.u32 %r1, 1, 2; ret; }\n";
  client.send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "ptx", version: 1, text } } });
  const hover = await client.request("textDocument/hover", { textDocument: { uri }, position: { line: 3, character: 14 } });
  assert.match(hover.result.contents.value, /\*\*add.u32\*\*/);
  await client.request("shutdown");
  client.send({ method: "exit" });
  const code = await new Promise((done) => client.child.on("close", done));
  assert.equal(code, 0);
  const codes = client.notified.flatMap((one) => one.params.diagnostics ?? []).map((one) => one.code);
  assert.deepEqual(codes, ["E0250"]);
});
