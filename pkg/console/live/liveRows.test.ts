import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ChangeSequence, LiveRows } from "./liveRows.ts";

interface Row {
  readonly name: string;
  readonly value: number;
}

/** A client that keeps its own copy of the rows, as a page does. */
class Client {
  readonly rows = new Map<string, Row>();
  #seen = -1;

  read(rows: LiveRows<Row>, sequence: number): void {
    const changes = this.#seen < 0 ? undefined : rows.changesSince(this.#seen);
    if (!changes) this.rows.clear();
    for (const name of changes?.removed ?? []) this.rows.delete(name);
    for (const row of changes?.changed ?? rows.list()) this.rows.set(row.name, row);
    this.#seen = sequence;
  }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("set" as const), name: fc.constantFrom("a", "b", "c", "d"), value: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete" as const), name: fc.constantFrom("a", "b", "c", "d", "e") }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("read" as const), client: fc.nat(2) }) },
);

test("LiveRows gives each client the current rows when the client reads at any times", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const sequence = new ChangeSequence();
      const rows = new LiveRows<Row>(sequence);
      const clients = [new Client(), new Client(), new Client()];
      for (const one of steps) {
        if (one.kind === "set") rows.set({ name: one.name, value: one.value });
        else if (one.kind === "delete") rows.delete(one.name);
        else clients[one.client]?.read(rows, sequence.last);
      }
      for (const client of clients) {
        client.read(rows, sequence.last);
        expect([...client.rows.values()].sort((a, b) => a.name.localeCompare(b.name))).toEqual(rows.list());
      }
    }),
  );
});

test("LiveRows makes a client read all rows when it has forgotten deletions since its last read", () => {
  const sequence = new ChangeSequence();
  const rows = new LiveRows<Row>(sequence);
  rows.set({ name: "kept", value: 1 });
  const seen = sequence.last;
  for (let i = 0; i <= 1_000; i++) {
    rows.set({ name: `n${i}`, value: i });
    rows.delete(`n${i}`);
  }
  expect(rows.changesSince(seen)).toBeUndefined();
  expect(rows.changesSince(sequence.last)).toEqual({ changed: [], removed: [] });
});
