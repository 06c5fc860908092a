import { expect, test } from "vitest";
import { type ConsoleMode, listPageFiles, loadConsoleAssets, renderIndexPage } from "./consoleAssets.ts";

/** Maximum compressed size of the files that a browser loads before it shows a page, without fonts, in bytes. */
const PAGE_MAX = 300_000;
/** Maximum compressed size of all files, without fonts, in bytes. */
const ALL_MAX = 650_000;
/** Files of every page, in addition to those of its path. */
const COMMON = ["index.html", "theme.js", "favicon.svg"];

const assets = loadConsoleAssets();
const pages = (["console", "catalog"] satisfies ConsoleMode[]).flatMap((mode) =>
  listPageFiles(assets, mode).map(({ path, files }) => ({ mode, path, files })),
);

function isNoFont(file: string): boolean {
  return !file.endsWith(".woff2");
}

async function measure(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (file) => (await assets.find(file)?.read(true))?.bytes.length ?? Number.NaN));
  return sizes.reduce((sum, size) => sum + size, 0);
}

test.each(pages)("the compressed files of page $path in mode $mode are at most 300 kB", async ({ files }) => {
  const size = await measure([...COMMON, ...files].filter(isNoFont));
  expect(size).toBeGreaterThan(100_000);
  expect(size).toBeLessThanOrEqual(PAGE_MAX);
});

test("all compressed files are at most 650 kB", async () => {
  expect(await measure(assets.paths().filter(isNoFont))).toBeLessThanOrEqual(ALL_MAX);
});

test("the list of pages is not a file of the page", () => {
  expect(pages.length).toBeGreaterThan(15);
  expect(assets.paths()).not.toContain("pages.json");
});

test.each(pages)("index.html refers to each file of page $path in mode $mode once", ({ mode, files }) => {
  const html = renderIndexPage(assets, { base: "/base/", mode, files });
  for (const file of files) expect(html.split(`"/base/${file}"`), file).toHaveLength(2);
  expect(html.match(/rel="stylesheet"/g)).toHaveLength(files.filter((file) => file.endsWith(".css")).length);
  expect(html).not.toContain('"./');
  expect(html).toContain(`name="olmv1-mode" content="${mode}"`);
});
