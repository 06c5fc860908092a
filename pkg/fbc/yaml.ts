import { boolYaml11Tag, CORE_SCHEMA, defineScalarTag, dump, loadAll, mergeTag, NOT_RESOLVED, type Schema, YAMLException } from "js-yaml";

const INT = /^[-+]?(0b[01_]+|0o[0-7_]+|0x[\da-fA-F_]+|0[0-7_]*|[1-9][\d_]*)$/;
const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/;
const DIGITS = "+-0123456789".split("");
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;
/** Deeper nesting than this is refused instead of exhausting the stack. */
const MAX_DEPTH = 1_000;
const ENOUGH_INDENT = " ".repeat(MAX_DEPTH);
const MAX_REPAIR_CHARACTERS = 100_000_000;

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

/** Bytes become the text that they spell, since JSON has no bytes. */
const binaryTag = defineScalarTag<string>("tag:yaml.org,2002:binary", {
  identify: () => false,
  resolve: (text) => Buffer.from(text, "base64").toString("utf8"),
});

/** Scalars as Kubernetes' YAML has them: YAML 1.1 booleans and integers, merge keys, timestamps left as strings. */
export const KUBE_SCHEMA: Schema = CORE_SCHEMA.withTags(mergeTag, boolYaml11Tag, intTag, floatTag, binaryTag);

/**
 * The one document in `text`, as Kubernetes reads YAML; null when there is none. A repeated key keeps its last value; keys become strings.
 * Integers beyond 2^53 come as bigint (write them with `goJson` or `canonicalJson`), beyond 64 bits as number.
 * @throws YAMLException with line and column, also when `text` holds a second document.
 * @see https://pkg.go.dev/sigs.k8s.io/yaml
 */
export function parseYaml(text: string): unknown {
  const documents = parseYamlDocuments(text);
  if (documents.length > 1) throw new YAMLException(`expected one document, found ${documents.length}`);
  return documents[0] ?? null;
}

/** All documents in `text`, none when it holds only white space and comments. @throws YAMLException with line and column. */
export function parseYamlDocuments(text: string): unknown[] {
  let source = text;
  for (let repaired = 0; ; repaired++) {
    try {
      return loadAll(source, { schema: KUBE_SCHEMA, json: true, maxDepth: MAX_DEPTH });
    } catch (err) {
      const line = err instanceof YAMLException && err.reason === "deficient indentation" ? err.mark?.line : undefined;
      const indented = line === undefined || repaired >= repairsFor(text) ? undefined : withIndentedLine(source, line);
      if (indented === undefined) throw err;
      source = indented;
    }
  }
}

/**
 * `text` with a line indented that stands too far left inside quotes or brackets. YAML forbids that, Go's parser and real bundles do not; the
 * white space at the start of such a line means nothing. Undefined for a line that ends the document.
 */
function withIndentedLine(text: string, line: number): string | undefined {
  const lines = text.split("\n");
  const content = lines[line] ?? "";
  if (/^(?:---|\.\.\.)(?:\s|$)/.test(content)) return undefined;
  lines[line] = ENOUGH_INDENT + content.trimStart();
  return lines.join("\n");
}

/** Each repair costs another pass over the text. */
function repairsFor(text: string): number {
  return Math.max(3, Math.floor(MAX_REPAIR_CHARACTERS / (text.length + 1)));
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
