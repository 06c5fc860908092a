import { expect, test } from "vitest";
import { MemoryReleases, stepContext } from "../../../test/support/extensionFakes.ts";
import { configMap, releaseRecord } from "../../../test/support/releases.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { ReleaseRecord, ReleaseStatus } from "../../release/record.ts";
import { determineState } from "../../release/state.ts";
import { ReleaseJournal } from "./releaseJournal.ts";

const LABELS = { bundle: "p.v1.1.0" };
const NOW = Date.parse("2026-02-01T00:00:00Z");

function journalOf(store: MemoryReleases): ReleaseJournal {
  const { log, signal } = stepContext();
  return new ReleaseJournal({ store, owner: { name: "x", uid: "u" }, history: store.now(), now: () => NOW, signal, log });
}

/** Begins a release of ConfigMaps with these names. */
async function begin(
  store: MemoryReleases,
  names: string[],
  labels: Record<string, string> = LABELS,
): Promise<[ReleaseJournal, ReleaseRecord]> {
  const objects: KubeObject[] = names.map((name) => configMap(name));
  const journal = journalOf(store);
  const content = { namespace: "x-system", labels, annotations: {}, objects, inputDigest: "d" };
  return [journal, await journal.begin(content, determineState(store.now().current, { objects, labels }))];
}

const record = (version: number, status: ReleaseStatus, objects: string[] = ["a"]): ReleaseRecord =>
  releaseRecord(version, status, { objects, labels: LABELS });

test("a release is pending before it is deployed, and the one before is superseded then", async () => {
  const store = new MemoryReleases();
  const [first, installed] = await begin(store, ["a"]);
  expect(store.state).toEqual(["v1 pending-install"]);
  await first.deployed(installed);
  const [second, upgraded] = await begin(store, ["a", "b"]);
  expect(store.state).toEqual(["v1 deployed", "v2 pending-upgrade"]);
  await second.deployed(upgraded);
  expect(store.state).toEqual(["v1 superseded", "v2 deployed"]);
  expect(store.records.get(2)).toMatchObject({ firstDeployed: "2026-02-01T00:00:00.000Z", inputDigest: "d", namespace: "x-system" });
});

test.for<[why: string, latest: ReleaseRecord, names: string[], labels: Record<string, string>, version: number]>([
  ["it was left pending and the same is wanted", record(2, "pending-upgrade"), ["a"], LABELS, 2],
  ["it failed and the same is wanted", record(2, "failed"), ["a"], LABELS, 2],
  ["it was left pending and other objects are wanted", record(2, "pending-upgrade"), ["b"], LABELS, 3],
  ["it failed and another bundle with the same objects is wanted", record(2, "failed"), ["a"], { bundle: "p.v1.2.0" }, 3],
  ["it was superseded and nothing followed", record(2, "superseded"), ["a"], LABELS, 3],
  ["it was being uninstalled", record(2, "uninstalling"), ["a"], LABELS, 3],
])("the newest release is gone on with or followed by another: %s", async ([, latest, names, labels, version]) => {
  const store = new MemoryReleases(latest);
  const [, begun] = await begin(store, names, labels);
  expect(begun.version).toBe(version);
  expect(begun.firstDeployed).toBe(latest.firstDeployed);
  expect(store.records.get(version)?.status).toBe("pending-install");
});

test("numbers that are in use are not used again: those of attempts, of incomplete records and of an earlier extension", async () => {
  const store = new MemoryReleases(record(3, "deployed"));
  store.unfinished.push(4);
  const [, begun] = await begin(store, ["b"]);
  expect(begun.version).toBe(5);
  expect(store.calls).toEqual(["remove v4", "create v5 pending-upgrade"]);
});

test("a failure is recorded, bounded, and whatever goes wrong with that is not thrown", async () => {
  const store = new MemoryReleases();
  const [journal, begun] = await begin(store, ["a"]);
  await journal.failed(begun, `no: ${"x".repeat(5_000)}`);
  expect(store.state).toEqual(["v1 failed"]);
  expect(store.records.get(1)?.description).toHaveLength(1_024);
  store.failures.update = new Error("connection refused");
  await journal.failed(begun, "no");
});

