import { changedConditions } from "../../api/conditions.ts";
import type { EventSink } from "../../api/events.ts";
import type { Condition, KubeObject } from "../../api/k8s.ts";
import { replaceStatus } from "../../controller/reconcile.ts";
import { RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { OperatorStatus } from "../../openshift/clusterOperatorStatus.ts";
import type { Client } from "../../kube/client.ts";
import type { Logger } from "../../telemetry/log.ts";
import { CLUSTER_OPERATOR } from "./gateMode.ts";

/** What ClusterOperatorWriter is built from. */
export interface ClusterOperatorWriterOptions {
  client: Pick<Client, "get" | "apply" | "patch">;
  events: EventSink;
}

/** Manager of the fields of the ClusterOperator. */
const MANAGER = "operator-controller";

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
    return this.#options.client.apply<KubeObject>({ ...gvk, metadata: { name }, spec: {} }, { fieldManager: MANAGER, signal });
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
