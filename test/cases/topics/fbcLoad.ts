import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CheckedCatalog, checkCatalog, checkCatalogFolder } from "../../../pkg/catalogd/load/checkCatalog.ts";
import type { CatalogCounts } from "../../../pkg/fbc/validate/catalogCheck.ts";
import { catalogFiles } from "../catalogFiles.ts";
import { hasMembers, type Topic } from "../topic.ts";

/** A catalog, and the counts of opm's loader and model check, or their error. */
export interface FbcLoadCase {
  fbc: string;
  expect: CatalogCounts | { error: string };
}

const COUNTED = ["packages", "channels", "bundles", "deprecations", "others"] as const;

/** Checks the catalog strictly. Does not compare the text of an expected error, which is the first error that Go found. */
export const fbcLoadTopic: Topic<FbcLoadCase> = {
  isCase: (value): value is FbcLoadCase =>
    hasMembers(value, "fbc", "expect") && (hasMembers(value["expect"], ...COUNTED) || hasMembers(value["expect"], "error")),
  title: ({ fbc }) => fbc,
  async run({ fbc, expect }, { dataFolder }) {
    const { counts, refusal } = await loadAndCheck(join(dataFolder, fbc));
    const got = refusal === undefined ? countsText(counts) : `error: ${refusal}`;
    if ("error" in expect) return refusal === undefined ? { lines: [`want error: ${expect.error}`, `got ${got}`] } : undefined;
    const want = countsText(expect);
    return got === want ? undefined : { lines: [`want ${want}`, `got ${got}`] };
  },
};

/** Reads a folder like the product does, or its archive if the folder is missing. */
async function loadAndCheck(folder: string): Promise<CheckedCatalog> {
  return existsSync(folder) ? checkCatalogFolder(folder) : checkCatalog(catalogFiles(folder));
}

function countsText(counts: CatalogCounts): string {
  return COUNTED.map((what) => `${counts[what]} ${what}`).join(", ");
}
