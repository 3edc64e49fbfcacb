// Marks of a run in the editor: the line that is next, breakpoints, counts in the margin, faults and findings.
import { RangeSet, StateEffect, StateField, type EditorState, type Extension, type Range } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, gutter, type DecorationSet } from "@codemirror/view";

/** The line (from 0) that is next, or null. */
export const setCurrentLine = StateEffect.define<number | null>();
/** Lines that are marked, as the IR pane's choice is. */
export const setLinkedLines = StateEffect.define<number[]>();
/** Lines with faults or findings. */
export const setFaultLines = StateEffect.define<{ line: number; related: boolean }[]>();
/** How often warps executed each line. */
export const setCounts = StateEffect.define<Map<number, number>>();
const toggleBreakpoint = StateEffect.define<number>();
export const setBreakpoints = StateEffect.define<number[]>();

const current = Decoration.line({ class: "cm-current" });
const linked = Decoration.line({ class: "cm-linked" });
const fault = Decoration.line({ class: "cm-fault" });
const related = Decoration.line({ class: "cm-related" });

function lineStart(state: EditorState, line: number): number | null {
  return line >= 0 && line < state.doc.lines ? state.doc.line(line + 1).from : null;
}

function lines(state: EditorState, marked: readonly (readonly [number, Decoration])[]): DecorationSet {
  const ranges: Range<Decoration>[] = [];
  for (const [line, decoration] of marked) {
    const at = lineStart(state, line);
    if (at !== null) ranges.push(decoration.range(at));
  }
  return Decoration.set(ranges, true);
}

function decorations(pick: (effect: StateEffect<unknown>, state: EditorState) => DecorationSet | null): StateField<DecorationSet> {
  return StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update(value, transaction) {
      let next = value.map(transaction.changes);
      for (const effect of transaction.effects) next = pick(effect, transaction.state) ?? next;
      return next;
    },
    provide: (field) => EditorView.decorations.from(field),
  });
}

const currentField = decorations((effect, state) =>
  effect.is(setCurrentLine) ? (effect.value === null ? Decoration.none : lines(state, [[effect.value, current]])) : null);
const linkedField = decorations((effect, state) =>
  effect.is(setLinkedLines) ? lines(state, effect.value.map((line) => [line, linked] as const)) : null);
const faultField = decorations((effect, state) =>
  effect.is(setFaultLines)
    ? lines(state, effect.value.map(({ line, related: other }) => [line, other ? related : fault] as const))
    : null);

class BreakpointMarker extends GutterMarker {
  override toDOM(): Node {
    const dot = document.createElement("span");
    dot.className = "cm-breakpoint";
    dot.title = "breakpoint";
    return dot;
  }
}
const breakpoint = new BreakpointMarker();

const breakpointField = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(value, transaction) {
    let next = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setBreakpoints)) {
        const places = effect.value.map((line) => lineStart(transaction.state, line)).filter((at) => at !== null);
        next = RangeSet.of(places.map((at) => breakpoint.range(at)), true);
      }
      if (!effect.is(toggleBreakpoint)) continue;
      const at = effect.value;
      let there = false;
      next.between(at, at, (from) => { if (from === at) there = true; });
      next = there
        ? next.update({ filter: (from) => from !== at })
        : next.update({ add: [breakpoint.range(at)], sort: true });
    }
    return next;
  },
});

/** Lines (from 0) with breakpoints. */
export function breakpointLines(state: EditorState): number[] {
  const found: number[] = [];
  const cursor = state.field(breakpointField).iter();
  while (cursor.value) {
    found.push(state.doc.lineAt(cursor.from).number - 1);
    cursor.next();
  }
  return found;
}

class CountMarker extends GutterMarker {
  constructor(readonly count: number, readonly heat: number) {
    super();
  }
  override eq(other: CountMarker): boolean {
    return other.count === this.count && other.heat === this.heat;
  }
  override toDOM(): Node {
    const cell = document.createElement("span");
    cell.className = "cm-count";
    cell.style.setProperty("--heat", String(this.heat));
    cell.textContent = this.count >= 100000 ? `${Math.round(this.count / 1000)}k` : String(this.count);
    cell.title = `executed by ${this.count} ${this.count === 1 ? "warp" : "warps"}, each time counted`;
    return cell;
  }
}

const countField = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(value, transaction) {
    let next = transaction.docChanged ? RangeSet.empty : value;
    for (const effect of transaction.effects) {
      if (!effect.is(setCounts)) continue;
      const most = Math.max(1, ...effect.value.values());
      const ranges: Range<GutterMarker>[] = [];
      for (const [line, count] of effect.value) {
        const at = lineStart(transaction.state, line);
        const heat = Math.log1p(count) / Math.log1p(most);
        if (at !== null) ranges.push(new CountMarker(count, heat).range(at));
      }
      next = RangeSet.of(ranges, true);
    }
    return next;
  },
});

/** Sets or removes the breakpoint of the cursor's line. */
export function toggleBreakpointAtCursor(view: EditorView): boolean {
  const at = view.state.doc.lineAt(view.state.selection.main.head).from;
  view.dispatch({ effects: toggleBreakpoint.of(at) });
  return true;
}

export function marks(breakpointsChanged: () => void): Extension {
  return [
    currentField, linkedField, faultField, breakpointField, countField,
    gutter({
      class: "cm-breakpoints",
      markers: (view) => view.state.field(breakpointField),
      initialSpacer: () => breakpoint,
      domEventHandlers: {
        mousedown(view, line) {
          view.dispatch({ effects: toggleBreakpoint.of(line.from) });
          return true;
        },
      },
    }),
    EditorView.updateListener.of((update) => {
      if (update.startState.field(breakpointField) !== update.state.field(breakpointField) && !update.docChanged) breakpointsChanged();
    }),
  ];
}

/** The margin with counts: to the right of the line numbers. */
export function counts(): Extension {
  return gutter({ class: "cm-counts", markers: (view) => view.state.field(countField) });
}
