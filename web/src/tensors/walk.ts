// The walk of a copy: elements of the tensor on one side, where they land in shared memory on the other, one after the other.
import { fill, h } from "../base/dom";
import type { TensorElement, TensorWalk } from "../engine-types";
import { Grid, type Cell } from "./grid";

const line = 128;
/** How long the whole walk takes, in milliseconds. */
const walkTime = 6000;

export class WalkPicture {
  readonly element: HTMLElement;
  private readonly tensor = new Grid();
  private readonly shared = new Grid();
  private readonly slider = h("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "element of the walk" });
  private readonly play = h("button", { type: "button", id: "walk-play", onclick: () => this.toggle() }, "Play");
  private readonly about = h("p", { class: "walk-about", role: "status" });
  private walk: TensorWalk | null = null;
  private places: Places | null = null;
  private frame: number | undefined;

  constructor() {
    this.slider.addEventListener("input", () => this.draw());
    this.element = h("section", { class: "walk", "aria-label": "walk of the copy" },
      h("div", { class: "row" }, h("h3", {}, "The walk"), this.play, this.slider), this.about,
      h("div", { class: "walk-sides" },
        h("div", {}, h("h4", {}, "In the tensor"), this.tensor.element),
        h("div", {}, h("h4", {}, "In shared memory, 128 bytes a row"), this.shared.element)));
  }

  show(walk: TensorWalk | null): void {
    this.element.hidden = walk === null;
    this.walk = walk;
    this.places = walk && placesOf(walk);
    if (!walk) {
      this.stop();
      return;
    }
    const last = Math.max(0, walk.elements.length - 1);
    const whole = Number(this.slider.value) >= Number(this.slider.max);
    this.slider.max = String(last);
    if (whole || Number(this.slider.value) > last) this.slider.value = String(last);
    this.draw();
  }

  private toggle(): void {
    if (this.frame !== undefined) {
      this.stop();
      return;
    }
    const last = Number(this.slider.max);
    const from = Number(this.slider.value) >= last ? 0 : Number(this.slider.value);
    const start = performance.now();
    this.play.textContent = "Pause";
    const next = (now: number): void => {
      const place = Math.min(last, from + Math.floor(((now - start) / walkTime) * (last + 1)));
      if (place !== Number(this.slider.value)) {
        this.slider.value = String(place);
        this.draw();
      }
      if (place >= last) this.stop();
      else this.frame = requestAnimationFrame(next);
    };
    this.frame = requestAnimationFrame(next);
  }

  private stop(): void {
    if (this.frame !== undefined) cancelAnimationFrame(this.frame);
    this.frame = undefined;
    this.play.textContent = "Play";
  }

  private draw(): void {
    const walk = this.walk;
    const places = this.places;
    if (!walk || !places) return;
    const now = Number(this.slider.value);
    const cell = (one: TensorElement, x: number, y: number, width: number): Cell => ({
      x, y, width, tone: one.order <= now ? (Math.floor(one.plain / 16) % 8) / 7 : null, hatched: one.global === null, now: one.order === now,
      about: () => words(one),
    });
    const { columns, rows, firstLine, lines } = places;
    this.tensor.draw({
      label: "elements of the tensor that are copied", columns: columns.length, rows: rows.length, cellHeight: 20,
      rowNames: (row) => rows[row] ?? "", columnNames: (column) => String(columns[column] ?? ""),
      cells: walk.elements.map((one, index) => cell(one, places.x[index] ?? 0, places.y[index] ?? 0, 1)),
    });
    this.shared.draw({
      label: "where the elements are in shared memory", columns: line, rows: lines, cellHeight: 18,
      labels: chunkLabels(walk, now, firstLine), rowNames: (row) => String((row + firstLine) * line), columnNames: (column) => (column % 16 === 0 ? String(column) : ""),
      cells: walk.elements.map((one) => cell(one, one.shared % line, Math.floor(one.shared / line) - firstLine, Math.max(one.bytes, walk.elementBits / 8))),
    });
    const current = walk.elements[now];
    const cut = walk.total > walk.elements.length ? ` The first ${walk.elements.length} of ${walk.total} elements are drawn.` : "";
    fill(this.about, current ? `${now + 1} of ${walk.elements.length}: ${words(current)}.${cut}` : "The copy has no elements.");
  }
}

const words = (one: TensorElement): string =>
  `element (${one.coordinates.join(", ")}) ${one.global === null ? "is outside and filled" : `at byte ${one.global} of the tensor`}, at ${one.shared} of shared memory (${one.plain} without the swizzle), bank ${one.bank}`;

/** Where elements are drawn: the first coordinate as the column, the others together as the row. */
interface Places {
  columns: number[];
  rows: string[];
  x: number[];
  y: number[];
  firstLine: number;
  lines: number;
}

function placesOf(walk: TensorWalk): Places {
  const columns = [...new Set(walk.elements.map((one) => one.coordinates[0] ?? 0))].sort((a, b) => a - b);
  const column = new Map(columns.map((coordinate, index) => [coordinate, index]));
  const row = new Map<string, number>();
  const y = walk.elements.map((one) => {
    const key = one.coordinates.slice(1).join(",");
    const there = row.get(key) ?? row.size;
    row.set(key, there);
    return there;
  });
  const used = walk.elements.map((one) => Math.floor(one.shared / line));
  const firstLine = used.reduce((least, one) => Math.min(least, one), used[0] ?? 0);
  const lastLine = used.reduce((most, one) => Math.max(most, one), firstLine);
  return { columns, rows: [...row.keys()], x: walk.elements.map((one) => column.get(one.coordinates[0] ?? 0) ?? 0), y, firstLine, lines: lastLine - firstLine + 1 };
}

/** The first element of each 16 bytes that are there, by its coordinates. */
function chunkLabels(walk: TensorWalk, now: number, start: number): { x: number; y: number; width: number; text: string }[] {
  const firsts = new Map<number, TensorElement>();
  for (const one of walk.elements) {
    const chunk = Math.floor(one.shared / 16);
    if (one.order <= now && one.global !== null && !firsts.has(chunk)) firsts.set(chunk, one);
  }
  return [...firsts].map(([chunk, one]) => ({
    x: (chunk % 8) * 16, y: Math.floor(chunk / 8) - start, width: 16, text: `(${one.coordinates.join(",")})`,
  }));
}
