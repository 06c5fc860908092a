import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ContentWorld } from "../../../test/support/contentWorld.ts";
import { PAGE_JS } from "./pageRoutes.ts";

const SCRIPT = "<script>document.title='run'</script>";
const SVG = `<svg xmlns="http://www.w3.org/2000/svg">${SCRIPT}<rect width="9" height="9"/></svg>`;
const HOSTILE = [
  {
    schema: "olm.package",
    name: "p",
    defaultChannel: SCRIPT,
    icon: { mediatype: "image/svg+xml", base64data: Buffer.from(SVG).toString("base64") },
  },
  { schema: "olm.channel", package: "p", name: SCRIPT, entries: [{ name: "p.v1" }] },
  {
    schema: "olm.bundle",
    package: "p",
    name: "p.v1",
    image: "registry.example/p",
    properties: [
      { type: "olm.package", value: { packageName: "p", version: "1.0.0" } },
      {
        type: "olm.csv.metadata",
        value: {
          displayName: `<img src=x onerror="document.title='run'">`,
          description: SCRIPT,
          annotations: { repository: "javascript:document.title='run'" },
        },
      },
    ],
  },
];
const PLAIN = [
  { schema: "olm.package", name: "db", defaultChannel: "stable" },
  { schema: "olm.channel", package: "db", name: "stable", entries: [{ name: "db.v1" }] },
  {
    schema: "olm.bundle",
    package: "db",
    name: "db.v1",
    image: "registry.example/db",
    properties: [{ type: "olm.package", value: { packageName: "db", version: "1.2.3" } }],
  },
];
const linesOf = (metas: readonly object[]): string => metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");

let world: ContentWorld;
beforeAll(async () => {
  world = await ContentWorld.start({ hostile: linesOf(HOSTILE), plain: linesOf(PLAIN) });
});
afterAll(() => world.close());

test.for<[path: string, type: string]>([
  ["/ui", "text/html; charset=utf-8"],
  ["/ui/script.js", "text/javascript; charset=utf-8"],
  ["/ui/style.css", "text/css; charset=utf-8"],
])("%s has a Content-Security-Policy, and returns 304 when the entity tag matches", async ([path, type]) => {
  const { status, headers } = await world.get(path);
  expect([status, headers["content-type"], headers["x-content-type-options"]]).toEqual([200, type, "nosniff"]);
  const policy = String(headers["content-security-policy"]).split("; ");
  expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]));
  expect(policy.filter((rule) => /unsafe|\*|http/.test(rule))).toEqual([]);
  const again = await world.get(path, { "if-none-match": String(headers["etag"]) });
  expect([again.status, again.body.length]).toEqual([304, 0]);
});

test.for<[accept: string | undefined, status: number, location: string | undefined]>([
  ["text/html,application/xhtml+xml,*/*;q=0.8", 302, "ui"],
  ["text/html;q=0", 404, undefined],
  ["*/*", 404, undefined],
  [undefined, 404, undefined],
])("/ with Accept header %s returns status %i", async ([accept, status, location]) => {
  const { status: found, headers } = await world.get("/", accept === undefined ? {} : { accept });
  expect([found, headers["location"]]).toEqual([status, location]);
});

test("the page contains only relative URLs", async () => {
  const texts = await Promise.all(["/ui", "/ui/script.js", "/ui/style.css"].map(async (path) => String((await world.get(path)).body)));
  for (const text of texts) expect(text).not.toMatch(/(?:src|href)="(?:https?:)?\/|(?:fetch|get|json|lines)\("\/|url\(/);
});

test("the page lists at most 30 versions, the number of omitted versions, and a command that lists all versions", () => {
  const constants = /const PLAIN = .*\n|const VERSIONS = .*\n/g;
  const source = [...(PAGE_JS.match(constants) ?? []), /function versionList[\s\S]*?\n}\n/.exec(PAGE_JS)?.[0]].join("");
  const versionList = (name: string, count: number): unknown =>
    runInNewContext(`${source}; versionList(name, versions)`, { name, versions: Array.from({ length: count }, (_, i) => `1.${i}.0`) });
  expect(versionList("db", 30)).toHaveLength(30);
  expect(versionList("db", 32)).toMatch(/^1\.0\.0, .*, 1\.29\.0 and 2 more: olmv1 versions db$/);
  expect(versionList("db; rm", 32)).toMatch(/1\.29\.0 and 2 more$/);
});

const BROWSER = ["chromium", "chromium-browser", "google-chrome"].find((name) => !spawnSync(name, ["--version"]).error);

/** Returns the DOM of the page after a browser has loaded everything. */
async function rendered(hash: string): Promise<string> {
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"];
  const { stdout } = await promisify(execFile)(BROWSER ?? "", [...flags, `http://127.0.0.1:${world.port}/ui${hash}`]);
  return stdout;
}

test("a browser shows the packages and the details of a package", { timeout: 120_000 }, async (context) => {
  if (BROWSER === undefined) context.skip("chromium not found");
  const list = await rendered("");
  expect(list).toContain("2 packages");
  expect(list).toMatch(/href="#\/plain\/db"/);
  const one = await rendered("#/plain/db");
  expect(one).toContain("olmv1 install db --catalog plain --create-service-account");
  expect(one).toContain("1.2.3, 1 entry");
});

test("a browser does not run code from a catalog", { timeout: 120_000 }, async (context) => {
  if (BROWSER === undefined) context.skip("chromium not found");
  for (const hash of ["", "#/hostile/p"]) {
    const page = await rendered(hash);
    expect(page).toContain("<title>Catalogs</title>");
    expect(page).toContain("&lt;img src=x onerror=");
    expect(page).not.toMatch(/href="javascript:/);
  }
});
