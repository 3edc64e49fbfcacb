// A view of the memory of a launch that is stepped through.
import { CallError, runner } from "../base/engine";
import { field, fill, h, select } from "../base/dom";
import { numberTable } from "../base/table";
import type { Access, BufferState, MemoryBlock } from "../engine-types";
import { hexOf } from "./buffer";

const formats = ["f32", "u32", "s32", "hex", "u8", "u16", "f16", "bf16", "e4m3", "e5m2", "u64", "f64"];
type Space = "shared" | "global" | "local" | "param";

export class MemoryView {
  readonly element = h("section", { class: "memory-view", "aria-label": "memory" });
  private place = "shared";
  private format = "";
  private readonly controls = h("div", { class: "row" });
  private readonly table = h("div");
  private launch = 0;
  private access: Access | null = null;
  private before: { key: string; values: string[] } | null = null;
  private names = "";
  private picked = false;

  constructor() {
    this.element.append(h("h3", {}, "Memory"), this.controls, this.table);
  }

  /** Begins with a launch: its buffers are choices. Until one is made, shared memory is shown if there is some. */
  begin(launch: number, buffers: BufferState[], shared: boolean): void {
    this.launch = launch;
    this.before = null;
    const names = buffers.map((buffer) => buffer.name);
    if (this.place.startsWith("buffer:") && !names.includes(this.place.slice(7))) this.place = "shared";
    const first = names[0];
    if (!this.picked) this.place = shared || first === undefined ? "shared" : `buffer:${first}`;
    const key = `${names.join()}/${this.place}`;
    if (key === this.names && this.controls.childElementCount > 0) return;
    this.names = key;
    const places = [["shared", "shared memory"], ...names.map((name) => [`buffer:${name}`, `buffer ${name}`]),
      ["param", "parameters"], ["local", "local memory of the lane"]] as [string, string][];
    fill(this.controls,
      field("Where", select(places, this.place, (value) => { this.place = value; this.picked = true; void this.draw(); })),
      field("Shown as", select([["", "its type"], ...formats.map((one) => [one, one] as [string, string])], this.format,
        (value) => { this.format = value; void this.draw(); })));
  }

  update(access: Access | null): Promise<void> {
    this.access = access;
    return this.draw();
  }

  private request(format: string | undefined): Promise<MemoryBlock> {
    const wanted = format === undefined ? {} : { format };
    if (this.place.startsWith("buffer:")) {
      return runner.call("launch.memory", { launch: this.launch, space: "global", name: this.place.slice(7), ...wanted });
    }
    return runner.call("launch.memory", { launch: this.launch, space: this.place as Space, address: 0, ...wanted });
  }

  private async draw(): Promise<void> {
    try {
      const hex = this.format === "hex";
      let block = await this.request(hex ? "u32" : this.format === "" ? undefined : this.format);
      // Compilers declare shared memory as bytes: words say more.
      const bytes = this.place === "shared" && block.names.every((one) => one.type === null || /^[bu]8$/.test(one.type));
      if (this.format === "" && bytes && block.bytes % 4 === 0) block = await this.request("u32");
      this.show(block, hex);
    } catch (error) {
      const message = error instanceof CallError ? error.message : "The memory could not be read.";
      fill(this.table, h("p", { class: "quiet" }, message));
    }
  }

  private show(block: MemoryBlock, hex: boolean): void {
    if (block.values.length === 0) {
      fill(this.table, h("p", { class: "quiet" }, this.place === "shared" ? "The kernel has no shared memory." : "There is nothing here."));
      return;
    }
    const values = hex ? hexOf(block).map((bits) => bits.slice(2)) : block.values;
    const size = Math.max(1, block.bytes / block.values.length);
    const key = `${this.place}/${block.format}/${hex}`;
    const changed = new Set<number>();
    if (this.before?.key === key) {
      values.forEach((value, index) => { if (value !== this.before?.values[index]) changed.add(index); });
    }
    this.before = { key, values };
    const start = BigInt(block.address);
    const page = Number(this.table.dataset.page ?? 0);
    numberTable(this.table, {
      values, label: "contents of memory", changed, touched: this.touched(block, start, size),
      rowName: (index) => this.place.startsWith("buffer:") ? String(index) : `0x${(start + BigInt(Math.floor(index * size))).toString(16)}`,
    }, page);
    if (block.names.length > 0 && !this.place.startsWith("buffer:")) {
      this.table.append(h("p", { class: "quiet" }, block.names.map((one) => `${one.name} at ${one.offset} (${one.bytes} bytes)`).join(", ")));
    }
  }

  private touched(block: MemoryBlock, start: bigint, size: number): Set<number> {
    const touched = new Set<number>();
    const access = this.access;
    if (!access || !access.space.startsWith(block.space.split("::")[0] ?? "")) return touched;
    for (const address of access.addresses) {
      if (address === null) continue;
      const from = Number(BigInt(address) - start);
      for (let byte = from; byte < from + access.bytes; byte += 1) {
        if (byte >= 0 && byte < block.bytes) touched.add(Math.floor(byte / size));
      }
    }
    return touched;
  }
}
