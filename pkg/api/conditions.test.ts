import * as fc from "fast-check";
import { expect, test } from "vitest";
import { boundMessage, findCondition, listChangedConditions, sanitizeNetworkError, setCondition } from "./conditions.ts";
import type { Condition } from "./k8s.ts";

const EARLIER = "2026-01-01T00:00:00Z";
const NOW = "2026-01-02T00:00:00Z";
const MAX_BYTES = 32_768;
const SUFFIX = "\n\n... [message truncated]";

function condition(over: Partial<Condition> = {}): Condition {
  return {
    type: "Progressing",
    status: "True",
    reason: "Retrying",
    message: "m",
    observedGeneration: 1,
    lastTransitionTime: EARLIER,
    ...over,
  };
}

test("setCondition appends a new condition with the current time", () => {
  const { lastTransitionTime: _, ...next } = condition({ type: "Installed" });
  expect(setCondition([condition()], next, NOW)).toEqual([condition(), { ...next, lastTransitionTime: NOW }]);
  expect(setCondition(undefined, next, NOW)).toEqual([{ ...next, lastTransitionTime: NOW }]);
});

test.for([
  { change: { status: "False" }, time: NOW },
  { change: { status: "Unknown" }, time: NOW },
  { change: { reason: "Succeeded" }, time: EARLIER },
  { change: { message: "other" }, time: EARLIER },
  { change: { observedGeneration: 2 }, time: EARLIER },
  { change: {}, time: EARLIER },
] as const)("setCondition sets lastTransitionTime to $time when the change is $change", ({ change, time }) => {
  const before = [condition({ type: "A" }), condition(), condition({ type: "B" })];
  const { lastTransitionTime: _, ...next } = condition(change);
  const after = setCondition(before, next, NOW);
  expect(after.map(({ type }) => type)).toEqual(["A", "Progressing", "B"]);
  expect(findCondition(after, "Progressing")).toEqual({ ...next, lastTransitionTime: time });
  expect(before[1]).toEqual(condition());
});

test("findCondition returns undefined for a missing type", () => {
  expect(findCondition([condition()], "Installed")).toBeUndefined();
  expect(findCondition(undefined, "Installed")).toBeUndefined();
});

// Source: operator-controller df2c201d internal/shared/util/error SanitizeNetworkError tests.
test.for([
  ["", ""],
  ["some random error", "some random error"],
  [
    "dial tcp: lookup docker-registry.operator-controller.svc on 10.96.0.10:53: read udp 10.244.0.8:46753->10.96.0.10:53: i/o timeout",
    "dial tcp: lookup docker-registry.operator-controller.svc on 10.96.0.10:53: i/o timeout",
  ],
  ["lookup registry.example.com on 10.96.0.10:53: no such host", "lookup registry.example.com on 10.96.0.10:53: no such host"],
  [
    "dial tcp 10.0.0.1:52341->192.168.1.100:443: connect: connection refused",
    "dial tcp 10.0.0.1:52341->192.168.1.100:443: connect: connection refused",
  ],
  ["read tcp 10.0.0.1:52341->192.168.1.100:443: connection reset by peer", "connection reset by peer"],
  ["write tcp 10.0.0.1:52341->192.168.1.100:443: broken pipe", "broken pipe"],
  ["read udp [::1]:52341->[fd00::1]:53: i/o timeout", "i/o timeout"],
  ["a: read tcp 1.2.3.4:1->1.2.3.4:2: b: write tcp 1.2.3.4->1.2.3.4", "a: b: "],
] as const)("sanitizeNetworkError changes %j to %j", ([text, want]) => {
  expect(sanitizeNetworkError(text)).toBe(want);
  expect(boundMessage(text)).toBe(want);
});

test.for([
  { text: "terminal error: unknown source type", want: "unknown source type", kept: "terminal error: unknown source type" },
  {
    text: "source catalog content: terminal error: bad",
    want: "source catalog content: bad",
    kept: "source catalog content: terminal error: bad",
  },
  { text: "the terminal error: of a line", want: "the terminal error: of a line", kept: "the terminal error: of a line" },
])("boundMessage turns $text into $want", ({ text, want, kept }) => {
  expect(boundMessage(text)).toBe(want);
  expect(boundMessage(text, { keepTerminal: true })).toBe(kept);
});

test.for([
  { what: "ASCII", character: "x", kept: MAX_BYTES - SUFFIX.length },
  { what: "characters of two bytes", character: "é", kept: Math.floor((MAX_BYTES - SUFFIX.length) / 2) },
  { what: "characters of three bytes", character: "あ", kept: Math.floor((MAX_BYTES - SUFFIX.length) / 3) },
  { what: "surrogate pairs", character: "😀", kept: Math.floor((MAX_BYTES - SUFFIX.length) / 4) },
])("boundMessage does not split characters when it truncates a long message of $what", ({ character, kept }) => {
  const message = boundMessage(character.repeat(MAX_BYTES + 1));
  expect(message.length).toBe(character.length * kept + SUFFIX.length);
  expect(message.startsWith(character.repeat(kept)) && message.endsWith(SUFFIX)).toBe(true);
});

test("boundMessage keeps 32768 bytes and truncates longer messages", () => {
  expect(boundMessage("x".repeat(MAX_BYTES)) === "x".repeat(MAX_BYTES)).toBe(true);
  const cut = boundMessage("x".repeat(MAX_BYTES + 1));
  expect(Buffer.byteLength(cut)).toBe(MAX_BYTES);
  expect(cut.endsWith(SUFFIX)).toBe(true);
});

test("boundMessage returns valid text within the limit for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), fc.integer({ min: 1, max: 3_000 }), (text, times) => {
      const message = boundMessage(text.repeat(times));
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(MAX_BYTES);
      expect(message.isWellFormed()).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("listChangedConditions ignores times, and compares status, reason and message", () => {
  const base = { status: "True", reason: "Succeeded", message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" } as const;
  const before = ["A", "B", "C", "D"].map((type) => ({ ...base, type }));
  const after = [
    { ...base, type: "A", lastTransitionTime: "2026-01-02T00:00:00Z", observedGeneration: 2 },
    { ...base, type: "B", status: "False" as const },
    { ...base, type: "C", reason: "Failed" },
    { ...base, type: "D", message: "n" },
    { ...base, type: "E" },
  ];
  const changed = listChangedConditions(before, after).map(({ condition, before: old }) => [condition.type, old?.type]);
  expect(changed).toEqual([
    ["B", "B"],
    ["C", "C"],
    ["D", "D"],
    ["E", undefined],
  ]);
  expect(listChangedConditions(undefined, undefined)).toEqual([]);
});
