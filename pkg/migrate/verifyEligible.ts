import { getErrorMessage } from "../errors/errors.ts";
import type { MigrationReason } from "./eligibility.ts";
import type { Conversion, ConversionSource } from "./planConversion.ts";
import type { SurveyedSubscription } from "./survey.ts";

const NEXT = "olmv1 migrate convert NAME prints the complete plan";

/** How the conversions are planned. */
export interface ConversionChecks {
  /** Plans a conversion without writing, as `olmv1 migrate convert` does. */
  readonly plan: (source: ConversionSource) => Promise<Pick<Conversion, "findings">>;
  readonly signal: AbortSignal;
  /** Receives one line before each plan. */
  readonly report: (what: string) => void;
}

/**
 * Plans the conversion of each eligible Subscription. A Subscription whose plan has findings becomes Ineligible, with a reason for each finding, so
 * that Eligible means that a conversion is possible.
 * @throws the reason of the signal if it aborts; never an error of a plan
 */
export async function verifyEligible(found: readonly SurveyedSubscription[], checks: ConversionChecks): Promise<SurveyedSubscription[]> {
  const verified: SurveyedSubscription[] = [];
  for (const one of found) {
    checks.signal.throwIfAborted();
    checks.report(`planning the conversion of ${one.namespace}/${one.name}`);
    verified.push(await verifyOne(one, checks));
  }
  return verified;
}

async function verifyOne(one: SurveyedSubscription, checks: ConversionChecks): Promise<SurveyedSubscription> {
  const { eligible, ...surveyed } = one;
  if (!eligible) return one;
  const reasons = await listFindings(eligible, checks);
  if (reasons.length === 0) return one;
  return { ...surveyed, verdict: { state: "Ineligible", reasons, remarks: one.verdict.remarks } };
}

async function listFindings(
  eligible: NonNullable<SurveyedSubscription["eligible"]>,
  { plan, signal }: ConversionChecks,
): Promise<MigrationReason[]> {
  try {
    const { findings } = await plan(eligible);
    return findings.map(({ text }) => ({ code: "ConversionRefused", text, next: NEXT }));
  } catch (err) {
    signal.throwIfAborted();
    return [{ code: "ConversionRefused", text: `the conversion cannot be planned: ${getErrorMessage(err)}`, next: NEXT }];
  }
}
