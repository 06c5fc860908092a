import { afterEach, expect, test } from "vitest";
import { MemoryReleases, refusal } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { buildUnpacked, runStep } from "../../../test/support/phases.ts";
import { configMap, releaseRecord } from "../../../test/support/releases.ts";
import { flushPromises, WatchedKind } from "../../../test/support/watchedKind.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { ANNOTATION_MIGRATED_FROM } from "../../api/migration.ts";
import { OPERATOR_CONDITION } from "../../api/operatorCondition.ts";
import { readInstalledBundle, toReleaseLabels } from "../../release/installedBundle.ts";
import { createLogger } from "../../telemetry/log.ts";
import { findWaitingError, type WaitingError } from "../state/conditionPoller.ts";
import { OperatorConditions } from "../watches/operatorConditions.ts";
import { holdVetoedUpgrade } from "./upgradeVeto.ts";

const log = createLogger({ component: "test", level: "silent" });
const { signal } = new AbortController();
const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

const X = createExtension("x", { packageName: "p" });
const MIGRATED: ClusterExtension = { ...X, metadata: { ...X.metadata, annotations: { [ANNOTATION_MIGRATED_FROM]: "x-system/p" } } };
const OWN: KubeObject = { ...OPERATOR_CONDITION, metadata: { name: "p.v1", namespace: "x-system" } };
const VETO = { ...OWN, spec: { conditions: [{ type: "Upgradeable", status: "False", reason: "Migrating", message: "data is moving" }] } };
const bundle = (version: string) => ({ packageName: "p", name: `p.v${version}`, version, image: `i:${version}`, explanation: "" });
const OUTAGE = new Error("connect ECONNREFUSED");
const DENIED = refusal(403, "Forbidden", "operatorconditions.operators.coreos.com is forbidden");
const UNREADABLE = 'bundle "p.v2" is not installed: cannot read whether the installed operator allows its upgrade: ';

/** The OperatorConditions of a cluster whose API server may not respond, some seconds after the start. */
class Fixture {
  readonly kind = new WatchedKind(OPERATOR_CONDITION);
  readonly #clock = new FakeClock();
  readonly #conditions = new OperatorConditions({ client: this.kind, log, clock: this.#clock });

  async start(): Promise<void> {
    const ended = new AbortController();
    stop.push(ended);
    void this.#conditions.run(ended.signal);
    await this.later(10_000);
    await this.#conditions.synced;
  }

  async later(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      await flushPromises();
      this.#clock.advance(1_000);
    }
    await flushPromises();
  }

  /** Returns the error of the step for an upgrade from version 1 to version 2. */
  async upgrade(extension: ClusterExtension, objects: readonly KubeObject[]): Promise<WaitingError | undefined> {
    const base = releaseRecord(1, "deployed", { labels: toReleaseLabels(bundle("1")), objects });
    const history = new MemoryReleases(base).now();
    const phase = buildUnpacked(extension, bundle("2"), { releases: { history, installed: readInstalledBundle(base) } });
    const { error } = await runStep(holdVetoedUpgrade({ operatorConditions: this.#conditions }), phase);
    return findWaitingError(error);
  }
}

test.for<[when: string, extension: ClusterExtension, objects: KubeObject[], refusal: Error, message: string]>([
  ["the API server does not respond", X, [OWN], OUTAGE, `${UNREADABLE}connect ECONNREFUSED`],
  ["the extension was converted from OLM v0", MIGRATED, [configMap("a")], OUTAGE, `${UNREADABLE}connect ECONNREFUSED`],
  [
    "the controller may not list OperatorConditions",
    X,
    [OWN],
    DENIED,
    `${UNREADABLE}operatorconditions.operators.coreos.com is forbidden; let the ServiceAccount of operator-controller list and watch operatorconditions.operators.coreos.com`,
  ],
])("holdVetoedUpgrade holds an upgrade until OperatorConditions are known when %s", async ([, extension, objects, refused, message]) => {
  const fixture = new Fixture();
  fixture.kind.put(VETO);
  fixture.kind.refusal = refused;
  await fixture.start();
  const error = await fixture.upgrade(extension, objects);
  expect(error).toMatchObject({ reason: "NotUpgradeable", message, problems: [{ type: "NotUpgradeable", message }] });
  expect(await error?.isOver(signal)).toBe(false);
  fixture.kind.refusal = undefined;
  await fixture.later(60_000);
  expect(await error?.isOver(signal)).toBe(true);
  expect((await fixture.upgrade(extension, objects))?.message).toContain("Migrating: data is moving");
  fixture.kind.remove("p.v1");
  await flushPromises();
  expect(await fixture.upgrade(extension, objects)).toBeUndefined();
});

test("holdVetoedUpgrade reports another cause when it changes", async () => {
  const fixture = new Fixture();
  fixture.kind.refusal = OUTAGE;
  await fixture.start();
  const error = await fixture.upgrade(X, [OWN]);
  fixture.kind.refusal = DENIED;
  await fixture.later(60_000);
  expect(await error?.isOver(signal)).toBe(true);
  expect((await fixture.upgrade(X, [OWN]))?.message).toContain("is forbidden");
});

test("holdVetoedUpgrade allows an upgrade when OperatorConditions are unknown and the installed bundle has none", async () => {
  const fixture = new Fixture();
  fixture.kind.refusal = OUTAGE;
  await fixture.start();
  expect(await fixture.upgrade(X, [configMap("a")])).toBeUndefined();
});

test("holdVetoedUpgrade allows an upgrade when the cluster does not serve OperatorConditions", async () => {
  const fixture = new Fixture();
  fixture.kind.served = false;
  await fixture.start();
  expect(await fixture.upgrade(X, [OWN])).toBeUndefined();
});
