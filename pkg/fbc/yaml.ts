import { boolYaml11Tag, CORE_SCHEMA, defineScalarTag, dump, load, mergeTag, NOT_RESOLVED, type Schema } from "js-yaml";

const INT = /^[-+]?(0b[01_]+|0o[0-7_]+|0x[\da-fA-F_]+|0[0-7_]*|[1-9][\d_]*)$/;
const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/;
const DIGITS = [..."+-0123456789"];
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;
/** Deeper nesting than this is refused instead of exhausting the stack. */
const MAX_DEPTH = 1_000;

const intTag = defineScalarTag<number | bigint>("tag:yaml.org,2002:int", {
  implicit: true,
  implicitFirstChars: DIGITS,
  identify: (value: unknown) => typeof value === "bigint",
  resolve: (text) => (INT.test(text) ? integerFrom(text) : NOT_RESOLVED),
});

const floatTag = defineScalarTag<number>("tag:yaml.org,2002:float", {
  implicit: true,
  implicitFirstChars: [".", ...DIGITS],
  identify: (value: unknown) => typeof value === "number",
  resolve(text) {
    const body = text.replaceAll("_", "");
    return FLOAT.test(body) ? Number(body) : NOT_RESOLVED;
  },
});

/** Scalars as Kubernetes' YAML has them: YAML 1.1 booleans and integers, merge keys, timestamps left as strings. */
export const KUBE_SCHEMA: Schema = CORE_SCHEMA.withTags(mergeTag, boolYaml11Tag, intTag, floatTag);

/**
 * The one document in `text`, as Kubernetes reads YAML. A repeated key keeps its last value; keys become strings.
 * Integers beyond 2^53 come as bigint (write them with `goJson` or `canonicalJson`), beyond 64 bits as number.
 * An empty document is undefined.
 * @throws YAMLException with line and column.
 * @see https://pkg.go.dev/sigs.k8s.io/yaml
 */
export function parseYaml(text: string): unknown {
  return load(text, { schema: KUBE_SCHEMA, json: true, maxDepth: MAX_DEPTH });
}

/** `value` as one YAML document in block style, quoted such that Kubernetes reads every string back as a string. */
export function toYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true });
}

function integerFrom(text: string): number | bigint {
  const sign = text.startsWith("-") ? -1 : 1;
  const body = text
    .replace(/^[-+]/, "")
    .replaceAll("_", "")
    .replace(/^0(?=[0-7]+$)/, "0o");
  const size = Number(body);
  if (Number.isSafeInteger(size)) return size === 0 ? 0 : sign * size;
  const exact = BigInt(sign) * BigInt(body);
  return exact < MIN_INT64 || exact > MAX_UINT64 ? Number(exact) : exact;
}
