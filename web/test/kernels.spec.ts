// The kernel view: the text, every example, runs, steps, layout and IR.
import { expect, test } from "@playwright/test";
import { cells, example, open, pane, run, small, type } from "./page";

test("the text is checked as it is typed, with lines, help and fixes", async ({ page }) => {
  await open(page);
  await type(page, small.replace("mov.u32", "mvo.u32"));
  await expect(page.locator("#check-status")).toContainText("1 error");
  await expect(page.locator("#problems li")).toHaveCount(1);
  await expect(page.locator("#problems .problem-line")).toHaveText("9");
  await expect(page.locator(".cm-lintRange-error")).toHaveCount(1);
  await page.getByRole("button", { name: "Fix" }).first().click();
  await expect(page.locator("#check-status")).toHaveText("no errors");
  await expect(page.locator(".cm-content")).toContainText("mov.u32 %t");
});

test("hover explains an instruction", async ({ page }) => {
  await open(page);
  await page.locator(".cm-line", { hasText: "mad.lo.u32 %i" }).locator("span", { hasText: /^mad$/ }).hover();
  await expect(page.locator(".cm-tooltip-hover .markdown")).toContainText("mad");
});

test("completion offers what can stand there", async ({ page }) => {
  await open(page);
  await type(page, small);
  await page.keyboard.press("Control+Home");
  for (let line = 0; line < 8; line += 1) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.keyboard.type("ad", { delay: 60 });
  const list = page.locator(".cm-tooltip-autocomplete li");
  await expect(list.filter({ hasText: /^add/ }).first()).toBeVisible();
  // Behind a dot, what may follow in the mnemonic.
  await page.keyboard.type("d.", { delay: 60 });
  await expect(list.filter({ hasText: /^u32/ }).first()).toBeVisible();
});

test("the text is formatted", async ({ page }) => {
  await open(page);
  await type(page, small.replace("    ret;", "ret   ;"));
  await expect(page.locator("#check-status")).toHaveText("no errors");
  await page.click("#format");
  await expect(page.locator(".cm-content")).not.toContainText("ret   ;");
});

const results: [name: string, buffer: string, first: string[]][] = [
  ["vector-add", "c", ["0", "1.5", "3", "4.5"]],
  ["reduction", "out", ["2080"]],
  ["divergence", "steps", ["0", "1", "7", "2", "5", "8", "16", "3"]],
  ["bank-conflicts", "out", ["0", "32", "64", "96"]],
  ["shuffle", "out", ["1", "3", "6", "10", "15"]],
  ["fp8", "back", ["0", "0.001953125", "0.001953125", "0.1015625"]],
  ["matmul", "c", ["17.5", "18.4375", "19.375"]],
  ["blackwell", "d", ["-8", "-11", "-6", "-5"]],
];
for (const [name, buffer, first] of results) {
  test(`the example ${name} gives its result`, async ({ page }) => {
    await open(page);
    await example(page, name);
    await run(page);
    await expect(page.locator(".run-pane .outcome .tag")).toHaveText("done");
    const values = (await cells(page, `${buffer} after the run`)).map((text) => text.replace(/\.0$/, ""));
    expect(values.slice(0, first.length)).toEqual(first);
    await expect(page.locator(".cm-count").first()).toBeVisible();
  });
}

test("the race is found and marked at its line", async ({ page }) => {
  await open(page);
  await example(page, "race");
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toContainText("finding");
  await expect(page.locator(".finding").first()).toContainText("race");
  await expect(page.locator(".cm-fault").first()).toContainText("shared");
  await page.locator(".finding .link").first().click();
  await expect(page.locator(".cm-content")).toBeFocused();
});

test("a fault names the thread and is marked at its line", async ({ page }) => {
  await open(page);
  await example(page, "out-of-bounds");
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("fault");
  await expect(page.locator(".card.bad")).toContainText("out of bounds");
  await expect(page.locator(".card.bad")).toContainText("(20, 0, 0)");
  await expect(page.locator(".cm-fault")).toContainText("ld.global.f32 %v");
});

test("a kernel that never ends can be stopped while the page answers", async ({ page }) => {
  await open(page);
  await example(page, "endless");
  await page.getByLabel("Limit of warp instructions").fill("100000000000");
  await page.getByLabel("Limit of warp instructions").press("Tab");
  await run(page);
  await expect(page.locator(".outcome .busy")).toContainText("running");
  // The editor's engine is another one: it still answers.
  await type(page, small);
  await expect(page.locator("#check-status")).toHaveText("no errors");
  await page.click("#stop");
  await expect(page.locator(".run-pane .outcome")).toContainText("stopped");
  await example(page, "vector-add");
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("done");
});

