import type { CatalogFailureReason, ClusterCatalog, ClusterCatalogStatus } from "../api/clusterCatalog.ts";
import { boundedMessage, changedConditions, findCondition, setCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import { type EventReason, warningReason } from "../api/events.ts";
import type { Condition } from "../api/k8s.ts";
import { messageOf, TerminalError, terminalIn } from "../errors/errors.ts";
import { ContentError, rejectionIn } from "../oci/imageErrors.ts";
import { RegistryError } from "../oci/registry/registryError.ts";
import { InvalidCatalogError } from "./load/loader.ts";
import type { CatalogReconcileState } from "./reconcileState.ts";
import { StoreFailedError, validity } from "./storeContent.ts";

/** Codes of connections that did not come about or broke. */
const NETWORK = /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|AI_|PROTO)|UND_ERR_|UNABLE_TO_)|^ENOTFOUND$|CERT/;

/**
 * The class of a failed pass. Pure. Of a pull, what has no other class and was not refused by this machine is the registry's.
 *
 * | what ended it                                            | reason                                        |
 * | an error that is not tried again                         | blocked                                       |
 * | content that is not a valid catalog                      | content                                       |
 * | reading a catalog that took too long                     | timeout                                       |
 * | a disk that is full, or broken                           | storage                                       |
 * | a write to the API server                                | api                                           |
 * | an answer of the registry                                | unauthorized, not_found, rate_limited, registry |
 * | an image that is broken                                  | image                                         |
 * | an image that the signature policy does not let pass     | rejected                                      |
 * | a pull that took too long                                | timeout                                       |
 * | no connection to the registry                            | unreachable                                   |
 */
export function failureReason(error: unknown): CatalogFailureReason {
  if (terminalIn(error)) return "blocked";
  const text = messageOf(error);
  if (text.startsWith("error updating ")) return "api";
  if (rejectionIn(error)) return "rejected";
  const chain = [...causesOf(error)];
  if (chain.some((cause) => cause instanceof InvalidCatalogError)) return "content";
  const answer = chain.find((cause) => cause instanceof RegistryError);
  if (answer) return ofStatus(answer.status);
  if (chain.some((cause) => cause instanceof ContentError)) return "image";
  if (chain.some((cause) => cause.name === "TimeoutError")) return "timeout";
  if (chain.some((cause) => cause instanceof StoreFailedError)) return "storage";
  const codes = chain.flatMap((cause) => ("code" in cause ? [String(cause.code)] : []));
  if (codes.some((code) => NETWORK.test(code))) return "unreachable";
  return codes.length === 0 && text.startsWith("source catalog content: ") ? "registry" : "other";
}

function ofStatus(status: number): CatalogFailureReason {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return "not_found";
  return status === 429 ? "rate_limited" : "registry";
}

function* causesOf(error: unknown): Generator<Error> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    yield cause;
    if (cause instanceof AggregateError) for (const one of cause.errors) if (one instanceof Error) yield one;
  }
}

type Verdict = Pick<Condition, "type" | "status" | "reason" | "message">;
/** The members of the status that say what is served. */
type Served = Pick<ClusterCatalogStatus, "resolvedSource" | "urls" | "lastUnpacked">;

const SWITCHED_OFF = "Catalog availability mode is set to Unavailable";
const UNPACKED = "Successfully unpacked and stored content from resolved source";
const SERVING = "Serving desired content from resolved source";
const LOST = "the stored content was lost and has not been fetched again";

/** What `statusFrom` has to know beside the facts of the pass. */
export interface StatusInputs {
  /** What ended the pass early, if anything did. */
  error: unknown;
  /** Base URL of a catalog's content. */
  base: string;
  /** RFC 3339 in whole seconds, used for conditions whose status changes. */
  now: string;
}

