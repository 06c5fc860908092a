import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { StatusWrite } from "../../controller/statusWriter.ts";
import type { StepContext, StepResult, Story } from "../../controller/story.ts";
import { messageOf, ReconcileError, RetryableError, TerminalError, terminalIn, wrapError } from "../../errors/errors.ts";
import { formatTime } from "../../golang/time.ts";
import type { Logger } from "../../telemetry/log.ts";
import { hideInError, hidingLog } from "../state/hiddenValues.ts";
import { hasBundle, newStarted, type Phase, releasesIn, type Started, type Unpacking } from "../state/phases.ts";
import type { IsOver } from "../state/waiting.ts";
import { CHANGED_MS } from "./finalizers.ts";
import type { Services } from "./services.ts";
import { statusFrom } from "./status.ts";

/** What a reconcile of one extension runs. */
export interface ReconcilerOptions
  extends Pick<Services, "statuses" | "clusterVersion" | "clusterProxy" | "now" | "resyncMs">,
    Partial<Pick<Services, "metrics">> {
  steps: Story<Started, Phase, Phase>;
  /** Called after a step failed, to keep the installed objects as they are. */
  keepInstalled: (phase: Phase, context: StepContext) => Promise<void>;
  /** Reads whether the installed objects work; called at the end of every reconcile, whatever phase it reached. */
  checkHealth: (phase: Phase, context: StepContext) => Promise<void>;
  /** Called at the end of every reconcile that was not aborted. */
  passed?: (phase: Phase, hasFailed: boolean) => void;
  /** Records an Event if the reconcile chose another bundle than before. */
  tellChoice?: (phase: Phase) => void;
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
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** @throws what the steps threw, after it has been written to the conditions. */
  async reconcile(extension: Readonly<ClusterExtension>, log: Logger, signal: AbortSignal): Promise<PassResult> {
    const { steps, metrics } = this.#options;
    const started = newStarted(extension, this.#options.clusterVersion(), this.#options.clusterProxy());
    const { hidden, report } = started;
    const context = { log: hidingLog(log, hidden), signal };
    const outcome = await steps.run(started, context, (step, seconds, hasFailed) => metrics?.stepped(step, seconds, hasFailed));
    if (outcome.kind === "failed") signal.throwIfAborted();
    const failure = outcome.kind === "failed" ? await this.#failure(outcome.phase, outcome.error.cause, context) : undefined;
    hideInError(failure, hidden);
    this.#options.passed?.(outcome.phase, outcome.kind === "failed");
    if (outcome.kind === "stopped" && !outcome.writesStatus) return outcome.result;
    const { phase, error } =
      outcome.phase.phase === "unpacking" ? await this.#whileUnpacking(outcome.phase, context) : { phase: outcome.phase, error: failure };
    hideInError(error, hidden);
    this.#options.tellChoice?.(phase);
    await this.#options.checkHealth(phase, context);
    const written = await this.#writeStatus(phase, error, log);
    const isUnpacking = phase.phase === "unpacking";
    if (error !== undefined && !isUnpacking) throw error;
    if (written.kind === "replaced") return { requeueAfterMs: CHANGED_MS };
    const resync = { requeueAfterMs: this.#options.resyncMs(extension) };
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
      await this.#options.keepInstalled(phase, context);
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
      await this.#options.keepInstalled(phase, context);
      return error;
    } catch (err) {
      context.signal.throwIfAborted();
      return withAlso(error, `error keeping installed bundle "${installed?.name ?? ""}" as it is: ${messageOf(err)}`);
    }
  }

  async #writeStatus(phase: Phase, error: unknown, log: Logger): Promise<StatusWrite> {
    const { statuses, metrics, now } = this.#options;
    const { extension, report } = phase;
    const status = statusFrom(phase, error, formatTime(new Date(now())));
    metrics?.report(extension, status, report.catalogs.newest);
    return statuses.write(extension, status, log, error);
  }
}

/** `err` with another line; kind and reason are kept. */
function withAlso(err: unknown, line: string): ReconcileError {
  const text = `${messageOf(err)}\n${line}`;
  const terminal = terminalIn(err);
  if (terminal) return new TerminalError(terminal.reason, text, { cause: err });
  return new RetryableError(err instanceof ReconcileError ? err.reason : "Retrying", text, { cause: err });
}
