import { beforeAll, expect, test } from "vitest";
import { type ClusterExtensionSpec, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { type JsonObject, type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { getErrorMessage, getProblems } from "../../pkg/errors/errors.ts";
import { Applier } from "../../pkg/operatorcontroller/apply/applier.ts";
import { DryRun } from "../../pkg/operatorcontroller/apply/dryRun.ts";
import { newChecked, preflight } from "../../pkg/operatorcontroller/apply/preflight.ts";
import { type Checked, type PreflightFinding, type PreflightRequest } from "../../pkg/operatorcontroller/apply/preflightRequest.ts";
import { prepareExtension } from "../../pkg/operatorcontroller/apply/preparedObjects.ts";
import { findMissingPermissions } from "../../pkg/operatorcontroller/permissions/permissions.ts";
import { DeniedError, WaitingError } from "../../pkg/operatorcontroller/state/conditionPoller.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import type { ReleaseRecord } from "../../pkg/release/record.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { thingDefinition, waitForDefinition } from "../support/definitions.ts";
import { stepContext } from "../support/extensionFakes.ts";
import { EVERYTHING, type LoneExtension, loneExtension } from "../support/loneExtension.ts";
import { configMap, releaseRecord } from "../support/releases.ts";

const signal = new AbortController().signal;
const RBAC = "rbac.authorization.k8s.io/v1";

/** The objects to apply, and the state of the cluster that rejects them. */
interface Scenario {
  readonly objects: readonly KubeObject[];
  /** Objects that the administrator creates first. */
  readonly existing?: readonly KubeObject[];
  /** Permissions of the ServiceAccount; default: all. */
  readonly rules?: readonly PolicyRule[];
  readonly install?: ClusterExtensionSpec["install"];
  /** Whether permissions are checked. */
  readonly looksUp?: boolean;
  /** The releases of the extension. */
  readonly history?: (ns: string) => ReleaseRecord[];
  /** Waits until the cluster is in the state of the scenario. */
  readonly settled?: (ns: string) => Promise<unknown>;
  /** The kinds of all expected findings; empty if nothing is rejected. */
  readonly findings: readonly PreflightFinding["kind"][];
  /** The problem of the first finding. */
  readonly problem?: object;
  readonly error?: new (...args: never[]) => Error;
}

const allExcept = (...resources: string[]): PolicyRule[] => [
  { apiGroups: [""], resources, verbs: ["*"] },
  { apiGroups: ["apps", RBAC.slice(0, -3), "apiextensions.k8s.io"], resources: ["*"], verbs: ["*"] },
];
const invalid = (ns: string): KubeObject => ({ ...configMap("Not_A_Name", ns) });
const role = (ns: string, verbs: string[]): KubeObject => ({
  apiVersion: RBAC,
  kind: "Role",
  metadata: { name: "helper", namespace: ns },
  rules: [{ apiGroups: [""], resources: ["pods"], verbs }],
});
const binding = (ns: string): KubeObject => ({
  apiVersion: RBAC,
  kind: "RoleBinding",
  metadata: { name: "helper", namespace: ns },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "ServiceAccount", name: "helper", namespace: ns }],
});
const buildSizedSchema = (type: string): JsonObject => ({ properties: { spec: { type: "object", properties: { size: { type } } } } });
/** Creates the definition of Things with another plural name in the same group and of the same kind. */
const renameDefinition = (group: string): KubeObject => {
  const { spec, ...crd } = thingDefinition(group);
  const names = { plural: "items", singular: "item", kind: "Thing", listKind: "ThingList" };
  return { ...crd, metadata: { name: `items.${group}` }, spec: { ...(spec as object), names } };
};
/** Things with a second version that only a webhook can convert to. */
const buildConverted = (ns: string): KubeObject => {
  const { spec, ...crd } = thingDefinition(`${ns}.example.com`);
  const { versions, ...rest } = spec as { versions: { schema: unknown }[] };
  const second = {
    name: "v2",
    served: true,
    storage: false,
    schema: { openAPIV3Schema: { type: "object", ...buildSizedSchema("integer") } },
  };
  const webhook = { conversionReviewVersions: ["v1"], clientConfig: { service: { namespace: ns, name: "gone", port: 443 } } };
  return { ...crd, spec: { ...rest, versions: [...versions, second], conversion: { strategy: "Webhook", webhook } } };
};
const thing = (ns: string): KubeObject => ({
  apiVersion: `${ns}.example.com/v1`,
  kind: "Thing",
  metadata: { name: "mine", namespace: ns },
});

