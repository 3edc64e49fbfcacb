// The step pane: a launch, instruction by instruction, forward and back.
import { runner, Stopped } from "../base/engine";
import { field, fill, h } from "../base/dom";
import type { LaunchStatus, Range, RunStats, StepSpec, Warps } from "../engine-types";
import { drawAccess } from "./access";
import { drawRegisters, drawWarps, legend, type WarpChoice } from "./lanes";
import type { LaunchForm } from "./launch";
import { MemoryView } from "./memory";
import { faultCard, grouped, refusal } from "./run";

export interface StepEvents {
  text(): string;
  breakpoints(): number[];
  goTo(range: Range): void;
  /** The line that is next, for the editor. */
  at(line: number | null, fault: boolean): void;
  stats(stats: RunStats | null): void;
}

/** So many instructions of warps are executed before the page looks whether it is to stop. */
const slice = 50_000;
const mostSlice = 4_000_000;
const mostCounted = 100_000;
type By = StepSpec["by"];

export class StepPane {
  readonly element: HTMLElement;
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private readonly about = h("p", { class: "launch-summary quiet" });
  private readonly status = h("div", { class: "outcome", role: "status", "aria-live": "polite" });
  private readonly place = h("div", { class: "place" });
  private readonly details = h("div", { class: "details" });
  private readonly warps = h("div", { class: "warps" });
  private readonly barriers = h("div", { class: "barriers" });
  private readonly registers = h("div", { class: "registers" });
  private readonly access = h("section", { class: "access", "aria-label": "memory access" });
  private readonly memory = new MemoryView();
  private readonly slider = h("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "moment of the launch" });
  private readonly body: HTMLElement;
  private readonly lane = h("input", { type: "number", min: "0", max: "31", value: "0", class: "short" });
  private launch: number | null = null;
  private now: LaunchStatus | null = null;
  private generation = 0;
  private furthest = 0;
  private chosen: WarpChoice = { warp: 0, lane: 0 };
  private filter = "";
  private open = new Set<string>();
  private busy = false;
  private stopping = false;

  constructor(private readonly form: LaunchForm, private readonly events: StepEvents) {
    const button = (name: string, text: string, title: string, action: () => void): HTMLButtonElement => {
      const made = h("button", { type: "button", id: `step-${name}`, title, onclick: action }, text);
      this.buttons.set(name, made);
      return made;
    };
    const bar = h("div", { class: "actions", role: "group", "aria-label": "steps" },
      button("start", "Start", "Begin the launch again", () => void this.start()),
      button("back", "◂ Back", "Back by one instruction of the warp (Shift+F10)", () => void this.step("warp", true)),
      button("warp", "Step ▸", "One instruction of this warp (F10)", () => void this.step("warp")),
      button("any", "Any warp", "One instruction of whichever warp is next (F11)", () => void this.step("any")),
      button("continue", "Continue", "To the next breakpoint (F5)", () => void this.step("continue")),
      button("run", "To the end", "To the end, without breakpoints", () => void this.step("run")),
      button("stop", "Stop", "Stop the launch where it is", () => { this.stopping = true; }));
    this.slider.addEventListener("change", () => void this.goTo(Number(this.slider.value)));
    this.lane.addEventListener("change", () => this.choose({ warp: this.chosen.warp, lane: Math.max(0, Math.min(31, Number(this.lane.value) || 0)) }));
    const filter = h("input", { type: "search", placeholder: "%name", class: "medium", oninput: () => { this.filter = filter.value; void this.refresh(); } });
    this.body = h("div", { class: "step-body" },
      this.place,
      h("section", { "aria-label": "warps" }, h("h3", {}, "Warps"), this.warps, this.barriers, legend()),
      h("section", { "aria-label": "registers" },
        h("div", { class: "row" }, h("h3", {}, "Registers"), field("Lane", this.lane), field("Find", filter)), this.registers,
        h("p", { class: "quiet" }, "Colours go from the least value to the greatest of each register; grey is the same in all lanes.")),
      this.access, this.memory.element);
    this.element = h("div", { class: "pane-body step-pane" }, bar, this.about, h("div", { class: "timeline" }, this.slider, this.status), this.details, this.body);
    this.show(false);
  }

  private show(started: boolean): void {
    this.body.hidden = !started;
    this.slider.disabled = !started || this.busy;
    const ended = this.now === null || this.now.state !== "stopped";
    const set = (name: string, enabled: boolean): void => { const one = this.buttons.get(name); if (one) one.disabled = !enabled; };
    const start = this.buttons.get("start");
    if (start) start.textContent = started ? "Restart" : "Start";
    start?.classList.toggle("primary", !started);
    this.buttons.get("warp")?.classList.toggle("primary", started && !ended);
    set("start", !this.busy);
    for (const name of ["warp", "any", "continue", "run"]) set(name, started && !ended && !this.busy);
    set("back", started && !this.busy && (this.now?.moment ?? 0) > 0);
    set("stop", this.busy);
    this.about.textContent = started ? "" : `Steps through ${this.form.summary()}, as the Run pane has it. Breakpoints are set in the margin of the text.`;
    this.about.hidden = started;
  }

  /** Whether a launch is under way. */
  active(): boolean {
    return this.launch !== null;
  }

  /** The text or the launch is another one: what is shown is no longer of it. */
  clear(): void {
    const launch = this.launch;
    this.launch = null;
    this.now = null;
    this.stopping = true;
    fill(this.details);
    fill(this.status);
    this.events.at(null, false);
    this.events.stats(null);
    this.show(false);
    if (launch !== null && this.generation === runner.generation) void runner.call("launch.end", { launch }).catch(() => undefined);
  }

  private async guarded(action: () => Promise<void>): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    this.stopping = false;
    this.show(this.launch !== null);
    try {
      await action();
    } catch (error) {
      if (error instanceof Stopped) this.clear();
      else fill(this.details, ...refusal(error, (range) => this.events.goTo(range)));
    } finally {
      this.busy = false;
      this.show(this.launch !== null);
    }
  }

