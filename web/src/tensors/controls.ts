// The controls of a tensor map: lists to choose from, and sliders with numbers beside them.
import { field, fill, h, newId, select } from "../base/dom";
import { interleaves, presets, swizzles, types, withRank, type MapState } from "./map";

const targets = ["sm_90", "sm_100", "sm_100a", "sm_103a", "sm_120"];

/** A slider with a number field for the same value; the number may go beyond the slider. */
function slider(label: string, value: number, min: number, max: number, set: (value: number) => void): HTMLElement {
  const id = newId("slider");
  const range = h("input", { type: "range", id, min: String(min), max: String(Math.max(max, value)), value: String(value) });
  const number = h("input", { type: "number", value: String(value), class: "short", "aria-label": `${label}, as a number` });
  range.addEventListener("input", () => { number.value = range.value; set(Number(range.value)); });
  number.addEventListener("change", () => {
    const next = Math.floor(Number(number.value)) || 0;
    range.max = String(Math.max(Number(range.max), next));
    range.value = String(next);
    set(next);
  });
  return h("div", { class: "slider" }, h("label", { for: id }, label), range, number);
}

const replaced = (list: number[], index: number, value: number): number[] => list.map((old, place) => (place === index ? value : old));

export class MapControls {
  readonly element = h("div", { class: "map-controls" });

  /** `changed` gets each new map; `redraw` says that the controls themselves are others. */
  constructor(private map: MapState, private readonly changed: (map: MapState) => void) {
    this.draw();
  }

  set(map: MapState): void {
    this.map = map;
    this.draw();
  }

  private put(part: Partial<MapState>, redraw = false): void {
    this.map = { ...this.map, ...part };
    if (redraw) this.draw();
    this.changed(this.map);
  }

  private draw(): void {
    const map = this.map;
    const choice = (label: string, options: readonly string[], value: string, set: (value: string) => void): HTMLElement =>
      field(label, select(options.map((one) => [one, one] as const), value, set));
    const im2col = map.kind === "im2col";
    const spatial = ["W", "H", "D"].slice(0, Math.max(0, map.dims.length - 2));
    fill(this.element,
      h("div", { class: "controls" },
        field("Begin with", select([["", "choose …"], ...presets.map(([name, title]) => [name, title] as const)], "", (name) => {
          const found = presets.find(([one]) => one === name);
          if (found) this.put(structuredClone(found[2]), true);
        })),
        choice("Kind", ["tiled", "im2col"], map.kind, (kind) => this.put({ ...withRank({ ...map, kind: kind as MapState["kind"] }, kind === "im2col" ? Math.max(3, map.dims.length) : map.dims.length) }, true)),
        choice("Type", types, map.type, (type) => this.put({ type })),
        choice("Dimensions", im2col ? ["3", "4", "5"] : ["1", "2", "3", "4", "5"], String(map.dims.length), (rank) => this.put(withRank(map, Number(rank)), true)),
        choice("Swizzle", swizzles, map.swizzle, (swizzle) => this.put({ swizzle })),
        choice("Interleave", interleaves, map.interleave, (interleave) => this.put({ interleave })),
        choice("Outside", ["zero", "nan"], map.fill, (value) => this.put({ fill: value })),
        choice("Target", targets, map.target, (target) => this.put({ target }))),
      group("Tensor, in elements", map.dims.map((size, index) => slider(`dim ${index}`, size, 1, 256, (value) => this.put({ dims: replaced(this.map.dims, index, value) })))),
      this.strides(),
      im2col
        ? group("Column", [
          slider("channels", map.channels, 1, 64, (channels) => this.put({ channels })),
          slider("pixels", map.pixels, 1, 128, (pixels) => this.put({ pixels })),
          ...spatial.map((axis, index) => slider(`lower ${axis}`, map.lower[index] ?? 0, -8, 8, (value) => this.put({ lower: replaced(this.map.lower, index, value) }))),
          ...spatial.map((axis, index) => slider(`upper ${axis}`, map.upper[index] ?? 0, -8, 8, (value) => this.put({ upper: replaced(this.map.upper, index, value) }))),
          ...spatial.map((axis, index) => slider(`offset ${axis}`, map.offsets[index] ?? 0, 0, 8, (value) => this.put({ offsets: replaced(this.map.offsets, index, value) }))),
        ])
        : group("Box, in elements", map.box.map((size, index) => slider(`box ${index}`, size, 1, 256, (value) => this.put({ box: replaced(this.map.box, index, value) })))),
      group("Steps through the tensor", map.elementStrides.map((step, index) => slider(`step ${index}`, step, 1, 8, (value) => this.put({ elementStrides: replaced(this.map.elementStrides, index, value) })))),
      group("The copy begins at", map.at.map((place, index) => slider(`at ${index}`, place, -16, 128, (value) => this.put({ at: replaced(this.map.at, index, value) })))));
  }

  private strides(): HTMLElement | false {
    const map = this.map;
    if (map.dims.length < 2) return false;
    const box = h("input", {
      type: "checkbox", checked: map.strides.length === 0,
      onchange: () => this.put({ strides: box.checked ? [] : Array.from({ length: map.dims.length - 1 }, (_, index) => 256 * (index + 1)) }, true),
    });
    return group("Strides, in bytes", [h("label", { class: "inline" }, box, "dense"),
      ...map.strides.map((stride, index) => slider(`stride ${index + 1}`, stride, 16, 2048, (value) => this.put({ strides: replaced(this.map.strides, index, value) })))]);
  }
}

function group(title: string, children: (HTMLElement | false)[]): HTMLElement {
  return h("fieldset", { class: "slider-group" }, h("legend", {}, title), ...children);
}
