import { createServer, request as plainRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConsoleAssets } from "../../pkg/serving/consoleAssets.ts";
import { ConsoleBrowser } from "../console/consoleBrowser.ts";
import { describeWithChromium } from "../console/describeWithChromium.ts";
import { describePages } from "../console/pageChecks.ts";
import { ContentWorld } from "../support/contentWorld.ts";

const PREFIX = "/api/v1/namespaces/olmv1-system/services/https:catalogd:443/proxy";
const CANARY = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg"><script>document.title='run'</script><rect width="9" height="9"/></svg>`;
/** Turns the text around, and is invisible. */
const BIDI = "\u202egnp.exe\u202c\u200b";

const bundleOf = (name: string, version: string, csv: object = {}): object => ({
  schema: "olm.bundle",
  package: name,
  name: `${name}.v${version}`,
  image: `registry.example/${name}:${version}`,
  properties: [
    { type: "olm.package", value: { packageName: name, version } },
    { type: "olm.csv.metadata", value: csv },
  ],
});
const packageOf = (name: string, versions: readonly string[]): object[] => [
  { schema: "olm.package", name, defaultChannel: "stable" },
  {
    schema: "olm.channel",
    package: name,
    name: "stable",
    entries: versions.map((version, i) => ({ name: `${name}.v${version}`, ...(i > 0 ? { replaces: `${name}.v${versions[i - 1]}` } : {}) })),
  },
];
const MANY = Array.from({ length: 40 }, (_, i) => `1.${i}.0`);
const PLAIN = [
  ...packageOf("db", MANY),
  { schema: "olm.channel", package: "db", name: "fast", entries: [{ name: "db.v1.39.0" }] },
  ...MANY.map((version) =>
    bundleOf("db", version, { displayName: "Database", description: "Stores **rows**.\n\n| a | b |\n| - | - |\n| 1 | 2 |" }),
  ),
  ...Array.from({ length: 300 }, (_, i) => `filler-${i}`).flatMap((name) => [...packageOf(name, ["1.0.0"]), bundleOf(name, "1.0.0")]),
];
const HOSTILE = [
  {
    schema: "olm.package",
    name: "p",
    defaultChannel: CANARY,
    icon: { mediatype: "image/svg+xml", base64data: Buffer.from(SVG).toString("base64") },
  },
  { schema: "olm.channel", package: "p", name: CANARY, entries: [{ name: "p.v1.0.0" }] },
  { schema: "olm.deprecations", package: "p", entries: [{ reference: { schema: "olm.package" }, message: CANARY }] },
  bundleOf("p", "1.0.0", {
    displayName: `${CANARY}${BIDI}`,
    description: `${CANARY}\n\n[link](javascript:document.title='run') ![image](https://evil.example/x.png) <a href="javascript:1">a</a>\n\n${"x".repeat(3_000)}`,
    provider: { name: CANARY },
    keywords: [CANARY],
    annotations: { repository: "javascript:document.title='run'", capabilities: CANARY, description: CANARY },
    links: [{ name: CANARY, url: "javascript:document.title='run'" }],
    maintainers: [{ name: CANARY, email: CANARY }],
    crdDescriptions: { owned: [{ name: "as.p", version: "v1", kind: "A", displayName: CANARY, description: CANARY }] },
  }),
];
const linesOf = (metas: readonly object[]): string => metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");

