import { getCiphers } from "node:tls";
import { generate } from "selfsigned";
import { afterEach, describe, expect, test } from "vitest";
import { ConnectProxy } from "../../../test/support/connectProxy.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { type Answer, LoopbackApi } from "../../../test/support/loopbackApi.ts";
import { serverCertificate } from "../../../test/support/serverCertificate.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { readMaxVersion } from "../../bundle/maxOpenShiftVersion.ts";
import type { PackageContent } from "../../fbc/types.ts";
import { computeTlsSettings, getTlsProfile } from "../../serving/tlsProfile.ts";
import { CatalogClient, type CatalogClientOptions } from "./catalogClient.ts";

const DIGEST = "sha256:1";
const REF = `quay.io/c@${DIGEST}`;
const BASE = "/catalogs/c";
const OF_PACKAGE = `${BASE}/api/v1/metas?package=p`;
const PACKAGES = `${BASE}/api/v1/metas?schema=olm.package&name=p`;
const ALL = `${BASE}/api/v1/all`;

const PACKAGE = {
  schema: "olm.package",
  name: "p",
  defaultChannel: "stable",
  icon: { base64data: "x".repeat(1_000), mediatype: "image/png" },
};
const CHANNEL = { schema: "olm.channel", package: "p", name: "stable", entries: [{ name: "p.v1.0.0", skips: ["p.v0.9.0"] }] };
const BUNDLE = {
  schema: "olm.bundle",
  package: "p",
  name: "p.v1.0.0",
  image: "quay.io/p@sha256:2",
  properties: [
    { type: "olm.package", value: { packageName: "p", version: "1.0.0" } },
    { type: "olm.csv.metadata", value: { description: "x".repeat(1_000) } },
    { type: "olm.gvk.required", value: { group: "g", version: "v1", kind: "K" } },
  ],
  relatedImages: [{ name: "manager", image: "quay.io/m@sha256:3" }],
};
const DEPRECATIONS = { schema: "olm.deprecations", package: "p", entries: [{ reference: { schema: "olm.package" }, message: "old" }] };
const OTHER = { schema: "olm.package", name: "q", defaultChannel: "stable" };
const OTHERS_BUNDLE = { ...BUNDLE, package: "q", name: "q.v1.0.0" };

const lines = (...metas: object[]): { text: string } => ({ text: metas.map((meta) => `${JSON.stringify(meta)}\n`).join("") });
const NO_ROUTE: Answer = { status: 404, text: "404 page not found" };
const SERVED: Record<string, Answer> = { [OF_PACKAGE]: lines(CHANNEL, BUNDLE, DEPRECATIONS), [PACKAGES]: lines(PACKAGE) };

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function start(responses: Record<string, Answer>, options: CatalogClientOptions = {}) {
  const api = await LoopbackApi.start(({ url }) => responses[url] ?? NO_ROUTE);
  const client = new CatalogClient(options);
  open.push(
    () => api[Symbol.asyncDispose](),
    () => client.close(),
  );
  const read = (signal = new AbortController().signal) => client.packageContent(`${api.url}${BASE}`, REF, "p", signal);
  return { api, client, read };
}

const CONTENT = {
  package: { name: "p", defaultChannel: "stable" },
  channels: [{ name: "stable", package: "p", entries: [{ name: "p.v1.0.0", skips: ["p.v0.9.0"] }] }],
  bundles: [{ name: "p.v1.0.0", package: "p", image: "quay.io/p@sha256:2", properties: [BUNDLE.properties[0], BUNDLE.properties[2]] }],
  deprecations: [{ package: "p", entries: DEPRECATIONS.entries }],
  others: 0,
};

test("CatalogClient reads a package from the metas endpoint, without members that resolution does not read", async () => {
  const { read, api } = await start(SERVED);
  expect(await read()).toEqual(CONTENT);
  expect(api.log.sort()).toEqual([`GET ${OF_PACKAGE}`, `GET ${PACKAGES}`]);
});

