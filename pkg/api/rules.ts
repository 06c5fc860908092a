import type * as z from "zod";

/** One `x-kubernetes-validations` entry: the API server evaluates `rule`, zod evaluates `holds`, and both report `message`. */
export interface Rule<T> {
  /** A CEL expression over `self` and, for updates, `oldSelf`. */
  rule: string;
  message: string;
  /** Equivalent to `rule`; absent if the rule needs the old object, because zod has only the new one. */
  holds?: (value: T) => boolean;
  /** If true, the rule is also evaluated on creation, with an empty optional as `oldSelf`. */
  optionalOldSelf?: true;
  /** Path of the member that the error refers to, such as ".spec". */
  fieldPath?: string;
  reason?: "FieldValueInvalid" | "FieldValueRequired";
}

/** Returns `schema` with rules that zod and the API server check, in this order. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: Rule<z.output<S>>[]): S {
  const checked = rules.reduce((refined, { holds, message }) => (holds ? refined.refine(holds, message) : refined), schema);
  return checked.meta({ "x-kubernetes-validations": rules.map(({ holds: _holds, ...validation }) => validation) });
}

/** Returns a rule that the text contains a match of `pattern`, like `matches` of CEL. */
export function matches(pattern: string, message: string): Rule<string> {
  const compiled = new RegExp(pattern);
  return { rule: `self.matches(${celString(pattern)})`, message, holds: (text) => compiled.test(text) };
}

/** Returns a rule that the value cannot change once set. CEL does not treat removing or adding a value as a change. */
export function immutable(message: string): Rule<unknown> {
  return { rule: "self == oldSelf", message };
}

/**
 * Returns a rule for a union without `oneOf`, which structural schemas forbid: `member` exists if and only if `discriminator` is `value`.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/ (the upstream API models unions the same way)
 */
export function unionMember<T extends object>(
  discriminator: keyof T & string,
  value: string,
  member: keyof T & string,
  message: string,
): Rule<T> {
  return {
    rule: `has(self.${discriminator}) && self.${discriminator} == '${value}' ? has(self.${member}) : !has(self.${member})`,
    message,
    holds: (self) => (self[discriminator] === value) === (self[member] !== undefined),
  };
}

/** Returns `text` as a CEL string literal. */
export function celString(text: string): string {
  return JSON.stringify(text);
}