describeWithCluster("preflight", (cluster) => {
  beforeAll(() => cluster.installCrds());

  /** Returns the preflight request that the controller would send for the scenario. */
  async function requestFor({ x, account }: LoneExtension, scenario: Scenario): Promise<PreflightRequest> {
    const { metadata, spec } = x;
    const extension = { ...x, spec: { ...spec, ...(scenario.install ? { install: scenario.install } : {}) } };
    const { client } = account;
    const { objects: desired, kinds } = await prepareExtension(cluster.client, extension, scenario.objects);
    const owner = { name: metadata.name, uid: metadata.uid ?? "", installNamespace: getNamespace(x) };
    const history = scenario.history?.(metadata.name) ?? [];
    const resourceOf = kinds.resourceOf.bind(kinds);
    return {
      desired,
      kinds,
      base: history[0],
      owner,
      extensionExists: () => true,
      extension,
      handovers: { excludes: () => false },
      applier: new Applier(client, stepContext().log, signal),
      dryRun: new DryRun(client, signal),
      client,
      discovery: cluster.client,
      permissions: scenario.looksUp
        ? () => findMissingPermissions(client, { extension, desired, pruned: [], images: [], resourceOf }, signal)
        : undefined,
      advice: "print the exact roles: olmv1 rbac",
      pruning: { history, desired, crdPolicy: "DeleteIfUnused", owner },
      onlyTries: true,
      signal,
    };
  }

  async function small(ns: string, hard: Record<string, string>): Promise<void> {
    const quota: KubeObject = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "small", namespace: ns }, spec: { hard } };
    // kube-controller-manager creates it in each namespace. A quota that it has counted before may stay wrong for minutes.
    const counted = { apiVersion: "v1", kind: "ConfigMap", namespace: ns, name: "kube-root-ca.crt" };
    await eventually(async () => expect(await cluster.client.get(counted)).toBeDefined());
    await cluster.client.create(quota);
    const used = "count/configmaps" in hard ? { "count/configmaps": "1" } : {};
    await eventually(async () => expect((await cluster.client.get(toObjectRef(quota)))?.["status"]).toMatchObject({ hard, used }));
  }

  const SCENARIOS: readonly [name: string, scenario: (ns: string) => Scenario][] = [
    ["no problem", (ns) => ({ objects: [configMap("a", ns)], looksUp: true, findings: [] })],
    [
      "kinds that are not served, including one that the bundle defines",
      (ns) => ({
        objects: [
          thingDefinition(`${ns}.example.com`),
          thing(ns),
          { apiVersion: "absent.example.com/v1", kind: "Absent", metadata: { name: "x", namespace: ns } },
        ],
        findings: ["kindNotServed"],
        problem: {
          type: "KindNotServed",
          next: expect.stringContaining(`apply the CustomResourceDefinition of Thing (${ns}.example.com/v1)`),
          details: {
            objects: expect.arrayContaining([
              { group: `${ns}.example.com`, kind: "Thing" },
              { group: "absent.example.com", kind: "Absent" },
            ]),
          },
        },
        error: WaitingError,
      }),
    ],
    [
      "missing permissions, before the errors that they cause",
      (ns) => ({
        objects: [configMap("a", ns), role(ns, ["get"])],
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
        looksUp: true,
        findings: ["permissions", "read", "read"],
        problem: {
          type: "MissingPermissions",
          details: { permissions: expect.arrayContaining([expect.objectContaining({ namespace: ns, resources: ["configmaps"] })]) },
        },
        error: WaitingError,
      }),
    ],
    [
      "denied reads because spec.permissions Warn permits missing permissions",
      (ns) => ({
        objects: [configMap("a", ns)],
        rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["patch", "create"] }],
        install: { permissions: "Warn" },
        looksUp: true,
        findings: ["read"],
        problem: { type: "MissingPermissions", message: expect.stringContaining("ConfigMap") },
      }),
    ],
    [
      "possibly missing permissions, and the denial that they cause",
      (ns) => ({
        objects: [binding(ns), configMap("a", ns)],
        rules: [
          { apiGroups: [""], resources: ["configmaps"], verbs: ["*"] },
          { apiGroups: [RBAC.slice(0, -3)], resources: ["rolebindings"], verbs: ["*"] },
        ],
        looksUp: true,
        findings: ["permissions", "dryRun"],
        error: WaitingError,
      }),
    ],
    [
      "an object without permission to read it",
      (ns) => ({ objects: [role(ns, ["get"]), configMap("a", ns)], rules: allExcept("secrets"), findings: ["read"] }),
    ],
    [
      "objects of other owners, and an invalid object",
      (ns) => ({
        objects: [configMap("a", ns), configMap("b", ns), invalid(ns)],
        existing: [configMap("a", ns), configMap("b", ns)],
        findings: ["ownership", "ownership", "dryRun"],
        problem: {
          type: "ObjectConflict",
          details: { objects: [{ kind: "ConfigMap", namespace: ns, name: "a", owner: expect.stringContaining("no known owner") }] },
        },
        error: WaitingError,
      }),
    ],
    [
      "an object of another extension",
      (ns) => ({
        objects: [configMap("a", ns)],
        existing: [
          {
            ...configMap("a", ns),
            metadata: {
              name: "a",
              namespace: ns,
              labels: { "olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "other" },
            },
          },
        ],
        findings: ["ownership"],
        problem: { type: "ObjectConflict", next: expect.stringContaining("other") },
        error: WaitingError,
      }),
    ],
    [
      "a kind that another CRD defines",
      (ns) => ({
        objects: [renameDefinition(`${ns}.example.com`)],
        existing: [thingDefinition(`${ns}.example.com`)],
        findings: ["kindConflict"],
        problem: {
          type: "KindConflict",
          message: expect.stringContaining(`because 'things.${ns}.example.com' already defines it`),
          details: { objects: [{ group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", name: `items.${ns}.example.com` }] },
        },
        error: WaitingError,
      }),
    ],
    [
      "a CRD that cannot replace an existing CRD of another owner",
      (ns) => ({
        objects: [thingDefinition(`${ns}.example.com`, buildSizedSchema("integer"))],
        existing: [thingDefinition(`${ns}.example.com`, buildSizedSchema("string"))],
        findings: ["ownership", "crdUpgrade"],
        error: WaitingError,
      }),
    ],
    [
      "a CRD that cannot replace the CRD that the extension installed",
      (ns) => ({
        objects: [thingDefinition(`${ns}.example.com`, buildSizedSchema("integer"))],
        existing: [thingDefinition(`${ns}.example.com`, buildSizedSchema("string"))],
        history: () => [releaseRecord(1, "deployed", { objects: [thingDefinition(`${ns}.example.com`, buildSizedSchema("string"))] })],
        findings: ["crdUpgrade"],
        problem: { type: "CRDUpgradeUnsafe", details: { crds: [{ name: `things.${ns}.example.com`, check: "type" }] } },
      }),
    ],
    [
      "missing namespaces, before another denial",
      (ns) => ({
        objects: [configMap("a", `${ns}-b`), configMap("b", `${ns}-a`), configMap("c", `${ns}-b`), invalid(ns)],
        findings: ["namespace", "namespace", "dryRun"],
        problem: {
          type: "NamespaceNotFound",
          next: "create the namespace, or remove it from the extension's configuration",
          details: { namespaces: [`${ns}-a`] },
        },
        error: WaitingError,
      }),
    ],
    [
      "invalid objects",
      (ns) => ({
        objects: [invalid(ns), configMap("a", ns)],
        findings: ["dryRun"],
        problem: { type: "ObjectRejected", details: { objects: [{ kind: "ConfigMap", namespace: ns, name: "Not_A_Name" }] } },
      }),
    ],
    [
      "a quota that denies each object",
      (ns) => ({
        objects: [configMap("a", ns)],
        settled: (at) => small(at, { "count/configmaps": "1" }),
        findings: ["dryRun"],
        problem: { type: "QuotaExceeded" },
        error: DeniedError,
      }),
    ],
    [
      "a quota that all objects together exceed",
      (ns) => ({
        objects: [configMap("a", ns), configMap("b", ns)],
        settled: (at) => small(at, { "count/configmaps": "2" }),
        findings: ["quota"],
        problem: { type: "QuotaExceeded", details: { quotas: [{ namespace: ns, name: "small" }] } },
        error: DeniedError,
      }),
    ],
  ];

  test.for(SCENARIOS)("preflight in a reconcile and in a plan reports the same first message when it finds %s", async ([, scenarioFor]) => {
    const lone = await loneExtension(cluster);
    const scenario = scenarioFor(lone.ns);
    for (const object of scenario.existing ?? []) {
      await cluster.client.create(object);
      if (object.kind === "CustomResourceDefinition") await waitForDefinition(cluster.client, object);
    }
    await scenario.settled?.(lone.ns);
    await lone.account.grant(scenario.rules ?? [EVERYTHING]);
    await expectSameFindings(lone, scenario);
  });

  // The conversion webhook is removed with its Service, which is another object of the release.
  test("preflight in a reconcile and in a plan reports the same first message when custom resources need a removed conversion webhook", async () => {
    const lone = await loneExtension(cluster);
    const { ns } = lone;
    const crd = buildConverted(ns);
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "gone", namespace: ns } };
    const release = releaseRecord(1, "deployed", { objects: [crd, service] });
    const scenario: Scenario = {
      objects: [configMap("a", ns), invalid(ns)],
      history: () => [release],
      findings: ["dryRun", "conversion"],
    };
    const { desired } = await requestFor(lone, { ...scenario, objects: [crd] });
    await cluster.client.apply(desired[0] ?? crd, { fieldManager: "test", force: true });
    await eventually(() => cluster.client.create(thing(ns)));
    await expectSameFindings(lone, scenario);
    await expectSameFindings(lone, {
      ...scenario,
      objects: [configMap("a", ns)],
      findings: ["conversion"],
      problem: { type: "ConversionNeeded", details: { crds: [{ name: `things.${ns}.example.com` }] } },
    });
    // A custom resource that cannot be converted stops the garbage collector before https://github.com/kubernetes/kubernetes/pull/125796.
    await cluster.client.delete(toObjectRef(thing(ns)));
  });

  /** Runs both modes and compares their first findings. */
  async function expectSameFindings(lone: LoneExtension, scenario: Scenario): Promise<void> {
    // The API server's caches may not contain the newest permissions and objects yet.
    await eventually(async () => {
      const collected = await preflight(await requestFor(lone, scenario), { mode: "collect" });
      expect(collected.findings.map(({ kind }) => kind)).toEqual(scenario.findings);
      expect(collected.tolerated !== undefined).toBe(scenario.install?.permissions === "Warn");
      const stopped = newChecked();
      const error = await findRejection(await requestFor(lone, scenario), stopped);
      const [first] = collected.findings;
      expect(stopped.findings).toEqual(collected.findings.slice(0, stopped.findings.length));
      if (!first) {
        expect(error).toBeUndefined();
        expect([...collected.live]).toEqual([...stopped.live]);
        expect([...collected.after.keys()]).toEqual([...stopped.after.keys()]);
        return;
      }
      expect(stopped.findings.length).toBeGreaterThan(0);
      const problems = getProblems(error);
      const texts = [getErrorMessage(error), ...problems.flatMap(({ message, next = "" }) => [message, next])].join("\n");
      for (const finding of stopped.findings.filter(({ kind }) => kind === first.kind)) expect(texts).toContain(finding.message);
      expect(texts).toContain(first.next ?? "");
      if (scenario.problem) expect(first.problems[0]).toMatchObject(scenario.problem);
      if (scenario.error) expect(error).toBeInstanceOf(scenario.error);
      expect(error).toMatchObject({ retry: true });
    });
  }

  async function findRejection(request: PreflightRequest, checked: Checked): Promise<unknown> {
    return preflight(request, { mode: "stop", checked }).then(
      () => undefined,
      (err: unknown) => err,
    );
  }
});
