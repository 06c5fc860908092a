import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, FIELD_MANAGER } from "../../pkg/api/constants.ts";
import { getGroup, type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { isForbidden, KubeError } from "../../pkg/kube/errors.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import type { RoleStrategy } from "../../pkg/rbac/escalation.ts";
import { buildInstallerManifests } from "../../pkg/rbac/installerManifests.ts";
import { buildRules, type Grant, splitRule } from "../../pkg/rbac/policyRule.ts";
import { computeRequiredRules, type RequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { findKnownResource, readDefinedResource } from "../../pkg/rbac/resources.ts";
import { mergeRequiredRules } from "../../pkg/rbac/ruleSets.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { planRelease, sortForInstall, sortForUninstall } from "../../pkg/release/plan.ts";
import { prepareObjects } from "../../pkg/release/prepare.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { describeWithCluster, eventually, type TestCluster } from "../support/cluster.ts";
import { renamedSample } from "../support/sampleBundle.ts";

const NOBODY = { kind: "User", name: "nobody" } as const;
const APPLY = { fieldManager: FIELD_MANAGER, force: true };

/** Creates an extension on the cluster, with the objects of two versions of its own copy of the sample operator. */
class Extension {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly object: KubeObject;
  readonly versions: readonly [KubeObject[], KubeObject[]];

  private constructor(cluster: TestCluster, namespace: string, object: KubeObject) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.object = object;
    this.versions = [this.#buildObjects("1.0.0"), this.#buildObjects("1.2.0")];
  }

  static async create(cluster: TestCluster): Promise<Extension> {
    const namespace = await cluster.namespace("rbac");
    const source = { sourceType: "Catalog", catalog: { packageName: "hello-operator" } };
    const object = await cluster.client.create({
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name: namespace },
      spec: { namespace, serviceAccount: { name: "installer" }, source },
    });
    return new Extension(cluster, namespace, object);
  }

  rules(strategy: RoleStrategy = "escalate"): RequiredRules {
    return mergeRequiredRules(
      this.versions.map((objects) => computeRequiredRules(objects, { installNamespace: this.namespace, strategy })),
    );
  }

  /** Creates a ServiceAccount with these rules, and a client with its identity. */
  async installer(name: string, rules: RequiredRules): Promise<Client> {
    const { client } = this.cluster;
    for (const object of buildInstallerManifests({ namespace: this.namespace, name }, rules, NOBODY))
      await client.apply(object, { fieldManager: "test" });
    return client.withToken(new ServiceAccountTokens(client).tokenFor(this.namespace, name));
  }

  async remove(): Promise<void> {
    const all = [...this.versions[0], ...this.versions[1], this.object];
    for (const object of sortForUninstall(all)) await this.cluster.client.delete(toObjectRef(object));
  }

  #buildObjects(version: string): KubeObject[] {
    const rendered = renderBundle(renamedSample(this.namespace, version), { installNamespace: this.namespace });
    const { name, uid = "" } = this.object.metadata;
    const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid };
    const options = {
      owner,
      installNamespace: this.namespace,
      isNamespaced: (gvk: ObjectRef | KubeObject) => findKnownResource(gvk)?.namespaced,
    };
    return sortForInstall(prepareObjects(rendered, options).objects);
  }
}

/** A permission, and the request that is denied without it. */
interface SinglePermission {
  scope: string;
  grant: Grant;
}

function splitRules(rules: RequiredRules): SinglePermission[] {
  const cluster = rules.clusterRules.flatMap(splitRule).map((grant) => ({ scope: "", grant }));
  const namespaced = [...rules.namespaceRules].flatMap(([scope, own]) => own.flatMap(splitRule).map((grant) => ({ scope, grant })));
  return [...cluster, ...namespaced];
}

function without(permissions: readonly SinglePermission[], missing: SinglePermission): RequiredRules {
  const left = permissions.filter((permission) => permission !== missing);
  const scopes = [...new Set(left.map(({ scope }) => scope))].filter((scope) => scope !== "");
  const rulesIn = (scope: string): RequiredRules["clusterRules"] =>
    buildRules(left.flatMap((permission) => (permission.scope === scope ? [permission.grant] : [])));
  return { clusterRules: rulesIn(""), namespaceRules: new Map(scopes.map((scope) => [scope, rulesIn(scope)])), unknownKinds: [] };
}

const relabel = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, touched: "yes" } },
});
const formatPermission = ({ scope, grant: { group, resource, name, verb } }: SinglePermission): string =>
  `${verb} ${resource}.${group}/${name ?? "*"} in "${scope}"`;

