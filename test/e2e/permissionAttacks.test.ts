import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import {
  ANNOTATION_APPROVE,
  API_VERSION,
  CLUSTER_CATALOG,
  CLUSTER_EXTENSION,
  EXTENSION_PERMISSIONS,
  LABEL_PERMISSIONS_FOR,
  PERMISSION_POLICY,
  SYSTEM_NAMESPACE,
} from "../../pkg/api/constants.ts";
import type { RequestedBundle } from "../../pkg/api/extensionPermissions.ts";
import type { JsonObject, KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import type { RequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { diffRules, findMissingPolicyRules, formatRulesDiff } from "../../pkg/rbac/ruleSets.ts";
import { eventTexts } from "../support/audit.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { readGrantedRoles } from "../support/extensionLife.ts";
import { ManagedWorld, type PublishedVersion } from "../support/managedWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const ADMISSION = "admissionregistration.k8s.io/v1";
const LABEL_DEPENDENCY = "olm.operatorframework.io/dependency";
const MERGE = { type: "merge" } as const;
const CAR: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "car" };
const CAR_REQUEST: ObjectRef = { ...EXTENSION_PERMISSIONS, name: "car" };
const VERSIONS = ["1.0.0", "2.0.0", "3.0.0"] as const;

/** Versions of a package whose operator may read one resource each. */
function buildVersions(name: string, resources: readonly string[]): PublishedVersion[] {
  return resources.map((resource, at) => {
    const rules = [{ apiGroups: [""], resources: [resource], verbs: ["get"] }];
    const version = VERSIONS[at] ?? "";
    return { version, files: tinyBundle(version, { name, clusterPermissions: [{ serviceAccountName: name, rules }] }) };
  });
}

describeWithPrivateCluster("an attacker with the token of operator-controller", (cluster) => {
  let world: ManagedWorld;
  let attacker: Client;
  let images: Record<string, string>;
  let foreignImages: Record<string, string>;

  beforeAll(async () => {
    world = await ManagedWorld.start(cluster, { extraArgs: { "operator-controller": ["--max-backoff", "2s"] } });
    images = await world.publish("motors", {
      car: buildVersions("car", ["nodes", "pods", "services"]),
      truck: buildVersions("truck", ["endpoints"]),
    });
    foreignImages = await world.publish("garage", { car: buildVersions("car", ["secrets"]), truck: buildVersions("truck", ["secrets"]) });
    await world.setPolicy({ grant: "Automatic" }, "wide");
    const own = { selector: { matchLabels: { "olm.operatorframework.io/metadata.name": "motors" } } };
    await world.create("car", "car", {}, { ...own, version: "1.0.0" });
    await world.create("truck", "truck", {}, own);
    await world.ready("car", "1.0.0");
    await world.ready("truck", "1.0.0");
    for (const name of ["car", "truck"]) await world.until(name, ({ state }) => expect(state).toBe("Granted"));
    attacker = world.asProgram("operator-controller");
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    expect(world.world.unexpectedEnds).toEqual([]);
  });

  const extension = (name: string, spec: object, labels: Record<string, string> = {}): KubeObject => ({
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name, labels },
    spec: { source: { sourceType: "Catalog", catalog: { packageName: "car" } }, ...spec },
  });
  const patch = (ref: ObjectRef, body: object) => (client: Client) => client.patch(ref, body, MERGE);
  const patchStatus = (ref: ObjectRef, status: object) => (client: Client) =>
    client.patch(ref, { status }, { ...MERGE, subresource: "status" });
  const remove = (ref: ObjectRef) => (client: Client) => client.delete(ref);
  const create = (object: KubeObject) => (client: Client) => client.create(object);
  const policy = { ...PERMISSION_POLICY, name: "wide" };
  const catalog = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "motors" };
  const guard = { apiVersion: ADMISSION, kind: "ValidatingAdmissionPolicyBinding", name: "olmv1-permission-manager" };
  const account = { apiVersion: "v1", kind: "ServiceAccount", namespace: "truck-system", name: "olmv1-extension-truck" };
  const role = { apiVersion: RBAC, kind: "ClusterRole", name: "olmv1-extension-truck" };
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: SYSTEM_NAMESPACE,
    name: "permission-manager.olm.operatorframework.io",
  };

  type Attempt = [what: string, attempt: (client: Client) => Promise<unknown>, refusal: RegExp];
  test.for<Attempt>([
    [
      "create a request that is approved",
      create({ ...EXTENSION_PERMISSIONS, metadata: { name: "new", annotations: { [ANNOTATION_APPROVE]: "sha256:0" } }, spec: {} }),
      /requires verb approve/,
    ],
    ["create a status without request", patchStatus({ ...CAR_REQUEST, name: "none" }, { state: "Granted" }), /cannot patch resource/],
    ["give a request to another extension", patch(CAR_REQUEST, { metadata: { ownerReferences: [] } }), /cannot set an ownerRef/],
    ["delete a request", remove(CAR_REQUEST), /cannot delete resource "extensionpermissions"/],
    [
      "create a policy",
      create({ ...PERMISSION_POLICY, metadata: { name: "own" }, spec: { grant: "Automatic" } }),
      /cannot create resource/,
    ],
    ["change a policy", patch(policy, { spec: { grant: "Automatic" } }), /cannot patch resource "permissionpolicies"/],
    ["delete a policy", remove(policy), /cannot delete resource "permissionpolicies"/],
    ["change a catalog", patch(catalog, { spec: { priority: 9 } }), /cannot patch resource "clustercatalogs"/],
    ["label a catalog", patch(catalog, { metadata: { labels: { trusted: "true" } } }), /cannot patch resource "clustercatalogs"/],
    ["write the status of a catalog", patchStatus(catalog, { conditions: [] }), /cannot patch resource "clustercatalogs\/status"/],
    ["change the spec of an extension", patch(CAR, { spec: { suspend: true } }), /must not change spec/],
    ["set a policy in an extension", patch(CAR, { spec: { install: { permissionPolicy: "wide" } } }), /must not change spec|may not use/],
    ["label an extension as dependency", patch(CAR, { metadata: { labels: { [LABEL_DEPENDENCY]: "true" } } }), /must not change label/],
    ["delete an extension of a user", remove(CAR), /may only delete extensions that it created/],
    ["create an extension that is not a dependency", create(extension("own", {})), /may only create dependencies/],
    [
      "create an extension with a policy",
      create(extension("own", { install: { permissionPolicy: "wide" } }, { [LABEL_DEPENDENCY]: "true" })),
      /may not use PermissionPolicy wide/,
    ],
    ["delete a guard", remove(guard), /cannot delete resource "validatingadmissionpolicybindings"/],
    [
      "change a guard",
      patch(guard, { spec: { validationActions: ["Audit"] } }),
      /cannot patch resource "validatingadmissionpolicybindings"/,
    ],
    [
      "create a webhook",
      create({ apiVersion: ADMISSION, kind: "MutatingWebhookConfiguration", metadata: { name: "own" }, webhooks: [] }),
      /cannot create resource "mutatingwebhookconfigurations"/,
    ],
    ["delete the ServiceAccount of an extension", remove(account), /cannot delete resource "serviceaccounts"/],
    ["annotate the ServiceAccount of an extension", patch(account, { metadata: { annotations: { a: "b" } } }), /cannot patch resource/],
    ["label the role of an extension", patch(role, { metadata: { labels: { [LABEL_PERMISSIONS_FOR]: "car" } } }), /cannot patch resource/],
    ["delete the role of an extension", remove(role), /cannot delete resource "clusterroles"/],
    [
      "label a namespace",
      patch({ apiVersion: "v1", kind: "Namespace", name: "default" }, { metadata: { labels: { [LABEL_PERMISSIONS_FOR]: "car" } } }),
      /cannot patch resource "namespaces"/,
    ],
    ["delete a namespace", remove({ apiVersion: "v1", kind: "Namespace", name: "truck-system" }), /cannot delete resource "namespaces"/],
    ["take the lease of permission-manager", patch(lease, { spec: { holderIdentity: "own" } }), /cannot patch resource "leases"/],
    ["delete the lease of permission-manager", remove(lease), /cannot delete resource "leases"/],
    ...(
      [
        [SYSTEM_NAMESPACE, "permission-manager-controller-manager"],
        ["kube-system", "generic-garbage-collector"],
        ["truck-system", "default"],
      ] as const
    ).map(
      ([namespace, name]): Attempt => [
        `create a token of ServiceAccount ${namespace}/${name}`,
        (client) => new ServiceAccountTokens(client).tokenFor(namespace, name)(),
        /cannot create resource "serviceaccounts\/token"/,
      ],
    ),
    [
      "run a Pod as permission-manager",
      create({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", namespace: SYSTEM_NAMESPACE },
        spec: { serviceAccountName: "permission-manager-controller-manager", containers: [{ name: "shell", image: "busybox" }] },
      }),
      /cannot create resource "pods"/,
    ],
  ])("operator-controller cannot %s", async ([, attempt, refusal]) => {
    await expect(attempt(attacker)).rejects.toThrow(refusal);
  });

  // Only the attacker writes requests.
  describe("while operator-controller is stopped", () => {
    let before: RequiredRules;
    let bundle: RequestedBundle;

    beforeAll(async () => {
      await world.world.installation.servers["operator-controller"].stop();
      bundle = (await world.permissions("car")).spec?.bundle as RequestedBundle;
      before = await readGrantedRoles(cluster.client, "car");
    });

    afterAll(async () => {
      await request(bundle);
      await world.world.installation.restart("operator-controller");
    });

    const request = (forged: JsonObject | null): Promise<KubeObject> => attacker.patch(CAR_REQUEST, { spec: { bundle: forged } }, MERGE);
    const expectRules = async (name: string, rules: RequiredRules): Promise<void> =>
      expect(formatRulesDiff(diffRules(rules, await readGrantedRoles(cluster.client, name)))).toEqual(["no change"]);

    type Forgery = [what: string, bundle: () => Partial<RequestedBundle>, message: RegExp];
    test.for<Forgery>([
      ["a wrong version", () => ({ version: "2.0.0" }), /with version "1.0.0", but the request has version "2.0.0"/],
      ["a range as version", () => ({ version: "*" }), /but the request has version "\*"/],
      ["a bundle of another package", () => ({ name: "truck.v1.0.0" }), /does not contain bundle "truck.v1.0.0" of package "car"/],
      ["the image of another version", () => ({ image: images["car.v2.0.0"] ?? "" }), /with image .*, but the request has image/],
      ["the image of another package", () => ({ image: images["truck.v1.0.0"] ?? "" }), /with image .*, but the request has image/],
      ["the image of another catalog", () => ({ image: foreignImages["car.v1.0.0"] ?? "" }), /with image .*, but the request has image/],
      ["an image by tag", () => ({ image: "quay.io/bundles/car:1.0.0" }), /with image .*, but the request has image/],
      ["an image that no catalog offers", () => ({ image: `quay.io/bundles/own@sha256:${"1".repeat(64)}` }), /but the request has image/],
      [
        "a catalog that the extension does not select",
        () => ({ catalog: "garage", image: foreignImages["car.v1.0.0"] ?? "" }),
        /does not select ClusterCatalog "garage"/,
      ],
      ["a package with another catalog", () => ({ packageName: "truck", catalog: "garage" }), /but the extension installs "car"/],
      ["a bundle name with another case", () => ({ name: "CAR.v1.0.0" }), /does not contain bundle "CAR.v1.0.0"/],
      ["a bundle name with a path", () => ({ name: "../car.v1.0.0" }), /does not contain bundle "..\/car.v1.0.0"/],
    ])("operator-controller gets nothing for %s, which the status and an Event report", async ([, forge, message]) => {
      await request({ ...bundle, ...forge() });
      await world.until("car", ({ state, conditions }) => {
        expect(state).toBe("Failed");
        expect(conditions?.[0]?.message).toMatch(message);
      });
      await expectRules("car", before);
      await expectEvent("car", "GrantUnverified", message);
    });

    test.for<[what: string, spec: JsonObject]>([
      ["a bundle without name", { bundle: { name: "" } }],
      ["an image that is too long", { bundle: { image: "i".repeat(1_001) } }],
      ["a bundle with missing fields", { bundle: { catalog: null } }],
      ["a change that is not a boolean", { isChanging: "yes" }],
    ])("operator-controller cannot request %s", async ([, spec]) => {
      await request(bundle);
      await expect(attacker.patch(CAR_REQUEST, { spec }, MERGE)).rejects.toThrow(/is invalid/);
    });

    test("operator-controller gets no more permissions with a change in progress, or no bundle", async () => {
      await request(bundle);
      for (const spec of [{ isChanging: true }, { bundle: null, isChanging: null }]) {
        const { metadata } = await attacker.patch(CAR_REQUEST, { spec }, MERGE);
        if (!("bundle" in spec)) await world.until("car", ({ observedGeneration }) => expect(observedGeneration).toBe(metadata.generation));
        await expectRules("car", before);
      }
      await request(bundle);
      await world.until("car", ({ state }, { metadata }) => expect([state, metadata.annotations]).toEqual(["Granted", undefined]));
      await expectRules("car", before);
    });

    test("operator-controller gets no permissions with a wrong status of the extension", async () => {
      const { status } = (await cluster.client.get<ClusterExtension>(CAR)) ?? {};
      const setStatus = (install: unknown) => patchStatus(CAR, { install })(attacker);
      for (const install of [{ namespace: "kube-system" }, { bundle: { name: "truck.v1.0.0", version: "1.0.0" } }]) {
        await setStatus(install);
        const { metadata } = await attacker.patch(CAR_REQUEST, { spec: { isChanging: "namespace" in install } }, MERGE);
        await world.until("car", ({ observedGeneration, namespace }) =>
          expect([observedGeneration, namespace]).toEqual([metadata.generation, "car-system"]),
        );
        await expectRules("car", before);
      }
      await setStatus(status?.install ?? null);
    });

    /** Creates an extension of package car as a dependency, and requests the permissions for it. */
    async function createDependency(name: string, namespace: string): Promise<void> {
      const source = { sourceType: "Catalog", catalog: { packageName: "car" } };
      const { metadata } = await attacker.create(extension(name, { namespace, source }, { [LABEL_DEPENDENCY]: "true" }));
      const ownerReferences = [{ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid: metadata.uid ?? "" }];
      await attacker.create({ ...EXTENSION_PERMISSIONS, metadata: { name, ownerReferences }, spec: { bundle } });
    }

    test.for(["kube-system", SYSTEM_NAMESPACE])(
      "operator-controller gets no permissions in namespace %s with a dependency there",
      async (namespace) => {
        const name = `spy-${namespace}`;
        await createDependency(name, namespace);
        await world.until(name, ({ state, pending }) => {
          expect(state).toBe("Pending");
          expect(pending).toContainEqual(expect.objectContaining({ namespace, risk: "SystemWorkloads" }));
        });
        expect(await world.listGranted(name)).toEqual([]);
        await expectEvent(name, "GrantPending", /must be approved/);
        await attacker.delete({ ...CAR, name });
        await eventually(async () => expect(await cluster.client.get({ ...EXTENSION_PERMISSIONS, name })).toBeUndefined());
      },
    );

    test("operator-controller is reported if it uses the namespace of another extension, and keeps no permissions if it deletes its extension and request", async () => {
      const ref = { ...EXTENSION_PERMISSIONS, name: "spy" };
      await createDependency("spy", "truck-system");
      await world.until("spy", ({ state }) => expect(state).toBe("Granted"));
      await expectEvent("spy", "NamespaceShared", /"truck"/);
      await world.world.installation.servers["permission-manager"].stop();
      await attacker.patch(ref, { metadata: { finalizers: null } }, MERGE);
      await attacker.delete({ ...CAR, name: "spy" });
      await cluster.client.delete(ref); // as the garbage collector does within a minute
      expect(await world.listGranted("spy")).not.toEqual([]);
      await world.world.installation.restart("permission-manager");
      await eventually(async () => expect(await world.listGranted("spy")).toEqual([]));
    });

    test("operator-controller at no moment gets permissions of a bundle that no catalog offers, if requests change while permission-manager decides", async () => {
      for (const version of VERSIONS) {
        await request({ ...bundle, name: `car.v${version}`, version, image: images[`car.v${version}`] ?? "" });
        await world.until("car", ({ state, bundle: decided }) => expect([state, decided?.version]).toEqual(["Granted", version]));
      }
      const { clusterRules: offered } = await readGrantedRoles(cluster.client, "car");
      const name = "olmv1-extension-car";
      const stop = new AbortController();
      const { resourceVersion } = await cluster.client.list({ apiVersion: RBAC, kind: "ClusterRole" });
      const seen: PolicyRule[][] = [];
      const watching = (async () => {
        const options = { resourceVersion, fieldSelector: `metadata.name=${name}`, signal: stop.signal };
        for await (const { object } of cluster.client.watch({ apiVersion: RBAC, kind: "ClusterRole" }, options))
          if (Array.isArray(object["rules"])) seen.push(object["rules"] as PolicyRule[]);
      })().catch((err: unknown) => {
        if (!stop.signal.aborted) throw err;
      });
      for (let round = 0; round < 25; round++)
        for (const version of VERSIONS) {
          const real = { ...bundle, name: `car.v${version}`, version, image: images[`car.v${version}`] ?? "" };
          await request(real);
          await request({ ...real, image: foreignImages["car.v1.0.0"] ?? "" });
          await request({ ...real, catalog: "garage" });
        }
      await request(bundle);
      await world.until("car", ({ state, bundle: decided, observedGeneration }, { metadata }) =>
        expect([state, decided?.version, observedGeneration]).toEqual(["Granted", "1.0.0", metadata.generation]),
      );
      await eventually(() => expectRules("car", before));
      stop.abort();
      await watching;
      expect(seen.length).toBeGreaterThan(0);
      expect(seen.flatMap((rules) => findMissingPolicyRules(rules, offered))).toEqual([]);
    });
  });

  test("a request that an attacker changes is repaired by operator-controller", async () => {
    const { spec, status } = await world.permissions("car");
    const image = foreignImages["car.v1.0.0"] ?? "";
    for (let round = 0; round < 20; round++) {
      await attacker.patch(CAR_REQUEST, { spec: { bundle: { image } } }, MERGE);
      await attacker.patch(
        CAR_REQUEST,
        { spec: { bundle: { name: "car.v2.0.0", version: "2.0.0", image: images["car.v2.0.0"] ?? "" } } },
        MERGE,
      );
    }
    await attacker.patch(CAR_REQUEST, { spec: { bundle: { image } } }, MERGE);
    await world.until("car", ({ state, rules }, now) => expect([state, now.spec, rules]).toEqual(["Granted", spec, status?.rules]));
  });

  /** Waits for an Event about an object of that name. */
  async function expectEvent(name: string, reason: string, message: RegExp): Promise<void> {
    const text: unknown = expect.stringMatching(new RegExp(`^${reason}: [^]*${message.source}`));
    await eventually(async () => expect(await eventTexts(cluster.client, name)).toContainEqual(text));
  }
});
