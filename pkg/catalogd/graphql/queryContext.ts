/** An error that ends the query; the response contains its message. */
export class QueryError extends Error {
  override readonly name = "QueryError";
}

/** A page of the objects of one schema. */
export interface PageQuery {
  schema: string;
  name: string;
  package: string;
  limit: number;
  offset: number;
}

/** A line of a content file: the bytes from `start` (inclusive) to `end` (exclusive). */
export interface LineRange {
  readonly start: number;
  readonly end: number;
}

/** Reads the objects of a catalog for a query. */
export interface ObjectSource {
  find(query: PageQuery): Promise<readonly LineRange[]>;
  /** @throws Error if the line cannot be read. */
  read(line: LineRange): Uint8Array;
}

/** State shared by the resolvers of one query: the source of the objects and the used part of the limits. */
export class QueryContext {
  readonly #source: ObjectSource;
  readonly #limits: QueryLimits;
  readonly #stopped: () => boolean;
  readonly #abort = new AbortController();
  readonly #end: number;
  #readBytes = 0;
  #responseBytes = 0;

  /** @param stopped returns whether the client has disconnected. */
  constructor(source: ObjectSource, limits: QueryLimits, stopped: () => boolean) {
    this.#source = source;
    this.#limits = limits;
    this.#stopped = stopped;
    this.#end = performance.now() + limits.milliseconds;
  }

  /** Aborts with a QueryError when the query exceeds a limit. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Yields the objects of a page, each read on demand. Skips values that are not objects. */
  async objects(query: PageQuery): Promise<Iterable<object>> {
    try {
      return this.#read(query.schema, await this.#source.find(query));
    } catch (err) {
      throw loadError(query.schema, err);
    }
  }

  /**
   * Charges `bytes` and the elapsed time against the query limits. @throws QueryError beyond a limit;
   * execution then ends immediately.
   */
  spend(bytes: number): void {
    this.#responseBytes += bytes;
    if (this.#responseBytes > this.#limits.responseBytes) this.#fail(createResponseTooLargeError(this.#limits).message);
    if (performance.now() > this.#end) this.#fail("context deadline exceeded");
    if (this.#stopped()) this.#fail("context canceled");
  }

  *#read(schema: string, lines: readonly LineRange[]): Generator<object> {
    for (const line of lines) {
      const length = line.end - line.start;
      this.spend(0);
      this.#readBytes += length;
      if (this.#readBytes > this.#limits.readBytes)
        this.#fail(`query reads more than ${this.#limits.readBytes} bytes of objects. Request fewer objects with the argument limit`);
      let bytes: Uint8Array;
      try {
        if (length > this.#limits.objectBytes) throw new Error(`invalid section length ${length} at offset ${line.start}`);
        bytes = this.#source.read(line);
      } catch (err) {
        throw loadError(schema, err);
      }
      const object = parseObject(bytes);
      if (object) yield object;
    }
  }

  #fail(message: string): never {
    const error = new QueryError(message);
    this.#abort.abort(error);
    throw error;
  }
}

/** Creates the error for a response that is too large. */
export function createResponseTooLargeError({ responseBytes }: QueryLimits): QueryError {
  return new QueryError(`query response exceeds ${responseBytes} bytes. Request fewer fields, or fewer objects with the argument limit`);
}

function loadError(schema: string, err: unknown): Error {
  return new Error(`error loading objects for schema ${schema}: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
}

function parseObject(bytes: Uint8Array): object | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const MIB = 1024 * 1024;

/** Limits for one query. Limits without a unit are counts. */
export interface QueryLimits {
  /** Maximum depth of nested selections. */
  depth: number;
  fields: number;
  aliases: number;
  /** Maximum depth of nested selections and fields within `__schema` and `__type`. */
  introspectionDepth: number;
  introspectionFields: number;
  /** Maximum number of fragments and selections to visit while checking the other limits. */
  selections: number;
  milliseconds: number;
  /** Maximum number of bytes in all objects that are read, in one object, and in the response. */
  readBytes: number;
  objectBytes: number;
  responseBytes: number;
}

/**
 * Depth, fields, aliases, time and object size have the limits of the Go server. The standard
 * introspection query has a depth of 13. The read limit allows two pages of the largest known
 * bundles.
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
  responseBytes: 32 * MIB,
};

/** Default and maximum number of objects in a page. */
export const MAX_PAGE = 100;
