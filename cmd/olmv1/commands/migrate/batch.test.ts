import { expect, test } from "vitest";
import { formatBatch, requireOneOrAll, runBatch } from "./batch.ts";

const ITEMS = ["a", "b", "c"].map((name) => ({ namespace: "ns", name }));
const idle = new AbortController().signal;
const failing = async ({ name }: { name: string }) => {
  if (name === "b") throw new Error("it is broken");
  return { result: "Converted", detail: "", kind: "done" } as const;
};

test.for<[string, boolean, string[]]>([
  ["runBatch stops at the first failure", false, ["Converted", "Failed", "NotTried"]],
  ["runBatch continues after a failure with keepGoing", true, ["Converted", "Failed", "Converted"]],
])("%s", async ([, keepGoing, results]) => {
  const { lines, interrupted } = await runBatch(ITEMS, { keepGoing, signal: idle }, failing);
  expect(lines.map(({ result }) => result)).toEqual(results);
  expect(lines[1]?.detail).toBe("it is broken");
  expect(interrupted).toBeUndefined();
});

test("runBatch runs at most the given number of items at once, completes these after a failure, and keeps the order of the lines", async () => {
  let [running, most] = [0, 0];
  const items = ["a", "b", "c", "d"].map((name) => ({ namespace: "ns", name }));
  const slow = Promise.withResolvers<void>();
  const { lines } = await runBatch(items, { keepGoing: false, signal: idle, parallel: 2 }, async (item) => {
    most = Math.max(most, ++running);
    try {
      if (item.name === "a") await slow.promise;
      return await failing(item);
    } finally {
      running--;
      if (item.name === "b") slow.resolve();
    }
  });
  expect([most, lines.map(({ name, result }) => `${name} ${result}`)]).toEqual([
    2,
    ["a Converted", "b Failed", "c NotTried", "d NotTried"],
  ]);
});

test("runBatch stops after an item that failed in part", async () => {
  const items = [
    { namespace: "ns", name: "a", names: ["a", "b"] },
    { namespace: "ns", name: "c" },
  ];
  const { lines } = await runBatch(items, { keepGoing: false, signal: idle }, async () => [
    { result: "Refused", detail: "", kind: "failed" as const },
    { result: "NotTried", detail: "", kind: "left" as const },
  ]);
  expect(lines.map(({ result }) => result)).toEqual(["Refused", "NotTried", "NotTried"]);
});

test("runBatch returns a line for each name of an item, and names the first if all fail for one reason", async () => {
  const items = [
    { namespace: "ns", name: "a", names: ["a", "b"] },
    { namespace: "ns", name: "c", names: ["c", "d"] },
  ];
  const { lines } = await runBatch(items, { keepGoing: true, signal: idle }, async ({ name }) => {
    if (name === "c") throw new Error("it is broken");
    return ["one", "two"].map((detail) => ({ result: "Converted", detail, kind: "done" as const }));
  });
  expect(lines.map(({ name, result, detail }) => [name, result, detail].join(" "))).toEqual([
    "a Converted one",
    "b Converted two",
    "c Failed it is broken",
    "d Failed with c",
  ]);
});

test("runBatch stops at an interruption, even with keepGoing", async () => {
  const stop = new AbortController();
  const batch = await runBatch(ITEMS, { keepGoing: true, signal: stop.signal }, async ({ name }) => {
    if (name === "b") stop.abort();
    stop.signal.throwIfAborted();
    return { result: "Converted", detail: "", kind: "done" };
  });
  expect(batch.lines.map(({ result }) => result)).toEqual(["Converted", "Interrupted", "NotTried"]);
  expect(batch.interrupted).toBeDefined();
});

test("formatBatch prints a table, the full message of each failure, and the number of items with each result", async () => {
  const { lines } = await runBatch(ITEMS, { keepGoing: false, signal: idle }, failing);
  expect(formatBatch({ width: 80, colour: false }, lines, "next\n")).toBe(
    [
      "NAMESPACE   SUBSCRIPTION   RESULT      DETAIL",
      "ns          a              Converted",
      "ns          b              Failed      it is broken",
      "ns          c              NotTried",
      "",
      "ns/b: it is broken",
      "",
      "1 Converted, 1 Failed, 1 NotTried",
      "next",
      "",
    ].join("\n"),
  );
});

test("requireOneOrAll requires either a name or --all", () => {
  expect(() => requireOneOrAll("convert", "a", false)).not.toThrow();
  expect(() => requireOneOrAll("convert", undefined, true)).not.toThrow();
  expect(() => requireOneOrAll("convert", undefined, false)).toThrow("use either a name or --all, such as olmv1 migrate convert --all");
  expect(() => requireOneOrAll("convert", "a", true)).toThrow("use either a name or --all");
});
