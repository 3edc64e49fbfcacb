// What lines cost in a run: lanes, divergence, sectors and bank conflicts.
import { h, head } from "../base/dom";
import type { Range, RunStats } from "../engine-types";

/** What `run` tells of a line beyond how often it was executed. */
interface Costs {
  divergent?: number;
  requests?: number;
  sectors?: number;
  conflicts?: number;
}

/** Lines where branches diverged, banks conflicted, or that were executed by part of the lanes. */
export function costs(target: HTMLElement, stats: RunStats, goTo: (range: Range) => void): void {
  const lines = stats.lines.filter((one) => one.warp > 0).map((one) => ({ ...one, ...(one as Costs) }));
  const bad = lines.filter((one) => (one.conflicts ?? 0) > 0 || (one.divergent ?? 0) > 0 || (one.sectors ?? 0) > 0);
  if (bad.length === 0) return;
  const number = (value: number | undefined, fine = 0): HTMLElement =>
    h("td", { class: "number" }, value === undefined || value === 0 ? "" : h("span", { class: value > fine ? "hot" : undefined }, String(Number(value.toFixed(1)))));
  target.append(h("details", { class: "costs" }, h("summary", {}, "Memory and divergence by line"),
    h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "costs by line" }, h("table", { class: "plain compact" },
      head("line", "#warps", "#lanes", "#divergent branches", "#sectors a request", "#bank conflicts"),
      h("tbody", {}, ...bad.map((one) => h("tr", {},
        h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => goTo({ start: { line: one.line, character: 0 }, end: { line: one.line, character: 0 } }) }, String(one.line + 1))),
        h("td", { class: "number" }, String(one.warp)), h("td", { class: "number" }, (one.thread / one.warp).toFixed(1)),
        number(one.divergent), number(one.requests ? (one.sectors ?? 0) / one.requests : undefined, 4), number(one.conflicts))))))));
}
