// The bar between the text and its panes: dragged, or moved with the arrow keys.

const least = 25;
const most = 75;

export function splitter(bar: HTMLElement, view: HTMLElement): void {
  let part = 50;
  const set = (next: number): void => {
    part = Math.max(least, Math.min(most, next));
    view.style.setProperty("--split", `${part}%`);
    bar.setAttribute("aria-valuenow", String(Math.round(part)));
  };
  bar.setAttribute("aria-valuemin", String(least));
  bar.setAttribute("aria-valuemax", String(most));
  set(46);
  bar.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
  });
  bar.addEventListener("pointermove", (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    const { left, width } = view.getBoundingClientRect();
    set(((event.clientX - left) / width) * 100);
  });
  bar.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(part + by);
  });
}
