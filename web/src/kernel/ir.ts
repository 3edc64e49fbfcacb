// The IR pane: the operations that a kernel is executed as, beside the lines they are made from.
import { CallError, engine } from "../base/engine";
import { field, fill, h, select } from "../base/dom";
import type { LoweredFunction, LoweredKernel, Range } from "../engine-types";

export interface IrEvents {
  /** Marks lines in the editor. */
  link(lines: number[]): void;
  goTo(range: Range): void;
}

export class IrPane {
  readonly element = h("div", { class: "pane-body ir-pane" });
  private kernels: LoweredKernel[] = [];
  private chosen = "";
  private rows: { line: number; element: HTMLElement }[] = [];

  constructor(private readonly events: IrEvents) {}

  async update(text: string): Promise<void> {
    try {
      this.kernels = (await engine.call("lower", { text })).kernels;
      this.draw();
    } catch (error) {
      if (error instanceof CallError) fill(this.element, h("p", { class: "quiet" }, `There are no operations while the text has errors: ${error.message}`));
    }
  }

  private draw(): void {
    const kernel = this.kernels.find((one) => one.name === this.chosen) ?? this.kernels[0];
    this.rows = [];
    if (!kernel) {
      fill(this.element, h("p", { class: "quiet" }, "The module has no kernel."));
      return;
    }
    fill(this.element,
      this.kernels.length > 1 && field("Kernel", select(this.kernels.map((one) => [one.name, one.name] as const), kernel.name, (name) => { this.chosen = name; this.draw(); })),
      !kernel.supported && h("section", { class: "card warn" }, h("p", {}, "The machine cannot execute this kernel:"),
        h("ul", {}, ...kernel.unsupported.map((one) => h("li", {}, `line ${one.range.start.line + 1}: ${one.message}`)))),
      ...kernel.functions.map((one) => this.function(one)));
  }

  private function(lowered: LoweredFunction): HTMLElement {
    const { narrow, wide, predicates } = lowered.rows;
    const given = lowered.head.filter((line) => !line.startsWith("rows:"));
    const list = h("ol", { class: "operations" }, ...lowered.operations.map((operation) => {
      const line = operation.line;
      const row = h("li", { class: operation.unread ? "unread" : undefined },
        line === null ? h("span", { class: "ir-line" })
          : h("button", { type: "button", class: "ir-line link", "aria-label": `to line ${line + 1} of the PTX`,
            onclick: () => this.events.goTo({ start: { line, character: 0 }, end: { line, character: 0 } }) }, String(line + 1)),
        h("code", {}, operation.text));
      if (line !== null) {
        this.rows.push({ line, element: row });
        row.addEventListener("pointerenter", () => this.events.link([line]));
        row.addEventListener("pointerleave", () => this.events.link([]));
      }
      return row;
    }));
    return h("section", { "aria-label": `operations of ${lowered.name}` },
      h("h3", {}, lowered.name, h("span", { class: "quiet" }, ` ${lowered.operations.length} operations, ${narrow} rows of 32 bits, ${wide} of 64, ${predicates} ${predicates === 1 ? "predicate" : "predicates"}`)),
      given.length > 0 && h("pre", { class: "ir-head", tabindex: "0", "aria-label": "constants and what the launch gives" }, given.join("\n")),
      h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "operations" }, list));
  }

  /** Marks the operations of a line, as the cursor moves. */
  mark(line: number): void {
    let first: HTMLElement | null = null;
    for (const row of this.rows) {
      const linked = row.line === line;
      row.element.classList.toggle("linked", linked);
      if (linked) first ??= row.element;
    }
    if (first && this.element.offsetParent) first.scrollIntoView({ block: "nearest" });
  }
}
