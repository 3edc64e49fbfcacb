// Light and dark: as the system says, until the reader chooses.

type Theme = "light" | "dark";
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners: ((theme: Theme) => void)[] = [];

function stored(): Theme | undefined {
  try {
    const value = localStorage.getItem("theme");
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined;
  }
}

export function theme(): Theme {
  return stored() ?? chosen ?? (dark.matches ? "dark" : "light");
}

let chosen: Theme | undefined;

function show(button: HTMLButtonElement): void {
  const now = theme();
  document.documentElement.dataset.theme = now;
  button.setAttribute("aria-pressed", String(now === "dark"));
  for (const listener of listeners) listener(now);
}

/** Calls `listener` when the theme changes. */
export function onTheme(listener: (theme: Theme) => void): void {
  listeners.push(listener);
}

/** Makes `button` the switch. */
export function themeSwitch(button: HTMLButtonElement): void {
  button.addEventListener("click", () => {
    chosen = theme() === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      // Pages from files may have no storage: the choice then lasts as long as the page.
    }
    show(button);
  });
  dark.addEventListener("change", () => show(button));
  show(button);
}
