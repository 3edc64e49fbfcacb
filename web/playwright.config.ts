import { defineConfig } from "@playwright/test";

const port = Number(process.env.PORT ?? 4823);

export default defineConfig({
  testDir: "test",
  testMatch: "*.spec.ts",
  timeout: 240_000,
  expect: { timeout: 60_000 },
  // A browser on a machine with other work may be late once.
  retries: process.env.CI ? 1 : 0,
  workers: Number(process.env.WORKERS ?? 2),
  fullyParallel: true,
  reporter: "list",
  use: {
    baseURL: `http://127.0.0.1:${port}/`,
    viewport: { width: 1360, height: 860 },
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
  },
  webServer: { command: `node serve.mjs ${port}`, url: `http://127.0.0.1:${port}/`, reuseExistingServer: true },
});
