import { createHash, randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { ClusterExtension, ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { type ProblemData } from "../../pkg/api/problemSchema.ts";
import { filterProblems } from "../../pkg/api/problems.ts";
import { POD_OUTCOME_ANNOTATION, type PodOutcome } from "../../pkg/devcluster/podSimulation.ts";
import type { PackageContent } from "../../pkg/fbc/types.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { OperatorController } from "../../pkg/operatorcontroller/operatorController.ts";
import { buildInstallerManifests } from "../../pkg/rbac/installerManifests.ts";
import type { RequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics } from "../../pkg/telemetry/metrics.ts";
import { contentFrom, indexPackages } from "./catalogFixture.ts";
import { createCatalog } from "./catalogs.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { createExtension } from "./extensions.ts";
import { problemText } from "./problems.ts";
import type { RealOperator } from "./realOperator.ts";

/** Types of problems that do not depend on the installer's permissions. */
const ASIDES: ReadonlySet<string> = new Set(["UpgradeWarning", "RequirementsNotMet", "BundleWarning"]);

const CATALOG: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "c" };
const SYSTEM = "olmv1-system";
const NOBODY = { kind: "User", name: "nobody" } as const;

/** An OperatorController in this process, with a catalog of real operators whose bundles are read from their folders. */
export class RealWorld implements AsyncDisposable {
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #metrics = createMetrics("operator_controller");
  /** The RBAC objects that were last granted to each operator's installer, by describeObject. */
  readonly #granted = new Map<string, Map<string, KubeObject>>();

  private constructor(client: Client, operators: readonly RealOperator[], driftIntervalMs: number) {
    this.#client = client;
    const folders = new Map(
      operators.flatMap(({ name, versions }) => versions.map(({ version, folder }) => [getImage(name, version), folder])),
    );
    const contents = new Map(operators.map((operator) => [operator.name, buildContent(operator)]));
    const controller = new OperatorController({
      client,
      puller: {
        cached: () => Promise.resolve(undefined),
        pull: (_owner, ref) => {
          const [image = ""] = ref.split("@");
          const digest = `sha256:${createHash("sha256").update(image).digest("hex")}`;
          return Promise.resolve({ canonical: ref, digest, dir: folders.get(image) ?? "" });
        },
        remove: () => Promise.resolve(),
      },
      packages: {
        packageContent: (_base, _ref, name) => Promise.resolve(contents.get(name)),
        bundleIndex: () => indexPackages(contents.values()),
      },
      systemNamespace: SYSTEM,
      managedPermissions: "off",
      clusterVersion: { current: () => ({ kind: "none" }), onChange: () => undefined, synced: Promise.resolve() },
      clusterUpgrade: { mode: "off" },
      workers: 6,
      driftIntervalMs,
      maxBackoffMs: 500,
      recheckIntervalMs: 2_000,
      log: createLogger({ component: "operator-controller", level: "silent" }),
      metrics: this.#metrics,
    });
    this.#running = controller.run(this.#stop.signal);
  }

  /** @param driftIntervalMs how often objects that cannot be watched are compared. */
  static async start(cluster: TestCluster, operators: readonly RealOperator[], driftIntervalMs = 600_000): Promise<RealWorld> {
    const { client } = cluster;
    await cluster.installCrds();
    await client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM } }, { fieldManager: "test" });
    const base = "https://catalogd.example.com/catalogs/c";
    const { status, ...catalog } = createCatalog(CATALOG.name, { digest: `quay.io/c@sha256:${"0".repeat(64)}`, base });
    await client.apply(catalog, { fieldManager: "test" });
    await client.patch(CATALOG, { status }, { type: "merge", subresource: "status" });
    return new RealWorld(client, operators, driftIntervalMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Creates the namespace of an operator and its installer with exactly these rules; later calls replace the rules. */
  async grant({ namespace, name }: RealOperator, rules: RequiredRules): Promise<void> {
    const objects: KubeObject[] = [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
      ...buildInstallerManifests({ namespace, name: `${name}-installer` }, rules, NOBODY),
    ];
    const granted = this.#granted.get(name) ?? new Map<string, KubeObject>();
    this.#granted.set(name, granted);
    const kept = new Set(objects.map(describeObject));
    const emptied = [...granted].flatMap(([key, object]) => (!kept.has(key) && "rules" in object ? [{ ...object, rules: [] }] : []));
    for (const object of [...objects, ...emptied]) {
      if (JSON.stringify(granted.get(describeObject(object))) === JSON.stringify(object)) continue;
      await this.#client.apply(object, { fieldManager: "test", force: true });
      granted.set(describeObject(object), object);
    }
  }

  /** Sets the outcome of an operator's Pods. */
  async setPodOutcome({ namespace }: RealOperator, podOutcome: PodOutcome): Promise<void> {
    const body = { metadata: { annotations: { [POD_OUTCOME_ANNOTATION]: podOutcome } } };
    await this.#client.patch({ apiVersion: "v1", kind: "Namespace", name: namespace }, body, { type: "merge" });
  }

  /** Requests a comparison of all objects of an extension. */
  async compare(name: string): Promise<void> {
    const annotations = { [ANNOTATION_RECONCILE_REQUESTED_AT]: randomUUID() };
    await this.#client.patch(toRef(name), { metadata: { annotations } }, { type: "merge" });
  }

  /** Makes an extension close its watches and reopen them. */
  async reopenWatches(name: string): Promise<void> {
    await this.#client.patch(toRef(name), { spec: { suspend: true } }, { type: "merge" });
    await this.#eventually(name, ({ metadata, status }) => {
      const seen = findCondition(status?.conditions, "Progressing")?.observedGeneration;
      if (seen !== metadata.generation) throw new Error(`${name} is not suspended yet`);
    });
    await this.#client.patch(toRef(name), { spec: { suspend: null } }, { type: "merge" });
  }

  /** Waits until no watch is still being opened. */
  async watching(): Promise<void> {
    await eventually(async () => {
      const text = await this.#metrics.text();
      const streams = (state: string): number => Number(new RegExp(`object_watches\\{state="${state}"\\} (\\d+)`).exec(text)?.[1]);
      if (streams("starting") !== 0 || streams("open") === 0) throw new Error("watches are still being opened");
    });
  }

  /** Creates an extension of an operator, pinned to a version, or pins the existing one to another; without CRD upgrade safety. */
  async extension(
    { name, namespace, config }: RealOperator,
    version: string,
    install: ClusterExtensionSpec["install"] = {},
  ): Promise<void> {
    const created = createExtension(name, { packageName: name, version });
    const spec = { ...created.spec, namespace, ...(config ? { config: { configType: "Inline" as const, inline: config } } : {}) };
    const preflight = { crdUpgradeSafety: { enforcement: "None" as const } };
    // Some of their dependencies are not in this catalog.
    const dependencies = { policy: "Ignore" as const };
    const extension = { ...created, spec: { ...spec, dependencies, install: { preflight, ...install } } };
    await this.#client.apply(extension, { fieldManager: "test", force: true });
  }

  /** Waits until a version is installed and reconciled. @returns the text of condition Progressing. */
  installed(name: string, version: string): Promise<string> {
    return this.#progressing(name, ({ status }, message, reason) => {
      const done = status?.install?.bundle.version === version && reason === "Succeeded";
      if (!done) throw new Error(`${name} is not at ${version}: ${message}`);
    });
  }

  /**
   * Waits until a version is installed, or until condition Progressing or a problem contains `refusal`.
   * @throws Error with the message of the condition after the timeout.
   */
  async outcome(name: string, version: string, refusal: string | undefined): Promise<"installed" | "refused"> {
    let outcome: "installed" | "refused" = "installed";
    await this.#progressing(name, ({ status }, message, reason) => {
      const isRefused = refusal !== undefined && message.includes(refusal);
      outcome = isRefused ? "refused" : "installed";
      const isInstalled = status?.install?.bundle.name === bundleName(name, version) && reason === "Succeeded";
      if (!isRefused && !isInstalled) throw new Error(`${name} is not installed: ${message}`);
    });
    return outcome;
  }

  /** Waits until the desired state is reached without problems, except those of the catalog's upgrade edges and of the bundle itself. */
  content(name: string): Promise<string> {
    return this.#progressing(name, ({ status }, conditionText, reason) => {
      const left = (status?.problems ?? []).filter(({ type }) => !ASIDES.has(type));
      if (reason !== "Succeeded" || left.length > 0) throw new Error(`${name} has problems: ${conditionText}`);
    });
  }

  /** Waits until condition Progressing or a problem contains a text. @returns their messages. */
  waitForMessage(name: string, text: string): Promise<string> {
    return this.#progressing(name, (_, conditionText) => {
      if (!conditionText.includes(text)) throw new Error(`${name} does not report ${text}: ${conditionText}`);
    });
  }

  /** Waits until a problem reports that exactly these permissions are missing. */
  async expectMissingPermissions(name: string, permissions: ProblemData["permissions"]): Promise<void> {
    await this.#eventually(name, ({ status }) => {
      const reported = filterProblems(status, "MissingPermissions").map(({ details }) => details?.permissions);
      expect(reported, name).toContainEqual(permissions);
    });
  }

  /** Deletes an extension. */
  async remove(name: string): Promise<void> {
    await this.#client.delete(toRef(name));
  }

  /** Waits until an extension no longer exists. */
  async gone(name: string): Promise<void> {
    await eventually(
      async () => {
        const left = await this.#client.get<ClusterExtension>(toRef(name));
        if (left) throw new Error(`${name} still exists: ${JSON.stringify(left.status?.conditions)}`);
      },
      { timeoutMs: 120_000 },
    );
  }

  async #progressing(name: string, check: (x: ClusterExtension, conditionText: string, reason: string) => void): Promise<string> {
    return this.#eventually(name, (x) => {
      const { message = "", reason = "" } = findCondition(x.status?.conditions, "Progressing") ?? {};
      const conditionText = [message, problemText(x.status)].join("\n");
      check(x, conditionText, reason);
      return conditionText;
    });
  }

  #eventually<T>(name: string, look: (x: ClusterExtension) => T): Promise<T> {
    return eventually(
      async () => {
        const x = await this.#client.get<ClusterExtension>(toRef(name));
        if (!x) throw new Error(`${name} does not exist`);
        return look(x);
      },
      { timeoutMs: 120_000 },
    );
  }
}

function toRef(name: string): ObjectRef {
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
}

function getImage(name: string, version: string): string {
  return `quay.io/real/${name}:v${version.replaceAll("+", "-")}`;
}

function bundleName(name: string, version: string): string {
  return `${name}.v${version.replaceAll("+", "-")}`;
}

/** Creates one channel, in which each version replaces the one before. */
function buildContent({ name, versions }: RealOperator): PackageContent {
  const bundles = versions.map(({ version }) => ({ name: bundleName(name, version), version }));
  const entries = bundles.map((bundle, i) => ({ name: bundle.name, ...(i === 0 ? {} : { replaces: bundles[i - 1]?.name ?? "" }) }));
  const content = contentFrom({ channels: { stable: entries }, bundles }, name);
  return {
    ...content,
    bundles: content.bundles.map((bundle, i) => ({ ...bundle, image: getImage(name, versions[i]?.version ?? "") })),
  };
}
