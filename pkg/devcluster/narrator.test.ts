import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { formatElapsed, Narrator } from "./narrator.ts";

function narratorOf(canReplace: boolean): { narrator: Narrator; printed: () => string } {
  let text = "";
  const narrator = new Narrator((piece) => (text += piece), canReplace);
  return { narrator, printed: () => text };
}

test.for([
  [0, "0.0 s"],
  [3_240, "3.2 s"],
  [59_900, "59.9 s"],
  [59_960, "1 min 0 s"],
  [119_700, "2 min 0 s"],
  [312_000, "5 min 12 s"],
] as const)("formatElapsed formats %i ms as %s", ([ms, want]) => {
  expect(formatElapsed(ms)).toBe(want);
});

test("Narrator prints a stage with its heading, its lines and its duration", async () => {
  const { narrator, printed } = narratorOf(false);
  const result = await narrator.stage("Adding a catalog", () => {
    narrator.print("user", "applied ClusterCatalog x");
    return Promise.resolve(7);
  });
  expect(result).toBe(7);
  expect(stripVTControlCharacters(printed())).toMatch(/^\nAdding a catalog\nuser {6}applied ClusterCatalog x\ndone {6}after \d+\.\d s\n$/);
});

test("Narrator overwrites the progress line on a terminal, and prints separate lines elsewhere", () => {
  const onTerminal = narratorOf(true);
  onTerminal.narrator.progress("build", "compiled 1 of 2");
  onTerminal.narrator.progress("build", "compiled 2 of 2");
  onTerminal.narrator.print("build", "done");
  expect(onTerminal.printed()).toBe("build     compiled 1 of 2\r\u001B[Kbuild     compiled 2 of 2\r\u001B[Kbuild     done\n");
  const inLog = narratorOf(false);
  inLog.narrator.progress("build", "compiled 1 of 2");
  expect(inLog.printed()).toBe("build     compiled 1 of 2\n");
});

test("Narrator reports a wait only after a second, and not at every poll", () => {
  const { narrator, printed } = narratorOf(true);
  narrator.waiting("until x is ready", 500);
  expect(printed()).toBe("");
  narrator.waiting("until x is ready", 1_500);
  narrator.waiting("until x is ready", 1_600);
  expect(printed()).toBe("wait      until x is ready (1.5 s)");
});

test("Narrator prints a known log message of a server once, even if the server repeats the message", () => {
  const { narrator, printed } = narratorOf(false);
  const line = { msg: "extension removed", object: "hello" };
  narrator.hear(line);
  narrator.hear(line);
  narrator.hear({ msg: "something else" });
  expect(stripVTControlCharacters(printed())).toBe("status    hello: removed\n");
});
