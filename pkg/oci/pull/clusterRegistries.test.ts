import { expect, test } from "vitest";
import { type LoopbackRegistry, refuse } from "../../../test/support/loopbackRegistry.ts";
import { insecureRegistry, loopbackRegistry, puller, QUICK } from "../../../test/support/pulling.ts";
import { serverCertificate } from "../../../test/support/serverCertificate.ts";
import { tarball } from "../../../test/support/tarball.ts";
import { findRejectedError, listFailedLocations } from "../imageErrors.ts";
import type { RegistryEntry, RegistryMirror } from "../registries/pullSources.ts";
import { NO_REGISTRY_SETTINGS, type RegistrySettings } from "../registries/registrySettings.ts";
import { newPullProblem } from "./pullProblem.ts";

const signal = new AbortController().signal;
const image = { layers: [tarball([{ name: "a", content: "1" }])] };
const PASSWORD = "s3cr3t-of-the-test";
const ORIGIN = 'ImageTagMirrorSet "m"';

function mirrorAt(registry: LoopbackRegistry, use: RegistryMirror["pull-from-mirror"] = ""): RegistryMirror {
  return { location: `${registry.host}/mirror`, insecure: true, "pull-from-mirror": use };
}

function createEntry(prefix: string, mirror: readonly RegistryMirror[], part: Partial<RegistryEntry> = {}): RegistryEntry {
  return { prefix, location: prefix, insecure: false, blocked: false, "mirror-by-digest-only": false, mirror, origin: ORIGIN, ...part };
}

/** A puller with settings that a test can change. */
async function pullerWith(options: Parameters<typeof puller>[0] = {}) {
  let settings = NO_REGISTRY_SETTINGS;
  const cluster = { settings: () => Promise.resolve(settings) };
  const set = (part: Partial<RegistrySettings>): void => void (settings = { ...NO_REGISTRY_SETTINGS, ...part });
  return { set, ...(await puller({ ...options, cluster })) };
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("pulled"),
    (err: Error) => err,
  );
}

test("a pull uses the mirrors of the cluster from the next pull on, each for references by tag or by digest", async () => {
  const [byTag, byDigest] = [await loopbackRegistry(), await loopbackRegistry()];
  const { digest } = byTag.addImage("mirror/app", "v1", image);
  byDigest.addImage("mirror/app", "v1", image);
  const { puller: p, set } = await pullerWith();
  expect((await failure(p.pull("ext", "source.invalid/app:v1", { signal }))).message).toContain(
    "pinging container registry source.invalid",
  );
  set({ entries: [createEntry("source.invalid", [mirrorAt(byTag, "tag-only"), mirrorAt(byDigest, "digest-only")])] });
  expect((await p.pull("ext", "source.invalid/app:v1", { signal })).canonical).toBe(`source.invalid/app@${digest}`);
  expect([byTag.paths(/manifests/).length > 0, byDigest.paths(/manifests/)]).toEqual([true, []]);
  byTag.requests.length = 0;
  await p.pull("other", `source.invalid/app@${digest}`, { signal });
  expect(byTag.requests).toEqual([]);
});

test("a pull by digest uses the mirrors for tags when its identity is a tag of the same repository", async () => {
  const byTag = await loopbackRegistry();
  const { digest } = byTag.addImage("mirror/app", "v1", image);
  const { puller: p, set } = await pullerWith();
  set({ entries: [createEntry("source.invalid", [mirrorAt(byTag, "tag-only")], { blocked: true })] });
  const reference = `source.invalid/app@${digest}`;
  for (const identity of [undefined, "source.invalid/other:v1"])
    expect((await failure(p.pull("ext", reference, { signal, identity }))).message).toContain("registry source.invalid is blocked");
  expect(byTag.requests).toEqual([]);
  expect((await p.pull("ext", reference, { signal, identity: "source.invalid/app:v1" })).canonical).toBe(reference);
  expect(byTag.paths(/manifests/)).toEqual([`/v2/mirror/app/manifests/${digest}`]);
});

