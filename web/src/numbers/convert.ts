// Conversions: one value by every form between two formats, and any form on any operands.
import { CallError, engine } from "../base/engine";
import { debounce, field, fill, h, head, newId, select } from "../base/dom";
import type { Converted, ConvertedElement, NumberFormat } from "../engine-types";

export interface ConvertState {
  from: string;
  to: string;
  value: string;
  form: string;
  operands: string;
}

/** A form without `cvt.`, which all have. */
const bare = (form: string): string => form.replace(/^cvt\./, "");

function outcomeTag(element: ConvertedElement): HTMLElement {
  const kind = element.outcome === "exact" ? "good" : /satur|overflow|nan|under/i.test(element.outcome) ? "bad" : "";
  return h("span", { class: `tag ${kind}` }, element.words || element.outcome);
}

export class ConvertLab {
  readonly element = h("section", { class: "lab-card", "aria-labelledby": "convert-title" });
  private readonly table = h("div", { class: "compare" });
  private all = false;
  private readonly from: HTMLSelectElement;
  private readonly to: HTMLSelectElement;
  private readonly value = h("input", { spellcheck: "false", autocomplete: "off", class: "value-input" });
  private readonly form = h("input", { spellcheck: "false", autocomplete: "off", class: "form-input" });
  private readonly operands = h("input", { spellcheck: "false", autocomplete: "off", class: "form-input" });
  private readonly result = h("div", { class: "compare" });
  private readonly compareSoon = debounce(150, () => void this.compare());
  private readonly convertSoon = debounce(150, () => void this.convert());

  constructor(formats: NumberFormat[], public state: ConvertState, private readonly changed: () => void) {
    const names = formats.map((one) => [one.name, one.name] as const);
    this.from = select(names, state.from, (from) => this.set({ from }));
    this.to = select(names, state.to, (to) => this.set({ to }));
    this.value.addEventListener("input", () => { this.state.value = this.value.value.trim(); this.changed(); this.compareSoon(); });
    const list = h("datalist", { id: newId("forms") });
    this.form.setAttribute("list", list.id);
    for (const [input, key] of [[this.form, "form"], [this.operands, "operands"]] as const) {
      input.addEventListener("input", () => { this.state[key] = input.value.trim(); this.changed(); this.convertSoon(); });
    }
    this.element.append(
      h("h2", { id: "convert-title" }, "Conversions"),
      h("div", { class: "controls" }, field("Value", this.value), field("From", this.from), field("To", this.to)),
      this.table,
      h("h3", {}, "A form of cvt"),
      h("div", { class: "controls" }, field("Form", this.form), field("Operands, with spaces between them", this.operands)),
      list, this.result);
    void engine.call("number.forms", {}).then((forms) => fill(list, ...forms.map((one) => h("option", { value: bare(one.form) }, one.about))));
  }

  set(part: Partial<ConvertState>): void {
    this.state = { ...this.state, ...part };
    this.changed();
    this.draw();
  }

  draw(): void {
    this.from.value = this.state.from;
    this.to.value = this.state.to;
    this.value.value = this.state.value;
    this.form.value = this.state.form;
    this.operands.value = this.state.operands;
    void this.compare();
    void this.convert();
  }

  private async compare(): Promise<void> {
    const { from, to, value } = this.state;
    try {
      const rows = await engine.call("number.compare", { from, to, value });
      if (rows.length === 0) {
        fill(this.table, h("p", { class: "quiet" }, `There is no cvt from ${from} to ${to}. PTX goes by way of f32 or f16 where there is none.`));
        return;
      }
      const usual = rows.filter((row) => !/relu|scaled|pzo/.test(row.form));
      const shown = this.all || usual.length === 0 ? rows : usual;
      const box = h("input", { type: "checkbox", checked: this.all, onchange: () => { this.all = box.checked; void this.compare(); } });
      fill(this.table, h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "results by form" }, h("table", { class: "plain" },
        head("form", "#result", "#bits", "what happened"),
        h("tbody", {}, ...shown.map((row) => h("tr", {},
          h("th", { scope: "row" }, h("button", { type: "button", class: "link mono", title: `${row.about}. Take it below`, onclick: () => this.take(row.form) }, bare(row.form))),
          h("td", { class: "number" }, String(row.element.value)), h("td", { class: "number" }, row.element.bits),
          h("td", {}, outcomeTag(row.element))))))),
        rows.length > usual.length && usual.length > 0 && h("label", { class: "inline" }, box, `with .relu, scales and other modifiers (${rows.length} forms)`));
    } catch (error) {
      fill(this.table, h("p", { class: "problem", role: "alert" }, error instanceof CallError ? error.message : "The engine gave no answer."));
    }
  }

  private take(whole: string): void {
    const form = bare(whole);
    const value = this.state.value === "" ? "1" : this.state.value;
    const operands = /x4\./.test(form) ? 4 : /x2\./.test(form) ? 2 : 1;
    this.set({ form, operands: Array.from({ length: operands }, () => value).join(" ") });
  }

  private async convert(): Promise<void> {
    const { form, operands } = this.state;
    if (form === "") {
      fill(this.result);
      return;
    }
    try {
      this.show(await engine.call("number.cvt", { form, values: operands.split(/\s+/).filter((one) => one !== "") }));
    } catch (error) {
      fill(this.result, h("p", { class: "problem", role: "alert" }, error instanceof CallError ? error.message : "The engine gave no answer."));
    }
  }

  private show(converted: Converted): void {
    fill(this.result,
      h("p", {}, h("code", {}, converted.syntax), ` ${converted.about}`),
      h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "result of the form" }, h("table", { class: "plain" },
        head("source", "#result", "#bits", "what happened"),
        h("tbody", {}, ...converted.result.elements.map((element) => h("tr", {},
          h("th", { scope: "row" }, `d[${element.lane}] of ${element.source} (${element.source_bits})`), h("td", { class: "number" }, String(element.value)),
          h("td", { class: "number" }, element.bits), h("td", {}, outcomeTag(element))))))),
      h("p", { class: "quiet" }, `The whole result is ${converted.result.bits}. ${converted.availability.words}`));
  }
}
