import { expect, test } from "vitest";
import { readScript } from "./shell.ts";
import { olmv1Arguments } from "./shownCommands.ts";

test.each<[shows: string, script: string, commands: string[][]]>([
  ["a comment and a line continuation", "olmv1 list \\\n  -o wide # all", [["olmv1", "list", "-o", "wide"]]],
  ["quotes, and an assignment before the command", "A=1 olmv1 x 'a b' \"c d\"", [["olmv1", "x", "a b", "c d"]]],
  ["pipes and lists", "a | b && c; d", [["a"], ["b"], ["c"], ["d"]]],
  ["redirections", "a 2>&1 > file <in >>more b", [["a", "b"]]],
  [
    "substitutions, also in quotes",
    'a <(b c) "x $(d e) y"',
    [
      ["d", "e"],
      ["b", "c"],
      ["a", "$(…)", "x $(…) y"],
    ],
  ],
  ["a subshell", "(cd a && b)", [["cd", "a"], ["b"]]],
])("readScript reads %s", (_, script, commands) => {
  expect(readScript(script).commands).toEqual(commands);
});

test("readScript returns the text of a here-document separately from the commands", () => {
  const { commands, documents } = readScript("kubectl apply -f - <<'EOF' && olmv1 list\nspec: it's\nEOF\nolmv1 get x\n");
  expect(commands).toEqual([
    ["kubectl", "apply", "-f", "-"],
    ["olmv1", "list"],
    ["olmv1", "get", "x"],
  ]);
  expect(documents).toEqual(["spec: it's\n"]);
});

test.each(["a 'b", 'a "b', "a $(b", "a <<EOF\nb\n"])(
  "readScript throws for an unclosed quote, substitution or here-document: %j",
  (script) => {
    expect(() => readScript(script)).toThrow(/is not (closed|terminated)/);
  },
);

test.each<[line: string, args: string[] | undefined]>([
  ["olmv1 list", ["list"]],
  ["kubectl olmv1 list", ["list"]],
  ["npm run -s olmv1 -- list -A", ["list", "-A"]],
  ["npm start -- --once", ["dev", "--once"]],
  ["node dist/olmv1.js rbac", ["rbac"]],
  ["kubectl get olmv1", undefined],
  ["olmv1x list", undefined],
])("olmv1Arguments reads %s", (line, args) => {
  expect(olmv1Arguments(line.split(" "))).toEqual(args);
});