describe("CatalogClient with a known package", () => {
  const tag = (text: string) => ({ headers: { etag: `"${text}"` } });
  const NOT_MODIFIED = { status: 304, text: "" };

  async function readTwice(second: Record<string, Answer>) {
    const first: Record<string, Answer> = {
      [OF_PACKAGE]: { ...lines(CHANNEL, BUNDLE), ...tag("a") },
      [PACKAGES]: { ...lines(PACKAGE), ...tag("b") },
    };
    let responses: Record<string, Answer> = first;
    const api = await LoopbackApi.start(({ url, headers }) => {
      const answer = responses[url] ?? NO_ROUTE;
      return answer === NOT_MODIFIED && headers["if-none-match"] === undefined ? (first[url] ?? NO_ROUTE) : answer;
    });
    const client = new CatalogClient();
    open.push(
      () => api[Symbol.asyncDispose](),
      () => client.close(),
    );
    const tags = new Map<string, string>();
    const read = (content?: PackageContent) =>
      client.packageContent(`${api.url}${BASE}`, REF, "p", new AbortController().signal, { content, tags });
    const before = await read();
    responses = second;
    return { before, after: await read(before), tags, sent: api.requests.slice(2).map(({ headers }) => headers["if-none-match"]) };
  }

  test("CatalogClient returns the known package when the server responds that the package has not changed", async () => {
    const { before, after, sent } = await readTwice({ [OF_PACKAGE]: NOT_MODIFIED, [PACKAGES]: NOT_MODIFIED });
    expect(after).toBe(before);
    expect(new Set(sent)).toEqual(new Set(['"a"', '"b"']));
  });

  test("CatalogClient reads both responses of a known package when one of them has changed", async () => {
    const { after, tags } = await readTwice({ [OF_PACKAGE]: { ...lines(CHANNEL), ...tag("c") }, [PACKAGES]: NOT_MODIFIED });
    expect(after).toMatchObject({ package: { name: "p" }, channels: [{ name: "stable" }], bundles: [] });
    expect(new Set(tags.values())).toEqual(new Set(['"b"', '"c"']));
  });

  test("CatalogClient reads a known package again when the server no longer sends entity tags", async () => {
    const { tags } = await readTwice({ [OF_PACKAGE]: lines(CHANNEL), [PACKAGES]: lines(PACKAGE) });
    expect(tags.size).toBe(0);
  });
});

test("CatalogClient returns the same package from /all when a server has no metas endpoint", async () => {
  const { read, api } = await start({ [ALL]: lines(OTHER, PACKAGE, OTHERS_BUNDLE, CHANNEL, BUNDLE, DEPRECATIONS) });
  expect(await read()).toEqual(CONTENT);
  expect(api.log.at(-1)).toBe(`GET ${ALL}`);
});

test("CatalogClient returns undefined when the catalog does not contain the package", async () => {
  expect(await (await start({ [OF_PACKAGE]: lines(), [PACKAGES]: lines() })).read()).toBeUndefined();
  expect(await (await start({ [ALL]: lines(OTHER, OTHERS_BUNDLE) })).read()).toBeUndefined();
});

test("CatalogClient reads olm.maxOpenShiftVersion 4.10 correctly when the value is a number", async () => {
  const line = `${JSON.stringify({ ...BUNDLE, properties: [{ type: "olm.maxOpenShiftVersion", value: 4.1 }] })}\n`;
  const { read } = await start({ ...SERVED, [OF_PACKAGE]: { text: line.replace("4.1}", "4.10}") } });
  const [bundle] = (await read())?.bundles ?? [];
  expect(bundle && readMaxVersion(bundle)).toEqual({ kind: "stated", max: { major: 4, minor: 10 } });
});

test.for<[why: string, responses: Record<string, Answer>, message: string | RegExp]>([
  ["503", { ...SERVED, [OF_PACKAGE]: { status: 503, text: "not yet" } }, "error: received unexpected response status code 503"],
  ["404 everywhere", {}, "error: received unexpected response status code 404"],
  [
    "a broken line",
    { ...SERVED, [OF_PACKAGE]: { text: `${JSON.stringify(CHANNEL)}\n{"schema": "olm.bundle", "name": ]}\n` } },
    /^error performing request: .*\/catalogs\/c\/api\/v1\/metas.*line 2/,
  ],
  [
    "a truncated response",
    {
      ...SERVED,
      [OF_PACKAGE]: (response) => {
        response.writeHead(200, { "content-length": 1_000 });
        response.write(JSON.stringify(CHANNEL));
        setTimeout(() => response.destroy(), 20);
      },
    },
    /^error performing request: /,
  ],
  [
    "other content than that of status",
    { ...SERVED, [OF_PACKAGE]: { ...lines(CHANNEL, BUNDLE), headers: { "olm-catalog-digest": "sha256:0" } } },
    `the response contains catalog content sha256:0, but status.resolvedSource is ${REF}`,
  ],
])("CatalogClient fails with the reason when it receives %s", async ([, responses, message]) => {
  const { read } = await start(responses);
  const err = (await read().catch((thrown: unknown) => thrown)) as Error;
  if (typeof message === "string") expect(err.message).toBe(message);
  else expect(err.message).toMatch(message);
});

