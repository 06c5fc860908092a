import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";

/** metav1.LabelSelector as received from the API server. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?: readonly LabelSelectorRequirement[] | undefined;
}

/** One expression of a selector; the operator is one of In, NotIn, Exists, DoesNotExist. */
interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

const NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const NAME_RULE = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const MATCHES_NAME = new RegExp(`^${NAME}$`);
const MATCHES_SUBDOMAIN = new RegExp(`^${SUBDOMAIN}$`);
const MAX_NAME_BYTES = 63;
const MAX_PREFIX_BYTES = 253;
const NEEDS_VALUES = "for 'in', 'notin' operators, values set can't be empty";
const TAKES_NO_VALUES = "values set must be empty for exists and does not exist";

/** Maximum number of labels, expressions and values of one selector; handwritten selectors have a handful. */
export const MAX_SELECTOR_PARTS = 1_000;

/** A validated selector, prepared for matching many objects. */
export interface CompiledSelector {
  /** The first error, with the text of the Go implementation. Labels are checked in order of key. Undefined for a valid selector. */
  readonly error: string | undefined;
  /** Maximum number of comparisons for one object. */
  readonly requirements: number;
  /** Reports whether an object with these labels is selected. A missing or empty selector selects everything, an invalid one nothing. */
  readonly matches: (labels: Readonly<Record<string, string>>) => boolean;
}

/**
 * Validates and prepares a selector. A selector with more than `MAX_SELECTOR_PARTS` parts is invalid, and is not checked further.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/labels/selector.go
 */
export function compileSelector(selector: LabelSelector | undefined): CompiledSelector {
  const tooLarge = sizeError(selector);
  const requirements = tooLarge === undefined ? describeRequirements(selector) : [];
  const error = tooLarge ?? requirementsError(requirements);
  if (error !== undefined) return { error, requirements: 0, matches: () => false };
  const tests = requirements.map(compileMatcher);
  return { error, requirements: tests.length, matches: (labels) => tests.every((test) => test(labels)) };
}

/** Returns the first error of `selector`, with the text of the Go implementation; undefined if it is valid. */
export function findSelectorError(selector: LabelSelector | undefined): string | undefined {
  return compileSelector(selector).error;
}

function sizeError(selector: LabelSelector | undefined): string | undefined {
  let parts = Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions?.length ?? 0);
  for (const { values = [] } of parts > MAX_SELECTOR_PARTS ? [] : (selector?.matchExpressions ?? [])) parts += values.length;
  if (parts <= MAX_SELECTOR_PARTS) return undefined;
  return `it has ${parts} labels, expressions and values, more than the ${MAX_SELECTOR_PARTS} allowed`;
}

function requirementsError(requirements: readonly LabelSelectorRequirement[]): string | undefined {
  for (const requirement of requirements) {
    const { operator } = requirement;
    if (!["In", "NotIn", "Exists", "DoesNotExist"].includes(operator)) return `${goQuote(operator)} is not a valid label selector operator`;
    const faults = findRequirementErrors(requirement);
    if (faults.length > 0) return faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
  }
  return undefined;
}

function describeRequirements(selector: LabelSelector | undefined): LabelSelectorRequirement[] {
  const labels = Object.entries(selector?.matchLabels ?? {}).sort(([a], [b]) => compareText(a, b));
  return [...labels.map(([key, value]) => ({ key, operator: "In", values: [value] })), ...(selector?.matchExpressions ?? [])];
}

function compileMatcher({ key, operator, values = [] }: LabelSelectorRequirement): CompiledSelector["matches"] {
  const desired = new Set(values);
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    switch (operator) {
      case "In":
        return value !== undefined && desired.has(value);
      case "NotIn":
        return value === undefined || !desired.has(value);
      case "Exists":
        return value !== undefined;
      default:
        return value === undefined;
    }
  };
}

function findRequirementErrors({ key, operator, values = [] }: LabelSelectorRequirement): string[] {
  const faults: string[] = [];
  const keyFaults = findLabelKeyErrors(key);
  if (keyFaults.length > 0) faults.push(`key: Invalid value: ${goQuote(key)}: ${keyFaults.join("; ")}`);
  const setOperator = operator === "In" || operator === "NotIn";
  if (setOperator && values.length === 0) faults.push(`values: Invalid value: null: ${NEEDS_VALUES}`);
  if (!setOperator && values.length > 0) faults.push(`values: Invalid value: ${JSON.stringify(values)}: ${TAKES_NO_VALUES}`);
  values.forEach((value, index) => {
    const valueFaults = findLabelValueErrors(value);
    if (valueFaults.length > 0) faults.push(`values[${index}][${key}]: Invalid value: ${goQuote(value)}: ${valueFaults.join("; ")}`);
  });
  return faults;
}

function findLabelKeyErrors(key: string): string[] {
  const nameRule = `${NAME_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${NAME}')`;
  const parts = key.split("/");
  if (parts.length > 2) return [`a valid label key ${nameRule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  const name = parts.at(-1) ?? "";
  const faults = parts.length === 2 ? findPrefixErrors(parts[0] ?? "") : [];
  if (name === "") faults.push("name part must be non-empty");
  else if (Buffer.byteLength(name) > MAX_NAME_BYTES) faults.push(`name part must be no more than ${MAX_NAME_BYTES} bytes`);
  if (!MATCHES_NAME.test(name)) faults.push(`name part ${nameRule}`);
  return faults;
}

function findPrefixErrors(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  const faults: string[] = [];
  if (Buffer.byteLength(prefix) > MAX_PREFIX_BYTES) faults.push(`prefix part must be no more than ${MAX_PREFIX_BYTES} bytes`);
  if (!MATCHES_SUBDOMAIN.test(prefix)) {
    faults.push(
      `prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`,
    );
  }
  return faults;
}

function findLabelValueErrors(value: string): string[] {
  const faults: string[] = [];
  if (Buffer.byteLength(value) > MAX_NAME_BYTES) faults.push(`must be no more than ${MAX_NAME_BYTES} bytes`);
  if (value !== "" && !MATCHES_NAME.test(value)) {
    faults.push(
      `a valid label must be an empty string or ${NAME_RULE.slice("must ".length)} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${NAME})?')`,
    );
  }
  return faults;
}
