import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import { changedConditions, findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import { type EventSink, warningReason } from "../../api/events.ts";
import type { Condition } from "../../api/k8s.ts";
import { findProblem } from "../../api/problems.ts";
import { replaceStatus } from "../../controller/statusWriter.ts";
import type { StepContext, StepResult, Story } from "../../controller/story.ts";
import { messageOf, ReconcileError, RetryableError, TerminalError, terminalIn, wrapError } from "../../errors/errors.ts";
import { canonicalJson } from "../../golang/json.ts";
import { formatTime } from "../../golang/time.ts";
import type { Client } from "../../kube/client.ts";
import { isInvalid } from "../../kube/errors.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import type { ExtensionMetrics } from "../state/extensionMetrics.ts";
import { hideInError, hidingLog } from "../state/hiddenValues.ts";
import { hasBundle, newStarted, type Phase, releasesIn, type Started, type Unpacking } from "../state/phases.ts";
import type { IsOver } from "../state/waiting.ts";
import { CHANGED_MS } from "./finalizers.ts";
import { statusFrom } from "./status.ts";

/** What a reconcile of one extension needs from the outside. */
export interface ReconcilerDependencies {
  statuses: Pick<StatusWriter, "write">;
  events: EventSink;
  steps: Story<Started, Phase, Phase>;
  metrics?: Pick<ExtensionMetrics, "report" | "stepped">;
  /** Called after a step failed, to keep what is installed as it is nevertheless. */
  keepInstalled: (phase: Phase, context: StepContext) => Promise<void>;
  /** Finds out whether what is installed works; called at the end of every reconcile, whatever phase it reached. */
  checkHealth: (phase: Phase, context: StepContext) => Promise<void>;
  /** Called at the end of every reconcile that was not aborted. */
  passed?: (phase: Phase, hasFailed: boolean) => void;
  /** Tells what was chosen, where that is another bundle than before. */
  tellChoice?: (phase: Phase) => void;
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

/** A phase, and the error of the reconcile in it as its conditions show it. */
interface Finished {
  readonly phase: Phase;
  readonly error: unknown;
}

/** Runs the steps over one extension and writes its status once, only on a difference. */
export class Reconciler {
  readonly #deps: ReconcilerDependencies;

  constructor(deps: ReconcilerDependencies) {
    this.#deps = deps;
  }

  /** @throws what the steps threw, after it has been written to the conditions. */
  async reconcile(extension: Readonly<ClusterExtension>, log: Logger, signal: AbortSignal): Promise<PassResult> {
    const { steps, metrics } = this.#deps;
    const started = newStarted(extension, this.#deps.clusterVersion(), this.#deps.clusterProxy?.());
    const { hidden, report } = started;
    const context = { log: hidingLog(log, hidden), signal };
    const outcome = await steps.run(started, context, (step, seconds, hasFailed) => metrics?.stepped(step, seconds, hasFailed));
    if (outcome.kind === "failed") signal.throwIfAborted();
    const failure = outcome.kind === "failed" ? await this.#failure(outcome.phase, outcome.error.cause, context) : undefined;
    hideInError(failure, hidden);
    this.#deps.passed?.(outcome.phase, outcome.kind === "failed");
    if (outcome.kind === "stopped" && !outcome.writesStatus) return outcome.result;
    const { phase, error } =
      outcome.phase.phase === "unpacking" ? await this.#whileUnpacking(outcome.phase, context) : { phase: outcome.phase, error: failure };
    hideInError(error, hidden);
    this.#deps.tellChoice?.(phase);
    await this.#deps.checkHealth(phase, context);
    const written = await this.#writeStatus(phase, error, log);
    const isUnpacking = phase.phase === "unpacking";
    if (error !== undefined && !isUnpacking) throw error;
    if (written === "changed") return { requeueAfterMs: CHANGED_MS };
    const resync = { requeueAfterMs: this.#deps.resyncMs(extension) };
    const asked = outcome.kind === "stopped" ? outcome.result : undefined;
    const next = isUnpacking ? { ...resync, isPending: true } : (asked ?? resync);
    return report.awaits ? { ...next, awaits: report.awaits } : next;
  }

  /**
   * Keeps the installed bundle as it is while another one is pulled.
   * @returns with what the conditions show: the failure of the pull before, until the one under way has ended; no error where there is none
   */
  async #whileUnpacking(phase: Unpacking, context: StepContext): Promise<Finished> {
    if (phase.lastError !== undefined) return { phase, error: await this.#failure(phase, phase.lastError, context) };
    try {
      await this.#deps.keepInstalled(phase, context);
      return { phase, error: undefined };
    } catch (err) {
      context.signal.throwIfAborted();
      const text = `error keeping installed bundle "${phase.releases.installed?.name ?? ""}" as it is: `;
      return { phase: { ...phase, phase: "resolved" }, error: wrapError(text, err) };
    }
  }

  /** The error of a failed reconcile as its conditions show it. What is installed is kept as it is before. */
  async #failure(phase: Phase, cause: unknown, context: StepContext): Promise<unknown> {
    const bundle = hasBundle(phase) ? phase.bundle : undefined;
    const error = bundle ? wrapError(`error for resolved bundle "${bundle.name}" with version "${bundle.version}": `, cause) : cause;
    const { installed } = releasesIn(phase);
    try {
      await this.#deps.keepInstalled(phase, context);
      return error;
    } catch (err) {
      context.signal.throwIfAborted();
      return withAlso(error, `error keeping installed bundle "${installed?.name ?? ""}" as it is: ${messageOf(err)}`);
    }
  }

  async #writeStatus(phase: Phase, error: unknown, log: Logger): Promise<"written" | "unchanged" | "changed"> {
    const { statuses, now } = this.#deps;
    const { extension, report } = phase;
    const status = statusFrom(phase, error, formatTime(new Date(now())));
    this.#deps.metrics?.report(extension, status, report.catalogs.newest);
    if (canonicalJson(status) === canonicalJson(extension.status ?? {})) return "unchanged";
    try {
      const outcome = await statuses.write(extension, status);
      if (outcome === "written") this.#announce(extension, status, log);
      return outcome;
    } catch (err) {
      const text = `error updating status: ${messageOf(err)}`;
      // Retryable whatever the reconcile came to: a terminal error that nobody can read has to be told again.
      throw new RetryableError("Retrying", error === undefined ? text : `${messageOf(error)}\n${text}`, { cause: err });
    }
  }

  /** Logs every condition that changed; one that changed for the worse is an Event too. What went well is told by the step that did it. */
  #announce(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus, log: Logger): void {
    for (const { condition: after, before } of changedConditions(extension.status?.conditions, status.conditions)) {
      const { type: condition, reason, message } = after;
      log.info({ condition, status: after.status, reason, message }, "condition changed");
      if (condition === "Progressing") this.#announceProgress(extension, status, after, before);
      if (condition === ConditionType.Available && before?.reason !== reason) this.#announceHealth(extension, after);
    }
    this.#announceBlock(extension, status);
    this.#announceMissingPermissions(extension, status);
  }

  /** An Event when permissions start to be missing and the reconcile continues nevertheless. */
  #announceMissingPermissions(extension: Readonly<ClusterExtension>, { problems = [] }: ClusterExtensionStatus): void {
    const missing = problems.find(({ type, severity }) => type === "MissingPermissions" && severity === "Warning");
    if (!missing || findProblem(extension.status, "MissingPermissions")) return;
    this.#deps.events.record(extension, "Warning", "PermissionsMissing", withNext(missing.message, [missing]));
  }

  #announceProgress(
    extension: Readonly<ClusterExtension>,
    { problems = [] }: ClusterExtensionStatus,
    { status, reason, message }: Condition,
    before: Condition | undefined,
  ): void {
    const { events } = this.#deps;
    if (before?.reason === Reason.Suspended && reason !== Reason.Suspended)
      events.record(extension, "Normal", "Resumed", "spec.suspend is no longer true: the extension is looked after again");
    if (reason === Reason.Suspended) events.record(extension, "Normal", "Suspended", message);
    else if (reason === Reason.Retrying || status === "False")
      events.record(extension, "Warning", warningReason(reason, problems), withNext(message, problems));
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

/** `message` with what the first Error says to do next. */
function withNext(message: string, problems: NonNullable<ClusterExtensionStatus["problems"]>): string {
  const next = problems.find((problem) => problem.severity !== "Info")?.next;
  return next === undefined ? message : `${message}; next: ${next}`;
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
