import { rm } from "node:fs/promises";
import type { TestProject } from "vitest/node";
import { NoBinariesError } from "../../pkg/devcluster/binaries.ts";
import { type DevCluster, startDevCluster } from "../../pkg/devcluster/devCluster.ts";
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
  readonly template: string;
}

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
    return { cluster: await startDevCluster({ template }), template };
  } catch (err) {
    if (err instanceof NoBinariesError && process.env["CI"] !== "true") return err;
    throw err;
  }
}

function toContext(started: Started | NoBinariesError, programs: string): ClusterContext {
  if (started instanceof NoBinariesError) return { available: false, reason: started.message };
  const { server, kubeconfig, registry, auditLog, logs } = started.cluster;
  return { available: true, server, kubeconfig, registryHost: registry.host, auditLog, logs, template: started.template, programs };
}
