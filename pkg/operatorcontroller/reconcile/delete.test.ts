import { expect, test } from "vitest";
import { thingDefinition } from "../../../test/support/definitions.ts";
import { MemoryReleases, RecordedEvents, RecordedPatches, refusal, stepContext } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { type Answer, LoopbackApi, type SeenRequest, statusAnswer } from "../../../test/support/loopbackApi.ts";
import { buildObserved, buildStarted, runStep, type StepOutcome } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { FINALIZER_UNINSTALL, GO_FINALIZERS } from "../../api/constants.ts";
import { newProblem } from "../../api/problems.ts";
import type { StepResult } from "../../controller/stepSequence.ts";
import { getProblems, RetryableError, TerminalError } from "../../errors/errors.ts";
import { Client } from "../../kube/client.ts";
import type { Dependent } from "../../resolve/dependencies/dependents.ts";
import { ServiceAccountMissing } from "../permissions/identity.ts";
import { findWaitingError } from "../state/conditionPoller.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import { getReleases, type Phase, type Started } from "../state/phases.ts";
import { handleDeletion, removeExtensionObjects } from "./delete.ts";
import { ensureFinalizer, removeCollectorFinalizers } from "./finalizers.ts";

const DELETED = "2026-01-01T00:00:00Z";
const made = createExtension("x", { packageName: "p" });

function extension(finalizers: readonly string[] | undefined, deletionTimestamp?: string): ClusterExtension {
  const metadata = { ...made.metadata, uid: "u", resourceVersion: "7", ...(finalizers ? { finalizers: [...finalizers] } : {}) };
  return { ...made, metadata: deletionTimestamp === undefined ? metadata : { ...metadata, deletionTimestamp } };
}

/** An API server without objects: there is nothing to delete and nothing to wait for. */
const CORE: Answer = { json: { resources: [{ name: "configmaps", kind: "ConfigMap", namespaced: true, verbs: ["get"] }] } };

interface Given {
  extension: ClusterExtension;
  releases?: MemoryReleases;
  memory?: ExtensionCache;
  /** The error of getting a client, if any. */
  noClient?: Error;
  /** Whether permission-manager created a ServiceAccount; absent if it does not grant the permissions of the extension. */
  hasAccount?: boolean;
  patchFails?: Error;
  objects?: (url: string, request: SeenRequest) => Answer | undefined;
  /** The dependents of the extension; undefined while they are unknown. */
  dependents?: Dependent[] | undefined;
  /** Milliseconds since the epoch. */
  now?: number;
}

interface Outcome extends StepOutcome<Started> {
  patches: RecordedPatches;
  events: string[];
  forgotten: string[];
  asked: string[];
}

async function pass(given: Given): Promise<Outcome> {
  await using api = await LoopbackApi.start(
    (request) =>
      given.objects?.(request.url, request) ??
      (request.url === "/api/v1" ? CORE : statusAnswer(404, "NotFound", "not found", { name: "a", kind: "configmaps" })),
  );
  const scoped = Client.of(api.credentials());
  const patches = new RecordedPatches();
  if (given.patchFails) patches.failures.push(given.patchFails);
  const events = new RecordedEvents();
  const forgotten: string[] = [];
  const step = handleDeletion({
    discovery: scoped,
    created: { release: () => Promise.resolve() },
    client: patches,
    managed: { covers: () => given.hasAccount !== undefined, hasAccount: () => Promise.resolve(given.hasAccount ?? false) },
    identities: { clientFor: () => (given.noClient ? Promise.reject(given.noClient) : Promise.resolve(scoped)) },
    releases: given.releases ?? new MemoryReleases(),
    events,
    memory: given.memory ?? new ExtensionCache(),
    dependents: { of: () => Promise.resolve("dependents" in given ? given.dependents : []) },
    now: () => given.now ?? 0,
    forget: (name) => Promise.resolve(void forgotten.push(name)),
  });
  const outcome = await runStep(step, buildStarted(given.extension));
  await scoped.close();
  return { ...outcome, patches, events: events.seen, forgotten, asked: api.log };
}

/** Returns the progress of the deletion in conditions; undefined if the extension is not being deleted. */
function progressOf(phase: Phase): string | undefined {
  return phase.phase === "deleting" ? phase.progress : undefined;
}

