import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LoopbackRegistry } from "../../../test/support/loopbackRegistry.ts";
import { insecureRegistry, loopbackRegistry, puller } from "../../../test/support/pulling.ts";
import { BUNDLE, bundleOf, Signer, signedBy } from "../../../test/support/signing.ts";
import { tarball } from "../../../test/support/tarball.ts";
import { MediaType } from "../manifest.ts";
import type { FoundSignature } from "../signers/foundSignature.ts";
import { ARTIFACT_TYPE, formatSignatureTag, SIGNATURE_TYPE } from "./attachments.ts";
import { SIGNATURE_ANNOTATION } from "./judge.ts";

const NAME = "quay.io/ns/app";
const LOOKED = /; checked sha256-\w{64}\.sig and referrers in \S+\/ns\/app: .*$/;
const alice = new Signer("Ed25519");
const mallory = new Signer("Ed25519");

/** A registry with an image, and the outcome of a pull that requires a signature by alice. */
async function setUp() {
  const registry = await loopbackRegistry();
  const { digest } = registry.addImage("ns/app", "v1", { layers: [tarball([{ name: "a", content: "1" }])] });
  const made = await puller({ conf: insecureRegistry(registry.host, "quay.io"), limits: { attempts: 1 } });
  const policy = join(made.cacheDir, "../policy.json");
  await writeFile(policy, signedBy([alice]));
  const outcome = (): Promise<string> =>
    made.puller.pull("ext", `${NAME}:v1`, { signal: new AbortController().signal }).then(
      () => "pulled",
      (err: Error) => err.message.replace("error copying image: Source image rejected: ", "").replace(LOOKED, ""),
    );
  return { registry, digest, outcome, policy, good: alice.claim(digest, NAME), bad: mallory.claim(digest, NAME) };
}

function layerOf(registry: LoopbackRegistry, { payload, signature = "" }: FoundSignature): object {
  return { ...registry.addBlob(payload, SIGNATURE_TYPE), annotations: { [SIGNATURE_ANNOTATION]: signature } };
}

function attach(
  registry: LoopbackRegistry,
  tag: string,
  layers: readonly object[],
  configType = "application/vnd.oci.image.config.v1+json",
) {
  const config = registry.addBlob("{}", configType);
  return registry.addManifest("ns/app", tag, { schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers });
}

const MISSING = "A signature was required, but no signature exists";
const UNVERIFIED = "cryptographic signature verification failed: the signature does not match any key in the policy";

test.for<[what: string, layers: (bad: object, good: object) => object[], want: string]>([
  ["the newest is valid", (bad, good) => [...Array.from({ length: 200 }, () => bad), good], "pulled"],
  ["the 64th from the end is valid", (bad, good) => [good, ...Array.from({ length: 63 }, () => bad)], "pulled"],
  ["an older one is valid", (bad, good) => [good, ...Array.from({ length: 64 }, () => bad)], UNVERIFIED],
  ["none has the media type of signatures", (_, good) => [{ ...good, mediaType: "application/json" }], MISSING],
  ["one exceeds the size limit of a signature", (_, good) => [{ ...good, size: 300_000 }], MISSING],
])("only the newest 64 signatures are checked: %s", async ([, layers, want]) => {
  const { registry, digest, outcome, good, bad } = await setUp();
  attach(registry, formatSignatureTag(digest), layers(layerOf(registry, bad), layerOf(registry, good)));
  expect(await outcome()).toBe(want);
});

test("the pull fails when a signature payload does not match its digest", async () => {
  const { registry, digest, outcome, good } = await setUp();
  const layer = layerOf(registry, good) as { digest: string };
  attach(registry, formatSignatureTag(digest), [layer]);
  registry.misbehave = (req, res) => {
    if (!req.url?.endsWith(layer.digest)) return false;
    res.end(Buffer.alloc(good.payload.length));
    return true;
  };
  expect(await outcome()).toContain("Digest did not match");
});

test.for<[what: string, body: string, want: string]>([
  ["invalid JSON", "{", "the manifest is not JSON"],
  ["an index", JSON.stringify({ schemaVersion: 2, manifests: [] }), "expected an image manifest with signatures, found an image index"],
])("an image is rejected when its signature tag has other content: %s", async ([, body, want]) => {
  const { registry, digest, outcome } = await setUp();
  registry.addManifest("ns/app", formatSignatureTag(digest), body);
  expect(await outcome()).toBe(`reading signatures of ${registry.host}/ns/app@${digest}: ${want}`);
});

/** Lists referrers of a manifest, at the referrers endpoint or at the fallback tag. */
function refer(registry: LoopbackRegistry, digest: string, by: "endpoint" | "tag", manifests: readonly object[]): void {
  const index = { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests };
  if (by === "tag") registry.addManifest("ns/app", digest.replace(":", "-"), index, MediaType.ociIndex);
  else
    registry.misbehave = (req, res) => {
      if (!req.url?.endsWith(`/referrers/${digest}`)) return false;
      res.setHeader("content-type", MediaType.ociIndex).end(JSON.stringify(index));
      return true;
    };
}

