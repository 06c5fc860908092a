import { expect, test } from "vitest";
import { treeText } from "./treeText.ts";

test("a tree is printed a line a node, with lines that show what hangs on what", () => {
  const leaf = (label: string) => ({ label, children: [] });
  const root = {
    label: "x",
    children: [
      { label: "a", children: [{ label: "b", children: [leaf("c"), leaf("d")] }] },
      { label: "e", children: [leaf("f")] },
    ],
  };
  expect(treeText(root).split("\n")).toEqual(["x", "├─ a", "│  └─ b", "│     ├─ c", "│     └─ d", "└─ e", "   └─ f", ""]);
});

test("what an author wrote cannot move the cursor or begin a line", () => {
  expect(treeText({ label: "a\u001b[2J\nb", children: [] })).toBe("a\\u{1b}[2J b\n");
});