test("handleDeletion lets the reconcile continue when the extension is not being deleted", async () => {
  const { next, phase, patches } = await pass({ extension: extension([FINALIZER_UNINSTALL]) });
  expect([next, progressOf(phase), patches.bodies]).toEqual([phase, undefined, []]);
});

test("ensureFinalizer adds the finalizer to the existing finalizers, with a check for conflicts", async () => {
  const patches = new RecordedPatches();
  expect((await runStep(ensureFinalizer({ client: patches }), buildObserved(extension(["theirs"])))).next).toBeDefined();
  expect(patches.bodies).toEqual([{ metadata: { uid: "u", resourceVersion: "7", finalizers: ["theirs", FINALIZER_UNINSTALL] } }]);
  expect((await runStep(ensureFinalizer({ client: patches }), buildObserved(extension([FINALIZER_UNINSTALL])))).next).toBeDefined();
  expect(patches.bodies).toHaveLength(1);
});

test.for([
  [["orphan", FINALIZER_UNINSTALL], "orphan", [FINALIZER_UNINSTALL]],
  [["theirs", "foregroundDeletion", "orphan"], "foregroundDeletion, orphan", ["theirs"]],
] as const)(
  "removeCollectorFinalizers removes the garbage collector's finalizers from %j when the extension is not being deleted",
  async ([finalizers, named, left]) => {
    const [patches, events] = [new RecordedPatches(), new RecordedEvents()];
    const step = removeCollectorFinalizers({ client: patches, events });
    const { result, isLeft } = await runStep(step, buildStarted(extension(finalizers)));
    expect(result).toEqual({ requeueAfterMs: 20 });
    expect([isLeft, patches.bodies]).toEqual([true, [{ metadata: { uid: "u", resourceVersion: "7", finalizers: left } }]]);
    expect(events.seen).toEqual([
      `Warning FinalizerRemoved: removed finalizer ${named} because the extension is not being deleted. To keep its objects, delete the extension with --cascade=orphan`,
    ]);
  },
);

test("removeCollectorFinalizers keeps other finalizers, and keeps all finalizers when the extension is being deleted", async () => {
  const [patches, events] = [new RecordedPatches(), new RecordedEvents()];
  const step = removeCollectorFinalizers({ client: patches, events });
  for (const one of [extension(["theirs", FINALIZER_UNINSTALL]), extension([FINALIZER_UNINSTALL, "orphan"], DELETED)])
    expect((await runStep(step, buildStarted(one))).next).toBeDefined();
  expect([patches.bodies, events.seen]).toEqual([[], []]);
});

test.for<[why: string, failure: Error, result: StepResult | undefined]>([
  ["runs again immediately if the extension has changed", refusal(409, "Conflict"), { requeueAfterMs: 20 }],
  ["ends if the extension no longer exists", refusal(404, "NotFound"), {}],
])("ensureFinalizer and handleDeletion write no status when a patch fails, and the reconcile %s", async ([, failure, result]) => {
  const patches = new RecordedPatches();
  patches.failures.push(failure);
  const outcome = await runStep(ensureFinalizer({ client: patches }), buildObserved(extension([])));
  expect([outcome.result, outcome.isLeft]).toEqual([result, true]);
  const deletion = await pass({ extension: extension([FINALIZER_UNINSTALL], DELETED), patchFails: failure });
  expect([deletion.error, deletion.result]).toEqual([undefined, result]);
});

test.for<[why: string, finalizers: readonly string[], left: readonly string[]]>([
  ["the finalizer of this controller", [FINALIZER_UNINSTALL], []],
  ["the finalizers of the Go implementation, if the extension was deleted before ours was added", GO_FINALIZERS, []],
  ["the finalizers of both implementations", [...GO_FINALIZERS, FINALIZER_UNINSTALL], []],
  [
    "the finalizer of this controller, but not those of other clients",
    ["theirs", FINALIZER_UNINSTALL, "foregroundDeletion"],
    ["theirs", "foregroundDeletion"],
  ],
])("handleDeletion removes finalizers: %s", async ([, finalizers, left]) => {
  const releases = new MemoryReleases(
    releaseRecord(1, "superseded"),
    releaseRecord(2, "deployed", { objects: ["a"] }),
    releaseRecord(3, "failed"),
  );
  releases.unfinished.push(4);
  const { isLeft, patches, forgotten, result, asked } = await pass({ extension: extension(finalizers, DELETED), releases });
  expect(patches.bodies).toEqual([{ metadata: { uid: "u", resourceVersion: "7", finalizers: left } }]);
  expect([isLeft, forgotten, result]).toEqual([true, ["x"], {}]);
  expect(releases.calls).toEqual(["history", "remove v3", "remove v2", "remove v1", "remove v4"]);
  expect(asked).toContain("GET /api/v1/namespaces/x-system/configmaps/a");
});

