import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findSimilarNames, type SearchedTexts, scoreRelevance } from "./search.ts";

const NOTHING: SearchedTexts = { name: "p", displayNames: [], keywords: [], kinds: [], providers: [], descriptions: [] };

// Source: D-28, D-16 (search results and their order).
describe("scoreRelevance", () => {
  const ORDER: [string, Partial<SearchedTexts>][] = [
    ["the name", { name: "kafka" }],
    ["the display name", { displayNames: ["Kafka"] }],
    ["a word of the name", { name: "kafka-operator" }],
    ["a kind", { kinds: ["Kafka"] }],
    ["a word of the display name", { displayNames: ["Apache Kafka"] }],
    ["a part of the name", { name: "strimzikafkas" }],
    ["a keyword of several words", { keywords: ["kafka streams"] }],
    ["a part of a kind", { kinds: ["KafkaTopic"] }],
    ["the provider", { providers: ["Kafka"] }],
    ["a description", { descriptions: ["It runs Kafka."] }],
    ["a part of a word of a description", { descriptions: ["kafkaesque"] }],
  ];
  test.for(ORDER.slice(1).map(([what, texts], at) => [what, ORDER[at]![0], texts, ORDER[at]![1]] as const))(
    "scoreRelevance ranks a match in %s lower than a match in %s",
    ([, , texts, before]) => {
      const [low, high] = [texts, before].map((some) => scoreRelevance({ ...NOTHING, ...some }, ["KAFKA"]) ?? 0);
      expect(low).toBeGreaterThan(0);
      expect(high).toBeGreaterThan(low ?? 0);
    },
  );

  test("scoreRelevance adds the scores of several matches", () => {
    const once = scoreRelevance({ ...NOTHING, keywords: ["kafka"] }, ["kafka"]) ?? 0;
    expect(scoreRelevance({ ...NOTHING, keywords: ["kafka"], kinds: ["Kafka"] }, ["kafka"])).toBeGreaterThan(once);
  });
});

test("scoreRelevance requires all words of the query, and matches every package when the query has no words", () => {
  const texts = { ...NOTHING, name: "kafka", descriptions: ["streams of events"] };
  expect(scoreRelevance(texts, ["kafka", "events"])).toBeGreaterThan(0);
  expect(scoreRelevance(texts, ["kafka", "nothing"])).toBeUndefined();
  expect(scoreRelevance(texts, [])).toBe(0);
});

test("scoreRelevance ignores the order, case and repetition of words", () => {
  const word = fc
    .string({ minLength: 1, maxLength: 6 })
    .map((text) => text.toLowerCase())
    .filter((text) => text.toUpperCase().toLowerCase() === text);
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), fc.string(), (words, name) => {
      const texts = { ...NOTHING, name, descriptions: words.slice(1) };
      const once = scoreRelevance(texts, words);
      expect(scoreRelevance(texts, words.toReversed())).toBe(once);
      expect(
        scoreRelevance(
          texts,
          [...words, ...words].map((one) => one.toUpperCase()),
        ),
      ).toBe(once);
    }),
  );
});

test.for<[string, string[]]>([
  ["argocd", ["argocd-operator", "argocd-helm"]],
  ["lighthose-operator", ["lighthouse-operator"]],
  ["Lighthouse-Operator", ["lighthouse-operator"]],
  ["operator", ["argocd-operator", "lighthouse-operator"]],
  ["zzzz", []],
  ["", []],
])("findSimilarNames for %s returns %j", ([unknown, want]) => {
  expect(findSimilarNames(unknown, ["lighthouse-operator", "argocd-operator", "kafka", "argocd-helm"]).toSorted()).toEqual(want.toSorted());
});

test("findSimilarNames skips very long names", () => {
  expect(findSimilarNames("a".repeat(100_000), ["b".repeat(100_000), "a"])).toEqual(["a"]);
});
