import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import { type PollAnswer, poll, waitFor } from "../../pkg/async/poll.ts";
import { withImages } from "../../pkg/authoring/build/publishImage.ts";
import { ClusterContentReader } from "../../pkg/conformance/catalogContent.ts";
import { createRunName, runSuite, type ScenarioResult } from "../../pkg/conformance/runSuite.ts";
import type { Scenario } from "../../pkg/conformance/scenario.ts";
import { LABEL_CONFORMANCE } from "../../pkg/conformance/scenarioNames.ts";
import { type DevCluster, startDevCluster } from "../../pkg/devcluster/devCluster.ts";
import { type Installation, startInstallation } from "../../pkg/devcluster/installation.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { Client } from "../../pkg/kube/client.ts";
import { parseReference } from "../../pkg/oci/reference.ts";
import { DeployedServers } from "../support/deployedServers.ts";
import { OpenShift } from "../support/openShift.ts";
import { getMutatedPath, type Mutant, mutateText } from "./mutants.ts";

const PRELOADED = ["patchSource.ts", "../support/podHostname.ts"].map((file) => pathToFileURL(join(import.meta.dirname, file)).href);
/** The servers that load the changed modules. */
const MUTATED = ["catalogd", "operator-controller"] as const;
/** Needs of scenarios that are about the cluster, not the implementation. */
const NEEDS_DEPLOYMENTS = /^(?:server|replicas|metrics) /;
const NEEDS_OPENSHIFT = /^(?:proxy|kind config\.openshift\.io\/)/;
const FIELD_MANAGER = "olmv1-suite";
const SWEEP_MS = 90_000;
/** Longer than the duration of a lease. */
const LEADING_MS = 180_000;
const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;

function isDefinition({ file }: Mutant): boolean {
  return file.startsWith("config/crd/");
}

function createEnvironment(): Record<string, string> {
  return { NODE_OPTIONS: PRELOADED.map((url) => `--import ${url}`).join(" ") };
}