  start(): Promise<void> {
    return this.guarded(async () => {
      if (this.launch !== null) void runner.call("launch.end", { launch: this.launch }).catch(() => undefined);
      this.launch = null;
      const status = await runner.call("launch.start", { text: this.events.text(), ...this.form.launch, breakpoints: this.events.breakpoints() });
      this.launch = status.launch;
      this.generation = runner.generation;
      this.furthest = status.moment;
      this.chosen = { warp: status.at?.warp ?? 0, lane: 0 };
      const kernel = this.form.kernel();
      const shared = (kernel?.staticShared ?? 0) > 0 || kernel?.dynamicShared === true;
      this.memory.begin(status.launch, await runner.call("launch.buffers", { launch: status.launch }), shared);
      await this.take(status);
    });
  }

  step(by: By, back = false): Promise<void> {
    // The launch is gone if a run was stopped, with its worker.
    if (this.launch !== null && this.generation !== runner.generation) this.clear();
    if (this.launch === null && !back) return this.start();
    return this.guarded(async () => {
      if (this.launch === null) return;
      const launch = this.launch;
      const name = back ? "launch.back" : "launch.step";
      // Each call begins at the start of the launch: slices that grow keep the work in proportion.
      const most = (): number => Math.min(mostSlice, Math.max(slice, status.moment));
      let status = await runner.call(name, { launch, by, max: slice });
      while (status.reason === "bound" && !this.stopping && this.launch === launch) {
        fill(this.status, h("span", { class: "busy" }, `running, ${grouped(status.moment)} instructions`));
        status = await runner.call(name, { launch, by, max: most() });
      }
      if (this.launch === launch) await this.take(status);
    });
  }

  private goTo(moment: number): Promise<void> {
    return this.guarded(async () => {
      if (this.launch !== null) await this.take(await runner.call("launch.goto", { launch: this.launch, moment }));
    });
  }

  /** Breakpoints changed in the editor. */
  async setBreakpoints(lines: number[]): Promise<void> {
    if (this.launch !== null) await runner.call("launch.breakpoints", { launch: this.launch, lines }).catch(() => undefined);
  }

