import { goQuote } from "../golang/quote.ts";
import { OWN_NAMESPACE_FORMAT, SINGLE_NAMESPACE_FORMAT } from "./configSchema.ts";
import type { Format } from "./jsonSchema.ts";

/** The formats that a configuration schema asserts, by name; without an install namespace the two about it are not. */
export function configFormats(installNamespace: string): ReadonlyMap<string, Format> {
  const given =
    (check: Format): Format =>
    (value) =>
      installNamespace === "" ? undefined : check(value);
  return new Map([
    [OWN_NAMESPACE_FORMAT, given((value) => (value === installNamespace ? undefined : notOwn(value, installNamespace)))],
    [SINGLE_NAMESPACE_FORMAT, given((value) => (value === installNamespace ? notSingle(value) : undefined))],
    ["date-time", dateTimeFault],
  ]);
}

function notOwn(value: string, namespace: string): string {
  const because = "(the namespace where the operator is installed) because this operator only supports OwnNamespace install mode";
  return `invalid value ${goQuote(value)}: must be ${goQuote(namespace)} ${because}`;
}

function notSingle(value: string): string {
  const because = "(the install namespace) because this operator uses SingleNamespace install mode to watch a different namespace";
  return `invalid value ${goQuote(value)}: must be different from ${goQuote(value)} ${because}`;
}

function dateTimeFault(value: string): string | undefined {
  if (Buffer.byteLength(value) < 20) return "less than 20 characters long";
  if (!/^[Tt]/.test(value.slice(10))) return "11th character must be t or T";
  return Number.isNaN(Date.parse(value)) ? "invalid date or time element" : undefined;
}
