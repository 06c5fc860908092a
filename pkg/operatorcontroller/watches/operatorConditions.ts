import { LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { type ConditionSupport, OPERATOR_CONDITION, UPGRADEABLE } from "../../api/operatorCondition.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { OptionalKind, type OptionalKindClient } from "../../controller/optionalKind.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import type { OperatorVeto } from "../../openshift/vetoCondition.ts";
import { isVeto, readUpgradeable, type UpgradeableReport } from "../../release/upgradeVeto.ts";
import type { Logger } from "../../telemetry/log.ts";

/** Maximum wait for a response of the API server, in milliseconds. */
const ANSWER_MS = 10_000;

/** The options of OperatorConditions. */
export interface OperatorConditionsOptions {
  client: OptionalKindClient;
  log: Logger;
  clock?: Clock;
}

/** A changed OperatorCondition. */
export interface ChangedCondition {
  readonly namespace: string;
  readonly name: string;
  /** The extension that created it; absent if another program did. */
  readonly extension?: string;
}

/**
 * Watches the OperatorConditions of all operators with the identity of the controller, because the ServiceAccount of an extension that was converted
 * from OLM v0 cannot read that of its operator. Keeps only the condition Upgradeable, with bounded texts.
 */
export class OperatorConditions {
  /** Resolves when it is known whether the cluster serves the kind, or after some seconds without a response. */
  readonly synced: Promise<void>;
  readonly #objects: OptionalKind;
  readonly #clock: Clock;
  readonly #sync = Promise.withResolvers<void>();
  readonly #handlers: ((changed: ChangedCondition | undefined) => void)[] = [];
  #support: ConditionSupport = "Unknown";
  /** By namespace and name. */
  #known = new Map<string, { readonly object: KubeObject; readonly text: string }>();
  /** Computed once for each change, because each reconcile reads it. */
  #foreign: ReadonlySet<string> = new Set();

  constructor({ client, log, clock = systemClock }: OperatorConditionsOptions) {
    this.#clock = clock;
    this.synced = this.#sync.promise;
    this.#objects = new OptionalKind(client, OPERATOR_CONDITION, { log, clock, transform: withReport });
    this.#objects.onChange(() => this.#update());
  }

  /** Whether the cluster serves the kind. Unknown if it cannot be listed. */
  get support(): ConditionSupport {
    return this.#support;
  }

  /** Why it is unknown whether operators allow an upgrade; undefined if it is known. If you must act, ends with the action. */
  get unknownReason(): string | undefined {
    const { state } = this.#objects;
    if (state.kind === "unreadable")
      return `${state.reason}; let the ServiceAccount of operator-controller list and watch operatorconditions.operators.coreos.com`;
    return state.kind === "unknown" ? (state.reason ?? "the API server has not responded") : undefined;
  }

  /** OperatorConditions that no extension created, as "namespace/name". */
  get foreign(): ReadonlySet<string> {
    return this.#foreign;
  }

  /** Returns what an OperatorCondition reports about upgrades; undefined if it does not exist, or reports nothing. */
  find(namespace: string, name: string): UpgradeableReport | undefined {
    const found = this.#known.get(`${namespace}/${name}`);
    return found && getReport(found.object);
  }

  /** Returns the OperatorConditions that do not allow an upgrade, including those of OLM v0. */
  listVetoes(): OperatorVeto[] {
    return [...this.#known.values()].flatMap(({ object }) => {
      const report = getReport(object);
      return report && isVeto(report) ? [{ ...toChanged(object), report }] : [];
    });
  }

  /** Calls `handler` with each OperatorCondition whose report changed, and with undefined if the support of the cluster changed. */
  onChange(handler: (changed: ChangedCondition | undefined) => void): void {
    this.#handlers.push(handler);
  }

  /** Watches until `signal` aborts; never throws. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const stopWaiting = this.#clock.after(ANSWER_MS, () => this.#sync.resolve());
    await this.#objects.run(signal);
    stopWaiting();
    this.#sync.resolve();
  }

  #update(): void {
    const { state } = this.#objects;
    const before = this.#known;
    const support = state.kind === "served" ? "Served" : state.kind === "notServed" ? "NotServed" : "Unknown";
    // An interruption does not discard the reports.
    if (support !== "Unknown") this.#known = indexObjects(state.kind === "served" ? state.objects : []);
    this.#foreign = new Set([...this.#known].flatMap(([key, { object }]) => (toChanged(object).extension === undefined ? [key] : [])));
    const isOtherSupport = support !== this.#support;
    this.#support = support;
    if (state.kind !== "unknown") this.#sync.resolve();
    if (isOtherSupport) for (const handler of this.#handlers) handler(undefined);
    for (const [key, { object }] of new Map([...before, ...this.#known])) {
      if (before.get(key)?.text === this.#known.get(key)?.text) continue;
      for (const handler of this.#handlers) handler(toChanged(object));
    }
  }
}

function indexObjects(objects: readonly KubeObject[]): Map<string, { object: KubeObject; text: string }> {
  return new Map(
    objects.map((object) => {
      const { namespace = "", name } = object.metadata;
      return [`${namespace}/${name}`, { object, text: encodeCanonicalJson(getReport(object) ?? null) }];
    }),
  );
}

function toChanged({ metadata: { namespace = "", name, labels } }: KubeObject): ChangedCondition {
  const extension = labels?.[LABEL_OWNER_NAME];
  return { namespace, name, ...(extension === undefined ? {} : { extension }) };
}

/** Replaces everything but metadata by the report. */
function withReport(object: KubeObject): KubeObject {
  const { namespace = "", name, uid, resourceVersion, labels } = object.metadata;
  const owner = labels?.[LABEL_OWNER_NAME];
  const report = readUpgradeable(object);
  const metadata = {
    name,
    namespace,
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(owner === undefined ? {} : { labels: { [LABEL_OWNER_NAME]: owner } }),
  };
  return { apiVersion: object.apiVersion, kind: object.kind, metadata, ...(report ? { [UPGRADEABLE]: report } : {}) };
}

function getReport(object: KubeObject): UpgradeableReport | undefined {
  return object[UPGRADEABLE] as UpgradeableReport | undefined;
}
