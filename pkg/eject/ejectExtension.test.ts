import { expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, ConditionType, EXTENSION_PERMISSIONS, FINALIZER_ORPHAN, Reason } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { KubeError } from "../kube/errors.ts";
import type { ListResult } from "../kube/request.ts";
import { describeObject } from "../release/identity.ts";
import { type EjectOptions, ejectExtension } from "./ejectExtension.ts";
import type { EjectPreview } from "./ejectPreview.ts";

const EXTENSION: KubeObject = {
  apiVersion: API_VERSION,
  kind: CLUSTER_EXTENSION,
  metadata: { name: "shop", uid: "1", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [FINALIZER_ORPHAN] },
};
const PERMISSIONS: KubeObject = { ...EXTENSION_PERMISSIONS, metadata: { name: "shop", uid: "2", finalizers: ["example.com/grants"] } };
const ACCOUNT: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: "shop", name: "shop", uid: "3" } };

/** Ejects an extension whose deletion has begun. `stuck` never disappears. @returns deleted objects and the error */
async function ejectWith(stuck: KubeObject | undefined): Promise<{ deleted: string[]; error: string }> {
  const deleted: string[] = [];
  const client: Pick<Client, "get" | "delete"> = {
    get: <T extends KubeObject>(ref: ObjectRef) => Promise.resolve(stuck?.kind === ref.kind ? (stuck as T) : undefined),
    delete: (ref: ObjectRef) => {
      deleted.push(describeObject(ref));
      return Promise.resolve(true);
    },
  };
  const preview = {
    extension: EXTENSION,
    namespace: "shop",
    marked: [],
    dependencies: [],
    created: [ACCOUNT],
    history: { current: [], older: [], unfinished: [] },
  } as unknown as EjectPreview;
  return { deleted, error: await eject(client as Client, preview) };
}

/** Ejects an extension. @returns the error */
function eject(client: Client, preview: EjectPreview, options: Partial<EjectOptions> = {}): Promise<string> {
  const byDefault = { helm: undefined, systemNamespace: "s", timeoutMs: 0, signal: AbortSignal.timeout(60_000) };
  const silent = { writeManifests: () => Promise.resolve(), report: () => undefined };
  return ejectExtension(client, preview, { ...byDefault, ...silent, ...options }).then(
    () => "",
    (err: unknown) => (err as Error).message,
  );
}

const [extension, account] = [EXTENSION, ACCOUNT].map((object) => describeObject(toObjectRef(object)));

test.for<[what: string, stuck: KubeObject | undefined, deleted: (string | undefined)[], error: string]>([
  ["no object stays", undefined, [extension, account], ""],
  ["the ClusterExtension stays", EXTENSION, [extension], `its finalizers are ${FINALIZER_ORPHAN}. Run the command again to resume`],
  [
    "the permissions stay",
    PERMISSIONS,
    [extension, account],
    "its finalizers are example.com/grants. permission-manager deletes it when it runs; nothing else is left to do",
  ],
])("ejectExtension deletes all that it can when %s", async ([, stuck, deleted, error]) => {
  const ended = await ejectWith(stuck);
  expect(ended.deleted).toEqual(deleted);
  expect(ended.error.endsWith(error) && (ended.error === "") === (error === ""), ended.error).toBe(true);
});

const RESET = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
const RUNNING = { ...EXTENSION, metadata: { name: "shop", uid: "1", generation: 2 }, spec: {} };
const SUSPENDED = {
  ...RUNNING,
  status: { conditions: [{ type: ConditionType.Progressing, status: "False", reason: Reason.Suspended, observedGeneration: 2 }] },
};

/** Events of an eject of an extension that is not being deleted, and its error. */
interface SuspendedEject {
  readonly events: readonly string[];
  readonly error: string;
}

/**
 * Ejects an extension that is not being deleted.
 * @param answers of the reads of the extension; the last one repeats
 * @param options `etag` of the releases on the cluster; in the preview, it is ""; `patches` throws for a value of spec.suspend
 */
