import { afterEach, expect, test } from "vitest";
import { type Answer, LoopbackApi, type SeenRequest, statusAnswer } from "../../test/support/loopbackApi.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { ANNOTATION_BACKUP_DIGEST, ANNOTATION_STEP, LABEL_LEFTOVER, LABEL_MIGRATION, MIGRATION_FINALIZER } from "../api/migration.ts";
import { WaitTimeoutError } from "../async/poll.ts";
import { Client } from "../kube/client.ts";
import { cleanUp, findLeftovers } from "./cleanup.ts";
import type { MigratedExtension } from "./migratedExtensions.ts";
import type { RemovedMarks } from "./ownershipMarks.ts";
import { listRollbackSteps, rollBackConversion, rollBackConversions } from "./rollback.ts";

const SECRET = "/api/v1/namespaces/ns/secrets/p-migration-backup";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Starts a loopback server, and a client. `answer` responds to all requests except discovery. */
async function start(answer: (request: SeenRequest) => Answer) {
  const kinds: Record<string, object[]> = {
    "/api/v1": [{ name: "secrets", kind: "Secret", namespaced: true }],
    "/apis/operators.coreos.com/v1alpha1": [
      { name: "subscriptions", kind: "Subscription", namespaced: true },
      { name: "clusterserviceversions", kind: "ClusterServiceVersion", namespaced: true },
    ],
    "/apis/rbac.authorization.k8s.io/v1": [{ name: "clusterroles", kind: "ClusterRole", namespaced: false }],
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

/** Rolls back a conversion whose Subscription is terminating. `isGone` says whether the Subscription is deleted when it is read. */
async function rollBackTerminating(isGone: () => boolean): Promise<readonly string[]> {
  const terminating = { ...SUBSCRIPTION.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/wait"] };
  let created: KubeObject | undefined;
  let isDeleted = false;
  const { client, asked } = await start(({ method, url, body }) => {
    const [path = ""] = url.split("?");
    if (method === "DELETE") {
      isDeleted = true;
      return {};
    }
    if (path.endsWith("/clusterextensions/p")) {
      const { metadata } = migratedAt({}).extension;
      return isDeleted ? statusAnswer(404, "NotFound", "not found") : { json: { metadata: { ...metadata, deletionTimestamp: "now" } } };
    }
    if (method === "POST") return { json: (created = JSON.parse(body) as KubeObject) };
    if (method === "PATCH") return { json: {} };
    if (path.endsWith("/subscriptions/p") && created) return { json: created };
    if (path.endsWith("/subscriptions/p") && !isGone()) return { json: { ...SUBSCRIPTION, metadata: terminating } };
    return path.endsWith("s") ? { json: { items: [] } } : statusAnswer(404, "NotFound", "not found");
  });
  const report = (): void => undefined;
  const { signal } = new AbortController();
  try {
    await rollBackConversion(migratedAt({ step: "Granted" }), { client, timeoutMs: 400, signal, report, done: report });
  } catch (err) {
    expect(err).toBeInstanceOf(WaitTimeoutError);
    expect(String(err)).toContain("Subscription ns/p to be deleted: finalizers example.com/wait remain");
  }
  return asked()
    .filter((line) => /^(POST|DELETE)/.test(line))
    .map((line) => line.split("?")[0] ?? "");
}

test("a rollback creates the Subscription after the terminating one is gone, and then deletes the extension", async () => {
  let reads = 0;
  const extension = `DELETE /apis/${API_VERSION}/clusterextensions/p`;
  const written = await rollBackTerminating(() => ++reads > 1);
  expect(written).toEqual(["POST /apis/operators.coreos.com/v1alpha1/namespaces/ns/subscriptions", extension, `DELETE ${SECRET}`]);
});

test("a rollback keeps the extension and its backups when the Subscription stays terminating", async () => {
  expect(await rollBackTerminating(() => false)).toEqual([]);
});

const CSVS = "/apis/operators.coreos.com/v1alpha1/namespaces/ns/clusterserviceversions";
const ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/r";
const V1: KubeObject = {
  apiVersion: "operators.coreos.com/v1alpha1",
  kind: "ClusterServiceVersion",
  metadata: { name: "p.v1", namespace: "ns" },
  spec: { version: "1.0.0" },
};
const MARKS: RemovedMarks = {
  ref: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "r" },
  uid: "r1",
  labels: { "olm.owner": "p.v1", "olm.owner.namespace": "ns" },
  ownerReferences: [],
  adopted: false,
};

/** Rolls back a conversion that stopped after step BackedUp. `live` are the ClusterServiceVersions. @returns the writes */
async function rollBackBackedUp(live: KubeObject[]): Promise<{ method: string; path: string; body: unknown }[]> {
  const written: { method: string; path: string; body: unknown }[] = [];
  const { metadata } = migratedAt({}).extension;
  const csvs = new Map(live.map((csv) => [csv.metadata.name, csv]));
  const { client } = await start(({ method, url, body }) => {
    const [path = ""] = url.split("?");
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (method !== "GET") written.push({ method, path, body: body === "" ? undefined : JSON.parse(body) });
    if (method === "DELETE") return { json: {} };
    if (path.startsWith(CSVS)) {
      if (method === "PATCH" && csvs.delete(name)) return { json: V1 }; // the finalizer was removed
      if (method === "POST") return { json: { ...V1, metadata: { ...V1.metadata, uid: "again" } } };
      const csv = csvs.get(name);
      return path === CSVS ? { json: { items: [...csvs.values()] } } : csv ? { json: csv } : statusAnswer(404, "NotFound", "not found");
    }
    if (path.endsWith("/clusterextensions/p")) {
      const isDeleted = written.some((one) => one.method === "DELETE" && one.path === path);
      return isDeleted ? statusAnswer(404, "NotFound", "not found") : { json: { metadata: { ...metadata, deletionTimestamp: "now" } } };
    }
    if (path === ROLE) return { json: { ...MARKS.ref, metadata: { name: "r", uid: "r1", labels: { [LABEL_LEFTOVER]: "p" } } } };
    if (path.endsWith("/subscriptions/p")) return { json: { ...SUBSCRIPTION, spec: { name: "p", installPlanApproval: "Manual" } } };
    return path.endsWith("s") ? { json: { items: [] } } : { json: {} };
  });
  const report = (): void => undefined;
  const migrated = migratedAt({ step: "BackedUp", backup: { csv: V1, marks: [MARKS] } });
  await rollBackConversion(migrated, { client, timeoutMs: 400, signal: new AbortController().signal, report, done: report });
  return written;
}

test("a rollback keeps the version that OLM v0 runs when OLM v0 upgraded the operator before the conversion released it", async () => {
  const written = await rollBackBackedUp([{ ...V1, metadata: { name: "p.v2", namespace: "ns" }, spec: { replaces: "p.v1" } }]);
  expect(written.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `PATCH /apis/${API_VERSION}/clusterextensions/p`,
    `PATCH ${ROLE}`,
    `DELETE /apis/${API_VERSION}/clusterextensions/p`,
    `DELETE ${SECRET}`,
  ]);
  expect(written[1]?.body).toMatchObject({ metadata: { labels: { [LABEL_LEFTOVER]: null, "olm.owner": "p.v1" }, ownerReferences: [] } });
});

test("a rollback records that it restores a ClusterServiceVersion when the conversion stopped while it deleted it", async () => {
  const metadata = { ...V1.metadata, uid: "c1", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [MIGRATION_FINALIZER] };
  const written = await rollBackBackedUp([{ ...V1, metadata }]);
  expect(written[0]?.body).toEqual({ metadata: { annotations: { [ANNOTATION_STEP]: "Terminating" } }, spec: { suspend: true } });
  expect(written.map(({ method, path }) => `${method} ${path}`)).toContain(`POST ${CSVS}`);
});

test("a rollback of a graph restores dependencies first for OLM v0, and then deletes the extensions of dependents first", async () => {
  const [deleted, created] = [new Set<string>(), new Map<string, KubeObject>()];
  const { client, asked } = await start(({ method, url, body }) => {
    const [path = ""] = url.split("?");
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (method === "DELETE") {
      deleted.add(path);
      return { json: {} };
    }
    if (method === "POST") {
      const object = JSON.parse(body) as KubeObject;
      created.set(object.metadata.name, object);
      return { json: object };
    }
    if (path.includes("/clusterextensions/")) {
      const { metadata } = migratedAt({}).extension;
      // operator-controller deletes zeta only after its dependent argo
      const isGone = deleted.has(path) && (name === "argo" || [...deleted].some((one) => one.endsWith("/argo")));
      return isGone ? statusAnswer(404, "NotFound", "not found") : { json: { metadata: { ...metadata, name, deletionTimestamp: "now" } } };
    }
    if (method === "PATCH") return { json: {} };
    const live = created.get(name);
    if (live) return { json: live };
    return path.endsWith("s") ? { json: { items: [] } } : statusAnswer(404, "NotFound", "not found");
  });
  const report = (): void => undefined;
  const options = { client, timeoutMs: 400, signal: new AbortController().signal, report, done: report };
  const rollbacks = ["argo", "zeta"].map((name) => {
    const subscription = { ...SUBSCRIPTION, metadata: { name, namespace: "ns" } };
    const { extension, ref, ...rest } = migratedAt({ step: "Granted", subscription, from: `ns/${name}` });
    const migrated = { ...rest, extension: { ...extension, metadata: { ...extension.metadata, name } }, ref: { ...ref, name } };
    return { migrated, options };
  });
  await rollBackConversions(rollbacks);
  expect([...created.keys()]).toEqual(["zeta", "argo"]);
  expect(asked().flatMap((line) => /^DELETE .*clusterextensions\/(\w+)/.exec(line)?.[1] ?? [])).toEqual(["argo", "zeta"]);
});