test("the limit ends a kernel that never ends", async ({ page }) => {
  await open(page);
  await example(page, "endless");
  await page.getByLabel("Limit of warp instructions").fill("100000");
  await page.getByLabel("Limit of warp instructions").press("Tab");
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("limit reached");
});

test("buffers are edited: values, formats, sizes, hexadecimal", async ({ page }) => {
  await open(page);
  await example(page, "vector-add");
  await page.getByLabel("a before the launch, element 2").first().fill("100");
  await page.getByLabel("a before the launch, element 2").first().press("Enter");
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("done");
  expect((await cells(page, "c after the run")).slice(0, 4).map(Number)).toEqual([0, 1.5, 101, 4.5]);
  await page.getByRole("region", { name: "result c", exact: true }).getByLabel("hex").check();
  await expect.poll(async () => (await cells(page, "c after the run"))[2]).toBe("0x42ca0000");
  await page.getByLabel("contents of a").selectOption("random");
  await expect(page.getByRole("region", { name: "argument a" })).toContainText("Random");
});

test("a launch that is wrong says what is wrong", async ({ page }) => {
  await open(page);
  await example(page, "vector-add");
  await page.getByLabel("Block x").fill("5000");
  await page.getByLabel("Block x").press("Tab");
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("not run");
  await expect(page.locator(".run-pane .card.bad")).toContainText("1024");
  await page.getByLabel("a before the launch, element 0").first().fill("apple");
  await page.getByLabel("a before the launch, element 0").first().press("Enter");
  await run(page);
  await expect(page.locator(".run-pane .card.bad")).toContainText("apple");
});

test("what is typed in the launch stays when the kernels of the text arrive", async ({ page }) => {
  await open(page);
  await page.selectOption("#example", "vector-add");
  const block = page.getByLabel("Block x");
  await block.fill("5000");
  await expect(page.locator(".kernel-choice option")).not.toHaveCount(0);
  await expect(page.getByLabel("a before the launch, element 0").first()).toBeVisible();
  await expect(block).toHaveValue("5000");
  await block.press("Tab");
  await run(page);
  await expect(page.locator(".run-pane .outcome .tag")).toHaveText("not run");
});

test("text that is no PTX breaks nothing", async ({ page }) => {
  await open(page);
  for (const text of ["", "apple", "\u0000\ud83d\ude00 {{{{", "}".repeat(5000), ".version 99.9\n.target sm_1\n"]) {
    await type(page, text === "" ? " " : text);
    await expect(page.locator("#check-status")).toContainText("error");
    for (const name of ["layout", "ir", "step", "run"]) await pane(page, name);
    await page.click("#run");
    await expect(page.locator(".run-pane .outcome .tag")).toHaveText("not run");
  }
  await example(page, "vector-add");
});

test("steps go forward and back, with lanes, registers and the line", async ({ page }) => {
  await open(page);
  await example(page, "divergence");
  await pane(page, "step");
  await page.click("#step-start");
  await expect(page.locator(".cm-current")).toContainText("mov.u32 %t, %tid.x");
  await expect(page.locator(".warp-row .lane.executing")).toHaveCount(32);
  await page.click("#step-warp");
  await expect(page.locator(".cm-current")).toContainText("mul.wide.u32");
  await expect(page.locator('[data-register="%t"]')).toHaveClass(/changed/);
  const colours = await page.locator('[data-register="%t"] .lane').evaluateAll((all) => new Set(all.map((one) => (one as HTMLElement).style.background)).size);
  expect(colours).toBe(32);
  await page.click("#step-back");
  await expect(page.locator(".cm-current")).toContainText("mov.u32 %t, %tid.x");
  for (let step = 0; step < 16; step += 1) {
    await page.click("#step-warp");
    await expect(page.locator("#step-warp")).toBeEnabled();
  }
  await expect.poll(() => page.locator(".warp-row .lane.executing").count()).toBeLessThan(32);
  await page.click("#step-run");
  await expect(page.locator(".step-pane .outcome .tag")).toHaveText("done");
  await page.locator(".timeline input").fill("1");
  await page.locator(".timeline input").dispatchEvent("change");
  await expect(page.locator(".cm-current")).toContainText("mul.wide.u32");
});