test("handleDeletion reports the remaining finalizers when only finalizers of other clients remain", async () => {
  const { phase, patches, result, isLeft } = await pass({ extension: extension(["theirs", "and-theirs"], DELETED) });
  expect(progressOf(phase)).toBe("uninstalled; waiting for other finalizers to be removed: theirs, and-theirs");
  expect([patches.bodies, result, isLeft]).toEqual([[], {}, false]);
});

test("handleDeletion waits until all objects are deleted, and reports the remaining objects", async () => {
  const live = {
    metadata: { name: "a", namespace: "x-system", uid: "1", deletionTimestamp: DELETED, ownerReferences: [{ uid: "u", controller: true }] },
  };
  const { phase, patches, result, forgotten } = await pass({
    extension: extension([FINALIZER_UNINSTALL], DELETED),
    releases: new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a"] })),
    objects: (url) => (url.endsWith("/configmaps/a") ? { json: live } : undefined),
  });
  expect(progressOf(phase)).toBe("uninstalling: waiting for ConfigMap x-system/a to be deleted");
  expect([result, patches.bodies, forgotten]).toEqual([{ requeueAfterMs: 250 }, [], []]);
});

const OWNED = { ownerReferences: [{ apiVersion: "v1", kind: "ClusterExtension", name: "x", uid: "u", controller: true }] };
const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** A live object that waits for a finalizer. */
function terminating(name: string): Answer {
  return { json: { metadata: { name, namespace: "x-system", uid: name, deletionTimestamp: DELETED, ...OWNED } } };
}

