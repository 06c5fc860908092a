import { expect, test } from "vitest";
import { clusterFrom } from "../../../test/support/catalogFixture.ts";
import { RecordedEvents, RecordedPatches, refusal, stepContext } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildObserved, buildResolved, buildStarted, buildUnpacked } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { newProblem, type Problem } from "../../api/problems.ts";
import { Ended, fail, StepSequence, stop, stopWithoutStatus } from "../../controller/stepSequence.ts";
import { isRetryable, RetryableError, TerminalError } from "../../errors/errors.ts";
import type { Availability } from "../../release/health/availability.ts";
import type { LeftObject } from "../../release/record.ts";
import { newReleaseHistory } from "../releases/releaseStore.ts";
import type { KnownReleases } from "../state/clusterChanges.ts";
import type { Phase, ReconcileStep, ResolvedBundle, Started } from "../state/phases.ts";
import { requireSpec } from "./check.ts";
import { CHANGED_MS } from "./finalizers.ts";
import { Reconciler } from "./reconciler.ts";
import { createExtensionStatusWriter } from "./statusEvents.ts";

const made = createExtension("x", { packageName: "p" });
const X: ClusterExtension = { ...made, metadata: { ...made.metadata, uid: "u" } };
const RESOLVED: ResolvedBundle = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "i", explanation: "" };
const RESYNC = 1_234;

interface Given {
  extension?: ClusterExtension;
  /** Result of the only step. */
  step?: (extension: ClusterExtension) => Phase | Ended<Phase>;
  keepFails?: Error;
  patchFails?: Error[];
  /** Whether the extension was recreated. */
  isRecreated?: boolean;
  aborted?: boolean;
  cluster?: string;
  /** Result of the health check. */
  availability?: Availability;
}

async function pass({
  extension = X,
  step = buildStarted,
  keepFails,
  patchFails = [],
  isRecreated = false,
  aborted = false,
  cluster,
  availability,
}: Given) {
  const patches = new RecordedPatches();
  patches.failures.push(...patchFails);
  if (isRecreated) patches.uid = "other";
  const events = new RecordedEvents();
  let [kept, settled] = [0, 0];
  const one: ReconcileStep<Started, Phase> = {
    name: "Step",
    run: async ({ clusterVersion }) => {
      await Promise.resolve();
      const next = step(extension);
      return next instanceof Ended ? next : { ...next, clusterVersion };
    },
  };
  const reconciler = new Reconciler({
    statuses: createExtensionStatusWriter(patches, events),
    steps: StepSequence.from<Started, Phase>().step(requireSpec).step(one),
    keepInstalled: () => {
      kept++;
      return keepFails ? Promise.reject(keepFails) : Promise.resolve();
    },
    onSettled: () => {
      settled++;
      return Promise.resolve();
    },
    checkHealth: ({ report }) => {
      if (availability) report.availability = availability;
      return Promise.resolve();
    },
    clusterVersion: () => clusterFrom(cluster),
    clusterProxy: () => ({ kind: "none" }),
    operatorConditions: { support: "NotServed", foreign: new Set(), find: () => undefined, unknownReason: undefined },
    now: () => Date.parse("2026-01-01T00:00:00.500Z"),
    resyncMs: () => RESYNC,
  });
  const stopping = new AbortController();
  const { log } = stepContext();
  const running = reconciler.reconcile(extension, log, stopping.signal);
  if (aborted) stopping.abort(new Error("stopped"));
  const outcome = await running.then(
    (result) => ({ result, error: undefined }),
    (error: Error) => ({ result: undefined, error }),
  );
  const written = (patches.bodies as [{ value: string }, { value: NonNullable<ClusterExtension["status"]> }][]).map(([uid, status]) => ({
    uid: uid.value,
    status: status.value,
  }));
  const progressing = findCondition(written.at(-1)?.status.conditions, "Progressing");
  return { ...outcome, written, events: events.seen, kept, settled, progressing };
}

const failing =
  (err: Error, bundle?: ResolvedBundle) =>
  (extension: ClusterExtension): Ended<Phase> =>
    fail<Phase>(bundle ? buildResolved(extension, bundle) : buildObserved(extension), err);

test("a reconcile without problems writes the status once and requeues after the default delay, or after the delay of a step that stops", async () => {
  const { result, written, events, progressing } = await pass({});
  expect([result, written.length, events]).toEqual([{ requeueAfterMs: RESYNC }, 1, []]);
  expect(written[0]?.uid).toBe("u");
  expect(written[0]?.status).not.toHaveProperty("install");
  expect(progressing).toMatchObject({
    status: "True",
    reason: "Succeeded",
    message: "Desired state reached",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });
  expect((await pass({ step: (x) => stop(buildStarted(x), { requeueAfterMs: 5 }) })).result).toEqual({ requeueAfterMs: 5 });
  expect((await pass({ step: (x) => stop(buildStarted(x)) })).result).toEqual({});
});

