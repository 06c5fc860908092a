import { assert, bigInt, constantFrom, nat, option, property, tuple } from "fast-check";
import { expect, test } from "vitest";
import { normalizeQuantity } from "./quantity.ts";

// Source: k8s.io/apimachinery v0.36.3 pkg/api/resource, json.Unmarshal followed by json.Marshal.
test.for<[text: string, canonical: string]>([
  ["0", "0"],
  ["0.5", "500m"],
  [".5", "500m"],
  ["5.", "5."],
  ["1.500", "1.500"],
  ["1.5", "1500m"],
  ["+5", "+5"],
  ["-0.5Gi", "-512Mi"],
  ["1024Mi", "1Gi"],
  ["1000Mi", "1000Mi"],
  ["1028Mi", "1028Mi"],
  ["1023Ki", "1023Ki"],
  ["0.1Gi", "107374182400m"],
  ["1000m", "1"],
  ["100m", "100m"],
  ["2000k", "2M"],
  ["1e3", "1e3"],
  ["1000e3", "1e6"],
  ["1e-10", "1e-9"],
  ["0.0000000001", "1n"],
  ["9223372036854775808Ki", "9223372036854775807"],
  ["99999999999999999999", "99999999999999999999"],
  ["000Mi", "0"],
  [" 1Gi ", "1Gi"],
  [".", "0"],
])("normalizeQuantity of %s returns %s", ([text, canonical]) => {
  expect(normalizeQuantity(text)).toBe(canonical);
});

const FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
test.for<[text: string, error: string]>([
  ["", FORMAT],
  ["abc", FORMAT],
  ["1 Gi", FORMAT],
  ["1.1.1", FORMAT],
  ["1K", "unable to parse quantity's suffix"],
  ["1ee", "unable to parse quantity's suffix"],
  ["1e999999999", "unable to parse quantity's suffix"],
  ["Pi", "unable to parse numeric part of quantity"],
  ["9".repeat(257), "quantity is too long: 257 characters, maximum 256"],
])("normalizeQuantity rejects %s", ([text, error]) => {
  expect(() => normalizeQuantity(text)).toThrow(new Error(error));
});

const quantity = tuple(
  constantFrom("", "-", "+"),
  bigInt({ min: 0n, max: 10n ** 20n }),
  option(nat(999_999)),
  constantFrom("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-3"),
).map(([sign, whole, fraction, suffix]) => `${sign}${whole}${fraction === null ? "" : `.${fraction}`}${suffix}`);

test("normalizeQuantity does not change canonical text", () => {
  assert(
    property(quantity, (text) => {
      const once = normalizeQuantity(text);
      expect(normalizeQuantity(once)).toBe(once);
    }),
  );
});
