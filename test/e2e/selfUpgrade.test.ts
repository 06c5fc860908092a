import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import {
  ANNOTATION_RECONCILE_REQUESTED_AT,
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_EXTENSION,
  SYSTEM_NAMESPACE,
} from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { installConfig, type ServerName } from "../../pkg/devcluster/installation.ts";
import { releaseStates } from "../support/audit.ts";
import { AuditTail, isWrite } from "../support/auditTail.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { ManagedWorld } from "../support/managedWorld.ts";
import { TemplateWatch } from "../support/migrationWorld.ts";
import { PreviousProgram } from "../support/previousProgram.ts";
import { Replicas } from "../support/replicas.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const PLAIN = ["plain-1", "plain-2", "plain-3", "plain-4", "plain-5", "plain-6", "plain-7", "plain-8"];
const VERSIONS = ["1.0.0", "1.1.0", "1.2.0"];
const CONTROLLER_FLAGS = ["--max-backoff", "2s", "--recheck-interval", "1s"];
/** An upgrade of the programs restarts them in this order, and a downgrade in the opposite one. */
const ORDER: readonly ServerName[] = ["catalogd", "permission-manager", "operator-controller"];
/** Maximum number of writes of all programs per extension, when they are replaced by another version. */
const WRITES_PER_EXTENSION = 3;

/** What a replacement of the programs must not change. */
interface ExtensionState {
  readonly uid: string | undefined;
  readonly isDeleted: boolean;
  readonly bundle: string | undefined;
  readonly conditions: readonly string[];
  readonly problems: readonly string[];
  readonly releases: readonly string[];
}

