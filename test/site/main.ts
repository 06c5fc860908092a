import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { runMain, UsageError } from "../cases/runMain.ts";
import { ConsoleBrowser } from "../console/consoleBrowser.ts";
import { findChromium } from "../support/chromium.ts";

const USAGE = `usage: node test/site/main.ts

Opens ten pages of the built documentation site in a browser, in both themes. Fails for violations of axe, errors, and requests to other servers.`;

const SITE = join(import.meta.dirname, "../../dist-site");
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

/** Serves the built site on loopback. */
async function serveSite(): Promise<{ readonly url: string; [Symbol.dispose](): void }> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://site").pathname));
    const file = join(SITE, path.endsWith("/") ? `${path}index.html` : path);
    const isFile = file.startsWith(SITE) && existsSync(file) && statSync(file).isFile();
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

async function checkSite(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new UsageError("this command has no arguments");
  const program = findChromium();
  if (program === undefined) throw new Error("cannot open pages: chromium is not on the PATH. Install it, or set OLMV1_CHROMIUM");
  if (!existsSync(SITE)) throw new Error("cannot open pages: dist-site does not exist. Run npm run docs:build");
  using site = await serveSite();
  await using browser = await ConsoleBrowser.start(program, site.url);
  let failed = 0;
  for (const path of PAGES) {
    const found = await checkPage(browser, path);
    console.log(`${found.length === 0 ? "ok    " : "FAILED"} ${path}`);
    for (const one of new Set(found)) console.log(`  ${one}`);
    if (found.length > 0) failed++;
  }
  console.log(`${PAGES.length - failed} pages passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

await runMain(checkSite, USAGE);
