import { expect, test } from "vitest";
import { MemoryReleases, stepContext } from "../../../test/support/extensionFakes.ts";
import { configMap, releaseRecord } from "../../../test/support/releases.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { ReleaseRecord, ReleaseStatus } from "../../release/record.ts";
import { determineState } from "../../release/state.ts";
import { ReleaseJournal } from "./releaseJournal.ts";

const LABELS = { bundle: "p.v1.1.0" };
const NOW = Date.parse("2026-02-01T00:00:00Z");

function newJournal(store: MemoryReleases): ReleaseJournal {
  const { log, signal } = stepContext();
  return new ReleaseJournal({ store, owner: { name: "x", uid: "u" }, history: store.now(), now: () => NOW, signal, log });
}

/** Begins a release with ConfigMaps of these names. */
async function begin(
  store: MemoryReleases,
  names: string[],
  labels: Record<string, string> = LABELS,
): Promise<[ReleaseJournal, ReleaseRecord]> {
  const objects: KubeObject[] = names.map((name) => configMap(name));
  const journal = newJournal(store);
  const content = { namespace: "x-system", labels, annotations: {}, objects, inputDigest: "d" };
  return [journal, await journal.begin(content, determineState(store.now().current, { objects, labels }))];
}

const record = (version: number, status: ReleaseStatus, objects: string[] = ["a"]): ReleaseRecord =>
  releaseRecord(version, status, { objects, labels: LABELS });

test("ReleaseJournal stores a release as pending, then as deployed, and supersedes the previous release", async () => {
  const store = new MemoryReleases();
  const [first, installed] = await begin(store, ["a"]);
  expect(store.state).toEqual(["v1 pending-install"]);
  await first.markDeployed(installed);
  const [second, upgraded] = await begin(store, ["a", "b"]);
  expect(store.state).toEqual(["v1 deployed", "v2 pending-upgrade"]);
  await second.markDeployed(upgraded);
  expect(store.state).toEqual(["v1 superseded", "v2 deployed"]);
  expect(store.records.get(2)).toMatchObject({ firstDeployed: "2026-02-01T00:00:00.000Z", inputDigest: "d", namespace: "x-system" });
});

test.for<[why: string, latest: ReleaseRecord, names: string[], labels: Record<string, string>, version: number]>([
  ["it is pending and the content is the same", record(2, "pending-upgrade"), ["a"], LABELS, 2],
  ["it failed and the content is the same", record(2, "failed"), ["a"], LABELS, 2],
  ["it is pending and the objects differ", record(2, "pending-upgrade"), ["b"], LABELS, 3],
  ["it failed and another bundle has the same objects", record(2, "failed"), ["a"], { bundle: "p.v1.2.0" }, 3],
  ["it is superseded and is the newest", record(2, "superseded"), ["a"], LABELS, 3],
  ["it is being uninstalled", record(2, "uninstalling"), ["a"], LABELS, 3],
])("ReleaseJournal continues the newest release or begins a new release when %s", async ([, latest, names, labels, version]) => {
  const store = new MemoryReleases(latest);
  const [, begun] = await begin(store, names, labels);
  expect(begun.version).toBe(version);
  expect(begun.firstDeployed).toBe(latest.firstDeployed);
  expect(store.records.get(version)?.status).toBe("pending-install");
});

test("ReleaseJournal does not reuse revisions of attempts, incomplete records or an earlier extension", async () => {
  const store = new MemoryReleases(record(3, "deployed"));
  store.unfinished.push(4);
  const [, begun] = await begin(store, ["b"]);
  expect(begun.version).toBe(5);
  expect(store.calls).toEqual(["remove v4", "create v5 pending-upgrade"]);
});

test("ReleaseJournal records a failure with a bounded description, and does not throw when recording fails", async () => {
  const store = new MemoryReleases();
  const [journal, begun] = await begin(store, ["a"]);
  await journal.markFailed(begun, `no: ${"x".repeat(5_000)}`);
  expect(store.state).toEqual(["v1 failed"]);
  expect(store.records.get(1)?.description).toHaveLength(1_024);
  store.failures.update = new Error("connection refused");
  await journal.markFailed(begun, "no");
});

