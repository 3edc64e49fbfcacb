// Warps and registers as grids of 32 lanes.
import { fill, h } from "../base/dom";
import type { RegisterRow, Warp, WarpGroup, Warps } from "../engine-types";

const lanes = Array.from({ length: 32 }, (_, lane) => lane);
const has = (mask: number, lane: number): boolean => ((mask >>> lane) & 1) === 1;

/** What a lane of a warp does. */
type LaneState = "none" | "exited" | "executing" | "guarded" | "ready" | "waiting";

const stateWords: Record<LaneState, string> = {
  none: "not there", exited: "exited", executing: "executes the next instruction", guarded: "its guard is false",
  ready: "at another line", waiting: "waits",
};

function groupOf(warp: Warp, lane: number): WarpGroup | undefined {
  return warp.groups.find((group) => has(group.lanes, lane));
}

function laneState(warp: Warp, lane: number, next: { warp: number; lanes: number; executing: number } | null): LaneState {
  if (!has(warp.lanes, lane)) return "none";
  if (!has(warp.live, lane)) return "exited";
  if (next && next.warp === warp.warp && has(next.lanes, lane)) return has(next.executing, lane) ? "executing" : "guarded";
  const group = groupOf(warp, lane);
  return group && group.waits !== "ready" ? "waiting" : "ready";
}

function where(warp: Warp): string {
  if (warp.exited) return "exited";
  const places = warp.groups.map((group) => {
    const line = `line ${group.line + 1}`;
    if (group.waits === "barrier") return `${line}, waits at barrier ${group.barrier ?? 0}`;
    if (group.waits === "cluster") return `${line}, waits for the cluster`;
    return group.waits === "lanes" ? `${line}, waits for lanes` : line;
  });
  return [...new Set(places)].join("; ");
}

export interface WarpChoice {
  warp: number;
  lane: number;
}

/** The warps of the CTA, a row each. */
export function drawWarps(
  target: HTMLElement, state: Warps, next: { warp: number; lanes: number; executing: number } | null, chosen: WarpChoice,
  choose: (choice: WarpChoice) => void,
): void {
  const rows = state.warps.map((warp) => {
    const cells = lanes.map((lane) => {
      const now = laneState(warp, lane, next);
      const group = groupOf(warp, lane);
      const line = group && now !== "executing" && now !== "guarded" ? `, line ${group.line + 1}` : "";
      return h("span", {
        class: `lane ${now}${chosen.warp === warp.warp && chosen.lane === lane ? " chosen" : ""}`,
        title: `warp ${warp.warp}, lane ${lane}: ${stateWords[now]}${line}`,
        onclick: () => choose({ warp: warp.warp, lane }),
      });
    });
    const label = h("button", {
      type: "button", class: "warp-name", "aria-pressed": String(chosen.warp === warp.warp),
      onclick: () => choose({ warp: warp.warp, lane: chosen.lane }),
    }, `warp ${warp.warp}`);
    return h("div", { class: "warp-row", "data-warp": warp.warp },
      label, h("div", { class: "lane-cells", role: "img", "aria-label": describe(warp, next) }, ...cells),
      h("span", { class: "warp-where", title: where(warp) }, where(warp)));
  });
  fill(target, ...rows);
}

function describe(warp: Warp, next: { warp: number; lanes: number; executing: number } | null): string {
  const counts = new Map<LaneState, number>();
  for (const lane of lanes) {
    const now = laneState(warp, lane, next);
    counts.set(now, (counts.get(now) ?? 0) + 1);
  }
  const parts = [...counts].filter(([now]) => now !== "none").map(([now, count]) => `${count} ${stateWords[now]}`);
  return `warp ${warp.warp}: ${parts.join(", ")}`;
}

/** What the colours of lanes mean. */
export function legend(): HTMLElement {
  const entry = (state: LaneState, words: string): HTMLElement =>
    h("span", { class: "legend-entry" }, h("span", { class: `lane ${state}`, "aria-hidden": "true" }), words);
  return h("div", { class: "legend" },
    entry("executing", "executes next"), entry("guarded", "guard is false"), entry("ready", "at another line"),
    entry("waiting", "waits"), entry("exited", "exited"));
}

