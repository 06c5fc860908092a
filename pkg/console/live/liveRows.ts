/** The changes of a table since a sequence number. */
export interface RowChanges<Row> {
  readonly changed: readonly Row[];
  readonly removed: readonly string[];
}

interface Entry<Row> {
  readonly row: Row;
  readonly sequence: number;
}

/** Gives each change of several tables the next number, so that one number describes what a client has seen of all of them. */
export class ChangeSequence {
  #last = 0;

  get last(): number {
    return this.#last;
  }

  next(): number {
    return ++this.#last;
  }
}

/** Maximum number of deletions that a table remembers. */
const MAX_REMOVED = 1_000;

/**
 * The current rows of one table, each with the sequence number of its last change. A client that reads the changes since its last number always
 * gets the newest state: a slow client skips intermediate states, and the table stores nothing per client.
 */
export class LiveRows<Row extends { readonly name: string }> {
  readonly #sequence: ChangeSequence;
  readonly #rows = new Map<string, Entry<Row>>();
  /** Sequence numbers of deletions by name, oldest first. */
  readonly #removed = new Map<string, number>();
  /** Clients with an older number must read all rows. */
  #oldest = 0;

  constructor(sequence: ChangeSequence) {
    this.#sequence = sequence;
  }

  /** Adds or replaces a row. */
  set(row: Row): void {
    this.#rows.delete(row.name); // moves the row to the end, so that `changesSince` can stop early
    this.#rows.set(row.name, { row, sequence: this.#sequence.next() });
    this.#removed.delete(row.name);
  }

  delete(name: string): void {
    if (!this.#rows.delete(name)) return;
    this.#removed.delete(name);
    this.#removed.set(name, this.#sequence.next());
    if (this.#removed.size <= MAX_REMOVED) return;
    const [[first, sequence] = ["", 0]] = this.#removed;
    this.#removed.delete(first);
    this.#oldest = sequence;
  }

  get(name: string): Row | undefined {
    return this.#rows.get(name)?.row;
  }

  /** Returns all rows, sorted by name. */
  list(): Row[] {
    return [...this.#rows.values()].map(({ row }) => row).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Returns the changes after a sequence number; undefined if deletions since then are forgotten. */
  changesSince(sequence: number): RowChanges<Row> | undefined {
    if (sequence < this.#oldest) return undefined;
    return {
      changed: listNewest(this.#rows, sequence, (entry) => entry.sequence).map(([, { row }]) => row),
      removed: listNewest(this.#removed, sequence, (own) => own).map(([name]) => name),
    };
  }
}

/** Returns the last entries of a map, whose entries are in ascending order of their sequence numbers, that are newer than `sequence`. */
function listNewest<T>(entries: ReadonlyMap<string, T>, sequence: number, sequenceOf: (entry: T) => number): [string, T][] {
  const all = [...entries];
  const first = all.findLastIndex(([, entry]) => sequenceOf(entry) <= sequence) + 1;
  return all.slice(first);
}
