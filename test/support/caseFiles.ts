import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CORE_SCHEMA, loadAll, mergeTag } from "js-yaml";

/** Members of every case: a sentence that states the expectation, and its source. */
export interface CaseHead {
  name: string;
  source: string;
}

/** Cases share parts with anchors and merge keys. */
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/**
 * Reads the cases of one topic: every document of every `test/cases/<topic>/*.yaml`, in order of file name.
 * @throws Error for a document without `name` or `source`, or if the topic has no cases.
 */
export function loadCases<T extends CaseHead>(topic: string): T[] {
  return loadCaseFolder(join(import.meta.dirname, "../cases", topic));
}

/** Reads cases from any folder. */
export function loadCaseFolder<T extends CaseHead>(folder: string): T[] {
  const cases = readdirSync(folder)
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .flatMap((file) => loadAll(readFileSync(join(folder, file), "utf8"), { filename: file, schema: SCHEMA }) as T[]);
  if (cases.length === 0) throw new Error(`no case in ${folder}`);
  for (const { name, source } of cases)
    if (!name || !source) throw new Error(`a case in ${folder} has no name or no source: ${name ?? source}`);
  return cases;
}
