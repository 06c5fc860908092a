import { foldKey } from "../golang/members.ts";

/**
 * The Go type that JSON is decoded into. `time` is RFC 3339, `helmTime` also accepts the empty string; `object` and `any` are parsed and not
 * checked, `skip` is not even parsed. `lines` is a string that the reader's sink takes. `bytes` and `checked` are checked and not kept.
 */
export type GoShape =
  | "string"
  | "bool"
  | "int"
  | "bytes"
  | "lines"
  | "time"
  | "helmTime"
  | "object"
  | "any"
  | "skip"
  | GoStruct
  | { readonly valuesOf: GoShape }
  | { readonly itemsOf: GoShape }
  | { readonly checked: GoShape };

/** A struct type; its members by their folded names. */
export interface GoStruct {
  readonly fields: ReadonlyMap<string, { readonly name: string; readonly shape: GoShape }>;
}

/** A struct or a map that was decoded: only the members that the JSON holds and that are not null. */
export type GoMembers = ReadonlyMap<string, unknown>;

/** The JSON does not fit the Go type; the message names the member and the kinds, never a value. */
export class GoMismatch extends Error {}

/** A struct type by the names of its members. */
export function goStruct(fields: Readonly<Record<string, GoShape>>): GoStruct {
  return { fields: new Map(Object.entries(fields).map(([name, shape]) => [foldKey(name), { name, shape }])) };
}