test("CatalogClient accepts a response with the expected content digest", async () => {
  const headers = { "olm-catalog-digest": DIGEST };
  const { read } = await start({ [OF_PACKAGE]: { ...lines(BUNDLE), headers }, [PACKAGES]: { ...lines(PACKAGE), headers } });
  expect((await read())?.bundles).toHaveLength(1);
});

test("CatalogClient fails when the server cannot be reached", async () => {
  const { client } = await start({});
  const startClient = client.packageContent("http://127.0.0.1:1/catalogs/c", REF, "p", new AbortController().signal);
  await expect(startClient).rejects.toThrow(
    /^error performing request: Get "http:\/\/127\.0\.0\.1:1\/catalogs\/c\/api\/v1\/metas": connect ECONNREFUSED 127\.0\.0\.1:1$/,
  );
});

// Source: I-08, I-29 (53, 54).
describe("CatalogClient with a proxy", () => {
  const host = "catalogd-service.olmv1-system.svc";
  const base = `https://${host}${BASE}`;
  const startClient = (options: CatalogClientOptions) => {
    const client = new CatalogClient(options);
    open.push(() => client.close());
    return client.packageContent(base, REF, "p", new AbortController().signal);
  };

  test("CatalogClient with a proxy connects to the catalog by name, and trusts the CA certificates in the folder", async () => {
    const { cert, key } = await serverCertificate(host);
    const api = await LoopbackApi.start(({ url }) => SERVED[url] ?? NO_ROUTE, { key, cert, ca: cert });
    const proxy = await ConnectProxy.start(() => Number(new URL(api.url).port));
    open.push(
      () => Promise.resolve(proxy.stop()),
      () => api[Symbol.asyncDispose](),
    );
    using folder = new TempFolder();
    expect(await startClient({ caDir: folder.write("ca", { "ca.crt": cert }), env: { HTTPS_PROXY: proxy.url } })).toEqual(CONTENT);
    expect(new Set(proxy.seen)).toEqual(new Set([`${host}:443`]));
  });

  test("CatalogClient reports the proxy when the proxy cannot be reached", async () => {
    await expect(startClient({ env: { HTTPS_PROXY: "http://127.0.0.1:1" } })).rejects.toThrow(
      `error performing request: Get "${base}/api/v1/metas": proxyconnect tcp: connect ECONNREFUSED 127.0.0.1:1`,
    );
  });

  test("CatalogClient does not use the proxy for loopback addresses", async () => {
    const { api } = await start(SERVED);
    const client = new CatalogClient({ env: { HTTP_PROXY: "http://127.0.0.1:1" } });
    open.push(() => client.close());
    expect(await client.packageContent(`${api.url}${BASE}`, REF, "p", new AbortController().signal)).toEqual(CONTENT);
  });
});

test("CatalogClient rejects a package when the members that resolution reads are too large, and ignores the size of other members", async () => {
  const big = { ...CHANNEL, entries: [{ name: "x".repeat(5_000) }] };
  const options = { limits: { keptBytes: 4_000 } };
  const message = "error performing request: the package is too large for resolution: more than 4000 bytes, exceeded at olm.channel ";
  await expect((await start({ ...SERVED, [OF_PACKAGE]: lines(big) }, options)).read()).rejects.toThrow(message);
  await expect((await start({ [ALL]: lines(PACKAGE, big) }, options)).read()).rejects.toThrow(message);
  const others = Array.from({ length: 50 }, () => OTHERS_BUNDLE);
  expect(await (await start({ [ALL]: lines(...others, PACKAGE, CHANNEL, BUNDLE, DEPRECATIONS) }, options)).read()).toEqual(CONTENT);
});

