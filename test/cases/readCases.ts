import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { compareText } from "../../pkg/text/compare.ts";
import { UsageError } from "./runMain.ts";

/** A value in a case file. */
export interface FoundCase {
  file: string;
  /** Line number, in files with a value on each line. */
  line?: number;
  /** The decoded JSON, or the syntax error. */
  value: { decoded: unknown } | { fault: string };
}

/**
 * Yields the case files in `path`: the file itself, or all `*.json` and `*.jsonl` files in the folder, in order of name.
 * @throws UsageError if the file or folder does not exist.
 */
export async function* caseFilesUnder(path: string): AsyncGenerator<string> {
  const status = await stat(path).catch(() => undefined);
  if (!status) throw new UsageError(`no such file or folder: ${path}`);
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

/** Yields the values of a case file: each line of `.jsonl`, each element of a JSON list, or the value of a JSON file. Keeps one line in memory at a time. */
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