/** A control plane on which scenarios run, with the servers of this checkout: unchanged, or with one mutant after another. */
export class SuiteCluster implements AsyncDisposable {
  readonly #dev: DevCluster;
  readonly #client: Client;
  readonly #workDir: string;
  readonly #env = { catalogd: createEnvironment(), "operator-controller": createEnvironment() };
  /** The provider of certificates does not change with the API of OpenShift. */
  readonly #flags = {
    catalogd: new Array<string>(),
    "operator-controller": ["--webhook-cert-provider=self-signed"],
    "permission-manager": new Array<string>(),
  };
  #installation: Installation | undefined;
  #deployed: DeployedServers | undefined;
  #isOpenShift = false;

  private constructor(dev: DevCluster, workDir: string) {
    this.#dev = dev;
    this.#workDir = workDir;
    this.#client = Client.fromKubeConfig(dev.kubeconfig);
  }

  static async start(print: (line: string) => void): Promise<SuiteCluster> {
    const cluster = new SuiteCluster(await startDevCluster({ print, auditLog: false }), await mkdtemp(join(tmpdir(), "olmv1-suite-")));
    const registriesConf = join(cluster.#workDir, "registries.conf");
    await writeFile(registriesConf, `[[registry]]\nlocation = "${cluster.#dev.registry.host}"\ninsecure = true\n`);
    cluster.#installation = await startInstallation({
      admin: cluster.#client,
      adminKubeconfig: cluster.#dev.kubeconfig,
      workDir: join(cluster.#workDir, "servers"),
      registriesConf,
      env: cluster.#env,
      extraArgs: cluster.#flags,
      onExit: print,
    });
    return cluster;
  }

  /** Gives the servers Deployments, Services and replicas. Scenarios that need them cause it too. */
  async deploy(): Promise<void> {
    const installation = this.#installation;
    if (this.#deployed || !installation) return;
    this.#deployed = await DeployedServers.start({
      client: this.#client,
      installation,
      workDir: this.#workDir,
      flags: this.#flags,
      env: this.#env,
    });
  }

  /** Runs scenarios on the unchanged servers, and deletes everything that they leave. @param report called with each result */
  async run(scenarios: readonly Scenario[], timeoutMs: number, report?: (result: ScenarioResult) => void): Promise<ScenarioResult[]> {
    await this.#provide(scenarios);
    try {
      return await this.#play(scenarios, timeoutMs, report);
    } finally {
      await this.#sweep();
    }
  }

  /** Runs scenarios on a mutant, and deletes everything that they leave. */
  async runOnMutant(mutant: Mutant, scenarios: readonly Scenario[], timeoutMs: number): Promise<ScenarioResult[]> {
    await this.#provide(scenarios);
    await this.#mutate(mutant);
    try {
      return await (isDefinition(mutant) ? this.#playUntilFailed(scenarios, timeoutMs) : this.#play(scenarios, timeoutMs));
    } finally {
      await this.#restore(mutant);
      await this.#sweep();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#deployed?.[Symbol.asyncDispose]();
    await this.#installation?.stop();
    await this.#client.close();
    await this.#dev.stop();
    await rm(this.#workDir, { recursive: true, force: true });
  }

  async #mutate(mutant: Mutant): Promise<void> {
    const path = getMutatedPath(mutant);
    const source = mutateText(mutant, await readFile(path, "utf8"));
    if (isDefinition(mutant)) return this.#applyDefinition(source);
    for (const server of MUTATED)
      Object.assign(this.#env[server], { OLMV1_MUTATED_URL: pathToFileURL(path).href, OLMV1_MUTATED_SOURCE: source });
    await this.#restart();
  }

  async #restore(mutant: Mutant): Promise<void> {
    const path = getMutatedPath(mutant);
    if (isDefinition(mutant)) return this.#applyDefinition(await readFile(path, "utf8"));
    for (const server of MUTATED) {
      delete this.#env[server]["OLMV1_MUTATED_URL"];
      delete this.#env[server]["OLMV1_MUTATED_SOURCE"];
    }
    await this.#restart();
  }

  /** Adds to the cluster what scenarios need: Deployments of the servers, and the API of OpenShift with a proxy. */
  async #provide(scenarios: readonly Scenario[]): Promise<void> {
    const needs = scenarios.flatMap((scenario) => scenario.needs);
    if (needs.some((need) => NEEDS_DEPLOYMENTS.test(need))) await this.deploy();
    if (!needs.some((need) => NEEDS_OPENSHIFT.test(need)) || this.#isOpenShift) return;
    this.#isOpenShift = true;
    await new OpenShift(this.#client).imitate(this.#dev.registry.host);
    await this.#restart();
  }

  async #restart(): Promise<void> {
    await this.#deployed?.settled();
    const installation = this.#installation;
    for (const server of MUTATED) await installation?.restart(server);
    // A mutant may not release its lease.
    const signal = AbortSignal.timeout(LEADING_MS);
    for (const server of MUTATED)
      await waitFor({ what: `${server} to lead`, timeoutMs: LEADING_MS, signal }, async () => {
        const response = await fetch(`${installation?.probes[server]}/readyz?verbose`, { signal });
        const text = await response.text();
        return text.includes("leader ok: this process leads") ? { done: undefined } : { reason: text };
      });
  }

  async #applyDefinition(text: string): Promise<void> {
    await this.#client.apply(parseYaml(text) as KubeObject, { fieldManager: "olmv1-dev", force: true });
  }

  async #play(
    scenarios: readonly Scenario[],
    timeoutMs: number,
    report: (result: ScenarioResult) => void = () => undefined,
  ): Promise<ScenarioResult[]> {
    const client = this.#client;
    const repository = parseReference(`${this.#dev.registry.host}/conformance`);
    const content = new ClusterContentReader(client);
    const signal = new AbortController().signal;
    const terminal = { env: {}, signal, out: () => undefined, err: () => undefined };
    return withImages({ insecure: true }, terminal, (stores) => {
      const cluster = { client, stores, repository, content, systemNamespace: SYSTEM_NAMESPACE, run: createRunName(), timeoutMs };
      return runSuite(cluster, scenarios, { parallel: 4, keepFailed: false, signal, report });
    });
  }

  /** Repeats the scenarios until they fail: the API server applies a changed definition with a delay. */
  async #playUntilFailed(scenarios: readonly Scenario[], timeoutMs: number): Promise<ScenarioResult[]> {
    const limit = { timeoutMs, signal: AbortSignal.timeout(2 * timeoutMs) };
    const answer = await poll(limit, async (): Promise<PollAnswer<ScenarioResult[], ScenarioResult[]>> => {
      const results = await this.#play(scenarios, timeoutMs);
      return results.every(({ state }) => state === "failed") ? { done: results } : { reason: results };
    });
    return "done" in answer ? answer.done : answer.reason;
  }

  /** Deletes what the scenarios left. The finalizers of extensions are removed last. */
  async #sweep(): Promise<void> {
    const left = await this.#listLeft();
    for (const ref of left) await this.#client.delete(ref);
    for (const ref of left.filter(({ kind }) => kind === "ClusterExtension" || kind === "ClusterCatalog"))
      await this.#client
        .patch(ref, { metadata: { finalizers: null } }, { type: "merge", fieldManager: FIELD_MANAGER })
        .catch(() => undefined); // it is gone
    const signal = AbortSignal.timeout(SWEEP_MS);
    await waitFor({ what: "the objects of the scenarios to be deleted", timeoutMs: SWEEP_MS, signal }, async () => {
      const [first] = await this.#listLeft();
      return first ? { reason: `${first.kind} ${first.name} exists` } : { done: undefined };
    });
  }

  async #listLeft(): Promise<ObjectRef[]> {
    const labelSelector = LABEL_CONFORMANCE;
    const labelled = await Promise.all(
      [
        { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension" },
        { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterCatalog" },
        { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" },
        { apiVersion: "v1", kind: "Namespace" },
      ].map(async (kind) => (await this.#client.list(kind, { labelSelector })).items),
    );
    const { items: definitions } = await this.#client.list(CRD, { metadataOnly: true });
    const { items: releases } = await this.#client.list(
      { apiVersion: "v1", kind: "Secret" },
      { namespace: SYSTEM_NAMESPACE, labelSelector: "owner=operator-controller", metadataOnly: true },
    );
    const things = definitions.filter(({ metadata }) => metadata.name.startsWith("things."));
    return [...labelled.flat(), ...things, ...releases].map(toObjectRef);
  }
}
