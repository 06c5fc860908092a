import { expect, test } from "vitest";
import { buildObjectName, buildUniqueName, computeContentHash } from "./objectNames.ts";

// Source: I-16 (operator-controller df2c201d internal/shared/util/hash and its regression goldens).
test.for<[value: unknown, hash: string]>([
  ["a", "1lu1qv1451mq7gv9upu1cx8ffffi07rel5xvbvvc44dh"],
  ["b", "1ija85ah4gd0beltpfhszipkxfyqqxhp94tf2mjfgq61"],
  [null, "2im0kl1kwvzn46sr4cdtkvmdzrlurvj51xdzhwdht8l0"],
  [{}, "16jfjhihxbzhfhs1k5mimq740kvioi98pfbea9q6qtf9"],
  [{ Str: "foobar", Num: 22, Obj: { Foo: "bar" }, Arr: [0, 1], B: true, N: null }, "gta1bt5sybll5qjqxdiekmjm7py93glrinmnrfb31fj"],
  [{ Str: "foobar", Num: 23, Obj: { Foo: "bar" }, Arr: [0, 1], B: true, N: null }, "1ftn1z2ieih8hsmi2a8c6mkoef6uodrtn4wtt1qapioh"],
])("computeContentHash matches the hash of Go for %j", ([value, hash]) => {
  expect(computeContentHash(value)).toBe(hash);
});

test("computeContentHash depends on the order of fields and escapes text like Go", () => {
  expect(computeContentHash({ a: 1, b: 2 })).not.toBe(computeContentHash({ b: 2, a: 1 }));
  expect(computeContentHash("<")).not.toBe(computeContentHash("\\u003c"));
});

test.for<[base: string, suffix: string, name: string]>([
  [
    "my.object.thing.has.a.really.really.really.really.really.long.name",
    "suffix",
    "my.object.thing.has.a.really.really.really.really.really-suffix",
  ],
  ["short", "suffix", "short-suffix"],
  ["x".repeat(56), "suffix", `${"x".repeat(56)}-suffix`],
  ["x".repeat(57), "suffix", `${"x".repeat(57)}-suffix`],
  ["x".repeat(58), "suffix", `${"x".repeat(56)}-suffix`],
  ["x", "s".repeat(70), `-${"s".repeat(70)}`],
])("buildObjectName joins %s and %s", ([base, suffix, name]) => {
  expect(buildObjectName(base, suffix)).toBe(name);
});

test("buildUniqueName joins the truncated base and the hash", () => {
  const name = buildUniqueName("argocd-operator.v0.6.0-argocd-operator-controller-manager", "a");
  expect(name).toBe("argocd-operator.v0-1lu1qv1451mq7gv9upu1cx8ffffi07rel5xvbvvc44dh");
  expect(name).toHaveLength(63);
});
