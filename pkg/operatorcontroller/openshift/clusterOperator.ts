import { isDeepStrictEqual } from "node:util";
import { listChangedConditions } from "../../api/conditions.ts";
import { getCatalogdNamespace } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import type { Condition, KubeObject } from "../../api/k8s.ts";
import type { Clock } from "../../async/clock.ts";
import { Informer, withoutBulk } from "../../controller/informer.ts";
import type { ObjectState } from "../../controller/optionalObject.ts";
import { replaceStatus } from "../../controller/statusWriter.ts";
import { RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { buildClusterOperatorStatus, type OperatorStatus } from "../../openshift/clusterOperatorStatus.ts";
import { buildDeploymentConditions, type NewOperatorCondition, readKeptConditions } from "../../openshift/operatorConditions.ts";
import { listRelatedObjects } from "../../openshift/relatedObjects.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";

/** Values of --cluster-operator. */
export const CLUSTER_OPERATOR_MODES = ["auto", "on", "off"] as const;
/** Whether operator-controller writes ClusterOperator `olm`. */
export type ClusterOperatorMode = (typeof CLUSTER_OPERATOR_MODES)[number];

/** The ClusterOperator that reports whether the cluster may be upgraded. */
export const CLUSTER_OPERATOR = { apiVersion: "config.openshift.io/v1", kind: "ClusterOperator", name: "olm" } as const;
/**
 * The configuration of cluster-olm-operator. If this object exists, cluster-olm-operator writes the ClusterOperator, based on the release Secrets of
 * operator-controller.
 */
export const OLM = { apiVersion: "operator.openshift.io/v1", kind: "OLM", name: "cluster" } as const;

/** Whether operator-controller currently writes the ClusterOperator, and why. With `unmanaged`, it only reports that OLM is unmanaged. */
export type GateMode =
  | { readonly kind: "undecided" | "inactive"; readonly reason: string }
  | { readonly kind: "active"; readonly unmanaged: boolean; readonly reason: string };

/**
 * Decides whether operator-controller writes the ClusterOperator:
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
export function chooseGateMode(flag: ClusterOperatorMode, clusterOperator: ObjectState, olm: ObjectState): GateMode {
  if (flag === "off") return { kind: "inactive", reason: "--cluster-operator is off" };
  if (clusterOperator.kind === "unknown") return newUndecidedMode("whether ClusterOperators are served", clusterOperator.reason);
  if (clusterOperator.kind === "notServed") return { kind: "inactive", reason: "this cluster does not serve ClusterOperators" };
  const whether = 'whether cluster-olm-operator writes ClusterOperator "olm"';
  if (olm.kind === "unknown") return newUndecidedMode(whether, olm.reason);
  if (flag === "auto" && olm.kind === "unreadable") return { kind: "inactive", reason: `cannot determine ${whether}: ${olm.reason}` };
  if (flag === "on") return { kind: "active", unmanaged: getManagementState(olm) === "Unmanaged", reason: "--cluster-operator is on" };
  if (olm.kind === "present")
    return { kind: "inactive", reason: `OLM "cluster" exists: cluster-olm-operator writes ClusterOperator "olm"` };
  return { kind: "active", unmanaged: false, reason: `cluster-olm-operator does not write ClusterOperator "olm"` };
}

function getManagementState(olm: ObjectState): unknown {
  if (olm.kind !== "present") return undefined;
  return ((olm.object["spec"] ?? {}) as { managementState?: unknown }).managementState;
}

function newUndecidedMode(what: string, because: string | undefined): GateMode {
  return { kind: "undecided", reason: `cannot determine yet ${what}${because === undefined ? "" : `: ${because}`}` };
}

/** The options of a ClusterOperatorWriter. */
export interface ClusterOperatorWriterOptions {
  client: Pick<Client, "get" | "apply" | "patch">;
  events: EventSink;
}

/** The field manager for the ClusterOperator. */
const FIELD_MANAGER = "operator-controller";

/** Writes the status of ClusterOperator `olm`, and creates the object if it does not exist. */
export class ClusterOperatorWriter {
  readonly #options: ClusterOperatorWriterOptions;

  constructor(options: ClusterOperatorWriterOptions) {
    this.#options = options;
  }

  /**
   * Replaces the current status by the result of `statusFrom`, if it differs.
   * @throws KubeError if a request fails or is denied; RetryableError Retrying if the object is deleted during the update.
   */
  async write(
    statusFrom: (before: unknown) => OperatorStatus,
    { log, signal }: { log: Logger; signal: AbortSignal },
  ): Promise<OperatorStatus> {
    const object = (await this.#options.client.get(CLUSTER_OPERATOR, { signal })) ?? (await this.#create(signal));
    const next = statusFrom(object["status"]);
    if (next.changed === undefined) return next;
    const written = await replaceStatus(this.#options.client, object, next.status);
    if (!written) throw new RetryableError("Retrying", 'ClusterOperator "olm" was deleted during the status update');
    this.#announce(written, object, next, log);
    return next;
  }

  /**
   * Writes the operator conditions in the status of ClusterOperator `olm` to OLM `cluster` too, where cluster-olm-operator keeps them, if they differ.
   * Conditions of other writers stay.
   * @throws KubeError if the request fails or is denied
   */
  async writeOlm(olm: KubeObject, status: unknown, signal: AbortSignal): Promise<void> {
    const conditions = readKeptConditions(status, new Date());
    const written = getConditions(olm["status"]);
    const isSame = (one: (typeof conditions)[number]): boolean =>
      written.some(({ type, status: is, reason, message }) =>
        isDeepStrictEqual([type, is, reason ?? "", message ?? ""], [one.type, one.status, one.reason, one.message]),
      );
    if (conditions.every(isSame)) return;
    const { name, ...gvk } = OLM;
    const options = { fieldManager: FIELD_MANAGER, force: true, subresource: "status", signal };
    await this.#options.client.apply({ ...gvk, metadata: { name }, status: { conditions } }, options);
  }

  #create(signal: AbortSignal): Promise<KubeObject> {
    const { name, ...gvk } = CLUSTER_OPERATOR;
    return this.#options.client.apply<KubeObject>({ ...gvk, metadata: { name }, spec: {} }, { fieldManager: FIELD_MANAGER, signal });
  }

  #announce(object: KubeObject, before: KubeObject, { status, changed, versionChanged }: OperatorStatus, log: Logger): void {
    const { events } = this.#options;
    for (const { condition } of listChangedConditions(getConditions(before["status"]), getConditions(status))) {
      const { type, reason, message } = condition;
      log.info({ condition: type, status: condition.status, reason, message }, "ClusterOperator condition changed");
    }
    events.record(object, "Normal", "OperatorStatusChanged", `Status for clusteroperator/olm changed: ${changed}`);
    if (versionChanged === undefined) return;
    const text = `clusteroperator/olm version "operator" changed from ${goQuote(versionChanged.from)} to ${goQuote(versionChanged.to)}`;
    events.record(object, "Normal", "OperatorVersionChanged", text);
  }
}

function getConditions(status: unknown): Condition[] {
  const { conditions } = (status ?? {}) as { conditions?: Condition[] };
  return conditions ?? [];
}

/** Flags that affect the ClusterOperator status. */
export interface OperatorSettings {
  /** Version of the operand `operator`. Default: the cluster version. */
  operatorImageVersion?: string | undefined;
  /** Target release of a cluster upgrade; Progressing is True until the ClusterOperator reports it. */
  releaseVersion?: string | undefined;
}

/** The cluster state from which the ClusterOperator status is computed. */
export interface OperatorStatusInput {
  /** The conditions about extensions. */
  conditions: readonly NewOperatorCondition[];
  /** Returns a Deployment of the servers' namespaces, if it exists. */
  deployment: (name: string) => KubeObject | undefined;
  cluster: ClusterVersion;
  unmanaged: boolean;
  /** Whether OLM `cluster` exists. */
  hasOlm: boolean;
}

/** The components of this operator; their Deployments are named `<component>-controller-manager`. */
const COMPONENTS = ["catalogd", "operator-controller"] as const;

/** Computes the status of ClusterOperator `olm` from its previous status and the state of the cluster. */
export function buildOperatorStatus(
  before: unknown,
  { conditions, deployment, cluster, unmanaged, hasOlm }: OperatorStatusInput,
  { settings, systemNamespace }: { settings: OperatorSettings; systemNamespace: string },
  now: Date,
): OperatorStatus {
  const kept = readKeptConditions(before, now);
  const ofDeployments = COMPONENTS.flatMap((component) => {
    const name = `${component}-controller-manager`;
    return buildDeploymentConditions({ component, name, deployment: deployment(name) }, kept, now);
  });
  const inputs = {
    conditions: [...ofDeployments, ...conditions],
    unmanaged,
    operatorVersion: settings.operatorImageVersion || (cluster.kind === "known" ? cluster.text : undefined),
    releaseVersion: settings.releaseVersion,
    relatedObjects: listRelatedObjects(systemNamespace, { hasOlm }),
  };
  return buildClusterOperatorStatus(before, inputs, now);
}

/** The options of ControllerDeployments. */
export interface ControllerDeploymentsOptions {
  client: Pick<Client, "list" | "watch">;
  systemNamespace: string;
  log: Logger;
  clock: Clock;
}

const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" } as const;
/** Maximum time to wait for the first list of Deployments, in milliseconds. */
const SYNC_TIMEOUT_MS = 10_000;

/** The Deployments in the namespaces of the servers. The first call of `known` starts watching them. */
export class ControllerDeployments {
  /** One for each namespace. */
  readonly #informers: readonly Informer[];
  readonly #clock: Clock;
  readonly #handlers: (() => void)[] = [];
  #running: Promise<unknown> | undefined;
  #synced = false;

  constructor({ client, systemNamespace, log, clock }: ControllerDeploymentsOptions) {
    this.#clock = clock;
    const changed = (): void => {
      if (this.#synced) for (const handler of this.#handlers) handler();
    };
    const namespaces = new Set([systemNamespace, getCatalogdNamespace(systemNamespace)]);
    const missing = new Set(namespaces);
    this.#informers = [...namespaces].map((namespace) => {
      const onList = (): void => {
        missing.delete(namespace);
        if (missing.size === 0) this.#markSynced();
      };
      const informer = new Informer(client, DEPLOYMENT, { namespace, transform: withoutBulk, clock, onList }, log);
      informer.onEvent(changed);
      return informer;
    });
  }

  /** Calls `handler` when the Deployments are known for the first time, and after every change. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Reports whether the Deployments are known. The first call starts watching them until `signal` aborts. */
  known(signal: AbortSignal): boolean {
    if (!this.#running) {
      const stopWaiting = this.#clock.after(SYNC_TIMEOUT_MS, () => this.#markSynced());
      this.#running = Promise.all(this.#informers.map((informer) => informer.run(signal))).finally(stopWaiting);
    }
    return this.#synced;
  }

  get(name: string): KubeObject | undefined {
    return this.#informers.flatMap((informer) => informer.list()).find(({ metadata }) => metadata.name === name);
  }

  /** Resolves when the watch has ended. */
  async ended(): Promise<void> {
    await this.#running;
  }

  #markSynced(): void {
    if (this.#synced) return;
    this.#synced = true;
    for (const handler of this.#handlers) handler();
  }
}
