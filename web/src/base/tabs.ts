// Tabs after the pattern of the ARIA Authoring Practices: one tab stop, arrow keys move and select.

export interface Tabs {
  select(name: string, focus?: boolean): void;
  current(): string;
}

/**
 * Makes tabs of the buttons in `list`, each of which names its panel by `data-panel` (the panel's id).
 * `shown` is called with the name (`data-name`) of each tab that is selected.
 */
export function tabs(list: HTMLElement, shown: (name: string) => void): Tabs {
  const buttons = [...list.querySelectorAll<HTMLButtonElement>("button[data-panel]")];
  list.setAttribute("role", "tablist");
  let current = "";

  for (const button of buttons) {
    const panel = document.getElementById(button.dataset.panel ?? "");
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", button.dataset.panel ?? "");
    if (!button.id) button.id = `tab-${button.dataset.name}`;
    panel?.setAttribute("role", "tabpanel");
    panel?.setAttribute("aria-labelledby", button.id);
    button.addEventListener("click", () => select(button.dataset.name ?? ""));
  }

  function select(name: string, focus = false): void {
    const chosen = buttons.find((button) => button.dataset.name === name) ?? buttons[0];
    if (!chosen) return;
    for (const button of buttons) {
      const selected = button === chosen;
      button.setAttribute("aria-selected", String(selected));
      button.tabIndex = selected ? 0 : -1;
      const panel = document.getElementById(button.dataset.panel ?? "");
      if (panel) panel.hidden = !selected;
    }
    if (focus) chosen.focus();
    const now = chosen.dataset.name ?? "";
    if (now === current) return;
    current = now;
    shown(current);
  }

  list.addEventListener("keydown", (event) => {
    const at = buttons.findIndex((button) => button.dataset.name === current);
    const visible = buttons.filter((button) => button.offsetParent !== null);
    const place = visible.indexOf(buttons[at] as HTMLButtonElement);
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: visible.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = visible[(to + visible.length) % visible.length];
    if (next) select(next.dataset.name ?? "", true);
  });

  return { select, current: () => current };
}
