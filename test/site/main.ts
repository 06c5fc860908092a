import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { promisify } from "node:util";
import { buildSite } from "../../release/siteVersions.ts";
import { runMain, UsageError } from "../cases/runMain.ts";
import { ConsoleBrowser } from "../console/consoleBrowser.ts";
import { findChromium } from "../support/chromium.ts";

const run = promisify(execFile);

const USAGE = `usage: node test/site/main.ts

Opens ten pages of the built documentation site in a browser, in both themes. Fails for violations of axe, errors, and requests to other servers.
Then builds the site of two versions from the last commit, and opens one version from the menu of the other.`;

const ROOT = join(import.meta.dirname, "../..");
const SITE = join(ROOT, "dist-site");
/** Stands for a release, before the first one. */
const RELEASE = { tag: "v0.0.1", name: "0.0" };
const PAGES = [
  "index.html",
  "why-olmv1.html",
  "tutorial.html",
  "architecture.html",
  "security.html",
  "glossary.html",
  "how-to/install-an-operator.html",
  "how-to/console.html",
  "reference/problems.html",
  "reference/catalogd-api.html",
];
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json",
};

/** Serves a built site on loopback. */
async function serveSite(site: string): Promise<{ readonly url: string; [Symbol.dispose](): void }> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://site").pathname));
    const file = join(site, path.endsWith("/") ? `${path}index.html` : path);
    const isFile = file.startsWith(site) && existsSync(file) && statSync(file).isFile();
    response.writeHead(isFile ? 200 : 404, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    response.end(isFile ? readFileSync(file) : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Opens one page in both themes. @returns its faults */
async function checkPage(browser: ConsoleBrowser, path: string): Promise<string[]> {
  const found: string[] = [];
  for (const theme of ["light", "dark"] as const) {
    await using page = await browser.open();
    await page.page.addInitScript((chosen) => localStorage.setItem("vitepress-theme-appearance", chosen), theme);
    await page.goto(path);
    found.push(...(await page.findViolations()).map((one) => `${theme}: ${one}`), ...page.errors);
  }
  return found;
}

/** Builds the site of a release and of the checkout, and goes from the first to the second. @returns the faults */
async function checkVersions(program: string): Promise<string[]> {
  const work = await mkdtemp(join(tmpdir(), "olmv1-site-check-"));
  try {
    const [root, out] = [join(work, "clone"), join(work, "site")];
    await run("git", ["clone", "--quiet", ROOT, root]);
    await run("git", ["tag", RELEASE.tag], { cwd: root });
    await buildSite({ root, base: "/", out, say: console.log });
    using site = await serveSite(out);
    await using browser = await ConsoleBrowser.start(program, site.url);
    await using page = await browser.open();
    const menu = page.page.getByRole("combobox", { name: "Version" });
    const note = page.page.locator(".version-note");
    const found: string[] = [];
    const check = async (what: string, folder: string, notes: number): Promise<void> => {
      await page.page.waitForURL(`${site.url}${folder}/**`);
      await page.ready();
      await menu.waitFor();
      const names = await menu.locator("option").allInnerTexts();
      if (names.join(" ") !== `${RELEASE.name} main`) found.push(`${what}: the menu has ${names.join(", ")}`);
      if ((await note.count()) !== notes) found.push(`${what}: ${await note.count()} notes in place of ${notes}`);
      found.push(...(await page.findViolations()));
    };
    await page.goto("");
    await check("the first page", `v${RELEASE.name}`, 0);
    await menu.selectOption("main");
    await check("the page from the menu", "main", 1);
    return [...found, ...page.errors];
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function checkSite(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new UsageError("this command has no arguments");
  const program = findChromium();
  if (program === undefined) throw new Error("cannot open pages: chromium is not on the PATH. Install it, or set OLMV1_CHROMIUM");
  if (!existsSync(SITE)) throw new Error("cannot open pages: dist-site does not exist. Run npm run docs:build");
  using site = await serveSite(SITE);
  await using browser = await ConsoleBrowser.start(program, site.url);
  let failed = 0;
  for (const path of PAGES) {
    const found = await checkPage(browser, path);
    console.log(`${found.length === 0 ? "ok    " : "FAILED"} ${path}`);
    for (const one of new Set(found)) console.log(`  ${one}`);
    if (found.length > 0) failed++;
  }
  console.log(`${PAGES.length - failed} pages passed, ${failed} failed`);
  const found = await checkVersions(program);
  console.log(`${found.length === 0 ? "ok    " : "FAILED"} versions`);
  for (const one of found) console.log(`  ${one}`);
  return failed + found.length > 0 ? 1 : 0;
}

await runMain(checkSite, USAGE);
