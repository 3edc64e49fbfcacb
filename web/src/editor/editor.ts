// The editor: CodeMirror with the engine's diagnostics, hover and completion.
import {
  autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, snippet,
  type Completion as CmCompletion, type CompletionContext, type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, toggleTabFocusMode } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Action, type Diagnostic as CmDiagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, type Text } from "@codemirror/state";
import {
  drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers, tooltips,
} from "@codemirror/view";
import { CallError, engine } from "../base/engine";
import { debounce } from "../base/dom";
import type { Completion, Diagnostic, Position, Range, TextEdit } from "../engine-types";
import { ptxLanguage } from "./language";
import { markdown } from "./markdown";
import { breakpointLines, counts, marks, setLinkedLines, toggleBreakpointAtCursor } from "./marks";

/** The offset of a position; positions past the end are at the end. */
export function offset(doc: Text, position: Position): number {
  if (position.line >= doc.lines) return doc.length;
  const line = doc.line(position.line + 1);
  return Math.min(line.from + position.character, line.to);
}

function position(doc: Text, at: number): Position {
  const line = doc.lineAt(at);
  return { line: line.number - 1, character: at - line.from };
}

export interface EditorEvents {
  /** The text changed, and was checked: what is wrong with it. */
  checked(diagnostics: Diagnostic[]): void;
  changed(): void;
  cursor(line: number): void;
  breakpoints(lines: number[]): void;
  /** Ctrl-Enter. */
  run(): void;
}

export class Editor {
  readonly view: EditorView;
  diagnostics: Diagnostic[] = [];
  private version = 0;
  private readonly check = debounce(120, () => void this.checkNow());

  constructor(parent: HTMLElement, private readonly events: EditorEvents) {
    this.view = new EditorView({ parent, state: this.state("") });
  }

  private state(text: string): EditorState {
    return EditorState.create({
      doc: text,
      extensions: [
        marks(() => this.events.breakpoints(this.breakpoints())),
        lineNumbers(),
        counts(),
        lintGutter(),
        history(),
        drawSelection(),
        indentUnit.of("    "),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSelectionMatches(),
        ptxLanguage(),
        tooltips({ parent: document.body }),
        hoverTooltip((view, at) => this.hover(view, at), { hoverTime: 250 }),
        autocompletion({ override: [(context) => this.complete(context)], icons: false }),
        EditorView.contentAttributes.of({ "aria-label": "PTX", tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
        keymap.of([
          { key: "Mod-Enter", run: () => { this.events.run(); return true; } },
          { key: "F9", run: toggleBreakpointAtCursor },
          { key: "Shift-Alt-f", run: () => { void this.format(); return true; } },
          { key: "Ctrl-m", mac: "Shift-Alt-m", run: toggleTabFocusMode },
          ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap,
          indentWithTab, ...defaultKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) {
            this.version += 1;
            this.events.changed();
            this.check();
          }
          if (update.selectionSet || update.docChanged) {
            this.events.cursor(update.state.doc.lineAt(update.state.selection.main.head).number - 1);
          }
        }),
      ],
    });
  }

  text(): string {
    return this.view.state.doc.toString();
  }

  /** Puts another text in, with a new history. */
  setText(text: string): void {
    this.view.setState(this.state(text));
    this.version += 1;
    this.events.changed();
    void this.checkNow();
  }

  breakpoints(): number[] {
    return breakpointLines(this.view.state);
  }

  async checkNow(): Promise<void> {
    const version = this.version;
    const text = this.text();
    try {
      const { diagnostics } = await engine.call("check", { text });
      if (version !== this.version) return;
      this.diagnostics = diagnostics;
      this.view.dispatch(setDiagnostics(this.view.state, diagnostics.map((one) => this.toCodeMirror(one))));
      this.events.checked(diagnostics);
    } catch (error) {
      // The page says itself that the engine could not be loaded.
      if (error instanceof CallError) throw error;
    }
  }

  private toCodeMirror(one: Diagnostic): CmDiagnostic {
    const doc = this.view.state.doc;
    const from = offset(doc, one.range.start);
    const actions: Action[] = one.fix === null ? [] : [{ name: "Fix", apply: () => this.apply(one.fix ?? []) }];
    return {
      from,
      to: Math.max(from, offset(doc, one.range.end)),
      severity: one.severity,
      source: one.code,
      message: one.help ? `${one.message}\n${one.help}` : one.message,
      actions,
    };
  }

  /** Makes edits that belong together. */
  apply(edits: TextEdit[]): void {
    const doc = this.view.state.doc;
    this.view.dispatch({
      changes: edits.map((edit) => ({ from: offset(doc, edit.range.start), to: offset(doc, edit.range.end), insert: edit.newText })),
    });
  }

  async format(): Promise<void> {
    const version = this.version;
    const { text, changed } = await engine.call("format", { text: this.text() });
    if (!changed || version !== this.version) return;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Shows a range: scrolls to it, selects it and takes the focus. */
  goTo(range: Range, focus = true): void {
    const doc = this.view.state.doc;
    const anchor = offset(doc, range.start);
    this.view.dispatch({
      selection: { anchor, head: Math.max(anchor, offset(doc, range.end)) },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    if (focus) this.view.focus();
  }

  /** Scrolls to a line, without a change of the selection. */
  reveal(line: number): void {
    const doc = this.view.state.doc;
    if (line >= doc.lines) return;
    this.view.dispatch({ effects: EditorView.scrollIntoView(doc.line(line + 1).from, { y: "nearest", yMargin: 60 }) });
  }

  link(lines: number[]): void {
    this.view.dispatch({ effects: setLinkedLines.of(lines) });
    if (lines[0] !== undefined) this.reveal(lines[0]);
  }

  private async hover(view: EditorView, at: number) {
    const doc = view.state.doc;
    const found = await engine.call("hover", { text: doc.toString(), position: position(doc, at) });
    if (!found) return null;
    return {
      pos: found.range ? offset(doc, found.range.start) : at,
      end: found.range ? offset(doc, found.range.end) : at,
      above: true,
      create: () => ({ dom: markdown(found.contents) }),
    };
  }

  private async complete(context: CompletionContext): Promise<CompletionResult | null> {
    const before = context.matchBefore(/[%.$\w:]+/);
    if (!before && !context.explicit) return null;
    const doc = context.state.doc;
    const items = await engine.call("complete", { text: doc.toString(), position: position(doc, context.pos) });
    const first = items[0];
    if (!first || context.aborted) return null;
    const from = offset(doc, first.edit.range.start);
    const options = items
      .filter((item) => offset(doc, item.edit.range.start) === from)
      .map((item, place) => completion(item, place));
    return { from, options, validFor: /^%?[$\w]*$/ };
  }
}

function completion(item: Completion, place: number): CmCompletion {
  const insert = item.edit.newText;
  return {
    label: item.filterText ?? item.label,
    displayLabel: item.label,
    detail: item.detail ?? undefined,
    type: item.kind.toLowerCase(),
    boost: -place / 100,
    info: item.documentation === null ? undefined : () => markdown(item.documentation ?? ""),
    apply: item.snippet ? snippet(insert.replace(/\$(\d+)/g, "$${$1}")) : insert,
  };
}
