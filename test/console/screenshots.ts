import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { ConsoleBrowser, PageView } from "./consoleBrowser.ts";

/** A picture in the documentation. */
interface Screenshot extends PageView {
  /** File name without extension. */
  readonly name: string;
  readonly path: string;
}

const SCREEN = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 800 };

/** The pictures of README and docs. */
const SCREENSHOTS: readonly Screenshot[] = [
  { name: "attention", path: "/", ...SCREEN },
  { name: "attention-dark", path: "/", theme: "dark", ...SCREEN },
  { name: "objects", path: "/extensions/kafka/objects", ...SCREEN },
  { name: "why", path: "/extensions/redis/why", width: 1280, height: 1100 },
  { name: "plan", path: "/extensions/postgres/plan", width: 1280, height: 1100 },
  { name: "permissions", path: "/extensions/mesh/permissions", ...SCREEN },
  { name: "packages", path: "/packages", ...SCREEN },
  { name: "package-phone", path: "/packages/monitoring-operator", ...PHONE },
];

/** Writes the pictures into a folder. */
export async function writeScreenshots(browser: ConsoleBrowser, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { name, path, ...view } of SCREENSHOTS) {
    await using page = await browser.open(view);
    await page.goto(path);
    if ((await page.mainText()).includes("This part cannot be shown")) throw new Error(`page ${path} shows an error; does the world run?`);
    await page.page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
    console.log(`${name}.png  ${path}`);
  }
}
