import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { type StepResult, StepSequence } from "../../pkg/controller/stepSequence.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { createUnknownReleases, type KnownReleases } from "../../pkg/operatorcontroller/state/clusterChanges.ts";
import {
  type Authenticated,
  newStarted,
  type Observed,
  type Phase,
  type ReconcileStep,
  type Resolved,
  type ResolvedBundle,
  type Started,
  type Unpacked,
} from "../../pkg/operatorcontroller/state/phases.ts";
import { stepContext } from "./extensionFakes.ts";

/** The parts of a phase that a test sets; the others are as at the start of a reconcile without findings. */
export type PhaseParts<P> = Partial<Omit<P, "phase" | "extension" | "releases">> & { releases?: Partial<KnownReleases> };

/** A client that gets no requests. */
const NO_CLIENT = {} as unknown as Client;

/** Creates the phase before the first step. */
export function buildStarted(extension: ClusterExtension, parts: Partial<Omit<Started, "phase" | "extension">> = {}): Started {
  return { ...newStarted(extension), ...parts };
}

/** Creates the phase in which the releases are known. */
export function buildObserved(extension: ClusterExtension, { releases, ...parts }: PhaseParts<Observed> = {}): Observed {
  return { ...newStarted(extension), ...parts, releases: { ...createUnknownReleases(), ...releases }, phase: "observed" };
}

/** Creates the phase in which the reconcile acts as the ServiceAccount. */
export function buildAuthenticated(extension: ClusterExtension, parts: PhaseParts<Authenticated> = {}): Authenticated {
  return { client: NO_CLIENT, changes: {}, ...parts, ...buildObserved(extension, parts), phase: "authenticated" };
}

/** Creates the phase in which the bundle is known. */
export function buildResolved(extension: ClusterExtension, bundle: ResolvedBundle, parts: PhaseParts<Resolved> = {}): Resolved {
  return { ...parts, ...buildAuthenticated(extension, parts), bundle, phase: "resolved" };
}

/** Creates the phase in which the bundle is unpacked; without content in maintain mode. */
export function buildUnpacked(extension: ClusterExtension, bundle: ResolvedBundle, parts: PhaseParts<Unpacked> = {}): Unpacked {
  return { ...parts, ...buildResolved(extension, bundle, parts), phase: "unpacked" };
}

/** The outcome of a step. */
export interface StepOutcome<Out> {
  /** The reached phase: the next one, or the one in which the step ended the reconcile. */
  readonly phase: Phase;
  /** The next phase; undefined if the step ended the reconcile. */
  readonly next: Out | undefined;
  /** Set if the step stopped the reconcile. */
  readonly result: StepResult;
  /** Whether the reconcile was stopped without a status. */
  readonly isLeft: boolean;
  /** The error that the step threw or failed with. */
  readonly error: Error | undefined;
}

/** Runs one step. @throws the signal's reason if it is aborted before. */
export async function runStep<In extends Phase, Out extends Phase>(
  step: ReconcileStep<In, Out>,
  phase: In,
  signal?: AbortSignal,
): Promise<StepOutcome<Out>> {
  let next: Out | undefined;
  const noting: ReconcileStep<Out> = { name: "Note", run: (out) => Promise.resolve((next = out)) };
  const outcome = await StepSequence.from<In, Phase>().step(step).step(noting).run(phase, stepContext(signal));
  return {
    phase: outcome.phase,
    next,
    result: outcome.kind === "stopped" ? outcome.result : undefined,
    isLeft: outcome.kind === "stopped" && !outcome.writesStatus,
    error: outcome.kind === "failed" ? (outcome.error.cause as Error) : undefined,
  };
}

/** Returns the messages of the problems that a reconcile reports. */
export function problemTexts({ report }: Pick<Phase, "report">): string[] {
  return report.problems.map(({ message }) => message);
}
