// The little Markdown that hovers have: paragraphs, code blocks, lists, tables as text, `code`, **bold**, *italic*, links as text.
import { h } from "../base/dom";

function inline(target: HTMLElement, text: string): void {
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|_([^_]+)_(?!\w)|\[([^\]]+)\]\([^)]*\)/g;
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    target.append(text.slice(last, found.index));
    const [whole, code, bold, star, underscore, link] = found;
    if (code !== undefined) target.append(h("code", {}, code));
    else if (bold !== undefined) target.append(h("strong", {}, bold));
    else if (link !== undefined) target.append(link);
    else target.append(h("em", {}, star ?? underscore ?? ""));
    last = found.index + whole.length;
  }
  target.append(text.slice(last));
}

/** A sentence with `code` in it, as elements. */
export function prose(text: string): HTMLElement {
  const element = h("span");
  inline(element, text);
  return element;
}

function table(lines: string[]): HTMLElement {
  const cells = (line: string): string[] => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const [head, , ...body] = lines;
  const row = (line: string, tag: "th" | "td"): HTMLElement =>
    h("tr", {}, ...cells(line).map((cell) => { const element = h(tag); inline(element, cell); return element; }));
  return h("table", {}, h("thead", {}, row(head ?? "", "th")), h("tbody", {}, ...body.map((line) => row(line, "td"))));
}

/** Markdown as elements. Nothing of it is taken as HTML. */
export function markdown(text: string): HTMLElement {
  const root = h("div", { class: "markdown" });
  const lines = text.split("\n");
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    if (line.startsWith("```")) {
      const end = lines.findIndex((other, place) => place > at && other.startsWith("```"));
      const stop = end < 0 ? lines.length : end;
      root.append(h("pre", {}, lines.slice(at + 1, stop).join("\n")));
      at = stop + 1;
    } else if (line.startsWith("|") && /^\|[\s:|-]+$/.test(lines[at + 1] ?? "")) {
      let end = at;
      while ((lines[end] ?? "").startsWith("|")) end += 1;
      root.append(table(lines.slice(at, end)));
      at = end;
    } else if (/^\s*[-*] /.test(line)) {
      const list = h("ul");
      for (; /^\s*[-*] /.test(lines[at] ?? ""); at += 1) {
        const item = h("li");
        inline(item, (lines[at] ?? "").replace(/^\s*[-*] /, ""));
        list.append(item);
      }
      root.append(list);
    } else if (/^#+ /.test(line)) {
      root.append(h("p", {}, h("strong", {}, line.replace(/^#+ /, ""))));
      at += 1;
    } else if (/^(-{3,}|\*{3,})$/.test(line)) {
      root.append(h("hr"));
      at += 1;
    } else if (line.trim() === "") {
      at += 1;
    } else {
      let end = at;
      while ((lines[end] ?? "").trim() !== "" && !(lines[end] ?? "").startsWith("```") && !(end > at && /^([-*] |\||#)/.test(lines[end] ?? ""))) end += 1;
      const paragraph = h("p");
      inline(paragraph, lines.slice(at, end).join(" "));
      root.append(paragraph);
      at = end;
    }
  }
  return root;
}
