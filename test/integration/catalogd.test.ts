import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterCatalog, ClusterCatalogStatus } from "../../pkg/api/clusterCatalog.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, FINALIZER_DELETE_SERVER_CACHE, LABEL_METADATA_NAME } from "../../pkg/api/constants.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { expectProblem } from "../support/problems.ts";
import { World } from "../support/world.ts";

const PACKAGE = "---\nschema: olm.package\nname: foo\ndefaultChannel: stable\n";
const CHANNEL = "---\nschema: olm.channel\npackage: foo\nname: stable\nentries: [{name: foo.v1}]\n";
const BUNDLE =
  "---\nschema: olm.bundle\npackage: foo\nname: foo.v1\nimage: quay.io/foo/bundle:v1\n" +
  "properties: [{type: olm.package, value: {packageName: foo, version: 1.0.0}}]\n";
const LINES =
  '{"entries":[{"name":"foo.v1"}],"name":"stable","package":"foo","schema":"olm.channel"}\n' +
  '{"image":"quay.io/foo/bundle:v1","name":"foo.v1","package":"foo",' +
  '"properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}}],"schema":"olm.bundle"}\n' +
  '{"defaultChannel":"stable","name":"foo","schema":"olm.package"}\n';
const GOOD = { "bundles.yaml": CHANNEL + BUNDLE, "package.yaml": PACKAGE };
const LABEL = "operators.operatorframework.io.index.configs.v1";
const SUCCEEDED = "Successfully unpacked and stored content from resolved source";
const OFF = "Catalog availability mode is set to Unavailable";

