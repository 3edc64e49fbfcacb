// A grid of cells on a canvas, with a line of text about the cell under the pointer.
import { h } from "../base/dom";

export interface Cell {
  x: number;
  y: number;
  /** In columns of the grid (default 1). */
  width?: number;
  /** 0 to 1 for a colour, or null for an empty cell. */
  tone: number | null;
  label?: string;
  /** Outlined as the one of the moment. */
  now?: boolean;
  hatched?: boolean;
  /** Words for the pointer, made when they are wanted. */
  about: () => string;
}

export interface GridPicture {
  label: string;
  columns: number;
  rows: number;
  cells: Cell[];
  /** Words over several cells. */
  labels?: { x: number; y: number; width: number; text: string }[];
  rowNames?: (row: number) => string;
  columnNames?: (column: number) => string;
  /** How many pixels a cell is high, if there is room. */
  cellHeight?: number;
}

const left = 62;
const top = 18;
const mostHeight = 520;

export class Grid {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { role: "img" });
  private readonly about = h("p", { class: "grid-about quiet", "aria-hidden": "true" });
  private picture: GridPicture | null = null;

  constructor() {
    this.element = h("div", { class: "grid-picture" }, this.canvas, this.about);
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX, event.offsetY));
    this.canvas.addEventListener("pointerleave", () => { this.about.textContent = "\u00a0"; });
    this.about.textContent = "\u00a0";
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  draw(picture: GridPicture): void {
    this.picture = picture;
    this.canvas.setAttribute("aria-label", picture.label);
    this.paint();
  }

  private size(picture: GridPicture): { width: number; cell: number; height: number } {
    const width = Math.max(120, this.element.clientWidth);
    const cell = (width - left) / picture.columns;
    const height = Math.max(5, Math.min(picture.cellHeight ?? 20, mostHeight / picture.rows));
    return { width, cell, height };
  }

  private point(x: number, y: number): void {
    const picture = this.picture;
    if (!picture) return;
    const { cell, height } = this.size(picture);
    const column = (x - left) / cell;
    const row = Math.floor((y - top) / height);
    const found = picture.cells.find((one) => one.y === row && column >= one.x && column < one.x + (one.width ?? 1));
    this.about.textContent = found?.about() ?? "\u00a0";
  }

  paint(): void {
    const picture = this.picture;
    if (!picture || this.element.clientWidth === 0) return;
    const { width, cell, height } = this.size(picture);
    const total = top + picture.rows * height + 2;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(total * ratio);
    this.canvas.style.height = `${total}px`;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const style = getComputedStyle(this.element);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    context.scale(ratio, ratio);
    context.font = `11px ${colour("--mono")}`;
    context.textBaseline = "middle";
    this.axes(context, picture, cell, height, colour("--quiet"));
    const gap = cell < 8 ? 0 : 1;
    const lightness = colour("--lane-lightness") || "0.7";
    const [panel, line, quiet] = [colour("--panel"), colour("--line-strong"), colour("--quiet")];
    for (const one of picture.cells) {
      const x = left + one.x * cell;
      const y = top + one.y * height;
      const wide = cell * (one.width ?? 1);
      context.fillStyle = one.tone === null || one.hatched ? panel : `oklch(${lightness} 0.12 ${(265 - 235 * one.tone).toFixed(0)})`;
      context.fillRect(x + gap / 2, y + 0.5, Math.max(0.5, wide - gap), height - 1);
      if (one.hatched) {
        context.strokeStyle = line;
        context.beginPath();
        for (let at = 4; at < wide + height; at += 7) {
          context.moveTo(x + Math.min(at, wide - 1), y + 1 + Math.max(0, at - wide));
          context.lineTo(x + Math.max(1, at - height), y + Math.min(at, height - 1));
        }
        context.stroke();
      }
      if (one.label && !one.hatched && wide > context.measureText(one.label).width + 4 && height >= 12) {
        context.fillStyle = one.tone === null ? quiet : "#0b0f14";
        context.textAlign = "center";
        context.fillText(one.label, x + wide / 2, y + height / 2 + 0.5);
      }
    }
    context.textAlign = "center";
    context.fillStyle = "#0b0f14";
    for (const one of picture.labels ?? []) {
      const wide = one.width * cell;
      if (height >= 12 && wide > context.measureText(one.text).width + 2) context.fillText(one.text, left + one.x * cell + wide / 2, top + (one.y + 0.5) * height + 0.5);
    }
    for (const one of picture.cells) {
      if (!one.now) continue;
      context.strokeStyle = colour("--text");
      context.lineWidth = 2;
      context.strokeRect(left + one.x * cell, top + one.y * height, cell * (one.width ?? 1), height);
    }
  }

  private axes(context: CanvasRenderingContext2D, picture: GridPicture, cell: number, height: number, quiet: string): void {
    context.fillStyle = quiet;
    context.textAlign = "right";
    const everyRow = Math.ceil(12 / height);
    for (let row = 0; row < picture.rows; row += everyRow) {
      const name = picture.rowNames?.(row);
      if (name) context.fillText(name, left - 6, top + (row + 0.5) * height);
    }
    context.textAlign = "center";
    const everyColumn = 2 ** Math.max(0, Math.ceil(Math.log2(30 / cell)));
    for (let column = 0; column < picture.columns; column += everyColumn) {
      const name = picture.columnNames?.(column);
      if (name) context.fillText(name, left + (column + 0.5) * cell, top / 2);
    }
  }
}
