import { type CrdFinding, crdFindings } from "../../crdsafety/crdFindings.ts";
import { droppedStoredVersions, type ObjectCheck, objectChecks, removedServedVersions } from "../../crdsafety/existingObjects.ts";

/** Two definitions, as JSON, and the checks to leave out. */
export interface CrdComparisonTask {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly ignored: readonly string[];
}

/** What an upgrade of a definition changes, and what of it has to be compared with the custom resources that exist. */
export interface CrdComparison {
  readonly findings: CrdFinding[];
  readonly checks: ObjectCheck[];
  readonly removed: string[];
  readonly stored: { versions: string[]; writtenNow: string[] };
}

/**
 * Compares two definitions. Integers beyond 2^53 are rounded on both sides, as the API server has them. The cost grows with their schemas, and findings are texts about parts of them.
 */
export function compareCrds({ before: oldJson, after: newJson, ignored }: CrdComparisonTask): CrdComparison {
  const decoder = new TextDecoder();
  const [before, after]: unknown[] = [oldJson, newJson].map((json) => JSON.parse(decoder.decode(json)) as unknown);
  const leftOut = new Set(ignored);
  return {
    findings: crdFindings(before, after, leftOut),
    checks: leftOut.has("existingObjects") ? [] : objectChecks(before, after),
    removed: leftOut.has("servedVersionRemoval") ? [] : removedServedVersions(before, after),
    stored: droppedStoredVersions(before, after),
  };
}
