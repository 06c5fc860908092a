import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TerminalError } from "../errors/errors.ts";
import { CONFIG_LIMITS, checkConfigSize, findConfigSizeFault } from "./configLimits.ts";

const PREFIX = "invalid ClusterExtension configuration: invalid configuration: ";
const VALUES = `${PREFIX}it has more than 10000 values: `;
const BYTES = `${PREFIX}it is larger than 262144 bytes as JSON: `;
const DEPTH = `${PREFIX}it is nested more than 64 levels deep: `;

const env = (count: number, value = "v") => Array.from({ length: count }, (_, i) => ({ name: `NAME_${i}`, value }));
const map = (count: number, value: unknown = "v") => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, value]));
const nested = (levels: number): unknown => Array.from({ length: levels }).reduce((inner: unknown) => ({ a: inner }), 1);

test.for<[what: string, config: unknown, message: string | undefined]>([
  ["nothing", undefined, undefined],
  ["a text", "text", undefined],
  ["ten times 300 environment variables", { deploymentConfig: { env: env(3_000) } }, undefined],
  ["ten times 300 annotations", { deploymentConfig: { annotations: map(3_000, "x".repeat(60)) } }, undefined],
  ["as many values as allowed", { a: Array.from({ length: 9_998 }, () => 1) }, undefined],
  ["one value more", { a: Array.from({ length: 9_999 }, () => 1) }, `${VALUES}field "a" has 9999 items`],
  ["environment variables", { deploymentConfig: { env: env(100_000) } }, `${VALUES}field "deploymentConfig.env" has 100000 items`],
  [
    "empty items",
    { deploymentConfig: { env: Array.from({ length: 20_000 }, () => ({})) } },
    `${VALUES}field "deploymentConfig.env" has 20000 items`,
  ],
  ["annotations", { deploymentConfig: { annotations: map(20_000) } }, `${VALUES}field "deploymentConfig.annotations" has 20000 fields`],
  ["unknown fields", map(20_000), `${VALUES}it has 20000 fields`],
  ["a list", Array.from({ length: 20_000 }, () => 1), `${VALUES}it has 20000 items`],
  ["as many bytes as allowed", "x".repeat(262_142), undefined],
  ["one byte more", { a: "x".repeat(262_137) }, `${BYTES}field "a" has 262139 bytes`],
  ["a text far above the limit", { a: [{ b: "x".repeat(3_000_000) }] }, `${BYTES}field "a.0.b" has 3000000 bytes`],
  ["a text that JSON escapes", { a: "\u0001".repeat(50_000) }, `${BYTES}field "a" has 300002 bytes`],
  ["a long name", { ["x".repeat(300_000)]: 1 }, `${BYTES}field "${"x".repeat(200)}…" has 300000 bytes`],
  ["many texts", { deploymentConfig: { env: env(1_000, "x".repeat(300)) } }, `${BYTES}field "deploymentConfig.env" has 1000 items`],
  ["as many levels as allowed", nested(64), undefined],
  ["one level more", nested(65), `${DEPTH}field "${"a.".repeat(62)}a"`],
  ["many levels", nested(100_000), `${DEPTH}field "${"a.".repeat(62)}a"`],
])("checkConfigSize checks %s", ([, config, message]) => {
  const check = () => checkConfigSize(config);
  if (message === undefined) return expect(check).not.toThrow();
  expect(check).toThrow(new TerminalError("InvalidConfiguration", message));
});

test("findConfigSizeFault accepts a configuration only if its JSON, values and levels are within the limits", () => {
  const measure = (value: unknown): { values: number; depth: number } => {
    if (typeof value !== "object" || value === null) return { values: 1, depth: 0 };
    const inner = Object.values(value).map(measure);
    return { values: inner.reduce((sum, { values }) => sum + values, 1), depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)) };
  };
  const part = fc.oneof(
    fc.jsonValue({ maxDepth: 5 }),
    fc.nat(12_000).map((n) => map(n, 1)),
    fc.nat(140_000).map((n) => "é".repeat(n)),
    fc.nat(70).map(nested),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 3 }), (config) => {
      const { values, depth } = measure(config);
      const isWithin =
        Buffer.byteLength(JSON.stringify(config)) <= CONFIG_LIMITS.bytes && values <= CONFIG_LIMITS.values && depth <= CONFIG_LIMITS.depth;
      expect(findConfigSizeFault(config) === undefined).toBe(isWithin);
    }),
    { numRuns: 200 },
  );
});

test("findConfigSizeFault stops counting at the limit", () => {
  let read = 0;
  const counted = new Proxy(
    Array.from({ length: 1_000_000 }, () => 1),
    { get: (list, name, receiver) => (read++, Reflect.get(list, name, receiver) as unknown) },
  );
  expect(findConfigSizeFault({ a: counted })?.where).toBe('field "a" has 1000000 items');
  expect(read).toBeLessThan(CONFIG_LIMITS.values + 10);
});