/**
 * The status that a catalog has after a pass. Pure. Conditions of types that are not ours stay as they are.
 *
 * | pass ended with                | Progressing                     | Serving                                   | what is served |
 * | content stored or still right  | True / Succeeded                | True / Available                          | from content   |
 * | an image that is fetched       | True / RollingOut               | as before                                 | as before      |
 * | an error                       | True / Retrying, False / Blocked | as before; False when nothing is served  | as before      |
 * | switched off                   | True / Succeeded                | False / UserSpecifiedUnavailable          | nothing        |
 * | deleted                        | as before                       | False / Unavailable                       | nothing        |
 *
 * Valid is about the content that is served; without content there is no such condition.
 * @see operator-controller df2c201d internal/catalogd/controllers/core/clustercatalog_controller.go
 */
export function statusFrom(catalog: Readonly<ClusterCatalog>, facts: CatalogReconcileState, inputs: StatusInputs): ClusterCatalogStatus {
  const observedGeneration = catalog.metadata.generation ?? 0;
  let conditions: Condition[] = [...(catalog.status?.conditions ?? [])];
  for (const verdict of [...verdictsOf(catalog, facts, inputs.error), ...validityOf(catalog, facts, inputs)]) {
    conditions = setCondition(
      conditions,
      { ...verdict, message: boundedMessage(verdict.message, { keepTerminal: true }), observedGeneration },
      inputs.now,
    );
  }
  if (!facts.content) conditions = conditions.filter(({ type }) => type !== ConditionType.Valid);
  const failed = inputs.error === undefined ? {} : { failure: { reason: failureReason(inputs.error) } };
  return { conditions, ...failed, ...servedAfter(catalog, facts, inputs) };
}

function verdictsOf(catalog: Readonly<ClusterCatalog>, facts: CatalogReconcileState, error: unknown): Verdict[] {
  const { Progressing, Serving } = ConditionType;
  if (error !== undefined) return [failure(error), ...lostServing(catalog, facts)];
  if (facts.unpacking !== undefined) {
    const message = `Unpacking image ${facts.unpacking}`;
    return [{ type: Progressing, status: "True", reason: Reason.RollingOut, message }, ...lostServing(catalog, facts)];
  }
  if (facts.withdrawn === "deleted") return [{ type: Serving, status: "False", reason: Reason.Unavailable, message: "" }];
  if (facts.withdrawn === "unavailable") {
    return [
      { type: Progressing, status: "True", reason: Reason.Succeeded, message: SWITCHED_OFF },
      { type: Serving, status: "False", reason: Reason.UserSpecifiedUnavailable, message: SWITCHED_OFF },
    ];
  }
  if (!facts.content) return [];
  return [
    { type: Progressing, status: "True", reason: Reason.Succeeded, message: [UNPACKED, ...facts.notes].join("; ") },
    { type: Serving, status: "True", reason: Reason.Available, message: SERVING },
  ];
}

/** An error leaves the condition as it was, like the content. */
function validityOf(catalog: Readonly<ClusterCatalog>, { content }: CatalogReconcileState, { base, error }: StatusInputs): Verdict[] {
  if (!content || (error !== undefined && findCondition(catalog.status?.conditions, ConditionType.Valid))) return [];
  return [validity(content.findings, base)];
}

function failure(error: unknown): Verdict {
  const type = ConditionType.Progressing;
  const message = markedMessage(error);
  if (terminalIn(error)) return { type, status: "False", reason: Reason.Blocked, message };
  return { type, status: "True", reason: Reason.Retrying, message };
}

/** The error's text with "terminal error: " where Go's wrapper stands: before the text of the innermost terminal error. */
function markedMessage(error: unknown): string {
  const text = messageOf(error);
  let innermost: TerminalError | undefined;
  for (let e = error; e instanceof Error; e = e.cause) if (e instanceof TerminalError) innermost = e;
  if (!innermost || !text.endsWith(innermost.message)) return text;
  return `${text.slice(0, text.length - innermost.message.length)}terminal error: ${innermost.message}`;
}

function isLost(catalog: Readonly<ClusterCatalog>, facts: CatalogReconcileState): boolean {
  return !facts.content && findCondition(catalog.status?.conditions, ConditionType.Serving)?.status === "True";
}

function lostServing(catalog: Readonly<ClusterCatalog>, facts: CatalogReconcileState): Verdict[] {
  if (!isLost(catalog, facts)) return [];
  return [{ type: ConditionType.Serving, status: "False", reason: Reason.Unavailable, message: facts.withdrawn ? "" : LOST }];
}