test.for<[what: string, channel: object, limits: object, message: string]>([
  [
    "too many values",
    { entries: Array.from({ length: 100 }, (_, i) => ({ name: `b${i}` })) },
    { keptValues: 200 },
    "the package is too large for resolution: more than 200 values, exceeded at olm.channel ",
  ],
  ["an object that is too large", { description: "x".repeat(5_000) }, { objectBytes: 4_000 }, "document too large: more than 4000 bytes"],
  [
    "an object with too many values",
    { list: Array.from({ length: 1_000 }, () => []) },
    { objectValues: 1_000 },
    "document 1, line 1: object too large: more than 1000 values",
  ],
  [
    "too many bytes in total",
    { description: "x".repeat(5_000) },
    { answerBytes: 4_000 },
    "the response is too large: more than 4000 bytes",
  ],
])("CatalogClient rejects a package when it has %s", async ([, channel, limits, message]) => {
  const { read } = await start({ ...SERVED, [OF_PACKAGE]: lines({ ...CHANNEL, ...channel }) }, { limits });
  await expect(read()).rejects.toThrow(message);
});

test("CatalogClient drops members that resolution does not read", async () => {
  const { read } = await start(
    { ...SERVED, [OF_PACKAGE]: lines({ ...CHANNEL, notes: "x".repeat(50_000) }, { schema: "other", package: "p", x: "x".repeat(50_000) }) },
    { limits: { keptBytes: 10_000 } },
  );
  expect((await read())?.others).toBe(1);
});

test("CatalogClient reuses connections", async () => {
  const { read, api } = await start(SERVED);
  for (let i = 0; i < 20; i++) await read();
  expect(api.requests).toHaveLength(40);
  expect(new Set(api.requests.map(({ connection }) => connection)).size).toBeLessThan(10);
});

test.for<[when: string, answer: Answer]>([
  ["it does not respond", () => undefined],
  ["its response stops", (response) => void response.writeHead(200).write(JSON.stringify(CHANNEL))],
])("CatalogClient ends a request to a catalog when %s", async ([, answer]) => {
  const { read } = await start({ ...SERVED, [OF_PACKAGE]: answer }, { silenceMs: 50 });
  await expect(read()).rejects.toThrow(/^error performing request: .*within 50 ms$/);
});

test("CatalogClient ends a request with the signal's reason when the signal aborts", async () => {
  const { read } = await start({ [OF_PACKAGE]: () => undefined, [PACKAGES]: () => undefined });
  const stop = new AbortController();
  const startClient = read(stop.signal);
  setTimeout(() => stop.abort(new Error("stopped")), 20);
  await expect(startClient).rejects.toThrow(/^stopped$/);
});

/** A self-signed certificate for 127.0.0.1. */
function loopbackAuthority(): ReturnType<typeof generate> {
  return generate([{ name: "commonName", value: "authority" }], {
    algorithm: "sha256",
    keyType: "ec",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] },
    ],
  });
}

test("CatalogClient trusts certificates that were signed by a CA in the folder", async () => {
  const authority = await loopbackAuthority();
  const api = await LoopbackApi.start(({ url }) => SERVED[url] ?? NO_ROUTE, {
    key: authority.private,
    cert: authority.cert,
    ca: authority.cert,
  });
  open.push(() => api[Symbol.asyncDispose]());
  using folder = new TempFolder();
  const caDir = folder.write("ca", { "ca.crt": authority.cert, "README.md": "no certificate" });
  for (const [options, outcome] of [
    [{ caDir }, "p"],
    [
      {},
      `error performing request: Get "${api.url}${BASE}/api/v1/metas": tls: failed to verify certificate: x509: certificate signed by unknown authority; add its CA certificate to the CA folder, see the flags that end in -cas-dir`,
    ],
  ] as const) {
    const client = new CatalogClient(options);
    open.push(() => client.close());
    const startClient = client.packageContent(`${api.url}${BASE}`, REF, "p", new AbortController().signal);
    expect(
      await startClient.then(
        (content) => content?.package?.name,
        (err: Error) => err.message,
      ),
    ).toBe(outcome);
  }
});

test("CatalogClient trusts a rotated CA without a restart", async () => {
  const [old, { cert, private: key }] = [await loopbackAuthority(), await loopbackAuthority()];
  const api = await LoopbackApi.start(({ url }) => SERVED[url] ?? NO_ROUTE, { key, cert, ca: cert });
  open.push(() => api[Symbol.asyncDispose]());
  using folder = new TempFolder();
  const client = new CatalogClient({ caDir: folder.write("ca", { "ca.crt": old.cert }) });
  open.push(() => client.close());
  const read = () => client.packageContent(`${api.url}${BASE}`, REF, "p", new AbortController().signal);
  await expect(read()).rejects.toThrow("certificate signed by unknown authority");
  folder.write("ca", { "ca.crt": cert });
  await eventually(async () => expect((await read())?.package?.name).toBe("p"));
});

