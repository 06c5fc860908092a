import { spawnSync } from "node:child_process";
import { Command } from "commander";
import { expect, test } from "vitest";
import { CommandTerminal } from "./cli/terminal.ts";
import { renderManPages } from "./manPages.ts";
import { olmv1 } from "./program.ts";

const pages = renderManPages(olmv1(new CommandTerminal({ out: () => undefined, err: () => undefined })));

test("renderManPages returns a page for olmv1 and for each command that is not hidden", () => {
  expect([...pages.keys()]).toEqual(expect.arrayContaining(["olmv1.1", "olmv1-tree.1", "olmv1-catalog.1", "olmv1-catalog-validate.1"]));
  expect([...pages.keys()].filter((name) => name.includes("__"))).toEqual([]);
});

test("a manual page contains the help in sections", () => {
  const page = pages.get("olmv1-cluster-upgrade-check.1") ?? "";
  const titles = [...page.matchAll(/^\.SH (.*)$/gm)].map(([, title]) => title);
  expect(titles).toEqual(["NAME", "SYNOPSIS", "OPTIONS", "NOTES", "EXAMPLES", "EXIT STATUS", "SEE ALSO"]);
  expect(page).toContain("olmv1 cluster\\-upgrade\\-check \\-\\-to 4.20 \\-o json\n");
  expect(page).toContain(".SH EXIT STATUS\n.TP\n.B 0\nno extension blocks the upgrade\n");
  expect(page).toContain(".SH SEE ALSO\nolmv1(1)\n");
});

test("renderManPages escapes man(7) commands in texts", () => {
  const program = new Command("p").description("'quoted' \\n").addHelpText("after", "\n.so /etc/passwd\n\nExamples:\n  .x\n  p -a\n");
  const page = renderManPages(program).get("p.1") ?? "";
  expect(page).toContain("p \\- \\&'quoted' \\en\n");
  expect(page).toContain("\n\\&.so /etc/passwd\n");
  expect(page).toContain(".nf\n\\&.x\np \\-a\n.fi\n");
});

test("mandoc lint reports no problem in any page", (context) => {
  if (spawnSync("mandoc", ["-h"]).error) context.skip("mandoc is not installed");
  for (const [name, page] of pages) {
    const { stdout } = spawnSync("mandoc", ["-T", "lint", "-W", "warning"], { input: page, encoding: "utf8" });
    expect([name, stdout.split("\n").filter((line) => !/missing date|^$/.test(line))]).toEqual([name, []]);
  }
});
