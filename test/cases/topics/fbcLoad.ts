import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CheckedCatalog, checkCatalog, checkCatalogFolder } from "../../../pkg/catalogd/load/checkCatalog.ts";
import type { CatalogCounts } from "../../../pkg/fbc/validate/catalogCheck.ts";
import { catalogFiles } from "../catalogFiles.ts";
import { hasMembers, type Topic } from "../topic.ts";

/** A catalog, and what opm's loader and model check count in it, or that they refuse it. */
export interface FbcLoadCase {
  fbc: string;
  expect: CatalogCounts | { error: string };
}

const COUNTED = ["packages", "channels", "bundles", "deprecations", "others"] as const;

/** The catalog is checked strictly. The text of an expected error is that of the first thing that Go came across, and is not compared. */
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

/** A folder as the product reads it; an archive beside it where the folder is missing. */
async function loadAndCheck(folder: string): Promise<CheckedCatalog> {
  return existsSync(folder) ? checkCatalogFolder(folder) : checkCatalog(catalogFiles(folder));
}

function countsText(counts: CatalogCounts): string {
  return COUNTED.map((what) => `${counts[what]} ${what}`).join(", ");
}