/** Serves the content server under a path prefix, like the proxy of the API server. */
async function startProxy(port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const path = (request.url ?? "").slice(PREFIX.length);
    plainRequest({ host: "127.0.0.1", port, path, method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

describeWithChromium("catalogd's /ui in a browser", (chromium) => {
  const started = new AsyncDisposableStack();
  let browser: ConsoleBrowser;
  let world: ContentWorld;
  beforeAll(async () => {
    world = started.adopt(
      await ContentWorld.start({ plain: linesOf(PLAIN), hostile: linesOf(HOSTILE) }, { page: loadConsoleAssets() }),
      (one) => one.close(),
    );
    browser = started.use(await ConsoleBrowser.start(chromium, `http://127.0.0.1:${world.port}/`));
  });
  afterAll(() => started.disposeAsync());

  describePages(
    [
      { path: "/ui", shows: ["302 packages"] },
      { path: "/ui#/packages?text=rows", shows: ["Database"] },
      { path: "/ui#/packages/db?catalog=plain", shows: ["olmv1 install db --catalog plain --version '>=1.39.0'"] },
      { path: "/ui#/packages/db?catalog=plain&version=1.0.0", shows: ["This page describes version 1.0.0"] },
      { path: "/ui#/packages/p?catalog=hostile", shows: [CANARY] },
    ],
    () => ({ browser }),
  );

  test("opens a package from the search with the keyboard, and returns with the back button", async () => {
    await using page = await browser.open();
    await page.goto("/ui");
    await page.page.getByRole("textbox", { name: "Search names, descriptions, keywords and APIs" }).fill("database");
    await page.page.getByText("1 package").waitFor();
    await page.page.getByRole("link", { name: "Database" }).focus();
    await page.page.keyboard.press("Enter");
    await page.page.waitForURL("**/ui#/packages/db?catalog=plain");
    await page.page.getByRole("heading", { name: "Database", level: 1 }).waitFor();
    await page.page.goBack();
    await page.page.getByText("1 package").waitFor();
    expect(page.errors).toEqual([]);
  });

  test("renders only the visible cards of many packages, and the others after scrolling", async () => {
    await using page = await browser.open();
    await page.goto("/ui#/packages?catalog=plain");
    const cards = page.page.locator(".olm-card");
    expect(await cards.count()).toBeLessThan(120);
    const last = page.page.getByRole("link", { name: "filler-99", exact: true });
    await page.page.mouse.move(600, 600);
    for (const end = Date.now() + 60_000; Date.now() < end && (await last.count()) === 0; ) {
      await page.page.mouse.wheel(0, 2_000);
      await page.page.waitForTimeout(50);
    }
    await last.waitFor({ timeout: 30_000 });
    expect(await cards.count()).toBeLessThan(120);
  });

  test("lists all versions of a channel after a click, the other channels collapsed", async () => {
    await using page = await browser.open();
    await page.goto("/ui#/packages/db?catalog=plain");
    expect(await page.mainText()).not.toContain("1.0.0");
    await page.page.getByRole("button", { name: "Show all 40 versions" }).click();
    await page.page.getByRole("link", { name: "1.0.0", exact: true }).click();
    await page.page.getByText("olmv1 install db --catalog plain --version 1.0.0").waitFor();
    expect(page.page.url()).toMatch(/#\/packages\/db\?catalog=plain&version=1\.0\.0$/);
  });

  test("runs no code from a catalog, follows no address of it, and links only to the web", async () => {
    await using page = await browser.open();
    for (const path of ["/ui", "/ui#/packages/p?catalog=hostile"]) {
      await page.goto(path);
      const closed = page.page.locator("main button[aria-expanded=false]");
      while ((await closed.count()) > 0) await closed.first().click();
      await page.page.waitForTimeout(200);
      expect(await page.page.title()).not.toBe("run");
      const links = await page.page.locator("main a[href]").evaluateAll((all) => all.map((one) => one.getAttribute("href") ?? ""));
      expect(links.filter((href) => !href.startsWith("#/") && href !== "openapi.json")).toEqual([]);
      expect(await page.page.locator("main img:not([src^='data:image/']):not([src^='api/'])").count()).toBe(0);
    }
    expect(page.errors).toEqual([]);
  });

  test("works under a path prefix", async () => {
    await using proxy = await startProxy(world.port);
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await using prefixed = await ConsoleBrowser.start(chromium, `${url}/`);
    await using page = await prefixed.open();
    await page.goto(`${PREFIX}/ui#/packages/db?catalog=plain`);
    expect(await page.mainText()).toContain("Database");
    expect(page.errors).toEqual([]);
    await page.page.close();
    proxy.closeAllConnections();
  });
});
