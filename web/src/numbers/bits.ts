// A number as the bits of its format: fields in colours, bits that are switched by a click.
import { CallError, engine } from "../base/engine";
import { field, fill, h, select } from "../base/dom";
import type { Decoded, Num, NumberFormat } from "../engine-types";
import { LinePicture } from "./line";

export interface BitsState {
  format: string;
  bits: string;
}

const hexOf = (value: bigint, bits: number): string => `0x${value.toString(16).padStart(Math.ceil(bits / 4), "0")}`;

export class BitsLab {
  readonly element = h("section", { class: "lab-card", "aria-labelledby": "bits-title" });
  private readonly format: HTMLSelectElement;
  private readonly value = h("input", { spellcheck: "false", autocomplete: "off", class: "value-input" });
  private readonly message = h("p", { class: "problem", role: "alert" });
  private readonly bits = h("div", { class: "bits" });
  private readonly facts = h("dl", { class: "facts" });
  private readonly about = h("p", { class: "quiet" });
  private readonly landmarks = h("div", { class: "landmarks" });
  private readonly line = new LinePicture((bits) => this.set({ ...this.state, bits }));
  private now: Decoded | null = null;

  constructor(private readonly formats: NumberFormat[], public state: BitsState, private readonly changed: () => void) {
    this.format = select(formats.map((one) => [one.name, `${one.name}, ${one.bits} bits`] as const), state.format, (name) => void this.convert(name));
    this.value.addEventListener("change", () => void this.read(this.value.value.trim()));
    this.element.append(
      h("h2", { id: "bits-title" }, "A number and its bits"),
      h("div", { class: "controls" }, field("Format", this.format), field("Value, or bits with 0x", this.value),
        h("div", { class: "buttons" },
          h("button", { type: "button", onclick: () => this.neighbour("down") }, "Next below"),
          h("button", { type: "button", onclick: () => this.neighbour("up") }, "Next above"))),
      this.message, this.bits, this.facts, this.line.element, this.landmarks, this.about);
  }

  private description(): NumberFormat | undefined {
    return this.formats.find((one) => one.name === this.state.format);
  }

  /** Takes another format: the number stays as near as it can. */
  private async convert(name: string): Promise<void> {
    const text = this.now?.text ?? "1";
    try {
      const { bits } = await engine.call("number.decode", { format: name, text });
      this.set({ format: name, bits });
    } catch {
      const bits = this.formats.find((one) => one.name === name)?.largest.bits ?? "0x0";
      this.set({ format: name, bits });
    }
  }

  private async read(text: string): Promise<void> {
    try {
      const found = await engine.call("number.decode", { format: this.state.format, text });
      this.set({ ...this.state, bits: found.bits });
    } catch (error) {
      this.message.textContent = error instanceof CallError ? error.message : "The engine gave no answer.";
      this.value.setAttribute("aria-invalid", "true");
    }
  }

  private neighbour(way: "up" | "down"): void {
    const next = this.now?.[way];
    if (next) this.set({ ...this.state, bits: next.bits });
  }

  set(state: BitsState): void {
    const focus = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.bit : undefined;
    this.state = state;
    this.changed();
    void this.draw().then(() => { if (focus) this.bits.querySelector<HTMLElement>(`[data-bit="${focus}"]`)?.focus(); });
  }

  async draw(): Promise<void> {
    const format = this.description();
    if (!format) return;
    this.format.value = format.name;
    const decoded = await engine.call("number.decode", { format: format.name, bits: this.state.bits });
    this.now = decoded;
    this.message.textContent = "";
    this.value.removeAttribute("aria-invalid");
    this.value.value = decoded.text;
    this.drawBits(format, decoded);
    const fact = (name: string, value: Num | null | undefined): HTMLElement[] =>
      value === null || value === undefined ? [] : [h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))];
    fill(this.facts, ...fact("value", decoded.text), ...fact("bits", decoded.bits), ...fact("class", decoded.class),
      ...fact("next below", decoded.down?.value), ...fact("next above", decoded.up?.value), ...fact("step", decoded.ulp));
    fill(this.about, `${format.name}: ${format.about}. ${format.formula}`);
    const alike = (name: string): boolean => format.landmarks.filter((one) => one.name === name).length > 1;
    fill(this.landmarks, ...format.landmarks.map((one) => h("button", {
      type: "button", class: "small", title: `${one.name}: ${one.value} (${one.bits})`, onclick: () => this.set({ ...this.state, bits: one.bits }),
    }, alike(one.name) ? `${one.name} ${one.bits}` : one.name)));
    await this.line.draw(format, decoded);
  }

  private drawBits(format: NumberFormat, decoded: Decoded): void {
    const value = BigInt(decoded.bits);
    let place = format.bits;
    const groups = decoded.fields.map((part, index) => {
      const buttons = Array.from({ length: part.bits }, () => {
        place -= 1;
        const at = BigInt(place);
        const on = ((value >> at) & 1n) === 1n;
        return h("button", {
          type: "button", class: "bit", "data-bit": String(place), "aria-pressed": String(on), "aria-label": `bit ${place}, ${part.name}: ${on ? 1 : 0}`,
          onclick: () => this.set({ ...this.state, bits: hexOf(value ^ (1n << at), format.bits) }),
        }, on ? "1" : "0");
      });
      return h("div", { class: `bit-group tone-${index % 4}-soft`, role: "group", "aria-label": part.name },
        h("div", { class: "bit-row" }, ...buttons), h("div", { class: "bit-label" }, `${part.name} ${part.value}`));
    });
    fill(this.bits, ...groups);
  }
}
