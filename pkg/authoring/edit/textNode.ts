import {
  type CST,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type ParsedNode,
  parseAllDocuments,
  type Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

/** A mapping with string keys. Scalars are unparsed texts. */
export type MapNode = YAMLMap.Parsed<Scalar.Parsed & { value: string }, ParsedNode>;
/** A list. */
export type ListNode = YAMLSeq.Parsed;

/** A half-open range of offsets in a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Thrown if the text cannot be edited in place. The caller can rewrite the whole object. */
export class NotEditableError extends Error {
  override readonly name = "NotEditableError";
}

/**
 * Parses the only document in `source`, YAML or JSON.
 * @throws NotEditableError for anchors, aliases, tags, missing values, keys that are not strings, and several documents.
 */
export function parseEditableNode(source: string): ParsedNode {
  const [document, ...more] = documentsIn(source);
  if (!document?.contents || more.length > 0) throw new NotEditableError("not a single document");
  if (document.errors.length > 0) throw new NotEditableError("invalid YAML");
  visit(document, {
    Alias: () => refuse("has an alias"),
    Collection: (_, { anchor, tag }) => requirePlain(anchor ?? tag),
    Pair: (_, { key, value }) => (isScalar(key) && value ? undefined : refuse("has a key that is not a string or has no value")),
    Scalar: (_, { anchor, tag, source: written, type }) => {
      requirePlain(anchor ?? tag);
      if (type === "PLAIN" && written === "") refuse("a value is missing");
    },
  });
  return document.contents;
}

function documentsIn(source: string): ReturnType<typeof parseAllDocuments<ParsedNode>> {
  const options = { schema: "failsafe", keepSourceTokens: true, prettyErrors: false, logLevel: "silent", uniqueKeys: false } as const;
  try {
    return parseAllDocuments(source, options);
  } catch (err) {
    throw new NotEditableError("invalid YAML", { cause: err }); // for example, nested too deeply
  }
}

function requirePlain(property: string | undefined): void {
  if (property !== undefined) refuse("has an anchor or a tag");
}

function refuse(reason: string): never {
  throw new NotEditableError(reason);
}

/** Reports whether a node of `parseEditableNode` is a mapping. */
export function isMapNode(node: ParsedNode): node is MapNode {
  return isMap(node);
}

/** Reports whether a node is a list. */
export function isListNode(node: ParsedNode): node is ListNode {
  return isSeq(node);
}

/**
 * Returns the range of a value with its quotes and brackets. Not the range of the parser, which also contains comments and empty lines after a block.
 */
export function findSpan(node: ParsedNode, source: string): Span {
  const [start, end] = node.range;
  if (isCollection(node) && !node.flow) {
    const last = node.items.at(-1);
    const value = isMapNode(node) ? node.items.at(-1)?.value : (last as ParsedNode | undefined);
    return { start, end: value ? findSpan(value, source).end : end };
  }
  if (isScalar(node) && node.type?.startsWith("BLOCK_")) return { start, end: start + source.slice(start, end).trimEnd().length };
  return { start, end };
}

/** Returns the offset of the colon or dash before a value in block style. */
export function findMark(tokens: readonly CST.SourceToken[] | undefined, type: "map-value-ind" | "seq-item-ind"): number {
  return tokens?.find((token) => token.type === type)?.offset ?? refuse("a value has no colon or dash before it");
}
