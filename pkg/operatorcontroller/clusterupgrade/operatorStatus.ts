import type { KubeObject } from "../../api/k8s.ts";
import { type OperatorStatus, clusterOperatorStatus } from "../../openshift/clusterOperatorStatus.ts";
import { type NewOperatorCondition, deploymentConditions, keptConditions } from "../../openshift/operatorConditions.ts";
import { relatedObjects } from "../../openshift/relatedObjects.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";

/** What the flags say about the ClusterOperator's status. */
export interface OperatorSettings {
  /** Version of the operand `operator`; without it the cluster's own. */
  operatorImageVersion?: string | undefined;
  /** Release that the cluster is updated to; until the ClusterOperator reports it Progressing is True. */
  releaseVersion?: string | undefined;
}

/** What was found on the cluster. */
export interface FoundOnCluster {
  /** The conditions about extensions. */
  conditions: readonly NewOperatorCondition[];
  /** A Deployment of the system namespace, if there is one. */
  deployment: (name: string) => KubeObject | undefined;
  cluster: ClusterVersion;
  unmanaged: boolean;
}

/** The parts of this operator; the Deployment of each is named `<part>-controller-manager`. */
const COMPONENTS = ["catalogd", "operator-controller"] as const;

/** The status of ClusterOperator `olm` after `before`. */
export function operatorStatusFrom(
  before: unknown,
  { conditions, deployment, cluster, unmanaged }: FoundOnCluster,
  { settings, systemNamespace }: { settings: OperatorSettings; systemNamespace: string },
  now: Date,
): OperatorStatus {
  const kept = keptConditions(before, now);
  const ofDeployments = COMPONENTS.flatMap((component) => {
    const name = `${component}-controller-manager`;
    return deploymentConditions({ component, name, deployment: deployment(name) }, kept, now);
  });
  const inputs = {
    conditions: [...ofDeployments, ...conditions],
    unmanaged,
    operatorVersion: settings.operatorImageVersion || (cluster.kind === "known" ? cluster.text : undefined),
    releaseVersion: settings.releaseVersion,
    relatedObjects: relatedObjects(systemNamespace),
  };
  return clusterOperatorStatus(before, inputs, now);
}
