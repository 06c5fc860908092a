import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { buildOperatorConditionCrd } from "../../pkg/api/operatorCondition.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { TEARDOWN_FINALIZER } from "../../pkg/release/objectSet.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { releaseStates } from "../support/audit.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { waitForDefinition } from "../support/definitions.ts";
import { createExtension } from "../support/extensions.ts";
import { createObjectSet, installObjectSets } from "../support/goOlm/objectSet.ts";
import { applyServingSecrets } from "../support/manifests.ts";
import { OpenShift } from "../support/openShift.ts";
import { listDeniedRequests, listUnusedPermissions, PROGRAM_ACCOUNTS } from "../support/programPermissions.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { World } from "../support/world.ts";

const SERVERS = ["operator-controller", "catalogd"] as const;
/**
 * Used after a rejected status, to check whether the catalog was recreated meanwhile; pkg/controller/statusWriter.ts.
 */
const ONLY_IN_A_RACE = ["catalogd-controller-manager: get clustercatalogs.olm.operatorframework.io"];
const PACKAGES = ["engine", "car"];
const EXTENSION = { apiVersion: API_VERSION, kind: "ClusterExtension" };
/** An object in bundle car that OLM v0 left on the cluster: operator-controller then checks whether OLM v0 still has an owner for it. */
const LEFT_OVER: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", labels: { "olm.managed": "true" } } };
const NEEDS_ENGINE: Property = { type: "olm.package.required", value: { packageName: "engine", versionRange: ">=1.0.0" } };

