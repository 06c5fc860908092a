import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CORE_SCHEMA, loadAll, mergeTag } from "js-yaml";

/** What every case has: a sentence that says what holds, and where that is known from. */
export interface CaseHead {
  name: string;
  source: string;
}

/** Cases share parts by anchors and merge keys. */
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/**
 * The cases of one topic: every document of every `test/cases/<topic>/*.yaml`, in order of file name.
 * @throws Error for a document without `name` or `source`, or when the topic has no case.
 */
export function loadCases<T extends CaseHead>(topic: string): T[] {
  return loadCaseFolder(join(import.meta.dirname, "../cases", topic));
}

/** The same for a folder that lies elsewhere. */
export function loadCaseFolder<T extends CaseHead>(folder: string): T[] {
  const cases = readdirSync(folder)
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .flatMap((file) => loadAll(readFileSync(join(folder, file), "utf8"), { filename: file, schema: SCHEMA }) as T[]);
  if (cases.length === 0) throw new Error(`no case in ${folder}`);
  for (const { name, source } of cases)
    if (!name || !source) throw new Error(`a case in ${folder} lacks name or source: ${name ?? source}`);
  return cases;
}
