// The page as a whole: links, keys, themes, widths, access for all, size and speed.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { deflateRawSync, gzipSync, inflateRawSync } from "node:zlib";
import { expect, test, type Page } from "@playwright/test";
import { example, open, pane, ready, run, small, type } from "./page";

const dist = fileURLToPath(new URL("../dist", import.meta.url));
const axe = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");

/** The state that the address of a page carries. */
function carried(page: Page): unknown {
  const packed = page.url().split("#1.")[1];
  return packed === undefined ? null : JSON.parse(inflateRawSync(Buffer.from(packed, "base64url")).toString());
}

test("a link carries the text, the launch and the pane", async ({ page, context }) => {
  await open(page);
  await type(page, small);
  await expect(page.locator("#check-status")).toHaveText("no errors");
  await page.getByLabel("Grid x").fill("3");
  await page.getByLabel("Grid x").press("Tab");
  await pane(page, "layout");
  // The address follows a moment after the last change.
  await expect.poll(() => carried(page)).toMatchObject({ kernel: { launch: { grid: [3] }, pane: "layout" } });
  const other = await context.newPage();
  await other.goto(page.url());
  await ready(other);
  await expect(other.locator(".cm-content")).toContainText(".visible .entry small");
  await expect(other.locator("#tab-layout")).toHaveAttribute("aria-selected", "true");
  await pane(other, "run");
  await expect(other.getByLabel("Grid x")).toHaveValue("3");
});

test("links of the labs, and damaged ones", async ({ page, context }) => {
  await open(page);
  await page.locator('#views [data-name="numbers"]').click();
  await page.getByRole("button", { name: /^bit 0/ }).click();
  await expect(page.locator(".facts")).toContainText("0x3b");
  const other = await context.newPage();
  // The address follows a moment after the last change.
  await expect(async () => {
    await other.goto("about:blank");
    await other.goto(page.url());
    await ready(other);
    await expect(other.locator(".facts")).toContainText("0x3b", { timeout: 4000 });
  }).toPass();
  for (const damaged of ["#1.AAAA", "#1.", "#%%%", "#example=apple", "#1.q1YqS8wpTVWyUlLKSMzJyVeyUqoFAA"]) {
    const third = await context.newPage();
    await third.goto(`/${damaged}`);
    await ready(third);
    await expect(third.locator(".cm-content")).toContainText(".entry");
    await third.close();
  }
});

test("links whose parts are of the wrong kind", async ({ page }) => {
  const states: unknown[] = [
    { view: "kernel", kernel: { text: "// apple", launch: { kernel: 5, grid: "x", block: [1], arguments: [{}] }, pane: "run" } },
    { view: "kernel", kernel: { text: 3 } },
    { view: "apple" },
    { view: "numbers", numbers: { bits: { format: "apple", bits: [] }, blocks: { values: "x" }, convert: null } },
    { view: "tensors", tensors: { map: { dims: "x", box: [{}], at: [1, 2, 3, 4, 5, 6, 7], kind: 4, strides: [1, 2, 3] }, tmem: 7 } },
  ];
  for (const state of states) {
    await page.goto("about:blank");
    await page.goto(`/#1.${deflateRawSync(JSON.stringify(state)).toString("base64url")}`);
    await ready(page);
    await expect(page.locator(".view:not([hidden])")).toHaveCount(1);
    await expect(page.locator(".view:not([hidden])")).not.toBeEmpty();
  }
  await expect(page.locator(".verdict")).toContainText("broken");
});

test("the button copies the link", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, "#example=shuffle");
  await page.click("#share");
  await expect(page.locator("#share")).toHaveText("Copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("#1.");
});