// Causes every request that can occur on a cluster: the programs must use all permissions in config/rbac and config/openshift and need no others.
describeWithPrivateCluster("the permissions of both programs", (cluster) => {
  let world: World;
  let audit: AuditTail;
  let ports: number[];

  beforeAll(async () => {
    audit = new AuditTail(cluster.auditLog);
    const openShift = new OpenShift(cluster.client);
    await openShift.install();
    await openShift.setVersion("4.18.3");
    await openShift.setProxy({ noProxy: ".svc" });
    await openShift.addOlm();
    await installObjectSets(cluster.client);
    await openShift.grantRegistries();
    await openShift.setImage({ additionalTrustedCA: { name: "registry-authorities" } });
    await installClassicDefinitions(cluster.client);
    await applyServingSecrets(cluster.client);
    const [content, ...others] = await findFreePorts(1 + SERVERS.length);
    ports = others;
    const served = ["--catalogs-server-addr", `127.0.0.1:${content}`, "--external-address", `localhost:${content}`];
    const flags = { catalogd: served, "operator-controller": ["--max-backoff", "2s", "--cluster-operator", "on"] };
    for (const [at, server] of SERVERS.entries())
      flags[server].push("--leader-elect", "--metrics-bind-address", `127.0.0.1:${ports[at]}`, "--serving-certificates=self-managed");
    world = await World.start(cluster, { extraArgs: flags });
    await serveMotors();
  });

  afterAll(() => world?.stop());

  /** Serves a catalog in which package car requires package engine. */
  async function serveMotors(): Promise<void> {
    const metas: object[] = [];
    for (const name of PACKAGES) {
      const image = await world.pushBundle(`bundles/${name}`, "1.0.0", name, buildFiles(name));
      const own: Property = { type: "olm.package", value: { packageName: name, version: "1.0.0" } };
      metas.push(
        { schema: "olm.package", name, defaultChannel: "stable" },
        { schema: "olm.channel", package: name, name: "stable", entries: [{ name: `${name}.v1.0.0` }] },
        { schema: "olm.bundle", package: name, name: `${name}.v1.0.0`, image, properties: name === "car" ? [own, NEEDS_ENGINE] : [own] },
      );
    }
    const text = metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
    await world.pushCatalog("catalogs/motors", "latest", new Map([["catalog.json", Buffer.from(text)]]));
    await world.serve("motors", "quay.io/catalogs/motors:latest");
  }

  /** Makes both programs pull with a Secret of their ServiceAccounts. */
  async function namePullSecret(): Promise<void> {
    const dockerconfigjson = Buffer.from('{"auths":{}}').toString("base64");
    const place = { apiVersion: "v1", kind: "Secret", metadata: { name: "pull", namespace: SYSTEM_NAMESPACE } };
    await world.apply({ ...place, type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": dockerconfigjson } });
    for (const name of PROGRAM_ACCOUNTS) {
      const account = { apiVersion: "v1", kind: "ServiceAccount", namespace: SYSTEM_NAMESPACE, name };
      await cluster.client.patch(account, { imagePullSecrets: [{ name: "pull" }] }, { type: "merge" });
    }
  }

  /** Requests metrics as a ServiceAccount without permission. @returns the status codes. */
  async function requestMetrics(): Promise<number[]> {
    await cluster.client.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "stranger", namespace: "default" } });
    const authorization = `Bearer ${await new ServiceAccountTokens(cluster.client).tokenFor("default", "stranger")()}`;
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    try {
      const responses = ports.map(async (port) => {
        const { statusCode, body } = await request(`https://127.0.0.1:${port}/metrics`, { dispatcher, headers: { authorization } });
        await body.dump();
        return statusCode;
      });
      return await Promise.all(responses);
    } finally {
      await dispatcher.close();
    }
  }

  /** Repeats changes, so that counts of Events increase. */
  async function repeatEvents(): Promise<void> {
    for (const suspend of [true, false, true, false]) {
      await cluster.client.patch({ ...EXTENSION, name: "car" }, { spec: { suspend } }, { type: "merge" });
      await world.condition("ClusterExtension", "car", (condition) => (condition("Progressing")?.reason === "Suspended") === suspend);
    }
    for (const server of [...SERVERS, ...SERVERS]) {
      const secret = { apiVersion: "v1", kind: "Secret", namespace: SYSTEM_NAMESPACE, name: `${server}-serving-cert` };
      const getKey = (live: KubeObject | undefined): unknown => (live?.["data"] as Record<string, string> | undefined)?.["tls.key"];
      const key = getKey(await cluster.client.get(secret));
      await cluster.client.patch(secret, { data: { "tls.key": "" } }, { type: "merge" });
      await eventually(async () => expect(getKey(await cluster.client.get(secret))).toBe(key));
    }
    const catalog = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: "motors" };
    for (const availabilityMode of ["Unavailable", "Available", "Unavailable", "Available"]) {
      await cluster.client.patch(catalog, { spec: { availabilityMode } }, { type: "merge" });
      const status = availabilityMode === "Available" ? "True" : "False";
      await world.condition("ClusterCatalog", "motors", (condition) => condition("Serving")?.status === status);
    }
  }

  /** Creates object sets of both kinds for extension "boxed". */
  async function createObjectSets(): Promise<void> {
    for (const [i, kind] of (["ClusterExtensionRevision", "ClusterObjectSet"] as const).entries()) {
      const set = createObjectSet({ owner: "boxed", bundle: "engine.v1.0.0", revision: i + 1, kind });
      await world.apply({ ...set, metadata: { ...set.metadata, finalizers: [TEARDOWN_FINALIZER] } });
    }
  }

  /** Imports and removes the object sets. */
  async function removeObjectSets(): Promise<void> {
    await world.apply(createExtension("boxed", { packageName: "engine" }));
    await eventually(async () => expect(await releaseStates(cluster.client, "boxed")).toEqual(["v1 failed", "v2 failed"]));
    // Without its finalizer, operator-controller would not see the deletion.
    await eventually(async () => expect((await world.extension("boxed"))?.metadata.finalizers ?? []).not.toEqual([]));
    await world.removed("ClusterExtension", "boxed");
  }

  test("config/rbac grants exactly the permissions that both servers use", async () => {
    await createObjectSets();
    await namePullSecret();
    expect(await requestMetrics()).toEqual([403, 403]);
    await world.apply(createExtension("homeless", { packageName: "engine" }));
    await world.problems("homeless", (problems) => problems.includes('namespace "homeless-system" does not exist'));
    await world.removed("ClusterExtension", "homeless");
    await removeObjectSets();
    const car = createExtension("car", { packageName: "car" });
    const objects = PACKAGES.flatMap((name) => renderBundle(loadBundle(buildFiles(name)), { installNamespace: getNamespace(car) }));
    await grantInstaller(cluster.client, car, objects);
    await cluster.client.create({ ...LEFT_OVER, metadata: { ...LEFT_OVER.metadata, namespace: getNamespace(car) } });
    await world.apply({ ...car, spec: { ...car.spec, dependencies: { policy: "Install" } } });
    await world.installed("car", "1.0.0");
    await repeatEvents();
    await world.removed("ClusterExtension", "car");
    await eventually(async () => expect(await world.extension("engine")).toBeUndefined());
    await world.removed("ClusterCatalog", "motors");
    await world.stop(); // a watch appears in the audit log when it ends
    expect(await listUnusedPermissions(audit)).toEqual(ONLY_IN_A_RACE);
    expect(await listDeniedRequests(audit)).toEqual([]);
  });
});

function buildFiles(name: string): Map<string, Uint8Array> {
  const objects = name === "car" ? [{ ...LEFT_OVER, metadata: { name: LEFT_OVER.metadata.name } }] : [];
  return new Map(Object.entries(tinyBundle("1.0.0", { name, objects })).map(([path, text]) => [path, Buffer.from(text)]));
}

/** Makes the cluster serve OperatorConditions, and the kinds of OLM v0 in which operator-controller looks for owners. */
async function installClassicDefinitions(admin: Client): Promise<void> {
  const kinds = { clusterserviceversion: "ClusterServiceVersion", subscription: "Subscription" };
  const others = Object.entries(kinds).map(([singular, kind]) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${singular}s.operators.coreos.com` },
    spec: {
      group: "operators.coreos.com",
      scope: "Namespaced",
      names: { plural: `${singular}s`, singular, kind, listKind: `${kind}List` },
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  }));
  for (const crd of [buildOperatorConditionCrd(), ...others]) {
    await admin.create(crd);
    await waitForDefinition(admin, crd);
  }
}
