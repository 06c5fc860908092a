import type * as z from "zod";

/** One `x-kubernetes-validations` entry: the API server evaluates `rule`, zod evaluates `holds`, and both say `message`. */
export interface Rule<T> {
  /** A CEL expression over `self` and, for a change, `oldSelf`. */
  rule: string;
  message: string;
  /** The same as `rule`; absent where the old object is needed, since zod sees only the new one. */
  holds?: (value: T) => boolean;
  /** Run on a creation too, where `oldSelf` is then an empty optional. */
  optionalOldSelf?: true;
  /** Which member the message is about, such as ".spec". */
  fieldPath?: string;
  reason?: "FieldValueInvalid" | "FieldValueRequired";
}

/** `schema` with rules that both zod and the API server check, in this order. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: Rule<z.output<S>>[]): S {
  const checked = rules.reduce((so, { holds, message }) => (holds ? so.refine(holds, message) : so), schema);
  return checked.meta({ "x-kubernetes-validations": rules.map(({ holds: _holds, ...validation }) => validation) });
}

/** The text matches `pattern` somewhere, as CEL's `matches` has it: anchors are the pattern's own. */
export function matches(pattern: string, message: string): Rule<string> {
  const compiled = new RegExp(pattern);
  return { rule: `self.matches(${celString(pattern)})`, message, holds: (text) => compiled.test(text) };
}

/** The value may be set once and never changed; removing and adding it are no changes to CEL. */
export function immutable(message: string): Rule<unknown> {
  return { rule: "self == oldSelf", message };
}

/**
 * A union without `oneOf`, which structural schemas forbid: `member` is there exactly when `discriminator` says `value`.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/ (unions are modelled this way in the upstream API too)
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

/** `text` as a CEL string literal. */
export function celString(text: string): string {
  return JSON.stringify(text);
}
