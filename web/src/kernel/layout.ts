// The layout pane: where variables are, as strips of memory and as tables.
import { CallError, engine } from "../base/engine";
import { fill, h, head } from "../base/dom";
import type { Layout } from "../engine-types";

interface Variable {
  name: string;
  space: string;
  function: string | null;
  type: string;
  dims: number[];
  align: number;
  size: number;
  offset: number | null;
  init: string | null;
  count?: number;
}

interface Region {
  title: string;
  variables: Variable[];
  /** How many bytes there are in all, if known. */
  bytes: number;
}

const order = ["param", "shared", "local", "global", "const"];

function regions(layout: Layout): Region[] {
  const found = new Map<string, Region>();
  const kernels = new Set(layout.kernels.map((kernel) => String(kernel.name)));
  for (const raw of layout.variables) {
    const variable = raw as unknown as Variable;
    if (variable.offset === null || variable.space === "reg") continue;
    const where = variable.function && variable.space !== "global" && variable.space !== "const" ? ` of ${variable.function}` : "";
    const title = `.${variable.space}${where}`;
    const region = found.get(title) ?? { title, variables: [], bytes: 0 };
    region.variables.push(variable);
    region.bytes = Math.max(region.bytes, variable.offset + variable.size);
    found.set(title, region);
  }
  const rank = (region: Region): number => {
    const first = region.variables[0];
    return order.indexOf(first?.space ?? "") + (first?.function && !kernels.has(first.function) ? 10 : 0);
  };
  for (const region of found.values()) region.variables.sort((a, b) => (a.offset ?? 0) - (b.offset ?? 0));
  return [...found.values()].sort((a, b) => rank(a) - rank(b));
}

const typeOf = (variable: Variable): string => `.${variable.type}${variable.dims.map((size) => `[${size === 0 ? "" : size}]`).join("")}`;

/** Variables of a space of several functions overlap: they are put on as few rows as keep them apart. */
function rows(variables: Variable[]): Variable[][] {
  const made: Variable[][] = [];
  for (const variable of variables) {
    const free = made.find((row) => {
      const last = row[row.length - 1];
      return last !== undefined && (last.offset ?? 0) + last.size <= (variable.offset ?? 0) && last.size > 0;
    });
    if (free) free.push(variable);
    else made.push([variable]);
  }
  return made;
}

function strip(row: Variable[], end: number): HTMLElement {
  const parts: HTMLElement[] = [];
  let at = 0;
  const gap = (from: number, to: number): void => {
    if (to > from) {
      parts.push(h("span", { class: "segment padding", style: { "flex-grow": weight(to - from) }, title: `${to - from} bytes of padding at ${from}` },
        h("span", { class: "segment-size" }, String(to - from))));
    }
  };
  row.forEach((variable, index) => {
    const offset = variable.offset ?? 0;
    gap(at, offset);
    parts.push(h("span", {
      class: `segment tone-${index % 4}`, style: { "flex-grow": weight(variable.size) },
      title: `${variable.name} ${typeOf(variable)}: ${variable.size} bytes at ${offset}, aligned to ${variable.align}`,
    }, h("span", { class: "segment-name" }, variable.name), h("span", { class: "segment-size" }, `${offset}`)));
    at = Math.max(at, offset + variable.size);
  });
  return h("div", { class: "strip", role: "img", "aria-label": `${row.map((one) => `${one.name} at ${one.offset}, ${one.size} bytes`).join("; ")}; end at ${end}` },
    ...parts, h("span", { class: "strip-end" }, String(end)));
}

const weight = (bytes: number): string => Math.max(1, Math.log2(bytes + 1)).toFixed(2);

function initial(variable: Variable): string {
  if (!variable.init) return "";
  const bytes = variable.init.match(/../g) ?? [];
  return bytes.slice(0, 16).join(" ") + (bytes.length > 16 ? " …" : "");
}

function table(region: Region): HTMLElement {
  return h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": `variables in ${region.title}` },
    h("table", { class: "plain compact" },
      head("name", "type", "#offset", "#bytes", "#align", "initial bytes"),
      h("tbody", {}, ...region.variables.map((variable) => h("tr", {},
        h("th", { scope: "row" }, variable.name), h("td", {}, h("code", {}, typeOf(variable))),
        h("td", { class: "number" }, String(variable.offset)), h("td", { class: "number" }, String(variable.size)),
        h("td", { class: "number" }, String(variable.align)), h("td", {}, h("code", {}, initial(variable))))))));
}

export class LayoutPane {
  readonly element = h("div", { class: "pane-body layout-pane" });

  async update(text: string): Promise<void> {
    try {
      const { layout } = await engine.call("layout", { text });
      this.draw(layout);
    } catch (error) {
      if (error instanceof CallError) fill(this.element, h("p", { class: "quiet" }, `There is no layout while the text has errors: ${error.message}`));
    }
  }

  private draw(layout: Layout): void {
    const all = regions(layout);
    const kernels = layout.kernels.map((kernel) => h("tr", {},
      h("th", { scope: "row" }, String(kernel.name)),
      ...["param_bytes", "shared_static", "local_bytes"].map((key) => h("td", { class: "number" }, String(kernel[key] ?? "")))));
    fill(this.element,
      h("p", { class: "quiet" }, `PTX ${layout.version}, ${layout.target}, addresses of ${layout.address_size} bits. Widths grow with the logarithm of the size; hatched parts are padding.`),
      kernels.length > 0 && h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "sizes of kernels" }, h("table", { class: "plain compact" },
        head("kernel", "#parameter bytes", "#shared bytes", "#local bytes"),
        h("tbody", {}, ...kernels))),
      ...all.map((region) => h("section", { class: "region", "aria-label": region.title },
        h("h3", {}, region.title, h("span", { class: "quiet" }, ` ${region.bytes} bytes`)),
        ...rows(region.variables).map((row) => strip(row, region.bytes)), table(region))),
      all.length === 0 && h("p", { class: "quiet" }, "The module has no variables in memory."));
  }
}
