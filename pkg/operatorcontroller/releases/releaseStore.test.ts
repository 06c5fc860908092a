import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { LoopbackApi, statusAnswer } from "../../../test/support/loopbackApi.ts";
import { configMap, releaseRecord } from "../../../test/support/releases.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { BUNDLE_LIMITS } from "../../bundle/limits.ts";
import { isRetryable } from "../../errors/errors.ts";
import { Client } from "../../kube/client.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { decodeRelease } from "../../release/storage/decode.ts";
import { encodeRelease, PAYLOAD_LIMITS } from "../../release/storage/encode.ts";
import { ReleaseStore, StreamingCodec } from "./releaseStore.ts";

const WHERE = { systemNamespace: "olmv1-system", owner: { name: "x", uid: "11111111-2222-3333-4444-555555555555" } };
const MIB = 1024 * 1024;

/** A release with `count` ConfigMaps that each contain a text of this length, and other objects. */
function newLargeRelease(count: number, characters: number, others: readonly KubeObject[] = []): ReleaseRecord {
  const objects = Array.from({ length: count }, (_, i) => configMap(`c${i}`, "x", { a: `${i}${"x <\u2028".repeat(characters / 4)}` }));
  return releaseRecord(1, "deployed", { objects: [...objects, ...others] });
}

function encodeIndex(record: ReleaseRecord): { index: KubeObject; chunks: KubeObject[] } {
  const [index, ...chunks] = encodeRelease(record, WHERE);
  if (!index) throw new Error("no index");
  return { index, chunks };
}

/** The index Secret with another payload. */
function withPayload(payload: string): KubeObject {
  const { index } = encodeIndex(releaseRecord(1, "deployed"));
  return { ...index, data: { ...(index["data"] as object), chunk: gzipSync(payload).toString("base64") } };
}

/** Values that `JSON.parse` and `JSON.stringify` would change. */
const UNUSUAL: KubeObject = { apiVersion: "v1", kind: "A", metadata: { name: "u" }, big: 9_007_199_254_740_993n, zero: -0 };
const SURROGATE = JSON.stringify(`${JSON.stringify({ apiVersion: "v1", kind: "A", metadata: { name: "s" } })}\n`).replace(
  '"s\\"',
  '"\ud800\\"',
);
/** Members with this many bytes that the Go implementation ignores. */
const newPadding = (bytes: number): string => `"other":"${"x".repeat(bytes)}"`;

test.for<[what: string, record: ReleaseRecord]>([
  ["a small release", releaseRecord(1, "deployed")],
  ["a release whose payload has more than 1 MiB", newLargeRelease(20, 40_000)],
  ["integers that JSON would round", newLargeRelease(20, 40_000, [UNUSUAL])],
  ["many small objects, one of them twice", newLargeRelease(2_000, 40, [configMap("c0", "x"), configMap("c0", "x")])],
])("StreamingCodec encodes and decodes %s like encodeRelease and decodeRelease", async ([, record]) => {
  const codec = new StreamingCodec();
  const { index, chunks } = encodeIndex(record);
  expect(await codec.encode(record, WHERE)).toEqual([index, ...chunks]);
  expect(await codec.decode(index, chunks)).toEqual(decodeRelease(index, chunks));
});

test.for<[what: string, payload: string]>([
  ["a lone surrogate", `{${newPadding(MIB)},"name":"x","version":1,"info":{"status":"deployed"},"manifest":${SURROGATE}}`],
  ["a wrong type", `{${newPadding(MIB)},"manifest":{}}`],
  ["invalid JSON", `{${newPadding(MIB)},"manifest":`],
  ["a broken object", `{${newPadding(MIB)},"manifest":"{}\\n"}`],
  ["an object that begins with a byte order mark", `{${newPadding(MIB)},"manifest":"\ufeff{}\\n"}`],
  ["the release of another Secret", `{${newPadding(MIB)},"name":"y"}`],
  ["more bytes than a release may hold", `{${newPadding(PAYLOAD_LIMITS.bytes)}}`],
  [
    "more labels than a release may hold",
    `{"labels":{${Array.from({ length: PAYLOAD_LIMITS.values }, (_, i) => `"k${i}":""`).join(",")}}}`,
  ],
  ["more values than a release may hold", `[${"1,".repeat(PAYLOAD_LIMITS.separators)}1]`],
])("StreamingCodec returns the same result as decodeRelease when a payload contains %s", async ([, payload]) => {
  const index = withPayload(payload);
  expect(await new StreamingCodec().decode(index, [])).toEqual(decodeRelease(index, []));
});

test.for<[what: string, change: (data: Buffer) => Buffer]>([
  ["end early", (data) => data.subarray(0, -12)],
  ["have another checksum", (data) => Buffer.concat([data.subarray(0, -8), Buffer.alloc(8)])],
  ["are not compressed", () => Buffer.from("{}")],
  ["are empty", () => Buffer.alloc(0)],
])("StreamingCodec returns the same result as decodeRelease when the data %s", async ([, change]) => {
  const { index, chunks } = encodeIndex(releaseRecord(1, "deployed"));
  const data = index["data"] as Record<string, string>;
  const chunk = change(Buffer.from(data["chunk"] ?? "", "base64")).toString("base64");
  const broken = { ...index, data: { ...data, chunk } };
  const decoded = await new StreamingCodec().decode(broken, chunks);
  expect(decoded.kind).toBe("unreadable");
  expect(decoded).toEqual(decodeRelease(broken, chunks));
});

