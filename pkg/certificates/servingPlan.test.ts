import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { PairState } from "./rotation.ts";
import { chooseServingAction, SERVING_TIMES, type ServingInput } from "./servingCertificate.ts";

/** Validity in hours from now, or a fault. */
type Pair = string | { from: number; to: number };

interface PlanCase extends CaseHead {
  given: {
    secret: ServingInput["secret"]["kind"];
    reason?: string;
    serving?: Pair;
    next?: Pair;
    authorities?: number[];
    held?: Pair;
    leading?: boolean;
  };
  want: { kind: string; reason?: string; what?: string; at?: number };
}

const NOW = Date.UTC(2026, 0, 1);
const at = (hours: number): number => NOW + Math.round(hours * 3_600_000);
const pair = (given: Pair): PairState =>
  typeof given === "string" ? { fault: given } : { startsAt: at(given.from), endsAt: at(given.to) };

test.for(loadCases<PlanCase>("serving-certificates"))("chooseServingAction: $name", ({ given, want }) => {
  const { secret, reason, serving, next, authorities = [], held, leading = false } = given;
  const action = chooseServingAction({
    secret: reason === undefined ? { kind: secret } : { kind: secret, reason },
    state:
      serving === undefined
        ? undefined
        : { serving: pair(serving), ...(next ? { next: pair(next) } : {}), authorityEnds: authorities.map(at) },
    held: held === undefined ? undefined : pair(held),
    leading,
    now: NOW,
    times: SERVING_TIMES,
  });
  expect(action).toEqual(want.at === undefined ? want : { ...want, at: at(want.at) });
});
