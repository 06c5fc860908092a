import { afterEach, expect, test } from "vitest";
import { RecordedEvents, refusal } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { asRead, releaseRecord } from "../../../test/support/releases.ts";
import { flushPromises, WatchedKind } from "../../../test/support/watchedKind.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { Condition, GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import { Informer } from "../../controller/informer.ts";
import type { ListOptions, ListResult, WatchEvent, WatchOptions } from "../../kube/request.ts";
import type { OperatorVeto } from "../../openshift/vetoCondition.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { DecodedRelease } from "../../release/storage/decode.ts";
import { getReleaseKey } from "../../release/storage/encode.ts";
import { createLogger } from "../../telemetry/log.ts";
import { createMetrics } from "../../telemetry/metrics.ts";
import { InstalledReleases } from "../releases/installedReleases.ts";
import { InstalledSummaryCache } from "../releases/releaseReader.ts";
import { CLUSTER_OPERATOR, OLM } from "./clusterOperator.ts";
import { ClusterUpgradeGate } from "./clusterUpgradeGate.ts";
import { CLUSTER_VERSION, ClusterVersionSource } from "./clusterVersion.ts";

const log = createLogger({ component: "test", level: "silent" });
const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

/** A cluster in memory that serves the kinds that the gate reads, and a writable ClusterOperator. */
class FakeCluster {
  readonly kinds = new Map(
    [CLUSTER_VERSION, CLUSTER_OPERATOR, OLM, { kind: "Secret" }, { kind: "Deployment" }, { kind: CLUSTER_EXTENSION }].map(({ kind }) => [
      kind,
      new WatchedKind({ apiVersion: "v1", kind }),
    ]),
  );
  /** The values of condition Upgradeable that were written, in order. */
  readonly written: string[] = [];
  /** While set, writes fail with this error. */
  refusal: Error | undefined;
  attempts = 0;
  #operator: KubeObject | undefined;

  of(kind: string): WatchedKind {
    const found = this.kinds.get(kind);
    if (!found) throw new Error(`no kind ${kind}`);
    return found;
  }

  resourceFor({ kind }: GroupVersionKind) {
    return this.of(kind).resourceFor();
  }

  list<T extends KubeObject>({ kind }: GroupVersionKind, _options?: ListOptions): Promise<ListResult<T>> {
    return this.of(kind).list<T>();
  }

  watch<T extends KubeObject>(gvk: GroupVersionKind, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    return this.of(gvk.kind).watch<T>(gvk, options);
  }

