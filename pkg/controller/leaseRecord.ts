import type { KubeObject } from "../api/k8s.ts";

/** Kind of the object by which replicas agree on a leader. */
export const LEASE = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } as const;

/** The members of coordination.k8s.io/v1 LeaseSpec that elections use; others survive. */
export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  /** RFC 3339 with six digits behind the second; written for people and never compared with a clock. */
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
  [member: string]: unknown;
}

/** A Lease of coordination.k8s.io/v1. */
export interface Lease extends KubeObject {
  spec?: LeaseSpec;
}

/** How long an election waits for what; milliseconds. */
export interface ElectionTimes {
  /** How long others leave a leader alone that does not renew. */
  leaseDurationMs: number;
  /** How long a leader works on after the last renewal that succeeded. */
  renewDeadlineMs: number;
  /** How often a leader renews, and how long anybody waits after a failed attempt. */
  retryPeriodMs: number;
}

/** controller-runtime spreads attempts over so much more than the retry period. */
export const RETRY_JITTER = 1.2;
/** What a release writes for the duration, which may not be zero. @see k8s.io/client-go tools/leaderelection, release */
const RELEASED_SECONDS = 1;
/** A holder that says more than this is not waited for any longer. */
const MAX_DURATION_MS = 3_600_000;

/** What is wrong with the times, in client-go's words; undefined when they fit together. */
export function electionTimesProblem({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }: ElectionTimes): string | undefined {
  if (leaseDurationMs <= renewDeadlineMs) return "leaseDuration must be greater than renewDeadline";
  if (renewDeadlineMs <= RETRY_JITTER * retryPeriodMs) return "renewDeadline must be greater than retryPeriod*JitterFactor";
  return undefined;
}

/** The record with which `identity` takes the Lease, or renews it when it has it. @param now RFC 3339 with six digits. */
export function heldBy(identity: string, before: LeaseSpec | undefined, leaseDurationMs: number, now: string): LeaseSpec {
  const leaseDurationSeconds = Math.ceil(leaseDurationMs / 1_000);
  if (!before) return { holderIdentity: identity, leaseDurationSeconds, acquireTime: now, renewTime: now, leaseTransitions: 0 };
  const ours = before.holderIdentity === identity;
  const { acquireTime = now, leaseTransitions = 0 } = before;
  return {
    ...before,
    holderIdentity: identity,
    leaseDurationSeconds,
    renewTime: now,
    acquireTime: ours ? acquireTime : now,
    leaseTransitions: ours ? leaseTransitions : leaseTransitions + 1,
  };
}

/** The record that says that nobody leads any more. */
export function released(before: LeaseSpec, now: string): LeaseSpec {
  return { ...before, holderIdentity: "", leaseDurationSeconds: RELEASED_SECONDS, acquireTime: now, renewTime: now };
}

/**
 * How long `identity` has to leave the Lease alone, counted from when it saw the record change last; 0 or less once it may take it.
 *
 * | the record                    | may be taken after |
 * | none was ever seen            | nothing |
 * | held by `identity`            | nothing |
 * | released                      | nothing |
 * | without holder, not released  | the retry period: it was emptied by hand, and who held it notices meanwhile |
 * | held by somebody              | the holder's duration or our own, whichever is longer, so that a duration edited by hand makes no second leader |
 */
export function waitMs(record: LeaseSpec | undefined, identity: string, { leaseDurationMs, retryPeriodMs }: ElectionTimes): number {
  const { holderIdentity: holder = "", leaseDurationSeconds = 0 } = record ?? {};
  if (!record || holder === identity) return 0;
  if (holder === "") return leaseDurationSeconds === RELEASED_SECONDS ? 0 : retryPeriodMs;
  return Math.max(leaseDurationMs, Math.min(leaseDurationSeconds * 1_000, MAX_DURATION_MS));
}
