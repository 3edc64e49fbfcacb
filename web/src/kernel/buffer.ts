// A buffer of a launch: its format, how it is filled, and its elements to edit.
import { engine } from "../base/engine";
import { fill, h, select } from "../base/dom";
import { numberTable } from "../base/table";
import type { ArgumentSpec, Num } from "../engine-types";

export type BufferSpec = Extract<ArgumentSpec, { buffer: unknown }>["buffer"];

/** How many elements a buffer has. */
export function countOf(spec: BufferSpec): number {
  return spec.values?.length ?? spec.count ?? 0;
}

/** Its elements as text; null where the engine makes them. */
function valuesOf(spec: BufferSpec): string[] | null {
  if (spec.values) return spec.values.map(String);
  const count = spec.count ?? 0;
  if (spec.fill === "random" || spec.hex !== undefined) return null;
  return Array.from({ length: count }, (_, index) => spec.fill === "iota" ? String(index) : String(spec.fill ?? 0));
}

type Filling = "values" | "zero" | "iota" | "random";
const fillings: readonly (readonly [Filling, string])[] = [
  ["values", "values"], ["zero", "zeros"], ["iota", "0, 1, 2, …"], ["random", "random"],
];

function filling(spec: BufferSpec): Filling {
  if (spec.values || spec.hex !== undefined) return "values";
  if (spec.fill === "iota" || spec.fill === "random") return spec.fill;
  return spec.fill === undefined || spec.fill === 0 ? "zero" : "values";
}

/** A value as JSON takes it: a number if it is one, else the text. */
export function asNum(text: string): Num {
  const number = Number(text);
  return text !== "" && Number.isFinite(number) && String(number) === text ? number : text;
}

const mostElements = 1 << 20;

export class BufferEditor {
  readonly element = h("div", { class: "buffer" });
  private hex = false;
  private readonly before = h("div", { class: "buffer-table" });

  constructor(
    private readonly name: string, private spec: BufferSpec, private readonly formats: readonly string[],
    private readonly changed: (spec: BufferSpec) => void,
  ) {
    this.draw();
  }

  private set(spec: BufferSpec): void {
    this.spec = spec;
    this.changed(spec);
    this.draw();
  }

  private resize(text: string): void {
    const count = Math.max(0, Math.min(mostElements, Math.floor(Number(text)) || 0));
    const { values } = this.spec;
    if (!values) this.set({ ...this.spec, count });
    else this.set({ ...this.spec, values: Array.from({ length: count }, (_, index) => values[index] ?? 0) });
  }

  private refill(kind: string): void {
    const count = countOf(this.spec);
    const { format, name } = this.spec;
    const base = name === undefined ? { format } : { format, name };
    if (kind === "values") this.set({ ...base, values: (valuesOf(this.spec) ?? Array.from({ length: count }, () => "0")).map(asNum) });
    else this.set({ ...base, count, fill: kind === "zero" ? 0 : kind, ...(kind === "random" ? { seed: 1 } : {}) });
  }

  private draw(): void {
    const spec = this.spec;
    const kind = filling(spec);
    const format = select(this.formats.map((one) => [one, one] as const), spec.format,
      (value) => this.set({ ...spec, format: value }), { "aria-label": `format of ${this.name}` });
    const count = h("input", {
      type: "number", min: "0", max: String(mostElements), value: String(countOf(spec)), "aria-label": `elements of ${this.name}`,
      onchange: () => this.resize(count.value),
    });
    const how = select(fillings, kind, (value) => this.refill(value), { "aria-label": `contents of ${this.name}` });
    const seed = h("input", {
      type: "number", value: String(spec.seed ?? 1), "aria-label": `seed of ${this.name}`, class: "short",
      onchange: () => this.set({ ...spec, seed: Number(seed.value) || 0 }),
    });
    const hex = h("input", { type: "checkbox", checked: this.hex, onchange: () => { this.hex = hex.checked; void this.drawBefore(); } });
    fill(this.element,
      h("div", { class: "buffer-head" },
        format, h("span", { class: "times", "aria-hidden": "true" }, "×"), count, how, kind === "random" && h("label", { class: "inline" }, "seed ", seed),
        h("label", { class: "inline" }, hex, "hex")),
      this.before);
    void this.drawBefore();
  }

  private async drawBefore(): Promise<void> {
    const values = valuesOf(this.spec);
    const page = Number(this.before.dataset.page ?? 0);
    if (!values) {
      fill(this.before, h("p", { class: "quiet" }, this.spec.hex === undefined ? "Random numbers: they are shown after a run." : "Given as bytes."));
      return;
    }
    const edit = (index: number, text: string): void => {
      const next = values.map(asNum);
      next[index] = asNum(text);
      const { format, name } = this.spec;
      this.set(name === undefined ? { format, values: next } : { format, name, values: next });
    };
    let texts: readonly string[] = values;
    if (this.hex) {
      try {
        texts = await this.inHex(values);
      } catch {
        texts = values;
      }
    }
    numberTable(this.before, { values: texts, label: `${this.name} before the launch`, edit }, page);
  }

  private async inHex(values: readonly string[]): Promise<string[]> {
    const different = new Map<string, string>();
    for (const text of values) {
      if (different.has(text)) continue;
      const { bits } = await engine.call("number.decode", { format: this.spec.format, text });
      different.set(text, bits);
    }
    return values.map((text) => different.get(text) ?? text);
  }
}

/** The elements' bits, from the bytes, which are little-endian. */
export function hexOf({ hex, count, values }: { hex: string; count?: number; values: string[] }): string[] {
  const elements = count ?? values.length;
  const digits = elements === 0 ? 2 : Math.max(2, Math.floor(hex.length / elements));
  return Array.from({ length: elements }, (_, index) => {
    const part = hex.slice(index * digits, (index + 1) * digits);
    return `0x${(part.match(/../g) ?? []).reverse().join("")}`;
  });
}
