import { gunzipSync, gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodedRecord } from "../../../test/support/releases.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { TerminalError } from "../../errors/errors.ts";
import { encodeGoJson } from "../../golang/json.ts";
import { RELEASE_STATUSES, type ReleaseRecord } from "../record.ts";
import type { RolledBack } from "../rollbackBackoff.ts";
import { decodeRelease, parseExtraChunks } from "./decode.ts";
import { CHUNK_BYTES, encodeRelease, getKeyLabel, getReleaseKey, PAYLOAD_LIMITS } from "./encode.ts";

const WHERE = { systemNamespace: "olmv1-system", owner: { name: "hello", uid: "11111111-2222-3333-4444-555555555555" } };

const CONFIG_MAP: KubeObject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "b",
    namespace: "ns",
    labels: { "olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "hello", app: "b" },
    ownerReferences: [
      {
        apiVersion: "olm.operatorframework.io/v1",
        kind: "ClusterExtension",
        name: "hello",
        uid: WHERE.owner.uid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ],
  },
  data: { text: "1 < 2 && 3 > 2\u2028" },
};

const RECORD: ReleaseRecord = {
  name: "hello",
  namespace: "ns",
  version: 2,
  status: "deployed",
  description: "Upgrade complete",
  firstDeployed: "2026-01-01T00:00:00.5Z",
  lastDeployed: "2026-01-02T03:04:05.678Z",
  labels: { "olm.operatorframework.io/bundle-version": "1.1.0", "olm.operatorframework.io/bundle-name": "hello.v1.1.0" },
  annotations: { "olm.properties": '[{"type":"olm.maxOpenShiftVersion","value":"4.19"}]', capabilities: "Basic Install" },
  objects: [CONFIG_MAP],
};

/** Returns random base64 text, which gzip can shrink by at most a quarter. */
function incompressible(bytes: number): string {
  const data = new Uint8Array(bytes);
  for (let start = 0; start < bytes; start += 65_536) crypto.getRandomValues(data.subarray(start, start + 65_536));
  return Buffer.from(data).toString("base64");
}

function dataOf(secret: KubeObject | undefined, key: string): Buffer {
  const data = (secret?.["data"] ?? {}) as Record<string, string>;
  return Buffer.from(data[key] ?? "", "base64");
}

