import { beforeAll, describe, expect, test } from "vitest";
import type { ClusterExtension, ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import type { Plan } from "../../pkg/api/clusterExtensionStatus.ts";
import { ANNOTATION_APPROVE } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import type { Problem } from "../../pkg/api/problems.ts";
import { mapInParallel } from "../../pkg/async/concurrency.ts";
import { getProblems } from "../../pkg/errors/errors.ts";
import { Handovers, ObjectLocks } from "../../pkg/operatorcontroller/apply/handovers.ts";
import { ObjectReconciler } from "../../pkg/operatorcontroller/apply/objectReconciler.ts";
import { StorageMigrator } from "../../pkg/operatorcontroller/crds/storageMigrator.ts";
import { keepInstalled } from "../../pkg/operatorcontroller/reconcile/apply.ts";
import type { RollbackServices } from "../../pkg/operatorcontroller/reconcile/rollback.ts";
import { ExtensionCache } from "../../pkg/operatorcontroller/state/extensionCache.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import type { InstalledBundle } from "../../pkg/release/installedBundle.ts";
import { describeWithCluster, eventually, type TestCluster } from "../support/cluster.ts";
import { MemoryReleases, RecordedEvents, stepContext } from "../support/extensionFakes.ts";
import { type LoneExtension, loneExtension } from "../support/loneExtension.ts";
import { buildAuthenticated } from "../support/phases.ts";
import { configMap } from "../support/releases.ts";
import { olmv1 } from "../support/runCli.ts";

type Install = NonNullable<ClusterExtension["spec"]["install"]>;
type Safety = NonNullable<Install["preflight"]>["crdUpgradeSafety"];

interface Version {
  served?: boolean;
  storage?: boolean;
  /** The schema of spec. */
  spec: unknown;
}

const STRING = { type: "object", properties: { size: { type: "string" } } };
const SHORT = { type: "object", properties: { size: { type: "string", maxLength: 3 } } };
const NUMBER = { type: "object", properties: { size: { type: "integer" } } };

/** A CRD of widgets in its own group. The first version is stored. */
function widgets(ns: string, versions: Record<string, Version>, conversion?: unknown): KubeObject {
  const group = `${ns}.example.com`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      ...(conversion === undefined ? {} : { conversion }),
      versions: Object.entries(versions).map(([name, { served = true, storage = Object.keys(versions)[0] === name, spec }]) => ({
        name,
        served,
        storage,
        schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
      })),
    },
  };
}

/** Applies the bundles of an extension with one call for each reconcile. */
class Installing {
  readonly #cluster: TestCluster;
  readonly #lone: LoneExtension;
  readonly releases = new MemoryReleases();
  readonly events = new RecordedEvents();
  storageMigration: Install["storageMigration"];
  migrator: StorageMigrator | undefined;
  approval: ClusterExtensionSpec["approval"];
  /** Digest of the approved plan. */
  approved = "";
  /** The last plan that waits for approval. */
  plan: Plan | undefined;
  /** The first problem of the last refusal. */
  #problem: Problem | undefined;

  constructor(cluster: TestCluster, lone: LoneExtension) {
    this.#cluster = cluster;
    this.#lone = lone;
  }

  get ns(): string {
    return this.#lone.ns;
  }

  grant(rules: readonly PolicyRule[]): Promise<void> {
    return this.#lone.account.grant(rules);
  }

