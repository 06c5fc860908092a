import { getErrorMessage } from "../errors/errors.ts";
import type { MigrationReason } from "./eligibility.ts";
import { type ConversionSettings, planConversion } from "./planConversion.ts";
import type { SurveyedSubscription } from "./survey.ts";

const NEXT = "olmv1 migrate convert NAME prints the complete plan";

/**
 * Plans the conversion of each eligible Subscription, without writing, as `olmv1 migrate convert` does. A Subscription whose plan has findings becomes
 * Ineligible, with a reason for each finding, so that Eligible means that a conversion is possible.
 */
export async function verifyEligible(
  found: readonly SurveyedSubscription[],
  settings: ConversionSettings,
  report: (what: string) => void,
): Promise<SurveyedSubscription[]> {
  const verified: SurveyedSubscription[] = [];
  for (const one of found) {
    settings.signal.throwIfAborted();
    report(`planning the conversion of ${one.namespace}/${one.name}`);
    verified.push(await verifyOne(one, settings));
  }
  return verified;
}

async function verifyOne(one: SurveyedSubscription, settings: ConversionSettings): Promise<SurveyedSubscription> {
  const { eligible, ...surveyed } = one;
  if (!eligible) return one;
  const reasons = await listFindings(eligible, settings);
  if (reasons.length === 0) return one;
  return { ...surveyed, verdict: { state: "Ineligible", reasons, remarks: one.verdict.remarks } };
}

async function listFindings(
  eligible: NonNullable<SurveyedSubscription["eligible"]>,
  settings: ConversionSettings,
): Promise<MigrationReason[]> {
  try {
    const { findings } = await planConversion(eligible, settings);
    return findings.map(({ text }) => ({ code: "ConversionRefused", text, next: NEXT }));
  } catch (err) {
    settings.signal.throwIfAborted();
    return [{ code: "ConversionRefused", text: `the conversion cannot be planned: ${getErrorMessage(err)}`, next: NEXT }];
  }
}
