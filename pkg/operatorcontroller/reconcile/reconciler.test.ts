import { expect, test } from "vitest";
import { clusterFrom } from "../../../test/support/catalogFixture.ts";
import { RecordedEvents, RecordedPatches, refusal, stepContext } from "../../../test/support/extensionFakes.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import { observed, resolved, started } from "../../../test/support/phases.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { Ended, fail, leave, Story, stop } from "../../controller/story.ts";
import { isRetryable, RetryableError, TerminalError } from "../../errors/errors.ts";
import type { Availability } from "../../release/health/availability.ts";
import type { KnownReleases } from "../state/clusterChanges.ts";
import type { Phase, ReconcileStep, ResolvedBundle, Started } from "../state/phases.ts";
import { requireSpec } from "./check.ts";
import { Reconciler } from "./reconciler.ts";
import { extensionStatusWriter } from "./statusEvents.ts";

const made = extensionNamed("x", { packageName: "p" });
const X: ClusterExtension = { ...made, metadata: { ...made.metadata, uid: "u" } };
const RESOLVED: ResolvedBundle = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "i", explanation: "" };
const RESYNC = 1_234;

interface Given {
  extension?: ClusterExtension;
  /** What the one step comes to. */
  step?: (extension: ClusterExtension) => Phase | Ended<Phase>;
  keepFails?: Error;
  patchFails?: Error[];
  /** The extension is another one by now. */
  madeAnew?: boolean;
  aborted?: boolean;
  cluster?: string;
  /** What looking at the objects finds. */
  availability?: Availability;
}