function servedAfter(catalog: Readonly<ClusterCatalog>, facts: CatalogReconcileState, { error, base }: StatusInputs): Served {
  if (facts.withdrawn && error === undefined) return {};
  if (facts.content) {
    const { ref, lastUnpacked } = facts.content.origin;
    return { resolvedSource: { type: "Image", image: { ref } }, urls: { base }, lastUnpacked };
  }
  return isLost(catalog, facts) ? {} : servedBefore(catalog.status);
}

function servedBefore({ resolvedSource, urls, lastUnpacked }: ClusterCatalogStatus = {}): Served {
  return { ...(resolvedSource ? { resolvedSource } : {}), ...(urls ? { urls } : {}), ...(lastUnpacked ? { lastUnpacked } : {}) };
}

/** One Event about a catalog. */
export interface CatalogEvent {
  readonly reason: EventReason;
  readonly message: string;
}

/**
 * The Events that tell how a catalog's conditions changed. Pure. New content is told by the step that stores it.
 *
 * | condition   | became                        | Event                             |
 * | Progressing | Retrying or False, each text  | Warning, its reason               |
 * | Progressing | Succeeded after one of those  | Normal Recovered                  |
 * | Serving     | False, catalog deleted        | Normal ContentRemoved             |
 * | Serving     | False, switched off           | Normal UserSpecifiedUnavailable   |
 * | Serving     | False for another reason      | Warning Unavailable               |
 */
export function catalogEvents(
  before: ClusterCatalogStatus | undefined,
  after: ClusterCatalogStatus,
  { deleted }: { deleted: boolean },
): CatalogEvent[] {
  return changedConditions(before?.conditions, after.conditions).flatMap(({ condition, before: old }) => {
    if (condition.type === ConditionType.Progressing) return progressEvents(condition, old);
    const lost = condition.type === ConditionType.Serving && old?.status === "True" && condition.status === "False";
    return lost ? [lossEvent(condition, deleted)] : [];
  });
}

function progressEvents(condition: Condition, before: Condition | undefined): CatalogEvent[] {
  const { reason, message } = condition;
  if (isFailure(condition)) return [{ reason: warningReason(reason, message), message }];
  if (!before || !isFailure(before)) return [];
  return [{ reason: "Recovered", message: `${message}; before: ${before.message}` }];
}

function isFailure({ status, reason }: Condition): boolean {
  return status === "False" || reason === Reason.Retrying;
}

function lossEvent({ reason, message }: Condition, deleted: boolean): CatalogEvent {
  if (deleted) return { reason: "ContentRemoved", message: "the catalog is deleted, its content was removed" };
  if (reason === Reason.UserSpecifiedUnavailable) return { reason, message };
  return { reason: "Unavailable", message: message === "" ? "its content is not served any more" : message };
}

/** The image whose content every replica has to serve of a catalog. */
export interface ServedImage {
  /** By digest. */
  readonly ref: string;
  readonly digest: string;
  /** When the leader unpacked it, RFC 3339 in whole seconds; it may be missing in a status that somebody else wrote. */
  readonly lastUnpacked?: string;
}

/**
 * What is served of a catalog as the leader said it in the status, which is never a tag; undefined when nothing is, or is to be no more: the
 * catalog does not exist, is being deleted, is switched off, or was never unpacked.
 */
export function servedImage(catalog: Readonly<ClusterCatalog> | undefined): ServedImage | undefined {
  const { metadata, spec, status } = catalog ?? {};
  if (!status?.resolvedSource || metadata?.deletionTimestamp !== undefined || spec?.availabilityMode === "Unavailable") return undefined;
  if (findCondition(status.conditions, ConditionType.Serving)?.status !== "True") return undefined;
  const { ref } = status.resolvedSource.image;
  const digest = ref.slice(ref.lastIndexOf("@") + 1);
  return { ref, digest, ...(status.lastUnpacked ? { lastUnpacked: status.lastUnpacked } : {}) };
}
