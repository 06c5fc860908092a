import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { parseRange } from "../../../pkg/version/blang.ts";
import { parseConstraint } from "../../../pkg/version/masterminds.ts";
import { parseVersion } from "../../../pkg/version/version.ts";
import { UsageError } from "../runMain.ts";
import { hasMembers, type Topic } from "../topic.ts";

/** A range, and the versions in `versions.json` that it contains, or an error. */
export interface RangeCase {
  range: string;
  /** Syntax of the range. Default: the one in the file name. */
  dialect?: string;
  /** Versions to try. Default: those in `versions.json` in the folder of the file. */
  versions?: string[];
  matches?: string[];
  error?: string;
}

const PARSERS = { masterminds: parseConstraint, blang: parseRange };

/** Does not compare the text of an expected error, which is that of Go. */
export const rangesTopic: Topic<RangeCase> = {
  isCase: (value): value is RangeCase => hasMembers(value, "range") && (Array.isArray(value["matches"]) || "error" in value),
  title: ({ range }) => JSON.stringify(range),
  async run(value, context) {
    const parse = PARSERS[getDialect(value, context.file)];
    const versions = (value.versions ?? versionsBeside(context.file)).map((text) => ({ text, version: parseVersion(text) }));
    let matches: string[];
    try {
      const range = parse(value.range);
      matches = versions.filter(({ version }) => range.contains(version)).map(({ text }) => text);
    } catch (err) {
      return value.error === undefined
        ? { lines: [`want matches ${list(value.matches)}`, `got error: ${getErrorMessage(err)}`] }
        : undefined;
    }
    if (value.error !== undefined) return { lines: [`want error: ${value.error}`, `got matches ${list(matches)}`] };
    const expected = new Set(value.matches);
    const missing = [...expected].filter((version) => !matches.includes(version));
    const unwanted = matches.filter((version) => !expected.has(version));
    if (missing.length + unwanted.length === 0) return undefined;
    return { lines: [`does not match, but should: ${list(missing)}`, `matches, but should not: ${list(unwanted)}`] };
  },
};

function getDialect({ dialect }: RangeCase, file: string): keyof typeof PARSERS {
  const named = (dialect ?? basename(file)).toLowerCase();
  if (named.includes("masterminds")) return "masterminds";
  if (named.includes("blang")) return "blang";
  throw new UsageError(`unknown range syntax of ${file}: its name must contain "masterminds" or "blang", or each case a field "dialect"`);
}

function versionsBeside(file: string): string[] {
  const path = join(dirname(file), "versions.json");
  if (!existsSync(path)) throw new UsageError(`${file} requires versions in ${path}`);
  return JSON.parse(readFileSync(path, "utf8")) as string[];
}

function list(versions: readonly string[] = []): string {
  return `[${versions.join(" ")}]`;
}
