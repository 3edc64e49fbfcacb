// The number lab.
import { engine } from "../base/engine";
import { fill, h } from "../base/dom";
import { conform } from "../base/permalink";
import { BitsLab, type BitsState } from "./bits";
import { BlocksLab, firstValues, type BlocksState } from "./blocks";
import { ConvertLab, type ConvertState } from "./convert";

export interface NumbersState {
  bits: BitsState;
  convert: ConvertState;
  blocks: BlocksState;
}

export class NumbersView {
  private wanted: NumbersState = {
    bits: { format: "e4m3", bits: "0x3a" },
    convert: { from: "f32", to: "e4m3", value: "3.14159", form: "rn.satfinite.e4m3x2.f32", operands: "3.14159 -500" },
    blocks: { format: "mxfp4", values: firstValues(), rule: "floor" },
  };
  private labs: { bits: BitsLab; convert: ConvertLab; blocks: BlocksLab } | null = null;

  constructor(private readonly root: HTMLElement, private readonly changed: () => void) {}

  state(): NumbersState {
    return this.labs ? { bits: this.labs.bits.state, convert: this.labs.convert.state, blocks: this.labs.blocks.state } : this.wanted;
  }

  /** Takes the state of a link: parts that it lacks stay. */
  set(state: unknown): void {
    this.wanted = conform(state, this.state());
    this.labs = null;
  }

  /** Makes the lab when it is first seen. */
  async show(): Promise<void> {
    if (this.labs) return;
    const formats = await engine.call("formats", {});
    const { bits, convert, blocks } = this.wanted;
    const known = formats.some((one) => one.name === bits.format) ? bits : { format: "f32", bits: "0x3f800000" };
    const labs = { bits: new BitsLab(formats, known, this.changed), convert: new ConvertLab(formats, convert, this.changed), blocks: new BlocksLab(blocks, this.changed) };
    this.labs = labs;
    fill(this.root, h("div", { class: "lab-grid" }, labs.bits.element, labs.convert.element, labs.blocks.element));
    labs.convert.draw();
    await Promise.all([labs.bits.draw(), labs.blocks.draw()]);
  }
}