test("a pull by tag uses the next mirror for tags when the first one has no layers", async () => {
  const [lacking, whole] = [await loopbackRegistry(), await loopbackRegistry()];
  for (const registry of [lacking, whole]) registry.addImage("mirror/app", "v1", image);
  lacking.misbehave = (req, res) => (req.url?.includes("/blobs/") ?? false) && refuse(res, 404, "BLOB_UNKNOWN", "blob unknown");
  const { puller: p, set } = await pullerWith();
  set({ entries: [createEntry("source.invalid", [mirrorAt(lacking, "tag-only"), mirrorAt(whole, "tag-only")], { blocked: true })] });
  await p.pull("ext", "source.invalid/app:v1", { signal });
  expect(whole.paths(/blobs/)).toHaveLength(2);
});

test("a pull does not contact a source that the cluster blocks, and reports the object that blocks it and each mirror", async () => {
  const [source, lacking] = [await loopbackRegistry(), await loopbackRegistry()];
  source.addImage("app", "v1", image);
  const { puller: p, set } = await pullerWith({ conf: insecureRegistry("unrelated.invalid") });
  set({ entries: [createEntry(source.host, [mirrorAt(lacking)], { blocked: true, insecure: true })] });
  const err = await failure(p.pull("ext", `${source.host}/app:v1`, { signal }));
  expect(err.message).toContain(`registry ${source.host} is blocked in ${ORIGIN}`);
  expect(source.requests).toEqual([]);
  expect(newPullProblem(err, err.message)).toMatchObject({
    type: "ImagePullFailed",
    details: {
      locations: [
        { reference: `${lacking.host}/mirror/app:v1`, from: ORIGIN, message: expect.stringContaining("manifest unknown") },
        { reference: `${source.host}/app:v1`, message: `registry ${source.host} is blocked in ${ORIGIN}` },
      ],
    },
  });
});

test("a pull rejects an image that the cluster does not allow, also if it is on disk, before any request", async () => {
  const source = await loopbackRegistry();
  const { digest } = source.addImage("app", "v1", image);
  const { puller: p, set } = await pullerWith({ conf: insecureRegistry(source.host) });
  const reference = `${source.host}/app@${digest}`;
  await p.pull("ext", reference, { signal });
  source.requests.length = 0;
  set({ scopes: { origin: 'Image "cluster"', blocked: [source.host], allowed: undefined } });
  for (const attempt of [
    () => p.pull("ext", reference, { signal }),
    () => p.pull("new", `${source.host}/app:v1`, { signal }),
    () => p.resolve(`${source.host}/app:v1`, signal),
    () => p.cached("ext", reference, { signal }),
  ]) {
    const err = await failure(attempt());
    expect(findRejectedError(err)?.message).toMatch(
      /^Source image rejected: Running image docker:\S+ is rejected by policy: Image "cluster"/,
    );
  }
  expect(source.requests).toEqual([]);
  set({ scopes: { origin: 'Image "cluster"', blocked: [], allowed: [source.host] } });
  await p.pull("new", `${source.host}/app:v1`, { signal });
});

test("a pull applies the policy of the cluster to the requested name instead of the name of the mirror", async () => {
  const mirror = await loopbackRegistry();
  mirror.addImage("mirror/app", "v1", image);
  const { puller: p, set } = await pullerWith();
  const entries = [createEntry("source.invalid", [mirrorAt(mirror)])];
  set({ entries, scopes: { origin: 'Image "cluster"', blocked: [], allowed: [mirror.host] } });
  expect(findRejectedError(await failure(p.pull("ext", "source.invalid/app:v1", { signal })))).toBeDefined();
  set({ entries, scopes: { origin: 'Image "cluster"', blocked: [], allowed: ["source.invalid"] } });
  await p.pull("ext", "source.invalid/app:v1", { signal });
});