test("encodeRelease writes a small release as one Secret", () => {
  const [index, ...chunks] = encodeRelease(RECORD, WHERE);
  expect(chunks).toEqual([]);
  expect({ ...index, data: undefined }).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    type: "operatorframework.io/index.v1",
    immutable: false,
    metadata: {
      name: "sh.helm.release.v1.hello.v2",
      namespace: "olmv1-system",
      labels: {
        createdAt: "1767323045",
        key: "sh.helm.release.v1.hello.v2",
        name: "hello",
        owner: "operator-controller",
        status: "deployed",
        type: "index",
        version: "2",
      },
      ownerReferences: [
        {
          apiVersion: "olm.operatorframework.io/v1",
          kind: "ClusterExtension",
          name: "hello",
          uid: WHERE.owner.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    data: undefined,
  });
  expect(dataOf(index, "extraChunks").toString()).toBe("[]");
  expect(dataOf(index, "chunk").subarray(0, 10).toString("hex")).toBe("1f8b08000000000002ff");
});

test("encodePayload returns Helm's JSON in Go's member order, with HTML escaped and a trailing newline", () => {
  const [index] = encodeRelease(RECORD, WHERE);
  const payload = gunzipSync(dataOf(index, "chunk")).toString("utf8");
  const manifest =
    '{"apiVersion":"v1","data":{"text":"1 \\u003c 2 \\u0026\\u0026 3 \\u003e 2\\u2028"},"kind":"ConfigMap","metadata":{"labels":{"app":"b",' +
    '"olm.operatorframework.io/owner-kind":"ClusterExtension","olm.operatorframework.io/owner-name":"hello"},"name":"b","namespace":"ns",' +
    '"ownerReferences":[{"apiVersion":"olm.operatorframework.io/v1","blockOwnerDeletion":false,"controller":true,"kind":"ClusterExtension",' +
    '"name":"hello","uid":"11111111-2222-3333-4444-555555555555"}]}}\n';
  const rendered =
    '{"apiVersion":"v1","data":{"text":"1 \\u003c 2 \\u0026\\u0026 3 \\u003e 2\\u2028"},"kind":"ConfigMap","metadata":{"labels":{"app":"b"},"name":"b","namespace":"ns"}}';
  const release = JSON.parse(payload) as {
    chart: { files: { name: string; data: string }[]; templates: { name: string; data: string }[] };
  };
  const [file] = release.chart.files;
  expect(file?.name).toMatch(/^object-[0-9a-f]{16}\.json$/);
  expect(Buffer.from(file?.data ?? "", "base64").toString()).toBe(rendered);
  expect(release.chart.templates).toEqual([{ name: file?.name, data: Buffer.from(`{{.Files.Get "${file?.name}"}}`).toString("base64") }]);
  expect(release).toEqual({
    name: "hello",
    info: {
      first_deployed: RECORD.firstDeployed,
      last_deployed: RECORD.lastDeployed,
      deleted: "",
      description: "Upgrade complete",
      status: "deployed",
    },
    chart: {
      metadata: { annotations: RECORD.annotations },
      lock: null,
      templates: release.chart.templates,
      values: null,
      schema: null,
      files: release.chart.files,
    },
    manifest,
    version: 2,
    namespace: "ns",
    labels: RECORD.labels,
  });
  expect(payload).toMatch(
    /^\{"name":"hello","info":\{"first_deployed":.*,"chart":\{"metadata":.*,"manifest":".*,"version":2,"namespace":"ns","labels":\{.*\}\}\n$/s,
  );
  expect(payload.indexOf('bundle-name"')).toBeLessThan(payload.indexOf('bundle-version"'));
});

test.for(["", "x"])("encodeRelease keeps surrogate pairs together when a text is long and begins with %j", (start) => {
  const object: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "b" },
    data: { text: `${start}${"\u{1f600}".repeat(200_000)}` },
  };
  const [index] = encodeRelease({ ...RECORD, objects: [object] }, WHERE);
  const payload = JSON.parse(gunzipSync(dataOf(index, "chunk")).toString()) as { chart: { files: { data: string }[] }; manifest: string };
  expect(payload.manifest).toBe(`${encodeGoJson(object)}\n`);
  expect(Buffer.from(payload.chart.files[0]?.data ?? "", "base64").toString()).toBe(encodeGoJson(object));
});

test("encodeRelease returns the same bytes when map keys are in another order", () => {
  const turned = {
    ...RECORD,
    labels: Object.fromEntries(Object.entries(RECORD.labels).reverse()),
    annotations: Object.fromEntries(Object.entries(RECORD.annotations).reverse()),
  };
  expect(encodeRelease(turned, WHERE)).toEqual(encodeRelease(RECORD, WHERE));
});

// kubernetes: the value of a label has at most 63 characters; the name of an extension at most 53
test("encodeRelease sets the same label key on all Secrets, truncated to the length of a label", () => {
  expect(getKeyLabel(getReleaseKey("x".repeat(41), 1))).toBe(`sh.helm.release.v1.${"x".repeat(41)}.v1`);
  const long = ["x", "y"].map((end) => getReleaseKey("x".repeat(52) + end, 1));
  const labels = long.map(getKeyLabel);
  expect(new Set(labels).size).toBe(2);
  for (const label of labels) expect(label).toMatch(/^sh\.helm\.release\.v1\.x{30}-[a-z1-6]{13}$/);
  const record: ReleaseRecord = {
    ...RECORD,
    name: "x".repeat(53),
    objects: [{ ...CONFIG_MAP, data: { blob: incompressible(1_200_000) } }],
  };
  const secrets = encodeRelease(record, WHERE);
  expect(secrets.length).toBeGreaterThan(1);
  for (const { metadata } of secrets) expect(metadata.labels?.["key"]).toBe(getKeyLabel(getReleaseKey(record.name, 2)));
});

test("encodeRelease splits a large release into chunks of at most 1040384 bytes, named by their content", () => {
  const large: ReleaseRecord = { ...RECORD, objects: [{ ...CONFIG_MAP, data: { blob: incompressible(1_200_000) } }] };
  const [index, ...chunks] = encodeRelease(large, WHERE);
  expect(chunks.length).toBeGreaterThan(1);
  expect(CHUNK_BYTES).toBe(1_040_384);
  for (const chunk of chunks) {
    expect(chunk.metadata.name).toMatch(/^sh\.helm\.release\.v1\.hello\.v2-[a-z1-6]{13}$/);
    expect(chunk).toMatchObject({ type: "operatorframework.io/chunk.v1", immutable: true });
    expect(chunk.metadata.labels).toEqual({ key: getReleaseKey("hello", 2), owner: "operator-controller", type: "chunk" });
    expect(dataOf(chunk, "chunk").byteLength).toBeLessThanOrEqual(CHUNK_BYTES);
  }
  if (!index) throw new Error("no index");
  expect(parseExtraChunks(index)).toEqual(chunks.map((chunk) => chunk.metadata.name));
  expect(dataOf(index, "chunk").byteLength).toBe(CHUNK_BYTES);
  expect(decodedRecord(index, chunks.toReversed())).toEqual(large);
});

test("encodeRelease rejects more than eleven chunks with the message of the Go implementation", () => {
  const huge: ReleaseRecord = { ...RECORD, objects: [{ ...CONFIG_MAP, data: { blob: incompressible(7_000_000) } }] };
  expect(() => encodeRelease(huge, WHERE)).toThrow(/^release too large: "hello" requires 1[2-9] chunks, which exceeds the maximum of 11$/);
  expect(() => encodeRelease(huge, WHERE)).toThrow(TerminalError);
});

test.for<[name: string, change: (index: KubeObject) => KubeObject, text: RegExp]>([
  [
    "a newer format",
    (index) => ({ ...index, metadata: { ...index.metadata, annotations: { "olm.operatorframework.io/release-format": "2" } } }),
    /^its format "2" is newer than this version of operator-controller\. Run the version that wrote it, or a newer one$/,
  ],
  ["no data", (index) => ({ ...index, data: {} }), /^index secret "sh\.helm\.release\.v1\.hello\.v2" missing chunks data$/],
  [
    "no chunk list",
    (index) => withData(index, { extraChunks: "x" }),
    /^failed to parse chunk names from index "sh\.helm\.release\.v1\.hello\.v2": /,
  ],
  ["a missing chunk", (index) => withData(index, { extraChunks: '["a"]' }), /^failed to get chunk 2 secret "a": it does not exist$/],
  [
    "too many chunks",
    (index) => withData(index, { extraChunks: JSON.stringify(Array.from({ length: 11 }, String)) }),
    /^release too large: "sh\.helm\.release\.v1\.hello\.v2" consists of 12 chunks, which exceeds the maximum of 11$/,
  ],
  [
    "data that is not gzip",
    (index) => withData(index, { chunk: "hello" }),
    /^failed to decode release from index secret "sh\.helm\.release\.v1\.hello\.v2": /,
  ],
  [
    "more bytes than allowed",
    (index) => withData(index, { chunk: gzipSync(Buffer.alloc(PAYLOAD_LIMITS.bytes + 1, 32)) }),
    /: it contains more than the 100663296 bytes allowed$/,
  ],
  [
    "more values than allowed",
    (index) => withData(index, { chunk: gzipSync(`{"config":{"a":[${"[],".repeat(PAYLOAD_LIMITS.separators / 2)}0]}}`) }),
    /: it contains more than the 2000000 lines, list items and members allowed$/,
  ],
  [
    "a payload that is not JSON",
    (index) => withData(index, { chunk: gzipSync("hello") }),
    /^failed to decode release: line 1, column 1: unexpected character "h", expected a value$/,
  ],
  [
    "an object that is not JSON, without quoting it, because it may be a Secret",
    (index) => withData(index, { chunk: gzipSync('{"manifest":"{\\"data\\":{\\"password\\":hidden}}\\n"}') }),
    /^failed to decode object 1 of the release's manifest: line 1, column 21: unexpected character "h", expected a value$/,
  ],
  [
    "an invalid object",
    (index) => withData(index, { chunk: gzipSync('{"manifest":"{}\\n"}') }),
    /^object 1 of the release's manifest has no apiVersion, kind or name$/,
  ],
])("decodeRelease returns unreadable when a Secret has %s", ([, change, text]) => {
  const [index] = encodeRelease(RECORD, WHERE);
  if (!index) throw new Error("no index");
  expect(decodeRelease(change(index), [])).toEqual({
    kind: "unreadable",
    secret: "sh.helm.release.v1.hello.v2",
    reason: expect.stringMatching(text) as unknown,
  });
});

function withData(index: KubeObject, data: Record<string, string | Uint8Array>): KubeObject {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
  return { ...index, data: { ...(index["data"] as object), ...Object.fromEntries(encoded) } };
}

test("decodeRelease reads bundle labels from the Secret when an earlier format stored them there", () => {
  const [index] = encodeRelease(RECORD, WHERE);
  if (!index) throw new Error("no index");
  const payload = JSON.parse(gunzipSync(dataOf(index, "chunk")).toString("utf8")) as Record<string, unknown>;
  delete payload["labels"];
  const metadata = {
    ...index.metadata,
    labels: { ...index.metadata.labels, "olm.operatorframework.io/bundle-name": "hello.v1.1.0" },
    annotations: { "olm.operatorframework.io/bundle-reference": "a/b@sha256:1" },
  };
  const moved = withData({ ...index, metadata }, { chunk: gzipSync(JSON.stringify(payload)) });
  expect(decodedRecord(moved, []).labels).toEqual({
    "olm.operatorframework.io/bundle-name": "hello.v1.1.0",
    "olm.operatorframework.io/bundle-reference": "a/b@sha256:1",
  });
});

const text = fc.string({ unit: "grapheme", maxLength: 20 });
const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("9999-12-31") }).map((date) => date.toISOString());
const map = fc.dictionary(text, text, { maxKeys: 5 });
const member = fc.jsonValue({ maxDepth: 3, stringUnit: "grapheme" });
const anyObject: fc.Arbitrary<KubeObject> = fc
  .record({ apiVersion: text, kind: text, name: text, labels: map, spec: member, big: fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }) })
  .map(({ apiVersion, kind, name, labels, spec, big }) => ({ apiVersion, kind, metadata: { name, labels }, spec, big }));
