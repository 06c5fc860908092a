import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { configMap, releaseRecord } from "../../../test/support/releases.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { BUNDLE_LIMITS } from "../../bundle/bundleLimits.ts";
import { isRetryable } from "../../errors/errors.ts";
import { decodeRelease } from "../../release/decode.ts";
import { encodeRelease } from "../../release/encode.ts";
import { PAYLOAD_LIMITS } from "../../release/payloadLimits.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { ReleaseThread } from "./releaseThread.ts";

const LIMITS = { heapMib: 192, deadlineMs: 60_000, idleMs: 3_000 };
const WHERE = { systemNamespace: "olmv1-system", owner: { name: "x", uid: "11111111-2222-3333-4444-555555555555" } };
const MIB = 1024 * 1024;

const threads: ReleaseThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.end();
});

function start(limits: Partial<typeof LIMITS> = {}, clock = new FakeClock()): ReleaseThread {
  const thread = new ReleaseThread(clock, { ...LIMITS, ...limits });
  threads.push(thread);
  return thread;
}

/** A release of so many ConfigMaps with a text of so many characters each, and others. */
function large(count: number, characters: number, others: readonly KubeObject[] = []): ReleaseRecord {
  const objects = Array.from({ length: count }, (_, i) => configMap(`c${i}`, "x", { a: `${i}${"x <\u2028".repeat(characters / 4)}` }));
  return releaseRecord(1, "deployed", { objects: [...objects, ...others] });
}

function indexOf(record: ReleaseRecord): { index: KubeObject; chunks: KubeObject[] } {
  const [index, ...chunks] = encodeRelease(record, WHERE);
  if (!index) throw new Error("no index");
  return { index, chunks };
}

/** The index Secret with another payload. */
function withPayload(payload: string): KubeObject {
  const { index } = indexOf(releaseRecord(1, "deployed"));
  return { ...index, data: { ...(index["data"] as object), chunk: gzipSync(payload).toString("base64") } };
}

/** What no usual text or number survives as. */
const UNUSUAL: KubeObject = { apiVersion: "v1", kind: "A", metadata: { name: "u" }, big: 9_007_199_254_740_993n, zero: -0 };
const SURROGATE = JSON.stringify(`${JSON.stringify({ apiVersion: "v1", kind: "A", metadata: { name: "s" } })}\n`).replace(
  '"s\\"',
  '"\ud800\\"',
);
/** Members that Go passes over, of so many bytes. */
const padding = (bytes: number): string => `"other":"${"x".repeat(bytes)}"`;

test.for<[what: string, record: ReleaseRecord, inThread: boolean]>([
  ["a small release", releaseRecord(1, "deployed"), false],
  ["a release of which the payload has more than 1 MiB", large(20, 40_000), true],
  ["integers that JSON would round", large(20, 40_000, [UNUSUAL]), true],
])("ReleaseThread encodes and decodes %s as encodeRelease and decodeRelease do", async ([, record, inThread]) => {
  const thread = start();
  const { index, chunks } = indexOf(record);
  expect(await thread.encode(record, WHERE)).toEqual([index, ...chunks]);
  expect(thread.isRunning).toBe(false);
  expect(await thread.decode(index, chunks)).toEqual(decodeRelease(index, chunks));
  expect(thread.isRunning).toBe(inThread);
});

test.for<[what: string, payload: string]>([
  ["a lone surrogate", `{${padding(MIB)},"name":"x","version":1,"info":{"status":"deployed"},"manifest":${SURROGATE}}`],
  ["a wrong type", `{${padding(MIB)},"manifest":{}}`],
  ["no JSON", `{${padding(MIB)},"manifest":`],
  ["a broken object", `{${padding(MIB)},"manifest":"{}\\n"}`],
  ["an object that begins with a byte order mark", `{${padding(MIB)},"manifest":"\ufeff{}\\n"}`],
  ["the release of another Secret", `{${padding(MIB)},"name":"y"}`],
  ["more bytes than a release may hold", `{${padding(PAYLOAD_LIMITS.bytes)}}`],
  ["more values than a release may hold", `[${"1,".repeat(PAYLOAD_LIMITS.separators)}1]`],
])("ReleaseThread decodes as decodeRelease does when a payload holds %s", async ([, payload]) => {
  const index = withPayload(payload);
  expect(await start().decode(index, [])).toEqual(decodeRelease(index, []));
});

test("ReleaseThread finds a release unreadable when it takes more memory than the thread has, and reads the next one", async () => {
  const thread = start({ heapMib: 32 });
  const maps = `{"config":{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":[]`).join(",")}}}`;
  expect(await thread.decode(withPayload(maps), [])).toEqual({
    kind: "unreadable",
    secret: "sh.helm.release.v1.x.v1",
    because: 'failed to decode release from index secret "sh.helm.release.v1.x.v1": it took more than 32 MiB of memory',
  });
  const { index, chunks } = indexOf(large(20, 40_000));
  expect((await thread.decode(index, chunks)).kind).toBe("readable");
});

test("ReleaseThread fails with a retryable error when a release takes longer than the deadline", async () => {
  const clock = new FakeClock();
  const thread = start({}, clock);
  const { index, chunks } = indexOf(large(20, 40_000));
  const decoding = thread.decode(index, chunks).catch((err: unknown) => err);
  await eventually(() => expect(thread.isRunning).toBe(true));
  clock.advance(LIMITS.deadlineMs);
  const err = await decoding;
  expect([isRetryable(err), String(err)]).toEqual([true, expect.stringContaining("it took more than 60 s")]);
});

test("ReleaseThread encodes and decodes a release of the most bytes that a bundle may render to", async () => {
  const bytes = BUNDLE_LIMITS.renderedObjectBytes - 1_000;
  const count = Math.floor(BUNDLE_LIMITS.renderedBytes / bytes);
  const objects = Array.from({ length: count }, (_, i) => configMap(`c${i}`, "x", { a: "x".repeat(bytes) }));
  const thread = start();
  const record = releaseRecord(1, "deployed", { objects });
  const [index, ...chunks] = await thread.encode(record, WHERE);
  if (!index) throw new Error("no index");
  expect(await thread.decode(index, chunks)).toEqual({ kind: "readable", record });
});

test.for<[what: string, text: string, message: string]>([
  ["bytes", "<".repeat(2 * MIB), 'release too large: "x" has more than the 100663296 bytes that can be read again'],
  [
    "separators",
    "-".repeat(300_000),
    'release too large: "x" has more than the 2000000 lines, list items and members that can be read again',
  ],
])("a release with more %s than can be read again is not encoded", async ([, text, message]) => {
  const record = releaseRecord(1, "deployed", { objects: Array.from({ length: 8 }, (_, i) => configMap(`c${i}`, "x", { a: text })) });
  expect(() => encodeRelease(record, WHERE)).toThrow(message);
  const failed = start().encode(record, WHERE);
  await expect(failed).rejects.toThrow(message);
  await expect(failed).rejects.not.toSatisfy(isRetryable);
});
