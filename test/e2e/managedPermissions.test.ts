import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ANNOTATION_APPROVE,
  API_VERSION,
  EXTENSION_PERMISSIONS,
  LABEL_PERMISSIONS_FOR,
  SYSTEM_NAMESPACE,
} from "../../pkg/api/constants.ts";
import type { ExtensionPermissions } from "../../pkg/api/extensionPermissions.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { World } from "../support/world.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const EXTENSION = { apiVersion: API_VERSION, kind: "ClusterExtension" };
const NAMESPACE = "car-system";
const ACCOUNT = "olmv1-extension-car";
const DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "permissionpolicies.olm.operatorframework.io",
};
const PERMISSIONS = { ...EXTENSION_PERMISSIONS, name: "car" };
const EVERYTHING = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
const OWNED = { labels: { [LABEL_PERMISSIONS_FOR]: "car" } };
const POD = { containers: [{ name: "shell", image: "busybox" }] };
const binding = (roleName: string, subject: string, metadata: KubeObject["metadata"]): KubeObject => ({
  apiVersion: RBAC,
  kind: "ClusterRoleBinding",
  metadata,
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: roleName },
  subjects: [{ kind: "ServiceAccount", namespace: NAMESPACE, name: subject }],
});

// Source: O-18. All programs run with exactly the permissions of config, so that an attacker with the token of one of them can do what the test tries.
describeWithPrivateCluster("managed permissions of an installation", (cluster) => {
  let world: World;
  let clients: Record<"operator-controller" | "permission-manager" | "namespace administrator" | "definition writer", Client>;

  beforeAll(async () => {
    world = await World.start(cluster);
    await serveCar();
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
    await world.apply(createCar("car", {}));
    await world.installed("car", "1.0.0");
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "admin", namespace: NAMESPACE } };
    await cluster.client.create(account);
    await cluster.client.create({
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata: { name: "admin", namespace: NAMESPACE },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" },
      subjects: [{ kind: "ServiceAccount", namespace: NAMESPACE, name: "admin" }],
    });
    await cluster.client.create({ ...account, metadata: { name: "definer", namespace: NAMESPACE } });
    await cluster.client.create({
      apiVersion: RBAC,
      kind: "ClusterRole",
      metadata: { name: "definer" },
      rules: [{ apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["*"] }],
    });
    await cluster.client.create(binding("definer", "definer", { name: "definer" }));
    const as = (namespace: string, name: string): Client =>
      cluster.client.withToken(new ServiceAccountTokens(cluster.client).tokenFor(namespace, name));
    clients = {
      "operator-controller": as(SYSTEM_NAMESPACE, "operator-controller-controller-manager"),
      "permission-manager": as(SYSTEM_NAMESPACE, "permission-manager-controller-manager"),
      "namespace administrator": as(NAMESPACE, "admin"),
      "definition writer": as(NAMESPACE, "definer"),
    };
  });

  afterAll(() => world?.stop());

  async function serveCar(): Promise<void> {
    const files = (version: string, name: string) =>
      new Map(Object.entries(tinyBundle(version, { name })).map(([path, text]) => [path, Buffer.from(text)]));
    const metas: object[] = [];
    for (const name of ["car", "truck"]) {
      const image = await world.pushBundle(`bundles/${name}`, "1.0.0", name, files("1.0.0", name));
      metas.push(
        { schema: "olm.package", name, defaultChannel: "stable" },
        { schema: "olm.channel", package: name, name: "stable", entries: [{ name: `${name}.v1.0.0` }] },
        {
          schema: "olm.bundle",
          package: name,
          name: `${name}.v1.0.0`,
          image,
          properties: [{ type: "olm.package", value: { packageName: name, version: "1.0.0" } }],
        },
      );
    }
    const text = metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
    await world.pushCatalog("catalogs/motors", "latest", new Map([["catalog.json", Buffer.from(text)]]));
    await world.serve("motors", "quay.io/catalogs/motors:latest");
  }

  function createCar(name: string, more: object): KubeObject {
    return {
      ...EXTENSION,
      metadata: { name },
      spec: { namespace: NAMESPACE, source: { sourceType: "Catalog", catalog: { packageName: "car" } }, ...more },
    };
  }

  async function readPermissions(name = "car"): Promise<ExtensionPermissions> {
    const found = await cluster.client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name });
    if (!found) throw new Error(`ExtensionPermissions ${name} does not exist`);
    return found;
  }

  test("an extension with only namespace and package is installed by the default installation", async () => {
    expect((await readPermissions()).status).toMatchObject({ state: "Granted", policy: "default", serviceAccount: ACCOUNT });
  });

  type Attempt = [who: keyof typeof clients, what: string, attempt: (client: Client) => Promise<unknown>, refusal: RegExp];
  test.for<Attempt>([
    [
      "operator-controller",
      "write the status of a request",
      (client) => client.patch(PERMISSIONS, { status: { state: "Granted" } }, { type: "merge", subresource: "status" }),
      /cannot patch resource "extensionpermissions\/status"/,
    ],
    [
      "operator-controller",
      "approve permissions",
      (client) => client.patch(PERMISSIONS, { metadata: { annotations: { [ANNOTATION_APPROVE]: "sha256:0" } } }, { type: "merge" }),
      /requires verb approve/,
    ],
    [
      "operator-controller",
      "create a role",
      (client) => client.create({ apiVersion: RBAC, kind: "ClusterRole", metadata: { name: "r", ...OWNED }, rules: EVERYTHING }),
      /cannot create resource "clusterroles"/,
    ],
    ...["permission-manager-controller-manager", "catalogd-controller-manager", "operator-controller-controller-manager", ACCOUNT].map(
      (account): Attempt => [
        "operator-controller",
        `create a Secret with a token of ${account}`,
        (client) =>
          client.create({
            apiVersion: "v1",
            kind: "Secret",
            metadata: { name: "t", namespace: SYSTEM_NAMESPACE, annotations: { "kubernetes.io/service-account.name": account } },
            type: "kubernetes.io/service-account-token",
          }),
        /no Secret contains tokens/,
      ],
    ),
    [
      "permission-manager",
      "create a role with another name",
      (client) => client.create({ apiVersion: RBAC, kind: "ClusterRole", metadata: { name: "r", ...OWNED }, rules: EVERYTHING }),
      /only writes objects with label/,
    ],
    [
      "permission-manager",
      "create a role without label",
      (client) => client.create({ apiVersion: RBAC, kind: "ClusterRole", metadata: { name: "olmv1-extension-x" }, rules: EVERYTHING }),
      /only writes objects with label/,
    ],
    [
      "permission-manager",
      "change a role that it did not create",
      (client) =>
        client.patch(
          { apiVersion: RBAC, kind: "ClusterRole", name: "cluster-admin" },
          { metadata: { labels: OWNED.labels }, rules: EVERYTHING },
          { type: "merge" },
        ),
      /only writes objects with label|does not change objects/,
    ],
    [
      "permission-manager",
      "bind another role",
      (client) => client.create(binding("cluster-admin", ACCOUNT, { name: ACCOUNT, ...OWNED })),
      /already exists|only binds roles/,
    ],
    [
      "permission-manager",
      "bind the role of an extension to another ServiceAccount",
      (client) =>
        client.create(binding("olmv1-extension-new", "admin", { name: "olmv1-extension-new", labels: { [LABEL_PERMISSIONS_FOR]: "new" } })),
      /only grants permissions to the ServiceAccount of the same extension/,
    ],
    ...(
      [
        ["create a ClusterRole that another role includes", { "rbac.authorization.k8s.io/aggregate-to-view": "true" }, {}],
        ["create a ClusterRole that includes other roles", {}, { aggregationRule: { clusterRoleSelectors: [{}] } }],
      ] as const
    ).map(
      ([what, labels, more]): Attempt => [
        "permission-manager",
        what,
        (client) =>
          client.create({
            apiVersion: RBAC,
            kind: "ClusterRole",
            metadata: { name: "olmv1-extension-new", labels: { [LABEL_PERMISSIONS_FOR]: "new", ...labels } },
            rules: [],
            ...more,
          }),
        /without other labels and without aggregationRule/,
      ],
    ),
    [
      "permission-manager",
      "let another role include the ClusterRole of an extension",
      async (client) => {
        const [role, name] = [{ apiVersion: RBAC, kind: "ClusterRole" }, "olmv1-extension-old"];
        await client.create({ ...role, metadata: { name, labels: { [LABEL_PERMISSIONS_FOR]: "old" } }, rules: [] });
        const labels = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
        await client.patch({ ...role, name }, { metadata: { labels } }, { type: "merge" });
      },
      /without other labels and without aggregationRule/,
    ],
    [
      "permission-manager",
      "read a Secret",
      (client) => client.list({ apiVersion: "v1", kind: "Secret" }, { namespace: NAMESPACE }),
      /cannot list resource "secrets"/,
    ],
    [
      "permission-manager",
      "create a token",
      (client) => new ServiceAccountTokens(client).tokenFor(NAMESPACE, ACCOUNT)(),
      /cannot create resource "serviceaccounts\/token"/,
    ],
    [
      "permission-manager",
      "delete a ServiceAccount that it did not create",
      (client) =>
        client.delete({
          apiVersion: "v1",
          kind: "ServiceAccount",
          namespace: SYSTEM_NAMESPACE,
          name: "permission-manager-controller-manager",
        }),
      /only writes objects with label/,
    ],
    [
      "namespace administrator",
      "run a Pod as the extension",
      (client) =>
        client.create({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "p", namespace: NAMESPACE },
          spec: { ...POD, serviceAccountName: ACCOUNT },
        }),
      /only operator-controller uses/,
    ],
    [
      "namespace administrator",
      "create a token of the extension",
      (client) => new ServiceAccountTokens(client).tokenFor(NAMESPACE, ACCOUNT)(),
      /only operator-controller uses/,
    ],
    [
      "namespace administrator",
      "create a Secret with a token of the extension",
      (client) =>
        client.create({
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "t", namespace: NAMESPACE, annotations: { "kubernetes.io/service-account.name": ACCOUNT } },
          type: "kubernetes.io/service-account-token",
        }),
      /only operator-controller uses/,
    ],
    [
      "namespace administrator",
      "create a role with the label of the extension",
      (client) => client.create({ apiVersion: RBAC, kind: "Role", metadata: { name: "r", namespace: NAMESPACE, ...OWNED }, rules: [] }),
      /only permission-manager writes/,
    ],
    [
      "namespace administrator",
      "create a role with the name of a role of the extension",
      (client) =>
        client.create({ apiVersion: RBAC, kind: "Role", metadata: { name: "olmv1-extension-x", namespace: NAMESPACE }, rules: [] }),
      /only permission-manager writes/,
    ],
    [
      "definition writer",
      "change the definition of PermissionPolicies",
      (client) => client.patch(DEFINITION, { spec: { names: { shortNames: ["changed"] } } }, { type: "merge" }),
      /requires verb update on permissionpolicies or validatingadmissionpolicies/,
    ],
    [
      "definition writer",
      "delete the definition of PermissionPolicies",
      (client) => client.delete(DEFINITION),
      /requires verb update on permissionpolicies or validatingadmissionpolicies/,
    ],
  ])("%s cannot %s", async ([who, , attempt, refusal]) => {
    await expect(attempt(clients[who])).rejects.toThrow(refusal);
  });

  test("a user who may write CustomResourceDefinitions can annotate those of olmv1, and change all others", async () => {
    const client = clients["definition writer"];
    await client.patch(DEFINITION, { metadata: { annotations: { "example.com/note": "seen" } } }, { type: "merge" });
    const widgets = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
    const schema = { openAPIV3Schema: { type: "object" } };
    await client.create({
      ...widgets,
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        names: { kind: "Widget", plural: "widgets" },
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    });
    await client.delete({ ...widgets, name: "widgets.example.com" });
  });

  test.for<[what: string, bundle: Record<string, string>, message: RegExp]>([
    ["a bundle that the catalog does not contain", { name: "car.v9.9.9" }, /does not contain bundle "car.v9.9.9"/],
    ["another image", { image: `quay.io/bundles/truck@sha256:${"0".repeat(64)}` }, /but the request has image/],
    ["a package of another extension", { packageName: "truck", name: "truck.v1.0.0" }, /but the extension installs "car"/],
    ["a catalog that does not exist", { catalog: "other" }, /does not select ClusterCatalog "other"/],
  ])("permission-manager grants nothing when operator-controller requests %s", async ([, bundle, message]) => {
    await world.installation.servers["operator-controller"].stop(); // so that only the attacker writes requests
    const before = await readPermissions();
    const role = await cluster.client.get({ apiVersion: RBAC, kind: "ClusterRole", name: ACCOUNT });
    try {
      await clients["operator-controller"].patch(PERMISSIONS, { spec: { bundle } }, { type: "merge" });
      await eventually(async () => {
        const { status } = await readPermissions();
        expect(status?.state).toBe("Failed");
        expect(status?.conditions?.[0]?.message).toMatch(message);
        expect(status?.rules).toEqual(before.status?.rules);
      });
      expect((await cluster.client.get({ apiVersion: RBAC, kind: "ClusterRole", name: ACCOUNT }))?.["rules"]).toEqual(role?.["rules"]);
    } finally {
      await clients["operator-controller"].patch(PERMISSIONS, { spec: before.spec ?? {} }, { type: "merge" });
      await world.installation.restart("operator-controller");
    }
    await eventually(async () => expect((await readPermissions()).status?.state).toBe("Granted"));
  });

  test("permission-manager deletes a request for an extension that has its own ServiceAccount, or does not exist", async () => {
    await world.apply(createCar("own", { serviceAccount: { name: "admin" }, suspend: true }));
    const { metadata } = (await cluster.client.get({ ...EXTENSION, name: "own" })) as KubeObject;
    for (const [name, uid] of [
      ["own", metadata.uid ?? ""],
      ["none", metadata.uid ?? ""],
    ] as const) {
      const owner = { ...EXTENSION, name, uid };
      const object = { ...EXTENSION_PERMISSIONS, metadata: { name, ownerReferences: [owner] }, spec: {} };
      await clients["operator-controller"].create(object);
      await eventually(async () => expect(await cluster.client.get({ ...EXTENSION_PERMISSIONS, name })).toBeUndefined());
      const account = { apiVersion: "v1", kind: "ServiceAccount", namespace: NAMESPACE, name: `olmv1-extension-${name}` };
      expect(await cluster.client.get(account)).toBeUndefined();
    }
  });
});
