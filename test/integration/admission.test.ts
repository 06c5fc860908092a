import { afterAll, beforeAll, expect, test } from "vitest";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { ownObjects } from "../support/audit.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { configMap } from "../support/releases.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const WAITING = { Installed: "False/Failed", Progressing: "True/Retrying" };
const DAMAGE = { runAsUser: 0, privileged: true };
/** A Deployment whose Pods violate the restricted standard. */
const buildPrivileged = (version: string): Record<string, string> => {
  const files = tinyBundle(version);
  const csv = JSON.parse(files["manifests/csv.yaml"] ?? "") as {
    spec: { install: { spec: { deployments: { spec: { template: { spec: { containers: object[] } } } }[] } } };
  };
  for (const { spec } of csv.spec.install.spec.deployments)
    for (const container of spec.template.spec.containers) Object.assign(container, { securityContext: DAMAGE });
  return { ...files, "manifests/csv.yaml": JSON.stringify(csv) };
};
const THINGS = thingDefinition("quota.example.com");
const OWNED = { customresourcedefinitions: { owned: [{ name: THINGS.metadata.name, version: "v1", kind: "Thing" }] } };
/** By name without "p.v". */
const BUNDLES: Readonly<Record<string, Record<string, string>>> = {
  "1.0.0": tinyBundle("1.0.0", { objects: ["a", "b", "c"].map((name) => configMap(name, undefined)) }),
  "1.1.0": tinyBundle("1.1.0", { objects: ["a", "b", "c", "d"].map((name) => configMap(name, undefined)) }),
  "1.2.0": tinyBundle("1.2.0", { objects: [THINGS], others: ["second"], spec: OWNED }),
  "2.0.0": buildPrivileged("2.0.0"),
};
const SUCCESSION = [
  "p.v1.0.0",
  { name: "p.v1.1.0", replaces: "p.v1.0.0" },
  { name: "p.v1.2.0", replaces: "p.v1.1.0" },
  { name: "p.v2.0.0", replaces: "p.v1.2.0" },
];

