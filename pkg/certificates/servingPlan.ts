import { type CertificateAction, type CertificateState, type CertificateTimes, nextAction, type PairState } from "./certificatePlan.ts";
import type { ServingSecret } from "./servingSecret.ts";

const DAY_MS = 24 * 3_600_000;

/** How long the servers' own certificates hold: ninety days, replaced thirty days before the end; clients have ten minutes to trust the next authority. */
export const SERVING_TIMES: CertificateTimes = {
  validityMs: 90 * DAY_MS,
  renewBeforeMs: 30 * DAY_MS,
  settleMs: 600_000,
  skewMs: 300_000,
};

/**
 * What a replica does about the certificate of its program. Beside what `nextAction` has:
 * restore: write back what this replica serves with, which somebody damaged or deleted;
 * leave: another replica, which leads, is to do `what`; refuse: nothing may be written.
 */
export type ServingAction =
  | CertificateAction
  | { readonly kind: "restore"; readonly because: string }
  | { readonly kind: "leave"; readonly what: string }
  | { readonly kind: "refuse"; readonly because: string };

/** What `servingAction` depends on. */
export interface ServingFacts {
  readonly secret: Pick<ServingSecret, "kind"> & { readonly because?: string };
  /** What its content is worth; undefined without content. */
  readonly state: CertificateState | undefined;
  /** What this replica serves with; undefined for nothing. */
  readonly held: PairState | undefined;
  readonly leading: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly times: CertificateTimes;
}

/**
 * The next action, first row that matches:
 *
 * | Secret            | its certificate | held          | leads | action                                             |
 * | of somebody else  |                 |               |       | refuse                                             |
 * | missing or empty  |                 | holds         |       | restore                                            |
 * | missing or empty  |                 | does not      |       | issue: the first write wins, the others take that  |
 * | ours              | faulty          | holds         | yes   | restore                                            |
 * | ours              |                 |               | yes   | as `nextAction` has it                             |
 * | ours              |                 |               | no    | rest, or leave what `nextAction` has to the leader |
 *
 * Since clocks differ, only the leader judges by its own: two replicas would take turns to replace what the other made.
 */
export function servingAction({ secret, state, held, leading, now, times }: ServingFacts): ServingAction {
  const isHeldGood = held !== undefined && "endsAt" in held && held.endsAt > now;
  if (secret.kind === "foreign") return { kind: "refuse", because: secret.because ?? "" };
  if (secret.kind !== "stored" || !state) {
    const because = secret.kind === "missing" ? "the Secret does not exist" : "the Secret is empty";
    return { kind: isHeldGood ? "restore" : "issue", because };
  }
  const action = nextAction(state, { now, trustedSince: 0, times });
  if (action.kind === "rest") return action;
  if (!leading) return { kind: "leave", what: action.kind };
  if ("fault" in state.serving && isHeldGood) return { kind: "restore", because: state.serving.fault };
  return action;
}
