// The worker: holds one instance of the module, and answers calls one after the other.

interface Exports {
  memory: WebAssembly.Memory;
  alloc(length: number): number;
  free(pointer: number, length: number): void;
  call(pointer: number, length: number): number;
}

type Message =
  | { kind: "load"; loaded: ArrayBuffer | WebAssembly.Module }
  | { kind: "call"; id: number; request: string };

const scope = self as unknown as DedicatedWorkerGlobalScope;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
let exports: Exports | undefined;

async function unpack(bytes: ArrayBuffer): Promise<BufferSource> {
  const head = new Uint8Array(bytes, 0, 2);
  if (head[0] !== 0x1f || head[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function load(loaded: ArrayBuffer | WebAssembly.Module): Promise<void> {
  const fresh = loaded instanceof ArrayBuffer;
  const module = fresh ? await WebAssembly.compile(await unpack(loaded)) : loaded;
  const instance = await WebAssembly.instantiate(module, {});
  exports = instance.exports as unknown as Exports;
  try {
    scope.postMessage({ kind: "ready", module: fresh ? module : null });
  } catch {
    scope.postMessage({ kind: "ready", module: null });
  }
}

function call(request: string): unknown {
  if (!exports) return { error: { message: "the engine is not loaded" } };
  const bytes = encoder.encode(request);
  const pointer = exports.alloc(bytes.length);
  if (pointer === 0) return { error: { message: "the engine has no memory left for this" } };
  new Uint8Array(exports.memory.buffer, pointer, bytes.length).set(bytes);
  const answer = exports.call(pointer, bytes.length) >>> 0;
  exports.free(pointer, bytes.length);
  const length = new DataView(exports.memory.buffer).getUint32(answer, true);
  const text = decoder.decode(new Uint8Array(exports.memory.buffer, answer + 4, length));
  exports.free(answer, 4 + length);
  return JSON.parse(text);
}

scope.onmessage = (event: MessageEvent<Message>) => {
  const message = event.data;
  if (message.kind === "load") {
    load(message.loaded).catch((error: unknown) => {
      scope.postMessage({ kind: "broken", message: `the engine could not be loaded: ${String(error)}` });
    });
    return;
  }
  try {
    scope.postMessage({ kind: "answer", id: message.id, answer: call(message.request) });
  } catch (error) {
    // A trap leaves the instance in an unknown state.
    scope.postMessage({ kind: "broken", message: `the engine stopped: ${String(error)}` });
  }
};
export {};
