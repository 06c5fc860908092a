import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { compareText } from "../../pkg/text/compare.ts";
import { UsageError } from "./runMain.ts";

/** One value found in a case file. */
export interface FoundCase {
  file: string;
  /** Of a file with a value on each line. */
  line?: number;
  /** The decoded JSON, or why it is none. */
  value: { decoded: unknown } | { fault: string };
}

/**
 * The case files under `path`: itself, or every `*.json` and `*.jsonl` file below it, in order of name.
 * @throws UsageError when there is no such file or folder.
 */
export async function* caseFilesUnder(path: string): AsyncGenerator<string> {
  const status = await stat(path).catch(() => undefined);
  if (!status) throw new UsageError(`there is no file or folder ${path}`);
  if (!status.isDirectory()) {
    yield path;
    return;
  }
  const entries = await readdir(path, { withFileTypes: true });
  for (const { name } of entries.sort((a, b) => compareText(a.name, b.name))) {
    const below = join(path, name);
    const isFolder = (await stat(below)).isDirectory();
    if (isFolder) yield* caseFilesUnder(below);
    else if (/\.jsonl?$/.test(name)) yield below;
  }
}

/** The values of one case file: each line of a `.jsonl`, each element of a JSON list, or the one value of a JSON file. One line is in memory at a time. */
export async function* casesIn(file: string): AsyncGenerator<FoundCase> {
  if (file.endsWith(".jsonl")) {
    let line = 0;
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      line++;
      if (text.trim() !== "") yield { file, line, value: decode(text) };
    }
    return;
  }
  const value = decode(await readFile(file, "utf8"));
  if ("decoded" in value && Array.isArray(value.decoded)) for (const element of value.decoded) yield { file, value: { decoded: element } };
  else yield { file, value };
}

function decode(text: string): FoundCase["value"] {
  try {
    return { decoded: JSON.parse(text) as unknown };
  } catch (err) {
    return { fault: getErrorMessage(err) };
  }
}