  /** Applies a bundle of these objects. @returns the error's text, or "". */
  async apply(version: string, objects: readonly KubeObject[], safety?: Safety): Promise<string> {
    const { x, account } = this.#lone;
    const { storageMigration, migrator } = this;
    const install: Install = {
      ...(safety ? { preflight: { crdUpgradeSafety: safety } } : {}),
      ...(storageMigration ? { storageMigration } : {}),
    };
    const extension = {
      ...x,
      metadata: { ...x.metadata, annotations: { [ANNOTATION_APPROVE]: this.approved } },
      spec: {
        ...x.spec,
        ...(Object.keys(install).length > 0 ? { install } : {}),
        ...(this.approval ? { approval: this.approval } : {}),
      },
    };
    const bundle: InstalledBundle = { packageName: "p", name: `p.v${version}`, version, image: "quay.io/p@sha256:1" };
    const installed = this.releases.now().current.length > 0 ? bundle : undefined;
    const phase = buildAuthenticated(extension, { releases: { history: this.releases.now(), installed }, client: account.client });
    const deps: RollbackServices = {
      discovery: this.#cluster.client,
      releases: this.releases,
      events: this.events,
      now: Date.now,
      driftIntervalMs: 0,
      extensionExists: () => true,
      memory: new ExtensionCache(),
      locks: new ObjectLocks(),
      handovers: new Handovers(() => []),
      catalogContent: () => "",
      ...(migrator ? { storageMigrator: migrator } : {}),
    };
    try {
      await new ObjectReconciler(deps, phase, stepContext()).release({
        bundle: { ...bundle, explanation: "" },
        objects,
        annotations: {},
      });
      return "";
    } catch (err) {
      this.plan = phase.report.plan;
      await keepInstalled(deps, phase, stepContext());
      const [problem] = getProblems(err);
      const message = problem?.type === "CRDUpgradeUnsafe" ? problem.message : (err as Error).message;
      this.#problem = problem;
      return [message, ...(problem?.next === undefined ? [] : [problem.next])].join("; ");
    }
  }