  get<T extends KubeObject>(): Promise<T | undefined> {
    return Promise.resolve(this.#operator as T | undefined);
  }

  apply<T extends KubeObject>(object: T): Promise<T> {
    this.#operator = this.of("ClusterOperator").put(object);
    return Promise.resolve(this.#operator as T);
  }

  patch<T extends KubeObject>(_ref: unknown, body: unknown): Promise<T> {
    this.attempts++;
    if (this.refusal) return Promise.reject(this.refusal);
    const [, { value }] = body as [unknown, { value: { conditions: Condition[] } }];
    this.#operator = this.of("ClusterOperator").put({ ...(this.#operator as KubeObject), status: value });
    const { status = "", message = "" } = findCondition(value.conditions, "Upgradeable") ?? {};
    this.written.push(`${status}: ${[...message.matchAll(/for ClusterExtension "(\w+)"/g)].map(([, name]) => name).join(",")}`);
    return Promise.resolve(this.#operator as T);
  }
}

/** A gate on a cluster at 4.18; `install` adds extensions. */
class GateFixture {
  readonly cluster = new FakeCluster();
  readonly clock = new FakeClock();
  readonly records = new Map<string, ReleaseRecord>();
  /** While set, reads wait for this promise. */
  held: Promise<void> | undefined;
  readonly metrics = createMetrics("operator_controller");
  includesVetoes = false;
  vetoes: OperatorVeto[] = [];
  /** Why OperatorConditions are unknown. */
  vetoesUnknown: string | undefined;
  readonly vetoHandlers: (() => void)[] = [];

  start(): void {
    const { cluster, clock } = this;
    const getUnknownReason = () => this.vetoesUnknown;
    cluster.of("ClusterVersion").put({ metadata: { name: "version" }, status: { desired: { version: "4.18.3" } } });
    const extensions = new Informer<ClusterExtension>(cluster, { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { clock }, log);
    const clusterVersion = new ClusterVersionSource({ client: cluster, byFlag: undefined, log, clock });
    const read = async (name: string): Promise<DecodedRelease | undefined> => {
      await this.held;
      return asRead(this.records.get(name));
    };
    const releases = new InstalledReleases({
      client: cluster,
      store: { read },
      cache: new InstalledSummaryCache(),
      systemNamespace: "system",
      log,
      clock,
    });
    const gate = new ClusterUpgradeGate({
      client: cluster,
      settings: { mode: "auto", includesVetoes: this.includesVetoes },
      systemNamespace: "system",
      extensions,
      clusterVersion,
      releases,
      findRemedy: () => Promise.resolve(undefined),
      operatorConditions: {
        synced: Promise.resolve(),
        get unknownReason() {
          return getUnknownReason();
        },
        listVetoes: () => this.vetoes,
        onChange: (handler) => void this.vetoHandlers.push(handler),
      },
      events: new RecordedEvents(),
      log,
      metrics: this.metrics,
      clock,
    });
    const ended = new AbortController();
    stop.push(ended);
    const { signal } = ended;
    void Promise.all([extensions.run(signal), clusterVersion.run(signal), releases.run(signal), gate.run(signal)]);
  }

  /** An extension with one deployed release that supports OpenShift up to `max`. */
  install(name: string, max: string): void {
    this.cluster.of(CLUSTER_EXTENSION).put({ ...createExtension(name, { packageName: name }), metadata: { name, uid: `uid-${name}` } });
    const labels = { "olm.operatorframework.io/bundle-name": `${name}.v1`, "olm.operatorframework.io/bundle-version": "1" };
    const annotations = { "olm.properties": `[{"type":"olm.maxOpenShiftVersion","value":"${max}"}]` };
    this.records.set(name, releaseRecord(1, "deployed", { name, labels, annotations }));
    this.cluster.of("Secret").put({
      metadata: {
        name: getReleaseKey(name, 1),
        namespace: "system",
        labels: { name, owner: "operator-controller", type: "index", status: "deployed", version: "1" },
        ownerReferences: [{ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid: `uid-${name}` }],
      },
    });
  }

  async later(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      await flushPromises();
      this.clock.advance(100);
    }
    await flushPromises();
  }
}

// Source: G-08.
test("ClusterUpgradeGate writes nothing until all installed releases have been read", async () => {
  const gate = new GateFixture();
  const reading = Promise.withResolvers<void>();
  gate.held = reading.promise;
  gate.install("a", "4.18");
  gate.start();
  await gate.later(5_000);
  expect(gate.cluster.attempts).toBe(0);
  reading.resolve();
  await gate.later(1_000);
  expect(gate.cluster.written).toEqual(["False: a"]);
});

test.for(["ClusterVersion", "Secret", CLUSTER_EXTENSION])(
  "ClusterUpgradeGate writes nothing until objects of kind %s have been read once",
  async (kind) => {
    const gate = new GateFixture();
    gate.install("a", "4.18");
    gate.cluster.of(kind).refusal = new Error("connect ECONNREFUSED");
    gate.start();
    await gate.later(5_000);
    expect(gate.cluster.attempts).toBe(0);
    gate.cluster.of(kind).refusal = undefined;
    await gate.later(30_000);
    // Between two attempts the version is unknown, which also blocks.
    expect(gate.cluster.written.filter((write) => !write.startsWith("False: "))).toEqual([]);
    expect(gate.cluster.written.at(-1)).toBe("False: a");
  },
);

test("ClusterUpgradeGate writes many simultaneous changes with few requests", async () => {
  const gate = new GateFixture();
  gate.start();
  await gate.later(1_000);
  for (const name of ["a", "b", "c", "d", "e"]) {
    gate.install(name, "4.18");
    await gate.later(100);
  }
  await gate.later(1_000);
  expect(gate.cluster.written[0]).toBe("True: ");
  expect(gate.cluster.written.at(-1)).toBe("False: a,b,c,d,e");
  expect(gate.cluster.written.length).toBeLessThan(6);
  gate.cluster.of(CLUSTER_EXTENSION).remove("c");
  await gate.later(1_000);
  expect(gate.cluster.written.at(-1)).toBe("False: a,b,d,e");
});

test("ClusterUpgradeGate retries a failed write with backoff until it succeeds", async () => {
  const gate = new GateFixture();
  gate.install("a", "4.18");
  gate.cluster.refusal = refusal(403, "Forbidden", "clusteroperators is forbidden");
  gate.start();
  await gate.later(60_000);
  const { attempts } = gate.cluster;
  expect(attempts).toBeGreaterThan(4);
  expect(attempts).toBeLessThan(15);
  gate.cluster.refusal = undefined;
  await gate.later(60_000);
  expect(gate.cluster.written).toEqual(["False: a"]);
});

test("ClusterUpgradeGate writes nothing and reports metrics when the cluster has cluster-olm-operator", async () => {
  const gate = new GateFixture();
  gate.cluster.of("OLM").put({ metadata: { name: "cluster" }, spec: {} });
  gate.install("a", "4.18");
  gate.start();
  await gate.later(2_000);
  expect(gate.cluster.attempts).toBe(0);
  expect(await gate.metrics.text()).toContain("operator_controller_cluster_upgradeable 0");
  gate.cluster.of("OLM").remove("cluster");
  await gate.later(2_000);
  expect(gate.cluster.written).toEqual(["False: a"]);
});

test("ClusterUpgradeGate blocks upgrades for any maximum when the cluster serves ClusterOperator but not ClusterVersion", async () => {
  const gate = new GateFixture();
  gate.cluster.of("ClusterVersion").served = false;
  gate.install("a", "4.99");
  gate.start();
  await gate.later(2_000);
  expect(gate.cluster.written).toEqual(["False: "]);
});

const REPORT = { by: "operator", status: "False", reason: "Migrating", message: "data is moving" } as const;
const VETO: OperatorVeto = { extension: "a", namespace: "a-system", name: "a.v1", report: REPORT };

test("ClusterUpgradeGate blocks upgrades while an operator does not allow its own upgrade when vetoes are included", async () => {
  const gate = new GateFixture();
  gate.includesVetoes = true;
  gate.install("a", "4.99");
  gate.vetoes = [VETO];
  gate.start();
  await gate.later(1_000);
  expect(gate.cluster.written).toEqual(["False: "]);
  expect(await gate.metrics.text()).toContain("operator_controller_cluster_upgradeable 0");
  gate.vetoes = [];
  for (const handler of gate.vetoHandlers) handler();
  await gate.later(1_000);
  expect(gate.cluster.written.at(-1)).toBe("True: ");
});

test.for<[of: string, veto: OperatorVeto, expected: string]>([
  ["an extension", VETO, "False: "],
  ["OLM v0 for an installed bundle", { namespace: "a-system", name: "a.v1", report: REPORT }, "False: "],
  ["OLM v0 for another operator", { namespace: "b-system", name: "b.v1", report: REPORT }, "True: "],
  ["a deleted extension", { ...VETO, extension: "gone" }, "True: "],
])(
  "ClusterUpgradeGate includes only OperatorConditions of installed operators when the OperatorCondition is of %s",
  async ([, veto, expected]) => {
    const gate = new GateFixture();
    gate.includesVetoes = true;
    gate.install("a", "4.99");
    gate.vetoes = [veto];
    gate.start();
    await gate.later(1_000);
    expect(gate.cluster.written).toEqual([expected]);
  },
);

test("ClusterUpgradeGate ignores vetoes when they are not included", async () => {
  const gate = new GateFixture();
  gate.install("a", "4.99");
  gate.vetoes = [VETO];
  gate.start();
  await gate.later(1_000);
  expect(gate.cluster.written).toEqual(["True: "]);
});

test.for<[expected: string, when: string, given: { includesVetoes?: boolean; vetoes?: OperatorVeto[]; isEmpty?: boolean }]>([
  ["False: ", "OperatorConditions are unknown", {}],
  ["False: ", "OperatorConditions are unknown, but one was a veto before", { vetoes: [VETO] }],
  ["True: ", "OperatorConditions are unknown and no extension is installed", { isEmpty: true }],
  ["True: ", "OperatorConditions are unknown and not included", { includesVetoes: false }],
])("ClusterUpgradeGate reports Upgradeable %j when %s", async ([expected, , { includesVetoes = true, vetoes = [], isEmpty = false }]) => {
  const gate = new GateFixture();
  gate.includesVetoes = includesVetoes;
  gate.vetoes = vetoes;
  gate.vetoesUnknown = "connect ECONNREFUSED";
  if (!isEmpty) gate.install("a", "4.99");
  gate.start();
  await gate.later(1_000);
  expect(gate.cluster.written).toEqual([expected]);
  gate.vetoes = [];
  gate.vetoesUnknown = undefined;
  for (const handler of gate.vetoHandlers) handler();
  await gate.later(1_000);
  expect(gate.cluster.written.at(-1)).toBe("True: ");
});
