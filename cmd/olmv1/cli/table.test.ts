import { expect, test } from "vitest";
import { measureWidth } from "./columns.ts";
import { formatStyled, formatTable } from "./table.ts";

const HEAD = ["NAME", "VERSION", "DESCRIPTION"];
const ROWS = [
  ["argocd-operator", "0.12.0", "GitOps for Kubernetes, and more than would fit"],
  ["b", "1", ""],
];

test.for<[string, number, string[]]>([
  [
    "no column is cut when the width is unlimited",
    Number.POSITIVE_INFINITY,
    [
      "NAME              VERSION   DESCRIPTION",
      "argocd-operator   0.12.0    GitOps for Kubernetes, and more than would fit",
      "b                 1",
    ],
  ],
  [
    "the widest column is cut first",
    50,
    ["NAME              VERSION   DESCRIPTION", "argocd-operator   0.12.0    GitOps for Kubernetes…", "b                 1"],
  ],
  [
    "two columns are cut when the terminal is narrow",
    34,
    ["NAME         VERSION   DESCRIPTION", "argocd-op…   0.12.0    GitOps for…", "b            1"],
  ],
])("formatTable fits the table to the terminal: %s", ([, width, want]) => {
  const text = formatTable({ width, colour: false }, HEAD, ROWS);
  expect(text.split("\n")).toEqual([...want, ""]);
});

test("formatTable does not exceed the width unless the column heads are wider", () => {
  for (let width = 30; width < 90; width++)
    for (const line of formatTable({ width, colour: false }, HEAD, ROWS).split("\n"))
      expect(measureWidth(line)).toBeLessThanOrEqual(Math.max(width, 35));
});

test("formatTable colors cells only when the terminal has colors, and colors do not change column widths", () => {
  const rows = [[{ text: "x", mood: "bad" as const }, "1"]];
  expect(formatTable({ width: 80, colour: false }, ["A", "B"], rows)).toBe("A   B\nx   1\n");
  expect(formatTable({ width: 80, colour: true }, ["A", "B"], rows)).toBe("A   B\n\u001B[31mx\u001B[39m   1\n");
  expect(formatStyled({ colour: true }, { text: "x" })).toBe("x");
});

test("formatTable escapes control characters in names", () => {
  expect(formatTable({ width: 80, colour: false }, ["A"], [["\u001B[2Jx\ny"]])).toBe("A\n\\u{1b}[2Jx y\n");
});

test("formatTable aligns columns that contain wide letters", () => {
  expect(
    formatTable(
      { width: 80, colour: false },
      ["A", "B"],
      [
        ["日本", "1"],
        ["x", "2"],
      ],
    ),
  ).toBe("A      B\n日本   1\nx      2\n");
});
