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
  const folder = join(import.meta.dirname, "../cases", topic);
  const cases = readdirSync(folder)
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .flatMap((file) => loadAll(readFileSync(join(folder, file), "utf8"), { filename: file, schema: SCHEMA }) as T[]);
  if (cases.length === 0) throw new Error(`no case in ${folder}`);
  for (const { name, source } of cases) if (!name || !source) throw new Error(`a case of ${topic} lacks name or source: ${name ?? source}`);
  return cases;
}