const RIVAL = 'release "x" v1 already exists: another controller is reconciling this extension';
test.for<[what: string, live: (index: KubeObject) => KubeObject | undefined, message: string]>([
  ["a release", (index) => index, RIVAL],
  ["a Secret that was deleted meanwhile", () => undefined, RIVAL],
  [
    "a Secret of another owner",
    ({ apiVersion, kind, metadata: { name } }) => ({ apiVersion, kind, metadata: { name, labels: { owner: "helm" } }, type: "Opaque" }),
    'release "x" v1 cannot be stored: Secret olmv1-system/KEY (type "Opaque") has its name, but not the labels of a release. Delete this Secret',
  ],
])("ReleaseStore reports the cause when the name of a new release belongs to %s", async ([, live, message]) => {
  const record = releaseRecord(1, "pending-install");
  const { index } = encodeIndex(record);
  await using api = await LoopbackApi.start(({ method, url }) => {
    if (url === "/api/v1") return { json: { resources: [{ name: "secrets", kind: "Secret", namespaced: true, verbs: ["get"] }] } };
    if (method === "POST") return statusAnswer(409, "AlreadyExists", "already exists");
    const found = live(index);
    return found ? { json: found } : statusAnswer(404, "NotFound", "not found", { name: index.metadata.name, kind: "secrets" });
  });
  const client = Client.of(api.credentials());
  const creating = new ReleaseStore(client, WHERE.systemNamespace).create(record, WHERE.owner);
  await expect(creating).rejects.toThrow(message.replace("KEY", index.metadata.name));
  await client.close();
});

test("ReleaseStore returns the known history, without reading a release, while no release has changed", async () => {
  const { index } = encodeIndex(releaseRecord(1, "deployed"));
  let resourceVersion = "1";
  await using api = await LoopbackApi.start(({ url }) => {
    if (url === "/api/v1") return { json: { resources: [{ name: "secrets", kind: "Secret", namespaced: true, verbs: ["get"] }] } };
    const found = { ...index, metadata: { ...index.metadata, resourceVersion } };
    return { json: url.includes("?") ? { kind: "SecretList", metadata: { resourceVersion }, items: [found] } : found };
  });
  const client = Client.of(api.credentials());
  const store = new ReleaseStore(client, WHERE.systemNamespace);
  const readSecrets = (): number => api.log.filter((request) => request.includes("/secrets/")).length;
  const known = await store.history(WHERE.owner);
  expect([known.current.length, readSecrets()]).toEqual([1, 1]);
  expect(await store.history(WHERE.owner, { known })).toBe(known);
  expect(readSecrets()).toBe(1);
  resourceVersion = "2";
  const next = await store.history(WHERE.owner, { known });
  expect([next === known, readSecrets()]).toEqual([false, 2]);
  await client.close();
});

test("StreamingCodec processes one release at a time when it is called several times", async () => {
  const codec = new StreamingCodec();
  const { index, chunks } = encodeIndex(newLargeRelease(20, 40_000));
  const order: number[] = [];
  const done = (i: number) => (): number => order.push(i);
  await Promise.all([
    codec.decode(index, chunks).then(done(0)),
    codec.decode(encodeIndex(releaseRecord(1, "deployed")).index, []).then(done(1)),
  ]);
  expect(order).toEqual([0, 1]);
});

test("StreamingCodec encodes and decodes a release of the maximum rendered size", async () => {
  const bytes = BUNDLE_LIMITS.renderedObjectBytes - 1_000;
  const count = Math.floor(BUNDLE_LIMITS.renderedBytes / bytes);
  const objects = Array.from({ length: count }, (_, i) => configMap(`c${i}`, "x", { a: "x".repeat(bytes) }));
  const codec = new StreamingCodec();
  const record = releaseRecord(1, "deployed", { objects });
  const [index, ...chunks] = await codec.encode(record, WHERE);
  if (!index) throw new Error("no index");
  expect(await codec.decode(index, chunks)).toEqual({ kind: "readable", record });
});

test.for<[what: string, text: string, message: string]>([
  ["bytes", "<".repeat(2 * MIB), 'release too large: "x" has more than the 100663296 bytes allowed'],
  ["separators", "-".repeat(300_000), 'release too large: "x" has more than the 2000000 lines, list items and members allowed'],
])("encodeRelease and StreamingCodec reject a release when it has more %s than can be decoded", async ([, text, message]) => {
  const record = releaseRecord(1, "deployed", { objects: Array.from({ length: 8 }, (_, i) => configMap(`c${i}`, "x", { a: text })) });
  expect(() => encodeRelease(record, WHERE)).toThrow(message);
  const failed = new StreamingCodec().encode(record, WHERE);
  await expect(failed).rejects.toThrow(message);
  await expect(failed).rejects.not.toSatisfy(isRetryable);
});
