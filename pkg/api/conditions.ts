import { redactUserinfo } from "../text/redact.ts";
import { truncateMessage } from "../text/truncate.ts";
import type { Condition } from "./k8s.ts";

const TERMINAL = /(^|: )terminal error: /g;
/** The two ends of a connection that broke; the local port differs each time, which would make the message flap. */
const CONNECTION = connectionPattern();

/** The condition of that type, if there is one. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * `conditions` with `next` in place of the one of its type, or at the end.
 * `lastTransitionTime` becomes `now` when the status differs from before and otherwise stays.
 * @param now RFC 3339 in whole seconds, as the API server prints times.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/api/meta#SetStatusCondition
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  next: Omit<Condition, "lastTransitionTime">,
  now: string,
): Condition[] {
  const before = findCondition(conditions, next.type);
  if (!before) return [...(conditions ?? []), { ...next, lastTransitionTime: now }];
  const lastTransitionTime = before.status === next.status ? before.lastTransitionTime : now;
  return (conditions ?? []).map((condition) => (condition === before ? { ...next, lastTransitionTime } : condition));
}

/** Those of `after` that say something else than the one of their type before, each with that one; a new one has none. */
export function changedConditions(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): { condition: Condition; before: Condition | undefined }[] {
  return (after ?? [])
    .map((condition) => ({ condition, before: findCondition(before, condition.type) }))
    .filter(
      ({ condition: { status, reason, message }, before: old }) =>
        old?.status !== status || old.reason !== reason || old.message !== message,
    );
}

/**
 * `text` as the message of a condition: addresses of broken connections and users and passwords in URLs left out, the words "terminal error: " too unless
 * `keepTerminal` is set (a ClusterCatalog shows them inside a chain of causes), at most 32768 bytes of UTF-8 with a note where it was cut.
 */
export function boundedMessage(text: string, options: { keepTerminal?: boolean } = {}): string {
  const stable = redactUserinfo(sanitizeNetworkError(text));
  return truncateMessage(options.keepTerminal ? stable : stable.replace(TERMINAL, "$1"));
}

/** `text` without "read tcp 10.0.0.1:52341->10.0.0.2:443: " and its like. */
export function sanitizeNetworkError(text: string): string {
  return text.replace(CONNECTION, "");
}

function connectionPattern(): RegExp {
  const address = String.raw`(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-fA-F:]+\])(?::\d+)?`;
  return new RegExp(`(?:read|write) (?:tcp|udp) ${address}->${address}(?:: )?`, "g");
}