const anyRolledBack: fc.Arbitrary<RolledBack> = fc.record({
  release: fc.nat(),
  bundle: text,
  version: text,
  inputDigest: text,
  generation: fc.nat(),
  catalog: text,
  reason: fc.constantFrom("ProgressDeadlineExceeded", "Retrying"),
  message: text,
  attempts: fc.nat(),
  at: text,
});
const anyRecord: fc.Arbitrary<ReleaseRecord> = fc.record(
  {
    name: text,
    namespace: text,
    version: fc.integer({ min: 1, max: 2 ** 31 }),
    status: fc.constantFrom(...RELEASE_STATUSES),
    description: text,
    firstDeployed: time,
    lastDeployed: time,
    labels: map,
    annotations: map,
    objects: fc.array(anyObject, { maxLength: 6 }),
    properties: text,
    requirements: fc.record(
      { minKubeVersion: text, definitions: fc.array(fc.record({ name: text, version: text })), apis: fc.constant([]) },
      { requiredKeys: [] },
    ),
    inputDigest: text,
    imageDigest: text,
    cautions: fc.array(text, { maxLength: 3 }),
    flaws: fc.array(text, { maxLength: 3 }),
    rolledOutAt: text,
    rolledBack: anyRolledBack,
    pinnedTo: fc.nat(),
    takenOver: fc.constant(true as const),
    objectSet: text,
    sourced: fc.array(text, { maxLength: 3 }),
    generation: fc.nat(),
    changedBy: text,
    left: fc.array(fc.record({ apiVersion: text, kind: text, name: text, kept: text }, { requiredKeys: ["apiVersion", "kind", "name"] }), {
      maxLength: 3,
    }),
  },
  {
    requiredKeys: [
      "name",
      "namespace",
      "version",
      "status",
      "description",
      "firstDeployed",
      "lastDeployed",
      "labels",
      "annotations",
      "objects",
    ],
  },
);

test("decodeRelease returns the release that was encoded, in one or several chunks", () => {
  fc.assert(
    fc.property(anyRecord, fc.boolean(), (record, isLarge) => {
      const blob: KubeObject = { ...CONFIG_MAP, data: { blob: isLarge ? incompressible(700_000) : "" } };
      const whole = { ...record, objects: [...record.objects, blob] };
      const [index, ...chunks] = encodeRelease(whole, WHERE);
      if (!index) throw new Error("no index");
      expect(chunks.length > 0).toBe(isLarge);
      // as JSON, because an integral double beyond 2^53 is decoded as the bigint of the same text
      expect(encodeGoJson(decodedRecord(index, chunks))).toBe(encodeGoJson(whole));
    }),
    { numRuns: 40 },
  );
});
