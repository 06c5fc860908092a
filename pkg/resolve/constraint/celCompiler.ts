import { foldKey } from "../../golang/members.ts";
import type { Property } from "../../fbc/types.ts";

/** Whether a rule is true of the properties of one bundle; false also where it fails for them, or takes more than it may. */
export type CelRule = (properties: readonly Property[]) => boolean;

/**
 * What makes rules of CEL out of text. Reading constraints takes one in place of the library that knows CEL, since loading that costs a
 * process 11 MB (28 where the programs are not bundled) and a tenth of a second, and hardly a catalog has a rule: who reads loads it when
 * `mentionsCel` says so.
 */
export interface CelCompiler {
  /** @throws Error when the text is no rule, or one that takes more than it may; it says why, for the catalog's author. */
  compile(rule: string): CelRule;
  /** How many steps, a million of which take about a second, all rules may take together from now on. What is known already takes none. */
  grant(steps: number): void;
  /** Whether rules wanted more since then: those that did are false without being known. */
  readonly wasRefused: boolean;
}

/** Whether there may be a rule of CEL among the properties; never false where there is one. */
export function mentionsCel(properties: readonly Property[]): boolean {
  const left: unknown[] = properties.filter(({ type }) => type === "olm.constraint").map(({ value }) => value);
  for (let value = left.pop(); value !== undefined || left.length > 0; value = left.pop()) {
    if (typeof value !== "object" || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      if (!Array.isArray(value) && foldKey(key) === "cel") return true;
      left.push(member);
    }
  }
  return false;
}
