import { rm } from "node:fs/promises";
import type { TestProject } from "vitest/node";
import { NoBinariesError } from "../../pkg/devcluster/binaries.ts";
import { type DevCluster, startDevCluster } from "../../pkg/devcluster/devCluster.ts";
import { Client } from "../../pkg/kube/client.ts";
import { readServerInfo } from "../../pkg/kube/servedResources.ts";
import { buildPrograms } from "./builtPrograms.ts";
import type { ClusterContext } from "./clusterContext.ts";
import { createClusterTemplate } from "./clusterTemplate.ts";

/** The control plane of this vitest process. Each project loads this module separately, so it is stored on the process, not in the module. */
interface Shared {
  users: number;
  readonly cluster: Promise<Started | NoBinariesError>;
  /** Folder of the built programs. */
  readonly programs: Promise<string>;
}

/** A control plane, and the data folder that it and others copy at their start. */
interface Started {
  readonly cluster: DevCluster;
  /** Version of the API server, such as "v1.36.3". */
  readonly kubernetes: string;
  readonly template: string;
}

const VERSION_TIMEOUT_MS = 60_000;
const KEY = Symbol.for("olmv1.test.cluster");

/** Starts one control plane and builds the programs for all projects of a run, provides both to the test files, and stops it after the last project. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const holder = globalThis as { [KEY]?: Shared };
  const shared = (holder[KEY] ??= { users: 0, cluster: start(), programs: buildPrograms() });
  shared.users++;
  const [started, programs] = await Promise.all([shared.cluster, shared.programs]);
  project.provide("cluster", toContext(started, programs));
  return async () => {
    if (--shared.users > 0) return;
    delete holder[KEY];
    await rm(programs, { recursive: true, force: true });
    if (started instanceof NoBinariesError) {
      console.warn(`\nNOT RUN: tests that need a control plane; ${started.message}\n`);
      return;
    }
    await started.cluster.stop();
    await rm(started.template, { recursive: true, force: true });
  };
}

async function start(): Promise<Started | NoBinariesError> {
  try {
    const template = await createClusterTemplate();
    const cluster = await startDevCluster({ template });
    return { cluster, kubernetes: await readVersion(cluster), template };
  } catch (err) {
    if (err instanceof NoBinariesError && process.env["CI"] !== "true") return err;
    throw err;
  }
}

async function readVersion({ kubeconfig }: DevCluster): Promise<string> {
  const client = Client.fromKubeConfig(kubeconfig);
  try {
    return (await readServerInfo(client, AbortSignal.timeout(VERSION_TIMEOUT_MS))).version;
  } finally {
    await client.close();
  }
}

function toContext(started: Started | NoBinariesError, programs: string): ClusterContext {
  if (started instanceof NoBinariesError) return { available: false, reason: started.message };
  const { server, kubeconfig, registry, auditLog, logs } = started.cluster;
  const { kubernetes, template } = started;
  return { available: true, server, kubernetes, kubeconfig, registryHost: registry.host, auditLog, logs, template, programs };
}