describeWithPrivateCluster("a replacement of the programs by another version", (cluster) => {
  let previous: PreviousProgram | string | undefined;
  let world: ManagedWorld;
  let templates: TemplateWatch;
  const programs: Record<ServerName, string> = { catalogd: "", "operator-controller": "", "permission-manager": "" };
  let audit: AuditTail;

  const ref = (name: string) => ({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  const extension = (name: string): Promise<ClusterExtension | undefined> => cluster.client.get<ClusterExtension>(ref(name));
  const reason = (name: string, type: string, expected: string): Promise<KubeObject> =>
    world.world.condition("ClusterExtension", name, (condition) => condition(type)?.reason === expected);
  const listExtensions = async (): Promise<ClusterExtension[]> =>
    (await cluster.client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION })).items;

  async function readStates(): Promise<Record<string, ExtensionState>> {
    const states: Record<string, ExtensionState> = {};
    for (const { metadata, status } of await listExtensions())
      states[metadata.name] = {
        uid: metadata.uid,
        isDeleted: metadata.deletionTimestamp !== undefined,
        bundle: status?.install?.bundle.name,
        conditions: (status?.conditions ?? []).map((one) => `${one.type} ${one.status} ${one.reason}`).sort(),
        problems: [...new Set((status?.problems ?? []).map(({ type }) => type))].sort(),
        releases: await releaseStates(cluster.client, metadata.name),
      };
    return states;
  }

  async function countWrites(): Promise<number> {
    let writes = 0;
    for (const program of ORDER) {
      const requests = await audit.requestsOf(SYSTEM_NAMESPACE, `${program}-controller-manager`);
      writes += requests.filter((request) => isWrite(request) && request.ref.resource !== "events").length;
    }
    return writes;
  }

  /** Returns the UIDs and generations of all Deployments and custom resources, and the UIDs of Pods. */
  async function readObjects(): Promise<string[]> {
    const kinds = [
      { apiVersion: "apps/v1", kind: "Deployment" },
      { apiVersion: "v1", kind: "Pod" },
      { apiVersion: "self.example.com/v1", kind: "Thing" },
    ];
    const lists = await Promise.all(kinds.map(async ({ apiVersion, kind }) => (await cluster.client.list({ apiVersion, kind })).items));
    const format = ({ metadata }: KubeObject): string => [metadata.name, metadata.uid, metadata.generation].join(" ");
    return lists.flat().map(format).sort();
  }

  /** Replaces the programs one after another, so that both versions run at the same time, and checks what must not change. */
  async function replacePrograms(folder: string, order: readonly ServerName[], config?: string): Promise<void> {
    const [states, objects, writes] = [await readStates(), await readObjects(), await countWrites()];
    await installConfig(cluster.client, config);
    for (const program of order) {
      programs[program] = folder;
      await world.world.installation.restart(program);
    }
    // Each extension is reconciled once after the start.
    const started = await countWrites();
    await eventually(async () => expect(await readStates()).toEqual(states));
    const request = `${order.join(" ")} ${objects.length}`;
    await world.edit("plain-8", { metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED_AT]: request } } });
    await eventually(async () => expect((await extension("plain-8"))?.status?.lastHandledReconcileAt).toBe(request));
    await eventually(async () => expect(await readStates()).toEqual(states));
    expect(await readObjects()).toEqual(objects);
    const sum = await countWrites();
    process.stdout.write(`${Object.keys(states).length} extensions, writes: ${started - writes} at the start, ${sum - writes} in all\n`);
    expect(sum - writes).toBeLessThan(Object.keys(states).length * WRITES_PER_EXTENSION);
  }

  /** Publishes the catalog of all packages. @param versions of package plain */
  async function publish(versions: readonly string[]): Promise<void> {
    const bundles = (name: string, of: readonly string[], parts: Parameters<typeof tinyBundle>[1] = {}) =>
      of.map((version) => ({ version, files: tinyBundle(version, { name, ...parts }) }));
    const needsProvider = [{ type: "olm.package.required", value: { packageName: "provider", versionRange: ">=1.0.0" } }];
    await world.publish("bundles", {
      plain: bundles("plain", versions),
      stuck: [...bundles("stuck", ["1.0.0"]), ...bundles("stuck", ["1.1.0"], { podOutcome: "Pending" })],
      things: bundles("things", ["1.0.0"], { objects: [thingDefinition("self.example.com")] }),
      provider: bundles("provider", ["1.0.0"]),
      consumer: bundles("consumer", ["1.0.0"]).map((one) => ({ ...one, properties: needsProvider })),
    });
  }

  beforeAll(async () => {
    audit = new AuditTail(cluster.auditLog);
    previous = await PreviousProgram.build();
    if (typeof previous === "string") return;
    for (const program of ORDER) programs[program] = previous.programs;
    const extraArgs = { "operator-controller": CONTROLLER_FLAGS };
    world = await ManagedWorld.start(cluster, { programs, config: previous.config, extraArgs });
    await publish(VERSIONS);
    const at = (version: string) => ({ version, upgradeConstraintPolicy: "SelfCertified" });
    for (const name of [...PLAIN, "suspended", "drifting", "pinned"]) await world.create(name, "plain", { namespace: name }, at("1.0.0"));
    for (const name of ["things", "provider", "consumer"]) await world.create(name, name, { namespace: name });
    await world.create("newest", "plain", { namespace: "newest" });
    await world.create("approving", "plain", { namespace: "approving", approval: "Manual" });
    await world.create("missing", "nowhere", { namespace: "missing" });
    await world.create("invalid", "plain", { namespace: "invalid", config: { configType: "Inline", inline: { wrong: 1 } } });
    await world.create("stuck", "stuck", { namespace: "stuck" }, at("1.0.0"));
    await world.create("leaving", "plain", { namespace: "leaving" });
    for (const name of [...PLAIN, "suspended", "drifting", "pinned", "things", "provider", "consumer", "stuck"])
      await world.ready(name, "1.0.0");
    for (const name of ["newest", "leaving"]) await world.ready(name, "1.2.0");

    await cluster.client.create({ apiVersion: "self.example.com/v1", kind: "Thing", metadata: { name: "mine", namespace: "default" } });
    await world.edit("suspended", { spec: { suspend: true } });
    await world.edit("drifting", { spec: { drift: { policy: "Warn" } } });
    const deployment = (name: string) => ({ apiVersion: "apps/v1", kind: "Deployment", namespace: name, name: "plain" });
    await cluster.client.patch(deployment("drifting"), { spec: { replicas: 2 } }, { type: "merge" });
    await world.edit("pinned", { spec: { source: { catalog: { version: "1.1.0" } } } });
    await world.ready("pinned", "1.1.0");
    await world.edit("pinned", { metadata: { annotations: { [ANNOTATION_ROLLBACK_TO]: "1" } } });
    await world.edit("stuck", { spec: { source: { catalog: { version: "1.1.0" } } } });
    await cluster.client.delete(ref("provider"));
    await cluster.client.patch(deployment("leaving"), { metadata: { finalizers: ["example.com/hold"] } }, { type: "merge" });
    await cluster.client.delete(ref("leaving"));

    await world.ready("pinned", "1.0.0");
    await reason("suspended", "Progressing", "Suspended");
    await reason("approving", "Progressing", "AwaitingApproval");
    await reason("invalid", "Progressing", "InvalidConfiguration");
    await reason("missing", "Progressing", "Retrying");
    await reason("stuck", "Available", "RollingOut");
    await reason("provider", "Progressing", "RequiredByOthers");
    await reason("leaving", "Progressing", "Uninstalling");
    await world.world.problems("drifting", (text) => text.includes("DriftDetected"));
    expect(await listExtensions()).toHaveLength(20);
    templates = new TemplateWatch(cluster);
  });

  afterAll(async () => {
    await templates?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    if (previous !== undefined && typeof previous !== "string") await previous[Symbol.asyncDispose]();
  });

  test("an upgrade and a downgrade restart no Pod, lose nothing, keep each state, and read the releases of the other version", async (context) => {
    if (previous === undefined || typeof previous === "string") {
      context.skip(`not run: ${previous}`);
      return;
    }
    await replacePrograms(cluster.programs, ORDER);
    expect([...templates.templates].filter(([, states]) => states.length > 1)).toEqual([]);

    await world.edit("plain-1", { spec: { source: { catalog: { version: "1.1.0" } } } });
    await world.ready("plain-1", "1.1.0");
    await cluster.client.delete(ref("plain-3"));
    await eventually(async () => expect(await extension("plain-3")).toBeUndefined());

    await replacePrograms(previous.programs, ORDER.toReversed(), previous.config);
    await world.edit("plain-1", { spec: { source: { catalog: { version: "1.2.0" } } } });
    await world.ready("plain-1", "1.2.0");
    await world.edit("plain-2", { spec: { source: { catalog: { version: "1.1.0" } } } });
    await world.ready("plain-2", "1.1.0");
    const changed = [...templates.templates].filter(([, states]) => states.length > 1).map(([key]) => key);
    expect(changed.sort()).toEqual(["plain-1/plain", "plain-2/plain"]);
    await cluster.client.delete(ref("consumer"));
    await eventually(async () => expect(await extension("provider")).toBeUndefined());
  });

  test("replicas of both versions elect one leader, and each continues when the other ends and the catalog changes", async (context) => {
    if (previous === undefined || typeof previous === "string") {
      context.skip(`not run: ${previous}`);
      return;
    }
    await world.world.installation.servers["operator-controller"].stop();
    const replicas = await Replicas.start(cluster, "operator-controller");
    const upgrade = async (name: string): Promise<void> => {
      await world.edit(name, { spec: { source: { catalog: { version: "1.1.0" } } } });
      await world.ready(name, "1.1.0");
    };
    try {
      const old = await replicas.add("old", CONTROLLER_FLAGS, { programs: previous.programs });
      await replicas.leads(old);
      const current = await replicas.add("current", CONTROLLER_FLAGS, { programs: cluster.programs });
      await replicas.ready(current);
      await upgrade("plain-4");
      const others = async (): Promise<Record<string, ExtensionState>> => {
        const { "plain-5": _first, "plain-6": _second, newest: _newest, ...rest } = await readStates();
        return rest;
      };
      const states = await others();

      await old.process.stop();
      await replicas.leads(current);
      await publish([...VERSIONS, "1.3.0"]);
      await world.ready("newest", "1.3.0");
      await upgrade("plain-5");

      const again = await replicas.add("again", CONTROLLER_FLAGS, { programs: previous.programs });
      await replicas.ready(again);
      process.kill(current.process.pid ?? 0, "SIGKILL");
      await replicas.leads(again);
      await publish([...VERSIONS, "1.3.0", "1.4.0"]);
      await world.ready("newest", "1.4.0");
      await upgrade("plain-6");
      await eventually(async () => expect(await others()).toEqual(states));
    } finally {
      await replicas.stop();
    }
  });
});
