import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type Transfer, Transfers } from "./transfers.ts";

/** A transfer with simulated progress. */
class FakeTransfer implements Transfer {
  readonly client: string;
  bytes = 0;
  waiting = 0;
  isCut = false;

  readonly memory: number;

  constructor(client: string, memory = 0) {
    this.client = client;
    this.memory = memory;
  }

  progress(): number {
    return this.bytes;
  }

  pending(): number {
    return this.waiting;
  }

  cut(): void {
    this.isCut = true;
  }
}

const LIMITS = {
  transfers: 4,
  transfersPerClient: 2,
  transferMemory: 100,
  transferMemoryPerClient: 50,
  transferWaitMs: 60_000,
  transferQueue: 4,
  transferFloor: 1_000,
  transferCheckMs: 60_000,
};
/** Client and memory of a transfer. */
type Held = readonly [client: string, memory: number];
const here = new AbortController();
const leaving: (() => void)[] = [];
afterEach(() => {
  for (const leave of leaving.splice(0)) leave();
});

/** Starts transfers for these clients. There must be enough slots. */
async function started(transfers: Transfers, ...clients: string[]): Promise<FakeTransfer[]> {
  const fakes = clients.map((client) => new FakeTransfer(client));
  for (const fake of fakes) expect(await transfers.enter(fake, here.signal)).toBe(true);
  leaving.push(() => {
    for (const fake of fakes) transfers.leave(fake);
  });
  return fakes;
}

/** Queues a client; adds its name to `order` when it is admitted. */
function waits(transfers: Transfers, client: string, order: string[] = [], name = client): FakeTransfer {
  const fake = new FakeTransfer(client);
  void transfers.enter(fake, here.signal).then((admitted) => {
    if (admitted) order.push(name);
    return admitted;
  });
  leaving.push(() => transfers.leave(fake));
  return fake;
}

describe("a transfer that makes too little progress", () => {
  test("slow transfer loses its slot when another client waits", async () => {
    const transfers = new Transfers(LIMITS);
    const [fast, slow] = await started(transfers, "a", "b", "a", "b");
    const order: string[] = [];
    waits(transfers, "c", order);
    transfers.check(0);
    if (fast) fast.bytes = 2_000;
    if (slow) slow.bytes = 500;
    transfers.check(1_000);
    expect([fast?.isCut, slow?.isCut]).toEqual([false, true]);
    if (slow) transfers.leave(slow);
    await Promise.resolve();
    expect(order).toEqual(["c"]);
  });

  test("slow transfer keeps its slot when no client waits", async () => {
    const transfers = new Transfers({ ...LIMITS, transferCheckMs: 1 });
    const all = await started(transfers, "a", "b", "a", "b");
    const gone = new AbortController();
    const waiting = transfers.enter(new FakeTransfer("c"), gone.signal);
    gone.abort();
    expect(await waiting).toBe(false);
    transfers.check(0);
    expect(all.map(({ isCut }) => isCut)).toEqual([false, false, false, false]);
  });

  test("slow transfer keeps its slot for as long as its bytes in transit take at the minimum rate", async () => {
    const transfers = new Transfers({ ...LIMITS, transfers: 2 });
    const [one] = await started(transfers, "a", "b");
    if (one) one.waiting = 3_000;
    waits(transfers, "c");
    transfers.check(0);
    transfers.check(2_900);
    expect(one?.isCut).toBe(false);
    transfers.check(3_100);
    expect(one?.isCut).toBe(true);
  });
});

describe("transfer slots are shared among clients", () => {
  test("a client with more than its share loses its slowest transfer to a waiting client", async () => {
    const transfers = new Transfers({ ...LIMITS, transfersPerClient: 4 });
    const all = await started(transfers, "a", "a", "a", "a");
    waits(transfers, "b");
    transfers.check(0);
    for (const [i, transfer] of all.entries()) transfer.bytes = 1e9 + i;
    transfers.check(14_000);
    expect(all.filter(({ isCut }) => isCut)).toEqual([]);
    for (const [i, transfer] of all.entries()) transfer.bytes = 2e9 + i;
    transfers.check(15_000);
    expect(all.filter(({ isCut }) => isCut)).toHaveLength(1);
  });

  test("a free slot goes to the client with the fewest slots, then in queue order", async () => {
    const transfers = new Transfers({ ...LIMITS, transfersPerClient: 4 });
    const all = await started(transfers, "a", "a", "a", "b");
    const order: string[] = [];
    waits(transfers, "a", order, "a2");
    waits(transfers, "c", order, "c1");
    waits(transfers, "d", order, "d1");
    for (const done of all.slice(0, 3)) {
      transfers.leave(done);
      await Promise.resolve();
    }
    expect(order).toEqual(["c1", "d1", "a2"]);
  });

  test.for<[does: string, when: string, active: Held[], waiting: Held[], next: Held, outcome: string]>([
    [
      "starts",
      "all bodies in memory fit",
      [
        ["a", 50],
        ["b", 30],
      ],
      [],
      ["c", 20],
      "started",
    ],
    [
      "queues",
      "its body and those of all clients exceed the limit",
      [
        ["a", 50],
        ["b", 31],
      ],
      [],
      ["c", 20],
      "waiting",
    ],
    ["queues", "its body and those of its client exceed the limit", [["a", 40]], [], ["a", 11], "waiting"],
    [
      "starts",
      "its body is in a file",
      [
        ["a", 50],
        ["b", 50],
      ],
      [],
      ["a", 0],
      "started",
    ],
    ["starts", "its body exceeds the limit of a client that has no other transfer", [["a", 40]], [], ["b", 60], "started"],
    [
      "rejects",
      "its body and those that wait exceed the limit",
      [
        ["a", 50],
        ["b", 50],
      ],
      [
        ["a", 50],
        ["b", 40],
      ],
      ["c", 11],
      "rejected",
    ],
    ["rejects", "its body and those of its client that wait exceed the limit", [["a", 50]], [["a", 40]], ["a", 11], "rejected"],
  ])("Transfers %s a transfer when %s", async ([, , active, waiting, next, outcome]) => {
    const transfers = new Transfers({ ...LIMITS, transfers: 10, transfersPerClient: 10, transferQueue: 10 });
    const client = new AbortController();
    const enter = async ([name, memory]: Held): Promise<string> => {
      const isAdmitted = transfers.enter(new FakeTransfer(name, memory), client.signal);
      return Promise.race([isAdmitted.then((admitted) => (admitted ? "started" : "rejected")), nextTurn("waiting")]);
    };
    for (const one of active) expect(await enter(one)).toBe("started");
    for (const one of waiting) expect(await enter(one)).toBe("waiting");
    expect(await enter(next)).toBe(outcome);
    client.abort();
  });

  test("the queue has a limit, and one client can occupy at most half of the queue", async () => {
    const transfers = new Transfers(LIMITS);
    await started(transfers, "a", "a", "b", "b");
    waits(transfers, "a");
    waits(transfers, "a");
    expect(await transfers.enter(new FakeTransfer("a"), here.signal)).toBe(false);
    waits(transfers, "b");
    waits(transfers, "c");
    expect(await transfers.enter(new FakeTransfer("d"), here.signal)).toBe(false);
  });
});