async function ejectRunning(
  answers: readonly (KubeObject | Error | undefined)[],
  {
    etag = "",
    patches = () => undefined,
    ...options
  }: { etag?: string; patches?: (suspend: boolean) => void } & Partial<EjectOptions> = {},
): Promise<SuspendedEject> {
  const events: string[] = [];
  const left = [...answers];
  const [name = "", resourceVersion = ""] = etag.split("@");
  const client: Pick<Client, "get" | "list" | "patch" | "delete"> = {
    get: <T extends KubeObject>(ref: ObjectRef) => {
      if (ref.kind !== CLUSTER_EXTENSION) return Promise.resolve(undefined);
      const answer = left.length > 1 ? left.shift() : left[0];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T | undefined);
    },
    list: <T extends KubeObject>(): Promise<ListResult<T>> => {
      const items = etag === "" ? [] : [{ apiVersion: "v1", kind: "Secret", metadata: { name, resourceVersion } } as KubeObject as T];
      return Promise.resolve({ items, resourceVersion: "9" });
    },
    patch: async <T extends KubeObject>(_ref: ObjectRef, body: object) => {
      const { suspend } = (body as { spec: { suspend: boolean } }).spec;
      patches(suspend);
      events.push(`suspend ${suspend}`);
      return RUNNING as KubeObject as T;
    },
    delete: (ref: ObjectRef) => {
      events.push(`delete ${ref.kind}`);
      return Promise.resolve(true);
    },
  };
  const history = { current: [], older: [], unfinished: [], etag: "" };
  const preview = { extension: RUNNING, namespace: "shop", marked: [], dependencies: [], created: [], history };
  const writeManifests = (): Promise<void> => Promise.resolve(void events.push("write"));
  const error = await eject(client as Client, preview as unknown as EjectPreview, { writeManifests, timeoutMs: 60_000, ...options });
  return { events, error };
}

test("ejectExtension writes the manifests, and then deletes, when the releases have not changed", async () => {
  const ended = await ejectRunning([RESET, SUSPENDED, undefined]);
  expect(ended).toEqual({ events: ["suspend true", "write", `delete ${CLUSTER_EXTENSION}`], error: "" });
});

test("ejectExtension writes nothing and resumes the extension when its releases have changed since the preview", async () => {
  const { events, error } = await ejectRunning([SUSPENDED], { etag: "sh.helm.release.v1.shop.v2@7" });
  expect(events).toEqual(["suspend true", "suspend false"]);
  expect(error).toBe(
    'cannot eject ClusterExtension "shop": its releases changed while they were shown (no changes were made). Run the command again',
  );
});

test.for<[what: string, answer: KubeObject | Error, options: Partial<EjectOptions>, error: string]>([
  ["the API server denies a read", new Error("denied"), {}, "denied"],
  ["the API server fails until the timeout", RESET, { timeoutMs: 0 }, "read ECONNRESET"],
  ["the controller does not suspend it in time", RUNNING, { timeoutMs: 0 }, "did not suspend ClusterExtension shop within 0 s"],
  ["the user stops the command", RUNNING, { signal: AbortSignal.timeout(50) }, "aborted"],
  ["the manifests cannot be written", SUSPENDED, { writeManifests: () => Promise.reject(new Error("disk full")) }, "disk full"],
])("ejectExtension resumes the extension when %s", async ([, answer, options, error]) => {
  const ended = await ejectRunning([answer], options);
  expect(ended).toEqual({ events: ["suspend true", "suspend false"], error: expect.stringContaining(error) as string });
});

test.for<[what: string, err: Error, events: string[]]>([
  ["resumes the extension when the response to the suspension is lost", RESET, ["suspend false"]],
  ["changes nothing when the suspension is denied", new KubeError("denied", { status: 403, reason: "Forbidden" }), []],
])("ejectExtension %s", async ([, err, events]) => {
  const fail = (suspend: boolean): void => {
    if (suspend) throw err;
  };
  expect(await ejectRunning([RUNNING], { patches: fail })).toEqual({ events, error: err.message });
});

test("ejectExtension prints how to resume the extension when it cannot", async () => {
  const patches = (suspend: boolean): void => {
    if (!suspend) throw RESET;
  };
  const { error } = await ejectRunning([new Error("denied")], { patches });
  expect(error).toBe(
    `cannot eject ClusterExtension "shop": denied. It remains suspended: read ECONNRESET. Resume it with kubectl patch clusterextension shop --type merge -p '{"spec":{"suspend":false}}'`,
  );
});