  /** Expects the problem of a refusal. @returns the error's text */
  async expectProblem(applied: Promise<string>, type: string, more: Partial<Problem>): Promise<string> {
    const text = await applied;
    expect(this.#problem).toMatchObject({ type, ...more });
    return text;
  }

  /** Creates a widget as soon as its kind is served. */
  async widget(name: string, version: string, spec: unknown): Promise<void> {
    const object = { apiVersion: `${this.ns}.example.com/${version}`, kind: "Widget", metadata: { name, namespace: this.ns }, spec };
    await eventually(() => this.#cluster.client.create(object));
  }

  /** Deletes a Widget. */
  async deleteWidget(name: string, version: string): Promise<void> {
    await this.#cluster.client.delete({ apiVersion: `${this.ns}.example.com/${version}`, kind: "Widget", name, namespace: this.ns });
  }

  /** Reads the live CRD. */
  async crd(): Promise<KubeObject> {
    const found = await this.#cluster.client.get(toObjectRef(widgets(this.ns, { v1: { spec: STRING } })));
    if (!found) throw new Error("the CRD does not exist");
    return found;
  }

  /** Returns the schema of spec in a version of the live CRD. */
  async schemaOf(version: string): Promise<unknown> {
    const { versions } = (await this.crd())["spec"] as {
      versions: { name: string; schema: { openAPIV3Schema: { properties: { spec: unknown } } } }[];
    };
    return versions.find(({ name }) => name === version)?.schema.openAPIV3Schema.properties.spec;
  }

  /** Waits until the status of the CRD lists these stored versions. */
  async stores(...versions: string[]): Promise<void> {
    await eventually(async () => expect((await this.crd())["status"]).toMatchObject({ storedVersions: versions }));
  }
}

describeWithCluster("CRD upgrade safety on a real API server", (cluster) => {
  beforeAll(() => cluster.installCrds());

  const start = async (): Promise<Installing> => new Installing(cluster, await loneExtension(cluster));

  test("an upgrade that could lose data writes nothing, reports all findings, and keeps the installed bundle reconciled", async () => {
    const it = await start();
    expect(await it.apply("1", [widgets(it.ns, { v1: { spec: STRING } }), configMap("a", it.ns)])).toBe("");
    await it.widget("fine", "v1", { size: "123" });
    await it.widget("large", "v1", { size: "1234" });
    const live = await it.crd();
    await cluster.client.delete(toObjectRef(configMap("a", it.ns)));
    const changed = { type: "object", required: ["size"], properties: { size: { type: "string", maxLength: 3, pattern: "^[0-9]+$" } } };
    const refused = await it.apply("2", [widgets(it.ns, { v1: { spec: changed } }), configMap("b", it.ns)]);
    expect(refused).toBe(
      `validating upgrade for CRD "widgets.${it.ns}.example.com": v1: ^.spec: required: new required fields: [size]\n` +
        "v1: ^.spec.size: maxLength: maximum constraint added when there was none previously : 3\n" +
        'v1: ^.spec.size: pattern: pattern added : "" -> "^[0-9]+$"; ' +
        `existingObjects: 1 of 2 custom resources would not be valid under the new CRD "widgets.${it.ns}.example.com": ` +
        `${it.ns}/large (v1): spec.size: has more than 3 characters`,
    );
    expect(await it.apply("2", [widgets(it.ns, { v1: { spec: changed } }), configMap("b", it.ns)])).toBe(refused);
    expect((await it.crd()).metadata.resourceVersion).toBe(live.metadata.resourceVersion);
    expect(await cluster.client.get(toObjectRef(configMap("b", it.ns)))).toBeUndefined();
    expect(await cluster.client.get(toObjectRef(configMap("a", it.ns)))).toBeDefined();
    expect(it.releases.state).toEqual(["v1 deployed"]);
  });

  test("a CRD upgrade that cannot lose data is applied without findings", async () => {
    const it = await start();
    await it.apply("1", [widgets(it.ns, { v1: { spec: SHORT } })]);
    await it.grant([
      { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["get", "create", "patch", "delete"] },
    ]);
    expect(await it.apply("2", [widgets(it.ns, { v1: { spec: SHORT }, v2: { spec: SHORT } })])).toBe("");
    expect(it.events.seen.filter((event) => event.includes("CrdUpgradeSafety"))).toEqual([]);
  });

  describe("spec.install.preflight.crdUpgradeSafety", () => {
    test("enforcement None permits every CRD upgrade", async () => {
      const it = await start();
      await it.apply("1", [widgets(it.ns, { v1: { spec: STRING } })]);
      await it.widget("w", "v1", { size: "1234" });
      const after = [widgets(it.ns, { v1: { spec: NUMBER } })];
      expect(await it.apply("2", after, { enforcement: "Strict" })).toContain('type: type changed : "string" -> "integer"');
      expect(await it.apply("2", after, { enforcement: "None" })).toBe("");
      expect(await it.schemaOf("v1")).toEqual(NUMBER);
    });

    test("a disabled CRD check is skipped, and the check of existing objects must be disabled separately", async () => {
      const it = await start();
      await it.apply("1", [widgets(it.ns, { v1: { spec: STRING } })]);
      await it.widget("w", "v1", { size: "1234" });
      const after = [widgets(it.ns, { v1: { spec: SHORT } })];
      const refused = await it.apply("2", after, { enforcement: "Strict", ignore: ["maxLength"] });
      expect(refused).toMatch(/^existingObjects: 1 of 1 custom resource would not be valid under the new CRD /);
      expect(await it.apply("2", after, { enforcement: "Strict", ignore: ["maxLength", "existingObjects"] })).toBe("");
      expect(await it.schemaOf("v1")).toEqual(SHORT);
    });
  });

  test("the CRD check lists a limited number of invalid objects, and reports how many exist", async () => {
    const it = await start();
    await it.apply("1", [widgets(it.ns, { v1: { spec: STRING } })]);
    for (const name of ["a", "b", "c", "d", "e", "f", "g"]) await it.widget(name, "v1", { size: "long" });
    const refused = await it.apply("2", [widgets(it.ns, { v1: { spec: SHORT } })]);
    expect(refused).toContain("existingObjects: 7 of 7 custom resources would not be valid");
    expect(refused).toMatch(/e \(v1\): spec\.size: has more than 3 characters; and 2 more$/);
  });

  test("a CRD upgrade is applied without a check of existing objects when the ServiceAccount cannot list the objects, and this is reported", async () => {
    const it = await start();
    await it.apply("1", [widgets(it.ns, { v1: { spec: SHORT } })]);
    await it.widget("w", "v1", { size: "123" });
    await it.grant([
      { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["get", "create", "patch", "delete"] },
    ]);
    const wider = { type: "object", properties: { size: { type: "string", maxLength: 4 } } };
    expect(await it.apply("2", [widgets(it.ns, { v1: { spec: wider } })])).toBe("");
    const note = it.events.seen.find((event) => event.includes("CrdUpgradeSafety"));
    expect(note).toContain(`existingObjects: the custom resources of CRD "widgets.${it.ns}.example.com" were not checked: `);
    expect(note).toContain(`cannot list resource "widgets" in API group "${it.ns}.example.com"`);
  });

  test("a CRD upgrade with ignored changes of CEL rules is rejected when a custom resource does not satisfy a rule, and reports rules that were not checked", async () => {
    const it = await start();
    await it.apply("1", [widgets(it.ns, { v1: { spec: STRING } })]);
    await it.widget("w", "v1", { size: "1234" });
    const applyRules = (...rules: string[]): Promise<string> => {
      const spec = { ...STRING, "x-kubernetes-validations": rules.map((rule) => ({ rule })) };
      return it.apply("2", [widgets(it.ns, { v1: { spec } })], { enforcement: "Strict", ignore: ["unhandled"] });
    };
    const name = `"widgets.${it.ns}.example.com"`;
    expect(await applyRules("self.size.size() < 3")).toContain(
      `existingObjects: 1 of 1 custom resource would not be valid under the new CRD ${name}: ${it.ns}/w (v1): spec: failed rule: self.size.size() < 3`,
    );
    expect(await applyRules("self.size.size() < 5", "self.size.find('[a-z]') != ''")).toBe("");
    const text = `existingObjects: some rules (x-kubernetes-validations) of CRD ${name} were not checked: self.size.find('[a-z]') != '': function 'find' is not available`;
    expect(it.events.seen.join("\n")).toContain(text);
  });

  test("an upgrade is rejected before CRDs are compared when the CRD has another owner", async () => {
    const it = await start();
    const theirs = widgets(it.ns, { v1: { spec: STRING } });
    await cluster.client.create({ ...theirs, metadata: { ...theirs.metadata, labels: { "app.kubernetes.io/managed-by": "somebody" } } });
    const refused = await it.apply("1", [widgets(it.ns, { v1: { spec: NUMBER } })]);
    expect(refused).toMatch(/^failed to get release state using server-side dry-run: .*cannot be managed by operator-controller/);
    expect(refused).not.toContain("validating upgrade");
  });

  describe("served versions", () => {
    const withBothVersions = (ns: string, conversion?: unknown) => widgets(ns, { v1: { spec: STRING }, v2: { spec: NUMBER } }, conversion);

    test("a CRD whose served versions have different schemas is rejected, unless a webhook converts between the versions", async () => {
      const it = await start();
      await it.apply("1", [widgets(it.ns, { v1: { spec: STRING } })]);
      await it.widget("w", "v1", { size: "1234" });
      expect(await it.apply("2", [withBothVersions(it.ns)])).toMatch(
        /: v1 -> v2: \^\.spec\.size: type: type changed : "string" -> "integer"$/,
      );
      const service = { name: "converter", namespace: it.ns, path: "/convert" };
      const webhook = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], clientConfig: { service } } };
      expect(await it.apply("2", [withBothVersions(it.ns, webhook)])).toBe("");
      expect(await it.schemaOf("v2")).toEqual(NUMBER);
      // A custom resource that cannot be converted stops the garbage collector before https://github.com/kubernetes/kubernetes/pull/125796.
      await it.deleteWidget("w", "v1");
    });

    test("served versions are removed in two upgrades while custom resources exist", async () => {
      const it = await start();
      const versions = { v1: { spec: STRING }, v1beta1: { spec: STRING } };
      await it.apply("1", [widgets(it.ns, versions)]);
      await it.widget("w", "v1", { size: "1" });
      const gone = [widgets(it.ns, { v1: { spec: STRING } })];
      expect(await it.apply("2", gone)).toBe(
        `servedVersionRemoval: served versions removed : [v1beta1] of CRD "widgets.${it.ns}.example.com" while custom resources exist: ` +
          "first upgrade to a bundle that no longer serves the version, and then to one that removes it",
      );
      expect(await it.apply("2", [widgets(it.ns, { ...versions, v1beta1: { served: false, spec: STRING } })])).toBe("");
      expect(await it.apply("3", gone)).toBe("");
    });
  });

