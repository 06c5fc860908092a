import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import { changedConditions, findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import { type EventSink, warningReason } from "../../api/events.ts";
import type { Condition } from "../../api/k8s.ts";
import { replaceStatus, runSteps, type Step, type StepContext, type StepResult, withoutStep } from "../../controller/reconcile.ts";
import { messageOf, ReconcileError, RetryableError, TerminalError, terminalIn, wrapError } from "../../errors/errors.ts";
import { canonicalJson } from "../../golang/json.ts";
import { formatTime } from "../../golang/time.ts";
import type { Client } from "../../kube/client.ts";
import { isInvalid } from "../../kube/errors.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import { lacksPermissions } from "../permissions/permissions.ts";
import type { ExtensionMetrics } from "../state/extensionMetrics.ts";
import { hideInError, hidingLog } from "../state/hiddenValues.ts";
import { newReconcileState, type ReconcileState } from "../state/reconcileState.ts";
import type { IsOver } from "../state/waiting.ts";
import { CHANGED_MS } from "./finalizers.ts";
import { statusFrom } from "./status.ts";

/** What a pass over one extension needs from the outside. */
export interface ReconcilerDependencies {
  statuses: Pick<StatusWriter, "write">;
  events: EventSink;
  steps: readonly Step<ReconcileState["extension"], ReconcileState>[];
  metrics?: Pick<ExtensionMetrics, "report">;
  /** Called after a step failed, to keep what is installed as it is nevertheless. */
  keepInstalled: (facts: ReconcileState, context: StepContext<ReconcileState["extension"]>) => Promise<void>;
  /** Finds out whether what is installed works; called at the end of every pass, whatever came of it. */
  checkHealth: (facts: ReconcileState, context: StepContext<ReconcileState["extension"]>) => Promise<void>;
  /** Called at the end of every pass that was not aborted. */
  passed?: (facts: ReconcileState, hasFailed: boolean) => void;
  /** Tells what was chosen, where that is another bundle than before. */
  tellChoice?: (facts: ReconcileState) => void;
  /** Version of the OpenShift cluster, as it is known now. */
  clusterVersion: () => ClusterVersion;
  /** Proxy for installed operators, as it is known now. */
  clusterProxy?: () => ClusterProxy;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** When to look at an extension again although nothing happened. */
  resyncMs: (extension: Readonly<ClusterExtension>) => number;
}

/** When to come back, and what to ask about meanwhile, where something that was only told may change. */
export type PassResult = (StepResult & { awaits?: IsOver }) | undefined;

/** Runs the steps over one extension and writes its status once, only on a difference. */
export class Reconciler {
  readonly #deps: ReconcilerDependencies;

  constructor(deps: ReconcilerDependencies) {
    this.#deps = deps;
  }

  /** @throws what the steps threw, after it has been written to the conditions. */
  async reconcile(extension: Readonly<ClusterExtension>, log: Logger, signal: AbortSignal): Promise<PassResult> {
    const facts = newReconcileState(extension, this.#deps.clusterVersion(), this.#deps.clusterProxy?.());
    const context = { object: extension, log: hidingLog(log, facts.hidden), signal };
    let result: StepResult;
    let error: unknown;
    try {
      result = await runSteps(this.#deps.steps, facts, context);
    } catch (err) {
      signal.throwIfAborted();
      error = await this.#failure(facts, withoutStep(err), context);
      hideInError(error, facts.hidden);
    }
    this.#deps.passed?.(facts, error !== undefined);
    if (facts.leave) return result;
    const { unpacking } = facts;
    if (unpacking && error === undefined) {
      error = await this.#whileUnpacking(facts, unpacking.lastError, context);
      hideInError(error, facts.hidden);
    }
    this.#deps.tellChoice?.(facts);
    await this.#deps.checkHealth(facts, context);
    const written = await this.#writeStatus(extension, facts, error, log);
    if (error !== undefined && !facts.unpacking) throw error;
    if (written === "changed") return { requeueAfterMs: CHANGED_MS };
    const resync = { requeueAfterMs: this.#deps.resyncMs(extension) };
    const next = facts.unpacking ? { ...resync, isPending: true } : (result ?? resync);
    return facts.awaits ? { ...next, awaits: facts.awaits } : next;
  }

  /**
   * Keeps the installed bundle as it is while another one is pulled.
   * @returns what the conditions show: the failure of the pull before, until the one under way has ended; undefined where there is none
   */
  async #whileUnpacking(facts: ReconcileState, lastError: unknown, context: StepContext<ReconcileState["extension"]>): Promise<unknown> {
    if (lastError !== undefined) return this.#failure(facts, lastError, context);
    try {
      await this.#deps.keepInstalled(facts, context);
      return undefined;
    } catch (err) {
      context.signal.throwIfAborted();
      delete facts.unpacking;
      return wrapError(`error keeping installed bundle "${facts.installed?.name ?? ""}" as it is: `, err);
    }
  }

  /** The error of a failed pass as its conditions show it. What is installed is kept as it is before. */
  async #failure(facts: ReconcileState, cause: unknown, context: StepContext<ReconcileState["extension"]>): Promise<unknown> {
    const { resolved, installed } = facts;
    const error = resolved ? wrapError(`error for resolved bundle "${resolved.name}" with version "${resolved.version}": `, cause) : cause;
    try {
      await this.#deps.keepInstalled(facts, context);
      return error;
    } catch (err) {
      context.signal.throwIfAborted();
      return withAlso(error, `error keeping installed bundle "${installed?.name ?? ""}" as it is: ${messageOf(err)}`);
    }
  }

  async #writeStatus(
    extension: Readonly<ClusterExtension>,
    facts: ReconcileState,
    error: unknown,
    log: Logger,
  ): Promise<"written" | "unchanged" | "changed"> {
    const { statuses, now } = this.#deps;
    const status = statusFrom(extension, facts, error, formatTime(new Date(now())));
    this.#deps.metrics?.report(extension, status, facts.newest);
    if (canonicalJson(status) === canonicalJson(extension.status ?? {})) return "unchanged";
    try {
      const outcome = await statuses.write(extension, status);
      if (outcome === "written") this.#announce(extension, status, log);
      return outcome;
    } catch (err) {
      const text = `error updating status: ${messageOf(err)}`;
      // Retryable whatever the pass came to: a terminal error that nobody can read has to be told again.
      throw new RetryableError("Retrying", error === undefined ? text : `${messageOf(error)}\n${text}`, { cause: err });
    }
  }

  /** Logs every condition that changed; one that changed for the worse is an Event too. What went well is told by the step that did it. */
  #announce(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus, log: Logger): void {
    for (const { condition: after, before } of changedConditions(extension.status?.conditions, status.conditions)) {
      const { type: condition, reason, message } = after;
      log.info({ condition, status: after.status, reason, message }, "condition changed");
      if (condition === "Progressing") this.#announceProgress(extension, after, before);
      if (condition === ConditionType.Available && before?.reason !== reason) this.#announceHealth(extension, after);
    }
    this.#announceBlock(extension, status);
  }

  #announceProgress(extension: Readonly<ClusterExtension>, { status, reason, message }: Condition, before: Condition | undefined): void {
    const { events } = this.#deps;
    const lacks = lacksPermissions(message);
    if (before?.reason === Reason.Suspended && reason !== Reason.Suspended)
      events.record(extension, "Normal", "Resumed", "spec.suspend is no longer true: the extension is looked after again");
    if (reason === Reason.Suspended) events.record(extension, "Normal", "Suspended", message);
    else if (reason === Reason.Retrying || status === "False")
      events.record(extension, "Warning", lacks ? "PermissionsMissing" : warningReason(reason, message), message);
    else if (lacks && !lacksPermissions(before?.message ?? "")) events.record(extension, "Warning", "PermissionsMissing", message);
  }

  /** An Event when the extension begins to keep the cluster from being upgraded, and one when it stops. */
  #announceBlock(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus): void {
    const { events } = this.#deps;
    const before = findCondition(extension.status?.conditions, ConditionType.ClusterUpgradeBlocked)?.status === "True";
    const after = findCondition(status.conditions, ConditionType.ClusterUpgradeBlocked);
    if (after?.status === "True" && !before) events.record(extension, "Warning", "ClusterUpgradeBlocked", after.message);
    if (after?.status !== "True" && before)
      events.record(
        extension,
        "Normal",
        "ClusterUpgradeUnblocked",
        after?.message ?? "no bundle of this extension limits the cluster's version",
      );
  }

  #announceHealth(extension: Readonly<ClusterExtension>, { reason, message }: Condition): void {
    if (reason === Reason.Unhealthy) this.#deps.events.record(extension, "Warning", "Unhealthy", message);
    if (reason === Reason.Healthy) this.#deps.events.record(extension, "Normal", "Healthy", message);
  }
}

