// The launch: kernel, grid, block, arguments, sanitizers.
import { engine } from "../base/engine";
import { field, fill, h, select } from "../base/dom";
import type { ArgumentSpec, Kernel, KernelParameter } from "../engine-types";
import type { Launch } from "../examples";
import { asNum, BufferEditor } from "./buffer";

const defaultElements = 32;
const defaultLimit = 20_000_000;

/** The type of a number for a parameter that has one, or null. */
function scalarType(parameter: KernelParameter): string | null {
  const found = /^([busf])(8|16|32|64)$/.exec(parameter.type);
  if (found) return found[1] === "b" ? `u${found[2]}` : parameter.type;
  return parameter.type === "f16x2" ? "u32" : null;
}

function argumentFor(parameter: KernelParameter): ArgumentSpec {
  if (parameter.pointer) return { buffer: { format: parameter.element ?? "f32", count: defaultElements, fill: 0 } };
  const type = scalarType(parameter);
  return type === null ? { bytes: { hex: "00".repeat(parameter.bytes) } } : { scalar: { type, value: 0 } };
}

/** Whether an argument can stay when the text changes. */
function fits(argument: ArgumentSpec | undefined, parameter: KernelParameter): argument is ArgumentSpec {
  if (!argument) return false;
  if ("buffer" in argument) return parameter.bytes === 8;
  if ("bytes" in argument) return argument.bytes.hex.length === 2 * parameter.bytes;
  return scalarType(parameter) !== null && Number(/\d+$/.exec(argument.scalar.type)?.[0] ?? 0) === 8 * parameter.bytes;
}

const three = (sizes: readonly number[]): [number, number, number] => [sizes[0] ?? 1, sizes[1] ?? 1, sizes[2] ?? 1];
const trim = ([x, y, z]: readonly [number, number, number]): number[] => z !== 1 ? [x, y, z] : y !== 1 ? [x, y] : [x];

export class LaunchForm {
  readonly element = h("section", { class: "launch", "aria-label": "launch" });
  kernels: Kernel[] = [];
  private readonly top = h("div", { class: "launch-top" });
  private readonly kernelSlot = h("div", { class: "kernel-choice" });
  private readonly sanitizerSlot = h("fieldset", { class: "sanitizers" }, h("legend", {}, "Look for"));
  /** What brings the controls of the top to the launch's values. */
  private readonly shown: (() => void)[] = [];
  private readonly list = h("div", { class: "arguments" });
  private formats: string[] = [];
  private sanitizers: string[] = [];

  constructor(public launch: Launch, private readonly changed: () => void) {
    this.element.append(h("h3", { class: "hidden-text" }, "Launch"), this.top, this.list);
    this.build();
  }

  async load(): Promise<void> {
    const about = await engine.call("version", {});
    this.formats = about.formats;
    this.sanitizers = about.sanitizers;
    this.sanitizerSlot.append(...this.sanitizerBoxes());
  }

  /** Takes another launch, as of an example. */
  set(launch: Launch): void {
    this.launch = structuredClone(launch);
    this.draw();
  }

  /** Takes the kernels of the text: arguments that fit stay. */
  update(kernels: Kernel[]): void {
    const before = JSON.stringify(this.kernels.map(({ range: _, ...kernel }) => kernel));
    this.kernels = kernels;
    if (JSON.stringify(kernels.map(({ range: _, ...kernel }) => kernel)) === before && this.list.childElementCount > 0) return;
    this.fit();
    this.draw();
  }

  private fit(): void {
    const kernel = this.kernel();
    if (!kernel) return;
    const launch = this.launch;
    launch.kernel = kernel.name;
    launch.arguments = kernel.parameters.map((parameter, index) => {
      const old = launch.arguments[index];
      return fits(old, parameter) ? old : argumentFor(parameter);
    });
    if (kernel.requiredBlock) launch.block = trim(kernel.requiredBlock);
  }

  kernel(): Kernel | undefined {
    return this.kernels.find((kernel) => kernel.name === this.launch.kernel) ?? this.kernels[0];
  }

  summary(): string {
    const { kernel, grid, block } = this.launch;
    return `${kernel}, grid ${grid.join(" × ")}, block ${block.join(" × ")}`;
  }

  /** The three sizes of the grid or the block. */
  private sizes(label: string, key: "grid" | "block"): HTMLElement {
    const inputs = (["x", "y", "z"] as const).map((axis, index) => this.input(
      { class: "short", min: "1", "aria-label": `${label} ${axis}` },
      () => three(this.launch[key])[index as 0 | 1 | 2],
      (value) => {
        const next = three(this.launch[key]);
        next[index as 0 | 1 | 2] = Math.max(1, Math.floor(value));
        this.launch[key] = trim(next);
      }));
    return h("div", { class: "field", role: "group", "aria-label": label }, h("span", { class: "label" }, label), h("div", { class: "triple" }, ...inputs));
  }

