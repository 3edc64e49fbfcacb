// The number lab and the tensor lab.
import { expect, test, type Page } from "@playwright/test";
import { open } from "./page";

async function lab(page: Page, name: string): Promise<void> {
  await open(page);
  await page.locator(`#views [data-name="${name}"]`).click();
}

test("bits are switched, values read, and the number line follows", async ({ page }) => {
  await lab(page, "numbers");
  const facts = page.locator(".facts");
  await expect(facts).toContainText("0x3a");
  await page.getByRole("button", { name: /^bit 7/ }).click();
  await expect(facts).toContainText("0xba");
  await page.getByLabel("Format", { exact: true }).first().selectOption("f16");
  await page.getByLabel("Value, or bits with 0x").fill("65504");
  await page.getByLabel("Value, or bits with 0x").press("Enter");
  await expect(facts).toContainText("0x7bff");
  await page.getByRole("button", { name: "Next below" }).click();
  await expect(facts).toContainText("0x7bfe");
  await expect(page.locator(".number-line svg")).toBeVisible();
  await page.getByLabel("Value, or bits with 0x").fill("apple");
  await page.getByLabel("Value, or bits with 0x").press("Enter");
  await expect(page.locator(".lab-card .problem").first()).not.toBeEmpty();
});

test("every format has its bits and its line", async ({ page }) => {
  await lab(page, "numbers");
  const options = page.getByLabel("Format", { exact: true }).first().locator("option");
  await expect(options.nth(20)).toBeAttached();
  const formats = await options.evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
  for (const format of formats) {
    await page.getByLabel("Format", { exact: true }).first().selectOption(format);
    await expect(page.locator(".lab-card").first()).toContainText(`${format}: `);
    await expect(page.locator(".bit").nth(1)).toBeAttached();
    await expect(page.locator(".number-line .tick").nth(2)).toBeAttached();
  }
});

test("roundings are side by side", async ({ page }) => {
  await lab(page, "numbers");
  await page.getByLabel("From").selectOption("f32");
  await page.getByLabel("To", { exact: true }).selectOption("bf16");
  await page.getByLabel("Value", { exact: true }).fill("1.005");
  const table = page.getByRole("region", { name: "results by form" });
  await expect(table).toContainText("rn.bf16.f32");
  await expect(table).toContainText("rz.bf16.f32");
  await expect(table).toContainText("1.0078125");
  await page.getByLabel("Form", { exact: true }).fill("rn.satfinite.e4m3x2.f32");
  await page.getByLabel("Operands, with spaces between them").fill("1.1 -1000");
  await expect(page.getByRole("region", { name: "result of the form" })).toContainText("-448");
  await page.getByLabel("Form", { exact: true }).fill("rn.apple");
  await expect(page.locator(".lab-card .problem").last()).not.toBeEmpty();
});

test("blocks are drawn with their scales", async ({ page }) => {
  await lab(page, "numbers");
  await expect(page.locator(".block")).toHaveCount(1);
  await expect(page.locator(".block .scale")).toContainText("1");
  await page.locator(".lab-card", { hasText: "Block-scaled" }).getByLabel("Format").selectOption("nvfp4");
  await expect(page.locator(".block")).toHaveCount(2);
  await expect(page.locator(".blocks")).toContainText("16 to a block");
});

test("a tensor map is judged and its walk drawn", async ({ page }) => {
  await lab(page, "tensors");
  await expect(page.locator(".verdict")).toContainText("legal on sm_90");
  await expect(page.locator(".walk-about")).toContainText("512 of 512");
  const picture = await page.locator(".walk canvas").last().screenshot();
  await page.getByLabel("Swizzle").selectOption("none");
  await expect(page.locator(".copy-facts")).toContainText("8");
  await expect.poll(async () => (await page.locator(".walk canvas").last().screenshot()).equals(picture)).toBe(false);
  await page.click("#walk-play");
  await expect(page.locator("#walk-play")).toHaveText("Pause");
  await expect(page.locator("#walk-play")).toHaveText("Play");
  await page.getByLabel("box 0", { exact: true }).fill("65");
  await expect(page.locator(".verdict")).toContainText("broken");
  await expect(page.locator(".findings .card").first()).toContainText("E10");
});

for (const name of ["plain", "edge", "im2col", "interleave", "broken"]) {
  test(`the map ${name}`, async ({ page }) => {
    await lab(page, "tensors");
    await page.getByLabel("Begin with").selectOption(name);
    if (name === "broken") await expect(page.locator(".findings .card")).toHaveCount(4);
    else {
      await expect(page.locator(".verdict")).toContainText("legal on sm_90");
      await expect(page.locator(".walk-about")).toContainText("element (");
    }
  });
}

test("tensor memory is drawn for each shape", async ({ page }) => {
  await lab(page, "tensors");
  const card = page.locator(".lab-card", { hasText: "Tensor memory" });
  await expect(card).toContainText("16x256b.x2");
  for (const shape of ["32x32b", "16x64b", "16x128b", "16x32bx2"]) {
    await card.getByLabel("Shape").selectOption(shape);
    await expect(card).toContainText(`${shape}.x2:`);
  }
});