// Source: https://github.com/operator-framework/operator-controller/blob/df2c201d/docs/concepts/version-ranges.md
test.for<[installed: string | undefined, delay: number]>([
  ["p.v0.9.0", CHANGED_MS],
  ["p.v1.0.0", RESYNC],
  [undefined, RESYNC],
])("a reconcile that installs p.v1.0.0 when the status contains %s requeues after %d ms", async ([installed, delay]) => {
  const status = installed === undefined ? {} : { install: { bundle: { name: installed, version: "1.0.0" } } };
  const applied = (x: ClusterExtension): Phase => ({
    ...buildUnpacked(x, RESOLVED, { releases: { installed: RESOLVED } }),
    phase: "applied",
  });
  expect((await pass({ extension: { ...X, status }, step: applied })).result).toMatchObject({ requeueAfterMs: delay });
});

const FOR_ANOTHER: LeftObject = { apiVersion: "v1", kind: "ConfigMap", name: "c", namespace: "n" };
const KEPT_CRD: LeftObject = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "c", kept: "it is in use" };

const pending = newProblem("PermissionsPending", { message: "must be approved" });

test.for<
  [
    what: string,
    phase: "applied" | "suspended" | "unpacking" | "unpacked",
    left: LeftObject[],
    problem: Problem | undefined,
    settled: number,
  ]
>([
  ["when its steps are done", "applied", [], undefined, 1],
  ["when only a CRD is left", "applied", [KEPT_CRD], undefined, 1],
  ["when an object is left for another extension", "applied", [KEPT_CRD, FOR_ANOTHER], undefined, 0],
  ["when it is suspended", "suspended", [], undefined, 1],
  ["when it is suspended and an object is left", "suspended", [FOR_ANOTHER], undefined, 0],
  ["when it waits for an image", "unpacking", [], undefined, 1],
  ["when it waits for permissions", "unpacked", [], pending, 1],
  ["when it waits for permissions and an object is left", "unpacked", [FOR_ANOTHER], pending, 0],
  ["when a step failed", "unpacked", [], newProblem("ObjectRejected", { message: "no" }), 0],
  ["when a step ended it earlier", "unpacked", [], undefined, 0],
])("a reconcile reports that an extension needs no write permissions %s: %s with %j", async ([, phase, left, problem, settled]) => {
  const releases = { installed: RESOLVED, history: { ...newReleaseHistory(), current: [releaseRecord(1, "deployed", { left })] } };
  const extension = { ...X, status: { install: { bundle: { name: RESOLVED.name, version: RESOLVED.version } } } };
  const step = (x: ClusterExtension) => {
    const reached: Phase = { ...buildUnpacked(x, RESOLVED, { releases }), phase, image: "i", lastError: undefined };
    return problem ? fail<Phase>(reached, new RetryableError("Retrying", problem.message, { problems: [problem] })) : stop(reached);
  };
  expect((await pass({ extension, step })).settled).toBe(settled);
});

test("a reconcile does not write an unchanged status", async () => {
  const first = await pass({});
  const [{ status }] = first.written as [(typeof first.written)[0]];
  expect((await pass({ extension: { ...X, status } })).written).toEqual([]);
});

test.for<[why: string, error: Error, bundle: ResolvedBundle | undefined, want: [string, string, string]]>([
  ["of resolution", new RetryableError("Retrying", "no bundles found"), undefined, ["True", "Retrying", "no bundles found"]],
  [
    "of a bundle",
    new RetryableError("KindNotServed", "no"),
    RESOLVED,
    ["True", "Retrying", 'error for resolved bundle "p.v1.0.0" with version "1.0.0": no'],
  ],
  [
    "of a bundle's configuration",
    new TerminalError("InvalidConfiguration", "bad"),
    RESOLVED,
    ["False", "InvalidConfiguration", 'error for resolved bundle "p.v1.0.0" with version "1.0.0": bad'],
  ],
  ["that is terminal without a reason of its own", new TerminalError("Blocked", "bad"), undefined, ["False", "Blocked", "bad"]],
  ["of an unknown type", new TypeError("x is not a function"), undefined, ["True", "Retrying", "x is not a function"]],
])("a reconcile reports an error %s in the condition and an Event, and throws it", async ([, thrown, bundle, want]) => {
  const { error, progressing, events, kept } = await pass({ step: failing(thrown, bundle) });
  expect([progressing?.status, progressing?.reason, progressing?.message]).toEqual(want);
  expect(events).toEqual([`Warning ${want[1]}: ${want[2]}`]);
  expect(error?.message).toContain(thrown.message);
  expect(isRetryable(error)).toBe(!(thrown instanceof TerminalError));
  expect(kept).toBe(1);
});

