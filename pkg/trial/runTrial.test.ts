import { expect, test } from "vitest";
import { CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { KubeError } from "../kube/errors.ts";
import { runTrial, type TrialRequest, type TrialTools } from "./runTrial.ts";
import type { TrialBundle } from "./trialCatalog.ts";
import type { TrialImages } from "./trialImages.ts";
import type { TrialReport } from "./trialReport.ts";

const BUNDLE: TrialBundle = {
  source: "./shop",
  files: new Map(),
  name: "shop.v1.0.0",
  packageName: "shop",
  version: "1.0.0",
  crds: [],
  isOwnNamespaceOnly: false,
};
const REQUEST: TrialRequest = {
  name: "try-1",
  namespace: "try-1",
  config: undefined,
  target: BUNDLE,
  from: undefined,
  checks: [],
  fromChecks: [],
  timeoutMs: 60_000,
  systemNamespace: "s",
  isDisposable: false,
};
const RESET = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
const DENIED = new KubeError("denied", { status: 403, reason: "Forbidden" });

/** The result of a trial on a cluster whose API server stores objects in memory. */
interface EndedTrial {
  readonly steps: readonly string[];
  /** Kinds of the objects that stay. */
  readonly left: readonly string[];
}

/** Runs a trial. @param afterCreate called when an object is stored; an error is the response */
async function run(
  afterCreate: (kind: string) => void,
  {
    beforeCreate = () => undefined,
    signal = new AbortController().signal,
  }: { beforeCreate?: (kind: string) => void; signal?: AbortSignal } = {},
): Promise<EndedTrial> {
  const stored = new Map<string, KubeObject>();
  const client: Pick<Client, "create" | "get" | "delete"> = {
    create: async <T extends KubeObject>(object: T, options?: { signal?: AbortSignal | undefined }) => {
      beforeCreate(object.kind);
      const created: KubeObject = { ...object, metadata: { ...object.metadata, uid: object.kind } };
      stored.set(object.kind, created);
      afterCreate(object.kind);
      options?.signal?.throwIfAborted();
      return created as T;
    },
    get: <T extends KubeObject>({ kind }: ObjectRef) => Promise.resolve(stored.get(kind) as T | undefined),
    delete: ({ kind }: ObjectRef) => Promise.resolve(stored.delete(kind)),
  };
  const images = { publish: () => Promise.resolve("registry.example.com/trial@sha256:1"), remove: () => Promise.resolve([]) };
  const tools: TrialTools = {
    client: client as Client,
    images: images as unknown as TrialImages,
    signal,
    awaitCatalog: async () => signal.throwIfAborted() as undefined,
    awaitRollout: () => Promise.resolve(undefined),
    check: () => Promise.resolve(""),
    report: () => undefined,
  };
  const { steps }: TrialReport = await runTrial(REQUEST, tools);
  return { steps: steps.map(({ name, state }) => `${name}: ${state}`), left: [...stored.keys()] };
}

test("runTrial removes all objects when the trial passes", async () => {
  const steps = ["publish: passed", "install shop.v1.0.0: passed", "uninstall: passed", "clean up: passed"];
  expect(await run(() => undefined)).toEqual({ steps, left: [] });
});

test.for<[kind: string, steps: string[]]>([
  [CLUSTER_CATALOG, ["publish: failed", "install shop.v1.0.0: skipped", "uninstall: skipped", "clean up: passed"]],
  [CLUSTER_EXTENSION, ["publish: passed", "install shop.v1.0.0: failed", "uninstall: passed", "clean up: passed"]],
])("runTrial removes the %s when the response to its creation is lost", async ([lost, steps]) => {
  const ended = await run((kind) => {
    if (kind === lost) throw RESET;
  });
  expect(ended).toEqual({ steps, left: [] });
});

test("runTrial removes the ClusterCatalog when the user stops it during its creation", async () => {
  const stop = new AbortController();
  const ended = await run(() => stop.abort(), { signal: stop.signal });
  const steps = ["publish: failed", "install shop.v1.0.0: skipped", "uninstall: skipped", "clean up: passed"];
  expect(ended).toEqual({ steps, left: [] });
});

test("runTrial uninstalls nothing when the creation of the ClusterExtension is denied", async () => {
  const beforeCreate = (kind: string): void => {
    if (kind === CLUSTER_EXTENSION) throw DENIED;
  };
  const steps = ["publish: passed", "install shop.v1.0.0: failed", "uninstall: skipped", "clean up: passed"];
  expect(await run(() => undefined, { beforeCreate })).toEqual({ steps, left: [] });
});
