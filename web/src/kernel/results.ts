// What the buffers of a launch hold after a run: those that changed, as tables.
import { fill, h } from "../base/dom";
import { numberTable } from "../base/table";
import type { BufferState } from "../engine-types";
import { hexOf } from "./buffer";

function changedBuffer(result: BufferState): HTMLElement {
  const table = h("div");
  const draw = (hex: boolean): void => numberTable(table, {
    values: hex ? hexOf(result) : result.values, label: `${result.name} after the run`, changed: new Set(result.changed),
  }, Number(table.dataset.page ?? 0));
  const box = h("input", { type: "checkbox", onchange: () => draw(box.checked) });
  draw(false);
  return h("section", { class: "result-buffer", "aria-label": `result ${result.name}` },
    h("div", { class: "result-head" }, h("h4", {}, result.name), h("code", { class: "quiet" }, result.format),
      h("span", { class: "quiet" }, `${result.changed.length} of ${result.count} changed`), h("label", { class: "inline" }, box, "hex")),
    table);
}

/** The buffers that a run changed; a line for the others. */
export function results(target: HTMLElement, buffers: BufferState[]): void {
  const changed = buffers.filter((buffer) => buffer.changed.length > 0);
  const same = buffers.filter((buffer) => buffer.changed.length === 0).map((buffer) => buffer.name);
  if (buffers.length === 0) return;
  const list = h("section", { class: "results", "aria-label": "results" });
  target.append(list);
  fill(list, h("h3", {}, "Results"), ...changed.map(changedBuffer),
    same.length > 0 && h("p", { class: "quiet" }, `${same.join(", ")} ${same.length === 1 ? "is" : "are"} as before.`));
}
