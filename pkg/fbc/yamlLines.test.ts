import { expect, test } from "vitest";
import { YamlLines, type YamlPath } from "./yamlLines.ts";

const TEXT = `# comment
---
a:
  b:
  - x: 1
    y: 2
  - {x: 3,
     y: 4}
c: |
  text
"d.e": &anchor [1,
  2]
f: *anchor
---
---
z: 1
`;

test.for<[document: number, path: YamlPath, line: number | undefined]>([
  [0, [], 3],
  [0, ["a", "b", 0, "y"], 6],
  [0, ["a", "b", 1], 7],
  [0, ["a", "b", 1, "y"], 8],
  [0, ["c"], 9],
  [0, ["d.e", 1], 12],
  [0, ["f"], 13],
  [0, ["a", "nothing", "below"], 3],
  [0, ["a", "b", 7], 4],
  [0, ["a", "b", "x"], 4],
  [1, ["z"], 16],
  [2, [], undefined],
])("in document %i, %j stands on line %s", ([document, path, line]) => {
  expect(new YamlLines(TEXT).lineOf(document, path)).toBe(line);
});

test("documents that hold nothing do not count", () => {
  expect(new YamlLines(TEXT).documents).toBe(2);
});

test("JSON has lines too, what cannot be parsed has none", () => {
  expect(new YamlLines('{\n  "a": {\n    "b": 1\n  }\n}').lineOf(0, ["a", "b"])).toBe(3);
  expect(new YamlLines("a: [").lineOf(0, ["a"])).toBeUndefined();
});