/** The requests for one object that a verb permits; `escalate` and `bind` need an apply. They do not change anything. */
function requestsOn(client: Client, object: KubeObject): Record<string, () => Promise<unknown>> {
  const selection = { namespace: object.metadata.namespace, fieldSelector: `metadata.name=${object.metadata.name}` };
  return {
    get: () => client.get(toObjectRef(object)),
    list: () => client.list(object, selection),
    watch: async () => {
      for await (const _ of client.watch(object, { ...selection, resourceVersion: "0", timeoutSeconds: 1 })) break;
    },
    apply: () => client.apply(relabel(object), { ...APPLY, dryRun: true }),
    delete: () => client.delete(toObjectRef(object), { dryRun: true }),
  };
}

/** Returns the request of `requestsOn` that tests a verb. */
const SHOWS_IN: Readonly<Record<string, string>> = { create: "apply", patch: "apply", bind: "apply", escalate: "apply" };

async function outcomes(
  requests: Record<string, () => Promise<unknown>>,
): Promise<{ allowed: string[]; refused: Record<string, unknown> }> {
  const allowed: string[] = [];
  const refused: Record<string, unknown> = {};
  for (const [name, send] of Object.entries(requests)) {
    try {
      await send();
      allowed.push(name);
    } catch (err) {
      refused[name] = err;
    }
  }
  return { allowed, refused };
}