test("breakpoints stop a launch, and a register shows its lanes", async ({ page }) => {
  await open(page);
  await example(page, "divergence");
  await page.locator(".cm-line", { hasText: "mad.lo.u32 %n" }).click();
  await page.keyboard.press("F9");
  await expect(page.locator(".cm-breakpoint").last()).toBeVisible();
  await pane(page, "step");
  await page.click("#step-start");
  await expect(page.locator("#step-continue")).toBeEnabled();
  await page.keyboard.press("F5");
  await expect(page.locator(".step-pane .outcome .tag")).toHaveText("at a breakpoint");
  await expect(page.locator(".cm-current")).toContainText("mad.lo.u32 %n");
  await page.locator('[data-register="%n"] .register-name').click();
  await expect(page.getByRole("table", { name: "%n in all lanes" })).toContainText("31");
});

test("bank conflicts are drawn", async ({ page }) => {
  await open(page);
  await example(page, "bank-conflicts");
  await page.locator(".cm-line", { hasText: "ld.shared.b32 %word" }).click();
  await page.keyboard.press("F9");
  await pane(page, "step");
  await page.click("#step-start");
  await expect(page.locator("#step-continue")).toBeEnabled();
  await page.click("#step-continue");
  await expect(page.locator(".access .tag")).toHaveText("32 wavefronts");
  await expect(page.locator("svg.banks .conflict")).toHaveCount(32);
  await expect(page.locator(".memory-view td.touched").first()).toBeVisible();
});

test("barriers and waiting lanes are drawn", async ({ page }) => {
  await open(page);
  await example(page, "reduction");
  await page.locator(".cm-line", { hasText: "setp.ge.u32 %idle, %t, %half" }).click();
  await page.keyboard.press("F9");
  await pane(page, "step");
  await page.click("#step-start");
  for (let step = 0; step < 40 && (await page.locator(".lane-cells .lane.waiting").count()) === 0; step += 1) {
    await expect(page.locator("#step-any")).toBeEnabled();
    await page.click("#step-any");
    await expect(page.locator("#step-any")).toBeEnabled();
  }
  expect(await page.locator(".lane-cells .lane.waiting").count()).toBeGreaterThan(0);
  await expect(page.locator(".barrier")).toContainText("of 64 threads");
  await expect(page.locator(".warp-row").first()).toContainText("waits at barrier 0");
});

test("a step that never ends is stopped", async ({ page }) => {
  await open(page);
  await example(page, "endless");
  await pane(page, "step");
  await page.click("#step-start");
  await expect(page.locator("#step-run")).toBeEnabled();
  await page.click("#step-run");
  await expect(page.locator(".step-pane .busy")).toContainText("running");
  await page.click("#step-stop");
  await expect(page.locator(".step-pane .outcome .tag")).toHaveText("stopped");
  await expect(page.locator("#step-back")).toBeEnabled();
});

test("steps begin again after a run was stopped", async ({ page }) => {
  await open(page);
  await example(page, "endless");
  await page.getByLabel("Limit of warp instructions").fill("100000000000");
  await page.getByLabel("Limit of warp instructions").press("Control+Enter");
  await expect(page.locator(".outcome .busy")).toContainText("running");
  await page.click("#stop");
  await expect(page.locator(".run-pane .outcome")).toContainText("stopped");
  await pane(page, "step");
  await page.click("#step-start");
  await expect(page.locator("#step-warp")).toBeEnabled();
  await pane(page, "run");
  await page.click("#run");
  await expect(page.locator(".outcome .busy")).toContainText("running");
  await page.click("#stop");
  await pane(page, "step");
  await page.click("#step-warp");
  await expect(page.locator(".step-pane .outcome .tag")).toHaveText("at the start");
});

test("the layout is drawn", async ({ page }) => {
  await open(page);
  await example(page, "matmul");
  await pane(page, "layout");
  await expect(page.locator(".region", { hasText: ".shared of matmul" }).locator(".segment")).toHaveCount(2);
  await expect(page.getByRole("region", { name: "variables in .shared of matmul" })).toContainText("tile_b");
});

test("operations are linked with lines", async ({ page }) => {
  await open(page);
  await example(page, "vector-add");
  await pane(page, "ir");
  await expect(page.locator(".operations li").nth(10)).toBeVisible();
  await page.locator(".operations li").first().hover();
  await expect(page.locator(".cm-linked")).toHaveCount(1);
  await page.locator(".cm-line", { hasText: "add.rn.f32" }).click();
  await expect(page.locator(".operations li.linked").first()).toBeVisible();
});
