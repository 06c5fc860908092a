import { expect, test } from "vitest";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import { parseWords, type WhyNotOptions } from "./whyNot.ts";

const options = (given: Partial<WhyNotOptions> = {}): WhyNotOptions => ({ ...({} as ResolutionOptions), ...given });

test.for([
  [["hello", "1.2.0"], { either: "hello", version: "1.2.0" }],
  [["1.2.0", "hello"], { either: "hello", version: "1.2.0" }],
  [["v1.2.0", "hello"], { either: "hello", version: "v1.2.0" }],
  [["hello", "hello-operator.v1.2.0"], { either: "hello", version: "hello-operator.v1.2.0" }],
  [["1.0.0", "1.2.0"], { either: "1.0.0", version: "1.2.0" }],
] as const)("parseWords finds name and version in %j", ([words, want]) => {
  expect(parseWords(words, options())).toEqual(want);
});

test("parseWords accepts only a version when an option sets the extension", () => {
  expect(parseWords(["1.2.0"], options({ extension: "hello" }))).toEqual({ extension: "hello", version: "1.2.0" });
  expect(parseWords(["1.2.0", "p"], options({ filename: "x.yaml" }))).toEqual({ package: "p", version: "1.2.0" });
});

test.for([
  [[], {}],
  [["1.2.0"], {}],
  [["a", "1.2.0", "b"], {}],
] as const)("parseWords reports missing or extra words: %j", ([words, given]) => {
  expect(() => parseWords(words, options(given))).toThrow("specify an extension or package, and a version");
});

test("parseWords rejects --extension with --filename", () => {
  expect(() => parseWords(["1.2.0"], options({ extension: "a", filename: "b" }))).toThrow("use only one of");
});
