import { DUMP_SCHEMA, defineScalarTag, dump, intCoreTag, intYaml11Tag, NOT_RESOLVED, YAMLException } from "js-yaml";
import { Parser, type YamlNode } from "./yamlParser.ts";
import { checkAliases, ValueBuilder, type ValueOptions } from "./yamlValues.ts";

/** Maximum nesting, to avoid a stack overflow. */
const MAX_DEPTH = 1_000;
/** Maximum number of values, because documents are parsed as a whole. The largest real ones have about ten thousand. */
const MAX_VALUES = 2_000_000;
/** Integers beyond the precision of a double are bigint and are written as digits. */
const DUMP_WITH_BIGINT = DUMP_SCHEMA.withTags(
  defineScalarTag<number | bigint>("tag:yaml.org,2002:int", {
    ...intYaml11Tag,
    // Quotes strings that are numbers in YAML 1.1 or 1.2, as the dump schema does.
    resolve(source, isExplicit, tagName) {
      const resolved = intYaml11Tag.resolve(source, isExplicit, tagName);
      return resolved === NOT_RESOLVED ? intCoreTag.resolve(source, isExplicit, tagName) : resolved;
    },
    identify: (value: unknown) => typeof value === "bigint" || intYaml11Tag.identify(value),
    represent: String,
  }),
);
/** Characters of which at least one is between two values. */
const SEPARATORS = new Set(Array.from("\n\r,[{-", (char) => char.charCodeAt(0)));

/**
 * Parses the only document in `text` as Kubernetes does; null if there is none. A repeated key keeps its last value; keys become strings. Integers
 * beyond 2^53 become bigint (write them with `encodeGoJson` or `encodeCanonicalJson`), and integers beyond 64 bits become number.
 * @throws YAMLException with line and column, also if `text` contains a second document
 * @see https://pkg.go.dev/sigs.k8s.io/yaml
 */
export function parseYaml(text: string): unknown {
  const documents = parseYamlDocuments(text);
  if (documents.length > 1) throw new YAMLException(`expected one document, found ${documents.length}`);
  return documents[0] ?? null;
}

/**
 * Parses all documents in `text`; empty if it contains only white space and comments.
 * @throws YAMLException with line and column: for invalid YAML, and beyond the limits of nesting, number of values, and aliases
 */
export function parseYamlDocuments(text: string): unknown[] {
  const documents: unknown[] = [];
  const parser = newParser(text);
  for (let node = parser.next(); node; node = parser.next()) documents.push(toValue(node, parser, text));
  return documents;
}

/**
 * Parses the first document in `text`; null if there is none. Ignores later text, as Go does: the lines `a: 1`, `...`, `b: 2` result in `{a: 1}`.
 * @throws YAMLException as `parseYamlDocuments` does
 * @see https://pkg.go.dev/sigs.k8s.io/yaml#YAMLToJSON
 */
export function parseFirstYamlDocument(text: string, options: ValueOptions = {}): unknown {
  const parser = newParser(text);
  const node = parser.next();
  return node ? toValue(node, parser, text, options) : null;
}

function newParser(text: string): Parser {
  checkValues(text);
  return new Parser(text, MAX_DEPTH);
}

function toValue(node: YamlNode, parser: Parser, text: string, options: ValueOptions = {}): unknown {
  const fail = (reason: string, position: number): never => YAMLException.throwAt(text, position, reason, "");
  const value = new ValueBuilder(parser.targets, fail, options).document(node);
  if (parser.targets.size > 0) checkAliases(value, { length: text.length, maxDepth: MAX_DEPTH });
  return value;
}

/** Rejects text whose value takes far more memory than the text, because it has many values of one or two characters. */
function checkValues(text: string): void {
  if (text.length <= MAX_VALUES) return;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    if (SEPARATORS.has(text.charCodeAt(at)) && ++values > MAX_VALUES)
      throw new YAMLException(`more than ${MAX_VALUES} values in one document`);
  }
}

/** The YAML style. */
export interface YamlStyle {
  /** Writes the value on one line, such as `{a: [1, 2]}`. */
  flow?: boolean;
  /** Does not indent lists below their keys. */
  compactLists?: boolean;
}

/** Formats `value` as one YAML document, in block style by default, and quotes strings that Kubernetes would read as another type. */
export function toYaml(value: unknown, { flow = false, compactLists = false }: YamlStyle = {}): string {
  return dump(value, {
    lineWidth: -1,
    noRefs: true,
    schema: DUMP_WITH_BIGINT,
    seqNoIndent: compactLists,
    ...(flow ? { flowLevel: 0 } : {}),
  });
}

/** Names of members and indexes of elements. */
export type YamlPath = readonly (string | number)[];

/** Finds the lines of values in a YAML or JSON text, for messages. */
export class YamlLines {
  readonly #source: string;
  /** The non-empty documents. */
  readonly #documents: readonly YamlNode[];

  /** For invalid text, every lookup returns undefined. */
  constructor(source: string) {
    this.#source = source;
    this.#documents = documentsIn(source).filter((node) => node.kind !== "scalar" || !node.isPlain || node.value !== "");
  }

  /** Number of non-empty documents. */
  get documents(): number {
    return this.#documents.length;
  }

  /**
   * Returns the line, from 1, of a path's key or element in a document (from 0). If the path does not exist, returns the line of its last existing
   * part. Returns undefined if the document does not exist.
   */
  lineOf(document: number, path: YamlPath): number | undefined {
    let node = this.#documents[document];
    let offset = node?.start;
    for (const part of path) {
      const found = node && memberIn(node, part);
      if (!found) break;
      node = found.value;
      offset = found.start;
    }
    if (offset === undefined) return undefined;
    let line = 1;
    for (let end = this.#source.indexOf("\n"); end >= 0 && end < offset; end = this.#source.indexOf("\n", end + 1)) line++;
    return line;
  }
}

function memberIn(node: YamlNode, part: string | number): { value: YamlNode; start: number } | undefined {
  if (node.kind === "sequence") {
    const value = typeof part === "number" ? node.children[part] : undefined;
    return value && { value, start: value.start };
  }
  if (node.kind !== "mapping") return undefined;
  for (let at = 0; at < node.children.length; at += 2) {
    const key = node.children[at];
    const value = node.children[at + 1];
    if (key?.kind === "scalar" && value && key.value === String(part)) return { value, start: key.start };
  }
  return undefined;
}

function documentsIn(source: string): YamlNode[] {
  const documents: YamlNode[] = [];
  try {
    const parser = new Parser(source, MAX_DEPTH);
    for (let node = parser.next(); node; node = parser.next()) documents.push(node);
    return documents;
  } catch {
    return [];
  }
}
