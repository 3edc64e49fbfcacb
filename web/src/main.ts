// The page: its views, the engine, links and themes.
import { engine, runner } from "./base/engine";
import { byId, debounce } from "./base/dom";
import { decodeState, encodeState } from "./base/permalink";
import { tabs } from "./base/tabs";
import { themeSwitch } from "./base/theme";
import { examples } from "./examples";
import { KernelView, type KernelState } from "./kernel/view";
import { NumbersView, type NumbersState } from "./numbers/view";
import { TensorsView, type TensorsState } from "./tensors/view";

interface PageState {
  view: string;
  kernel?: KernelState;
  numbers?: NumbersState;
  tensors?: TensorsState;
}

themeSwitch(byId<HTMLButtonElement>("theme"));

let ready = false;
/** The fragment that this page wrote last: others are of links that were opened. */
let written = "";
const remember = debounce(400, () => void writeLink());
const changed = (): void => { if (ready) remember(); };

const kernel = new KernelView(changed);
const numbers = new NumbersView(byId("view-numbers"), changed);
const tensors = new TensorsView(byId("view-tensors"), changed);
const views = tabs(byId("views"), () => {
  if (ready) showLab();
  changed();
});

function state(): PageState {
  const view = views.current();
  if (view === "numbers") return { view, numbers: numbers.state() };
  if (view === "tensors") return { view, tensors: tensors.state() };
  return { view, kernel: kernel.state() };
}

async function writeLink(): Promise<void> {
  written = await encodeState(state());
  history.replaceState(null, "", written);
}

function isState(value: unknown): value is PageState {
  return typeof value === "object" && value !== null && typeof (value as PageState).view === "string";
}

const isNumbers = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "number");

function isArgument(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { buffer, scalar, bytes } = value as Record<string, Record<string, unknown> | undefined>;
  if (buffer) return typeof buffer.format === "string" && (buffer.values === undefined || Array.isArray(buffer.values));
  return scalar ? typeof scalar.type === "string" : typeof bytes?.hex === "string";
}

/** A kernel's state in a link may be damaged or of another version: only a whole one is taken. */
function isKernel(value: KernelState | undefined): value is KernelState {
  const launch = value?.launch;
  return typeof value?.text === "string" && typeof launch === "object" && launch !== null && Array.isArray(launch.arguments)
    && launch.arguments.every(isArgument) && isNumbers(launch.grid) && isNumbers(launch.block)
    && (value.breakpoints === undefined || isNumbers(value.breakpoints)) && (launch.sanitize === undefined || Array.isArray(launch.sanitize));
}

/** Takes the state of the address; without one, the first example. */
async function readLink(): Promise<void> {
  const named = /^#example=([\w-]+)$/.exec(location.hash)?.[1];
  const found = await decodeState(location.hash);
  const wanted = isState(found) ? found : { view: "kernel" };
  const example = examples.find((one) => one.name === named) ?? examples[0];
  if (isKernel(wanted.kernel)) kernel.set(wanted.kernel);
  else if (example && (named !== undefined || kernel.editor.text() === "")) kernel.set({ text: example.text, launch: example.launch, pane: example.pane });
  if (wanted.numbers) numbers.set(wanted.numbers);
  if (wanted.tensors) tensors.set(wanted.tensors);
  views.select(wanted.view);
  if (ready) showLab();
}

/** Makes the lab that is seen, if one is. */
function showLab(): void {
  if (views.current() === "numbers") void numbers.show();
  if (views.current() === "tensors") void tensors.show();
}

byId("share").addEventListener("click", () => {
  void writeLink().then(async () => {
    const button = byId("share");
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "Copied";
    } catch {
      button.textContent = "In the address";
    }
    setTimeout(() => { button.textContent = "Copy link"; }, 1500);
  });
});
byId("help-button").addEventListener("click", () => byId<HTMLDialogElement>("help").showModal());
addEventListener("hashchange", () => { if (location.hash !== written) void readLink(); });

async function start(): Promise<void> {
  const status = byId("engine-status");
  await readLink();
  try {
    await engine.load();
    const about = await engine.call("version", {});
    status.textContent = "";
    status.title = `softwarp ${about.version}, PTX ${about.ptx}`;
    await kernel.load();
    ready = true;
    document.documentElement.dataset.ready = "true";
    showLab();
    setTimeout(() => void runner.load().catch(() => undefined), 300);
  } catch (error) {
    status.className = "bad";
    status.textContent = error instanceof Error ? error.message : String(error);
  }
}

void start();
