import { isObject } from "../../api/jsonObject.ts";
import type { JsonObject } from "../../api/k8s.ts";
import type { Shape } from "../checks/shape.ts";
import { SCHEMA_SHAPES } from "../checks/typedShapes.ts";
import { foldKey } from "../keys.ts";
import type { YamlPath } from "../yamlLines.ts";

/** A member of an object that OLM does not know by that name. */
export interface FieldFault {
  readonly path: YamlPath;
  /** The name that is meant, where one is near. */
  readonly meant: string | undefined;
  /** Whether it is read all the same: only the case of its letters differs. */
  readonly isRead: boolean;
}

/** Members that every object has. */
const ROOT = ["schema", "package", "name", "properties"];
/** Texts that differ by more than this are not taken for one another. */
const MAX_DISTANCE = 2;
const MAX_FAULTS = 50;

/** The members of an object of a known schema that have no meaning, or are written in another case. */
export function fieldFaults(schema: string, blob: JsonObject): FieldFault[] {
  const shape = SCHEMA_SHAPES.get(schema);
  const faults: FieldFault[] = [];
  if (shape !== undefined) collect(blob, shape, [], ["schema", ...ROOT], faults);
  return faults;
}

function collect(value: unknown, shape: Shape, at: YamlPath, more: readonly string[], faults: FieldFault[]): void {
  if (typeof shape === "string" || faults.length >= MAX_FAULTS) return;
  if ("list" in shape) {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) collect(item, shape.list, [...at, i], [], faults);
  } else if ("members" in shape && isObject(value)) {
    const known = [...new Set([...canonical(shape.members), ...more])];
    for (const [key, member] of Object.entries(value)) {
      const exact = known.find((name) => name === key);
      const folded = exact ?? known.find((name) => foldKey(name) === foldKey(key));
      if (exact === undefined) faults.push({ path: [...at, key], meant: folded ?? nearest(key, known), isRead: folded !== undefined });
      const inner = folded === undefined ? undefined : shape.members.get(folded);
      if (inner !== undefined) collect(member, inner, [...at, key], [], faults);
    }
  }
}

/** The names as they are written, without those in lower case that stand beside them. */
function canonical(members: ReadonlyMap<string, Shape>): string[] {
  const names = [...members.keys()];
  return names.filter((name) => !names.some((other) => other !== name && other.toLowerCase() === name));
}

function nearest(key: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, distance: distanceOf(foldKey(key), foldKey(name)) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best && best.distance <= MAX_DISTANCE && best.distance < best.name.length / 2 ? best.name : undefined;
}

/** Letters to add, drop or change to make one text of the other; absurdly long ones are far from everything. */
function distanceOf(a: string, b: string): number {
  if (a.length > 64) return a.length;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