test("a pull trusts the certificate authorities of the cluster for their host only", async () => {
  const certificate = await serverCertificate("127.0.0.1");
  const registry = await loopbackRegistry(certificate);
  registry.addImage("app", "v1", image);
  const { puller: p, set } = await pullerWith();
  const reference = `${registry.host}/app:v1`;
  set({ authorities: new Map([["other.invalid", [certificate.cert]]]) });
  expect((await failure(p.pull("ext", reference, { signal }))).message).toContain("x509: certificate signed by unknown authority");
  set({ authorities: new Map([[registry.host, [certificate.cert]]]) });
  await p.pull("ext", reference, { signal });
});

test.for(["basic", "bearer"])(
  "a pull sends neither the password nor the token of the source to a mirror, or the other way round (%s)",
  async (scheme) => {
    const [mirror, source] = [await loopbackRegistry(), await loopbackRegistry()];
    source.addImage("app", "v1", image);
    for (const registry of [mirror, source])
      registry.misbehave = (req, res) => {
        const url = new URL(req.url ?? "", registry.url);
        if (url.pathname === "/token") {
          res.end(JSON.stringify({ token: `token-of-${registry.host}`, expires_in: 300 }));
          return true;
        }
        if (req.headers.authorization) return false;
        res.setHeader("www-authenticate", scheme === "basic" ? 'Basic realm="r"' : `Bearer realm="${registry.url}/token",service="test"`);
        return refuse(res, 401, "UNAUTHORIZED", "authentication required");
      };
    const auths = {
      [source.host]: { username: "source-user", password: PASSWORD },
      [mirror.host]: { username: "mirror-user", password: "m" },
    };
    const { puller: p, set, logged } = await pullerWith({ auths });
    set({ entries: [createEntry(source.host, [mirrorAt(mirror)], { insecure: true })] });
    await p.pull("ext", `${source.host}/app:v1`, { signal });
    const sentTo = (registry: LoopbackRegistry): string =>
      registry.requests.map(({ path, headers }) => `${path} ${decode(headers.authorization)}`).join("\n");
    expect(sentTo(mirror)).toContain(scheme === "basic" ? "mirror-user:m" : `token-of-${mirror.host}`);
    expect(sentTo(mirror)).not.toMatch(new RegExp(`source-user|${PASSWORD}|token-of-${source.host}`));
    expect(sentTo(source)).not.toMatch(new RegExp(`mirror-user|token-of-${mirror.host}`));
    expect(logged.join("")).not.toContain(PASSWORD);
  },
);

function decode(authorization = ""): string {
  return authorization.startsWith("Basic ") ? atob(authorization.slice("Basic ".length)) : authorization;
}

test("a pull fails with the fault of the settings, without contacting a registry", async () => {
  const source = await loopbackRegistry();
  const { puller: p, set } = await pullerWith({ conf: insecureRegistry(source.host) });
  set({ fault: 'loading registries configuration in ConfigMap "ns/registries": registries.conf: line 1' });
  expect((await failure(p.pull("ext", `${source.host}/app:v1`, { signal }))).message).toBe(
    'error creating image source: loading registries configuration in ConfigMap "ns/registries": registries.conf: line 1',
  );
  expect(source.requests).toEqual([]);
});

test("the error of a pull lists at most ten mirrors, and the problem at most twenty locations", async () => {
  const mirror = await loopbackRegistry();
  const mirrors = Array.from({ length: 40 }, (_, index) => ({ ...mirrorAt(mirror), location: `${mirror.host}/m${index}` }));
  const { puller: p, set } = await pullerWith({ limits: { ...QUICK, timeoutMs: 60_000 } });
  set({ entries: [createEntry("source.invalid", mirrors, { blocked: true })] });
  const err = await failure(p.pull("ext", "source.invalid/app:v1", { signal }));
  expect(err.message).toContain(`[${mirror.host}/m9/app:v1: `);
  expect(err.message).not.toContain("/m10/");
  expect(err.message).toContain("\nand 30 more): source.invalid/app:v1: registry source.invalid is blocked");
  expect(listFailedLocations(err)).toHaveLength(41);
});
