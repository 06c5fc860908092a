import { DUMP_SCHEMA, defineScalarTag, dump, intCoreTag, intYaml11Tag, NOT_RESOLVED, YAMLException } from "js-yaml";
import { Parser, type YamlNode } from "./yamlParser.ts";
import { checkAliases, ValueBuilder, type ValueOptions } from "./yamlValues.ts";

/** Deeper nesting than this is refused instead of exhausting the stack. */
const MAX_DEPTH = 1_000;
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
  const documents: unknown[] = [];
  const parser = newParser(text);
  for (let node = parser.next(); node; node = parser.next()) documents.push(valueOf(node, parser, text));
  return documents;
}

/**
 * The first document in `text`, null when there is none. The text after it is not read, as in Go: `a: 1`, `...`, `b: 2` gives `{a: 1}`.
 * @throws YAMLException as `parseYamlDocuments` does.
 * @see https://pkg.go.dev/sigs.k8s.io/yaml#YAMLToJSON
 */
export function parseFirstYamlDocument(text: string, options: ValueOptions = {}): unknown {
  const parser = newParser(text);
  const node = parser.next();
  return node ? valueOf(node, parser, text, options) : null;
}

function newParser(text: string): Parser {
  checkValues(text);
  return new Parser(text, MAX_DEPTH);
}

function valueOf(node: YamlNode, parser: Parser, text: string, options: ValueOptions = {}): unknown {
  const fail = (reason: string, position: number): never => YAMLException.throwAt(text, position, reason, "");
  const value = new ValueBuilder(parser.targets, fail, options).document(node);
  if (parser.targets.size > 0) checkAliases(value, { length: text.length, maxDepth: MAX_DEPTH });
  return value;
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

/** Names of members and indexes of elements, from the outside in. */
export type YamlPath = readonly (string | number)[];

/** Finds the lines of values in one text of YAML or JSON, for messages. */
export class YamlLines {
  readonly #source: string;
  /** The documents that hold something. */
  readonly #documents: readonly YamlNode[];

  /** A text that cannot be parsed has no lines. */
  constructor(source: string) {
    this.#source = source;
    this.#documents = documentsIn(source).filter((node) => node.kind !== "scalar" || !node.isPlain || node.value !== "");
  }

  /** How many documents hold something. */
  get documents(): number {
    return this.#documents.length;
  }

  /**
   * The line, from 1, of what `path` leads to in a document (from 0): of its key, or of the element. Where it ends before, the line of the last
   * part that there is. Undefined for a document that there is not.
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
