import type { ClusterCatalog, ClusterCatalogStatus } from "../api/clusterCatalog.ts";
import { boundMessage, findCondition, listChangedConditions, setCondition, setKstatusCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import { getWarningReason } from "../api/events.ts";
import type { Condition } from "../api/k8s.ts";
import { boundProblems, newProblem, type Problem } from "../api/problems.ts";
import type { StatusEvent } from "../controller/statusWriter.ts";
import { findTerminalError, getErrorMessage, getProblems, TerminalError } from "../errors/errors.ts";
import { newPullProblem } from "../oci/pull/pullProblem.ts";
import { getFailureReason, getProblemType } from "./failures.ts";
import type { Phase } from "./phases.ts";
import type { CatalogContent } from "./store/content.ts";
import { checkValidity } from "./storeContent.ts";

type ComputedCondition = Pick<Condition, "type" | "status" | "reason" | "message">;
/** The status fields that describe the served content. */
type ServedStatus = Pick<ClusterCatalogStatus, "resolvedSource" | "urls" | "lastUnpacked" | "content">;

const SWITCHED_OFF = "Catalog availability mode is set to Unavailable";
const UNPACKED = "Successfully unpacked and stored content from resolved source";
const SERVING = "Serving desired content from resolved source";
const LOST = "the stored content was lost and has not been fetched again";

/** Inputs of `computeCatalogStatus` in addition to the phase in which the reconcile ended. */
export interface StatusInputs {
  /** The served content after the reconcile. */
  content: CatalogContent | undefined;
  /** The error that ended the reconcile, if any. */
  error: unknown;
  /** Base URL of a catalog's content. */
  base: string;
  /** RFC 3339 in whole seconds, for conditions whose status changes. */
  now: string;
}

/**
 * Computes the status of a catalog after a reconcile. Pure. Keeps conditions of other types.
 *
 * | reconcile ended with         | Progressing                      | Serving                               | served content |
 * | content stored or up to date | True / Succeeded                 | True / Available                      | from content   |
 * | a pull in progress           | True / RollingOut                | unchanged                             | unchanged      |
 * | an error                     | True / Retrying, False / Blocked | unchanged; False if nothing is served | unchanged      |
 * | mode Unavailable             | True / Succeeded                 | False / UserSpecifiedUnavailable      | none           |
 * | deleted                      | unchanged                        | False / Unavailable                   | none           |
 *
 * Valid describes the served content; without content the condition is absent. Ready is True if Progressing is Succeeded, and Serving is True or the mode
 * is Unavailable. Otherwise Reconciling is True while Progressing is True, and Stalled if it is False.
 * @see operator-controller df2c201d internal/catalogd/controllers/core/clustercatalog_controller.go
 */
export function computeCatalogStatus(phase: Phase, inputs: StatusInputs): ClusterCatalogStatus {
  const { catalog } = phase;
  const observedGeneration = catalog.metadata.generation ?? 0;
  let conditions: Condition[] = [...(catalog.status?.conditions ?? [])];
  for (const computed of [...computeConditions(phase, inputs), ...computeValidity(catalog, inputs)]) {
    conditions = setCondition(
      conditions,
      { ...computed, message: boundMessage(computed.message, { keepTerminal: true }), observedGeneration },
      inputs.now,
    );
  }
  if (!inputs.content) conditions = conditions.filter(({ type }) => type !== ConditionType.Valid);
  conditions = summarize(conditions, observedGeneration, inputs.now);
  const failed = inputs.error === undefined ? {} : { failure: { reason: getFailureReason(inputs.error) } };
  return { observedGeneration, conditions, ...failed, ...boundProblems(listProblems(phase, inputs)), ...servedAfter(phase, inputs) };
}

/** Sets Ready, and Reconciling or Stalled while it is not True, from Progressing and Serving. */
function summarize(conditions: readonly Condition[], observedGeneration: number, now: string): Condition[] {
  const progressing = findCondition(conditions, ConditionType.Progressing);
  const serving = findCondition(conditions, ConditionType.Serving);
  if (!progressing) return [...conditions];
  const isUpToDate = progressing.status === "True" && progressing.reason === Reason.Succeeded;
  const isServed = serving?.status === "True" || serving?.reason === Reason.UserSpecifiedUnavailable;
  const { reason, message } = isUpToDate && serving ? serving : progressing;
  const summary = { reason, message, observedGeneration };
  const isReady = isUpToDate && isServed;
  const ready = setCondition(conditions, { type: ConditionType.Ready, status: isReady ? "True" : "False", ...summary }, now);
  const type = progressing.status === "False" ? ConditionType.Stalled : ConditionType.Reconciling;
  return setKstatusCondition(ready, isReady ? undefined : { type, ...summary }, now);
}

/** Returns the problem that ended the reconcile and the problems of the served content. */
function listProblems({ phase, problems }: Phase, { content, error, base }: StatusInputs): Problem[] {
  const own = getProblems(error);
  const failed = error === undefined ? [] : own.length > 0 ? own : [newFailureProblem(error)];
  if (!content || phase === "withdrawn") return [...failed, ...problems];
  const { reason, message } = checkValidity(content.findings, base);
  const invalid = reason === Reason.InvalidContent ? [newProblem("CatalogWarning", { message })] : [];
  return [...failed, ...problems, ...invalid];
}

function newFailureProblem(error: unknown): Problem {
  const type = getProblemType(error);
  const message = getErrorMessage(error);
  return type === "ImagePullFailed" || type === "RegistryUnavailable"
    ? newPullProblem(error, message, type)
    : newProblem(type, { message });
}

function computeConditions(phase: Phase, inputs: StatusInputs): ComputedCondition[] {
  const { Progressing, Serving } = ConditionType;
  if (inputs.error !== undefined) return [failure(inputs.error), ...lostServing(phase, inputs)];
  if (phase.phase === "fetching") {
    const message = `Unpacking image ${phase.ref}`;
    return [{ type: Progressing, status: "True", reason: Reason.RollingOut, message }, ...lostServing(phase, inputs)];
  }
  if (phase.phase === "withdrawn") {
    if (phase.why === "deleted") return [{ type: Serving, status: "False", reason: Reason.Unavailable, message: "" }];
    return [
      { type: Progressing, status: "True", reason: Reason.Succeeded, message: SWITCHED_OFF },
      { type: Serving, status: "False", reason: Reason.UserSpecifiedUnavailable, message: SWITCHED_OFF },
    ];
  }
  if (!inputs.content) return [];
  return [
    { type: Progressing, status: "True", reason: Reason.Succeeded, message: UNPACKED },
    { type: Serving, status: "True", reason: Reason.Available, message: SERVING },
  ];
}

/** After an error, the condition and the content stay unchanged. */
function computeValidity(catalog: Readonly<ClusterCatalog>, { content, base, error }: StatusInputs): ComputedCondition[] {
  if (!content || (error !== undefined && findCondition(catalog.status?.conditions, ConditionType.Valid))) return [];
  return [checkValidity(content.findings, base)];
}

function failure(error: unknown): ComputedCondition {
  const type = ConditionType.Progressing;
  const message = markedMessage(error);
  if (findTerminalError(error)) return { type, status: "False", reason: Reason.Blocked, message };
  return { type, status: "True", reason: Reason.Retrying, message };
}

/**
 * Returns the error text with "terminal error: " where Go's wrapper prints it: before the text of
 * the innermost terminal error.
 */
function markedMessage(error: unknown): string {
  const text = getErrorMessage(error);
  let innermost: TerminalError | undefined;
  for (let e = error; e instanceof Error; e = e.cause) if (e instanceof TerminalError) innermost = e;
  if (!innermost || !text.endsWith(innermost.message)) return text;
  return `${text.slice(0, text.length - innermost.message.length)}terminal error: ${innermost.message}`;
}

function isLost({ catalog }: Phase, { content }: StatusInputs): boolean {
  return !content && findCondition(catalog.status?.conditions, ConditionType.Serving)?.status === "True";
}

function lostServing(phase: Phase, inputs: StatusInputs): ComputedCondition[] {
  if (!isLost(phase, inputs)) return [];
  return [{ type: ConditionType.Serving, status: "False", reason: Reason.Unavailable, message: phase.phase === "withdrawn" ? "" : LOST }];
}

function servedAfter(phase: Phase, inputs: StatusInputs): ServedStatus {
  const { content, error, base } = inputs;
  if (phase.phase === "withdrawn" && error === undefined) return {};
  if (content) {
    const { ref, lastUnpacked, digest } = content.origin;
    const packages = content.artifacts.get("packages")?.index.lines;
    const summary = { ...(packages === undefined ? {} : { packages }), digest };
    return { resolvedSource: { type: "Image", image: { ref } }, urls: { base }, lastUnpacked, content: summary };
  }
  return isLost(phase, inputs) ? {} : servedBefore(phase.catalog.status);
}

function servedBefore({ resolvedSource, urls, lastUnpacked, content }: ClusterCatalogStatus = {}): ServedStatus {
  return {
    ...(resolvedSource ? { resolvedSource } : {}),
    ...(urls ? { urls } : {}),
    ...(lastUnpacked ? { lastUnpacked } : {}),
    ...(content ? { content } : {}),
  };
}

/**
 * Returns the Events for changed conditions of a catalog. Pure. New content is reported by the step
 * that stores it.
 *
 * | condition   | changed to                   | Event                           |
 * | Progressing | Retrying or False, each text | Warning, its reason             |
 * | Progressing | Succeeded after one of those | Normal Recovered                |
 * | Serving     | False, catalog deleted       | Normal ContentRemoved           |
 * | Serving     | False, mode Unavailable      | Normal UserSpecifiedUnavailable |
 * | Serving     | False for another reason     | Warning Unavailable             |
 */
export function computeCatalogEvents({ metadata, status }: Readonly<ClusterCatalog>, after: ClusterCatalogStatus): StatusEvent[] {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  return listChangedConditions(status?.conditions, after.conditions).flatMap(({ condition, before: old }) => {
    if (condition.type === ConditionType.Progressing) return progressEvents(condition, old, after);
    const lost = condition.type === ConditionType.Serving && old?.status === "True" && condition.status === "False";
    return lost ? [lossEvent(condition, isDeleted)] : [];
  });
}

function progressEvents(condition: Condition, before: Condition | undefined, { problems }: ClusterCatalogStatus): StatusEvent[] {
  const { reason, message } = condition;
  if (isFailure(condition)) return [{ reason: getWarningReason(reason, problems), message }];
  if (!before || !isFailure(before)) return [];
  return [{ reason: "Recovered", message: `${message}. Previous error: ${before.message}` }];
}

function isFailure({ status, reason }: Condition): boolean {
  return status === "False" || reason === Reason.Retrying;
}

function lossEvent({ reason, message }: Condition, isDeleted: boolean): StatusEvent {
  if (isDeleted) return { reason: "ContentRemoved", message: "the content was removed because the catalog is being deleted" };
  if (reason === Reason.UserSpecifiedUnavailable) return { reason, message };
  return { reason: "Unavailable", message: message === "" ? "the content is no longer served" : message };
}

/** The image whose content every replica must serve for a catalog. */
export interface ServedImage {
  /** By digest. */
  readonly ref: string;
  readonly digest: string;
  /**
   * When the leader unpacked the image, RFC 3339 in whole seconds; missing if another program wrote the status: lastUnpacked is the time at which this
   * catalogd unpacked the image.
   */
  readonly lastUnpacked?: string;
}

/**
 * Returns the served image of a catalog from the status that the leader wrote, always by digest.
 * Undefined if the catalog does not exist, is being deleted, is unavailable, or was never unpacked.
 */
export function getServedImage(catalog: Readonly<ClusterCatalog> | undefined): ServedImage | undefined {
  const { metadata, spec, status } = catalog ?? {};
  if (!status?.resolvedSource || metadata?.deletionTimestamp !== undefined || spec?.availabilityMode === "Unavailable") return undefined;
  if (findCondition(status.conditions, ConditionType.Serving)?.status !== "True") return undefined;
  const { ref } = status.resolvedSource.image;
  const digest = ref.slice(ref.lastIndexOf("@") + 1);
  // The Go catalogd writes no status.content.
  return { ref, digest, ...(status.lastUnpacked && status.content ? { lastUnpacked: status.lastUnpacked } : {}) };
}
