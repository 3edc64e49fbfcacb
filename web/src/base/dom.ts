// Small helpers to make elements.

type Child = Node | string | number | null | undefined | false;
type Attributes = { [name: string]: unknown };

function apply(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (name === "style" && typeof value === "object") {
      for (const [key, part] of Object.entries(value as Record<string, string>)) {
        (element as HTMLElement).style.setProperty(key, part);
      }
    } else if (name === "value" && "value" in element) {
      (element as HTMLInputElement).value = String(value);
    } else if (name === "checked") {
      (element as HTMLInputElement).checked = true;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** An HTML element with attributes, `on…` listeners and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  append(element, children);
  apply(element, attributes);
  return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, attributes);
  append(element, children);
  return element;
}

/** Puts `children` in place of what `element` has. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** The element with this id, which index.html or a pane has made. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found as T;
}

/** Calls `action` once, when `wait` milliseconds have passed without another call. */
export function debounce<A extends unknown[]>(wait: number, action: (...args: A) => void): (...args: A) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), wait);
  };
}

let ids = 0;
/** An id that no other element has, for labels. */
export function newId(prefix: string): string {
  ids += 1;
  return `${prefix}-${ids}`;
}

/** A labelled control: the label above or beside the input, as the style says. */
export function field(label: string, control: HTMLElement, hint?: string): HTMLElement {
  if (!control.id) control.id = newId("field");
  return h("div", { class: "field" }, h("label", { for: control.id, title: hint }, label), control);
}

/** A list to choose from. */
export function select(
  options: readonly (readonly [value: string, text: string])[], value: string, change: (value: string) => void,
  attributes: Attributes = {},
): HTMLSelectElement {
  const element = h("select", attributes, ...options.map(([key, text]) => h("option", { value: key }, text)));
  element.value = value;
  element.addEventListener("change", () => change(element.value));
  return element;
}

/** The head of a table; names that begin with `#` are of columns of numbers. */
export function head(...names: string[]): HTMLElement {
  return h("thead", {}, h("tr", {}, ...names.map((name) => name.startsWith("#")
    ? h("th", { scope: "col", class: "number" }, name.slice(1)) : h("th", { scope: "col" }, name))));
}
