// The engine, in Web Workers: calls as promises. One worker answers what the editor and the labs ask; another
// one runs kernels, so that a long run holds nothing up and can be ended.
import type { Answer, CallArguments, CallName, CallResult, EngineError } from "../engine-types";
import code from "worker:engine-worker.ts";

/** An answer that says what is wrong. */
export class CallError extends Error {
  constructor(readonly details: EngineError) {
    super(details.message);
  }
}

/** The run was ended by `stop`. */
export class Stopped extends Error {
  constructor() {
    super("stopped");
  }
}

type Reply =
  | { kind: "ready"; module: WebAssembly.Module | null }
  | { kind: "broken"; message: string }
  | { kind: "answer"; id: number; answer: Answer<unknown> };

declare global {
  interface Window {
    /** The engine as gzip in base64: `engine.js` sets it where the page was opened from a file. */
    softwarpEngine?: string;
  }
}

let source: Promise<ArrayBuffer | WebAssembly.Module> | undefined;

/** The module, or the bytes of it as the page has them. */
function engineSource(): Promise<ArrayBuffer | WebAssembly.Module> {
  source ??= location.protocol === "file:" ? fromScript() : fromServer();
  return source;
}

async function fromServer(): Promise<ArrayBuffer> {
  const response = await fetch("engine.bin");
  if (!response.ok) throw new Error(`engine.bin: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

/** Pages from files may not fetch, but may have scripts. */
async function fromScript(): Promise<ArrayBuffer> {
  await new Promise<void>((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "engine.js";
    script.onload = () => resolve();
    script.onerror = () => reject(new Error("engine.js is not beside the page"));
    document.head.append(script);
  });
  const text = atob(window.softwarpEngine ?? "");
  window.softwarpEngine = undefined;
  return Uint8Array.from(text, (character) => character.charCodeAt(0)).buffer;
}

export class Engine {
  private worker: Worker | undefined;
  private waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private next = 1;
  /** Counts the workers that were ended, with the launches in them. */
  generation = 0;
  private ready: Promise<void> | undefined;
  /** Ends the wait for a worker that is being loaded. */
  private abandon: ((error: Error) => void) | undefined;

  private start(): Promise<void> {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const worker = new Worker(url);
    this.worker = worker;
    return new Promise((resolve, reject) => {
      this.abandon = reject;
      worker.onmessage = (event: MessageEvent<Reply>) => {
        const reply = event.data;
        if (reply.kind === "ready") {
          if (reply.module) source = Promise.resolve(reply.module);
          URL.revokeObjectURL(url);
          resolve();
        } else if (reply.kind === "broken") {
          this.fail(new Error(reply.message));
          reject(new Error(reply.message));
        } else {
          const call = this.waiting.get(reply.id);
          this.waiting.delete(reply.id);
          if ("ok" in reply.answer) call?.resolve(reply.answer.ok);
          else call?.reject(new CallError(reply.answer.error));
        }
      };
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      engineSource().then((loaded) => worker.postMessage({ kind: "load", loaded }), reject);
    });
  }

  /** Ends the worker, with all calls that wait for it. The next call starts another one. */
  private fail(error: Error): void {
    this.worker?.terminate();
    this.generation += 1;
    this.worker = undefined;
    this.ready = undefined;
    this.abandon?.(error);
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const call of waiting) call.reject(error);
  }

  stop(): void {
    this.fail(new Stopped());
  }

  load(): Promise<void> {
    this.ready ??= this.start();
    return this.ready;
  }

  async call<N extends CallName>(name: N, args: CallArguments<N>): Promise<CallResult<N>> {
    await this.load();
    const id = this.next++;
    const worker = this.worker;
    if (!worker) throw new Stopped();
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      worker.postMessage({ kind: "call", id, request: JSON.stringify({ call: name, ...args }) });
    });
  }
}

/** For the editor and the labs. */
export const engine = new Engine();
/** For kernels. */
export const runner = new Engine();