describeWithPrivateCluster("catalogd on a real API server", (cluster) => {
  let world: World;
  beforeAll(async () => {
    world = await World.start(cluster);
  });
  afterAll(() => world?.stop());

  function bytes(files: Record<string, string>): Map<string, Uint8Array> {
    return new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
  }
  const push = (repository: string, tag: string, files: Record<string, string>): Promise<string> =>
    world.pushCatalog(repository, tag, bytes(files));

  async function apply(name: string, ref: string, spec: Record<string, unknown> = {}): Promise<void> {
    await world.apply({
      apiVersion: API_VERSION,
      kind: "ClusterCatalog",
      metadata: { name },
      spec: { source: { type: "Image", image: { ref } }, ...spec },
    });
  }
  const get = (name: string): Promise<ClusterCatalog | undefined> =>
    cluster.client.get<ClusterCatalog>({ apiVersion: API_VERSION, kind: "ClusterCatalog", name });
  /** Waits until condition Progressing has this reason at the object's newest generation. */
  async function progressing(name: string, reason: string): Promise<ClusterCatalogStatus> {
    const object = await world.condition("ClusterCatalog", name, (c, { metadata }) => {
      const found = c("Progressing");
      return found?.reason === reason && found.observedGeneration === metadata.generation;
    });
    return object["status"] ?? {};
  }
  const message = (status: ClusterCatalogStatus | undefined, type: string): string => {
    const found = findCondition(status?.conditions, type);
    return found ? `${found.status}/${found.reason}: ${found.message}` : "absent";
  };
  async function all(name: string): Promise<{ status: number; text: string }> {
    const answer = await fetch(`${world.installation.catalogs}/catalogs/${name}/api/v1/all`);
    return { status: answer.status, text: await answer.text() };
  }

  test("catalogd unpacks and serves a new catalog, and reports its image and URL in status", async () => {
    const digestRef = await push("test/good", "v1", GOOD);
    await apply("good", "quay.io/test/good:v1");
    const status = await progressing("good", "Succeeded");
    expect([message(status, "Progressing"), message(status, "Serving")]).toEqual([
      `True/Succeeded: ${SUCCEEDED}`,
      "True/Available: Serving desired content from resolved source",
    ]);
    expect(status.resolvedSource).toEqual({ type: "Image", image: { ref: digestRef } });
    expect(status.urls).toEqual({ base: `${world.installation.catalogs}/catalogs/good` });
    expect(Date.now() - Date.parse(status.lastUnpacked ?? "")).toBeLessThan(60_000);
    const { metadata } = (await get("good")) ?? { metadata: undefined };
    expect([metadata?.finalizers, metadata?.labels]).toEqual([[FINALIZER_DELETE_SERVER_CACHE], { [LABEL_METADATA_NAME]: "good" }]);
    expect(await all("good")).toEqual({ status: 200, text: LINES });
    const metas = await fetch(`${status.urls?.base}/api/v1/metas?schema=olm.bundle&package=foo`);
    expect(await metas.text()).toBe(LINES.split("\n")[1] + "\n");
    expect(metas.headers.get("olm-catalog-digest")).toBe(digestRef.split("@")[1]);
    await eventually(async () => {
      const selection = { namespace: "default", fieldSelector: "involvedObject.name=good" };
      const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Event" }, selection);
      expect(items.map(({ ["reason"]: reason, ["message"]: text }) => [reason, text])).toEqual([
        ["ContentStored", `serving 3 objects (1 packages, 1 bundles) of ${digestRef}`],
      ]);
    });
  });

  test("catalogd serves a catalog whose image is referenced by digest, and does not write its status again", async () => {
    await apply("by-digest", await push("test/by-digest", "v1", GOOD));
    await progressing("by-digest", "Succeeded");
    expect((await all("by-digest")).text).toBe(LINES);
    await sleep(500);
    const before = (await get("by-digest"))?.metadata.resourceVersion;
    await sleep(1_500);
    expect((await get("by-digest"))?.metadata.resourceVersion).toBe(before);
  });

  test("catalogd replaces the content of a catalog whose tag has moved when the spec changes", async () => {
    await push("test/moving", "latest", GOOD);
    await apply("moving", "quay.io/test/moving:latest");
    await progressing("moving", "Succeeded");
    const second = await push("test/moving", "latest", { "package.yaml": PACKAGE });
    await apply("moving", "quay.io/test/moving:latest", { priority: 5 });
    const status = await progressing("moving", "Succeeded");
    expect(status.resolvedSource?.image.ref).toBe(second);
    expect((await all("moving")).text).toBe(LINES.split("\n")[2] + "\n");
  });

  test.for<[string, string, RegExp, (catalog: ClusterCatalog) => unknown]>([
    [
      "an image that does not exist",
      "quay.io/test/nothing:v1",
      /^True\/Retrying: source catalog content: error creating image source: .*test\/nothing/,
      (catalog) => expectProblem(catalog, "ImagePullFailed", { message: "manifest unknown" }),
    ],
    [
      "a digest that does not exist",
      `quay.io/test/good@sha256:${"0".repeat(64)}`,
      /^True\/Retrying: source catalog content: error copying image: .*sha256:0000/,
      (catalog) => expectProblem(catalog, "ImagePullFailed", { message: "manifest unknown" }),
    ],
    [
      "tag and digest together",
      `quay.io/test/good:v1@sha256:${"0".repeat(64)}`,
      /^False\/Blocked: source catalog content: terminal error: error creating reference: Docker references with both a tag and digest are currently not supported$/,
      (catalog) => expectProblem(catalog, "InvalidSpec", { message: "both a tag and digest" }),
    ],
  ])("catalogd reports %s in a condition", async ([what, ref, want, reported]) => {
    const name = what.replaceAll(" ", "-");
    await apply(name, ref);
    const status = await progressing(name, want.source.includes("Blocked") ? "Blocked" : "Retrying");
    expect(message(status, "Progressing")).toMatch(want);
    expect([message(status, "Serving"), status.resolvedSource, status.urls]).toEqual(["absent", undefined, undefined]);
    reported((await get(name))!);
    expect((await all(name)).status).toBe(404);
  });

  test("catalogd retries an image without the catalog label when it is referenced by tag, and reports Blocked when by digest", async () => {
    const { digest } = await pushImage(cluster.registry, "test/no-label", "v1", { files: bytes({ "configs/a.yaml": PACKAGE }) });
    const want = `catalog image is missing the required label "${LABEL}"`;
    await apply("no-label-tag", "quay.io/test/no-label:v1");
    expect(message(await progressing("no-label-tag", "Retrying"), "Progressing")).toBe(
      `True/Retrying: source catalog content: error applying image: ${want}`,
    );
    await apply("no-label-digest", `quay.io/test/no-label@${digest}`);
    expect(message(await progressing("no-label-digest", "Blocked"), "Progressing")).toBe(
      `False/Blocked: source catalog content: error applying image: terminal error: ${want}`,
    );
  });

  test("catalogd reports an image without the folder that its label names, and does not serve an empty catalog", async () => {
    const { digest } = await pushImage(cluster.registry, "test/no-folder", "v1", {
      files: bytes({ "other/a.yaml": PACKAGE }),
      labels: { [LABEL]: "/configs" },
    });
    await apply("no-folder", `quay.io/test/no-folder@${digest}`);
    expect(message(await progressing("no-folder", "Blocked"), "Progressing")).toBe(
      `False/Blocked: source catalog content: terminal error: catalog image has no folder "/configs", which its label "${LABEL}" specifies`,
    );
  });

  test("catalogd serves an empty catalog, and reports that the catalog is empty", async () => {
    await push("test/empty", "v1", { "README.md": "# nothing yet\n" });
    await apply("empty", "quay.io/test/empty:v1");
    expect(message(await progressing("empty", "Succeeded"), "Progressing")).toBe(`True/Succeeded: ${SUCCEEDED}`);
    expectProblem((await get("empty"))!, "CatalogEmpty", { message: "the catalog contains no objects" });
    expect(await all("empty")).toEqual({ status: 200, text: "" });
  });

  test("catalogd reports an invalid document with file, document and line, and serves the last good content until the document is corrected", async () => {
    const good = await push("test/breaking", "v1", GOOD);
    await apply("breaking", "quay.io/test/breaking:v1");
    await progressing("breaking", "Succeeded");
    await push("test/breaking", "v2", { "a/fine.yaml": PACKAGE, "a/broken.yaml": `${CHANNEL}---\nschema: olm.bundle\nname: [foo\n` });
    await apply("breaking", "quay.io/test/breaking:v2");
    const status = await progressing("breaking", "Retrying");
    expect(message(status, "Progressing")).toMatch(
      /^True\/Retrying: error storing fbc: error walking FBC root: a\/broken\.yaml: document 2, line 9: ./,
    );
    expect(message(status, "Serving")).toBe("True/Available: Serving desired content from resolved source");
    expectProblem((await get("breaking"))!, "CatalogInvalid", { message: "a/broken.yaml: document 2, line 9: " });
    expect(status.resolvedSource?.image.ref).toBe(good);
    expect(await all("breaking")).toEqual({ status: 200, text: LINES });
    const mended = await push("test/breaking", "v3", { "package.yaml": PACKAGE });
    await apply("breaking", "quay.io/test/breaking:v3");
    expect((await progressing("breaking", "Succeeded")).resolvedSource?.image.ref).toBe(mended);
    expect((await all("breaking")).text).toBe(LINES.split("\n")[2] + "\n");
  });

  test("catalogd stops serving a catalog and removes its finalizer when availabilityMode is Unavailable, and serves it again when Available", async () => {
    await push("test/switch", "v1", GOOD);
    await apply("switch", "quay.io/test/switch:v1");
    await progressing("switch", "Succeeded");
    await apply("switch", "quay.io/test/switch:v1", { availabilityMode: "Unavailable" });
    const off = await eventually(async () => {
      const object = await get("switch");
      expect(object?.metadata.finalizers).toBeUndefined();
      return object;
    });
    expect([message(off?.status, "Progressing"), message(off?.status, "Serving")]).toEqual([
      `True/Succeeded: ${OFF}`,
      `False/UserSpecifiedUnavailable: ${OFF}`,
    ]);
    expect([off?.status?.resolvedSource, off?.status?.urls, off?.status?.lastUnpacked]).toEqual([undefined, undefined, undefined]);
    expect((await all("switch")).status).toBe(404);
    await apply("switch", "quay.io/test/switch:v1", { availabilityMode: "Available" });
    await world.condition("ClusterCatalog", "switch", (c) => c("Serving")?.status === "True");
    expect((await all("switch")).text).toBe(LINES);
    expect((await get("switch"))?.metadata.finalizers).toEqual([FINALIZER_DELETE_SERVER_CACHE]);
  });

  test("catalogd stops serving a catalog when it is deleted", async () => {
    await push("test/deleted", "v1", GOOD);
    await apply("deleted", "quay.io/test/deleted:v1");
    await progressing("deleted", "Succeeded");
    await world.removed("ClusterCatalog", "deleted");
    expect((await all("deleted")).status).toBe(404);
    await apply("failing", "quay.io/test/nothing:v1");
    await progressing("failing", "Retrying");
    await world.removed("ClusterCatalog", "failing");
  });

  test("catalogd corrects a changed status or label", async () => {
    await push("test/drift", "v1", GOOD);
    await apply("drift", "quay.io/test/drift:v1");
    const status = await progressing("drift", "Succeeded");
    const ref = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: "drift" };
    await cluster.client.patch(
      ref,
      { status: { conditions: null, resolvedSource: null, urls: null } },
      { type: "merge", subresource: "status" },
    );
    await cluster.client.patch(ref, { metadata: { labels: { [LABEL_METADATA_NAME]: "other" } } }, { type: "merge" });
    await eventually(async () => {
      const object = await get("drift");
      expect(object?.metadata.labels?.[LABEL_METADATA_NAME]).toBe("drift");
      expect(object?.status?.resolvedSource).toEqual(status.resolvedSource);
      expect(message(object?.status, "Serving")).toBe("True/Available: Serving desired content from resolved source");
    });
  });

  test("catalogd serves stored content at once after a restart without a new pull, and removes catalogs that were deleted while it was stopped", async () => {
    await push("test/kept", "v1", GOOD);
    for (const name of ["kept", "orphan"]) {
      await apply(name, "quay.io/test/kept:v1");
      await progressing(name, "Succeeded");
    }
    const before = await get("kept");
    await world.installation.servers.catalogd.stop();
    const orphan = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: "orphan" };
    await cluster.client.patch(orphan, { metadata: { finalizers: null } }, { type: "merge" });
    await cluster.client.delete(orphan);
    await world.installation.restart("catalogd");
    expect(await all("kept")).toEqual({ status: 200, text: LINES });
    await eventually(async () => expect((await all("orphan")).status).toBe(404));
    await sleep(500);
    expect((await get("kept"))?.status).toEqual(before?.status);
  });
});
