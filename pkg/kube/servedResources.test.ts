import { expect, onTestFinished, test } from "vitest";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import { Client } from "./client.ts";
import { ServedResources } from "./servedResources.ts";

const { signal } = new AbortController();

/**
 * A server with two discovery documents that a test sets. Responds with 304 if a document is
 * unchanged.
 */
async function serving(documents: Record<string, Answer | object>) {
  const etags = new Map<string, string>();
  const api = await LoopbackApi.start(({ url, headers }) => {
    const document = documents[url];
    if (typeof document !== "object" || "status" in document) return document as Answer;
    const etag = `"${JSON.stringify(document).length}"`;
    etags.set(url, etag);
    if (headers["if-none-match"] === etag) return { status: 304, text: "" };
    return { json: document, headers: { etag } };
  });
  const client = Client.of(api.credentials());
  onTestFinished(async () => {
    await client.close();
    await api[Symbol.asyncDispose]();
  });
  return { api, served: new ServedResources(client) };
}

const list = (...items: object[]): object => ({ kind: "APIGroupDiscoveryList", items });
const group = (name: string | undefined, version: string, ...kinds: [resource: string, kind: string][]): object => ({
  metadata: name === undefined ? {} : { name },
  versions: [{ version, resources: kinds.map(([resource, kind]) => ({ resource, responseKind: { group: "", version: "", kind } })) }],
});
const CORE = list(group(undefined, "v1", ["configmaps", "ConfigMap"]));

test("ServedResources lists every kind of every group and version in the server's order", async () => {
  const { served, api } = await serving({
    "/api": CORE,
    "/apis": list(group("g.io", "v1", ["things", "Thing"], ["others", "Other"]), group("none.io", "v1"), {
      metadata: { name: "stale.io" },
    }),
  });
  expect(await served.read(signal)).toEqual([
    { group: "", version: "v1", resource: "configmaps", kind: "ConfigMap" },
    { group: "g.io", version: "v1", resource: "things", kind: "Thing" },
    { group: "g.io", version: "v1", resource: "others", kind: "Other" },
  ]);
  expect(api.requests[0]?.headers.accept).toContain("g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
});

test("ServedResources keeps the last known resources of a group version whose API server is down", async () => {
  const stale = (name: string, resources?: object[]): object => ({
    metadata: { name },
    versions: [{ version: "v1", freshness: "Stale", ...(resources ? { resources } : {}) }],
  });
  const { served } = await serving({
    "/api": CORE,
    "/apis": list(
      stale("never.io"),
      stale("known.io", [{ resource: "flunders", responseKind: { group: "known.io", version: "v1", kind: "Flunder" } }]),
      group("g.io", "v1", ["things", "Thing"]),
    ),
  });
  expect((await served.read(signal)).map(({ group: of, kind }) => `${of}/${kind}`)).toEqual([
    "/ConfigMap",
    "known.io/Flunder",
    "g.io/Thing",
  ]);
});

test("ServedResources returns the same list again unless a discovery document changes", async () => {
  const documents: Record<string, object> = { "/api": CORE, "/apis": list() };
  const { served } = await serving(documents);
  const first = await served.read(signal);
  expect(await served.read(signal)).toBe(first);
  documents["/apis"] = list(group("g.io", "v1", ["things", "Thing"]));
  expect((await served.read(signal)).map(({ kind }) => kind)).toEqual(["ConfigMap", "Thing"]);
  documents["/apis"] = list();
  expect(await served.read(signal)).toEqual(first);
});

test.for<[why: string, apis: Answer | object, message: string]>([
  ["denied", statusAnswer(403, "Forbidden", "access denied"), "access denied"],
  [
    "not aggregated",
    { kind: "APIGroupList", groups: [] },
    "path /apis of the API server does not support aggregated discovery: Kubernetes 1.27 or later is required",
  ],
])("ServedResources throws when discovery is %s, and reads discovery again in the next call", async ([, apis, message]) => {
  const documents: Record<string, Answer | object> = { "/api": CORE, "/apis": apis };
  const { served } = await serving(documents);
  await expect(served.read(signal)).rejects.toThrow(message);
  documents["/apis"] = list(group("g.io", "v1", ["things", "Thing"]));
  expect(await served.read(signal)).toHaveLength(2);
});
