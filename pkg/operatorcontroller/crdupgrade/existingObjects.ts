import type { KubeObject } from "../../api/k8s.ts";
import type { ObjectCheck } from "../../crdsafety/existingObjects.ts";
import { objectFaults } from "../../crdsafety/objectFaults.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, KindNotServed } from "../../kube/errors.ts";
import { Patterns } from "./patternMatcher.ts";

/** So many objects of a kind are looked at. */
export const MOST_OBJECTS = 500;
const PAGE = 100;
const OBJECTS_NAMED = 5;
const FAULTS_NAMED = 3;

/** What a look at the custom resources of one CRD found. */
export type ObjectsFound =
  /** `because`: the text of the API server. */
  | { kind: "unseen"; because: string }
  | {
      kind: "seen";
      count: number;
      /** There are more than were looked at. */
      cut: boolean;
      /** Objects that are not valid under the new schema, the first of them with their faults. */
      invalid: number;
      named: string[];
      /** Some patterns could not be evaluated. */
      someUnknown: boolean;
    };

/**
 * Looks whether existing custom resources are valid under the schemas they are to have; without any check it only counts them.
 * @param listAs how to read them where there is no check; undefined: no version of them is served.
 */
export async function lookAtObjects(
  client: Pick<Client, "list">,
  checks: readonly ObjectCheck[],
  listAs: { apiVersion: string; kind: string } | undefined,
  signal: AbortSignal,
): Promise<ObjectsFound> {
  const found: ObjectsFound & { kind: "seen" } = { kind: "seen", count: 0, cut: false, invalid: 0, named: [], someUnknown: false };
  try {
    if (checks.length === 0 && !listAs) return { kind: "unseen", because: "no version of it is served" };
    for (const check of checks.length > 0 ? checks : listAs ? [listAs] : []) {
      const metadataOnly = !("schema" in check);
      const { items } = await client.list(check, { limit: PAGE, maxItems: MOST_OBJECTS + 1, metadataOnly, signal });
      const objects = items.slice(0, MOST_OBJECTS);
      found.count = Math.max(found.count, objects.length);
      found.cut ||= items.length > MOST_OBJECTS;
      if (!("schema" in check)) continue;
      const { invalid, named, someUnknown } = invalidUnder(check, objects);
      if (invalid > found.invalid) Object.assign(found, { invalid, named });
      found.someUnknown ||= someUnknown;
    }
    return found;
  } catch (err) {
    if (err instanceof KindNotServed || isForbidden(err)) return { kind: "unseen", because: messageOf(err) };
    throw err;
  }
}

function invalidUnder({ schema, version }: ObjectCheck, objects: readonly KubeObject[]) {
  const patterns = new Patterns();
  for (const object of objects) objectFaults(schema, object, patterns.matches);
  patterns.answer();
  let invalid = 0;
  const named: string[] = [];
  for (const object of objects) {
    const faults = objectFaults(schema, object, patterns.matches);
    if (faults.length === 0) continue;
    invalid++;
    if (named.length < OBJECTS_NAMED) named.push(`${nameOf(object)} (${version}): ${firstOf(faults)}`);
  }
  return { invalid, named, someUnknown: patterns.someUnknown };
}

function firstOf(faults: readonly string[]): string {
  const shown = faults.slice(0, FAULTS_NAMED).join(", ");
  return faults.length > FAULTS_NAMED ? `${shown} and ${faults.length - FAULTS_NAMED} more` : shown;
}

function nameOf({ metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
