import { expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS, FINALIZER_ORPHAN } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { describeObject } from "../release/identity.ts";
import { ejectExtension } from "./ejectExtension.ts";
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
  const options = { helm: undefined, systemNamespace: "s", timeoutMs: 0, signal: AbortSignal.timeout(60_000), report: () => undefined };
  const error = await ejectExtension(client as Client, preview, options).then(
    () => "",
    (err: unknown) => (err as Error).message,
  );
  return { deleted, error };
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