test("a night of the same failure leaves one record", async () => {
  const store = new MemoryReleases(record(1, "deployed"));
  for (let i = 0; i < 50; i++) {
    const [journal, begun] = await begin(store, ["a", "b"]);
    await journal.failed(begun, "no");
  }
  expect(store.state).toEqual(["v1 deployed", "v2 failed"]);
});

test("many different failures leave ten, but none goes that alone names an object which may be on the cluster", async () => {
  const store = new MemoryReleases(record(1, "deployed"));
  for (let i = 0; i < 30; i++) {
    const [journal, begun] = await begin(store, i === 3 ? ["a", "leftover"] : ["a"], { bundle: `p.v${i}` });
    await journal.failed(begun, "no");
  }
  const left = [...store.records.values()];
  expect(left.length).toBeLessThanOrEqual(11);
  expect(left.filter(({ objects }) => objects.some(({ metadata }) => metadata.name === "leftover"))).toHaveLength(1);
  expect(store.records.get(1)?.status).toBe("deployed");
  const [journal, begun] = await begin(store, ["a"], { bundle: "good" });
  await journal.deployed(begun);
  expect(store.records.size).toBe(10);
  expect(store.state.filter((line) => line.endsWith("deployed"))).toEqual([`v${begun.version} deployed`]);
});

test("what a crash left behind the newest release is put in order, by the next release or by a pass without one", async () => {
  const leftBehind = (): MemoryReleases => new MemoryReleases(record(1, "deployed"), record(2, "pending-upgrade"), record(3, "deployed"));
  const store = leftBehind();
  const journal = journalOf(store);
  expect(journal.isUnsettled).toBe(true);
  await journal.settle(record(3, "deployed"));
  expect(store.state).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
  expect(journalOf(store).isUnsettled).toBe(false);
  const again = leftBehind();
  again.failures.read = new Error("connection refused");
  await journalOf(again).settle(record(3, "deployed"));
  expect(again.state).toEqual(["v1 deployed", "v2 pending-upgrade", "v3 deployed"]);
});

test("releases that were orphaned are marked as the extension's that took them over", async () => {
  const store = new MemoryReleases(record(1, "superseded"), record(2, "deployed"), record(3, "failed"));
  store.orphaned = true;
  expect(journalOf(store).isUnsettled).toBe(true);
  await journalOf(store).settle(record(2, "deployed"));
  expect(store.calls).toEqual(["update v3 failed", "update v2 deployed"]);
});

test("when the success cannot be stored the release stays pending and the error is thrown", async () => {
  const store = new MemoryReleases();
  const [journal, begun] = await begin(store, ["a"]);
  store.failures.update = new Error("connection refused");
  await expect(journal.deployed(begun)).rejects.toThrow("store release v1 as deployed: connection refused");
  expect(store.state).toEqual(["v1 pending-install"]);
});

test("an unchanged release learns what it was rendered from, once", async () => {
  const store = new MemoryReleases(record(1, "deployed"));
  const [current] = store.now().current;
  await journalOf(store).renew(current!, { inputDigest: "d2", imageDigest: "sha256:1" });
  expect(store.records.get(1)).toMatchObject({ inputDigest: "d2", imageDigest: "sha256:1" });
  await journalOf(store).renew(store.records.get(1)!, { inputDigest: "d2" });
  await journalOf(store).renew(store.records.get(1)!, {});
  expect(store.calls).toEqual(["update v1 deployed"]);
});

test("the proxy variables that a release tells are those that it was rendered with last", async () => {
  const [store, proxy] = [new MemoryReleases(record(1, "deployed")), { HTTP_PROXY: "http://proxy:1" }];
  const renewed = async (content: { inputDigest: string; proxy?: typeof proxy }): Promise<unknown> => {
    await journalOf(store).renew(store.records.get(1)!, content);
    return store.records.get(1)?.proxy;
  };
  expect(await renewed({ inputDigest: "d2", proxy })).toEqual(proxy);
  expect(await renewed({ inputDigest: "d3" })).toBeUndefined();
});
