import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { problemTexts, buildResolved as resolvedPhase, runStep, type StepOutcome } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { GroupVersionKind } from "../../api/k8s.ts";
import { systemClock } from "../../async/clock.ts";
import { buildSampleBundles } from "../../devcluster/sample/sample.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import { KindNotServed } from "../../kube/errors.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { CertificateProviders } from "../apply/certificateProviders.ts";
import { BundleCache } from "../bundles/bundleCache.ts";
import { BundleImages, type BundlePuller } from "../bundles/bundleImages.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { ResolvedBundle, Unpacked } from "../state/phases.ts";
import { computeInputDigest, unpackBundle } from "./unpack.ts";

const RESOLVED: ResolvedBundle = {
  packageName: "p",
  name: "p.v1.0.0",
  version: "1.0.0",
  image: "quay.io/p@sha256:1",
  explanation: "the only one",
};
const made = createExtension("x", { packageName: "p" });
const X: ClusterExtension = { ...made, metadata: { ...made.metadata, uid: "u1" } };

/** Returns the same folder for every image, or fails. */
class CannedImages implements BundlePuller {
  readonly pulled: string[] = [];
  failure: Error | undefined;
  /** Fails only for this image; if unset, for any. */
  gone: string | undefined;
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  cached(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  remove(): Promise<void> {
    return Promise.resolve();
  }

  pull(owner: string, ref: string): Promise<{ canonical: string; digest: string; dir: string }> {
    this.pulled.push(`${owner} ${ref}`);
    return this.failure && (this.gone === undefined || this.gone === ref)
      ? Promise.reject(this.failure)
      : Promise.resolve({ canonical: ref, digest: "sha256:1", dir: this.#dir });
  }
}

const withSpec = (spec: Partial<ClusterExtension["spec"]>): ClusterExtension => ({ ...X, spec: { ...X.spec, ...spec } });
const configured = (inline: Record<string, unknown>): ClusterExtension => withSpec({ config: { configType: "Inline", inline } });

test.for<[what: string, extension: ClusterExtension, buildResolved: ResolvedBundle, same: boolean]>([
  ["changes with the image", X, { ...RESOLVED, image: "quay.io/p@sha256:2" }, false],
  ["changes with the bundle's name", X, { ...RESOLVED, name: "p.v1.0.1" }, false],
  ["changes with the bundle's version", X, { ...RESOLVED, version: "1.0.1" }, false],
  ["changes with the bundle's release", X, { ...RESOLVED, release: "2" }, false],
  ["changes with an explicitly empty release", X, { ...RESOLVED, release: "" }, false],
  ["changes with the install namespace", withSpec({ namespace: "other" }), RESOLVED, false],
  ["changes with the configuration", configured({ watchNamespace: "a" }), RESOLVED, false],
  ["changes with the pull secrets", withSpec({ install: { imagePullSecrets: [{ name: "a" }] } }), RESOLVED, false],
  ["changes when the extension is recreated", { ...X, metadata: { ...X.metadata, uid: "u2" } }, RESOLVED, false],
  ["ignores the catalog", X, { ...RESOLVED, catalog: "c" }, true],
  ["ignores explanation and edge", X, { ...RESOLVED, explanation: "highest", edge: "stay" }, true],
  [
    "ignores labels, annotations and generation",
    { ...X, metadata: { ...X.metadata, generation: 7, labels: { a: "b" }, annotations: { c: "d" } } },
    RESOLVED,
    true,
  ],
  [
    "ignores the version range",
    withSpec({ source: { sourceType: "Catalog", catalog: { packageName: "p", version: ">=1" } } }),
    RESOLVED,
    true,
  ],
  ["ignores an empty list of pull secrets", withSpec({ install: { imagePullSecrets: [] } }), RESOLVED, true],
  ["ignores spec.uninstall", withSpec({ uninstall: { crdPolicy: "Retain" } }), RESOLVED, true],
  ["ignores the ServiceAccount", withSpec({ serviceAccount: { name: "other" } }), RESOLVED, true],
])("computeInputDigest %s", ([, extension, buildResolved, same]) => {
  const before = computeInputDigest(resolvedPhase(X, RESOLVED));
  expect(computeInputDigest(resolvedPhase(extension, buildResolved)) === before).toBe(same);
});

test("computeInputDigest ignores the order of members in the configuration, but not the order of lists", () => {
  const digest = (inline: Record<string, unknown>): string => computeInputDigest(resolvedPhase(configured(inline), RESOLVED));
  expect(digest({ a: 1, b: { c: 2, d: 3 } })).toBe(digest({ b: { d: 3, c: 2 }, a: 1 }));
  expect(digest({ a: [1, 2] })).not.toBe(digest({ a: [2, 1] }));
});

const NO_KINDS = { resourceFor: ({ apiVersion, kind }: GroupVersionKind) => Promise.reject(new KindNotServed(apiVersion, kind)) };

interface Given {
  latest?: ReleaseRecord;
  installed?: boolean;
  failure?: Error;
  gone?: string;
  resolved?: ResolvedBundle;
  /** The image about which permission-manager has not decided. */
  requested?: { ref: string; canonical: string };
}

async function pass(given: Given): Promise<StepOutcome<Unpacked> & { pulled: string[] }> {
  using folder = new TempFolder();
  const [sample] = buildSampleBundles();
  const images = new CannedImages(folder.write("image", Object.fromEntries(sample?.files ?? [])));
  images.failure = given.failure;
  images.gone = given.gone;
  const requeued = Promise.withResolvers<void>();
  const memory = new ExtensionCache();
  if (given.requested) memory.of(X).requestedImage = given.requested;
  const step = unpackBundle({
    managed: { covers: () => false },
    memory,
    images: new BundleImages(images, () => requeued.resolve()),
    bundles: new BundleCache(systemClock),
    providers: new CertificateProviders(NO_KINDS, "auto"),
  });
  const run = (): Promise<StepOutcome<Unpacked>> => {
    const phase = resolvedPhase(X, given.resolved ?? RESOLVED);
    const { releases } = phase;
    if (given.latest) releases.history = { ...releases.history, current: [given.latest] };
    if (given.installed) releases.installed = RESOLVED;
    return runStep(step, phase);
  };
  const first = await run();
  if (!first.isLeft) return { ...first, pulled: images.pulled };
  expect(first.result).toMatchObject({ isPending: true });
  await requeued.promise;
  return { ...(await run()), pulled: images.pulled };
}

const digest = computeInputDigest(resolvedPhase(X, RESOLVED));

test.for<[why: string, given: Given, pulls: boolean]>([
  ["nothing is released", {}, true],
  ["the deployed release has the same input", { latest: releaseRecord(1, "deployed", { inputDigest: digest }) }, false],
  ["the deployed release has other input", { latest: releaseRecord(1, "deployed", { inputDigest: "other" }) }, true],
  ["another implementation wrote the release", { latest: releaseRecord(1, "deployed") }, true],
  ["the newest attempt with the same input failed", { latest: releaseRecord(1, "failed", { inputDigest: digest }) }, true],
  ["the release was interrupted", { latest: releaseRecord(1, "pending-install", { inputDigest: digest }) }, true],
])("unpackBundle pulls an image only if needed when %s", async ([, given, pulls]) => {
  const { next, pulled, error } = await pass(given);
  expect(error).toBeUndefined();
  expect(pulled).toEqual(pulls ? ["x quay.io/p@sha256:1"] : []);
  expect(next?.content?.name).toBe(pulls ? "hello-operator.v1.0.0" : undefined);
  expect(next?.inputDigest).toBe(digest);
});

test.for([new RetryableError("Retrying", "error creating image source: no route"), new TerminalError("Blocked", "digest mismatch")])(
  "unpackBundle with a failed pull throws in a first install, and keeps the objects of an installed bundle: %s",
  async (failure) => {
    const fresh = await pass({ failure });
    const problems = [{ type: "ImagePullFailed", severity: "Error", message: failure.message }];
    expect(fresh.error).toMatchObject({ message: failure.message, reason: failure.reason, retry: failure.retry, problems });
    const kept = await pass({ failure, installed: true });
    expect(kept.error).toBeUndefined();
    expect(kept.next?.content).toBeUndefined();
    expect(problemTexts(kept.phase)).toEqual([
      `cannot pull bundle image quay.io/p@sha256:1, so the controller keeps the installed objects: ${failure.message}`,
    ]);
  },
);

/** Source: S3-39. */
test("unpackBundle pulls the installed bundle by its installed digest, and records the digest", async () => {
  const { next, pulled } = await pass({ resolved: { ...RESOLVED, image: "quay.io/p:v1", pullFrom: "quay.io/p@sha256:7" } });
  expect(pulled).toEqual(["x quay.io/p@sha256:7"]);
  expect(next?.bundle).toMatchObject({ image: "quay.io/p:v1", imageDigest: "sha256:1" });
});

test.for<[what: string, latest: ReleaseRecord, isAdopted: boolean]>([
  ["adopts the bundle with the image of the catalog when another implementation installed it", releaseRecord(1, "deployed"), true],
  ["keeps the installed objects when the controller installed them", releaseRecord(1, "deployed", { inputDigest: "other" }), false],
])("unpackBundle with an image that no longer exists %s", async ([, latest, isAdopted]) => {
  const failure = new Error("manifest unknown");
  const buildResolved = { ...RESOLVED, pullFrom: RESOLVED.image, offered: "mirror.io/p:v1" };
  const { phase, next, pulled, error } = await pass({ latest, installed: true, failure, gone: RESOLVED.image, resolved: buildResolved });
  expect(error).toBeUndefined();
  expect(pulled).toEqual(["x quay.io/p@sha256:1", ...(isAdopted ? ["x mirror.io/p:v1"] : [])]);
  expect([next?.bundle.image, next?.content === undefined]).toEqual(isAdopted ? ["mirror.io/p:v1", false] : [RESOLVED.image, true]);
  expect(next?.inputDigest === digest).toBe(!isAdopted);
  expect(problemTexts(phase)).toEqual([expect.stringMatching(/^cannot pull (bundle )?image quay.io.p@sha256:1/)]);
});

test.for<[what: string, ref: string, pulled: string]>([
  ["the digest of a tag while permission-manager has not decided about it", "quay.io/p:v1", "quay.io/p@sha256:2"],
  ["a tag when permission-manager decides about another reference", "quay.io/p:v0", "quay.io/p:v1"],
])("unpackBundle pulls %s", async ([, ref, pulled]) => {
  const resolved = { ...RESOLVED, image: "quay.io/p:v1" };
  const passed = await pass({ resolved, requested: { ref, canonical: "quay.io/p@sha256:2" } });
  expect(passed.pulled).toEqual([`x ${pulled}`]);
});

test("unpackBundle throws the abort reason instead of the pull error when the signal aborts", async () => {
  const stopping = new AbortController();
  const images = {
    cancel: () => Promise.resolve(),
    obtain: () => (stopping.abort(new Error("stopped")), Promise.reject(new Error("aborted"))),
  } as unknown as BundleImages;
  const step = unpackBundle({
    managed: { covers: () => false },
    images,
    bundles: new BundleCache(systemClock),
    providers: new CertificateProviders(NO_KINDS, "auto"),
    memory: new ExtensionCache(),
  });
  const { error, phase } = await runStep(step, resolvedPhase(X, RESOLVED, { releases: { installed: RESOLVED } }), stopping.signal);
  expect(error).toMatchObject({ message: "stopped" });
  expect(problemTexts(phase)).toEqual([]);
});
