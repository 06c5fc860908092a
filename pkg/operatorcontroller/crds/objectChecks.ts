import type { KubeObject } from "../../api/k8s.ts";
import { countSeparators } from "../../bundle/limits.ts";
import { type CrdFinding, findCrdChanges } from "../../crdsafety/crdFindings.ts";
import {
  listObjectChecks,
  listRemovedServedVersions,
  listStoredVersionChanges,
  type ObjectCheck,
  type StoredVersionChanges,
} from "../../crdsafety/existingObjects.ts";
import { findObjectFaults } from "../../crdsafety/objectFaults.ts";
import { parseList } from "../../kube/listPages.ts";
import { formatList } from "../../text/lists.ts";
import { PatternEvaluator } from "./patternEvaluator.ts";

/** A page of custom resources, and the schema to validate them. */
export interface PageTask {
  /** JSON. */
  readonly schema: Uint8Array;
  /** The version in the new CRD that has this schema, for messages. */
  readonly version: string;
  /** A list in the form in which the API server returns it. */
  readonly page: Uint8Array;
  /** Maximum number of lines, list items and members in the page. */
  readonly maxValues: number;
  /** Maximum number of validation steps, see `Spend`. */
  readonly maxSteps: number;
  /** Time limit for evaluating patterns, in milliseconds. */
  readonly patternMs: number;
}

/** The result of checking a page. */
export type PageFindings =
  /** The page exceeds a limit and was not parsed. */
  | { readonly kind: "tooManyValues"; readonly values: number }
  | {
      readonly kind: "checked";
      /** Number of checked custom resources, out of `listed` custom resources in the page. */
      readonly count: number;
      readonly listed: number;
      /** Number of invalid custom resources. `named` lists the first of them with their errors. */
      readonly invalid: number;
      readonly named: readonly string[];
      /** Some patterns could not be evaluated. */
      readonly someUnknown: boolean;
      /** Token of the next page. */
      readonly continue: string | undefined;
      /** Number of custom resources after this page, if the API server reports it. */
      readonly remaining: number | undefined;
    };

/** Maximum number of invalid custom resources in messages, in each page and in total. */
export const OBJECTS_NAMED = 5;
const ERRORS_NAMED = 3;

class StepsSpent extends Error {}

/**
 * Checks the custom resources in one page until the limit of steps is reached.
 * @throws Error if the page is not a list in JSON.
 */
export function checkPage({ schema: schemaJson, version, page, maxValues, maxSteps, patternMs }: PageTask): PageFindings {
  const values = countSeparators(page);
  if (values > maxValues) return { kind: "tooManyValues", values };
  const decoder = new TextDecoder();
  const schema: unknown = JSON.parse(decoder.decode(schemaJson));
  const { objects, next, remaining } = parseList(page);
  let steps = 0;
  const spend = (some: number): void => {
    steps += some;
    if (steps > maxSteps) throw new StepsSpent();
  };
  const patterns = new PatternEvaluator(patternMs);
  const checkObjects = (among: readonly KubeObject[]): ObjectFindings => {
    const found: ObjectFindings = { count: 0, invalid: 0, named: [] };
    for (const object of among) {
      const errors = findErrors(() => findObjectFaults(schema, object, patterns.matches, spend));
      if (!errors) break;
      found.count++;
      if (errors.length === 0) continue;
      found.invalid++;
      if (found.named.length < OBJECTS_NAMED) found.named.push(`${formatName(object)} (${version}): ${formatErrors(errors)}`);
    }
    return found;
  };
  let found = checkObjects(objects);
  if (patterns.hasQuestions) {
    patterns.evaluate();
    steps = 0; // The second round costs as much as the first one.
    found = checkObjects(objects.slice(0, found.count));
  }
  const { someUnknown } = patterns;
  const listed = objects.length;
  return { kind: "checked", ...found, listed, someUnknown, continue: next, remaining };
}

interface ObjectFindings {
  count: number;
  invalid: number;
  named: string[];
}

/** Returns the errors that `check` finds; undefined if the limit of steps is reached before it ends. */
function findErrors(check: () => string[]): string[] | undefined {
  try {
    return check();
  } catch (err) {
    if (err instanceof StepsSpent) return undefined;
    throw err;
  }
}

function formatErrors(errors: readonly string[]): string {
  return formatList(errors, { max: ERRORS_NAMED });
}

function formatName({ metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Two versions of a CRD in JSON, and the checks to skip. */
export interface CrdComparisonTask {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly ignored: readonly string[];
}

/** The changes in a CRD upgrade, and the checks of existing custom resources that the upgrade requires. */
export interface CrdComparison {
  readonly findings: CrdFinding[];
  readonly checks: ObjectCheck[];
  readonly removed: string[];
  readonly stored: StoredVersionChanges;
}

/**
 * Compares two versions of a CRD. Rounds integers beyond 2^53 in both, like the API server. The time and the size of the findings grow with the
 * schemas.
 */
export function compareCrds({ before: oldJson, after: newJson, ignored }: CrdComparisonTask): CrdComparison {
  const decoder = new TextDecoder();
  const [before, after]: unknown[] = [oldJson, newJson].map((json) => JSON.parse(decoder.decode(json)) as unknown);
  const leftOut = new Set(ignored);
  return {
    findings: findCrdChanges(before, after, leftOut),
    checks: leftOut.has("existingObjects") ? [] : listObjectChecks(before, after),
    removed: leftOut.has("servedVersionRemoval") ? [] : listRemovedServedVersions(before, after),
    stored: listStoredVersionChanges(before, after),
  };
}
