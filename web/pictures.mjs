// Makes the pictures of docs/explorer.md from the page in dist/: node pictures.mjs. CHROMIUM is the browser.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";

const here = dirname(fileURLToPath(import.meta.url));
const images = join(here, "../docs/images");
const server = spawn(process.execPath, [join(here, "serve.mjs"), "4824"]);
await once(server.stdout, "data");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

async function picture(name, fragment, size, act) {
  const page = await browser.newPage({ viewport: size, colorScheme: "light", reducedMotion: "reduce" });
  await page.goto(`http://127.0.0.1:4824/${fragment}`);
  await page.waitForSelector("html[data-ready]");
  await page.waitForTimeout(300);
  await act(page);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(images, `${name}.png`) });
  await page.close();
}

const step = async (page, by, times) => {
  await page.click("#step-start");
  await page.waitForSelector("#step-warp:enabled");
  for (let time = 0; time < times; time += 1) {
    await page.click(`#step-${by}`);
    await page.waitForSelector("#step-warp:enabled");
  }
};
try {
  await picture("explorer", "#example=reduction", { width: 1280, height: 860 }, async (page) => {
    await step(page, "any", 38);
    await page.locator('[data-register="%x"] .register-name').click();
  });
  await picture("explorer-banks", "#example=bank-conflicts", { width: 1280, height: 800 }, async (page) => {
    await page.locator(".cm-scroller").evaluate((element) => { element.scrollTop = 400; });
    await page.locator(".cm-line", { hasText: "ld.shared.b32 %word" }).click();
    await page.keyboard.press("F9");
    await step(page, "any", 0);
    await page.click("#step-continue");
    await page.waitForSelector("svg.banks");
    await page.locator(".access").scrollIntoViewIfNeeded();
  });
  await picture("explorer-run", "#example=race", { width: 1280, height: 720 }, async (page) => {
    await page.click("#run");
    await page.waitForSelector(".finding");
  });
  await picture("explorer-numbers", "", { width: 1280, height: 1060 }, async (page) => {
    await page.click("#tab-numbers");
    await page.waitForSelector(".block");
  });
  await picture("explorer-tensors", "", { width: 1280, height: 960 }, async (page) => {
    await page.click("#tab-tensors");
    await page.waitForSelector("#walk-play");
    await page.getByLabel("element of the walk").fill("300");
  });
} finally {
  await browser.close();
  server.kill();
}
