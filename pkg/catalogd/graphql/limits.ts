const MIB = 1024 * 1024;

/** How much one query may ask for, in numbers of things where nothing else is said. */
export interface QueryLimits {
  /** Nested selections. */
  depth: number;
  fields: number;
  aliases: number;
  /** Nested selections and fields within `__schema` and `__type`. */
  introspectionDepth: number;
  introspectionFields: number;
  /** Fragments and selections that are looked at while the others are counted. */
  selections: number;
  milliseconds: number;
  /** Bytes of objects that are read, of one object, and of the answer. */
  readBytes: number;
  objectBytes: number;
  answerBytes: number;
}

/**
 * The first three, the time and the size of an object are the Go server's. The standard introspection query nests 13 deep; what is read is room for a page
 * of the largest bundles there are, twice.
 */
export const QUERY_LIMITS: QueryLimits = {
  depth: 10,
  fields: 500,
  aliases: 50,
  introspectionDepth: 30,
  introspectionFields: 1_000,
  selections: 10_000,
  milliseconds: 5_000,
  readBytes: 256 * MIB,
  objectBytes: 16 * MIB,
  answerBytes: 32 * MIB,
};

/** Objects of a page, and their number without a limit. */
export const MAX_PAGE = 100;
