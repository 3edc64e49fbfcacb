// A table of numbers, by pages: buffers before and after a run, and memory.
import { fill, h, newId } from "./dom";

export interface NumberTable {
  values: readonly string[];
  label: string;
  /** Indices that differ from what they were. */
  changed?: ReadonlySet<number>;
  /** Indices that the next instruction touches. */
  touched?: ReadonlySet<number>;
  /** Takes a new value; without it the table is for reading only. */
  edit?: (index: number, text: string) => void;
  /** What a row begins with; without it, the index of its first element. */
  rowName?: (index: number) => string;
  columns?: number;
}

const rowsOfPage = 16;

export function columnsFor(width: number): number {
  return width < 560 ? 4 : 8;
}

/** Draws the table into `target`. `page` is the page that was shown before. */
export function numberTable(target: HTMLElement, table: NumberTable, page = 0): void {
  const columns = table.columns ?? columnsFor(target.clientWidth || window.innerWidth);
  const size = rowsOfPage * columns;
  const pages = Math.max(1, Math.ceil(table.values.length / size));
  const shown = Math.min(page, pages - 1);
  target.dataset.page = String(shown);
  const body = h("tbody");
  const end = Math.min(table.values.length, (shown + 1) * size);
  for (let start = shown * size; start < end; start += columns) {
    const row = h("tr", {}, h("th", { scope: "row" }, table.rowName?.(start) ?? String(start)));
    for (let index = start; index < start + columns; index += 1) {
      row.append(index < end ? cell(table, index) : h("td", { class: "none" }));
    }
    body.append(row);
  }
  const caption = h("caption", { class: "hidden-text" }, table.label);
  fill(target, h("div", { class: "scroll-x", tabindex: table.edit ? undefined : 0, role: "region", "aria-label": table.label },
    h("table", { class: "numbers" }, caption, body)));
  if (pages > 1) target.append(pager(shown, pages, size, table, (to) => numberTable(target, table, to)));
}

function cell(table: NumberTable, index: number): HTMLElement {
  const value = table.values[index] ?? "";
  const classes = [table.changed?.has(index) && "changed", table.touched?.has(index) && "touched"].filter(Boolean).join(" ");
  const edit = table.edit;
  if (!edit) return h("td", { class: classes, title: `[${index}] ${value}` }, value);
  const input = h("input", {
    class: "cell", value, "aria-label": `${table.label}, element ${index}`, spellcheck: "false", autocomplete: "off", inputmode: "text",
    onchange: () => edit(index, input.value.trim()),
    onkeydown: (event: KeyboardEvent) => {
      if (event.key === "Enter") input.blur();
      if (event.key === "Escape") { input.value = value; input.blur(); }
      const to = { ArrowUp: -(table.columns ?? 8), ArrowDown: table.columns ?? 8 }[event.key];
      if (to === undefined) return;
      const row = input.closest("tr");
      const place = row ? [...row.cells].indexOf(input.closest("td") as HTMLTableCellElement) : 0;
      const other = (to < 0 ? row?.previousElementSibling : row?.nextElementSibling) as HTMLTableRowElement | null;
      other?.cells[place]?.querySelector("input")?.focus();
    },
  });
  return h("td", { class: classes }, input);
}

function pager(page: number, pages: number, size: number, table: NumberTable, go: (page: number) => void): HTMLElement {
  const id = newId("pager");
  const first = page * size;
  const last = Math.min(table.values.length, first + size) - 1;
  return h("div", { class: "pager", role: "group", "aria-label": `pages of ${table.label}` },
    h("button", { type: "button", disabled: page === 0, onclick: () => go(page - 1), "aria-label": "previous page" }, "‹"),
    h("span", { id }, `${first} to ${last} of ${table.values.length}`),
    h("button", { type: "button", disabled: page === pages - 1, onclick: () => go(page + 1), "aria-label": "next page" }, "›"));
}
