import { afterEach, expect, test } from "vitest";
import { type Answer, LoopbackApi, type SeenRequest, statusAnswer } from "../../test/support/loopbackApi.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { ANNOTATION_BACKUP_DIGEST, ANNOTATION_STEP, LABEL_MIGRATION } from "../api/migration.ts";
import { Client } from "../kube/client.ts";
import { cleanUp, findLeftovers } from "./cleanup.ts";
import type { MigratedExtension } from "./migratedExtensions.ts";
import { listRollbackSteps } from "./rollback.ts";

const SECRET = "/api/v1/namespaces/ns/secrets/p-migration-backup";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Starts a loopback server, and a client. `answer` responds to all requests except discovery. */
async function start(answer: (request: SeenRequest) => Answer) {
  const kinds: Record<string, object[]> = {
    "/api/v1": [{ name: "secrets", kind: "Secret", namespaced: true }],
    [`/apis/${API_VERSION}`]: [{ name: "clusterextensions", kind: CLUSTER_EXTENSION, namespaced: false }],
  };
  const api = await LoopbackApi.start((request) => {
    const resources = kinds[request.url];
    return resources ? { json: { resources } } : answer(request);
  });
  const client = Client.of(api.credentials());
  open.push(
    () => client.close(),
    () => api[Symbol.asyncDispose](),
  );
  return { client, asked: () => api.log.filter((line) => kinds[line.slice("GET ".length)] === undefined) };
}

const SUBSCRIPTION: KubeObject = {
  apiVersion: "operators.coreos.com/v1alpha1",
  kind: "Subscription",
  metadata: { name: "p", namespace: "ns" },
  spec: { name: "p", source: "s", sourceNamespace: "olm" },
  status: { installedCSV: "p.v1" },
};

function migratedAt(changed: Partial<MigratedExtension>, annotations: Record<string, string> = {}, status?: object): MigratedExtension {
  const extension = {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name: "p", uid: "u", annotations },
    spec: { namespace: "ns", source: { sourceType: "Catalog", catalog: { packageName: "p" } } },
    ...(status ? { status } : {}),
  } as ClusterExtension;
  const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "p" };
  return { extension, ref, from: "ns/p", step: undefined, subscription: SUBSCRIPTION, group: undefined, backup: undefined, ...changed };
}

test.for([
  { name: "the digest names one", migrated: migratedAt({ step: "Granted" }, { [ANNOTATION_BACKUP_DIGEST]: "sha256:0" }) },
  { name: "the conversion has written one", migrated: migratedAt({ step: "BackedUp" }) },
  { name: "the extension is installed", migrated: migratedAt({}, {}, { install: { bundle: { name: "p.v1", version: "1.0.0" } } }) },
])("a rollback is impossible without a backup when $name", ({ migrated }) => {
  expect(() => listRollbackSteps(migrated)).toThrow(
    'ClusterExtension "p" cannot be rolled back to OLM v0: Secret ns/p-migration-backup with the backup of the conversion does not exist. Restore this Secret',
  );
});

test("a rollback is possible without a backup when the conversion has not changed objects of OLM v0", () => {
  expect(listRollbackSteps(migratedAt({ step: "Granted" }))).toContain(
    "delete ClusterExtension p, its releases, and the objects that it created itself",
  );
});

test("a cleanup removes the annotations before the Secret, so that a rollback does not miss the backup", async () => {
  const { client, asked } = await start(() => ({ json: {} }));
  const migrated = migratedAt({ step: "Installed" }, { [ANNOTATION_STEP]: "Installed" });
  await cleanUp(migrated, [], { client, operatorGroup: false, signal: new AbortController().signal });
  expect(asked()).toEqual([expect.stringMatching(/^PATCH .*\/clusterextensions\/p\?/), `DELETE ${SECRET}`]);
});

test("a cleanup deletes the Secret that an interrupted cleanup left", async () => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "p-migration-backup", namespace: "ns", uid: "s" } };
  let labels: object = { [LABEL_MIGRATION]: "p" };
  const { client } = await start(({ url }) =>
    url === SECRET ? { json: { ...secret, metadata: { ...secret.metadata, labels } } } : statusAnswer(404, "NotFound", "not found"),
  );
  const request = { client, operatorGroup: false, signal: new AbortController().signal };
  const left = migratedAt({ subscription: undefined });
  const ref = { apiVersion: "v1", kind: "Secret", namespace: "ns", name: "p-migration-backup" };
  expect(await findLeftovers(left, request)).toEqual([{ ref, uid: "s" }]);
  labels = {}; // another Secret with this name
  expect(await findLeftovers(left, request)).toEqual([]);
});