  describe("stored versions", () => {
    const withOldVersion = (ns: string) => widgets(ns, { v1alpha1: { spec: STRING }, v1: { spec: STRING } });
    const withMovedStorage = (ns: string) =>
      widgets(ns, { v1alpha1: { served: false, storage: false, spec: STRING }, v1: { storage: true, spec: STRING } });
    const without = (ns: string) => widgets(ns, { v1: { spec: STRING } });

    test("an upgrade without a stored version is rejected while custom resources exist, and succeeds after the steps in the message", async () => {
      const it = await start();
      await it.apply("1", [withOldVersion(it.ns)]);
      await it.widget("w", "v1", { size: "1" });
      expect(await it.apply("2", [withMovedStorage(it.ns)])).toBe("");
      await it.stores("v1alpha1", "v1");
      const advice = `objects of CRD "widgets.${it.ns}.example.com" may be stored in version v1alpha1, which the bundle no longer serves: after the upgrade, store them in the new version: olmv1 crd migrate`;
      expect(it.events.seen.join("\n")).toContain(advice);
      it.storageMigration = "Never";
      expect(await it.apply("3", [without(it.ns)])).not.toContain("olmv1 crd migrate");
      it.storageMigration = "Manual";
      const refused = await it.apply("3", [without(it.ns)]);
      const crd = `widgets.${it.ns}.example.com`;
      expect(refused).toContain(`validating upgrade for CRD "${crd}": storedVersionRemoval: stored versions removed : [v1alpha1]; `);
      expect(refused).toContain(
        `objects of CRD "${crd}" may be stored in version v1alpha1: store them in the new version, and remove the old one: olmv1 crd migrate ${crd}`,
      );
      const { code, out } = await olmv1("crd", "migrate", crd, "--kubeconfig", cluster.kubeconfig);
      expect([code, out]).toEqual([0, `CRD ${crd}: 1 custom resource stored in version v1; removed v1alpha1 from status.storedVersions\n`]);
      expect(await it.apply("3", [without(it.ns)])).toBe("");
      // An object that is still stored in a removed version cannot be read.
      const read = await cluster.client.get({ apiVersion: `${it.ns}.example.com/v1`, kind: "Widget", namespace: it.ns, name: "w" });
      expect(read?.["spec"]).toEqual({ size: "1" });
    });

    test("with storageMigration Automatic, custom resources are stored in the new version before an upgrade, also after a restart", async () => {
      const it = await start();
      it.storageMigration = "Automatic";
      await it.apply("1", [withOldVersion(it.ns)]);
      const count = 510; // more than one page of the migration
      await it.widget("w0", "v1alpha1", { size: "1" });
      await mapInParallel(
        Array.from({ length: count - 1 }, (_, i) => `w${i + 1}`),
        16,
        (name) => it.widget(name, "v1alpha1", { size: "1" }),
      );
      expect(await it.apply("2", [withMovedStorage(it.ns)])).toBe("");
      await it.stores("v1alpha1", "v1");
      const doing = `storing the custom resources of CRD "widgets.${it.ns}.example.com" in version v1 instead of v1alpha1 before the upgrade: `;
      it.migrator = new StorageMigrator({ rate: 1 }); // waits after the first page
      const text = `${doing}0 custom resources`;
      const details = { crds: [{ name: `widgets.${it.ns}.example.com`, message: text }] };
      expect(await it.expectProblem(it.apply("3", [without(it.ns)]), "StorageMigrationRunning", { details })).toBe(text);
      await eventually(async () => expect(await it.apply("3", [without(it.ns)])).toBe(`${doing}500 of ${count} custom resources`));
      await it.migrator.end();
      await it.stores("v1alpha1", "v1");
      expect(it.releases.state.at(-1)).toBe("v2 deployed");
      it.migrator = new StorageMigrator({ rate: 10_000 });
      await eventually(async () => expect(await it.apply("3", [without(it.ns)])).toBe(""));
      await it.stores("v1");
      const { items } = await cluster.client.list({ apiVersion: `${it.ns}.example.com/v1`, kind: "Widget" });
      expect([items.length, items.every(({ spec }) => JSON.stringify(spec) === '{"size":"1"}')]).toEqual([count, true]);
      const refused = await it.apply("4", [widgets(it.ns, { v1: { spec: SHORT } })]);
      expect(refused).toContain(`${count} custom resources of CRD "widgets.${it.ns}.example.com" would still be valid`);
    });

    test("a stored version is removed from the CRD's status when no custom resource exists, if the ServiceAccount has permission", async () => {
      const it = await start();
      await it.apply("1", [withOldVersion(it.ns)]);
      await it.apply("2", [withMovedStorage(it.ns)]);
      await it.stores("v1alpha1", "v1");
      const crdRule: PolicyRule = {
        apiGroups: ["apiextensions.k8s.io"],
        resources: ["customresourcedefinitions"],
        verbs: ["get", "create", "patch", "delete"],
      };
      const widgetRule: PolicyRule = { apiGroups: [`${it.ns}.example.com`], resources: ["widgets"], verbs: ["list"] };
      await it.grant([crdRule, widgetRule]);
      const refused = await it.apply("3", [without(it.ns)]);
      expect(refused).toContain("status.storedVersions of the CRD could not be updated: ");
      expect(refused).toContain('cannot patch resource "customresourcedefinitions/status"');
      const crd = `widgets.${it.ns}.example.com`;
      expect(refused.split("; ").slice(2)).toEqual([
        `service account requires the following permission:\n  Namespace:"" APIGroups:[apiextensions.k8s.io] Resources:[customresourcedefinitions/status] ResourceNames:[${crd}] Verbs:[patch]`,
        expect.stringMatching(/^print the exact roles: olmv1 rbac quay\.io\/p@sha256:1 --namespace /) as string,
      ]);
      const onStatus = { ...crdRule, resources: ["customresourcedefinitions/status"], resourceNames: [crd], verbs: ["patch"] };
      await it.grant([crdRule, onStatus, widgetRule]);
      expect(await it.apply("3", [without(it.ns)])).toBe("");
      await it.stores("v1");
      expect(it.events.seen).toContain(
        `Normal CrdUpgradeSafety: removed v1alpha1 from status.storedVersions of CRD "widgets.${it.ns}.example.com": no custom resources exist`,
      );
    });

    test("a stored version is not removed before the upgrade is approved", async () => {
      const it = await start();
      await it.apply("1", [withOldVersion(it.ns)]);
      await it.apply("2", [withMovedStorage(it.ns)]);
      await it.stores("v1alpha1", "v1");
      it.approval = "Manual";
      expect(await it.apply("3", [without(it.ns)])).toMatch(/^waiting for approval to create 0, update 1 and delete 0 objects/);
      await it.stores("v1alpha1", "v1");
      it.approved = it.plan?.digest ?? "";
      expect(await it.apply("3", [without(it.ns)])).toBe("");
      await it.stores("v1");
    });

    test("a stored version is not removed while objects are written in it", async () => {
      const it = await start();
      await it.apply("1", [withOldVersion(it.ns)]);
      await it.stores("v1alpha1");
      const refused = await it.apply("2", [without(it.ns)]);
      expect(refused).toContain("are stored in version v1alpha1: first upgrade to a bundle that stores them in another version");
      expect(await it.schemaOf("v1alpha1")).toEqual(STRING);
    });
  });
});
