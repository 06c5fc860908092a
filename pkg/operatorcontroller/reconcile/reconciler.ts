import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ProblemType } from "../../api/problemTypes.ts";
import type { StatusWrite } from "../../controller/statusWriter.ts";
import type { StepContext, StepResult, StepSequence } from "../../controller/stepSequence.ts";
import {
  findTerminalError,
  getErrorMessage,
  getProblems,
  ReconcileError,
  RetryableError,
  TerminalError,
  wrapError,
} from "../../errors/errors.ts";
import { formatTime } from "../../golang/time.ts";
import { findLastDeployed } from "../../release/record.ts";
import type { Logger } from "../../telemetry/log.ts";
import { isKept } from "../apply/keptCrds.ts";
import type { UnblockCheck } from "../state/conditionPoller.ts";
import { createHidingLog, hideInError } from "../state/hiddenValues.ts";
import { getReleases, hasBundle, newStarted, type Phase, type Started, type Unpacking } from "../state/phases.ts";
import { CHANGED_MS } from "./finalizers.ts";
import type { Services } from "./services.ts";
import { computeExtensionStatus } from "./status.ts";
import { getSupportDelay } from "./supportStatus.ts";

/** Dependencies of the reconciler. */
export interface ReconcilerOptions
  extends Pick<Services, "statuses" | "clusterVersion" | "clusterProxy" | "operatorConditions" | "now" | "resyncMs">,
    Partial<Pick<Services, "metrics">> {
  steps: StepSequence<Started, Phase, Phase>;
  /** Called after a failed step, to maintain the installed objects. */
  keepInstalled: (phase: Phase, context: StepContext) => Promise<void>;
  /** Checks whether the installed objects work. Called at the end of every reconcile, in any phase. */
  checkHealth: (phase: Phase, context: StepContext) => Promise<void>;
  /** Called at the end of every reconcile that was not aborted. */
  onEnd?: (phase: Phase, hasFailed: boolean) => void;
  /** Called after a reconcile if, until the next change, the extension needs no write permissions, and none of an earlier bundle. */
  onSettled?: (extension: Readonly<ClusterExtension>) => Promise<void>;
  /** Records an Event if the reconcile chose a bundle other than the last chosen bundle. */
  recordChoice?: (phase: Phase) => void;
}

/** Delay until the next reconcile, and a check that ends it early. */
export type ReconcileResult = (StepResult & { awaits?: UnblockCheck }) | undefined;

/** Types of problems of an extension whose version waits for permissions, or must not have them. */
const WAITS: ReadonlySet<string> = new Set<ProblemType>(["PermissionsDenied", "PermissionsPending"]);

/** A phase, and the error of the reconcile as reported in the conditions. */
interface Finished {
  readonly phase: Phase;
  readonly error: unknown;
}

