// The run pane: the launch's form, the run, and what came of it.
import { CallError, runner, Stopped } from "../base/engine";
import { fill, h } from "../base/dom";
import { prose } from "../editor/markdown";
import type { Fault, Finding, Place, Range, RunResult, Unsupported } from "../engine-types";
import { costs } from "./costs";
import type { LaunchForm } from "./launch";
import { results } from "./results";

export interface RunEvents {
  text(): string;
  goTo(range: Range): void;
  /** What to mark in the editor; null clears the marks. */
  result(result: RunResult | null): void;
}

/** A number with thin spaces between thousands. */
export const grouped = (value: number): string => value.toLocaleString("en-US").replaceAll(",", "\u202f");

const triple = (values: readonly number[]): string => `(${values.join(", ")})`;

export class RunPane {
  readonly element: HTMLElement;
  readonly runButton: HTMLButtonElement;
  private readonly stopButton: HTMLButtonElement;
  private readonly outcome = h("div", { class: "outcome", role: "status", "aria-live": "polite" });
  private readonly details = h("div", { class: "details" });
  private running = false;

  constructor(private readonly form: LaunchForm, private readonly events: RunEvents) {
    this.runButton = h("button", { type: "button", class: "primary", id: "run", title: "Run the kernel (Ctrl+Enter)", onclick: () => void this.run() }, "Run");
    this.stopButton = h("button", { type: "button", id: "stop", disabled: true, onclick: () => runner.stop() }, "Stop");
    this.element = h("div", { class: "pane-body run-pane" },
      h("div", { class: "actions" }, this.runButton, this.stopButton, this.outcome),
      this.details, form.element);
  }

  /** The text or the launch is another one: results are no longer of it. */
  clear(): void {
    if (this.running) return;
    fill(this.outcome);
    fill(this.details);
    this.events.result(null);
  }

  async run(): Promise<void> {
    if (this.running) return;
    this.clear();
    this.running = true;
    this.runButton.disabled = true;
    this.stopButton.disabled = false;
    const start = performance.now();
    const seconds = (): string => ((performance.now() - start) / 1000).toFixed(1);
    const wait = setInterval(() => fill(this.outcome, h("span", { class: "busy" }, `running, ${seconds()} s`)), 200);
    try {
      const result = await runner.call("run", { text: this.events.text(), ...this.form.launch });
      clearInterval(wait);
      this.show(result, performance.now() - start);
    } catch (error) {
      clearInterval(wait);
      this.fail(error, seconds());
    } finally {
      clearInterval(wait);
      this.running = false;
      this.runButton.disabled = false;
      this.stopButton.disabled = true;
    }
  }

  private fail(error: unknown, seconds: string): void {
    if (error instanceof Stopped) {
      fill(this.outcome, h("span", { class: "tag warn" }, "stopped"), ` after ${seconds} s`);
      return;
    }
    fill(this.outcome, h("span", { class: "tag bad" }, "not run"));
    fill(this.details, ...refusal(error, (range) => this.events.goTo(range)));
  }

  private show(result: RunResult, milliseconds: number): void {
    const { stats } = result;
    const words = { done: "done", fault: "fault", limit: "limit reached" }[result.state];
    const kind = result.state === "done" && result.findingsTotal === 0 ? "good" : result.state === "limit" ? "warn" : "bad";
    const findings = result.findingsTotal === 0 ? "" : `, ${grouped(result.findingsTotal)} ${result.findingsTotal === 1 ? "finding" : "findings"}`;
    fill(this.outcome, h("span", { class: `tag ${kind}` }, words + findings),
      h("span", { class: "quiet" }, ` ${grouped(stats.warpInstructions)} warp instructions, ${stats.ctas} ${stats.ctas === 1 ? "CTA" : "CTAs"}, ${milliseconds.toFixed(0)} ms`));
    const goTo = (range: Range): void => this.events.goTo(range);
    fill(this.details,
      result.state === "limit" && h("div", { class: "card warn" }, h("p", {}, `The kernel had not ended after ${grouped(stats.warpInstructions)} instructions of warps. Raise the limit if it needs more.`)),
      result.fault && faultCard(result.fault, goTo),
      ...result.findings.map((finding) => findingCard(finding, goTo)),
      result.findingsTotal > result.findings.length && h("p", { class: "quiet" }, `${grouped(result.findingsTotal - result.findings.length)} more findings are not shown.`),
      result.printed !== "" && h("section", { class: "card" }, h("h3", {}, "Printed"), h("pre", { tabindex: "0", "aria-label": "what the kernel printed" }, result.printed)));
    results(this.details, result.buffers);
    costs(this.details, stats, goTo);
    this.events.result(result);
  }
}

/** A button that leads to a line. */
export function lineLink(range: Range, goTo: (range: Range) => void): HTMLElement {
  return h("button", { type: "button", class: "link", onclick: () => goTo(range) }, `line ${range.start.line + 1}`);
}

export function faultCard(fault: Fault, goTo: (range: Range) => void, place?: Place | null): HTMLElement {
  const range = fault.range ?? place?.range ?? null;
  return h("section", { class: "card bad", "aria-label": "fault" },
    h("p", { class: "card-head" }, h("strong", {}, "Fault"), range && lineLink(range, goTo),
      fault.thread && h("span", { class: "quiet" }, `thread ${triple(fault.thread.thread)} of CTA ${triple(fault.thread.cta)}`)),
    h("p", {}, prose(fault.message)),
    ...fault.notes.map((note) => h("p", { class: "note" }, prose(note))));
}

function findingCard(finding: Finding, goTo: (range: Range) => void): HTMLElement {
  return h("section", { class: "card bad finding", "aria-label": `finding of ${finding.sanitizer}` },
    h("p", { class: "card-head" }, h("strong", {}, finding.sanitizer), finding.range && lineLink(finding.range, goTo),
      finding.thread && h("span", { class: "quiet" }, `thread ${triple(finding.thread.thread)}${finding.other ? ` and thread ${triple(finding.other.thread)}` : ""}`),
      finding.count > 1 && h("span", { class: "quiet" }, `${grouped(finding.count)} times`)),
    h("p", {}, prose(finding.message)),
    ...finding.related.map((other) => h("p", { class: "note" }, `${other.message}: `, lineLink(other.range, goTo))),
    ...finding.notes.map((note) => h("p", { class: "note" }, prose(note))));
}

/** Why a call was refused: the message, and the places it names. */
export function refusal(error: unknown, goTo: (range: Range) => void): HTMLElement[] {
  const message = error instanceof Error ? error.message : String(error);
  const details = error instanceof CallError ? error.details : null;
  const places: (Unsupported | { range: Range; message: string })[] = [...(details?.diagnostics ?? []), ...(details?.unsupported ?? [])];
  return [h("section", { class: "card bad", "aria-label": "error" },
    h("p", {}, prose(message), details?.range && " ", details?.range && lineLink(details.range, goTo)),
    places.length > 0 && h("ul", {}, ...places.slice(0, 20).map((place) => h("li", {}, lineLink(place.range, goTo), " ", prose(place.message)))))];
}