// Source: S0-097, S0-104, O-04.
describeWithPrivateCluster("extensions that admission or quotas deny", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
    for (const [version, files] of Object.entries(BUNDLES)) world.bundle(`p.v${version}`, files);
    await world.serve({ channels: { stable: SUCCESSION }, bundles: Object.keys(BUNDLES).map((version) => `p.v${version}`) });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const version = (versionNumber: string): { catalog: { version: string } } => ({ catalog: { version: versionNumber } });
  const label = (namespace: string, labels: Record<string, string>): Promise<unknown> =>
    cluster.client.patch({ apiVersion: "v1", kind: "Namespace", name: namespace }, { metadata: { labels } }, { type: "merge" });
  const listEvents = async (name: string, reason: string): Promise<string[]> =>
    (await world.events(name)).filter((text) => text.startsWith(`${reason}: `)).sort();

  /** Creates a quota, and waits until the API server reports its usage. */
  async function quota(namespace: string, hard: Record<string, string>): Promise<void> {
    // kube-controller-manager creates this ConfigMap in every namespace.
    const trust = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "kube-root-ca.crt" };
    await eventually(async () => expect(await cluster.client.get(trust)).toBeDefined());
    const resourceQuota: KubeObject = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "small", namespace }, spec: { hard } };
    await cluster.client.apply(resourceQuota, { fieldManager: "test", force: true });
    const used = "count/configmaps" in hard ? { "count/configmaps": "1" } : {};
    await eventually(async () => expect((await cluster.client.get(toObjectRef(resourceQuota)))?.["status"]).toMatchObject({ hard, used }));
  }

  const raise = (namespace: string, hard: Record<string, string>): Promise<unknown> =>
    cluster.client.patch({ apiVersion: "v1", kind: "ResourceQuota", namespace, name: "small" }, { spec: { hard } }, { type: "merge" });

  async function goesOn(name: string, change: () => Promise<unknown>): Promise<void> {
    await change();
    await world.conditions(name, DONE);
  }

  test("an install succeeds when the API server warns about an object, and one Event reports the warning", async () => {
    const warns = (namespace: string): Promise<unknown> => label(namespace, { "pod-security.kubernetes.io/warn": "restricted" });
    await world.extension("warned", { ...version("2.0.0"), before: warns });
    await world.conditions("warned", DONE);
    const text =
      'ApiWarning: the API server warns about Deployment warned-system/tiny of bundle "p.v2.0.0": would violate PodSecurity "restricted:latest": ' +
      'privileged (container "manager" must not set securityContext.privileged=true), allowPrivilegeEscalation != false (container "manager" ';
    await eventually(async () => expect(await listEvents("warned", "ApiWarning")).toEqual([expect.stringContaining(text)]));
    const ref = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "warned" };
    const request = { metadata: { annotations: { "olm.operatorframework.io/reconcile-requested-at": "now" } } };
    await cluster.client.patch(ref, request, { type: "merge" });
    await eventually(async () => expect((await world.get("warned")).status?.lastHandledReconcileAt).toBe("now"));
    expect(await listEvents("warned", "ApiWarning")).toHaveLength(1);
  });

  test("a plan that waits for approval reports API server warnings in one Event", async () => {
    const warns = (namespace: string): Promise<unknown> => label(namespace, { "pod-security.kubernetes.io/warn": "restricted" });
    await world.extension("asked", { ...version("2.0.0"), before: warns, approval: "Manual" });
    await world.conditions("asked", { Progressing: "False/AwaitingApproval" });
    await eventually(async () => expect(await listEvents("asked", "ApiWarning")).toHaveLength(1));
    const { digest = "" } = (await world.get("asked")).status?.plan ?? {};
    const ref = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "asked" };
    await cluster.client.patch(ref, { metadata: { annotations: { "olm.operatorframework.io/approve": digest } } }, { type: "merge" });
    await world.conditions("asked", DONE);
    await eventually(async () => expect(await listEvents("asked", "Installed")).toHaveLength(1));
    expect(await listEvents("asked", "ApiWarning")).toHaveLength(1);
  });

  test("condition Available contains the API server's message when admission in the namespace rejects the Pods", async () => {
    const enforces = (namespace: string): Promise<unknown> => label(namespace, { "pod-security.kubernetes.io/enforce": "restricted" });
    await world.extension("strict", { ...version("2.0.0"), before: enforces });
    const { Available } = await world.conditions("strict", { ...DONE, Available: "False/Unhealthy", Ready: "False/Unhealthy" });
    expect(Available).toMatch(
      /^Deployment strict-system\/tiny: its Pods cannot be created: pods "tiny-\S+" is forbidden: violates PodSecurity "restricted:latest": privileged/,
    );
  });

  test("preflight rejects objects that exceed a quota together, although each object alone fits into the quota", async () => {
    await world.extension("narrow", { ...version("1.0.0"), before: (ns) => quota(ns, { "count/configmaps": "3" }) });
    const { Progressing } = await world.conditions("narrow", WAITING);
    expect(Progressing).toBe(
      'error for resolved bundle "p.v1.0.0" with version "1.0.0": ResourceQuota narrow-system/small does not allow all new objects: ' +
        "exceeded quota: small, requested: count/configmaps=3, used: count/configmaps=1, limited: count/configmaps=3; " +
        `counted objects: ConfigMap narrow-system/a, ConfigMap narrow-system/b, ConfigMap narrow-system/c`,
    );
    await world.expectProblem("narrow", "QuotaExceeded", {
      details: [
        {
          namespace: "narrow-system",
          name: "small",
          message: "exceeded quota: small, requested: count/configmaps=3, used: count/configmaps=1, limited: count/configmaps=3",
        },
      ],
    });
    expect(await ownObjects(cluster.client, "narrow")).toEqual([]);
    expect(await world.releases("narrow")).toEqual([]);
    await goesOn("narrow", () => raise("narrow-system", { "count/configmaps": "4" }));
  });

  test("an upgrade that exceeds a quota keeps the installed bundle", async () => {
    await world.extension("grown", { ...version("1.0.0"), before: (ns) => quota(ns, { "count/configmaps": "4" }) });
    await world.conditions("grown", DONE);
    const before = await ownObjects(cluster.client, "grown");
    const ref = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "grown" };
    await cluster.client.patch(ref, { spec: { source: { catalog: { version: "1.1.0" } } } }, { type: "merge" });
    const { Progressing } = await world.conditions("grown", { Installed: "True/Succeeded", Progressing: "True/Retrying" });
    expect(Progressing).toContain(
      'ConfigMap grown-system/d: configmaps "d" is forbidden: exceeded quota: small, requested: count/configmaps=1, used: count/configmaps=4, limited: count/configmaps=4',
    );
    expect(await ownObjects(cluster.client, "grown")).toEqual(before);
    expect(await world.releases("grown")).toEqual(["v1 deployed"]);
    await goesOn("grown", () => raise("grown-system", { "count/configmaps": "5" }));
  });

  test("preflight reports the object, the usage and the limit when one object exceeds a quota", async () => {
    await world.extension("none", { ...version("1.0.0"), before: (ns) => quota(ns, { "count/deployments.apps": "0" }) });
    const { Progressing } = await world.conditions("none", WAITING);
    expect(Progressing).toBe(
      'error for resolved bundle "p.v1.0.0" with version "1.0.0": Deployment none-system/tiny: deployments.apps "tiny" is forbidden: exceeded quota: small, ' +
        `requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0`,
    );
    expect(await ownObjects(cluster.client, "none")).toEqual([]);
    await goesOn("none", () => raise("none-system", { "count/deployments.apps": "1" }));
  });

  /** Creates a quota, and an installer that may not list quotas. */
  async function exceedUnseen(namespace: string, installer: string, hard: Record<string, string>): Promise<void> {
    const but = { ...EVERYTHING, apiGroups: ["apps", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "quota.example.com"] };
    const core = { ...EVERYTHING, apiGroups: [""], resources: ["configmaps", "serviceaccounts", "pods", "secrets"] };
    await (await serviceAccount(cluster.client, namespace, installer, [])).grant([but, core]);
    await quota(namespace, hard);
  }

  test("an install that exceeds a quota is undone and reports the next step when the ServiceAccount has no permission to list quotas", async () => {
    await world.extension("blind", {
      ...version("1.0.0"),
      before: (ns) => exceedUnseen(ns, "blind-installer", { "count/configmaps": "3" }),
    });
    await eventually(async () => {
      const { Progressing } = await world.conditions("blind", WAITING);
      expect(Progressing).toMatch(
        /ConfigMap blind-system\/[abc]: configmaps "[abc]" is forbidden: exceeded quota: small, requested: count\/configmaps=1, .*; the controller removed the objects that it had created: \d deleted; to detect this before objects are created, grant the ServiceAccount the list permission on resourcequotas/,
      );
    });
    await eventually(async () => expect(await ownObjects(cluster.client, "blind")).toEqual([]));
    // Later attempts can create fewer objects, because the quota usage falls a moment after the objects are deleted.
    await eventually(async () =>
      expect(await listEvents("blind", "InstallRolledBack")).toContainEqual(
        "InstallRolledBack: the install exceeded a ResourceQuota; the controller removed the objects that it had created: 2 deleted",
      ),
    );
    await raise("blind-system", { "count/configmaps": "4" });
    await world.conditions("blind", DONE);
  });

  test("an install that is undone keeps its CustomResourceDefinitions when spec.uninstall.crdPolicy is Retain", async () => {
    const before = (namespace: string): Promise<void> => exceedUnseen(namespace, "retaining-installer", { "count/deployments.apps": "1" });
    await world.extension("retaining", { ...version("1.2.0"), uninstall: { crdPolicy: "Retain" }, before });
    const kept = `kept: CustomResourceDefinition ${THINGS.metadata.name}: spec.uninstall.crdPolicy is Retain`;
    await eventually(async () =>
      expect(await listEvents("retaining", "InstallRolledBack")).toContainEqual(expect.stringMatching(`deleted; ${kept}$`)),
    );
    expect(await cluster.client.get(toObjectRef(THINGS))).toBeDefined();
    await raise("retaining-system", { "count/deployments.apps": "2" });
    await world.conditions("retaining", DONE);
  });

  test("preflight reports a policy that denies one object before any write, and the install resumes when the policy is deleted", async () => {
    const policy: KubeObject = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "no-deployments" },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["deployments"] }],
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "policed-system" } },
        },
        validations: [{ expression: "false", message: "Deployments are made by the platform team" }],
      },
    };
    const binding: KubeObject = {
      ...policy,
      kind: "ValidatingAdmissionPolicyBinding",
      spec: { policyName: "no-deployments", validationActions: ["Deny"] },
    };
    await cluster.client.create(policy);
    await cluster.client.create(binding);
    const probe = (namespace: string): KubeObject => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: cluster.name("probe"), namespace },
      spec: {
        selector: { matchLabels: { app: "p" } },
        template: { metadata: { labels: { app: "p" } }, spec: { containers: [{ name: "c", image: "registry.example.com/i" }] } },
      },
    });
    const inForce = (namespace: string): Promise<void> =>
      eventually(async () => {
        const refusal = await cluster.client.create(probe(namespace), { dryRun: true }).catch((err: unknown) => err);
        expect(String(refusal)).toContain("platform team");
      });
    await world.extension("policed", { ...version("1.0.0"), before: inForce });
    const { Progressing } = await world.conditions("policed", WAITING);
    expect(Progressing).toMatch(
      /: Deployment policed-system\/tiny: deployments\.apps "tiny" is forbidden: ValidatingAdmissionPolicy 'no-deployments' with binding 'no-deployments' denied request: Deployments are made by the platform team$/,
    );
    await world.expectProblem("policed", "ObjectRejected", {
      message: "Deployments are made by the platform team",
      details: [{ group: "apps", kind: "Deployment", namespace: "policed-system", name: "tiny" }],
    });
    expect(await ownObjects(cluster.client, "policed")).toEqual([]);
    await goesOn("policed", () => cluster.client.delete(toObjectRef(binding)));
  });
});