// Source: I-30.
test.for([
  ["TLSv1.2", "p"],
  ["TLSv1.3", "error performing request: "],
] as const)(
  "CatalogClient with minimum TLS version %s gets %j from a catalog that supports only TLS 1.2",
  async ([minVersion, outcome]) => {
    const host = "catalogd-service.olmv1-system.svc";
    const { cert, key } = await serverCertificate(host);
    const api = await LoopbackApi.start(({ url }) => SERVED[url] ?? NO_ROUTE, { key, cert, ca: cert, maxVersion: "TLSv1.2" });
    const proxy = await ConnectProxy.start(() => Number(new URL(api.url).port));
    using folder = new TempFolder();
    const { settings } = computeTlsSettings(getTlsProfile("custom", { minVersion, ciphers: [], curves: [] }), new Set(getCiphers()));
    const client = new CatalogClient({
      caDir: folder.write("ca", { "ca.crt": cert }),
      env: { HTTPS_PROXY: proxy.url },
      tls: () => settings,
    });
    open.push(
      () => Promise.resolve(proxy.stop()),
      () => api[Symbol.asyncDispose](),
      () => client.close(),
    );
    const startClient = client.packageContent(`https://${host}${BASE}`, REF, "p", new AbortController().signal);
    expect(
      await startClient.then(
        (content) => content?.package?.name,
        (err: Error) => err.message,
      ),
    ).toContain(outcome);
  },
);

describe("CatalogClient reads the bundle index", () => {
  const PROPERTIES = `${BASE}/properties`;
  const BUNDLES = `${BASE}/api/v1/metas?schema=olm.bundle`;
  const REQUIRED = BUNDLE.properties[2];
  const LINE = { package: "p", bundle: "p.v1.0.0", version: "1.0.0", properties: [BUNDLE.properties[0], REQUIRED] };
  const OFFERED = [{ package: "p", name: "p.v1.0.0", properties: LINE.properties }];
  const signal = new AbortController().signal;

  test.for<[how: string, responses: Record<string, Answer>, log: string[]]>([
    ["from the properties endpoint", { [PROPERTIES]: lines(LINE) }, [PROPERTIES]],
    ["from the bundles when the server has no properties endpoint", { [BUNDLES]: lines(BUNDLE) }, [PROPERTIES, BUNDLES]],
    ["from everything when it has neither", { [ALL]: lines(PACKAGE, CHANNEL, BUNDLE) }, [PROPERTIES, BUNDLES, ALL]],
  ])("%s", async ([, responses, log]) => {
    const { client, api } = await start(responses);
    const { index } = await client.bundleIndex(`${api.url}${BASE}`, REF, signal);
    expect(index.bundlesOf("p")).toEqual(OFFERED);
    expect(api.log).toEqual(log.map((path) => `GET ${path}`));
  });

  test("CatalogClient returns the known bundle index when the server responds that the index has not changed", async () => {
    let answer: Answer = { ...lines(LINE), headers: { etag: '"a"' } };
    const api = await LoopbackApi.start(() => answer);
    const client = new CatalogClient();
    open.push(
      () => api[Symbol.asyncDispose](),
      () => client.close(),
    );
    const known = await client.bundleIndex(`${api.url}${BASE}`, REF, signal);
    answer = { status: 304, text: "" };
    expect((await client.bundleIndex(`${api.url}${BASE}`, REF, signal, known)).index).toBe(known.index);
    expect(api.requests[1]?.headers["if-none-match"]).toBe('"a"');
  });

  test.for<[string, Answer, string]>([
    ["other content", { ...lines(LINE), headers: { "olm-catalog-digest": "sha256:2" } }, "the response contains catalog content sha256:2"],
    ["an error", { status: 503, text: "later" }, "error: received unexpected response status code 503"],
    ["half a line", { text: '{"package":"p","bun' }, "error performing request: "],
  ])("CatalogClient fails to read the bundle index when the response is %s", async ([, answer, error]) => {
    const { client, api } = await start({ [PROPERTIES]: answer });
    await expect(client.bundleIndex(`${api.url}${BASE}`, REF, signal)).rejects.toThrow(error);
  });
});