/** The colour of a value among those of its register: from the least to the greatest that is there. */
function colour(rank: number, of: number): string {
  const part = of <= 1 ? 0.5 : rank / (of - 1);
  const hue = 265 - 215 * part;
  return `oklch(var(--lane-lightness) 0.13 ${hue.toFixed(0)})`;
}

function ranks(row: RegisterRow): (number | null)[] {
  const key = (index: number): number | bigint | null => {
    const bits = row.bits[index];
    if (bits === null || bits === undefined) return null;
    const number = Number(row.text[index]);
    return /^[fbes]|^u\d/.test(row.shown) && Number.isFinite(number) && row.text[index] !== "" ? number : BigInt(bits.startsWith("0x") ? bits : `0x${bits}`);
  };
  const keys = lanes.map(key);
  const different = [...new Set(keys.filter((one) => one !== null))].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const place = new Map(different.map((one, index) => [one, index]));
  return keys.map((one) => (one === null ? null : place.get(one) ?? null));
}

/** A value as it is shown: large integers of 64 bits, which are addresses mostly, by their bits. */
function shown(row: RegisterRow, lane: number): string {
  const text = row.text[lane];
  const bits = row.bits[lane];
  if (text === null || text === undefined || bits === null || bits === undefined) return "–";
  return /^[bu]64$/.test(row.shown) && /^\d{10,}$/.test(text) ? `0x${bits.replace(/^0x0*/, "")}` : text;
}

export interface RegisterView {
  filter: string;
  open: ReadonlySet<string>;
  toggle(name: string): void;
  choose(lane: number): void;
}

/** Registers of a warp, a row each; an open one shows its 32 values. */
export function drawRegisters(target: HTMLElement, rows: RegisterRow[], chosen: WarpChoice, live: number, view: RegisterView): void {
  const wanted = rows.filter((row) => row.name.toLowerCase().includes(view.filter.toLowerCase()));
  fill(target, ...wanted.flatMap((row) => {
    const open = view.open.has(row.name);
    const name = h("button", {
      type: "button", class: "register-name", "aria-expanded": String(open), title: `${row.name} .${row.type}: show all lanes`,
      onclick: () => view.toggle(row.name),
    }, row.name);
    const line = h("div", { class: `register-row${row.changed ? " changed" : ""}`, "data-register": row.name },
      name, registerCells(row, chosen, live, view), h("output", { class: "register-value", title: row.bits[chosen.lane] ?? "" }, shown(row, chosen.lane)));
    return open ? [line, values(row, chosen)] : [line];
  }));
  if (wanted.length === 0) fill(target, h("p", { class: "quiet" }, rows.length === 0 ? "No registers are live here." : "No register has this name."));
}

function registerCells(row: RegisterRow, chosen: WarpChoice, live: number, view: RegisterView): HTMLElement {
  const order = ranks(row);
  const of = new Set(order.filter((rank) => rank !== null)).size;
  const same = of === 1;
  return h("div", {
    class: "lane-cells", role: "img",
    "aria-label": same ? `${row.name} is ${row.text.find((text) => text !== null) ?? ""} in all lanes` : `${row.name} has ${of} different values`,
  }, ...lanes.map((lane) => {
    const rank = order[lane];
    const value = row.text[lane];
    return h("span", {
      class: `lane value${rank === null || rank === undefined ? " none" : same ? " same" : ""}${lane === chosen.lane ? " chosen" : ""}${has(live, lane) ? "" : " dead"}`,
      style: rank === null || rank === undefined || same ? undefined : { background: colour(rank, of) },
      title: value === null || value === undefined ? `lane ${lane}: no value` : `lane ${lane}: ${value} (${row.bits[lane]})`,
      onclick: () => view.choose(lane),
    });
  }));
}

function values(row: RegisterRow, chosen: WarpChoice): HTMLElement {
  return h("div", { class: "register-values", role: "table", "aria-label": `${row.name} in all lanes` },
    ...Array.from({ length: 4 }, (_, part) => h("div", { role: "row", class: "register-line" },
      ...lanes.slice(part * 8, part * 8 + 8).map((lane) => h("div", { role: "cell", class: lane === chosen.lane ? "chosen" : undefined },
        h("span", { class: "lane-number" }, String(lane)), h("span", {}, shown(row, lane)))))));
}
