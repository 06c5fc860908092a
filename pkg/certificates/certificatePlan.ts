/** A certificate with its key: what keeps it from being used, or from when to when it holds, in milliseconds since the epoch. */
export type PairState = { readonly fault: string } | { readonly startsAt: number; readonly endsAt: number };

/** What there is of one certificate. */
export interface CertificateState {
  /** What the operator serves with. */
  readonly serving: PairState;
  /** What it is to serve with once its authority is trusted everywhere. */
  readonly next?: PairState;
  /** When each trusted authority ends, in milliseconds since the epoch. */
  readonly authorityEnds: readonly number[];
}

/** How long certificates hold, in milliseconds. */
export interface CertificateTimes {
  /** Of an authority and its certificate, which end together. */
  readonly validityMs: number;
  /** So long before its end a certificate is replaced. */
  readonly renewBeforeMs: number;
  /** So long after everybody was told to trust an authority its certificate is served. */
  readonly settleMs: number;
  /** Certificates begin to hold so long before they are made: clocks differ. */
  readonly skewMs: number;
}

const HOUR_MS = 3_600_000;

/**
 * As cert-manager is asked for: two years, renewed a day before the end.
 * @see operator-controller internal/operator-controller/rukpak/render/certproviders/certmanager.go
 */
export const CERTIFICATE_TIMES: CertificateTimes = {
  validityMs: 17_520 * HOUR_MS,
  renewBeforeMs: 24 * HOUR_MS,
  settleMs: 60_000,
  skewMs: 300_000,
};

/**
 * What to do next about one certificate:
 * issue: make an authority and a certificate, and serve with it at once; prepare: make them, trust the authority, and keep the certificate
 * for later; promote: serve with what was prepared; trim: no longer trust authorities that have ended; rest: nothing until `at`.
 */
export type CertificateAction =
  | { readonly kind: "issue" | "prepare"; readonly because: string }
  | { readonly kind: "promote" | "trim" }
  | { readonly kind: "rest"; readonly at: number };

/**
 * The next action, first row that matches:
 *
 * | serving                        | next             | action                                                          |
 * | faulty, ended or not there     | good             | promote                                                         |
 * | faulty, ended or not there     | none, or faulty  | issue                                                           |
 * | good                           | faulty or ended  | prepare                                                         |
 * | good                           | good             | promote when its authority has been trusted for the settle time |
 * | good, in its last day          | none             | prepare                                                         |
 * | good                           | none             | trim when an authority has ended, else rest                     |
 *
 * So at any time every certificate that a Pod may still serve with is of a trusted authority: an authority goes with the end of its
 * certificate and not before.
 * @param now milliseconds since the epoch.
 * @param trustedSince when the trusted authorities were last changed anywhere, as far as that is known; milliseconds since the epoch.
 */
export function nextAction(
  state: CertificateState | undefined,
  { now, trustedSince, times }: { now: number; trustedSince: number; times: CertificateTimes },
): CertificateAction {
  if (!state) return { kind: "issue", because: "there is none" };
  const { serving, next, authorityEnds } = state;
  const fault = faultOf(serving, now);
  const nextFault = next && faultOf(next, now);
  const isNextGood = next !== undefined && nextFault === undefined;
  if ("fault" in serving || fault !== undefined) return isNextGood ? { kind: "promote" } : { kind: "issue", because: fault ?? "" };
  if (nextFault !== undefined) return { kind: "prepare", because: `what was prepared cannot be used: ${nextFault}` };
  if (next && "startsAt" in next) {
    const at = Math.max(next.startsAt + times.skewMs, trustedSince) + times.settleMs;
    return now >= at ? { kind: "promote" } : { kind: "rest", at };
  }
  const renewAt = serving.endsAt - times.renewBeforeMs;
  if (now >= renewAt) return { kind: "prepare", because: `it ends at ${new Date(serving.endsAt).toISOString()}` };
  if (authorityEnds.some((end) => end <= now)) return { kind: "trim" };
  return { kind: "rest", at: Math.min(renewAt, ...authorityEnds) };
}

function faultOf(pair: PairState, now: number): string | undefined {
  if ("fault" in pair) return pair.fault;
  if (pair.endsAt <= now) return `it ended at ${new Date(pair.endsAt).toISOString()}`;
  if (pair.startsAt > now) return `it holds from ${new Date(pair.startsAt).toISOString()} only`;
  return undefined;
}
