// Tensor memory: which register of which thread holds which cell.
import { CallError, engine } from "../base/engine";
import { field, fill, h, select } from "../base/dom";
import { Grid } from "./grid";

const shapes = ["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"];
const counts = ["1", "2", "4", "8", "16", "32", "64", "128"];

export class TmemLab {
  readonly element = h("section", { class: "lab-card", "aria-labelledby": "tmem-title" });
  private readonly grid = new Grid();
  private readonly about = h("p", { class: "quiet" });
  private readonly message = h("p", { class: "problem", role: "alert" });
  private readonly shapeSelect: HTMLSelectElement;
  private readonly countSelect: HTMLSelectElement;

  constructor(public shape: string, private readonly changed: () => void) {
    this.shapeSelect = select(shapes.map((one) => [one, one] as const), shape.split(".")[0] ?? "", () => this.choose());
    this.countSelect = select(counts.map((one) => [one, `x${one}`] as const), shape.split(".x")[1] ?? "1", () => this.choose());
    this.element.append(h("h2", { id: "tmem-title" }, "Tensor memory"),
      h("p", { class: "quiet" }, "What tcgen05.ld and tcgen05.st with a shape move: rows are lanes of tensor memory, columns its columns, colours threads."),
      h("div", { class: "controls" }, field("Shape", this.shapeSelect), field("Repeated", this.countSelect)),
      this.message, this.about, this.grid.element);
  }

  private choose(): void {
    this.shape = `${this.shapeSelect.value}.x${this.countSelect.value}`;
    this.changed();
    void this.draw();
  }

  async draw(): Promise<void> {
    try {
      const found = await engine.call("tensor.tmem", { shape: this.shape });
      this.message.textContent = "";
      fill(this.about, `${found.shape}: ${found.lanes} lanes, ${found.columns} columns, ${found.registers} ${found.registers === 1 ? "register" : "registers"} of each thread.`);
      const lanes = [...new Set(found.cells.map((cell) => cell.lane))].sort((a, b) => a - b);
      const row = new Map(lanes.map((lane, index) => [lane, index]));
      this.grid.draw({
        label: `cells of tensor memory for ${found.shape}`, columns: found.columns, rows: lanes.length, cellHeight: 18,
        rowNames: (index) => String(lanes[index]), columnNames: (column) => String(column),
        cells: found.cells.map((cell) => ({
          x: cell.column + (cell.bits < 32 ? (cell.bit % 32) / 32 : 0), y: row.get(cell.lane) ?? 0, width: cell.bits < 32 ? cell.bits / 32 : 1, tone: cell.thread / 31,
          label: `t${cell.thread} r${cell.register}`,
          about: () => `lane ${cell.lane}, column ${cell.column}: register ${cell.register} of thread ${cell.thread}${cell.bits < 32 ? `, bits ${cell.bit} to ${cell.bit + cell.bits - 1}` : ""}`,
        })),
      });
    } catch (error) {
      this.message.textContent = error instanceof CallError ? error.message : "The engine gave no answer.";
    }
  }
}
