import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { type DevCluster, type DevClusterOptions, startDevCluster } from "../../pkg/devcluster/devCluster.ts";
import { POD_OUTCOME_ANNOTATION, type PodOutcome } from "../../pkg/devcluster/podSimulation.ts";
import { Client } from "../../pkg/kube/client.ts";
import type { ClusterContext } from "./clusterContext.ts";
import { installDefinitions } from "./definitions.ts";

export { eventually } from "./eventually.ts";

/** A control plane for tests. Test files share it, so each uses names and namespaces of its own. */
export class TestCluster {
  readonly #context: () => ClusterContext;
  #client: Client | undefined;

  /** @param context read at each use, so that a skipped test can be collected without a control plane. */
  constructor(context: () => ClusterContext) {
    this.#context = context;
  }

  /** The administrator (client certificate, group system:masters). */
  get client(): Client {
    return (this.#client ??= Client.fromKubeConfig(this.kubeconfig));
  }

  get kubeconfig(): string {
    return this.#available().kubeconfig;
  }

  get server(): string {
    return this.#available().server;
  }

  /** Version of the API server, such as "v1.36.3". */
  get kubernetes(): string {
    return this.#available().kubernetes;
  }

  get registry(): { host: string; insecure: true } {
    return { host: this.#available().registryHost, insecure: true };
  }

  /** Folder of the built programs; copy it before you change one. */
  get programs(): string {
    return this.#available().programs;
  }

  /** Data folder that control planes copy at their start. */
  get template(): string {
    return this.#available().template;
  }

  /** Path of the API server's audit log. */
  get auditLog(): string {
    return this.#available().auditLog;
  }

  /** Returns a unique name: "prefix-1a2b3c4d". */
  name(prefix: string): string {
    return `${prefix}-${randomBytes(4).toString("hex")}`;
  }

  /** Creates a namespace with a unique name; its Pods reach `podOutcome` (default: Ready). */
  async namespace(prefix = "test", podOutcome?: PodOutcome): Promise<string> {
    const name = this.name(prefix);
    const annotations = podOutcome === undefined ? {} : { [POD_OUTCOME_ANNOTATION]: podOutcome };
    await this.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name, annotations } });
    return name;
  }

  /** Changes the outcome of the Pods in a namespace, including existing ones. */
  async setPodOutcome(namespace: string, podOutcome: PodOutcome): Promise<void> {
    const body = { metadata: { annotations: { [POD_OUTCOME_ANNOTATION]: podOutcome } } };
    await this.client.patch({ apiVersion: "v1", kind: "Namespace", name: namespace }, body, { type: "merge" });
  }

  /** Applies the definitions in config/crd and waits until they are served; several test files can do so at once. */
  async installCrds(): Promise<void> {
    await installDefinitions(this.client);
  }

  /** Returns the audit events so far, oldest first, without an event that the API server is still writing. */
  async auditEvents(): Promise<AuditEvent[]> {
    const text = await readFile(this.auditLog, "utf8");
    return text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as AuditEvent);
  }

  /** Closes the connections of `client`. */
  async close(): Promise<void> {
    await this.#client?.close();
    this.#client = undefined;
  }

  #available(): ClusterContext & { available: true } {
    const context = this.#context();
    if (!context.available) throw new Error(`there is no control plane: ${context.reason}`);
    return context;
  }
}

/** The members of audit.k8s.io/v1 Event that tests read. */
export interface AuditEvent {
  verb: string;
  requestURI: string;
  userAgent?: string;
  user: { username: string; groups?: string[]; extra?: Record<string, string[]> };
  objectRef?: { resource: string; namespace?: string; name?: string; apiGroup?: string; apiVersion?: string; subresource?: string };
  responseStatus?: { code: number };
  /** Such as "authorization.k8s.io/reason", which names the binding that allowed the request. */
  annotations?: Record<string, string>;
  requestReceivedTimestamp: string;
  /** When the request ended, or for a watch its current stage. */
  stageTimestamp: string;
}

/** Whether this run has a control plane. */
export function clusterAvailable(): boolean {
  return inject("cluster").available;
}

/** Returns the control plane that all integration and end-to-end test files of this run share. Prefer `describeWithCluster`, which skips without one. */
function testCluster(): TestCluster {
  return new TestCluster(() => inject("cluster"));
}

/** `describe` for tests on the shared control plane; without one they are skipped and counted, and the run reports the reason at its end. */
export function describeWithCluster(name: string, fn: (cluster: TestCluster) => void): void {
  const cluster = testCluster();
  describe.skipIf(!clusterAvailable())(name, () => {
    afterAll(() => cluster.close());
    fn(cluster);
  });
}

/**
 * `describe` with a separate control plane, for tests that stop servers, run their own controllers or count requests. It runs
 * from before the first test until after the last; `dev()` gives access to the methods for its owner (restart, setPodReadiness).
 */
export function describeWithPrivateCluster(
  name: string,
  fn: (cluster: TestCluster, dev: () => DevCluster) => void,
  options: DevClusterOptions = {},
): void {
  let running: DevCluster | undefined;
  const dev = (): DevCluster => {
    if (running === undefined) throw new Error("the private control plane is not running");
    return running;
  };
  const cluster = new TestCluster(() => {
    const { server, kubeconfig, registry, auditLog, logs } = dev();
    return {
      available: true,
      server,
      kubernetes: testCluster().kubernetes,
      kubeconfig,
      registryHost: registry.host,
      auditLog,
      logs,
      template: testCluster().template,
      programs: testCluster().programs,
    };
  });
  describe.skipIf(!clusterAvailable())(name, () => {
    beforeAll(async () => {
      running = await startDevCluster({ template: testCluster().template, ...options });
    });
    afterAll(async () => {
      await cluster.close();
      await running?.stop();
    });
    fn(cluster, dev);
  });
}
