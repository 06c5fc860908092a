import { readdirSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { type Answer, LoopbackApi, type SeenRequest, statusAnswer } from "../../test/support/loopbackApi.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { CatalogConnections } from "../operatorcontroller/catalogs/catalogConnections.ts";
import { createClusterCatalog } from "./clusterCatalogs.ts";
import { KeptCatalogs, type KeptCatalogsOptions } from "./keptCatalogs.ts";
import { ServedCatalogs, type ServedCatalogsOptions } from "./servedCatalogs.ts";

const HARBOUR = join(import.meta.dirname, "../../test/goldens/cli/fixtures/catalogs/harbour");
const { signal } = new AbortController();
const packageLine = (name: string, more: object = {}): string =>
  `${JSON.stringify({ schema: "olm.package", name, defaultChannel: "stable", ...more })}\n`;
const SERVED = packageLine("served") + packageLine("other");
const ref = (digit: string): string => `registry.example/c@sha256:${digit.repeat(64)}`;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

/** How a test console reads catalogs. */
interface Given extends Partial<Pick<KeptCatalogsOptions, "cacheFolder" | "signaturePolicy">>, Pick<ServedCatalogsOptions, "limits"> {
  readonly answer: (request: SeenRequest) => Answer;
  /** The error of the registry; undefined if images can be pulled. */
  readonly registry?: string;
  readonly cluster?: string;
}

/** Starts catalogd with this answer. */
async function start({ answer, registry, cluster = "https://api", limits = {}, ...options }: Given) {
  const catalogd = await LoopbackApi.start(answer);
  const pulled: string[] = [];
  const createReader: KeptCatalogsOptions["createReader"] = () => ({
    resolved: (image) =>
      typeof image === "string"
        ? Promise.resolve({ canonical: image, digest: image.slice(image.indexOf("@") + 1), needsSignatures: false })
        : Promise.reject(new Error("not an image in a registry")),
    catalogFolder: () => Promise.reject(new Error("not an image in a registry")),
    catalogImage: (image) => {
      pulled.push(image);
      return registry === undefined ? Promise.resolve(HARBOUR) : Promise.reject(new Error(registry));
    },
    close: () => Promise.resolve(),
  });
  const served = new ServedCatalogs({ requests: new CatalogConnections({ silenceMs: 2_000 }), cluster, limits });
  const kept = new KeptCatalogs({ cacheFolder: undefined, createReader, served, ...options });
  open.push(
    () => catalogd[Symbol.asyncDispose](),
    () => kept.close(),
  );
  const place = { ref: ref("a"), base: `${catalogd.url}/catalogs/c` };
  /** Returns the first package, and the origin or the error. */
  const read = (image = place.ref): Promise<unknown[]> => {
    const catalog = createClusterCatalog("c", image);
    return kept.use(signal, async (lease) => {
      const { catalogs, leftOut } = await lease.open([{ ...catalog, status: { ...catalog.status, urls: { base: place.base } } }]);
      if (leftOut[0]) return [leftOut[0].because];
      return [catalogs[0]?.book.names().at(-1), await lease.origin({ ...place, ref: image })];
    });
  };
  return { catalogd, kept, place, pulled, read };
}

const gzip = (text: string): Answer => {
  return (response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(text));
};

test.for<[what: string, answer: Answer]>([
  ["plain", { text: SERVED, headers: { "olm-catalog-digest": `sha256:${"a".repeat(64)}` } }],
  ["compressed", gzip(SERVED)],
  ["of an implementation without a digest", { text: SERVED, headers: { "last-modified": "Wed, 25 Nov 2026 10:00:00 GMT" } }],
])("catalogs are read from catalogd, and not from the registry, when the response is %s", async ([, answer]) => {
  const { read, catalogd, pulled } = await start({ answer: () => answer });
  expect(await read()).toEqual(["served", { from: "catalogd" }]);
  expect([catalogd.log, pulled]).toEqual([["GET /catalogs/c/api/v1/all"], []]);
  expect(catalogd.requests[0]?.headers).toMatchObject({ "accept-encoding": "gzip" });
  expect(catalogd.requests[0]?.headers.authorization).toBeUndefined();
});

const FORBIDDEN = 'services "https:c:443" is forbidden: User "jane" cannot get resource "services/proxy"';
const BREAKS: Answer = (response) => void response.destroy();

test.for<[what: string, answer: Answer, because: string | RegExp]>([
  ["denies access", statusAnswer(403, "Forbidden", FORBIDDEN), `status 403: ${FORBIDDEN}`],
  ["has no such catalog", { status: 404, text: "404 page not found\n" }, "status 404: 404 page not found"],
  ["is not ready", { status: 503, text: "no endpoints available" }, "status 503: no endpoints available"],
  ["redirects", { status: 302, text: "", headers: { location: "http://127.0.0.1:1/" } }, "status 302: "],
  ["has a long error", { status: 500, text: "x".repeat(100_000) }, /^status 500: the response is too large/],
  ["closes the connection", BREAKS, /^Get "http.*\/api\/v1\/all": /],
])("catalogs are read from the registry, with the reason, when catalogd %s", async ([, answer, because]) => {
  const { read, pulled } = await start({ answer: () => answer });
  const [name, origin] = await read();
  expect([name, origin]).toEqual([expect.any(String), { from: "registry", because: expect.stringMatching(because) as string }]);
  expect(pulled).toEqual([ref("a")]);
});

test("the error contains both reasons when neither catalogd nor the registry has the content", async () => {
  const { read } = await start({ answer: () => ({ status: 503, text: "later" }), registry: "unauthorized" });
  expect(await read()).toEqual(["cannot read it from catalogd: status 503: later; cannot read its image: unauthorized"]);
});

const BOMB = packageLine("a", { x: "y".repeat(3_000) }).repeat(100);

test.for<[what: string, answer: Answer, error: string]>([
  ["of another edition", { text: SERVED, headers: { "olm-catalog-digest": "sha256:0" } }, "the response contains catalog content sha256:0"],
  ["not an object", { text: `${packageLine("a")}[]\n` }, "expected an object"],
  ["a broken line", { text: `${packageLine("a")}{"schema": ]}\n` }, "line 2"],
  ["too large", { text: BOMB }, "the response is too large: more than 100000 bytes"],
  ["too large after decompression", gzip(BOMB), "the response is too large: more than 100000 bytes"],
  ["too many objects", { text: packageLine("a").repeat(201) }, "the response is too large: more than 200 objects"],
  ["one object that is too large", { text: packageLine("a", { x: "y".repeat(60_000) }) }, "document too large: more than 50000 bytes"],
  ["an object with too many values", { text: packageLine("a", { x: Array.from({ length: 4_000 }, () => 1) }) }, "more than 3000 values"],
  [
    "an object that is nested too deeply",
    { text: `${packageLine("a")}${'{"a":'.repeat(2_000)}1${"}".repeat(2_000)}\n` },
    "nested deeper than",
  ],
  ["not gzip", (response) => void response.writeHead(200, { "content-encoding": "gzip" }).end("plain"), "incorrect header check"],
  ["half of it", (response) => void response.writeHead(200, { "content-length": 9_999 }).end(SERVED), ""],
])("content of catalogd that is %s is an error, and the image does not hide it", async ([, answer, error]) => {
  using folder = new TempFolder();
  const limits = { catalogBytes: 100_000, catalogObjects: 200, objectBytes: 50_000, objectValues: 3_000 };
  const { read, pulled, kept } = await start({ answer: () => answer, limits, cacheFolder: folder.path });
  expect(await read()).toEqual([expect.stringContaining(error)]);
  expect(pulled).toEqual([]);
  await kept.close();
  expect(readdirSync(folder.path)).toEqual([]);
});

test("requests at the same time share one download of each edition", async () => {
  const { read, catalogd } = await start({ answer: () => ({ text: SERVED }) });
  await Promise.all([read(), read(), read()]);
  await read();
  await Promise.all([read(ref("b")), read(ref("b"))]);
  expect(catalogd.log).toHaveLength(2);
});

test("the next console reads an edition from the cache folder, but not that of another cluster or of a command", async () => {
  using folder = new TempFolder();
  const answer = (): Answer => ({ text: SERVED });
  const given = { answer, cacheFolder: folder.path, signaturePolicy: "policy.json" };
  const first = await start(given);
  await first.read();
  await first.kept.close();
  const served = new ServedCatalogs({ requests: new CatalogConnections(), cluster: "https://api" });
  const elsewhere = new ServedCatalogs({ requests: new CatalogConnections(), cluster: "https://other" });
  const keys = [served, elsewhere].map((one) => one.getKey(first.place));
  expect(readdirSync(folder.path)).toEqual([keys[0]]);
  expect(keys[1]).not.toBe(keys[0]);
  const second = new KeptCatalogs({ cacheFolder: folder.path, served });
  open.push(() => second.close());
  const folders = await second.use(signal, async (lease) => [
    await lease.catalogFolder(first.place.ref, first.place.base),
    await lease.replacedFolder(first.place.ref, first.place.base),
  ]);
  expect(folders).toEqual([join(folder.path, keys[0]!, "metas.jsonl"), join(folder.path, keys[0]!, "metas.jsonl")]);
  expect(first.catalogd.log).toHaveLength(1);
});

test("replaced content is read from the image, and never from catalogd, when it is not in the cache", async () => {
  const { kept, place, catalogd, pulled } = await start({ answer: () => ({ text: SERVED }) });
  await kept.use(signal, (lease) => lease.replacedFolder(ref("b"), place.base));
  expect([catalogd.log, pulled]).toEqual([[], [ref("b")]]);
});

test("closing ends a download that hangs, and leaves no files", async () => {
  using folder = new TempFolder();
  const { read, kept, catalogd } = await start({
    answer: () => (response) => void response.writeHead(200).write(SERVED),
    cacheFolder: folder.path,
  });
  const reading = read();
  await eventually(async () => expect(catalogd.log).toHaveLength(1));
  await kept.close();
  expect(await reading).toEqual([expect.any(String)]);
  expect(readdirSync(folder.path)).toEqual([]);
});
