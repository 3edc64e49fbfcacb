// Block-scaled formats: numbers, their blocks with scales, and what is left of each.
import { CallError, engine } from "../base/engine";
import { field, fill, h, s, select } from "../base/dom";
import type { Block, Blocks, Num } from "../engine-types";
import { short } from "./line";

export interface BlocksState {
  format: string;
  values: Num[];
  rule: string;
}

const formats = ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"];
const rules = [["floor", "floor (OCP MX)"], ["nearest", "nearest"], ["even", "even"], ["amax", "amax (NVIDIA)"]] as const;

/** A wave with one number far above the others: the case that blocks are for. */
export function firstValues(): Num[] {
  return Array.from({ length: 32 }, (_, index) => {
    const wave = Math.sin(index * 0.7) * Math.exp(-((index - 15.5) ** 2) / 180);
    return Number((index === 21 ? 6.5 : wave).toFixed(3));
  });
}

const shapes: Record<string, () => Num[]> = {
  outlier: firstValues,
  bell: () => Array.from({ length: 32 }, (_, index) => Number((0.02 * (Math.sin(index * 12.9898) + Math.sin(index * 78.233) + Math.sin(index * 37.719))).toFixed(5))),
  ramp: () => Array.from({ length: 32 }, (_, index) => Number(((index - 15.5) / 2).toFixed(2))),
  powers: () => Array.from({ length: 32 }, (_, index) => 2 ** (index - 24)),
};

export class BlocksLab {
  readonly element = h("section", { class: "lab-card", "aria-labelledby": "blocks-title" });
  private readonly text = h("textarea", { rows: "3", spellcheck: "false" });
  private readonly drawing = h("div", { class: "blocks" });
  private readonly format: HTMLSelectElement;
  private readonly rule: HTMLSelectElement;

  constructor(public state: BlocksState, private readonly changed: () => void) {
    this.format = select(formats.map((one) => [one, one] as const), state.format, (format) => this.set({ format }));
    this.rule = select(rules, state.rule, (rule) => this.set({ rule }));
    const shape = select([["", "choose …"], ["outlier", "a wave with an outlier"], ["bell", "small, bell-shaped"], ["ramp", "a ramp"], ["powers", "powers of two"]], "",
      (name) => { const made = shapes[name]; if (made) this.set({ values: made() }); });
    this.text.addEventListener("change", () => this.set({ values: this.text.value.split(/[\s,;]+/).filter((one) => one !== "").slice(0, 256) }));
    this.element.append(
      h("h2", { id: "blocks-title" }, "Block-scaled formats"),
      h("div", { class: "controls" }, field("Format", this.format), field("Rule for the scale", this.rule), field("Take", shape)),
      field("Numbers", this.text), this.drawing);
  }

  set(part: Partial<BlocksState>): void {
    this.state = { ...this.state, ...part };
    this.changed();
    void this.draw();
  }

  async draw(): Promise<void> {
    this.format.value = this.state.format;
    this.rule.value = this.state.rule;
    this.rule.disabled = this.state.format === "nvfp4";
    this.text.value = this.state.values.join("  ");
    try {
      const scaleRule = this.state.rule as "floor";
      const blocks = await engine.call("number.blocks", { format: this.state.format, values: this.state.values, ...(this.state.format === "nvfp4" ? {} : { scaleRule }) });
      this.show(blocks);
    } catch (error) {
      fill(this.drawing, h("p", { class: "problem", role: "alert" }, error instanceof CallError ? error.message : "The engine gave no answer."));
    }
  }

  private show(blocks: Blocks): void {
    const { errors } = blocks;
    fill(this.drawing,
      h("p", { class: "quiet" }, `Elements are ${blocks.element}, ${blocks.blockSize} to a block.${blocks.tensorScale === null ? "" : ` The whole tensor has the scale ${blocks.tensorScale}.`} `
        + `Root mean square of the errors: ${short(Number(errors.rms))}, largest ${short(Number(errors.largest))}; ${errors.underflowed} became zero, ${errors.saturated} saturated.`),
      ...blocks.blocks.map((block, index) => this.block(block, index)));
  }

  private block(block: Block, index: number): HTMLElement {
    return h("section", { class: "block", "aria-label": `block ${index}` },
      h("p", { class: "block-head" }, h("strong", {}, `Block ${index}`), h("span", { class: "scale" }, `scale ${block.scale.value}`), h("code", {}, `${block.scale.format} ${block.scale.bits}`),
        h("span", { class: "quiet" }, `largest magnitude ${block.largest}`)),
      h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": `numbers of block ${index}` }, picture(block)));
  }
}

const cell = 38;
const tall = 120;
const margin = 6;

/** A column for each number: what came in as a line, what is left as a bar, its code below. */
function picture(block: Block): SVGElement {
  const all = block.elements.flatMap((one) => [Number(one.input), Number(one.result)]).filter(Number.isFinite);
  const high = Math.max(0, ...all);
  const low = Math.min(0, ...all);
  const range = high - low || 1;
  const width = block.elements.length * cell;
  const y = (value: number): number => margin + ((high - value) / range) * tall;
  const zero = y(0);
  const base = tall + 2 * margin;
  const image = s("svg", { viewBox: `0 0 ${width} ${base + 44}`, width, height: base + 44, role: "img", "aria-label": "numbers before and after" },
    s("line", { x1: 0, x2: width, y1: zero, y2: zero, class: "axis-line" }));
  block.elements.forEach((one, index) => {
    const x = index * cell;
    const input = Number(one.input);
    const result = Number(one.result);
    const group = s("g", { class: `element ${one.outcome}` },
      s("title", {}, `${one.input} becomes ${one.result}: code ${one.bits} is ${one.value}, times the scale; ${one.outcome.replaceAll("_", " ")}, error ${one.error}`));
    if (Number.isFinite(result)) group.append(s("rect", { x: x + 8, width: cell - 16, y: Math.min(zero, y(result)), height: Math.max(1, Math.abs(y(result) - zero)), class: "result" }));
    if (Number.isFinite(input)) group.append(s("path", { d: `M${x + 5} ${y(input)} h${cell - 10}`, class: "input" }));
    group.append(s("text", { x: x + cell / 2, y: base + 12, class: "code" }, one.bits.replace(/^0x/, "")),
      s("text", { x: x + cell / 2, y: base + 25, class: "tick-label" }, short(Number(one.value))),
      s("text", { x: x + cell / 2, y: base + 38, class: "error-label" }, one.outcome === "exact" ? "=" : tiny(Number(one.error))));
    image.append(group);
  });
  return image;
}

/** An error in as few characters as a column has room for. */
function tiny(value: number): string {
  const text = Math.abs(value) >= 0.01 && Math.abs(value) < 1000 ? String(Number(value.toPrecision(2))) : value.toExponential(0);
  return (value > 0 ? `+${text}` : text).replace("0.", ".");
}
