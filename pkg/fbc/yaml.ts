import {
  constructFromEvents,
  DUMP_SCHEMA,
  defineScalarTag,
  dump,
  intCoreTag,
  intYaml11Tag,
  NOT_RESOLVED,
  parseEvents,
  YAMLException,
} from "js-yaml";
import { checkAliases } from "./yamlAliases.ts";
import { asGoReads } from "./yamlEvents.ts";
import { KUBE_SCHEMA } from "./yamlSchema.ts";

/** Deeper nesting than this is refused instead of exhausting the stack. */
const MAX_DEPTH = 1_000;
const ENOUGH_INDENT = " ".repeat(MAX_DEPTH);
/** A line that stands too far left costs another pass over the text: so many are mended in any text, more while the passes stay short. */
const SURE_REPAIRS = 3;
const MAX_REPAIR_CHARACTERS = 20_000_000;
/** Documents are parsed whole; the largest real ones have some ten thousand values. */
const MAX_VALUES = 2_000_000;
/** Integers that no double holds come as bigint and are written as digits. */
const DUMP_WITH_BIGINT = DUMP_SCHEMA.withTags(
  defineScalarTag<number | bigint>("tag:yaml.org,2002:int", {
    ...intYaml11Tag,
    // As the dump schema has it: what is a number in either YAML 1.1 or 1.2 is quoted when it is text.
    resolve(source, isExplicit, tagName) {
      const resolved = intYaml11Tag.resolve(source, isExplicit, tagName);
      return resolved === NOT_RESOLVED ? intCoreTag.resolve(source, isExplicit, tagName) : resolved;
    },
    identify: (value: unknown) => typeof value === "bigint" || intYaml11Tag.identify(value),
    represent: String,
  }),
);
/** At least one of these stands between any two values. */
const SEPARATORS = new Set(Array.from("\n\r,[{-", (char) => char.charCodeAt(0)));

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

/**
 * All documents in `text`, none when it holds only white space and comments.
 * @throws YAMLException with line and column: for what is no YAML, and beyond the limits on nesting, on the number of values and on what aliases add.
 */
export function parseYamlDocuments(text: string): unknown[] {
  checkValues(text);
  let source = text;
  let spent = 0;
  for (let repaired = 0; ; repaired++) {
    try {
      return documentsOf(source, text.length);
    } catch (err) {
      spent += source.length;
      const position = err instanceof YAMLException && err.reason === "deficient indentation" ? err.mark?.position : undefined;
      const mayRepair = repaired < SURE_REPAIRS || spent <= MAX_REPAIR_CHARACTERS;
      const indented = position !== undefined && mayRepair ? withIndentedLine(source, position) : undefined;
      if (indented === undefined) throw err;
      source = indented;
    }
  }
}

/** @param length that of the text before it was mended. */
function documentsOf(source: string, length: number): unknown[] {
  const events = parseEvents(source, { filename: "", maxDepth: MAX_DEPTH });
  const aliases = asGoReads(events, source);
  const documents = constructFromEvents(events, {
    filename: "",
    source,
    schema: KUBE_SCHEMA,
    json: true,
    maxTotalMergeKeys: 10_000,
    maxAliases: -1,
  });
  if (aliases) for (const document of documents) checkAliases(document, { length, maxDepth: MAX_DEPTH });
  return documents;
}

/**
 * `text` with the line indented that `position` is in, which stands too far left inside quotes or brackets. YAML forbids that, Go's parser and
 * real bundles do not; the white space at the start of such a line means nothing. Undefined for a line that ends the document, and for one that
 * was indented before.
 */
function withIndentedLine(text: string, position: number): string | undefined {
  const start = text.lastIndexOf("\n", position - 1) + 1;
  const next = text.indexOf("\n", start);
  const end = next < 0 ? text.length : next;
  const line = text.slice(start, end);
  if (line.startsWith(ENOUGH_INDENT) || /^(?:---|\.\.\.)(?:\s|$)/.test(line)) return undefined;
  return text.slice(0, start) + ENOUGH_INDENT + line.trimStart() + text.slice(end);
}

/** Refuses what would take far more memory than its text: many values of a character or two. */
function checkValues(text: string): void {
  if (text.length <= MAX_VALUES) return;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    if (SEPARATORS.has(text.charCodeAt(at)) && ++values > MAX_VALUES)
      throw new YAMLException(`more than ${MAX_VALUES} values in one document`);
  }
}

/** How YAML is written. */
export interface YamlStyle {
  /** All on one line, as `{a: [1, 2]}`. */
  flow?: boolean;
  /** Lists that are members stand no deeper than their keys. */
  compactLists?: boolean;
}

/** `value` as one YAML document, in block style by default, quoted such that Kubernetes reads every string back as a string. */
export function toYaml(value: unknown, { flow = false, compactLists = false }: YamlStyle = {}): string {
  return dump(value, {
    lineWidth: -1,
    noRefs: true,
    schema: DUMP_WITH_BIGINT,
    seqNoIndent: compactLists,
    ...(flow ? { flowLevel: 0 } : {}),
  });
}
