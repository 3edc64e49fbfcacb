// What tests of the page share.
import { expect, type Page } from "@playwright/test";

/** Opens the page and waits for the engine. Errors of the page fail the test. */
export async function open(page: Page, fragment = ""): Promise<void> {
  page.on("pageerror", (error) => { throw error; });
  await page.goto(fragment);
  await ready(page);
}

export async function ready(page: Page): Promise<void> {
  await expect(page.locator("html")).toHaveAttribute("data-ready", "true");
}

/** Takes an example and waits until its text is checked. */
export async function example(page: Page, name: string): Promise<void> {
  await page.selectOption("#example", name);
  // The list of kernels is empty until the engine has read the example.
  await expect(page.locator(".kernel-choice option")).not.toHaveCount(0);
  await expect(page.locator("#check-status")).toHaveText("no errors");
}

export async function pane(page: Page, name: string): Promise<void> {
  await page.locator(`#kernel-tabs [data-name="${name}"]`).click();
}

/** Puts a text into the editor. */
export async function type(page: Page, text: string): Promise<void> {
  const content = page.locator(".cm-content");
  await content.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

export async function run(page: Page): Promise<void> {
  await pane(page, "run");
  await page.click("#run");
}

/** The cells of a table of numbers. */
export async function cells(page: Page, label: string): Promise<string[]> {
  return page.getByRole("region", { name: label, exact: true }).locator("td:not(.none)").allTextContents();
}

export const small = `.version 8.0
.target sm_80
.address_size 64
.visible .entry small(.param .u64 out)
{
    .reg .b64 %p;
    .reg .b32 %t;
    ld.param.u64 %p, [out];
    mov.u32 %t, %tid.x;
    st.global.u32 [%p], %t;
    ret;
}
`;
