import type { KubeObject } from "../../api/k8s.ts";
import { countSeparators } from "../../bundle/limits.ts";
import { type CrdFinding, crdFindings } from "../../crdsafety/crdFindings.ts";
import { droppedStoredVersions, type ObjectCheck, objectChecks, removedServedVersions } from "../../crdsafety/existingObjects.ts";
import { objectFaults } from "../../crdsafety/objectFaults.ts";
import { isObject } from "../../golang/members.ts";
import { formatList } from "../../text/lists.ts";
import { Patterns } from "./patternMatcher.ts";

/** One page of custom resources, and the schema that they have to be valid under. */
export interface PageTask {
  /** JSON. */
  readonly schema: Uint8Array;
  /** The version of the new CRD whose schema it is, for messages. */
  readonly version: string;
  /** A list as the API server sends it. */
  readonly page: Uint8Array;
  /** Most lines, list items and members in the page. */
  readonly maxValues: number;
  /** Most steps of checking; see `Spend`. */
  readonly maxSteps: number;
  /** How long patterns may be evaluated, in milliseconds. */
  readonly patternMs: number;
}

/** What a page holds. */
export type PageFindings =
  /** Nothing was parsed. */
  | { readonly kind: "tooManyValues"; readonly values: number }
  | {
      readonly kind: "checked";
      /** Custom resources that were checked, of those in the page. */
      readonly count: number;
      readonly listed: number;
      /** Those of them that are not valid, the first with their names and faults. */
      readonly invalid: number;
      readonly named: readonly string[];
      /** Some patterns could not be evaluated. */
      readonly someUnknown: boolean;
      readonly steps: number;
      readonly patternMs: number;
      /** Token of the next page. */
      readonly continue: string | undefined;
      /** Custom resources after this page, if the API server says so. */
      readonly remaining: number | undefined;
    };

/** Invalid custom resources that are named, in each page and in all. */
export const OBJECTS_NAMED = 5;
const FAULTS_NAMED = 3;

class StepsSpent extends Error {}

/**
 * Checks the custom resources of one page, until the steps are spent.
 * @throws Error for what is not a list in JSON.
 */
export function checkPage({ schema: schemaJson, version, page, maxValues, maxSteps, patternMs }: PageTask): PageFindings {
  const values = countSeparators(page);
  if (values > maxValues) return { kind: "tooManyValues", values };
  const decoder = new TextDecoder();
  const schema: unknown = JSON.parse(decoder.decode(schemaJson));
  const { objects, next, remaining } = listIn(page);
  let steps = 0;
  const spend = (some: number): void => {
    steps += some;
    if (steps > maxSteps) throw new StepsSpent();
  };
  const patterns = new Patterns(patternMs);
  const look = (among: readonly KubeObject[]): Look => {
    const found: Look = { count: 0, invalid: 0, named: [] };
    for (const object of among) {
      const faults = faultsBefore(() => objectFaults(schema, object, patterns.matches, spend));
      if (!faults) break;
      found.count++;
      if (faults.length === 0) continue;
      found.invalid++;
      if (found.named.length < OBJECTS_NAMED) found.named.push(`${nameOf(object)} (${version}): ${firstOf(faults)}`);
    }
    return found;
  };
  let found = look(objects);
  if (patterns.isAsked) {
    patterns.answer();
    steps = 0; // The second look costs what the first one did.
    found = look(objects.slice(0, found.count));
  }
  const { someUnknown, tookMs } = patterns;
  const listed = objects.length;
  return { kind: "checked", ...found, listed, someUnknown, steps, patternMs: tookMs, continue: next, remaining };
}

/** Reads a list as the API server sends it. @throws Error for anything else: taken for an empty list, it would say that no object exists. */
export function listIn(page: Uint8Array): { objects: KubeObject[]; next: string | undefined; remaining: number | undefined } {
  const list: unknown = JSON.parse(new TextDecoder().decode(page));
  if (!isObject(list)) throw new Error("the API server answered a list with something else");
  const { kind, items = null, metadata } = list;
  const isList = Array.isArray(items) || (items === null && typeof kind === "string" && kind.endsWith("List"));
  if (!isList) throw new Error("the API server answered a list with something else");
  const { continue: token, remainingItemCount: remaining } = isObject(metadata) ? metadata : {};
  return {
    objects: (items ?? []) as KubeObject[],
    next: typeof token === "string" && token !== "" ? token : undefined,
    remaining: typeof remaining === "number" ? remaining : undefined,
  };
}

interface Look {
  count: number;
  invalid: number;
  named: string[];
}

/** Returns what `check` does; undefined when the steps are spent before its end. */
function faultsBefore(check: () => string[]): string[] | undefined {
  try {
    return check();
  } catch (err) {
    if (err instanceof StepsSpent) return undefined;
    throw err;
  }
}

function firstOf(faults: readonly string[]): string {
  return formatList(faults, { max: FAULTS_NAMED });
}

function nameOf({ metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Two definitions, as JSON, and the checks to leave out. */
export interface CrdComparisonTask {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly ignored: readonly string[];
}

/** What an upgrade of a definition changes, and what of it has to be compared with the custom resources that exist. */
export interface CrdComparison {
  readonly findings: CrdFinding[];
  readonly checks: ObjectCheck[];
  readonly removed: string[];
  readonly stored: { versions: string[]; writtenNow: string[] };
}

/**
 * Compares two definitions. Integers beyond 2^53 are rounded on both sides, as the API server has them. The cost grows with their schemas, and findings are texts about parts of them.
 */
export function compareCrds({ before: oldJson, after: newJson, ignored }: CrdComparisonTask): CrdComparison {
  const decoder = new TextDecoder();
  const [before, after]: unknown[] = [oldJson, newJson].map((json) => JSON.parse(decoder.decode(json)) as unknown);
  const leftOut = new Set(ignored);
  return {
    findings: crdFindings(before, after, leftOut),
    checks: leftOut.has("existingObjects") ? [] : objectChecks(before, after),
    removed: leftOut.has("servedVersionRemoval") ? [] : removedServedVersions(before, after),
    stored: droppedStoredVersions(before, after),
  };
}
