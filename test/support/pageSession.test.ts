import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compareOutput, PageSession, readPageSteps } from "./pageSession.ts";
import { TempFolder } from "./tempFolder.ts";

describe("compareOutput", () => {
  test.for<[what: string, page: string, real: string]>([
    ["the same", "a\nb", "a\n\nb\n"],
    ["other widths of columns", "NAME   AGE\nx   3s", "NAME AGE\nx 1m5s"],
    [
      "another address, digest, duration and folder",
      "127.0.0.1:1 sha256:0123456789 2 s /tmp/a-b",
      "127.0.0.1:99 sha256:abcdef0123 31.5 s /tmp/c",
    ],
    ["any text for …", "Pod x-…: ready", "Pod x-12: ready"],
    ["any lines for a line of …", "a\n…\nd", "a\nb\nc\nd"],
    ["any last lines for …", "a\n…", "a\nb"],
  ])("compareOutput accepts %s", ([, page, real]) => {
    expect(compareOutput(page, real)).toBeUndefined();
  });

  test.for<[what: string, page: string, real: string, difference: string]>([
    ["another text", "a b", "a c", 'the page shows "a b", the output has "a c"'],
    ["a missing line", "a\nb", "a", 'the page shows "b", the output has "no further line"'],
    ["an additional line", "a", "a\nb", 'the page omits "b"'],
    ["a line that … does not lead to", "…\nz", "a\nb", 'the page shows "z", the output has "a"'],
  ])("compareOutput rejects %s", ([, page, real, difference]) => {
    expect(compareOutput(page, real)).toBe(difference);
  });
});

test("readPageSteps returns each block of commands with the output block that follows it", () => {
  using folder = new TempFolder();
  const page = "```sh\na\n```\n\nText.\n\n```text\nout\n```\n\n```\nother\n```\n\n```sh\nb\nc\n```\n";
  const path = join(folder.write("docs", { "page.md": page }), "page.md");
  expect(readPageSteps(path)).toEqual([
    { line: 1, commands: "a", output: "out" },
    { line: 15, commands: "b\nc", output: undefined },
  ]);
});

test("PageSession keeps shell variables and the current folder between steps, and throws when a command fails", async () => {
  using folder = new TempFolder();
  const session = new PageSession(folder.write("scripts", {}), folder.path, { PATH: process.env["PATH"] });
  await session.run("X=1; mkdir inner; cd inner");
  expect((await session.run('echo "$X $(basename "$PWD")"')).trim()).toBe("1 inner");
  await expect(session.run("echo before; false; echo after")).rejects.toThrow(/a command failed:[^]*--- output\nbefore\n$/);
});