test("a reconcile maintains the installed bundle, reports progress, and returns isPending while an image is pulled", async () => {
  const image = "registry.example/p:v1";
  const step = (x: ClusterExtension) => stop<Phase>({ ...buildResolved(x, RESOLVED), phase: "unpacking", image, lastError: undefined });
  const { result, progressing, kept, events } = await pass({ step });
  expect(result).toEqual({ requeueAfterMs: RESYNC, isPending: true });
  expect([progressing?.status, progressing?.reason, progressing?.message]).toEqual([
    "True",
    "RollingOut",
    "Unpacking bundle image registry.example/p:v1",
  ]);
  expect([kept, events]).toEqual([1, []]);
  const notKept = await pass({ step, keepFails: new Error("forbidden") });
  expect(notKept.error?.message).toBe('error maintaining installed bundle "": forbidden');
  expect(notKept.progressing).toMatchObject({ status: "True", reason: "Retrying" });
});

test("a reconcile keeps the previous error in the condition while an image is pulled again", async () => {
  const lastError = new RetryableError("Retrying", "no route");
  const failed = await pass({ step: failing(lastError, RESOLVED) });
  const [{ status }] = failed.written as [(typeof failed.written)[0]];
  const step = (x: ClusterExtension) =>
    stop<Phase>({ ...buildResolved(x, RESOLVED), phase: "unpacking", image: RESOLVED.image, lastError });
  const { result, written, events } = await pass({ extension: { ...X, status }, step });
  expect([result, written, events]).toEqual([{ requeueAfterMs: RESYNC, isPending: true }, [], []]);
});

test("a reconcile keeps the reason of the first error, and appends the error when maintaining the installed bundle fails, too", async () => {
  const installed = { ...RESOLVED, name: "p.v0.9.0" };
  const step = (x: ClusterExtension) =>
    fail<Phase>(buildObserved(x, { releases: { installed } }), new TerminalError("InvalidConfiguration", "bad"));
  const { progressing } = await pass({ step, keepFails: new Error("forbidden") });
  expect([progressing?.reason, progressing?.message]).toEqual([
    "InvalidConfiguration",
    'bad\nerror maintaining installed bundle "p.v0.9.0": forbidden',
  ]);
});

test("a reconcile that is aborted writes no status and does not maintain the installed bundle", async () => {
  const { error, written, kept } = await pass({ step: failing(new Error("aborted")), aborted: true });
  expect([error?.message, written, kept]).toEqual(["stopped", [], 0]);
});

test("a reconcile writes no status when a step stops without a status", async () => {
  const step = (x: ClusterExtension) => stopWithoutStatus<Phase>(buildStarted(x), { requeueAfterMs: 20 });
  const { result, written } = await pass({ step });
  expect([result, written]).toEqual([{ requeueAfterMs: 20 }, []]);
});

test.for<[why: string, Pick<Given, "patchFails" | "isRecreated">]>([
  ["was deleted", { patchFails: [refusal(404, "NotFound")] }],
  ["was recreated", { patchFails: [refusal(422, "Invalid", "testing value /metadata/uid failed")], isRecreated: true }],
])("a reconcile requeues without an Event when the extension %s during the reconcile", async ([, given]) => {
  const { result, error, events } = await pass(given);
  expect([result, error, events]).toEqual([{ requeueAfterMs: 20 }, undefined, []]);
});

test("a reconcile throws its error when the extension no longer exists", async () => {
  expect((await pass({ patchFails: [refusal(404, "NotFound")], step: failing(new Error("no")) })).error?.message).toBe("no");
});

test("a reconcile throws both errors and retries when the status cannot be written", async () => {
  const failure = refusal(500, "InternalError", "etcd is gone");
  expect((await pass({ patchFails: [failure] })).error?.message).toBe("error updating status: etcd is gone");
  const { error, events } = await pass({ patchFails: [failure], step: failing(new TerminalError("Blocked", "bad")) });
  expect(error?.message).toBe("bad\nerror updating status: etcd is gone");
  expect(isRetryable(error)).toBe(true);
  expect(events).toEqual([]);
});

test("a reconcile writes the status without status.install when the API server rejects the bundle's name", async () => {
  const step = (x: ClusterExtension) => buildObserved(x, { releases: { installed: { ...RESOLVED, name: "Not_A_Subdomain" } } });
  const { written, error } = await pass({ step, patchFails: [refusal(422, "Invalid", "status.install.bundle.name")] });
  expect(error).toBeUndefined();
  expect(written.map(({ status }) => status.install)).toEqual([
    { bundle: { name: "Not_A_Subdomain", version: "1.0.0" }, namespace: "x-system" },
    undefined,
  ]);
  expect((await pass({ patchFails: [refusal(422, "Invalid", "no")] })).error?.message).toBe("error updating status: no");
});

