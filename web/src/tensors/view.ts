// The tensor lab: a map, what is wrong with it, the copy it makes; and tensor memory.
import { CallError, engine } from "../base/engine";
import { debounce, fill, h, head } from "../base/dom";
import { conform } from "../base/permalink";
import { onTheme } from "../base/theme";
import type { TensorFinding, TensorShow } from "../engine-types";
import { MapControls } from "./controls";
import { copyOf, firstMap, withRank, type MapState } from "./map";
import { TmemLab } from "./tmem";
import { WalkPicture } from "./walk";

export interface TensorsState {
  map: MapState;
  tmem: string;
}

const mostElements = 4096;

export class TensorsView {
  private map = firstMap();
  private tmemShape = "16x256b.x2";
  private tmem: TmemLab | null = null;
  private readonly verdict = h("div", { class: "verdict", role: "status" });
  private readonly findings = h("div", { class: "findings" });
  private readonly facts = h("div", { class: "copy-facts" });
  private walk: WalkPicture | null = null;
  private readonly drawSoon = debounce(60, () => void this.draw());

  constructor(private readonly root: HTMLElement, private readonly changed: () => void) {
    onTheme(() => { if (this.tmem) { void this.draw(); void this.tmem.draw(); } });
  }

  state(): TensorsState {
    return { map: this.map, tmem: this.tmem?.shape ?? this.tmemShape };
  }

  /** Takes the state of a link. */
  set(state: unknown): void {
    const { map, tmem } = conform(state, { map: firstMap(), tmem: this.tmemShape });
    this.map = withRank(map, Math.max(1, Math.min(5, map.dims.length)));
    this.map.strides = map.strides.slice(0, this.map.dims.length - 1);
    this.tmemShape = tmem;
    this.tmem = null;
  }

  async show(): Promise<void> {
    if (this.tmem) return;
    const controls = new MapControls(this.map, (map) => { this.map = map; this.changed(); this.drawSoon(); });
    this.tmem = new TmemLab(this.tmemShape, this.changed);
    const walk = new WalkPicture();
    this.walk = walk;
    fill(this.root, h("div", { class: "lab-grid tensor-lab" },
      h("section", { class: "lab-card map-card", "aria-labelledby": "map-title" }, h("h2", { id: "map-title" }, "A tensor map"), controls.element),
      h("div", { class: "lab-column" },
        h("section", { class: "lab-card", "aria-labelledby": "copy-title" }, h("h2", { id: "copy-title" }, "The copy"), this.verdict, this.findings, walk.element, this.facts),
        this.tmem.element)));
    await Promise.all([this.draw(), this.tmem.draw()]);
  }

  private async draw(): Promise<void> {
    const copy = copyOf(this.map);
    try {
      const shown = await engine.call("tensor.show", copy);
      this.judge(shown);
      const walk = shown.legal && shown.refused === null ? await engine.call("tensor.walk", { ...copy, most: mostElements }) : null;
      this.walk?.show(walk);
    } catch (error) {
      fill(this.verdict, h("span", { class: "tag bad" }, "not a map"));
      fill(this.findings, h("div", { class: "card bad" }, h("p", {}, error instanceof CallError ? error.message : "The engine gave no answer.")));
      fill(this.facts);
      this.walk?.show(null);
    }
  }

  private judge(shown: TensorShow): void {
    const warnings = shown.findings.filter((one) => one.severity === "warning").length;
    const errors = shown.findings.length - warnings;
    const words = !shown.legal ? `${errors} broken ${errors === 1 ? "rule" : "rules"}` : shown.refused !== null ? "legal, but the copy is refused" : "legal";
    fill(this.verdict, h("span", { class: `tag ${!shown.legal || shown.refused !== null ? "bad" : "good"}` }, `${words} on ${shown.target}`),
      warnings > 0 && h("span", { class: "tag warn" }, `${warnings} ${warnings === 1 ? "warning" : "warnings"}`),
      shown.title && h("span", { class: "quiet" }, shown.title));
    fill(this.findings, ...shown.findings.map(card),
      shown.refused !== null && h("div", { class: "card bad" }, h("p", {}, shown.refused)));
    fill(this.facts,
      shown.copiedBytes !== null && h("p", {}, `A copy completes ${shown.copiedBytes} bytes on its mbarrier.`),
      shown.conflicts.length > 0 && h("table", { class: "plain compact" },
        h("caption", { class: "hidden-text" }, "bank conflicts of reads of the tile"),
        head("reads of the tile", "#wavefronts", "#ideal"),
        h("tbody", {}, ...shown.conflicts.map((one) => h("tr", {}, h("th", { scope: "row" }, one.pattern),
          h("td", { class: "number" }, h("span", { class: `tag ${one.wavefronts > one.ideal ? "bad" : "good"}` }, String(one.wavefronts))), h("td", { class: "number" }, String(one.ideal)))))),
      shown.object !== null && h("details", {}, h("summary", {}, "The 128 bytes that the driver makes"),
        h("pre", { class: "object", tabindex: "0", "aria-label": "bytes of the map" }, (shown.object.match(/.{1,64}/g) ?? []).join("\n"))));
  }
}

function card(finding: TensorFinding): HTMLElement {
  return h("div", { class: `card ${finding.severity === "error" ? "bad" : "warn"}` },
    h("p", { class: "card-head" }, h("strong", {}, finding.message), h("code", { class: "quiet" }, finding.code)),
    finding.title && h("p", { class: "note" }, finding.title),
    finding.fix && h("p", { class: "note" }, `Fix: ${finding.fix}`));
}
