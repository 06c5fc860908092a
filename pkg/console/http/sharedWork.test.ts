import { expect, test } from "vitest";
import { SharedWorks } from "./sharedWork.ts";

const NEVER = new AbortController().signal;

/** Starts work that ends only when the test resolves it. */
function createWork(): { start: (signal: AbortSignal) => Promise<string>; finish: (value: string) => void; signals: AbortSignal[] } {
  const { promise, resolve } = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  return { start: (signal) => (signals.push(signal), promise), finish: resolve, signals };
}

test("SharedWork runs once for requests with the same key of the same user", async () => {
  const works = new SharedWorks<string>();
  const [ann, bob] = [{}, {}];
  const { start, finish, signals } = createWork();
  const all = [works.of(ann).run("a", NEVER, start), works.of(ann).run("a", NEVER, start), works.of(bob).run("a", NEVER, start)];
  expect(signals).toHaveLength(2);
  finish("plan");
  expect(await Promise.all(all)).toEqual(["plan", "plan", "plan"]);
  expect(await works.of(ann).run("a", NEVER, async () => "new")).toBe("new");
});

test("SharedWork is cancelled when no request waits for it any more", async () => {
  const works = new SharedWorks<string>();
  const { start, signals } = createWork();
  const [first, second] = [new AbortController(), new AbortController()];
  const runs = [first, second].map(({ signal }) =>
    works
      .of(works)
      .run("a", signal, start)
      .catch((err: unknown) => String(err)),
  );
  first.abort(new Error("closed"));
  expect(await runs[0]).toBe("Error: closed");
  expect(signals[0]?.aborted).toBe(false);
  second.abort(new Error("closed"));
  await runs[1];
  expect(signals[0]?.aborted).toBe(true);
});

test("SharedWork rejects more than four different works of a user", async () => {
  const works = new SharedWorks<string>();
  const { start, finish } = createWork();
  const runs = ["a", "b", "c", "d"].map((key) => works.of(works).run(key, NEVER, start));
  await expect(works.of(works).run("e", NEVER, start)).rejects.toMatchObject({ kind: "limited" });
  finish("done");
  await Promise.all(runs);
});