test.for(["endpoint", "tag"] as const)("signatures in referrers of the image are accepted when found by %s", async (by) => {
  const { registry, digest, outcome, good, bad } = await setUp();
  const first = attach(registry, "first", [layerOf(registry, bad)], ARTIFACT_TYPE);
  const second = attach(registry, "second", [layerOf(registry, good)], ARTIFACT_TYPE);
  refer(registry, digest, by, [{ ...first, artifactType: ARTIFACT_TYPE }]);
  expect(await outcome()).toBe(UNVERIFIED);
  refer(
    registry,
    digest,
    by,
    [first, second].map((one) => ({ ...one, artifactType: ARTIFACT_TYPE })),
  );
  expect(await outcome()).toBe("pulled");
});

test("at most 64 signatures are read from all referrers together, and the newest are checked", async () => {
  const { registry, digest, outcome, good, bad } = await setUp();
  const layers = Array.from({ length: 64 }, () => layerOf(registry, bad));
  const referrers = Array.from({ length: 32 }, (_, at) => ({
    ...attach(registry, `many-${at}`, at === 31 ? layers.slice(0, 40) : layers, ARTIFACT_TYPE),
    artifactType: ARTIFACT_TYPE,
  }));
  refer(registry, digest, "endpoint", referrers);
  const { digest: payload } = layers[0] as { digest: string };
  expect(await outcome()).toBe(UNVERIFIED);
  expect(registry.paths(new RegExp(`/blobs/${payload}$`))).toHaveLength(64);
  const newest = { ...attach(registry, "newest", [layerOf(registry, good)], ARTIFACT_TYPE), artifactType: ARTIFACT_TYPE };
  refer(registry, digest, "endpoint", [...referrers, newest]);
  expect(await outcome()).toBe("pulled");
});

/** Attaches a bundle as cosign 3 does; returns its entry in a list of referrers. */
function attachBundle(registry: LoopbackRegistry, tag: string, bundle: object, artifactType = BUNDLE): object {
  const layer = registry.addBlob(JSON.stringify(bundle), BUNDLE);
  return { ...attach(registry, tag, [layer], "application/vnd.oci.empty.v1+json"), artifactType };
}

test.for([
  ["endpoint", BUNDLE],
  ["tag", BUNDLE],
  ["tag", "application/vnd.oci.empty.v1+json"],
] as const)("a cosign 3 bundle with an image name is accepted when found by %s and listed as %s", async ([by, artifactType]) => {
  const { registry, digest, outcome } = await setUp();
  refer(registry, digest, by, [attachBundle(registry, "bad", bundleOf(mallory.state(digest, NAME)), artifactType)]);
  expect(await outcome()).toBe(UNVERIFIED);
  refer(registry, digest, by, [attachBundle(registry, "good", bundleOf(alice.state(digest, NAME)), artifactType)]);
  expect(await outcome()).toBe("pulled");
});

test("a cosign bundle without an image name is accepted, also for a cached image, when the policy only requires the digest", async () => {
  const { registry, digest, outcome, policy } = await setUp();
  refer(registry, digest, "endpoint", [attachBundle(registry, "bundle", bundleOf(alice.state(digest)))]);
  expect(await outcome()).toContain('use signedIdentity "matchDigest" to accept such signatures');
  const text = await readFile(policy, "utf8");
  await writeFile(policy, text.replace("matchRepository", "matchDigest"));
  expect(await outcome()).toBe("pulled");
  const before = registry.paths(/referrers/).length;
  expect(await outcome()).toBe("pulled");
  expect(registry.paths(/referrers/)).toHaveLength(before);
  await writeFile(policy, text);
  expect(await outcome()).toContain('use signedIdentity "matchDigest" to accept such signatures');
});

test("a signature is accepted in addition to attestations and bundles with other content", async () => {
  const { registry, digest, outcome } = await setUp();
  const annotations = { "dev.sigstore.bundle.predicateType": "https://slsa.dev/provenance/v1" };
  const attestations = Array.from({ length: 40 }, (_, at) => ({
    ...attachBundle(registry, `attestation-${at}`, bundleOf(alice.state(digest, NAME, "https://slsa.dev/provenance/v1"))),
    annotations,
  }));
  const message = attachBundle(registry, "message", { mediaType: BUNDLE, messageSignature: {} });
  refer(registry, digest, "endpoint", [message, ...attestations]);
  expect(await outcome()).toBe(MISSING);
  refer(registry, digest, "endpoint", [attachBundle(registry, "good", bundleOf(alice.state(digest, NAME))), message, ...attestations]);
  expect(await outcome()).toBe("pulled");
});

