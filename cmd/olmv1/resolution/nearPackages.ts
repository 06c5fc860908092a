import { closestNames } from "../../../pkg/fbc/summary/search.ts";
import type { ResolutionRecord } from "../../../pkg/resolve/resolutionRecord.ts";
import type { Question } from "./question.ts";

/** A line that names the packages that may have been meant by one that is in none of the catalogs; empty where there is none. */
export async function nearPackages({ request, catalogs, whole }: Question, record: ResolutionRecord): Promise<string> {
  if (record.catalogs.length === 0 || record.catalogs.some(({ state }) => state !== "withoutPackage")) return "";
  const refs = catalogs.flatMap(({ status }) => status?.resolvedSource?.image?.ref ?? []);
  const names = await Promise.all(refs.map(async (ref) => [...(await whole.of(ref)).index.packages]));
  const near = closestNames(request.source.packageName, [...new Set(names.flat())]);
  return near.length === 0 ? "" : `did you mean ${near.join(" or ")}?\n`;
}
