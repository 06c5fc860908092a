import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterCatalogStatus } from "../../pkg/api/clusterCatalog.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { Condition, KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { expectProblem } from "../support/problems.ts";
import { World } from "../support/world.ts";

const SOUND = `schema: olm.package
name: foo
defaultChannel: stable
---
schema: olm.channel
package: foo
name: stable
entries: [{ name: foo.v1 }]
---
schema: olm.bundle
package: foo
name: foo.v1
image: quay.io/foo/bundle:v1
properties: [{ type: olm.package, value: { packageName: foo, version: 1.0.0 } }]
`;
/** Twelve channels without entries, and an icon without data. */
const UNSOUND = `${SOUND.replace("defaultChannel: stable", "defaultChannel: stable\nicon: { mediatype: image/png }")}${Array.from(
  { length: 12 },
  (_, i) => `---\nschema: olm.channel\npackage: foo\nname: c${i}\nentries: []\n`,
).join("")}`;
const LINES_OF_UNSOUND = 15;

describeWithPrivateCluster("findings of catalogs", (cluster) => {
  let world: World;
  const extraArgs = { catalogd: [] as string[] };
  beforeAll(async () => {
    world = await World.start(cluster, { extraArgs });
  });
  afterAll(() => world?.stop());

  async function applyCatalog(name: string, tag: string, text: string): Promise<string> {
    const ref = await world.pushCatalog(`test/${name}`, tag, new Map([["catalog.yaml", Buffer.from(text)]]));
    await world.apply({
      apiVersion: API_VERSION,
      kind: "ClusterCatalog",
      metadata: { name },
      spec: { source: { type: "Image", image: { ref: `quay.io/test/${name}:${tag}` } } },
    });
    return ref;
  }
  /** Waits until catalogd has reconciled the newest spec. */
  async function waitUntilSettled(
    name: string,
  ): Promise<{ object: KubeObject; status: ClusterCatalogStatus; of: (type: string) => Condition | undefined }> {
    const object = await world.condition(
      "ClusterCatalog",
      name,
      (c, { metadata }) => c("Progressing")?.observedGeneration === metadata.generation && c("Progressing")?.reason !== "RollingOut",
    );
    const status = (object["status"] ?? {}) as ClusterCatalogStatus;
    return { object, status, of: (type) => findCondition(status.conditions, type) };
  }
  const metrics = async (): Promise<string[]> => {
    const text = await (await fetch(`${world.installation.probes.catalogd}/metrics`)).text();
    return text.split("\n").filter((line) => line.startsWith("catalogd_catalog_findings{"));
  };
  const findingsUrl = (name: string): string => `${world.installation.catalogs}/catalogs/${name}/findings`;

  test("a catalog without mistakes is Valid and has no findings", async () => {
    await applyCatalog("sound", "v1", SOUND);
    const { of } = await waitUntilSettled("sound");
    expect(of("Valid")).toMatchObject({ status: "True", reason: "Valid", message: "no errors found in the served content" });
    const answer = await fetch(findingsUrl("sound"));
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([200, "application/jsonl", ""]);
  });

  test("a catalog that opm would reject is served, and its mistakes are reported in a condition, an Event, a metric and the findings", async () => {
    const digestRef = await applyCatalog("unsound", "v1", UNSOUND);
    const { object, status, of } = await waitUntilSettled("unsound");
    expectProblem(object, "CatalogWarning", { message: "12 errors and 1 warning in the served content" });
    expect([of("Progressing")?.reason, of("Serving")?.status, status.resolvedSource?.image.ref]).toEqual(["Succeeded", "True", digestRef]);
    const valid = of("Valid");
    expect(valid).toMatchObject({ status: "False", reason: "InvalidContent", observedGeneration: of("Serving")?.observedGeneration });
    const [head, link, ...first] = valid?.message.split("\n") ?? [];
    expect([head, link]).toEqual([
      "12 errors and 1 warning in the served content.",
      `All findings: ${findingsUrl("unsound")}. First findings:`,
    ]);
    expect(first).toHaveLength(10);
    expect(first[0]).toBe(
      'error: catalog.yaml: document 4, line 17: olm.channel "c0" of package "foo": invalid package "foo": invalid channel "c0": channel must contain at least one bundle',
    );
    const lines = (await (await fetch(findingsUrl("unsound"))).text()).trimEnd().split("\n");
    const findings = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(findings.map(({ rule }) => rule)).toEqual([...Array.from({ length: 12 }, () => "channel-empty"), "icon-incomplete"]);
    expect(findings[0]).toEqual({
      rule: "channel-empty",
      severity: "error",
      message: 'invalid package "foo": invalid channel "c0": channel must contain at least one bundle',
      place: { file: "catalog.yaml", document: 4, line: 17 },
      schema: "olm.channel",
      package: "foo",
      name: "c0",
    });
    const all = await (await fetch(`${status.urls?.base}/api/v1/all`)).text();
    expect(all.trimEnd().split("\n")).toHaveLength(LINES_OF_UNSOUND);
    await eventually(async () =>
      expect(await metrics()).toEqual(
        expect.arrayContaining([
          'catalogd_catalog_findings{catalog="unsound",severity="error"} 12',
          'catalogd_catalog_findings{catalog="unsound",severity="warning"} 1',
          'catalogd_catalog_findings{catalog="sound",severity="error"} 0',
        ]),
      ),
    );
    const events = await eventually(async () => {
      const list = await cluster.client.list(
        { apiVersion: "v1", kind: "Event" },
        { namespace: "default", fieldSelector: "involvedObject.name=unsound,reason=InvalidContent" },
      );
      expect(list.items).toHaveLength(1);
      return list.items;
    });
    expect(events[0]).toMatchObject({
      type: "Warning",
      message: expect.stringMatching(/^serving content with 12 errors and 1 warning\. First findings:\nerror: /),
    });
  });

  test("catalogd serves findings with support for conditional requests and ranges", async () => {
    const whole = await fetch(findingsUrl("unsound"), { headers: { "accept-encoding": "identity" } });
    const etag = whole.headers.get("etag") ?? "";
    const text = await whole.text();
    expect((await fetch(findingsUrl("unsound"), { headers: { "if-none-match": etag } })).status).toBe(304);
    const range = await fetch(findingsUrl("unsound"), { headers: { range: "bytes=0-9", "accept-encoding": "identity" } });
    expect([range.status, await range.text()]).toEqual([206, text.slice(0, 10)]);
    const head = await fetch(findingsUrl("unsound"), { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(Buffer.byteLength(text))]);
    expect((await fetch(findingsUrl("none"))).status).toBe(404);
  });

  test("a catalog with new content that cannot be served stays Valid, and catalogd still serves the last good content", async () => {
    await applyCatalog("refused", "v1", SOUND);
    const before = await waitUntilSettled("refused");
    await applyCatalog("refused", "v2", `${SOUND}---\nschema: olm.bundle\npackage: foo\nname: foo.v1\n`);
    const { status, of } = await waitUntilSettled("refused");
    expect(of("Progressing")).toMatchObject({
      reason: "Retrying",
      message:
        'error storing fbc: error walking FBC root: catalog.yaml: document 4, line 16: olm.bundle "foo.v1" of package "foo": package "foo" has duplicate bundle "foo.v1"; first defined in catalog.yaml: document 3, line 10',
    });
    expect([of("Serving")?.status, status.resolvedSource]).toEqual(["True", before.status.resolvedSource]);
    expect(of("Valid")).toEqual({ ...before.of("Valid"), observedGeneration: expect.any(Number) });
  });

  test("an Unavailable catalog has no condition Valid", async () => {
    await applyCatalog("off", "v1", SOUND);
    await waitUntilSettled("off");
    const ref = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: "off" };
    await cluster.client.patch(ref, { spec: { availabilityMode: "Unavailable" } }, { type: "merge" });
    const { of } = await waitUntilSettled("off");
    expect([of("Serving")?.status, of("Valid")]).toEqual(["False", undefined]);
    await eventually(async () => expect((await metrics()).filter((line) => line.includes('catalog="off"'))).toEqual([]));
  });

  test("catalogd serves findings after a restart without reading the catalog again, and with --catalog-validation Strict rejects content with errors", async () => {
    const before = (await waitUntilSettled("unsound")).of("Valid");
    extraArgs.catalogd = ["--catalog-validation", "Strict"];
    await world.installation.restart("catalogd");
    expect((await (await fetch(findingsUrl("unsound"))).text()).trimEnd().split("\n")).toHaveLength(13);
    expect((await waitUntilSettled("unsound")).of("Valid")).toEqual(before);

    const good = await applyCatalog("strict", "v1", SOUND);
    expect((await waitUntilSettled("strict")).of("Valid")?.status).toBe("True");
    await applyCatalog("strict", "v2", UNSOUND);
    const { status, of } = await waitUntilSettled("strict");
    expect(of("Progressing")).toMatchObject({
      status: "True",
      reason: "Retrying",
      message: expect.stringMatching(
        /^error storing fbc: error walking FBC root: 12 errors in the catalog, but --catalog-validation=Strict allows none: error: catalog\.yaml: document 4.*; and 9 more$/,
      ),
    });
    expect([of("Serving")?.status, of("Valid")?.status, status.resolvedSource?.image.ref]).toEqual(["True", "True", good]);
  });
});
