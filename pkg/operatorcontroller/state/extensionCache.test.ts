import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ObjectLocks } from "../apply/handovers.ts";
import { ExtensionCache } from "./extensionCache.ts";

const made = createExtension("x", { packageName: "p" });
const withUid = (uid: string): ClusterExtension => ({ ...made, metadata: { ...made.metadata, uid } });
const names = (memory: ExtensionCache, uid: string): string[] => memory.of(withUid(uid)).recorded.map(({ name }) => name);

test("ExtensionCache returns an empty entry when an extension was recreated", () => {
  const memory = new ExtensionCache();
  memory.of(withUid("1")).checkedAt = 5;
  memory.record(withUid("1"), [releaseRecord(1, "deployed", { objects: ["a"] })]);
  expect(memory.of(withUid("1"))).toMatchObject({ checkedAt: 5, recorded: [{ name: "a" }] });
  expect(memory.of(withUid("2"))).toEqual({
    uid: "2",
    drifted: new Map(),
    reported: {},
    recorded: [],
    newestRecorded: 0,
    certificates: { checkAt: 0, trustedSince: new Map() },
  });
  expect(memory.size).toBe(1);
  memory.forget("x");
  expect(memory.size).toBe(0);
});

test("ExtensionCache.certificatesChanged schedules a certificate check within five seconds", () => {
  const memory = new ExtensionCache();
  expect(memory.certificatesChanged("x", 1_000)).toBeUndefined();
  const { certificates } = memory.of(withUid("1"));
  expect(memory.certificatesChanged("x", 1_000)).toBeUndefined();
  Object.assign(certificates, { release: 1, checkAt: 300_000 });
  expect(memory.certificatesChanged("x", 1_000)).toBe(5_000);
  expect(memory.certificatesChanged("x", 3_000)).toBe(3_000);
  expect(memory.certificatesChanged("x", 9_000)).toBe(0);
});

test("ExtensionCache records each object once, and replaces or keeps earlier objects", () => {
  const memory = new ExtensionCache();
  const release = (...objects: string[]) => releaseRecord(1, "deployed", { objects });
  memory.record(withUid("1"), [release("a", "b"), release("b", "c")]);
  expect(names(memory, "1")).toEqual(["a", "b", "c"]);
  memory.record(withUid("1"), [release("d")], { keep: true });
  expect(names(memory, "1")).toEqual(["a", "b", "c", "d"]);
  memory.record(withUid("1"), [release("d")]);
  expect(names(memory, "1")).toEqual(["d"]);
});

test("ExtensionCache keeps recorded objects when the newest release is deleted first, until a newer release is recorded", () => {
  const memory = new ExtensionCache();
  const [first, second, third] = [1, 2, 3].map((version) => releaseRecord(version, "deployed", { objects: [`of ${version}`] }));
  memory.record(withUid("1"), [first!, second!]);
  memory.record(withUid("1"), [first!]);
  expect(names(memory, "1")).toEqual(["of 1", "of 2"]);
  memory.record(withUid("1"), []);
  expect(names(memory, "1")).toEqual(["of 1", "of 2"]);
  memory.record(withUid("1"), [third!]);
  expect(names(memory, "1")).toEqual(["of 3"]);
});

test("ObjectLocks allow one writer per object, and a rejected request locks none of its objects", () => {
  const locks = new ObjectLocks();
  const done = locks.lock("one", ["/ConfigMap/n/a", "/ConfigMap/n/b"]);
  expect(() => locks.lock("two", ["/ConfigMap/n/c", "/ConfigMap/n/b"])).toThrow(
    'ClusterExtension "one" is currently writing /ConfigMap/n/b, which this bundle also contains',
  );
  locks.lock("three", ["/ConfigMap/n/c"])();
  done();
  locks.lock("two", ["/ConfigMap/n/c", "/ConfigMap/n/b"])();
});
