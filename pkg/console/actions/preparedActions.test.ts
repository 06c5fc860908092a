import { expect, test } from "vitest";
import { PreparedActions } from "./preparedActions.ts";

const CHANGE = { title: "Suspend a?", effects: [], requests: [] };
const RESULT = { isOk: true, results: [] };

test("PreparedActions forgets a change after 10 minutes", async () => {
  let now = 1_000;
  const actions = new PreparedActions({ perf: { now: () => now } });
  const id = actions.add("ann", CHANGE);
  now += 9 * 60_000;
  expect(await actions.run("ann", { id, idempotencyKey: "key-1" }, async () => RESULT)).toBe(RESULT);
  const late = actions.add("ann", CHANGE);
  now += 11 * 60_000;
  expect(() => actions.run("ann", { id: late, idempotencyKey: "key-2" }, async () => RESULT)).toThrow("has expired");
});

test("PreparedActions keeps at most 50 changes of a user, and those of other users", async () => {
  const actions = new PreparedActions();
  const other = actions.add("bob", CHANGE);
  const ids = Array.from({ length: 60 }, () => actions.add("ann", CHANGE));
  const isKnown = (owner: string, id: string): boolean => {
    try {
      void actions.run(owner, { id, idempotencyKey: "key-1" }, async () => RESULT);
      return true;
    } catch {
      return false;
    }
  };
  expect(isKnown("bob", other)).toBe(true);
  expect(ids.map((id) => isKnown("ann", id))).toEqual(ids.map((_, i) => i >= 10));
});
