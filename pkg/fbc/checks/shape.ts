import { isObject } from "../../api/jsonObject.ts";
import { foldKey } from "../keys.ts";
import { wrongKind } from "../meta.ts";

/** Which JSON a Go type takes. Null is taken by every one and means nothing; members of objects that are not named are passed over. */
export type Shape =
  | "text"
  | "boolean"
  | "integer"
  | "any"
  | { readonly list: Shape }
  | { readonly map: Shape }
  /** By name, and by name in lower case. */
  | { readonly members: ReadonlyMap<string, Shape> };

/** An object whose members have these shapes, whatever the case of their names. */
export function members(shapes: Readonly<Record<string, Shape>>): { readonly members: ReadonlyMap<string, Shape> } {
  return {
    members: new Map(Object.entries(shapes).flatMap(([name, shape]) => [[name, shape] as const, [name.toLowerCase(), shape] as const])),
  };
}

const EXPECTED = { text: "a string", boolean: "a boolean", integer: "a whole number" } as const;
const MAX_FAULTS = 20;
const MAX_INT32 = 2 ** 31;

/** Where `value` does not have the shape, one text each such as `entries[0].name: expected a string, got a number: 1`; 20 at most. */
export function shapeFaults(value: unknown, shape: Shape, at = ""): string[] {
  const faults: string[] = [];
  collect(value, shape, at, faults);
  return faults;
}

function collect(value: unknown, shape: Shape, at: string, faults: string[]): void {
  if (fits(value, shape) || faults.length >= MAX_FAULTS) return;
  const refuse = (expected: string): void => void faults.push(`${at === "" ? "" : `${at}: `}${wrongKind(value, expected)}`);
  if (typeof shape === "string") {
    if (shape !== "any") refuse(EXPECTED[shape]);
  } else if ("list" in shape) {
    if (!Array.isArray(value)) refuse("a list");
    else for (let i = 0; i < value.length; i++) if (!fits(value[i], shape.list)) collect(value[i], shape.list, `${at}[${i}]`, faults);
  } else if (!isObject(value)) {
    refuse("an object");
  } else {
    const below = at === "" ? "" : `${at}.`;
    for (const key of Object.keys(value)) {
      const own = "map" in shape ? shape.map : (shape.members.get(key) ?? shape.members.get(foldKey(key)));
      const member = value[key];
      if (own !== undefined && !fits(member, own)) collect(member, own, below + key, faults);
    }
  }
}

/** Whether `value` has a shape that can be told at once; most have, and where they stand is then never put into words. */
function fits(value: unknown, shape: Shape): boolean {
  if (value === null || value === undefined || shape === "any") return true;
  if (shape === "text") return typeof value === "string";
  if (shape === "boolean") return typeof value === "boolean";
  return shape === "integer" && typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= MAX_INT32;
}
