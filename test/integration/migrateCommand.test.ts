import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { ANNOTATION_STEP, CONVERSION_STEPS } from "../../pkg/api/migration.ts";
import { getObjectAt } from "../../pkg/golang/members.ts";
import { ClassicOperator } from "../support/classicOperator.ts";
import { ClassicRecording } from "../support/classicRecording.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { MigrationWorld, TemplateWatch } from "../support/migrationWorld.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { ServingPod } from "../support/servingPod.ts";
import { describeWithData } from "../support/sharedData.ts";
import { whileAsking } from "../support/whileAsking.ts";

/**
 * Packages of the recording: spec.config; a ServiceAccount as manifest and spec.config; OwnNamespace only; SingleNamespace with webhooks; custom
 * resources of a kind Secret.
 */
const PACKAGES = ["skupper-operator", "keda", "cat-facts-operator", "rabbitmq-cluster-operator", "ecr-secret-operator"];
const CONVERTED = PACKAGES.slice(0, 4);
const CLASSIC = "operators.coreos.com";
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" };
/** The only lines on standard error: progress of slow steps. */
const PROGRESS = /^(olmv1: .* \(\d+ s\)\n)*$/;
const ACCOUNT = ["--create-service-account", "--yes"];

describeWithData("the state that OLM v0 left on a real cluster", (folder) => {
  describeWithPrivateCluster("olmv1 migrate", (cluster) => {
    const recording = ClassicRecording.read(folder);
    let world: MigrationWorld;
    let templates: TemplateWatch;
    let olm: ClassicOperator;

    const extension = (packageName: string): ObjectRef => ({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: packageName });
    const classic = (packageName: string, kind: "Subscription" | "ClusterServiceVersion"): ObjectRef => {
      const { namespace, subscription, csv } = recording.get(packageName);
      return { apiVersion: `${CLASSIC}/v1alpha1`, kind, namespace, name: kind === "Subscription" ? subscription : csv };
    };
    const exists = (...refs: ObjectRef[]): Promise<boolean[]> =>
      Promise.all(refs.map(async (ref) => (await cluster.client.get(ref)) !== undefined));
    /** Runs a command for a package, which must succeed. */
    const run = async (verb: string, packageName: string, ...args: string[]): Promise<string> => {
      const { namespace, subscription } = recording.get(packageName);
      const { code, out, err } = await world.migrate([verb, subscription, "-n", namespace, ...args]);
      expect([packageName, code, err]).toEqual([packageName, 0, expect.stringMatching(PROGRESS)]);
      return out;
    };
    /** Starts a program in place of the Pod that serves the webhooks of rabbitmq-cluster-operator. It allows all requests. */
    const startWebhookPod = (): Promise<ServingPod> => {
      const name = "rabbitmq-cluster-operator-service";
      const allow = (body: unknown): object => {
        const { apiVersion, kind, request } = body as { apiVersion: string; kind: string; request: { uid: string } };
        return { apiVersion, kind, response: { uid: request.uid, allowed: true } };
      };
      const options = { namespace: "op-single", service: name, port: 9443, secret: `${name}-cert` };
      return ServingPod.start(cluster.client, { ...options, answer: ({ body }) => allow(body) });
    };
    /** Calls the webhooks. */
    const tryCreate = (): Promise<KubeObject> => {
      const metadata = { namespace: "watched-a", name: cluster.name("probe") };
      return cluster.client.create({ apiVersion: "rabbitmq.com/v1beta1", kind: "RabbitmqCluster", metadata, spec: {} }, { dryRun: true });
    };
    /** The extension, not OLM v0, must own the remaining webhook configurations. */
    const expectOwnWebhooks = async (): Promise<void> => {
      const kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
      const found = await Promise.all(kinds.map((kind) => cluster.client.list({ apiVersion: "admissionregistration.k8s.io/v1", kind })));
      const owners = found.flatMap(({ items }) => items.map(({ metadata }) => metadata.labels?.["olm.operatorframework.io/owner-name"]));
      expect(owners).toEqual(["rabbitmq-cluster-operator", "rabbitmq-cluster-operator"]);
    };
    /** Watches the permission of an operator in the namespace that its OperatorGroup targets. */
    const watchAccess = (): AccessWatch =>
      new AccessWatch(cluster.client, {
        user: "system:serviceaccount:op-single:rabbitmq-cluster-operator",
        resourceAttributes: { namespace: "watched-a", verb: "list", group: "rabbitmq.com", resource: "rabbitmqclusters" },
      });
    /** No write may change a Pod template. */
    const expectNoRestart = (): void => {
      const changed = [...templates.templates].filter(([, states]) => states.length > 1);
      expect(changed).toEqual([]);
      expect(olm.errors).toEqual([]);
    };

    beforeAll(async () => {
      world = await MigrationWorld.start(cluster, { folder, recording, packages: PACKAGES });
      templates = new TemplateWatch(cluster);
      olm = new ClassicOperator(cluster.client);
    }, 300_000);
    afterAll(async () => {
      await olm[Symbol.asyncDispose]();
      await templates[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    });

    test("the imitation of OLM v0 writes the Deployments that the real one wrote", async () => {
      await eventually(() => expect(olm.written.size).toBe(PACKAGES.length));
      expectNoRestart();
    });

    test("olmv1 migrate check reports the Subscriptions that convert can convert, and changes nothing", async () => {
      const before = await cluster.client.list(DEPLOYMENT);
      const { code, out, err } = await world.migrate(["check"]);
      expect([code, err]).toEqual([1, expect.stringMatching(PROGRESS)]);
      for (const packageName of CONVERTED) expect(out).toMatch(new RegExp(`/${packageName}: Eligible$`, "m"));
      expect(out).toMatch(/op-own\/ecr-secret-operator: Ineligible\n.*field not declared in schema/);
      expect(out).not.toMatch(/delete CustomResourceDefinition/);
      expect(await exists(...PACKAGES.map(extension))).toEqual(PACKAGES.map(() => false));
      expect((await cluster.client.list(DEPLOYMENT)).items).toEqual(before.items);
    });

    test("olmv1 migrate convert --all prints one table of all Subscriptions and their ClusterExtensions, and changes nothing", async () => {
      const { code, out, err } = await world.migrate(["convert", "--all"]);
      expect([code, err]).toEqual([1, expect.stringMatching(PROGRESS)]);
      for (const packageName of CONVERTED)
        expect(out).toMatch(new RegExp(`${packageName} +Eligible +becomes ClusterExtension ${packageName}: .*no Pod restarts`));
      expect(out).toContain("4 Eligible, 1 Refused\n");
      expect((await world.migrate(["convert", "--all", "-n", "default"])).out).toBe("no Subscriptions found\n");
      expect(await exists(...PACKAGES.map(extension))).toEqual(PACKAGES.map(() => false));
    });

    test("olmv1 migrate catalogs converts a CatalogSource with an image, and reports installed bundles that the image lacks", async () => {
      const metas = (await readFile(world.path("catalog.json"), "utf8")).split("\n").map((line) => JSON.parse(line) as { name: string });
      const full = await world.pushCatalog("full", metas);
      const lacking = metas.filter(({ name }) => name !== "keda.v2.3.0");
      const older = await world.pushCatalog(
        "older",
        lacking.map((meta) => ({ ...meta, ...("entries" in meta && "package" in meta && meta.package === "keda" ? { entries: [] } : {}) })),
      );
      const source: ObjectRef = { apiVersion: `${CLASSIC}/v1alpha1`, kind: "CatalogSource", namespace: "olm", name: "lab" };
      const recorded = await cluster.client.get(source);
      const poll = { updateStrategy: { registryPoll: { interval: "10m" } } };
      const setImage = (image: string): Promise<KubeObject> =>
        cluster.client.patch(source, { spec: { address: null, image, priority: -5, secrets: ["pull"], ...poll } }, { type: "merge" });
      await setImage(full);
      const named = ["catalogs", "lab", "--name", "from-classic"];
      const { code, out } = await world.migrate(named);
      expect([code, out]).toEqual([0, expect.stringContaining(`ref: ${full}\n      pollIntervalMinutes: 10\n  priority: -5\n`)]);
      expect(out).toContain("note: pull secrets are not migrated: olm/pull.");
      expect(out).not.toContain("the image does not contain");
      await setImage(older);
      expect((await world.migrate(named)).out).toContain(
        'the image does not contain "keda.v2.3.0", version 2.3.0, which Subscription op-keda/keda installed',
      );
      const catalog = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: "from-classic" };
      expect(await exists(catalog)).toEqual([false]);
      const created = await world.migrate([...named, "--yes", "--timeout", "1s"]);
      expect([created.code, created.out]).toEqual([1, expect.stringContaining("created but not served")]); // no catalogd runs here
      expect((await cluster.client.get(catalog))?.["spec"]).toMatchObject({ priority: -5, source: { image: { pollIntervalMinutes: 10 } } });
      expect((await world.migrate(["catalogs", "lab"])).out).toContain('ClusterCatalog "from-classic" already has the same image');
      await cluster.client.delete(catalog);
      await cluster.client.patch(source, [{ op: "replace", path: "/spec", value: recorded?.["spec"] }], { type: "json" });
    });

    test("olmv1 migrate convert prints objects that OLM v0 did not mark as adopted", async () => {
      const out = await run("convert", "keda");
      expect(out).toContain("no Pod restarts");
      expect(out).toMatch(/Adopted unchanged \(7\):\n  ServiceAccount op-keda\/keda-olm-operator\n/);
      expect(out).toContain("uninstall:\n    crdPolicy: Retain\n");
    });

    test("olmv1 migrate reports an unknown Subscription or ServiceAccount, and converts no CatalogSource without an image", async () => {
      const unknown = await world.migrate(["check", "nobody"]);
      expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('no Subscription "nobody" found in this cluster')]);
      const withoutAccount = await world.migrate(["convert", "keda", "--yes"]);
      expect([withoutAccount.code, withoutAccount.err]).toEqual([2, expect.stringContaining("--create-service-account")]);
      const asOther = await world.migrate(["convert", "keda", "--service-account", "nobody", "--yes"]);
      expect([asOther.code, asOther.out]).toEqual([1, expect.stringContaining("ServiceAccount op-keda/nobody does not exist")]);
      const sources = await world.migrate(["catalogs"]);
      expect([sources.code, sources.out]).toEqual([1, expect.stringMatching(/^olm +lab +Refused$/m)]);
      expect(sources.out).toContain(
        'Subscription op-keda/keda installed "keda.v2.3.0": olmv1 catalog add-bundle ./installed lab.example/bundles/keda:2.3.0 --channels ',
      );
      expect(await exists(extension("keda"))).toEqual([false]);
    });

    test("olmv1 migrate convert restarts no Pod, and never takes a permission or a webhook of an operator", async () => {
      const backup = world.path("backup.yaml");
      await using access = watchAccess();
      await eventually(() => expect(access.answers).toContain(true));
      await using pod = await startWebhookPod();
      await eventually(tryCreate);
      // the API server calls a new configuration for an instant before it contains the CA
      const retry = (): Promise<KubeObject> => eventually(tryCreate, { timeoutMs: 10_000 });
      const { answers, failures } = await whileAsking(retry, async () => {
        for (const packageName of CONVERTED) {
          await run("convert", packageName, ...ACCOUNT, ...(packageName === "keda" ? ["--backup", backup] : []));
          expectNoRestart();
          expect(await exists(classic(packageName, "Subscription"), classic(packageName, "ClusterServiceVersion"))).toEqual([false, false]);
        }
      });
      expect(failures).toEqual([]);
      expect(answers).toBeGreaterThan(10);
      expect([...pod.served.keys()].sort()).toEqual([
        "/mutate-rabbitmq-com-v1beta1-rabbitmqcluster",
        "/validate-rabbitmq-com-v1beta1-rabbitmqcluster",
      ]);
      expect(pod.certificates).toHaveLength(1); // that of OLM v0
      await expectOwnWebhooks();
      expect(await readFile(backup, "utf8")).toMatch(/kind: OperatorGroup[^]*kind: ClusterServiceVersion[^]*kind: Subscription/);
      expect((await world.migrate(["check", "keda"])).out).toContain("op-keda/keda: AlreadyMigrated");
      const role = { namespace: "watched-a", labelSelector: "olm.operatorframework.io/owner-name=rabbitmq-cluster-operator" };
      const { items } = await cluster.client.list({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" }, role);
      expect(items).toHaveLength(1);
      expect(new Set(access.answers)).toEqual(new Set([true]));
    });

    test("olmv1 migrate rollback fails when a backup was changed", async () => {
      const ref: ObjectRef = { apiVersion: "v1", kind: "Secret", namespace: "op-keda", name: "keda-migration-backup" };
      const { marks } = getObjectAt(await cluster.client.get(ref), "data");
      const write = (text: unknown): Promise<KubeObject> => cluster.client.patch(ref, { data: { marks: text } }, { type: "merge" });
      await write(Buffer.from("other").toString("base64"));
      const { code, err } = await world.migrate(["rollback", "keda", "--yes"]);
      expect([code, err]).toEqual([2, expect.stringContaining("was changed after the conversion wrote it")]);
      await write(marks);
    });

    test("olmv1 migrate rollback changes nothing when the backup was deleted", async () => {
      const ref: ObjectRef = { apiVersion: "v1", kind: "Secret", namespace: "op-keda", name: "keda-migration-backup" };
      const { apiVersion, kind, metadata, ...content } = (await cluster.client.get(ref)) as KubeObject;
      await cluster.client.delete(ref);
      const { code, err } = await world.migrate(["rollback", "keda", "--yes"]);
      expect([code, err]).toEqual([
        2,
        expect.stringContaining("Secret op-keda/keda-migration-backup with the backup of the conversion does"),
      ]);
      expect((await cluster.client.get(extension("keda")))?.["spec"]).not.toHaveProperty("suspend");
      const { name, labels = {} } = metadata;
      await cluster.client.create({ apiVersion, kind, metadata: { name, namespace: "op-keda", labels }, ...content });
    });

    test("olmv1 migrate rollback restarts no Pod, never takes a permission of an operator, and keeps certificates of OLM v0", async () => {
      await using access = watchAccess();
      const certificate: ObjectRef = {
        apiVersion: "v1",
        kind: "Secret",
        namespace: "op-single",
        name: "rabbitmq-cluster-operator-service-cert",
      };
      for (const packageName of CONVERTED) {
        await run("rollback", packageName, "--yes");
        const [subscription, csv] = [classic(packageName, "Subscription"), classic(packageName, "ClusterServiceVersion")];
        expect(await exists(subscription, csv, extension(packageName))).toEqual([true, true, false]);
        expect(getObjectAt(await cluster.client.get(subscription), "spec")["installPlanApproval"]).toBeUndefined();
        expect(getObjectAt(await cluster.client.get(csv), "status")["phase"]).toBe("Succeeded");
      }
      expect(Object.keys(getObjectAt(await cluster.client.get(certificate), "data"))).toEqual(["olmCAKey", "tls.crt", "tls.key"]);
      await eventually(async () => {
        const { items } = await cluster.client.list(DEPLOYMENT, { namespace: "op-keda" });
        expect(items[0]?.metadata.labels).toMatchObject({ "olm.owner": "keda.v2.3.0" });
      });
      const account = await cluster.client.get({
        apiVersion: "v1",
        kind: "ServiceAccount",
        namespace: "op-keda",
        name: "keda-olm-operator",
      });
      expect(account?.metadata.labels).toMatchObject({ "olm.managed": "true" });
      expectNoRestart();
      expect(new Set(access.answers)).toEqual(new Set([true]));
    });

    test("olmv1 migrate convert completes after an interruption of any step", async () => {
      for (const step of CONVERSION_STEPS.slice(0, -1)) {
        const { code } = await world.migrate(["convert", "skupper-operator", "-n", "op-skupper", ...ACCOUNT], (text, stop) => {
          if (text === `${step}\n`) stop.abort();
        });
        expect([step, code]).toEqual([step, 130]);
        // as if the command had been killed after it wrote the backup, but before it recorded the step
        const before = { metadata: { annotations: { [ANNOTATION_STEP]: "Granted" } } };
        if (step === "BackedUp") await cluster.client.patch(extension("skupper-operator"), before, { type: "merge" });
        expect((await world.migrate(["check", "skupper-operator"])).out).toContain("op-skupper/skupper-operator: Conflict");
      }
      await run("convert", "skupper-operator", ...ACCOUNT, "--unpin");
      expectNoRestart();
      expect((await world.world.get("skupper-operator")).spec.source.catalog?.version).toBeUndefined();
    });

    test("olmv1 migrate rollback restores an operator whose conversion stopped while its ClusterServiceVersion was terminating", async () => {
      await world.migrate(["convert", "cat-facts-operator", ...ACCOUNT], (text, stop) => {
        if (text === "Terminating\n") stop.abort();
      });
      const ref = classic("cat-facts-operator", "ClusterServiceVersion");
      expect((await cluster.client.get(ref))?.metadata.deletionTimestamp).toBeDefined();
      await run("rollback", "cat-facts-operator", "--yes");
      expect((await cluster.client.get(ref))?.metadata.deletionTimestamp).toBeUndefined();
      expectNoRestart();
    });

    test("olmv1 migrate rollback deletes the objects of a conversion when it was interrupted after it had deleted the extension", async () => {
      await world.migrate(["convert", "cat-facts-operator", ...ACCOUNT], (text, stop) => {
        if (text === "BackedUp\n") stop.abort();
      });
      const { namespace } = recording.get("cat-facts-operator");
      const [account, secret]: [ObjectRef, ObjectRef] = [
        { apiVersion: "v1", kind: "ServiceAccount", namespace, name: "cat-facts-operator-installer" },
        { apiVersion: "v1", kind: "Secret", namespace, name: "cat-facts-operator-migration-backup" },
      ];
      const interrupted = await world.migrate(["rollback", "cat-facts-operator", "--yes"], (text, stop) => {
        if (text === "ClusterExtension cat-facts-operator is deleted\n") stop.abort();
      });
      expect(interrupted.code).toBe(130);
      expect(await exists(extension("cat-facts-operator"), account, secret)).toEqual([false, true, true]);
      expect(await run("rollback", "cat-facts-operator")).toContain(`delete Secret ${namespace}/${secret.name}\n`);
      expect((await world.migrate(["rollback", "--all", "-n", namespace])).out).toMatch(
        /cat-facts-operator +Possible +deletes \d+ objects/,
      );
      await run("rollback", "cat-facts-operator", "--yes");
      expect(await exists(account, secret)).toEqual([false, false]);
      const { code, err } = await world.migrate(["rollback", "cat-facts-operator", "--yes"]);
      expect([code, err]).toEqual([2, expect.stringContaining('no converted Subscription or ClusterExtension "cat-facts-operator" found')]);
    });

    test("olmv1 migrate convert stops when OLM v0 has upgraded the operator since an interruption, and a rollback keeps the upgrade", async () => {
      await world.migrate(["convert", "cat-facts-operator", ...ACCOUNT], (text, stop) => {
        if (text === "BackedUp\n") stop.abort();
      });
      const [before, subscription] = [
        classic("cat-facts-operator", "ClusterServiceVersion"),
        classic("cat-facts-operator", "Subscription"),
      ];
      const next: ObjectRef = { ...before, name: "cat-facts-operator.v9.0.0" };
      const spec = getObjectAt(await cluster.client.get(before), "spec");
      const install = { strategy: "deployment", spec: { deployments: [] } };
      const metadata = { name: next.name, namespace: recording.get("cat-facts-operator").namespace };
      await cluster.client.create({ ...before, metadata, spec: { ...spec, install, replaces: before.name, version: "9.0.0" } });
      const status = { installedCSV: next.name, currentCSV: next.name };
      await cluster.client.patch(subscription, { status }, { type: "merge", subresource: "status" });
      await cluster.client.delete(before, { propagationPolicy: "Orphan" });
      await eventually(async () => expect(await exists(before)).toEqual([false]));
      const { code, err } = await world.migrate(["convert", "cat-facts-operator", ...ACCOUNT]);
      expect([code, err]).toEqual([2, expect.stringContaining(`has installed "${next.name}" in place of "${before.name}"`)]);
      expect(await exists(subscription, next, extension("cat-facts-operator"))).toEqual([true, true, true]);
      await run("rollback", "cat-facts-operator", "--yes");
      expect(await exists(subscription, next, before, extension("cat-facts-operator"))).toEqual([true, true, false, false]);
      expect((await world.migrate(["check", "cat-facts-operator"])).out).not.toContain("Conflict");
      expectNoRestart();
    });

    test("olmv1 migrate cleanup leaves only the OperatorCondition, which the Pods use", async () => {
      await run("convert", "rabbitmq-cluster-operator", ...ACCOUNT);
      await run("cleanup", "rabbitmq-cluster-operator", "--operator-group", "--yes");
      const operator: ObjectRef = { apiVersion: `${CLASSIC}/v1`, kind: "Operator", name: "rabbitmq-cluster-operator.op-single" };
      const reader: ObjectRef = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        namespace: "kube-system",
        name: "rabbitmq-cluster-operator-service-auth-reader",
      };
      await eventually(async () => {
        expect(await exists(operator, reader)).toEqual([false, false]);
        for (const kind of ["InstallPlan", "ClusterServiceVersion"]) {
          const { items } = await cluster.client.list({ apiVersion: `${CLASSIC}/v1alpha1`, kind }, { namespace: "op-single" });
          expect(items).toEqual([]);
        }
      });
      const condition: ObjectRef = {
        apiVersion: `${CLASSIC}/v2`,
        kind: "OperatorCondition",
        namespace: "op-single",
        name: recording.get("rabbitmq-cluster-operator").csv,
      };
      expect(await exists(condition)).toEqual([true]); // the Pods still use it
      expectNoRestart();
      const refused = await world.migrate(["rollback", "rabbitmq-cluster-operator", "--yes"]);
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("cannot be rolled back: it has no backup of Subscription")]);
      await cluster.client.delete(extension("rabbitmq-cluster-operator"));
      await eventually(async () => expect(await exists(condition)).toEqual([false])); // the garbage collector deletes it with the extension
    });

    test("a new extension adopts objects of OLM v0 whose Subscription and ClusterServiceVersion were deleted", async () => {
      const { clusterExtension, rights } = JSON.parse(await run("convert", "keda", "-o", "json")) as {
        clusterExtension: KubeObject;
        rights: KubeObject[];
      };
      for (const kind of ["Subscription", "ClusterServiceVersion"] as const)
        await cluster.client.delete(classic("keda", kind), { propagationPolicy: "Orphan" });
      await eventually(async () => expect(await exists(classic("keda", "ClusterServiceVersion"))).toEqual([false]));
      for (const object of [...rights, { ...clusterExtension, metadata: { name: "keda" } }])
        await cluster.client.apply(object, { fieldManager: "test", force: true });
      await world.world.until("keda", ({ status }) => expect(status?.install?.bundle.version).toBe("2.3.0"));
      const crd = await cluster.client.get({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        name: "scaledobjects.keda.sh",
      });
      expect(crd?.metadata.labels).toMatchObject({ "olm.operatorframework.io/owner-name": "keda" });
      const mine = { apiVersion: "keda.sh/v1alpha1", kind: "TriggerAuthentication", namespace: "op-keda", name: "mine" };
      expect(await exists(mine)).toEqual([true]);
    });

    test("the first upgrade after a migration removes the annotations of OLM v0 from the Pods, and names the new OperatorCondition", async () => {
      const recorded = recording.get("skupper-operator");
      const readTemplate = async (): Promise<unknown> => {
        const { items } = await cluster.client.list(DEPLOYMENT, { namespace: recorded.namespace });
        return getObjectAt(items[0], "spec")["template"];
      };
      const named = (value: string): object => ({
        spec: { containers: [{ env: expect.arrayContaining([{ name: "OPERATOR_CONDITION_NAME", value }]) as unknown }] },
      });
      expect(await readTemplate()).toMatchObject({ metadata: { annotations: { "olm.operatorGroup": "og" } }, ...named(recorded.csv) });
      await serviceAccount(cluster.client, recorded.namespace, "skupper-operator-installer", [EVERYTHING]); // roles of another version have other names
      const condition: ObjectRef = {
        apiVersion: `${CLASSIC}/v2`,
        kind: "OperatorCondition",
        namespace: recorded.namespace,
        name: recorded.csv,
      };
      const report = (status: string): object => ({
        type: "Upgradeable",
        status,
        reason: "Busy",
        message: "",
        lastTransitionTime: new Date(),
      });
      await cluster.client.patch(condition, { spec: { conditions: [report("False")], overrides: [report("True")] } }, { type: "merge" });
      const next = await world.publishUpgrade(recorded, "1.9.7");
      await world.world.until("skupper-operator", ({ status }) => expect(status?.install?.bundle).toMatchObject({ name: next }));
      const template = await readTemplate();
      expect(template).toMatchObject(named(next));
      expect(template).not.toMatchObject({ metadata: { annotations: { "olm.operatorGroup": expect.anything() as unknown } } });
    });

    test("spec.install.userRoles Aggregate adopts the roles for users that OLM v0 created", async () => {
      const role: ObjectRef = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        name: "scaledobjects.keda.sh-v1alpha1-admin",
      };
      expect((await cluster.client.get(role))?.metadata.labels).toMatchObject({ "olm.managed": "true" });
      await serviceAccount(cluster.client, "op-keda", "keda-installer", [EVERYTHING]); // may write roles for users
      await cluster.client.patch(extension("keda"), { spec: { install: { userRoles: "Aggregate" } } }, { type: "merge" });
      await eventually(async () =>
        expect((await cluster.client.get(role))?.metadata.labels).toMatchObject({ "olm.operatorframework.io/owner-name": "keda" }),
      );
    });
  });
});

/** Asks again and again whether a user has a permission. */
class AccessWatch implements AsyncDisposable {
  readonly answers: boolean[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: { create: (object: KubeObject) => Promise<KubeObject> }, spec: Record<string, unknown>) {
    this.#running = this.#run(client, spec);
  }

  async #run(client: { create: (object: KubeObject) => Promise<KubeObject> }, spec: Record<string, unknown>): Promise<void> {
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", metadata: { name: "" }, spec };
    while (!this.#stop.signal.aborted) {
      this.answers.push(getObjectAt(await client.create(review), "status")["allowed"] === true);
      await sleep(10, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
