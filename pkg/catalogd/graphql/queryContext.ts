/** Ends a query as a whole; its message is the answer. */
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

/** A line of a content file: the bytes from `start` up to, not including, `end`. */
export interface LineRange {
  readonly start: number;
  readonly end: number;
}

/** Where a query finds the objects of its catalog. */
export interface ObjectSource {
  find(query: PageQuery): Promise<readonly LineRange[]>;
  /** @throws Error when it cannot be read. */
  read(line: LineRange): Uint8Array;
}

/** What the resolvers of one query share: where objects come from, and how much of everything is left. */
export class QueryContext {
  readonly #source: ObjectSource;
  readonly #limits: QueryLimits;
  readonly #stopped: () => boolean;
  readonly #abort = new AbortController();
  readonly #end: number;
  #readBytes = 0;
  #responseBytes = 0;

  /** @param stopped whether nobody waits for the answer any more. */
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

  /** The objects of a page, each read when it is asked for; what is no object is passed over. */
  async objects(query: PageQuery): Promise<Iterable<object>> {
    try {
      return this.#read(query.schema, await this.#source.find(query));
    } catch (err) {
      throw loadError(query.schema, err);
    }
  }

  /** Accounts for so many bytes of the answer, and for the time. @throws QueryError beyond a limit; execution then ends at once. */
  spend(bytes: number): void {
    this.#responseBytes += bytes;
    if (this.#responseBytes > this.#limits.responseBytes) this.#fail(responseTooLarge(this.#limits).message);
    if (performance.now() > this.#end) this.#fail("context deadline exceeded");
    if (this.#stopped()) this.#fail("context canceled");
  }

  *#read(schema: string, lines: readonly LineRange[]): Generator<object> {
    for (const line of lines) {
      const length = line.end - line.start;
      this.spend(0);
      this.#readBytes += length;
      if (this.#readBytes > this.#limits.readBytes)
        this.#fail(`query reads more than ${this.#limits.readBytes} bytes of objects; ask for fewer objects (limit) at once`);
      let bytes: Uint8Array;
      try {
        if (length > this.#limits.objectBytes) throw new Error(`invalid section length ${length} at offset ${line.start}`);
        bytes = this.#source.read(line);
      } catch (err) {
        throw loadError(schema, err);
      }
      const object = objectIn(bytes);
      if (object) yield object;
    }
  }

  #fail(message: string): never {
    const error = new QueryError(message);
    this.#abort.abort(error);
    throw error;
  }
}

/** What is said of an answer that is too large. */
export function responseTooLarge({ responseBytes }: QueryLimits): QueryError {
  return new QueryError(`query answer exceeds ${responseBytes} bytes; ask for fewer objects (limit) or fields`);
}

function loadError(schema: string, err: unknown): Error {
  return new Error(`error loading objects for schema ${schema}: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
}

function objectIn(bytes: Uint8Array): object | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

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
  responseBytes: number;
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
  responseBytes: 32 * MIB,
};

/** Objects of a page, and their number without a limit. */
export const MAX_PAGE = 100;
