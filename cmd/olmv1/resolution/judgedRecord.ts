import { type ResolutionRecord, recordOf } from "../../../pkg/resolve/resolutionRecord.ts";
import type { JudgedResolution } from "./dependencyJudgement.ts";

/** The record of a resolution with what is to say about dependencies. */
export function judgedRecord(packageName: string, { resolution, notes, unjudged }: JudgedResolution): ResolutionRecord {
  const record = recordOf(packageName, resolution);
  const { outcome } = record;
  const all = [...(outcome.notes ?? []), ...notes];
  return {
    ...record,
    outcome: all.length > 0 ? { ...outcome, notes: all } : outcome,
    ...(unjudged.length > 0 ? { unjudged } : {}),
  };
}
