import { expect, test } from "vitest";
import { KubeError } from "./errors.ts";
import { listPages, ObjectTooLarge, parseList, type ReadPage } from "./listPages.ts";
import type { PageOptions } from "./request.ts";

const KIND = { apiVersion: "e.com/v1", kind: "Thing" };
const signal = new AbortController().signal;

/** An API server with objects of these sizes, whose positions expire `expiries` times. */
class Server {
  readonly limits: number[] = [];
  readonly #sizes: readonly number[];
  #expiries: number;

  constructor(sizes: readonly number[], expiries = 0) {
    this.#sizes = sizes;
    this.#expiries = expiries;
  }

  readonly listPage = async (_: unknown, { limit, continue: token, maxBytes }: PageOptions): Promise<Uint8Array | undefined> => {
    this.limits.push(limit);
    if (token !== undefined && this.#expiries-- > 0) throw new KubeError("expired", { status: 410, reason: "Expired" });
    const from = Number(token ?? 0);
    const end = Math.min(from + limit, this.#sizes.length);
    const items = this.#sizes.slice(from, end).map((size, index) => ({ metadata: { name: `t${from + index}` }, text: "x".repeat(size) }));
    const page = JSON.stringify({ kind: "ThingList", metadata: end < this.#sizes.length ? { continue: String(end) } : {}, items });
    return Promise.resolve(page.length > maxBytes ? undefined : new TextEncoder().encode(page));
  };
}

function read(bytes: Uint8Array): ReadPage<string[]> {
  const { objects, next } = parseList(bytes);
  return { content: objects.map(({ metadata: { name } }) => name), next };
}

async function list(
  server: Server,
  options: { maxBytes?: number; most?: number; restarts?: number; read?: typeof read } = {},
): Promise<string[]> {
  const names: string[] = [];
  for await (const page of listPages(server, KIND, { read, maxBytes: 1_000_000, signal, ...options })) names.push(...page);
  return names;
}

test("listPages reads a page again with fewer objects when the page is too large for the list or its reader", async () => {
  const server = new Server([10, 10, 700, 10, 10]);
  expect(await list(server, { maxBytes: 800 })).toEqual(["t0", "t1", "t2", "t3", "t4"]);
  const small = new Server([10, 10, 10]);
  const readOne = (bytes: Uint8Array): ReadPage<string[]> => {
    const page = read(bytes);
    return "content" in page && page.content.length > 1 ? { tooLarge: "two objects" } : page;
  };
  expect(await list(small, { read: readOne })).toEqual(["t0", "t1", "t2"]);
});

test("listPages throws ObjectTooLarge when one object is too large", async () => {
  await expect(list(new Server([10, 900]), { maxBytes: 800 })).rejects.toThrow(
    new ObjectTooLarge("a custom resource is larger than 800 bytes"),
  );
});

test.for([
  [0, 1, "expired"],
  [1, 1, ""],
  [1, 2, "expired"],
] as const)("listPages with %i restarts of a list that expires %i times fails with '%s'", async ([restarts, expiries, error]) => {
  const listed = list(new Server([1, 1, 1, 1, 1], expiries), { restarts, most: 4 });
  if (error === "") expect(await listed).toEqual(["t0", "t1", "t2", "t3", "t0", "t1", "t2", "t3", "t4"]);
  else await expect(listed).rejects.toThrow(error);
});