test("bundles are checked when the signature at the cosign tag is not accepted", async () => {
  const { registry, digest, outcome, bad, good } = await setUp();
  attach(registry, formatSignatureTag(digest), [layerOf(registry, bad)]);
  refer(registry, digest, "endpoint", [attachBundle(registry, "bundle", bundleOf(alice.state(digest, NAME)))]);
  expect(await outcome()).toBe("pulled");
  const other = await setUp();
  attach(other.registry, formatSignatureTag(other.digest), [layerOf(other.registry, good)]);
  expect([await other.outcome(), other.registry.paths(/referrers/)]).toEqual(["pulled", []]);
});

/** Lists one referrer on each page. @param link the address of a page; default: in the form of the specification */
function referByPage(
  registry: LoopbackRegistry,
  digest: string,
  manifests: readonly object[],
  link = (page: number) => `/v2/ns/app/referrers/${digest}?n=1&page=${page}`,
): void {
  registry.misbehave = (req, res) => {
    const url = new URL(req.url ?? "", registry.url);
    if (!url.pathname.endsWith(`/referrers/${digest}`)) return false;
    const page = Number(url.searchParams.get("page") ?? 0);
    if (page + 1 < manifests.length) res.setHeader("link", `<${link(page + 1)}>; rel="next"`);
    const index = { schemaVersion: 2, mediaType: MediaType.ociIndex, manifests: manifests.slice(page, page + 1) };
    res.setHeader("content-type", MediaType.ociIndex).end(JSON.stringify(index));
    return true;
  };
}

test("signatures are found on all pages of the list of referrers", async () => {
  const { registry, digest, outcome } = await setUp();
  const other = attachBundle(registry, "bad", bundleOf(mallory.state(digest, NAME)));
  const good = attachBundle(registry, "good", bundleOf(alice.state(digest, NAME)));
  referByPage(registry, digest, [other, other, good]);
  expect(await outcome()).toBe("pulled");
  expect(registry.paths(/referrers/)).toEqual(["", "?n=1&page=1", "?n=1&page=2"].map((query) => `/v2/ns/app/referrers/${digest}${query}`));
});

test("a list of referrers that continues at another server is not followed", async () => {
  const { registry, digest, outcome, good } = await setUp();
  const other = await loopbackRegistry();
  const listed = { ...attach(registry, "good", [layerOf(registry, good)], ARTIFACT_TYPE), artifactType: ARTIFACT_TYPE };
  referByPage(registry, digest, [listed, listed], () => `${other.url}/v2/ns/app/referrers/${digest}`);
  expect(await outcome()).toContain("the list of referrers continues at another server");
  expect(other.requests).toEqual([]);
});

test("a list of referrers without an end is bounded", async () => {
  const { registry, digest, outcome } = await setUp();
  referByPage(
    registry,
    digest,
    Array.from({ length: 200 }, () => attach(registry, "sbom", [])),
  );
  expect(await outcome()).toContain("the list of referrers has more than 100 pages");
});

test.for<[what: string, damage: (registry: LoopbackRegistry) => { digest: string }, want: string]>([
  ["does not exist", (registry) => ({ ...attach(registry, "gone", []), digest: `sha256:${"0".repeat(64)}` }), "manifest unknown"],
  ["is not an image manifest", (registry) => registry.addManifest("ns/app", "broken", "{"), "the manifest is not JSON"],
  [
    "lacks its layer",
    (registry) => attach(registry, "lacking", [{ ...registry.addBlob("x", BUNDLE), digest: `sha256:${"1".repeat(64)}` }]),
    "blob unknown",
  ],
])("a referrer that %s is skipped, and reported if no signature is accepted", async ([, damage, want]) => {
  const { registry, digest, outcome } = await setUp();
  const damaged = { ...damage(registry), artifactType: BUNDLE };
  refer(registry, digest, "endpoint", [damaged]);
  expect(await outcome()).toContain(want);
  refer(registry, digest, "endpoint", [attachBundle(registry, "good", bundleOf(alice.state(digest, NAME))), damaged]);
  expect(await outcome()).toBe("pulled");
});

test("signatures in referrers are accepted when the content at the signature tag is invalid", async () => {
  const { registry, digest, outcome } = await setUp();
  registry.addManifest("ns/app", formatSignatureTag(digest), "{");
  refer(registry, digest, "endpoint", [attachBundle(registry, "good", bundleOf(alice.state(digest, NAME)))]);
  expect(await outcome()).toBe("pulled");
});

test("referrers with other artifact types are not used as signatures", async () => {
  const { registry, digest, outcome } = await setUp();
  refer(registry, digest, "endpoint", [{ ...attach(registry, "sbom", []), artifactType: "application/spdx+json" }]);
  expect(await outcome()).toBe(MISSING);
});

test("a pull fails and is retried if the registry cannot list referrers", async () => {
  const { registry, outcome } = await setUp();
  registry.misbehave = (req, res) => {
    if (!req.url?.includes("/referrers/")) return false;
    res.writeHead(503).end();
    return true;
  };
  expect(await outcome()).toContain("received unexpected HTTP status: 503 Service Unavailable");
});
