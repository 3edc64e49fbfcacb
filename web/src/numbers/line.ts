// A format's number line: its numbers as ticks, with the chosen one marked. It can be drawn near the chosen number.
import { engine } from "../base/engine";
import { field, fill, h, s, select } from "../base/dom";
import type { Decoded, NumberFormat, NumberLine } from "../engine-types";

const height = 76;
const middle = 44;
const most = 4096;

type Scale = "linear" | "log";

export class LinePicture {
  readonly element: HTMLElement;
  private readonly picture = h("div", { class: "number-line" });
  private readonly words = h("p", { class: "quiet" });
  private readonly zoom = h("input", { type: "range", min: "0", max: "16", step: "0.5", value: "0" });
  /** As chosen; without a choice, logarithmic for formats of more than 8 bits. */
  private scale: Scale | "" = "";
  private lines = new Map<string, NumberLine>();
  private shown: { format: NumberFormat; decoded: Decoded } | null = null;

  constructor(private readonly choose: (bits: string) => void) {
    const scale = select([["", "by the format"], ["linear", "linear"], ["log", "logarithmic"]], this.scale, (value) => { this.scale = value as Scale | ""; void this.redraw(); });
    this.zoom.addEventListener("input", () => void this.redraw());
    let drawn = 0;
    new ResizeObserver(() => {
      if (this.picture.clientWidth === drawn) return;
      drawn = this.picture.clientWidth;
      void this.redraw();
    }).observe(this.picture);
    this.element = h("div", { class: "line-lab" },
      h("div", { class: "row" }, h("h3", {}, "Number line"), field("Scale", scale), field("Zoom", this.zoom)), this.picture, this.words);
  }

  private redraw(): Promise<void> {
    return this.shown ? this.draw(this.shown.format, this.shown.decoded) : Promise.resolve();
  }

  async draw(format: NumberFormat, decoded: Decoded): Promise<void> {
    this.shown = { format, decoded };
    let line = this.lines.get(format.name);
    if (!line) {
      line = await engine.call("number.line", { format: format.name, most });
      this.lines.set(format.name, line);
    }
    const values = line.values.map((one) => ({ ...one, number: Number(one.value) })).filter((one) => Number.isFinite(one.number));
    const here = Number(decoded.value);
    const largest = Math.max(...values.map((one) => Math.abs(one.number)), Number.MIN_VALUE);
    const smallest = Math.min(...values.map((one) => Math.abs(one.number)).filter((one) => one > 0), largest);
    const scale = this.scale === "" ? (format.bits > 8 ? "log" : "linear") : this.scale;
    const place = scale === "linear" ? (value: number) => value / largest : logPlace(smallest, largest);
    const negative = values.some((one) => one.number < 0);
    const factor = 2 ** Number(this.zoom.value);
    const centre = Number(this.zoom.value) === 0 || !Number.isFinite(here) ? (negative ? 0 : 0.5) : place(here);
    const span = (negative ? 2 : 1) / factor;
    const width = Math.max(280, this.picture.clientWidth);
    const x = (value: number): number => ((place(value) - (centre - span / 2)) / span) * (width - 40) + 20;
    const near = values.filter((one) => x(one.number) >= 0 && x(one.number) <= width);
    this.paint(near, here, x, decoded, width);
    this.words.textContent = line.complete
      ? `${near.length} of ${values.length} numbers are in view.`
      : `${format.name} has too many numbers to draw: ${values.length} of them, spread over all exponents, are ticks.`;
  }

  private paint(near: { bits: string; number: number; class: string }[], here: number, x: (value: number) => number, decoded: Decoded, width: number): void {
    const picture = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `number line with ${decoded.text} marked` },
      s("line", { x1: 0, x2: width, y1: middle, y2: middle, class: "axis-line" }));
    let free = -100;
    for (const one of near) {
      const at = x(one.number);
      picture.append(s("line", { x1: at, x2: at, y1: middle - 12, y2: middle, class: `tick ${one.class}` }));
      if (at - free > 62 && at > 16 && at < width - 16) {
        picture.append(s("text", { x: at, y: middle + 17, class: "tick-label" }, short(one.number)));
        free = at;
      }
    }
    if (Number.isFinite(here)) {
      const at = x(here);
      picture.append(s("path", { d: `M${at} ${middle - 3} l-6 -18 h12 z`, class: "pointer" }),
        s("text", { x: Math.max(40, Math.min(width - 40, at)), y: 18, class: "pointer-label" }, short(here)));
    } else {
      picture.append(s("text", { x: width / 2, y: 18, class: "pointer-label" }, `${decoded.text} has no place on the line`));
    }
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * width;
      const nearest = near.reduce<{ bits: string; away: number } | null>((best, one) => {
        const away = Math.abs(x(one.number) - at);
        return best && best.away <= away ? best : { bits: one.bits, away };
      }, null);
      if (nearest) this.choose(nearest.bits);
    });
    fill(this.picture, picture);
  }
}

/** -1 to 1 by the logarithm of the magnitude: zero is in the middle. */
function logPlace(smallest: number, largest: number): (value: number) => number {
  const low = Math.log2(smallest) - 1;
  const range = Math.log2(largest) - low || 1;
  return (value) => (value === 0 ? 0 : (Math.sign(value) * Math.max(0, Math.log2(Math.abs(value)) - low)) / range);
}

export function short(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace("e+", "e").replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(5)));
}