test("everything is reached by keys", async ({ page }) => {
  await open(page);
  await page.keyboard.press("Tab");
  await expect(page.locator(".skip")).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(page.locator("#tab-kernel")).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("#tab-numbers")).toBeFocused();
  await expect(page.locator("#view-numbers")).toBeVisible();
  await page.keyboard.press("Home");
  await expect(page.locator("#view-kernel")).toBeVisible();
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+Enter");
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("done");
  // Escape, then Tab leaves the text.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  await expect(page.locator("#splitter")).toBeFocused();
  const before = await page.locator("#splitter").getAttribute("aria-valuenow");
  await page.keyboard.press("ArrowRight");
  expect(await page.locator("#splitter").getAttribute("aria-valuenow")).not.toBe(before);
  await page.keyboard.press("Tab");
  await expect(page.locator("#tab-run")).toBeFocused();
  await page.keyboard.press("F10");
  await expect(page.locator(".cm-current")).toBeVisible();
  await page.keyboard.press("F10");
  await page.keyboard.press("Shift+F10");
  await page.locator("#help-button").focus();
  await page.keyboard.press("Enter");
  await expect(page.locator("#help")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.locator("#help")).toBeHidden();
});

test("dark mode follows the system and the switch", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page);
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  await page.click("#theme");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  expect(await ground()).not.toBe(dark);
  await page.reload();
  await ready(page);
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
});

async function views(page: Page, seen: (name: string) => Promise<void>): Promise<void> {
  await example(page, "divergence");
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("done");
  await seen("run");
  await example(page, "bank-conflicts");
  await pane(page, "step");
  await page.click("#step-start");
  await expect(page.locator(".register-row").first()).toBeVisible();
  await page.click("#step-warp");
  await expect(page.locator("#step-warp")).toBeEnabled();
  await seen("step");
  for (const name of ["layout", "ir"]) {
    await pane(page, name);
    await expect(page.locator(`#panel-${name} section`).first()).toBeVisible();
    await seen(name);
  }
  await page.locator('#views [data-name="numbers"]').click();
  await expect(page.locator(".block").first()).toBeVisible();
  await seen("numbers");
  await page.locator('#views [data-name="tensors"]').click();
  await expect(page.locator(".walk-about")).toContainText("element (");
  await seen("tensors");
}

test("a phone's width is enough", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page);
  await views(page, async (name) => {
    const wide = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);
    await expect.poll(wide, `${name} scrolls sideways`).toBeLessThanOrEqual(360);
  });
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page }) => {
    test.setTimeout(480_000);
    await page.emulateMedia({ colorScheme: scheme });
    await open(page);
    await page.evaluate(axe);
    await views(page, async (name) => {
      const found = await page.evaluate(async () => {
        const runner = (globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }).axe;
        return (await runner.run()).violations.map((one) => ({ id: one.id, first: one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`) }));
      });
      expect(found, name).toEqual([]);
    });
  });
}

test("nothing leaves the page, and it is at most 3 MB", async ({ page }) => {
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  await open(page);
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("done");
  const loaded = urls.filter((url) => !/^(data|blob):/.test(url));
  expect(loaded.every((url) => url.startsWith("http://127.0.0.1:"))).toBe(true);
  const total = ["index.html", "style.css", "explorer.js", "engine.bin"].reduce((sum, name) => sum + gzipSync(readFileSync(join(dist, name))).length, 0);
  console.log(`compressed: ${total} bytes`);
  expect(total).toBeLessThan(3_000_000);
  expect(readdirSync(dist)).toContain("licences.txt");
});

test("the first paint comes within a second", async ({ page }) => {
  // The least of three: other programs on the machine may be in the way once.
  const paints: number[] = [];
  for (let load = 0; load < 3; load += 1) {
    await page.goto("about:blank");
    await page.goto("/");
    await ready(page);
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity));
  }
  const least = Math.min(...paints);
  console.log(`first contentful paint: ${least.toFixed(0)} ms`);
  expect(least).toBeLessThan(1000);
});

test("the page works from a file", async ({ page }) => {
  await page.goto(pathToFileURL(join(dist, "index.html")).href);
  await ready(page);
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("done");
});
