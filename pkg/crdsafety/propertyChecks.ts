import type { CrdCheck } from "../api/crdUpgradeChecks.ts";
import { goQuote } from "../errors/goQuote.ts";
import { goNumber, goString } from "./goPrint.ts";
import { type GoObject, scalarText } from "./goType.ts";
import { SCHEMA } from "./schemaType.ts";

/** A check of one attribute of a schema. */
export interface PropertyCheck {
  readonly name: CrdCheck;
  /** The field that it looks at, and that nobody else looks at after it. */
  readonly field: string;
  /** What is wrong with going from `before` to `after`; undefined when that is safe. */
  readonly fault: (before: GoObject, after: GoObject) => string | undefined;
}

/** The checks with the texts of crdify, which users see. @see https://github.com/kubernetes-sigs/crdify */
export const PROPERTY_CHECKS: readonly PropertyCheck[] = [
  { name: "type", field: "Type", fault: (before, after) => changed("type changed", text(before, "Type"), text(after, "Type")) },
  { name: "required", field: "Required", fault: newRequired },
  { name: "enum", field: "Enum", fault: enumFault },
  { name: "default", field: "Default", fault: defaultFault },
  ...["Maximum", "MaxItems", "MaxLength", "MaxProperties"].map((field) => boundCheck(field, "maximum")),
  ...["Minimum", "MinItems", "MinLength", "MinProperties"].map((field) => boundCheck(field, "minimum")),
  { name: "pattern", field: "Pattern", fault: patternFault },
  { name: "nullable", field: "Nullable", fault: nullableFault },
  { name: "oneOf", field: "OneOf", fault: oneOfFault },
];

function text(node: GoObject, field: string): string {
  return scalarText(node[field]);
}

function changed(what: string, before: string, after: string): string | undefined {
  return before === after ? undefined : `${what} : ${goQuote(before)} -> ${goQuote(after)}`;
}

function newRequired(before: GoObject, after: GoObject): string | undefined {
  const known = new Set(list(before, "Required"));
  const added = [...new Set(list(after, "Required") as string[])].filter((name) => !known.has(name)).sort();
  return added.length > 0 ? `new required fields: [${added.join(" ")}]` : undefined;
}

/** Values may be added where there are some: whoever read the old ones still can. */
function enumFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [rawTexts(before), rawTexts(after)];
  if (old.length === 0 && now.length > 0) return `enum constraint added when there was none previously : [${now.join(" ")}]`;
  const kept = new Set(now);
  const removed = old.filter((value) => !kept.has(value));
  return removed.length > 0 ? `allowed enum values removed : [${removed.join(" ")}]` : undefined;
}

function rawTexts(node: GoObject): string[] {
  return [...new Set(list(node, "Enum").map((value) => rawText(value as GoObject)))].sort();
}

function rawText(json: GoObject): string {
  return scalarText(json["Raw"]);
}

function defaultFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [before["Default"] as GoObject | null | undefined, after["Default"] as GoObject | null | undefined];
  if (!old) return now ? `default added when there was none previously : ${goQuote(rawText(now))}` : undefined;
  return now ? changed("default value changed", rawText(old), rawText(now)) : `default value removed : ${goQuote(rawText(old))}`;
}

/** Bounds may be dropped and widened. */
function boundCheck(field: string, bound: "maximum" | "minimum"): PropertyCheck {
  const kind = field === "Maximum" || field === "Minimum" ? "float" : "int";
  const worse = bound === "maximum" ? "decreased" : "increased";
  return {
    name: `${field[0]?.toLowerCase() ?? ""}${field.slice(1)}` as CrdCheck,
    field,
    fault: (before, after) => {
      const [old, now] = [(before[field] ?? null) as number | bigint | null, (after[field] ?? null) as number | bigint | null];
      if (now === null) return undefined;
      if (old === null) return `${bound} constraint added when there was none previously : ${goNumber(now, kind)}`;
      const tighter = bound === "maximum" ? now < old : now > old;
      return tighter ? `${bound} ${worse} : ${goNumber(old, kind)} -> ${goNumber(now, kind)}` : undefined;
    },
  };
}

function patternFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [text(before, "Pattern"), text(after, "Pattern")];
  return changed(old === "" ? "pattern added" : now === "" ? "pattern removed" : "pattern changed", old, now);
}

function nullableFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [before["Nullable"] === true, after["Nullable"] === true];
  if (old === now) return undefined;
  return `nullable ${now ? "added" : "removed"} : ${old} -> ${now}`;
}

function oneOfFault(before: GoObject, after: GoObject): string | undefined {
  const [old, now] = [alternatives(before), alternatives(after)];
  if (old.length === 0 && now.length > 0) return `oneOf constraint added when there was none previously: [${now.join(" ")}]`;
  const [oldOnes, newOnes] = [new Set(old), new Set(now)];
  const removed = old.filter((one) => !newOnes.has(one));
  if (removed.length > 0) return `allowed oneOf schemas removed: [${removed.join(" ")}]`;
  const added = now.filter((one) => !oldOnes.has(one));
  return added.length > 0 ? `allowed oneOf schemas added: [${added.join(" ")}]` : undefined;
}

/** The alternatives as texts, without what does not constrain values. */
function alternatives(node: GoObject): string[] {
  const texts = list(node, "OneOf").map((schema) => {
    const { Description: _d, Title: _t, Example: _e, ExternalDocs: _x, ...rest } = schema as GoObject;
    return goString(SCHEMA, rest);
  });
  return [...new Set(texts)].sort();
}

function list(node: GoObject, field: string): readonly unknown[] {
  return (node[field] ?? []) as readonly unknown[];
}
