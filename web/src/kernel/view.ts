// The kernel view: the text on one side, its panes on the other.
import { engine, Stopped } from "../base/engine";
import { byId, fill, h, select } from "../base/dom";
import { tabs, type Tabs } from "../base/tabs";
import { Editor } from "../editor/editor";
import { prose } from "../editor/markdown";
import { setBreakpoints, setCounts, setCurrentLine, setFaultLines } from "../editor/marks";
import type { Diagnostic, RunResult, RunStats } from "../engine-types";
import { examples, type Launch } from "../examples";
import { IrPane } from "./ir";
import { LaunchForm } from "./launch";
import { LayoutPane } from "./layout";
import { RunPane } from "./run";
import { splitter } from "./splitter";
import { StepPane } from "./step";

export interface KernelState {
  text: string;
  launch: Launch;
  pane: string;
  breakpoints?: number[];
}

export class KernelView {
  readonly editor: Editor;
  private readonly form: LaunchForm;
  private readonly run: RunPane;
  private readonly step: StepPane;
  private readonly layout = new LayoutPane();
  private readonly ir: IrPane;
  private readonly tabs: Tabs;
  private readonly picker: HTMLSelectElement;
  /** Whether a pane shows what the text now says. */
  private fresh = { layout: false, ir: false };
  private loading = false;

  constructor(private readonly changed: () => void) {
    this.form = new LaunchForm({ kernel: "", grid: [1], block: [32], arguments: [] }, () => {
      this.run.clear();
      this.step.clear();
      this.changed();
    });
    this.run = new RunPane(this.form, {
      text: () => this.editor.text(),
      goTo: (range) => this.show(range),
      result: (result) => this.mark(result),
    });
    this.step = new StepPane(this.form, {
      text: () => this.editor.text(),
      breakpoints: () => this.editor.breakpoints(),
      goTo: (range) => this.show(range),
      at: (line, fault) => this.markCurrent(line, fault),
      stats: (stats) => this.count(stats),
    });
    this.ir = new IrPane({ link: (lines) => this.editor.link(lines), goTo: (range) => this.show(range) });
    byId("panel-run").append(this.run.element);
    byId("panel-step").append(this.step.element);
    byId("panel-layout").append(this.layout.element);
    byId("panel-ir").append(this.ir.element);
    this.editor = new Editor(byId("editor"), {
      changed: () => this.textChanged(),
      checked: (diagnostics) => void this.checked(diagnostics),
      cursor: (line) => this.ir?.mark(line),
      breakpoints: (lines) => { void this.step.setBreakpoints(lines); this.changed(); },
      run: () => { this.tabs.select("run"); void this.run.run(); },
    });
    this.tabs = tabs(byId("kernel-tabs"), () => { this.refresh(); if (!this.loading) this.changed(); });
    this.picker = select([["", "Examples …"], ...examples.map((one) => [one.name, one.title] as [string, string])], "", (name) => this.example(name), { id: "example", "aria-label": "examples" });
    byId("example-slot").append(this.picker);
    byId("format").addEventListener("click", () => void this.editor.format());
    splitter(byId("splitter"), byId("kernel-view"));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    if (byId("view-kernel").hidden || event.defaultPrevented) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      this.tabs.select("run");
      void this.run.run();
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const action = { F5: () => this.step.step("continue"), F10: () => this.step.step("warp", event.shiftKey), F11: () => this.step.step("any") }[event.key];
    if (!action) return;
    event.preventDefault();
    this.tabs.select("step");
    void action();
  }

  async load(): Promise<void> {
    await this.form.load();
    this.form.draw();
  }

  /** Puts an example in. */
  example(name: string): void {
    const found = examples.find((one) => one.name === name);
    if (found) this.set({ text: found.text, launch: found.launch, pane: found.pane });
    this.picker.value = name;
    this.changed();
  }

