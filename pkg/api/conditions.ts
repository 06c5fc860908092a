import { redactUserinfo } from "../text/redact.ts";
import { truncateMessage } from "../text/truncate.ts";
import { ConditionType } from "./constants.ts";
import type { Condition } from "./k8s.ts";

const TERMINAL = /(^|: )terminal error: /g;
/** Addresses of a broken connection. They are removed because the local port differs each time, which would change the message constantly. */
const CONNECTION = connectionPattern();

/** Returns the condition of a type. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * Returns `conditions` with `next` instead of the condition of its type, or appended.
 * `lastTransitionTime` is `now` if the status changed, else the previous one.
 * @param now RFC 3339 in whole seconds, like times of the API server.
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

/**
 * Returns `conditions` with only `next` of Reconciling and Stalled, or with neither. Tools that follow kstatus, such as Flux, wait while Reconciling is
 * True, and fail when Stalled is True. Each is only present while it is True.
 * @see https://github.com/kubernetes-sigs/cli-utils/blob/v0.37.2/pkg/kstatus/README.md
 */
export function setKstatusCondition(
  conditions: readonly Condition[],
  next: (Omit<Condition, "lastTransitionTime" | "status" | "type"> & { type: "Reconciling" | "Stalled" }) | undefined,
  now: string,
): Condition[] {
  const others = conditions.filter(({ type }) => !isKstatusCondition(type) || type === next?.type);
  return next ? setCondition(others, { ...next, status: "True" }, now) : others;
}

/** Whether a condition repeats condition Ready for kstatus. */
export function isKstatusCondition(type: string): boolean {
  return type === ConditionType.Reconciling || type === ConditionType.Stalled;
}

/** Returns conditions whose status, reason or message changed, each with the previous condition of its type. */
export function listChangedConditions(
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
 * Converts a text to a condition message: removes addresses of broken connections, and users and passwords in URLs. Removes "terminal error: " unless
 * `keepTerminal` is set (a ClusterCatalog shows it in a chain of causes). Truncates to 32768 bytes of UTF-8, with a note.
 */
export function boundMessage(text: string, options: { keepTerminal?: boolean } = {}): string {
  const stable = redactUserinfo(sanitizeNetworkError(text));
  return truncateMessage(options.keepTerminal ? stable : stable.replace(TERMINAL, "$1"));
}

/** Removes addresses such as "read tcp 10.0.0.1:52341->10.0.0.2:443: ". */
export function sanitizeNetworkError(text: string): string {
  return text.replace(CONNECTION, "");
}

function connectionPattern(): RegExp {
  const address = String.raw`(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-fA-F:]+\])(?::\d+)?`;
  return new RegExp(`(?:read|write) (?:tcp|udp) ${address}->${address}(?:: )?`, "g");
}