/** `err` with another line; kind and reason are kept. */
function withAlso(err: unknown, line: string): ReconcileError {
  const text = `${messageOf(err)}\n${line}`;
  const terminal = terminalIn(err);
  if (terminal) return new TerminalError(terminal.reason, text, { cause: err });
  return new RetryableError(err instanceof ReconcileError ? err.reason : "Retrying", text, { cause: err });
}

/** Writes the status of extensions. */
export class StatusWriter {
  readonly #client: Pick<Client, "get" | "patch">;

  constructor(client: Pick<Client, "get" | "patch">) {
    this.#client = client;
  }

  /**
   * Replaces the status, if the extension is still the one that was read and not one made anew under its name.
   * @returns `changed` when it is not, or does not exist any more.
   * @throws KubeError otherwise. A status that the API server refuses because of the bundle's name or version is written without `install`,
   * or nobody would ever see its conditions.
   */
  async write(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus): Promise<"written" | "changed"> {
    const written = await this.#replace(extension, status);
    return written ? "written" : "changed";
  }

  async #replace(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus): Promise<unknown> {
    try {
      return await replaceStatus(this.#client, extension, status);
    } catch (err) {
      if (!isInvalid(err) || status.install === undefined) throw err;
      const { install: _refused, ...rest } = status;
      return replaceStatus(this.#client, extension, rest);
    }
  }
}
