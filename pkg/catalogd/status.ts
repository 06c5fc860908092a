import type { ClusterCatalog, ClusterCatalogStatus } from "../api/clusterCatalog.ts";
import { boundedMessage, findCondition, setCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import { messageOf, TerminalError, terminalIn } from "../errors/errors.ts";
import type { CatalogFacts } from "./facts.ts";
import { failureReason } from "./failureReason.ts";
import { validity } from "./validity.ts";

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
 * @see operator-controller internal/catalogd/controllers/core/clustercatalog_controller.go
 */
export function statusFrom(catalog: Readonly<ClusterCatalog>, facts: CatalogFacts, inputs: StatusInputs): ClusterCatalogStatus {
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

function verdictsOf(catalog: Readonly<ClusterCatalog>, facts: CatalogFacts, error: unknown): Verdict[] {
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
function validityOf(catalog: Readonly<ClusterCatalog>, { content }: CatalogFacts, { base, error }: StatusInputs): Verdict[] {
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

function isLost(catalog: Readonly<ClusterCatalog>, facts: CatalogFacts): boolean {
  return !facts.content && findCondition(catalog.status?.conditions, ConditionType.Serving)?.status === "True";
}

function lostServing(catalog: Readonly<ClusterCatalog>, facts: CatalogFacts): Verdict[] {
  if (!isLost(catalog, facts)) return [];
  return [{ type: ConditionType.Serving, status: "False", reason: Reason.Unavailable, message: facts.withdrawn ? "" : LOST }];
}

function servedAfter(catalog: Readonly<ClusterCatalog>, facts: CatalogFacts, { error, base }: StatusInputs): Served {
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
