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

/** A mapping whose keys are texts; scalars are texts as they are written, whatever they mean. */
export type MapNode = YAMLMap.Parsed<Scalar.Parsed & { value: string }, ParsedNode>;
/** A list. */
export type ListNode = YAMLSeq.Parsed;

/** A part of a text: offsets from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The text is written in a way that is not edited in place; the whole object can be written again. */
export class NotEditableError extends Error {
  override readonly name = "NotEditableError";
}

/**
 * Parses the only document in `source`, YAML or JSON.
 * @throws NotEditableError for anchors, aliases, tags, values that are left out, keys that are not texts, and several documents.
 */
export function editableNode(source: string): ParsedNode {
  const [document, ...more] = documentsIn(source);
  if (!document?.contents || more.length > 0) throw new NotEditableError("it is not one document");
  if (document.errors.length > 0) throw new NotEditableError("it is not YAML that is edited in place");
  visit(document, {
    Alias: () => refuse("it has an alias"),
    Collection: (_, { anchor, tag }) => requirePlain(anchor ?? tag),
    Pair: (_, { key, value }) => (isScalar(key) && value ? undefined : refuse("it has a key that is not a text, or without a value")),
    Scalar: (_, { anchor, tag, source: written, type }) => {
      requirePlain(anchor ?? tag);
      if (type === "PLAIN" && written === "") refuse("a value is left out");
    },
  });
  return document.contents;
}

function documentsIn(source: string): ReturnType<typeof parseAllDocuments<ParsedNode>> {
  const options = { schema: "failsafe", keepSourceTokens: true, prettyErrors: false, logLevel: "silent", uniqueKeys: false } as const;
  try {
    return parseAllDocuments(source, options);
  } catch (err) {
    throw new NotEditableError("it is not YAML that is edited in place", { cause: err }); // nested too deep, for example
  }
}

function requirePlain(property: string | undefined): void {
  if (property !== undefined) refuse("it has an anchor or a tag");
}

function refuse(why: string): never {
  throw new NotEditableError(why);
}

/** Whether a node is a mapping of a document that `editableNode` accepts. */
export function isMapNode(node: ParsedNode): node is MapNode {
  return isMap(node);
}

/** Whether a node is a list. */
export function isListNode(node: ParsedNode): node is ListNode {
  return isSeq(node);
}

/** Where a value is, quotes and brackets included; the ranges of the parser include comments and empty lines after a block. */
export function spanOf(node: ParsedNode, source: string): Span {
  const [start, end] = node.range;
  if (isCollection(node) && !node.flow) {
    const last = node.items.at(-1);
    const value = isMapNode(node) ? node.items.at(-1)?.value : (last as ParsedNode | undefined);
    return { start, end: value ? spanOf(value, source).end : end };
  }
  if (isScalar(node) && node.type?.startsWith("BLOCK_")) return { start, end: start + source.slice(start, end).trimEnd().length };
  return { start, end };
}

/** Where the colon or dash is that is before a value in block style. */
export function markIn(tokens: readonly CST.SourceToken[] | undefined, type: "map-value-ind" | "seq-item-ind"): number {
  return tokens?.find((token) => token.type === type)?.offset ?? refuse("a value has no mark before it");
}