const LIMITED = {
  labels: { "olm.operatorframework.io/bundle-name": "p.v1.0.0", "olm.operatorframework.io/bundle-version": "1.0.0" },
  annotations: { "olm.properties": '[{"type":"olm.maxOpenShiftVersion","value":"4.18"}]' },
};
const BLOCKS = 'bundle "p.v1.0.0" (version 1.0.0) has olm.maxOpenShiftVersion 4.18, which blocks an upgrade of the cluster to 4.19';

test("a reconcile records an Event when an extension starts or stops blocking cluster upgrades", async () => {
  const releases =
    (...active: NonNullable<KnownReleases["active"]>) =>
    (x: ClusterExtension) =>
      buildObserved(x, { releases: { active } });
  const began = await pass({ cluster: "4.18.2", step: releases(LIMITED) });
  expect(began.events).toEqual([`Warning ClusterUpgradeBlocked: ${BLOCKS}`]);
  const blocked = { ...X, status: began.written[0]?.status ?? {} };
  expect((await pass({ extension: blocked, cluster: "4.18.3", step: releases(LIMITED) })).events).toEqual([]);
  expect((await pass({ extension: blocked, cluster: "4.17.1", step: releases(LIMITED) })).events).toEqual([
    'Normal ClusterUpgradeUnblocked: bundle "p.v1.0.0" (version 1.0.0) has olm.maxOpenShiftVersion 4.18: the cluster can be upgraded up to 4.18',
  ]);
  const unlimited = { ...LIMITED, annotations: {} };
  expect((await pass({ extension: blocked, cluster: "4.18.3", step: releases(unlimited) })).events).toEqual([
    "Normal ClusterUpgradeUnblocked: no installed bundle of this extension limits the cluster version",
  ]);
  expect((await pass({ cluster: "4.17.1", step: releases(LIMITED) })).events).toEqual([]);
});

test("a reconcile removes revisions of another implementation from the status", async () => {
  const status = { conditions: [], activeRevisions: [{ name: "x-1" }] };
  const { written } = await pass({ extension: { ...X, status } });
  expect(written[0]?.status).not.toHaveProperty("activeRevisions");
});

test("a reconcile reports Blocked when spec is missing", async () => {
  const { spec: _, ...bare } = X;
  const { progressing } = await pass({ extension: bare as ClusterExtension });
  expect([progressing?.status, progressing?.reason]).toEqual(["False", "Blocked"]);
  expect(progressing?.message).toBe(
    "spec is missing: set spec.namespace, spec.serviceAccount and spec.source, or delete the ClusterExtension",
  );
});

const HEALTHY: Availability = { status: "True", reason: "Healthy", message: "fine" };
const UNHEALTHY: Availability = { status: "False", reason: "Unhealthy", message: "Deployment ns/a: no" };

test.for<[why: string, before: Availability | undefined, after: Availability, events: string[]]>([
  ["a rollout in progress", undefined, { ...UNHEALTHY, reason: "RollingOut" }, []],
  ["a completed rollout", { ...UNHEALTHY, reason: "RollingOut" }, HEALTHY, ["Normal Healthy: fine"]],
  ["an object that became unhealthy", HEALTHY, UNHEALTHY, ["Warning Unhealthy: Deployment ns/a: no"]],
  ["another message of an unhealthy object", UNHEALTHY, { ...UNHEALTHY, message: "Deployment ns/b: no" }, []],
  ["an object that became healthy", UNHEALTHY, HEALTHY, ["Normal Healthy: fine"]],
])("a reconcile records changes of health as Events: %s", async ([, before, after, want]) => {
  const step = (x: ClusterExtension) => buildObserved(x, { releases: { installed: RESOLVED } });
  const first = before ? (await pass({ step, availability: before })).written.at(-1)?.status : undefined;
  const { events } = await pass({ extension: first ? { ...X, status: first } : X, step, availability: after });
  expect(events).toEqual(want);
});

test("a reconcile reports health even when a step fails", async () => {
  const step = (x: ClusterExtension) =>
    fail<Phase>(buildObserved(x, { releases: { installed: RESOLVED } }), new RetryableError("Retrying", "no bundles found"));
  const { written } = await pass({ step, availability: UNHEALTHY });
  expect(findCondition(written.at(-1)?.status.conditions, "Available")).toMatchObject({ status: "False", reason: "Unhealthy" });
});
