import type { ClusterExtension, ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { ObjectRef } from "../../pkg/api/k8s.ts";
import type { PackageContent } from "../../pkg/fbc/types.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { OperatorController } from "../../pkg/operatorcontroller/operatorController.ts";
import { installerManifests } from "../../pkg/rbac/manifest.ts";
import type { RequiredRules } from "../../pkg/rbac/rules.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics } from "../../pkg/telemetry/metrics.ts";
import { contentFrom } from "./catalogFixture.ts";
import { catalogNamed } from "./catalogs.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { extensionNamed } from "./extensions.ts";
import type { RealOperator } from "./realOperator.ts";

const CATALOG: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "c" };
const SYSTEM = "olmv1-system";
const NOBODY = { kind: "User", name: "nobody" } as const;

/** An OperatorController in this process, with a catalog of real operators whose bundles are read from their folders. */
export class RealWorld implements AsyncDisposable {
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(client: Client, operators: readonly RealOperator[]) {
    this.#client = client;
    const folders = new Map(
      operators.flatMap(({ name, versions }) => versions.map(({ version, folder }) => [imageOf(name, version), folder])),
    );
    const contents = new Map(operators.map((operator) => [operator.name, contentOf(operator)]));
    const controller = new OperatorController({
      client,
      puller: {
        pull: (_owner, ref) => Promise.resolve({ canonical: ref, dir: folders.get(ref) ?? "" }),
        remove: () => Promise.resolve(),
      },
      packages: { packageContent: (_base, _ref, name) => Promise.resolve(contents.get(name)) },
      systemNamespace: SYSTEM,
      serviceAccountFallback: "deny",
      clusterVersion: { current: () => ({ kind: "none" }), onChange: () => undefined, synced: Promise.resolve() },
      clusterUpgrade: { mode: "off" },
      workers: 6,
      driftIntervalMs: 600_000,
      maxBackoffMs: 500,
      recheckIntervalMs: 2_000,
      log: createLogger({ component: "operator-controller", level: "silent" }),
      metrics: createMetrics("operator_controller"),
    });
    this.#running = controller.run(this.#stop.signal);
  }

  static async start(cluster: TestCluster, operators: readonly RealOperator[]): Promise<RealWorld> {
    const { client } = cluster;
    await cluster.installCrds();
    await client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM } }, { fieldManager: "test" });
    const base = "https://catalogd.example.com/catalogs/c";
    const { status, ...catalog } = catalogNamed(CATALOG.name, { digest: `quay.io/c@sha256:${"0".repeat(64)}`, base });
    await client.apply(catalog, { fieldManager: "test" });
    await client.patch(CATALOG, { status }, { type: "merge", subresource: "status" });
    return new RealWorld(client, operators);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Creates the namespace of an operator and its installer with exactly these rules; again with others, those replace them. */
  async grant({ namespace, name }: RealOperator, rules: RequiredRules): Promise<void> {
    const apply = { fieldManager: "test", force: true };
    await this.#client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, apply);
    for (const object of installerManifests({ namespace, name: `${name}-installer` }, rules, NOBODY))
      await this.#client.apply(object, apply);
  }

  /** Creates an extension of an operator, pinned to a version, or pins the one that there is to another; whatever becomes of its CRDs. */
  async extension(
    { name, namespace, config }: RealOperator,
    version: string,
    install: ClusterExtensionSpec["install"] = {},
  ): Promise<void> {
    const made = extensionNamed(name, { packageName: name, version });
    const spec = { ...made.spec, namespace, ...(config ? { config: { configType: "Inline" as const, inline: config } } : {}) };
    const preflight = { crdUpgradeSafety: { enforcement: "None" as const } };
    await this.#client.apply({ ...made, spec: { ...spec, install: { preflight, ...install } } }, { fieldManager: "test", force: true });
  }

  /** Waits until a version is installed and nothing is left to do. @returns the text of condition Progressing. */
  installed(name: string, version: string): Promise<string> {
    return this.#progressing(name, ({ status }, message, reason) => {
      const done = status?.install?.bundle.version === version && reason === "Succeeded";
      if (!done) throw new Error(`${name} is not at ${version}: ${message}`);
    });
  }

  /** Waits until condition Progressing says something. @returns its text. */
  says(name: string, text: string): Promise<string> {
    return this.#progressing(name, (_, message) => {
      if (!message.includes(text)) throw new Error(`${name} does not say ${text}: ${message}`);
    });
  }

  /** Deletes an extension. */
  async remove(name: string): Promise<void> {
    await this.#client.delete(refOf(name));
  }

  /** Waits until an extension is gone. */
  async gone(name: string): Promise<void> {
    await eventually(
      async () => {
        const left = await this.#client.get<ClusterExtension>(refOf(name));
        if (left) throw new Error(`${name} is still there: ${JSON.stringify(left.status?.conditions)}`);
      },
      { timeoutMs: 120_000 },
    );
  }

  async #progressing(name: string, check: (x: ClusterExtension, message: string, reason: string) => void): Promise<string> {
    return eventually(
      async () => {
        const x = await this.#client.get<ClusterExtension>(refOf(name));
        if (!x) throw new Error(`${name} does not exist`);
        const { message = "", reason = "" } = findCondition(x.status?.conditions, "Progressing") ?? {};
        check(x, message, reason);
        return message;
      },
      { timeoutMs: 120_000 },
    );
  }
}

function refOf(name: string): ObjectRef {
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
}

function imageOf(name: string, version: string): string {
  return `quay.io/real/${name}:v${version.replaceAll("+", "-")}`;
}

/** One channel, in which each version replaces the one before. */
function contentOf({ name, versions }: RealOperator): PackageContent {
  const bundles = versions.map(({ version }) => ({ name: `${name}.v${version}`, version }));
  const entries = bundles.map((bundle, i) => ({ name: bundle.name, ...(i === 0 ? {} : { replaces: bundles[i - 1]?.name ?? "" }) }));
  const content = contentFrom({ channels: { stable: entries }, bundles }, name);
  return {
    ...content,
    bundles: content.bundles.map((bundle, i) => ({ ...bundle, image: imageOf(name, versions[i]?.version ?? "") })),
  };
}
