import type { CatalogCache } from "./catalogCache.ts";

/** Something a case expects that did not happen; the lines say what was wanted and what came. */
export interface Difference {
  lines: string[];
}

/** What a case may use besides itself. */
export interface CaseContext {
  /** The file the case stands in. */
  file: string;
  /** Paths inside cases are relative to this folder. */
  dataFolder: string;
  catalogs: CatalogCache;
}

/** One kind of case. */
export interface Topic<C = unknown> {
  /** Whether a decoded JSON value is a case of this topic. */
  isCase(value: unknown): value is C;
  /** A few words that name the case in the output. */
  title(value: C): string;
  /** @returns undefined when all is as expected. @throws Error when the case cannot be run, such as a missing file. */
  run(value: C, context: CaseContext): Promise<Difference | undefined>;
}

/** True for an object that has all of `members`. */
export function hasMembers(value: unknown, ...members: string[]): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && members.every((member) => Object.hasOwn(value, member));
}
