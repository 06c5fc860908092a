import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseYamlDocuments } from "../../pkg/fbc/yaml.ts";

/** A row of a table in test/cases; `source` says where the expectation comes from. */
export interface Case {
  name: string;
  source: string;
}

/**
 * All rows of the tables below test/cases/`topic`; a file holds one list, or one row a document.
 * @throws Error for a row without name or source, or when there is no row at all.
 */
export function loadCases<T extends object>(topic: string): (T & Case)[] {
  const folder = join(import.meta.dirname, "../cases", topic);
  const rows = globSync("**/*.yaml", { cwd: folder })
    .sort()
    .flatMap((file) => parseYamlDocuments(readFileSync(join(folder, file), "utf8")).flat().map((row) => ({ file, row: row as T & Case })));
  if (rows.length === 0) throw new Error(`no cases below test/cases/${topic}`);
  for (const { file, row } of rows) if (!row.name || !row.source) throw new Error(`test/cases/${topic}/${file}: a case needs name and source`);
  return rows.map(({ row }) => row);
}