test("handleDeletion checks remaining objects after delays that double up to fifteen seconds, and start again when one is gone", async () => {
  const left = new Set(["a", "b"]);
  const given = {
    extension: extension([FINALIZER_UNINSTALL], DELETED),
    releases: new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a", "b"] })),
    memory: new ExtensionCache(),
    objects: (url: string) => [...left].filter((name) => url.endsWith(`/configmaps/${name}`)).map(terminating)[0],
  };
  const delays: (number | undefined)[] = [];
  let now = 0;
  const check = async (): Promise<void> => {
    const { result, asked } = await pass({ ...given, now });
    expect(asked.filter((request) => request.includes("/configmaps/"))).toHaveLength(2);
    delays.push(result?.requeueAfterMs);
    now += result?.requeueAfterMs ?? 0;
  };
  for (let i = 0; i < 9; i++) await check();
  expect(delays.splice(0)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  left.delete("b");
  for (let i = 0; i < 2; i++) await check();
  expect(delays).toEqual([250, 500]);
});

test("removeExtensionObjects lets the next removal of the same objects begin with the shortest delay", async () => {
  const memory = new ExtensionCache();
  const x = extension([FINALIZER_UNINSTALL]);
  expect(memory.awaitDeletion(x, ["Deployment x-system/a"], 0)).toBe(250);
  expect(memory.awaitDeletion(x, ["Deployment x-system/a"], 1_000)).toBe(1_250);
  await removeExtensionObjects({ events: new RecordedEvents(), memory }, x, {} as unknown as Client, stepContext());
  expect(memory.awaitDeletion(x, ["Deployment x-system/a"], 60_000)).toBe(250);
});

test("handleDeletion neither decodes releases again nor reads more than metadata while it waits", async () => {
  const accepted: (string | undefined)[] = [];
  const given = {
    extension: extension([FINALIZER_UNINSTALL], DELETED),
    releases: new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a"] })),
    memory: new ExtensionCache(),
    objects: (url: string, { headers }: SeenRequest) => {
      if (!url.endsWith("/configmaps/a")) return undefined;
      accepted.push(headers.accept);
      return terminating("a");
    },
  };
  await pass(given);
  const { phase } = await pass(given);
  expect(given.releases.calls).toEqual(["history", "history unchanged"]);
  expect(accepted).toEqual([METADATA, METADATA]);
  expect(getReleases(phase).installed).toBeDefined();
  given.releases.records.clear();
  await pass(given);
  expect(given.releases.calls.at(-1)).toBe("history");
});

test("handleDeletion decides from a list which custom resources exist", async () => {
  const crd = thingDefinition("g.io");
  const live = { ...crd, metadata: { ...crd.metadata, ...OWNED } };
  const things = ["a", "b", "c"].map((name) => ({ metadata: { name, namespace: "x-system", uid: name, deletionTimestamp: DELETED } }));
  const resources = (name: string, kind: string, namespaced: boolean): Answer => ({
    json: { resources: [{ name, kind, namespaced, verbs: ["get"] }] },
  });
  const answers: Record<string, Answer> = {
    "/apis/apiextensions.k8s.io/v1": resources("customresourcedefinitions", "CustomResourceDefinition", false),
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.g.io": { json: live },
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": { json: { status: { allowed: true } } },
    "/apis/g.io/v1": resources("things", "Thing", true),
  };
  const x = extension([FINALIZER_UNINSTALL], DELETED);
  const { phase, asked } = await pass({
    extension: { ...x, spec: { ...x.spec, uninstall: { crdPolicy: "Delete" } } },
    releases: new MemoryReleases(releaseRecord(1, "deployed", { objects: [crd] })),
    objects: (url) => (url.startsWith("/apis/g.io/v1/things?") ? { json: { kind: "ThingList", items: things } } : answers[url]),
  });
  expect(progressOf(phase)).toBe("uninstalling: waiting for Thing x-system/a, Thing x-system/b, Thing x-system/c to be deleted");
  expect(asked.filter((request) => request.includes("/apis/g.io/v1/"))).toEqual([expect.stringContaining("GET /apis/g.io/v1/things?")]);
});

test("handleDeletion waits for a missing ServiceAccount unless annotation force-delete permits that the garbage collector deletes the objects", async () => {
  const noClient = new ServiceAccountMissing("Retrying", 'service account "i" not found in namespace "n"', {
    isOver: () => Promise.resolve(false),
    problems: [newProblem("ServiceAccountNotFound", { message: "ServiceAccount n/i does not exist" })],
  });
  const releases = new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a"] }));
  const deleted = extension([FINALIZER_UNINSTALL], DELETED);
  const waiting = await pass({ extension: deleted, releases, noClient });
  expect((waiting.error as Error).message).toBe(noClient.message);
  const next = expect.stringContaining("kubectl annotate clusterextension x olm.operatorframework.io/force-delete=true");
  expect(getProblems(waiting.error)).toMatchObject([{ type: "ServiceAccountNotFound", next }]);
  expect([waiting.patches.bodies, releases.state, waiting.events]).toEqual([[], ["v1 deployed"], []]);

  const annotated = { ...deleted, metadata: { ...deleted.metadata, annotations: { "olm.operatorframework.io/force-delete": "true" } } };
  const { isLeft, events } = await pass({ extension: annotated, releases, noClient });
  expect(events).toEqual([
    `Warning UninstalledByGarbageCollector: the controller leaves the objects to the garbage collector and keeps CustomResourceDefinitions: ${noClient.message}`,
  ]);
  expect([isLeft, releases.records.size]).toEqual([true, 0]);
});

test("handleDeletion lets the garbage collector delete the objects when no ServiceAccount is set", async () => {
  const releases = new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a"] }));
  const noClient = new TerminalError("Blocked", "spec.serviceAccount.name is empty");
  const { isLeft, events } = await pass({ extension: extension([FINALIZER_UNINSTALL], DELETED), releases, noClient });
  expect(events).toEqual([expect.stringContaining("spec.serviceAccount.name is empty") as string]);
  expect([isLeft, releases.records.size]).toEqual([true, 0]);
});

test("handleDeletion lets the garbage collector delete the objects when permission-manager granted no permissions", async () => {
  const releases = new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a"] }));
  const { isLeft, events } = await pass({ extension: extension([FINALIZER_UNINSTALL], DELETED), releases, hasAccount: false });
  expect(events).toEqual([expect.stringContaining("permission-manager has not granted any permissions") as string]);
  expect([isLeft, releases.records.size]).toEqual([true, 0]);
});

test("handleDeletion reports an unknown installed bundle when releases cannot be read", async () => {
  const releases = new MemoryReleases();
  releases.failures.history = new RetryableError("Retrying", "failed to get chunk 2 secret");
  const { phase, error, patches } = await pass({ extension: extension([FINALIZER_UNINSTALL], DELETED), releases });
  expect([error, getReleases(phase).unknownBecause, patches.bodies]).toEqual([
    releases.failures.history,
    "failed to get chunk 2 secret",
    [],
  ]);
});

test("handleDeletion keeps objects and releases when a token cannot be requested", async () => {
  const releases = new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a"] }));
  const noClient = new RetryableError("Retrying", "operator-controller is not allowed to create serviceaccounts/token");
  const { error, phase, isLeft, patches } = await pass({ extension: extension([FINALIZER_UNINSTALL], DELETED), releases, noClient });
  expect(error).toBe(noClient);
  expect([isLeft, releases.state, patches.bodies]).toEqual([false, ["v1 deployed"], []]);
  expect(getReleases(phase).installed).toBeDefined();
});

test("handleDeletion deletes an extension without spec", async () => {
  const { spec: _, ...bare } = extension(GO_FINALIZERS, DELETED);
  const releases = new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a"] }));
  const { isLeft, events } = await pass({ extension: bare as ClusterExtension, releases });
  expect(isLeft).toBe(true);
  expect(events).toEqual([expect.stringContaining("spec is missing") as string]);
});

test.for([
  ["its finalizer is orphan", [FINALIZER_UNINSTALL, "orphan"], false, ["orphan"]],
  ["the garbage collector has already orphaned its releases", [FINALIZER_UNINSTALL], true, []],
] as const)("handleDeletion keeps objects and releases after --cascade=orphan when %s", async ([, finalizers, orphaned, left]) => {
  const releases = new MemoryReleases(releaseRecord(1, "deployed", { objects: ["a"] }));
  releases.orphaned = orphaned;
  const { patches, events, asked } = await pass({ extension: extension(finalizers, DELETED), releases });
  expect(patches.bodies).toMatchObject([{ metadata: { finalizers: left } }]);
  expect([releases.state, asked]).toEqual([["v1 deployed"], []]);
  expect(events).toEqual(["Normal Orphaned: the extension was deleted with --cascade=orphan: its objects and releases are kept"]);
});

test("handleDeletion deletes the recorded objects when the garbage collector deleted the releases first, as in a foreground deletion", async () => {
  const memory = new ExtensionCache();
  const deleted = extension([FINALIZER_UNINSTALL, "foregroundDeletion"], DELETED);
  memory.record(deleted, [releaseRecord(1, "deployed", { objects: ["a"] })]);
  const { asked } = await pass({ extension: deleted, memory });
  expect(asked).toContain("GET /api/v1/namespaces/x-system/configmaps/a");
});

test.for<[what: string, count: number, crds: string[]]>([
  ["in the status", 2, ["things.g.io"]],
  ["with its labels, because the status is truncated,", 200, ["things.g.io", "others.g.io"]],
])(
  "handleDeletion deletes the CustomResourceDefinitions %s when the controller starts after the releases were deleted",
  async ([, count, crds]) => {
    const definitions = ["things.g.io", "others.g.io", "kept.g.io", "foreign.g.io"].map((name) => {
      const owner = name === "foreign.g.io" ? "other" : "u";
      const labels = { "olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "x" };
      const crd = thingDefinition("g.io");
      return { ...crd, metadata: { name, uid: name, labels, annotations: { "olm.operatorframework.io/owner-uid": owner } } };
    });
    const path = "/apis/apiextensions.k8s.io/v1";
    const resources = [{ name: "customresourcedefinitions", kind: "CustomResourceDefinition", namespaced: false, verbs: ["get"] }];
    const deleted = extension([FINALIZER_UNINSTALL, "foregroundDeletion"], DELETED);
    const { asked } = await pass({
      extension: {
        ...deleted,
        spec: { ...deleted.spec, uninstall: { crdPolicy: "Delete" } },
        status: {
          install: { bundle: { name: "x.v1", version: "1.0.0" } },
          inventory: {
            count,
            objects: [
              { version: "v1", kind: "ConfigMap", namespace: "x-system", name: "a" },
              { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition", name: "things.g.io" },
            ],
          },
          keptCRDs: [{ name: "kept.g.io", message: "custom resources exist" }],
        },
      },
      objects: (url) => {
        if (url === path) return { json: { resources } };
        if (url.endsWith("/selfsubjectaccessreviews")) return { json: { status: { allowed: true } } };
        if (url.startsWith(`${path}/customresourcedefinitions?`))
          return { json: { kind: "CustomResourceDefinitionList", items: definitions } };
        const found = definitions.find(({ metadata }) => url === `${path}/customresourcedefinitions/${metadata.name}`);
        return found && { json: found };
      },
    });
    const removed = asked.filter((request) => request.startsWith("DELETE ")).map((request) => request.split("/").at(-1));
    expect(new Set(removed)).toEqual(new Set(["kept.g.io", ...crds]));
    expect(asked).toContain("GET /api/v1/namespaces/x-system/configmaps/a");
  },
);

const DEPENDENT: Dependent = { extension: "b", bundle: "b.v1.0.0", needs: ['package "x" >=1.0.0', "API g.io/v1 Thing"] };
const held = () => ({
  releases: new MemoryReleases(
    releaseRecord(1, "deployed", { objects: ["a"], labels: { "olm.operatorframework.io/bundle-name": "x.v1" } }),
  ),
  memory: new ExtensionCache(),
  dependents: [DEPENDENT],
});

// Source: H-14.
test("handleDeletion deletes nothing while other extensions depend on the extension, and reports them, their constraints and the next step", async () => {
  const given = { ...held(), extension: extension([FINALIZER_UNINSTALL], DELETED) };
  const { error, releases, asked, patches } = { ...given, ...(await pass(given)) };
  expect(error).toMatchObject({ reason: "RequiredByOthers", retry: true });
  expect((error as Error).message).toBe(
    'not uninstalled: other extensions depend on bundle "x.v1": ClusterExtension "b" (bundle "b.v1.0.0") needs package "x" >=1.0.0, API g.io/v1 Thing',
  );
  const next = expect.stringContaining("kubectl annotate clusterextension x olm.operatorframework.io/force-uninstall=true");
  expect(getProblems(error)).toMatchObject([{ type: "RequiredByOthers", details: { dependents: ["b"] }, next }]);
  expect([releases.state, asked, patches.bodies]).toEqual([["v1 deployed"], [], []]);
  const isOver = findWaitingError(error)?.isOver;
  expect(await isOver?.(new AbortController().signal)).toBe(false);
  given.dependents.pop();
  expect(await isOver?.(new AbortController().signal)).toBe(true);
  expect((await pass(given)).isLeft).toBe(true);
});

test("handleDeletion lists five dependents when more exist", async () => {
  const dependents = Array.from({ length: 7 }, (_, i) => ({ ...DEPENDENT, extension: `b${i}`, needs: ["a", "b", "c", "d"] }));
  const { error } = await pass({ ...held(), dependents, extension: extension([FINALIZER_UNINSTALL], DELETED) });
  expect((error as Error).message).toContain('ClusterExtension "b4" (bundle "b.v1.0.0") needs a, b, c and 1 more; and 2 more');
});

test("handleDeletion retries while dependents are unknown", async () => {
  const { error } = await pass({ ...held(), dependents: undefined, extension: extension([FINALIZER_UNINSTALL], DELETED) });
  expect(error).toMatchObject({ reason: "Retrying", retry: true });
});

test.for<[why: string, given: (given: ReturnType<typeof held>) => Partial<Given>]>([
  ["force-uninstall is set", () => ({ extension: withAnnotation("true") })],
  [
    "its uninstall has begun",
    ({ memory }) => {
      memory.of(withAnnotation("false")).uninstalling = true;
      return {};
    },
  ],
  ["nothing is installed", () => ({ releases: new MemoryReleases(releaseRecord(1, "failed", { objects: ["a"] })) })],
])("handleDeletion ignores dependents when %s", async ([, change]) => {
  const given = { ...held(), extension: withAnnotation("false") };
  const { isLeft, error } = await pass({ ...given, ...change(given) });
  expect([error, isLeft]).toEqual([undefined, true]);
});

function withAnnotation(value: string): ClusterExtension {
  const deleted = extension([FINALIZER_UNINSTALL], DELETED);
  return { ...deleted, metadata: { ...deleted.metadata, annotations: { "olm.operatorframework.io/force-uninstall": value } } };
}
