import type { CatalogCache } from "./catalogCache.ts";

/** A difference from the expected result, as lines with expected and actual values. */
export interface Difference {
  lines: string[];
}

/** Location of a case and of the files that it refers to. */
export interface CaseContext {
  /** The file of the case. */
  file: string;
  /** Base folder of paths in cases. */
  dataFolder: string;
  catalogs: CatalogCache;
}

/** A topic: how to recognize, name and run its cases. */
export interface Topic<C = unknown> {
  /** Whether a decoded JSON value is a case of this topic. */
  isCase(value: unknown): value is C;
  /** Returns a short name of the case for the output. */
  title(value: C): string;
  /** Runs a case. @returns undefined if the result is as expected. @throws Error if the case cannot be run, for example because a file is missing. */
  run(value: C, context: CaseContext): Promise<Difference | undefined>;
}

/** True for an object that has all of `members`. */
export function hasMembers(value: unknown, ...members: string[]): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && members.every((member) => Object.hasOwn(value, member));
}