  set(state: KernelState): void {
    this.loading = true;
    this.form.kernels = [];
    this.form.set(state.launch);
    this.editor.setText(state.text);
    this.editor.view.dispatch({ effects: setBreakpoints.of(state.breakpoints ?? []) });
    this.tabs.select(state.pane);
    this.picker.value = examples.find((one) => one.text === state.text)?.name ?? "";
    this.loading = false;
  }

  state(): KernelState {
    const breakpoints = this.editor.breakpoints();
    return { text: this.editor.text(), launch: this.form.launch, pane: this.tabs.current(), ...(breakpoints.length > 0 ? { breakpoints } : {}) };
  }

  private textChanged(): void {
    this.fresh = { layout: false, ir: false };
    this.run.clear();
    this.step.clear();
    if (!this.loading) this.changed();
  }

  private async checked(diagnostics: Diagnostic[]): Promise<void> {
    this.problems(diagnostics);
    try {
      const kernels = await engine.call("kernels", { text: this.editor.text() });
      if (kernels.length > 0 || diagnostics.every((one) => one.severity !== "error")) this.form.update(kernels);
    } catch (error) {
      if (error instanceof Stopped) return;
    }
    if (!this.step.active()) this.step.clear();
    this.refresh();
  }

  /** Brings the pane that is shown up to date. */
  private refresh(): void {
    const pane = this.tabs?.current();
    if (pane === "layout" && !this.fresh.layout) {
      this.fresh.layout = true;
      void this.layout.update(this.editor.text());
    }
    if (pane === "ir" && !this.fresh.ir) {
      this.fresh.ir = true;
      void this.ir.update(this.editor.text());
    }
  }

  private problems(diagnostics: Diagnostic[]): void {
    const errors = diagnostics.filter((one) => one.severity === "error").length;
    const warnings = diagnostics.length - errors;
    const words = [errors > 0 && `${errors} ${errors === 1 ? "error" : "errors"}`, warnings > 0 && `${warnings} ${warnings === 1 ? "warning" : "warnings"}`].filter(Boolean).join(", ");
    const status = byId("check-status");
    status.className = `tag ${errors > 0 ? "bad" : warnings > 0 ? "warn" : "good"}`;
    status.textContent = words || "no errors";
    const list = byId("problems");
    list.hidden = diagnostics.length === 0;
    fill(list, ...diagnostics.slice(0, 100).map((one) => h("li", { class: one.severity },
      h("button", { type: "button", onclick: () => this.show(one.range) },
        h("span", { class: "problem-line" }, String(one.range.start.line + 1)), h("span", {}, prose(one.message), one.help && h("span", { class: "quiet" }, " ", prose(one.help))),
        h("code", {}, one.code)),
      one.fix && h("button", { type: "button", class: "small", onclick: () => this.editor.apply(one.fix ?? []) }, "Fix"))));
  }

  private show(range: Parameters<Editor["goTo"]>[0]): void {
    this.editor.goTo(range);
    byId("editor").scrollIntoView({ block: "nearest" });
  }

  private mark(result: RunResult | null): void {
    const places = result ? [
      ...(result.fault?.range ? [{ line: result.fault.range.start.line, related: false }] : []),
      ...result.findings.flatMap((finding) => [
        ...(finding.range ? [{ line: finding.range.start.line, related: false }] : []),
        ...finding.related.map((other) => ({ line: other.range.start.line, related: true })),
      ]),
    ] : [];
    this.editor.view.dispatch({ effects: setFaultLines.of(places) });
    this.count(result?.stats ?? null);
    const first = places[0];
    if (first) this.editor.reveal(first.line);
  }

  private markCurrent(line: number | null, fault: boolean): void {
    this.editor.view.dispatch({
      effects: [setCurrentLine.of(fault ? null : line), setFaultLines.of(fault && line !== null ? [{ line, related: false }] : [])],
    });
    if (line !== null) this.editor.reveal(line);
  }

  private count(stats: RunStats | null): void {
    this.editor.view.dispatch({ effects: setCounts.of(new Map((stats?.lines ?? []).filter((one) => one.warp > 0).map((one) => [one.line, one.warp]))) });
  }
}
