import { expect, test } from "vitest";
import type { ExtensionRow } from "../../../../../pkg/consoleapi/live.ts";
import { countMark, countValues, filterExtensions, hasFilters, parseFilters, writeFilters } from "./extensionFilters.ts";

function row(name: string, change: Partial<ExtensionRow> = {}): ExtensionRow {
  return {
    name,
    uid: name,
    resourceVersion: "1",
    package: `${name}-operator`,
    namespace: "system",
    serviceAccount: "installer",
    channels: [],
    approval: "Automatic",
    state: { text: "Ready", mood: "good" },
    update: { text: "" },
    hasUpdate: false,
    deprecated: false,
    holds: [],
    problems: [],
    ...change,
  };
}

const ROWS = [
  row("kafka", { state: { text: "Unhealthy", mood: "bad" }, catalog: "community", problems: ["Unhealthy"] }),
  row("redis", { catalog: "community", hasUpdate: true, version: "1.4.2" }),
  row("gpu", { attention: { severity: "error", sentence: "The catalog cannot be read.", next: [] } }),
];

test.for([
  ["", ["kafka", "redis", "gpu"]],
  ["q=KAFKA", ["kafka"]],
  ["q=catalog+read", ["gpu"]],
  ["q=1.4", ["redis"]],
  ["state=Ready", ["redis", "gpu"]],
  ["state=Ready&state=Unhealthy&catalog=community", ["kafka", "redis"]],
  ["only=update", ["redis"]],
  ["only=attention&only=update", []],
  ["only=unknown", ["kafka", "redis", "gpu"]],
  ["package=gpu-operator", ["gpu"]],
] as const)("filterExtensions selects the rows for %j", ([query, want]) => {
  expect(filterExtensions(ROWS, parseFilters(new URLSearchParams(query))).map(({ name }) => name)).toEqual(want);
});

test("writeFilters keeps other parameters, and writes what parseFilters parses", () => {
  const filters = parseFilters(new URLSearchParams("q=a+b&state=Ready&state=Pending&only=update"));
  const params = writeFilters(new URLSearchParams("sort=-name&q=old"), filters);
  expect(params.toString()).toBe("sort=-name&q=a+b&state=Ready&state=Pending&only=update");
  expect(parseFilters(params)).toEqual(filters);
});

test("hasFilters ignores the order and the columns", () => {
  expect(hasFilters(parseFilters(new URLSearchParams("sort=-name&columns=state")))).toBe(false);
  expect(hasFilters(parseFilters(new URLSearchParams("only=update")))).toBe(true);
});

test("countValues counts values, and keeps selected values without rows", () => {
  expect(countValues(ROWS, "catalog", ["gone"])).toEqual([
    { value: "community", count: 2 },
    { value: "gone", count: 0 },
  ]);
  expect(countMark(ROWS, "attention")).toBe(1);
});
