import { changedConditions } from "../../api/conditions.ts";
import type { EventSink } from "../../api/events.ts";
import type { Condition, KubeObject } from "../../api/k8s.ts";
import type { Clock } from "../../async/clock.ts";
import { Informer, withoutBulk } from "../../controller/informer.ts";
import type { ObjectState } from "../../controller/optionalObject.ts";
import { replaceStatus } from "../../controller/statusWriter.ts";
import { RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { clusterOperatorStatus, type OperatorStatus } from "../../openshift/clusterOperatorStatus.ts";
import { deploymentConditions, keptConditions, type NewOperatorCondition } from "../../openshift/operatorConditions.ts";
import { relatedObjects } from "../../openshift/relatedObjects.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";

/** Values of --cluster-operator. */
export const CLUSTER_OPERATOR_MODES = ["auto", "on", "off"] as const;
/** Whether the ClusterOperator `olm` is written. */
export type ClusterOperatorMode = (typeof CLUSTER_OPERATOR_MODES)[number];

/** The ClusterOperator that says whether the cluster may be upgraded. */
export const CLUSTER_OPERATOR = { apiVersion: "config.openshift.io/v1", kind: "ClusterOperator", name: "olm" } as const;
/** The configuration of cluster-olm-operator: where it exists, that one writes the ClusterOperator, from our release Secrets. */
export const OLM = { apiVersion: "operator.openshift.io/v1", kind: "OLM", name: "cluster" } as const;

/** Whether we write the ClusterOperator now, with a sentence that says why; `unmanaged`: it only says that nobody looks after OLM. */
export type GateMode =
  | { readonly kind: "undecided" | "inactive"; readonly because: string }
  | { readonly kind: "active"; readonly unmanaged: boolean; readonly because: string };

/**
 * Who writes the ClusterOperator:
 *
 * | flag       | ClusterOperator | OLM/cluster | mode                                  |
 * | off        |                 |             | inactive                              |
 * | on or auto | not served      |             | inactive                              |
 * | auto       | served          | exists      | inactive                              |
 * | auto       | served          | none        | active                                |
 * | auto       | served          | unreadable  | inactive: two writers would alternate |
 * | on or auto | served          | not read yet | undecided                             |
 * | on         | served          | Unmanaged   | active, unmanaged                     |
 * | on         | served          | otherwise   | active                                |
 */
export function gateModeFrom(flag: ClusterOperatorMode, clusterOperator: ObjectState, olm: ObjectState): GateMode {
  if (flag === "off") return { kind: "inactive", because: "--cluster-operator is off" };
  if (clusterOperator.kind === "unknown") return undecided("whether ClusterOperators are served", clusterOperator.because);
  if (clusterOperator.kind === "notServed") return { kind: "inactive", because: "this cluster has no ClusterOperators" };
  const whether = 'whether cluster-olm-operator writes ClusterOperator "olm"';
  if (olm.kind === "unknown") return undecided(whether, olm.because);
  if (flag === "auto" && olm.kind === "unreadable") return { kind: "inactive", because: `it cannot be told ${whether}: ${olm.because}` };
  if (flag === "on") return { kind: "active", unmanaged: managementState(olm) === "Unmanaged", because: "--cluster-operator is on" };
  if (olm.kind === "present")
    return { kind: "inactive", because: `OLM "cluster" exists: cluster-olm-operator writes ClusterOperator "olm"` };
  return { kind: "active", unmanaged: false, because: `no cluster-olm-operator writes ClusterOperator "olm"` };
}

function managementState(olm: ObjectState): unknown {
  if (olm.kind !== "present") return undefined;
  return ((olm.object["spec"] ?? {}) as { managementState?: unknown }).managementState;
}

function undecided(what: string, because: string | undefined): GateMode {
  return { kind: "undecided", because: `it is not known yet ${what}${because === undefined ? "" : `: ${because}`}` };
}

/** What ClusterOperatorWriter is built from. */
export interface ClusterOperatorWriterOptions {
  client: Pick<Client, "get" | "apply" | "patch">;
  events: EventSink;
}

/** Manager of the fields of the ClusterOperator. */
const FIELD_MANAGER = "operator-controller";

/** Writes the status of ClusterOperator `olm`, which it creates where it is missing. */
export class ClusterOperatorWriter {
  readonly #options: ClusterOperatorWriterOptions;

  constructor(options: ClusterOperatorWriterOptions) {
    this.#options = options;
  }

  /**
   * Makes the status what `statusFrom` gives for the one that the object has now, and writes only a difference.
   * @throws KubeError when the API server refuses; RetryableError Retrying when the object was removed meanwhile.
   */
  async write(
    statusFrom: (before: unknown) => OperatorStatus,
    { log, signal }: { log: Logger; signal: AbortSignal },
  ): Promise<OperatorStatus> {
    const object = (await this.#options.client.get(CLUSTER_OPERATOR, { signal })) ?? (await this.#create(signal));
    const next = statusFrom(object["status"]);
    if (next.changed === undefined) return next;
    const written = await replaceStatus(this.#options.client, object, next.status);
    if (!written) throw new RetryableError("Retrying", 'ClusterOperator "olm" was removed while its status was written');
    this.#announce(written, object, next, log);
    return next;
  }

  #create(signal: AbortSignal): Promise<KubeObject> {
    const { name, ...gvk } = CLUSTER_OPERATOR;
    return this.#options.client.apply<KubeObject>({ ...gvk, metadata: { name }, spec: {} }, { fieldManager: FIELD_MANAGER, signal });
  }

  #announce(object: KubeObject, before: KubeObject, { status, changed, versionChanged }: OperatorStatus, log: Logger): void {
    const { events } = this.#options;
    for (const { condition } of changedConditions(conditionsOf(before["status"]), conditionsOf(status))) {
      const { type, reason, message } = condition;
      log.info({ condition: type, status: condition.status, reason, message }, "ClusterOperator condition changed");
    }
    events.record(object, "Normal", "OperatorStatusChanged", `Status for clusteroperator/olm changed: ${changed}`);
    if (versionChanged === undefined) return;
    const text = `clusteroperator/olm version "operator" changed from ${goQuote(versionChanged.from)} to ${goQuote(versionChanged.to)}`;
    events.record(object, "Normal", "OperatorVersionChanged", text);
  }
}

function conditionsOf(status: unknown): Condition[] {
  const { conditions } = (status ?? {}) as { conditions?: Condition[] };
  return conditions ?? [];
}

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

/** What ControllerDeployments is built from. */
export interface ControllerDeploymentsOptions {
  client: Pick<Client, "list" | "watch">;
  systemNamespace: string;
  log: Logger;
  clock: Clock;
}

const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" } as const;
/** For so long nothing goes on without an answer. */
const ANSWER_MS = 10_000;

/** The Deployments of the system namespace, watched from the first time that somebody asks for them. */
export class ControllerDeployments {
  readonly #informer: Informer;
  readonly #clock: Clock;
  readonly #handlers: (() => void)[] = [];
  #running: Promise<void> | undefined;
  #answered = false;

  constructor({ client, systemNamespace, log, clock }: ControllerDeploymentsOptions) {
    this.#clock = clock;
    const changed = (): void => {
      if (this.#answered) for (const handler of this.#handlers) handler();
    };
    this.#informer = new Informer(
      client,
      DEPLOYMENT,
      { namespace: systemNamespace, transform: withoutBulk, clock, listed: () => this.#answer() },
      log,
    );
    this.#informer.onEvent(changed);
  }

  /** Calls `handler` when the Deployments are known at last, and after every change. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Whether it is known which Deployments there are; from the first call on they are watched until `signal` aborts. */
  known(signal: AbortSignal): boolean {
    if (!this.#running) {
      const stopWaiting = this.#clock.after(ANSWER_MS, () => this.#answer());
      this.#running = this.#informer.run(signal).finally(stopWaiting);
    }
    return this.#answered;
  }

  get(name: string): KubeObject | undefined {
    return this.#informer.list().find(({ metadata }) => metadata.name === name);
  }

  /** Resolves once nothing is watched any more. */
  async ended(): Promise<void> {
    await this.#running;
  }

  #answer(): void {
    if (this.#answered) return;
    this.#answered = true;
    for (const handler of this.#handlers) handler();
  }
}