async function pass({
  extension = X,
  step = started,
  keepFails,
  patchFails = [],
  madeAnew = false,
  aborted = false,
  cluster,
  availability,
}: Given) {
  const patches = new RecordedPatches();
  patches.failures.push(...patchFails);
  if (madeAnew) patches.uid = "other";
  const events = new RecordedEvents();
  let kept = 0;
  const one: ReconcileStep<Started, Phase> = {
    name: "Step",
    run: async ({ clusterVersion }) => {
      await Promise.resolve();
      const next = step(extension);
      return next instanceof Ended ? next : { ...next, clusterVersion };
    },
  };
  const reconciler = new Reconciler({
    statuses: extensionStatusWriter(patches, events),
    steps: Story.from<Started, Phase>().step(requireSpec).step(one),
    keepInstalled: () => {
      kept++;
      return keepFails ? Promise.reject(keepFails) : Promise.resolve();
    },
    checkHealth: ({ report }) => {
      if (availability) report.availability = availability;
      return Promise.resolve();
    },
    clusterVersion: () => clusterFrom(cluster),
    clusterProxy: () => ({ kind: "none" }),
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
  return { ...outcome, written, events: events.seen, kept, progressing };
}

const failing =
  (err: Error, bundle?: ResolvedBundle) =>
  (extension: ClusterExtension): Ended<Phase> =>
    fail<Phase>(bundle ? resolved(extension, bundle) : observed(extension), err);

test("a pass without a finding writes status once and comes again in time; a step that stops decides when", async () => {
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
  expect((await pass({ step: (x) => stop(started(x), { requeueAfterMs: 5 }) })).result).toEqual({ requeueAfterMs: 5 });
  expect((await pass({ step: (x) => stop(started(x)) })).result).toEqual({});
});

test("a status that is as before is not written", async () => {
  const first = await pass({});
  const [{ status }] = first.written as [(typeof first.written)[0]];
  expect((await pass({ extension: { ...X, status } })).written).toEqual([]);
});

test.for<[why: string, error: Error, bundle: ResolvedBundle | undefined, want: [string, string, string]]>([
  ["of a resolution", new RetryableError("Retrying", "no bundles found"), undefined, ["True", "Retrying", "no bundles found"]],
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
  ["nobody thought of", new TypeError("x is not a function"), undefined, ["True", "Retrying", "x is not a function"]],
])("an error %s becomes the condition and an Event, and is thrown", async ([, thrown, bundle, want]) => {
  const { error, progressing, events, kept } = await pass({ step: failing(thrown, bundle) });
  expect([progressing?.status, progressing?.reason, progressing?.message]).toEqual(want);
  expect(events).toEqual([`Warning ${want[1]}: ${want[2]}`]);
  expect(error?.message).toContain(thrown.message);
  expect(isRetryable(error)).toBe(!(thrown instanceof TerminalError));
  expect(kept).toBe(1);
});

test("a pass whose image is pulled keeps what is installed, says so, and is pending", async () => {
  const image = "registry.example/p:v1";
  const step = (x: ClusterExtension) => stop<Phase>({ ...resolved(x, RESOLVED), phase: "unpacking", image, lastError: undefined });
  const { result, progressing, kept, events } = await pass({ step });
  expect(result).toEqual({ requeueAfterMs: RESYNC, isPending: true });
  expect([progressing?.status, progressing?.reason, progressing?.message]).toEqual([
    "True",
    "RollingOut",
    "Unpacking bundle image registry.example/p:v1",
  ]);
  expect([kept, events]).toEqual([1, []]);
  const notKept = await pass({ step, keepFails: new Error("forbidden") });
  expect(notKept.error?.message).toBe('error keeping installed bundle "" as it is: forbidden');
  expect(notKept.progressing).toMatchObject({ status: "True", reason: "Retrying" });
});

test("while an image is pulled again the condition keeps the failure of the pull before", async () => {
  const lastError = new RetryableError("Retrying", "no route");
  const failed = await pass({ step: failing(lastError, RESOLVED) });
  const [{ status }] = failed.written as [(typeof failed.written)[0]];
  const step = (x: ClusterExtension) => stop<Phase>({ ...resolved(x, RESOLVED), phase: "unpacking", image: RESOLVED.image, lastError });
  const { result, written, events } = await pass({ extension: { ...X, status }, step });
  expect([result, written, events]).toEqual([{ requeueAfterMs: RESYNC, isPending: true }, [], []]);
});

test("what goes wrong with what is installed is told behind the error, whose kind stays", async () => {
  const installed = { ...RESOLVED, name: "p.v0.9.0" };
  const step = (x: ClusterExtension) =>
    fail<Phase>(observed(x, { releases: { installed } }), new TerminalError("InvalidConfiguration", "bad"));
  const { progressing } = await pass({ step, keepFails: new Error("forbidden") });
  expect([progressing?.reason, progressing?.message]).toEqual([
    "InvalidConfiguration",
    'bad\nerror keeping installed bundle "p.v0.9.0" as it is: forbidden',
  ]);
});

test("a stop is no failure: nothing is written, nothing kept", async () => {
  const { error, written, kept } = await pass({ step: failing(new Error("aborted")), aborted: true });
  expect([error?.message, written, kept]).toEqual(["stopped", [], 0]);
});

test("nothing is written about an extension that is gone, or another by now", async () => {
  const step = (x: ClusterExtension) => leave<Phase>(started(x), { requeueAfterMs: 20 });
  const { result, written } = await pass({ step });
  expect([result, written]).toEqual([{ requeueAfterMs: 20 }, []]);
});

test.for<[why: string, Pick<Given, "patchFails" | "madeAnew">]>([
  ["was deleted", { patchFails: [refusal(404, "NotFound")] }],
  ["was made anew", { patchFails: [refusal(422, "Invalid", "testing value /metadata/uid failed")], madeAnew: true }],
])("an extension that %s while it was worked on is looked at again, and no Event is about it", async ([, given]) => {
  const { result, error, events } = await pass(given);
  expect([result, error, events]).toEqual([{ requeueAfterMs: 20 }, undefined, []]);
});

test("the error of a pass is thrown although its extension is gone", async () => {
  expect((await pass({ patchFails: [refusal(404, "NotFound")], step: failing(new Error("no")) })).error?.message).toBe("no");
});

test("a status that cannot be written hides no error, and is tried again even after a terminal one", async () => {
  const failure = refusal(500, "InternalError", "etcd is gone");
  expect((await pass({ patchFails: [failure] })).error?.message).toBe("error updating status: etcd is gone");
  const { error, events } = await pass({ patchFails: [failure], step: failing(new TerminalError("Blocked", "bad")) });
  expect(error?.message).toBe("bad\nerror updating status: etcd is gone");
  expect(isRetryable(error)).toBe(true);
  expect(events).toEqual([]);
});

test("a bundle whose name the API server refuses in status does not hide the conditions", async () => {
  const step = (x: ClusterExtension) => observed(x, { releases: { installed: { ...RESOLVED, name: "Not_A_Subdomain" } } });
  const { written, error } = await pass({ step, patchFails: [refusal(422, "Invalid", "status.install.bundle.name")] });
  expect(error).toBeUndefined();
  expect(written.map(({ status }) => status.install)).toEqual([{ bundle: { name: "Not_A_Subdomain", version: "1.0.0" } }, undefined]);
  expect((await pass({ patchFails: [refusal(422, "Invalid", "no")] })).error?.message).toBe("error updating status: no");
});

const LIMITED = {
  labels: { "olm.operatorframework.io/bundle-name": "p.v1.0.0", "olm.operatorframework.io/bundle-version": "1.0.0" },
  annotations: { "olm.properties": '[{"type":"olm.maxOpenShiftVersion","value":"4.18"}]' },
};
const BLOCKS = 'bundle "p.v1.0.0" (version 1.0.0) states olm.maxOpenShiftVersion 4.18, which keeps the cluster from being upgraded to 4.19';

test("an Event tells when an extension begins to keep the cluster from being upgraded, and when it stops", async () => {
  const releases =
    (...active: NonNullable<KnownReleases["active"]>) =>
    (x: ClusterExtension) =>
      observed(x, { releases: { active } });
  const began = await pass({ cluster: "4.18.2", step: releases(LIMITED) });
  expect(began.events).toEqual([`Warning ClusterUpgradeBlocked: ${BLOCKS}`]);
  const blocked = { ...X, status: began.written[0]?.status ?? {} };
  expect((await pass({ extension: blocked, cluster: "4.18.3", step: releases(LIMITED) })).events).toEqual([]);
  expect((await pass({ extension: blocked, cluster: "4.17.1", step: releases(LIMITED) })).events).toEqual([
    'Normal ClusterUpgradeUnblocked: bundle "p.v1.0.0" (version 1.0.0) states olm.maxOpenShiftVersion 4.18: the cluster may be upgraded to 4.18',
  ]);
  const unlimited = { ...LIMITED, annotations: {} };
  expect((await pass({ extension: blocked, cluster: "4.18.3", step: releases(unlimited) })).events).toEqual([
    "Normal ClusterUpgradeUnblocked: no bundle of this extension limits the cluster's version",
  ]);
  expect((await pass({ cluster: "4.17.1", step: releases(LIMITED) })).events).toEqual([]);
});

test("revisions that another implementation left in the status go", async () => {
  const status = { conditions: [], activeRevisions: [{ name: "x-1" }] };
  const { written } = await pass({ extension: { ...X, status } });
  expect(written[0]?.status).not.toHaveProperty("activeRevisions");
});

test("an extension without spec is told what it lacks", async () => {
  const { spec: _, ...bare } = X;
  const { progressing } = await pass({ extension: bare as ClusterExtension });
  expect([progressing?.status, progressing?.reason]).toEqual(["False", "Blocked"]);
  expect(progressing?.message).toBe(
    "spec is missing: set spec.namespace, spec.serviceAccount and spec.source, or delete the ClusterExtension",
  );
});

const HEALTHY: Availability = { status: "True", reason: "Healthy", message: "fine" };
const ILL: Availability = { status: "False", reason: "Unhealthy", message: "Deployment ns/a: no" };

test.for<[why: string, before: Availability | undefined, after: Availability, events: string[]]>([
  ["a rollout under way", undefined, { ...ILL, reason: "RollingOut" }, []],
  ["a rollout that is over", { ...ILL, reason: "RollingOut" }, HEALTHY, ["Normal Healthy: fine"]],
  ["something that broke", HEALTHY, ILL, ["Warning Unhealthy: Deployment ns/a: no"]],
  ["another text about what is broken", ILL, { ...ILL, message: "Deployment ns/b: no" }, []],
  ["something that was repaired", ILL, HEALTHY, ["Normal Healthy: fine"]],
])("a change of health is an Event, once: %s", async ([, before, after, want]) => {
  const step = (x: ClusterExtension) => observed(x, { releases: { installed: RESOLVED } });
  const first = before ? (await pass({ step, availability: before })).written.at(-1)?.status : undefined;
  const { events } = await pass({ extension: first ? { ...X, status: first } : X, step, availability: after });
  expect(events).toEqual(want);
});

test("health is told although the pass failed", async () => {
  const step = (x: ClusterExtension) =>
    fail<Phase>(observed(x, { releases: { installed: RESOLVED } }), new RetryableError("Retrying", "no bundles found"));
  const { written } = await pass({ step, availability: ILL });
  expect(findCondition(written.at(-1)?.status.conditions, "Available")).toMatchObject({ status: "False", reason: "Unhealthy" });
});