describeWithCluster("permissions derived from a bundle's objects", (cluster) => {
  const extensions: Extension[] = [];
  const newExtension = async (): Promise<Extension> => {
    const extension = await Extension.create(cluster);
    extensions.push(extension);
    return extension;
  };
  const exists = async (object: KubeObject): Promise<boolean> => (await cluster.client.get(toObjectRef(object))) !== undefined;

  beforeAll(() => cluster.installCrds());
  afterAll(async () => {
    for (const extension of extensions) await extension.remove();
  });

  /** Returns the object whose write needs a permission: the binding for `bind`, the CRD for the list of its custom resources. */
  function createSubject(
    objects: readonly KubeObject[],
    { scope, grant: { group, resource, name, verb } }: SinglePermission,
  ): KubeObject | undefined {
    return objects.find((object) => {
      if (verb === "bind")
        return (
          object.kind.endsWith("RoleBinding") &&
          (object["roleRef"] as { name: string }).name === name &&
          (object.metadata.namespace ?? "") === scope
        );
      const known = findKnownResource(object);
      return (
        known?.resource === resource &&
        getGroup(object.apiVersion) === group &&
        object.metadata.name === name &&
        (object.metadata.namespace ?? "") === scope
      );
    });
  }

  test.for<RoleStrategy>(["escalate", "union"])(
    "derived permissions suffice to install, upgrade and uninstall, with strategy %s",
    async (strategy) => {
      const extension = await newExtension();
      const client = await extension.installer("installer", extension.rules(strategy));
      const [before, after] = extension.versions;
      const apply = async (objects: readonly KubeObject[]): Promise<void> => {
        for (const object of objects) await client.apply(object, APPLY);
      };
      await eventually(() => client.apply(before.at(-1) as KubeObject, { ...APPLY, dryRun: true }));
      await apply(before);
      for (const object of before) expect([describeObject(object), await exists(object)]).toEqual([describeObject(object), true]);
      const plan = planRelease({ recorded: before, desired: after, crdPolicy: "Retain" });
      expect(plan.prune.length).toBeGreaterThan(3);
      await apply(plan.apply);
      for (const object of plan.prune) expect(await client.delete(toObjectRef(object))).toBe(true);
      for (const object of plan.prune) expect([describeObject(object), await exists(object)]).toEqual([describeObject(object), false]);
      const crd = readDefinedResource(after.find(({ kind }) => kind === "CustomResourceDefinition") as KubeObject);
      const custom = await eventually(() => client.list({ apiVersion: `${crd?.group}/v1alpha1`, kind: crd?.kind ?? "" }));
      expect(custom.items).toEqual([]);
      for (const object of sortForUninstall(after)) expect(await client.delete(toObjectRef(object))).toBe(true);
      await eventually(async () => {
        for (const object of after) expect([describeObject(object), await exists(object)]).toEqual([describeObject(object), false]);
      });
    },
  );

  test("derived permissions do not permit requests for other objects, even of the same kinds", async () => {
    const extension = await newExtension();
    const client = await extension.installer("installer", extension.rules());
    const { namespace } = extension;
    await eventually(() => client.get(toObjectRef(extension.versions[0][0] as KubeObject)));
    const other: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other", namespace } };
    const role: KubeObject = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: `${namespace}-other` },
      rules: [],
    };
    const requests: Record<string, () => Promise<unknown>> = {
      "apply another ConfigMap": () => client.apply(other, APPLY),
      "read another ConfigMap": () => client.get(toObjectRef(other)),
      "list all ConfigMaps": () => client.list(other, { namespace }),
      "delete another Deployment": () => client.delete({ apiVersion: "apps/v1", kind: "Deployment", name: "other", namespace }),
      "apply another ClusterRole": () => client.apply(role, APPLY),
      "read Secrets": () => client.list({ apiVersion: "v1", kind: "Secret" }, { namespace }),
      "create without a name in the path": () =>
        client.create({ ...(extension.versions[0].find(({ kind }) => kind === "ConfigMap") as KubeObject) }),
      "change the extension": () => client.patch(toObjectRef(extension.object), { metadata: { labels: { a: "b" } } }, { type: "merge" }),
    };
    const { allowed, refused } = await outcomes(requests);
    expect(allowed).toEqual([]);
    for (const err of Object.values(refused)) expect(isForbidden(err)).toBe(true);
  });

  test("derived permissions are minimal: without one of them, exactly the requests that need it are denied", async () => {
    const extension = await newExtension();
    const [, objects] = extension.versions;
    const permissions = splitRules(computeRequiredRules(objects, { installNamespace: extension.namespace }));
    expect(permissions.length).toBeGreaterThan(50);
    const installers = new Map<SinglePermission, Client>();
    const tried = new Set<SinglePermission>();
    for (const [i, permission] of permissions.entries())
      installers.set(permission, await extension.installer(`without-${i}`, without(permissions, permission)));

    const refusals = async (isInstalled: boolean, verbs: readonly string[]): Promise<void> => {
      for (const permission of permissions.filter(({ grant }) => verbs.includes(grant.verb))) {
        const client = installers.get(permission) as Client;
        const object = createSubject(objects, permission);
        if (!object) continue;
        tried.add(permission);
        const verb = SHOWS_IN[permission.grant.verb] ?? permission.grant.verb;
        const requests = requestsOn(client, object);
        const others = Object.keys(requests).filter((name) => name !== verb);
        const { refused } = await eventually(async () => {
          const seen = await outcomes(requests);
          expect([formatPermission(permission), seen.allowed]).toEqual([formatPermission(permission), others]);
          return seen;
        });
        const err = refused[verb];
        if (permission.grant.verb === "bind" && !isInstalled) expect(err).toBeInstanceOf(KubeError);
        else expect([formatPermission(permission), isForbidden(err)]).toEqual([formatPermission(permission), true]);
      }
    };

    await refusals(false, ["create", "escalate", "bind"]);
    for (const object of objects) await cluster.client.apply(object, APPLY);
    await refusals(true, ["get", "list", "watch", "patch", "delete", "escalate", "bind"]);

    const lists = permissions.filter(({ grant }) => grant.name === undefined);
    expect(lists.map(({ grant: { verb, resource } }) => `${verb} ${resource}`)).toEqual([
      "list greetings",
      "list pods",
      "list resourcequotas",
    ]);
    const { group, kind } = objects.flatMap((object) => readDefinedResource(object) ?? [])[0] ?? { group: "", kind: "" };
    const core = new Map([
      ["pods", "Pod"],
      ["resourcequotas", "ResourceQuota"],
    ]);
    for (const permission of lists) {
      const client = installers.get(permission) as Client;
      const known = core.get(permission.grant.resource);
      const listed = known === undefined ? { apiVersion: `${group}/v1alpha1`, kind } : { apiVersion: "v1", kind: known };
      const selection = permission.scope === "" ? {} : { namespace: permission.scope };
      const { refused } = await outcomes({ list: () => client.list(listed, selection) });
      expect(isForbidden(refused["list"])).toBe(true);
      tried.add(permission);
    }
    expect(permissions.filter((permission) => !tried.has(permission)).map(formatPermission)).toEqual([]);
  });

  test("derived permissions permit an ownerReference without blockOwnerDeletion, and deny an ownerReference with blockOwnerDeletion", async () => {
    const extension = await newExtension();
    const client = await extension.installer("installer", extension.rules());
    const object = extension.versions[0].find(({ kind }) => kind === "ConfigMap") as KubeObject;
    await eventually(() => client.apply(object, APPLY));
    const blocking = {
      ...object,
      metadata: {
        ...object.metadata,
        ownerReferences: object.metadata.ownerReferences?.map((reference) => ({ ...reference, blockOwnerDeletion: true })) ?? [],
      },
    };
    const { refused } = await outcomes({ apply: () => client.apply(blocking, APPLY) });
    expect(String(refused["apply"])).toContain(
      "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
    );
  });
});