test("ReleaseJournal keeps one record when the same failure repeats", async () => {
  const store = new MemoryReleases(record(1, "deployed"));
  for (let i = 0; i < 50; i++) {
    const [journal, begun] = await begin(store, ["a", "b"]);
    await journal.markFailed(begun, "no");
  }
  expect(store.state).toEqual(["v1 deployed", "v2 failed"]);
});

test("ReleaseJournal keeps ten different failures, and every release that is the only record of an existing object", async () => {
  const store = new MemoryReleases(record(1, "deployed"));
  for (let i = 0; i < 30; i++) {
    const [journal, begun] = await begin(store, i === 3 ? ["a", "leftover"] : ["a"], { bundle: `p.v${i}` });
    await journal.markFailed(begun, "no");
  }
  const left = [...store.records.values()];
  expect(left.length).toBeLessThanOrEqual(11);
  expect(left.filter(({ objects }) => objects.some(({ metadata }) => metadata.name === "leftover"))).toHaveLength(1);
  expect(store.records.get(1)?.status).toBe("deployed");
  const [journal, begun] = await begin(store, ["a"], { bundle: "good" });
  await journal.markDeployed(begun);
  expect(store.records.size).toBe(10);
  expect(store.state.filter((line) => line.endsWith("deployed"))).toEqual([`v${begun.version} deployed`]);
});

test("ReleaseJournal corrects the status of older releases after a crash, in the next release or in a reconcile without a release", async () => {
  const leftBehind = (): MemoryReleases => new MemoryReleases(record(1, "deployed"), record(2, "pending-upgrade"), record(3, "deployed"));
  const store = leftBehind();
  const journal = newJournal(store);
  expect(journal.isUnsettled).toBe(true);
  await journal.settle(record(3, "deployed"));
  expect(store.state).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
  expect(newJournal(store).isUnsettled).toBe(false);
  const again = leftBehind();
  again.failures.read = new Error("connection refused");
  await newJournal(again).settle(record(3, "deployed"));
  expect(again.state).toEqual(["v1 deployed", "v2 pending-upgrade", "v3 deployed"]);
});

test("ReleaseJournal adds owner references to orphaned releases when an extension takes them over", async () => {
  const store = new MemoryReleases(record(1, "superseded"), record(2, "deployed"), record(3, "failed"));
  store.orphaned = true;
  expect(newJournal(store).isUnsettled).toBe(true);
  await newJournal(store).settle(record(2, "deployed"));
  expect(store.calls).toEqual(["update v3 failed", "update v2 deployed"]);
});

test("ReleaseJournal throws and keeps the release pending when it cannot store the success", async () => {
  const store = new MemoryReleases();
  const [journal, begun] = await begin(store, ["a"]);
  store.failures.update = new Error("connection refused");
  await expect(journal.markDeployed(begun)).rejects.toThrow("cannot store release v1 with status deployed: connection refused");
  expect(store.state).toEqual(["v1 pending-install"]);
});

test("ReleaseJournal.renew stores a new input digest of an unchanged release once", async () => {
  const store = new MemoryReleases(record(1, "deployed"));
  const [current] = store.now().current;
  await newJournal(store).renew(current!, { inputDigest: "d2", imageDigest: "sha256:1" });
  expect(store.records.get(1)).toMatchObject({ inputDigest: "d2", imageDigest: "sha256:1" });
  await newJournal(store).renew(store.records.get(1)!, { inputDigest: "d2" });
  await newJournal(store).renew(store.records.get(1)!, {});
  expect(store.calls).toEqual(["update v1 deployed"]);
});

test("ReleaseJournal.renew stores the proxy variables of the last rendering", async () => {
  const [store, proxy] = [new MemoryReleases(record(1, "deployed")), { HTTP_PROXY: "http://proxy:1" }];
  const renew = async (content: { inputDigest: string; proxy?: typeof proxy }): Promise<unknown> => {
    await newJournal(store).renew(store.records.get(1)!, content);
    return store.records.get(1)?.proxy;
  };
  expect(await renew({ inputDigest: "d2", proxy })).toEqual(proxy);
  expect(await renew({ inputDigest: "d3" })).toBeUndefined();
});