  /** An input of a number of the launch. It shows the launch's value after `draw` and after each change. */
  private input(attributes: Record<string, string>, get: () => number, set: (value: number) => void): HTMLInputElement {
    const input = h("input", { type: "number", ...attributes, onchange: () => {
      set(Number(input.value) || 0);
      input.value = String(get());
      this.changed();
    } });
    this.shown.push(() => {
      // What someone is typing stays: its change comes when the input loses the focus.
      if (document.activeElement !== input) input.value = String(get());
    });
    return input;
  }

  /** What to look for: a box for each sanitizer. */
  private sanitizerBoxes(): HTMLElement[] {
    const names = this.sanitizers.filter((name) => name !== "all");
    const chosen = (): Set<string> => {
      const sanitize = this.launch.sanitize ?? [];
      return new Set(sanitize.includes("all") ? names : sanitize);
    };
    return names.map((name) => {
      const box = h("input", {
        type: "checkbox", onchange: () => {
          const sanitize = chosen();
          if (box.checked) sanitize.add(name); else sanitize.delete(name);
          this.launch.sanitize = [...sanitize];
          this.changed();
        },
      });
      this.shown.push(() => { box.checked = chosen().has(name); });
      return h("label", { class: "chip" }, box, sanitizerNames[name] ?? name);
    });
  }

  /**
   * Makes the controls of the top. They are made once: the kernels of a text come a moment after the text, and a control
   * made anew would lose what was typed in the meantime.
   */
  private build(): void {
    const shared = field("Dynamic shared bytes", this.input({ min: "0", class: "medium" }, () => this.launch.shared ?? 0, (value) => { this.launch.shared = value; }));
    this.shown.push(() => { shared.hidden = !this.kernel()?.dynamicShared; });
    fill(this.top, this.kernelSlot, this.sizes("Grid", "grid"), this.sizes("Block", "block"), shared,
      field("Limit of warp instructions", this.input({ min: "1", class: "medium" }, () => this.launch.limit ?? defaultLimit, (value) => { this.launch.limit = value; })),
      this.sanitizerSlot);
  }

  draw(): void {
    const kernel = this.kernel();
    fill(this.kernelSlot, field("Kernel", select(this.kernels.map((one) => [one.name, one.demangled ?? one.name] as const), kernel?.name ?? "", (name) => {
      this.launch.kernel = name;
      this.launch.arguments = [];
      this.fit();
      this.draw();
      this.changed();
    })));
    for (const show of this.shown) show();
    fill(this.list, ...(kernel?.parameters ?? []).map((parameter, index) => this.argument(parameter, index)));
    if (kernel && kernel.parameters.length === 0) this.list.append(h("p", { class: "quiet" }, "The kernel has no parameters."));
  }

  private argument(parameter: KernelParameter, index: number): HTMLElement {
    const argument = this.launch.arguments[index];
    const set = (next: ArgumentSpec): void => { this.launch.arguments[index] = next; this.changed(); };
    const head = h("div", { class: "argument-head" }, h("h4", {}, parameter.name), h("code", {}, `.${parameter.type}`));
    const kinds: [string, string][] = [];
    if (parameter.bytes === 8) kinds.push(["buffer", "buffer"]);
    if (scalarType(parameter)) kinds.push(["scalar", "number"]);
    kinds.push(["bytes", "bytes"]);
    const now = argument ? Object.keys(argument)[0] ?? "" : "";
    head.append(select(kinds, now, (kind) => {
      if (kind === "buffer") set({ buffer: { format: parameter.element ?? "f32", count: defaultElements, fill: 0 } });
      else if (kind === "scalar") set({ scalar: { type: scalarType(parameter) ?? "u32", value: 0 } });
      else set({ bytes: { hex: "00".repeat(parameter.bytes) } });
      this.draw();
    }, { "aria-label": `kind of ${parameter.name}`, class: "kind" }));
    const card = h("section", { class: `argument ${now}`, "aria-label": `argument ${parameter.name}` }, head);
    if (argument && "buffer" in argument) {
      const editor = new BufferEditor(parameter.name, argument.buffer, this.formats, (buffer) => set({ buffer }));
      card.append(editor.element);
    } else if (argument && "scalar" in argument) {
      const { type, value } = argument.scalar;
      const input = h("input", {
        value: String(value), "aria-label": `value of ${parameter.name}`, spellcheck: "false",
        onchange: () => set({ scalar: { type, value: asNum(input.value.trim()) } }),
      });
      head.append(input);
    } else if (argument) {
      const input = h("input", {
        value: argument.bytes.hex, class: "wide", "aria-label": `bytes of ${parameter.name}`, spellcheck: "false",
        onchange: () => set({ bytes: { hex: input.value.replaceAll(/\s/g, "") } }),
      });
      card.append(input);
    }
    return card;
  }
}

const sanitizerNames: Record<string, string> = {
  race: "races", init: "uninitialised reads", bounds: "bounds", sync: "wrong barriers", leak: "leaks",
};