  private choose(choice: WarpChoice): void {
    this.chosen = choice;
    void this.guarded(async () => {
      if (this.launch === null) return;
      const status = await runner.call("launch.focus", { launch: this.launch, warp: choice.warp, lane: choice.lane }).catch(() => null);
      if (status) this.now = { ...status, reason: this.now?.reason ?? status.reason };
      await this.refresh();
    });
  }

  private async take(status: LaunchStatus): Promise<void> {
    this.now = status;
    this.furthest = Math.max(this.furthest, status.moment);
    if (status.at) this.chosen = { warp: status.at.warp, lane: this.chosen.lane };
    await this.refresh();
    // Counts are made by another run up to this moment: not of long ones.
    this.events.stats(status.moment > mostCounted ? null : await runner.call("launch.stats", { launch: status.launch }));
  }

  private async refresh(): Promise<void> {
    const status = this.now;
    const launch = this.launch;
    if (!status || launch === null) return;
    this.drawStatus(status);
    drawAccess(this.access, status.access);
    this.events.at(status.at?.line ?? status.fault?.range?.start.line ?? null, status.state === "fault");
    const state = await runner.call("launch.warps", { launch });
    const rows = await runner.call("launch.registers", { launch, warp: this.chosen.warp }).catch(() => null);
    this.lane.value = String(this.chosen.lane);
    drawWarps(this.warps, state, status.at, this.chosen, (choice) => this.choose(choice));
    this.drawBarriers(state);
    if (rows) {
      drawRegisters(this.registers, rows.registers, this.chosen, rows.live, {
        filter: this.filter, open: this.open,
        toggle: (name) => { if (!this.open.delete(name)) this.open.add(name); void this.refresh(); },
        choose: (lane) => this.choose({ warp: this.chosen.warp, lane }),
      });
    } else fill(this.registers, h("p", { class: "quiet" }, "The warp has exited."));
    await this.memory.update(status.access);
  }

  private drawStatus(status: LaunchStatus): void {
    this.slider.max = String(this.furthest);
    this.slider.value = String(status.moment);
    const words: Record<LaunchStatus["reason"], string> = {
      start: "at the start", step: "stopped", breakpoint: "at a breakpoint", watch: "a watch changed", bound: "stopped",
      exited: "the thread has exited", beginning: "at the start", fault: "fault", end: "done", limit: "limit reached",
    };
    const kind = { stopped: "", done: "good", fault: "bad", limit: "warn" }[status.state];
    fill(this.status, h("span", { class: `tag ${kind}` }, words[status.reason]), ` instruction ${grouped(status.moment)} of ${grouped(this.furthest)} seen`);
    fill(this.details, status.fault && faultCard(status.fault, (range) => this.events.goTo(range), status.at));
    const at = status.at;
    fill(this.place, at && h("button", { type: "button", class: "link", onclick: () => this.events.goTo(at.range) }, `line ${at.line + 1}`),
      at && h("code", {}, at.text), at && h("span", { class: "quiet" }, `CTA (${at.cta.join(", ")}), warp ${at.warp}, ${bits(at.executing)} of ${bits(at.lanes)} lanes execute`),
      !at && h("span", {}, "The launch has ended."));
  }

  private drawBarriers(state: Warps): void {
    const several = state.ctas.length > 1;
    fill(this.barriers,
      ...state.barriers.map((barrier) => h("span", { class: "barrier" }, `barrier ${barrier.number ?? "of the cluster"} `,
        h("meter", { min: "0", max: String(barrier.expected || 1), value: String(barrier.arrived), "aria-label": `arrived at barrier ${barrier.number ?? ""}` }),
        ` ${barrier.arrived} of ${barrier.expected} threads`)),
      several && h("span", { class: "quiet" }, `CTA (${state.cta.join(", ")}) of ${state.ctas.length} that have begun`));
  }
}

function bits(mask: number): number {
  let count = 0;
  for (let rest = mask >>> 0; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
