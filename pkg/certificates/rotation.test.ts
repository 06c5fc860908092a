import { array, assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { CERTIFICATE_TIMES, type CertificateState, chooseNextAction, type PairState } from "./rotation.ts";

/** Validity in hours from now, or a fault. */
type Pair = string | { from: number; to: number };

interface PlanCase extends CaseHead {
  given: { serving?: Pair; next?: Pair; authorities?: number[]; trustedSince?: number };
  want: { kind: string; because?: string; at?: number };
}

const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const at = (hours: number): number => NOW + Math.round(hours * HOUR);
const pair = (given: Pair): PairState =>
  typeof given === "string" ? { fault: given } : { startsAt: at(given.from), endsAt: at(given.to) };

test.for(loadCases<PlanCase>("certificates"))(
  "chooseNextAction $name",
  ({ given: { serving, next, authorities = [], trustedSince }, want }) => {
    const state: CertificateState | undefined =
      serving !== undefined
        ? {
            serving: pair(serving),
            ...(next ? { next: pair(next) } : {}),
            authorityEnds: authorities.map(at),
          }
        : undefined;
    const since = trustedSince === undefined ? 0 : at(trustedSince);
    const action = chooseNextAction(state, { now: NOW, trustedSince: since, times: CERTIFICATE_TIMES });
    expect(action).toEqual(want.at === undefined ? want : { ...want, at: at(want.at) });
  },
);

/** Simulates the effect of an action on a state; authorities expire with their certificates. */
function carriedOut(state: CertificateState | undefined, kind: string, now: number): CertificateState {
  const { validityMs, skewMs } = CERTIFICATE_TIMES;
  const made = { startsAt: now - skewMs, endsAt: now + validityMs };
  const kept = (state?.authorityEnds ?? []).filter((end) => end > now);
  if (!state || kind === "issue") return { serving: made, authorityEnds: [...kept, made.endsAt] };
  if (kind === "prepare") return { ...state, next: made, authorityEnds: [...kept, made.endsAt] };
  if (kind === "promote" && state.next) return { serving: state.next, authorityEnds: state.authorityEnds };
  return { ...state, authorityEnds: kept };
}

test("rotation always converges to a valid certificate, and Pods only serve trusted certificates", () => {
  const pauses = array(integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 30 });
  assert(
    property(pauses, (hours) => {
      let now = NOW;
      let state: CertificateState | undefined;
      let before: number[] = [];
      for (const pause of hours) {
        let kind = "";
        for (let i = 0; i < 6 && kind !== "rest"; i++) {
          const action = chooseNextAction(state, { now, trustedSince: 0, times: CERTIFICATE_TIMES });
          ({ kind } = action);
          if (kind === "rest") break;
          state = carriedOut(state, kind, now);
        }
        expect(kind).toBe("rest");
        const { serving, authorityEnds } = state as CertificateState;
        if ("fault" in serving) throw new Error(serving.fault);
        expect(serving.endsAt).toBeGreaterThan(now);
        for (const end of [...before, serving.endsAt]) if (end > now) expect(authorityEnds).toContain(end);
        before = [...before, serving.endsAt];
        now += pause * HOUR;
      }
    }),
  );
});
