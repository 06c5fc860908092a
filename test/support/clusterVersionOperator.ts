import { parseMinorVersion } from "../../pkg/version/clusterVersion.ts";
import { eventually } from "./eventually.ts";
import type { OpenShift } from "./openShift.ts";

/** Why cluster-version-operator does not start an upgrade. */
export interface DeniedUpgrade {
  readonly reason: string;
  readonly message: string;
}

/**
 * What cluster-version-operator does with ClusterOperator `olm`:
 *
 * - An upgrade to another minor version does not start while Upgradeable is False; other values, and patch versions, do not block it.
 * - An upgrade is complete when the ClusterOperator is Available, not Degraded, and reports the new version.
 *
 * @see https://github.com/openshift/cluster-version-operator/blob/0a34c111/pkg/payload/precondition/clusterversion/upgradeable.go
 * @see https://github.com/openshift/cluster-version-operator/blob/0a34c111/pkg/cvo/upgradeable.go clusterOperatorsUpgradeable
 * @see https://github.com/openshift/cluster-version-operator/blob/0a34c111/pkg/cvo/internal/operatorstatus.go checkOperatorHealth
 */
export class ClusterVersionOperator {
  readonly #openShift: OpenShift;
  #version: string;

  /** @param version of the cluster, which ClusterVersion reports */
  constructor(openShift: OpenShift, version: string) {
    this.#openShift = openShift;
    this.#version = version;
  }

  /** Starts an upgrade like an administrator, and waits until it is complete. @returns undefined, or why it did not start */
  async upgrade(version: string): Promise<DeniedUpgrade | undefined> {
    const denied = await this.#check(version);
    if (denied) return denied;
    await this.#openShift.setVersion(version);
    this.#version = version;
    await eventually(async () => {
      const { status } = ((await this.#openShift.clusterOperator()) ?? {}) as { status?: { versions?: unknown } };
      const [available, degraded] = await Promise.all(["Available", "Degraded"].map((type) => this.#openShift.condition(type)));
      const versions = JSON.stringify(status?.versions);
      if (!versions?.includes(JSON.stringify({ name: "operator", version }))) throw new Error(`ClusterOperator olm reports ${versions}`);
      if (available?.status !== "True" || degraded?.status === "True")
        throw new Error(`ClusterOperator olm is not healthy: ${JSON.stringify([available, degraded])}`);
    });
    return undefined;
  }

  async #check(version: string): Promise<DeniedUpgrade | undefined> {
    const [from, to] = [parseMinorVersion(this.#version), parseMinorVersion(version)];
    if (from.major === to.major && from.minor === to.minor) return undefined;
    const condition = await this.#openShift.condition("Upgradeable");
    if (condition?.status !== "False") return undefined;
    return { reason: condition.reason, message: condition.message };
  }
}