/** Runs the steps for one extension, and then writes its status if it has changed. */
export class Reconciler {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** @throws the error of the steps, after it was written to the conditions. */
  async reconcile(extension: Readonly<ClusterExtension>, log: Logger, signal: AbortSignal): Promise<ReconcileResult> {
    const { steps, metrics } = this.#options;
    const started = newStarted(extension, {
      clusterVersion: this.#options.clusterVersion(),
      clusterProxy: this.#options.clusterProxy(),
      conditionSupport: this.#options.operatorConditions.support,
      foreignConditions: this.#options.operatorConditions.foreign,
    });
    const { hidden, report } = started;
    const context = { log: createHidingLog(log, hidden), signal };
    const outcome = await steps.run(started, context, (step, seconds, hasFailed) => metrics?.recordStep(step, seconds, hasFailed));
    if (outcome.kind === "failed") signal.throwIfAborted();
    const failure = outcome.kind === "failed" ? await this.#failure(outcome.phase, outcome.error.cause, context) : undefined;
    hideInError(failure, hidden);
    this.#options.onEnd?.(outcome.phase, outcome.kind === "failed");
    if (outcome.kind === "stopped" && !outcome.writesStatus) return outcome.result;
    const { phase, error } =
      outcome.phase.phase === "unpacking" ? await this.#whileUnpacking(outcome.phase, context) : { phase: outcome.phase, error: failure };
    hideInError(error, hidden);
    this.#options.recordChoice?.(phase);
    await this.#options.checkHealth(phase, context);
    const written = await this.#writeStatus(phase, error, log);
    const isUnpacking = phase.phase === "unpacking";
    if (isSettled(phase, error) && !signal.aborted) await this.#options.onSettled?.(extension);
    if (error !== undefined && !isUnpacking) throw error;
    if (written.kind === "replaced") return { requeueAfterMs: CHANGED_MS };
    const delays = [this.#options.resyncMs(extension), getSupportDelay(phase, this.#options.now()), getUpgradeDelay(phase)];
    const resync = { requeueAfterMs: Math.min(...delays.filter((one) => one !== undefined)) };
    const requested = outcome.kind === "stopped" ? outcome.result : undefined;
    const next = isUnpacking ? { ...resync, isPending: true } : (requested ?? resync);
    return { ...next, ...(report.awaits ? { awaits: report.awaits } : {}) };
  }

  /**
   * Maintains the installed bundle while another bundle is pulled.
   * @returns the error for the conditions: the error of the previous pull until the current pull ends; undefined if
   * there was none.
   */
  async #whileUnpacking(phase: Unpacking, context: StepContext): Promise<Finished> {
    if (phase.lastError !== undefined) return { phase, error: await this.#failure(phase, phase.lastError, context) };
    try {
      await this.#options.keepInstalled(phase, context);
      return { phase, error: undefined };
    } catch (err) {
      context.signal.throwIfAborted();
      const text = `error maintaining installed bundle "${phase.releases.installed?.name ?? ""}": `;
      return { phase: { ...phase, phase: "resolved" }, error: wrapError(text, err) };
    }
  }

  /** Maintains the installed bundle after a failure, and returns the error for the conditions. */
  async #failure(phase: Phase, cause: unknown, context: StepContext): Promise<unknown> {
    const bundle = hasBundle(phase) ? phase.bundle : undefined;
    const error = bundle ? wrapError(`error for resolved bundle "${bundle.name}" with version "${bundle.version}": `, cause) : cause;
    const { installed } = getReleases(phase);
    try {
      await this.#options.keepInstalled(phase, context);
      return error;
    } catch (err) {
      context.signal.throwIfAborted();
      return appendLine(error, `error maintaining installed bundle "${installed?.name ?? ""}": ${getErrorMessage(err)}`);
    }
  }

  async #writeStatus(phase: Phase, error: unknown, log: Logger): Promise<StatusWrite> {
    const { statuses, metrics, now } = this.#options;
    const { extension, report } = phase;
    const status = computeExtensionStatus(phase, error, formatTime(new Date(now())));
    metrics?.report(extension, status, report.catalogs.newest);
    return statuses.write(extension, status, log, error);
  }
}

/** Returns the delay after an upgrade, because the new bundle can have successors that only another reconcile installs; otherwise undefined. */
function getUpgradeDelay(phase: Phase): number | undefined {
  const before = phase.extension.status?.install?.bundle.name;
  return phase.phase === "applied" && before !== undefined && before !== phase.releases.installed?.name ? CHANGED_MS : undefined;
}

/** Returns `err` with another line in its message. Kind and reason do not change. */
function appendLine(err: unknown, line: string): ReconcileError {
  const text = `${getErrorMessage(err)}\n${line}`;
  const terminal = findTerminalError(err);
  if (terminal) return new TerminalError(terminal.reason, text, { cause: err });
  return new RetryableError(err instanceof ReconcileError ? err.reason : "Retrying", text, { cause: err });
}

/**
 * Reports whether nothing is left to change: all steps ran, or the extension is suspended, or waits for an image or for permissions; and no left object
 * must be deleted.
 */
function isSettled(phase: Phase, error: unknown): boolean {
  const isWaiting = phase.phase === "suspended" || phase.phase === "unpacking" || getProblems(error).some(({ type }) => WAITS.has(type));
  if (phase.phase !== "applied" && !isWaiting) return false;
  const { left = [] } = findLastDeployed(getReleases(phase).history.current) ?? {};
  return left.every(isKept);
}
