import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../../test/support/runCli.ts";
import { getKeptLength, splitLine } from "./complete.ts";

const NO_FILES = ":4";

async function proposed(line: string, ...more: string[]): Promise<string[]> {
  const { code, out, err } = await runCli(["__complete", ...more, "--line", `olmv1 ${line}`]);
  expect([code, err]).toEqual([0, ""]);
  return out.trimEnd().split("\n");
}

async function words(line: string, ...more: string[]): Promise<string[]> {
  return (await proposed(line, ...more)).map((text) => text.split("\t")[0] ?? "");
}

test.for<[what: string, line: string, want: string[]]>([
  ["commands with a prefix", "res", ["resolve", "restore", NO_FILES]],
  ["no hidden commands", "__c", [NO_FILES]],
  ["subcommands", "bundle ", ["validate", "render", "config-schema", "build", "push", "try", "rbac", NO_FILES]],
  ["options", "tree x --k", ["--kubeconfig", NO_FILES]],
  ["no option that is given already", "tree --kubeconfig a --k", [NO_FILES]],
  ["choices of an option", "resolve x -o j", ["json", "jsonpath=", NO_FILES]],
  ["choices after an equals sign", "resolve x --output=y", ["--output=yaml", ":4"]],
  ["choices after a short option", "resolve x -oy", ["-oyaml", NO_FILES]],
  ["choices of an argument", "completion z", ["zsh", NO_FILES]],
  ["arguments after two dashes", "completion -- f", ["fish", NO_FILES]],
  ["a path for an option", "tree x --kubeconfig ", [":0"]],
  ["a folder", "catalog validate ", [":16"]],
  ["nothing after the last argument", "tree x y", [NO_FILES]],
])("__complete proposes %s", async ([, line, want]) => {
  expect(await words(line)).toEqual(want);
});

test.for<[what: string, line: string, want: string[]]>([
  ["packages", "catalog skip test/cases/fbc-edit/catalog ", ["etcd", "queue", NO_FILES]],
  ["bundles of a package", "catalog promote test/cases/fbc-edit/catalog queue queue.v1.0", ["queue.v1.0.0", "queue.v1.0.1", NO_FILES]],
  ["channels of a package", "catalog set-default-channel test/cases/fbc-edit/catalog etcd ", ["candidate", "stable", NO_FILES]],
  ["nothing for a missing folder", "catalog skip test/cases/nowhere ", [NO_FILES]],
])("__complete with a catalog folder proposes %s", async ([, line, want]) => {
  expect(await words(line)).toEqual(want);
});

test("__complete omits names with a special meaning in a shell, and names that look like options", async () => {
  const folder = await mkdtemp(join(tmpdir(), "olmv1-completion-"));
  const names = ["plain", "$(touch x)", "`id`", "a;b", "a b", "a\tb", "a\nb", "~root", "--yes", "-n", "*", "a=b", "'", "\u001B[2J"];
  const metas = names.map((name) => JSON.stringify({ schema: "olm.package", name, defaultChannel: "stable" }));
  await writeFile(join(folder, "catalog.json"), metas.join("\n"));
  expect(await words(`catalog skip ${folder} `)).toEqual(["plain", NO_FILES]);
  await rm(folder, { recursive: true });
});

test("__complete prints the description of a command after its name", async () => {
  expect(await proposed("whi")).toEqual([NO_FILES]);
  expect(await proposed("why")).toEqual([expect.stringMatching(/^why-not\tExplain why a version/), NO_FILES]);
});

test("__complete with --breaks returns only the part of a word after the last word break", async () => {
  expect(await words("resolve x --output=y", "--breaks", " =:")).toEqual(["yaml", NO_FILES]);
});

test("__complete accepts separate words instead of one line, as other shells and kubectl pass", async () => {
  expect((await runCli(["__complete", "resolve", "x", "--out"])).out).toMatch(/^--output\t.*\n:4\n$/);
  expect((await runCli(["__complete", "--", "resolve", "x", "--out"])).out).toMatch(/^--output\t.*\n:4\n$/);
  expect((await runCli(["__complete", ""])).out).toContain("resolve\t");
});

test("__complete proposes no names when the cluster does not respond", async () => {
  expect(await words("tree ")).toEqual([NO_FILES]);
});

test.for<[string, string[]]>([
  ["", [""]],
  ["a ", ["a", ""]],
  ["a  b", ["a", "b"]],
  [`a "b c" 'd"e' f\\ g`, ["a", "b c", `d"e`, "f g"]],
  [`a "b`, ["a", "b"]],
  [`a '' b`, ["a", "", "b"]],
])("splitLine splits %s", ([line, want]) => {
  expect(splitLine(line)).toEqual(want);
});

test.for<[string, string, number]>([
  ["--output=js", " =:", 9],
  ["quay.io/a:b", "=:", 10],
  ["plain", " =:", 0],
  ["--output=js", "", 0],
])("getKeptLength of %s with word breaks '%s' returns %s", ([word, breaks, want]) => {
  expect(getKeptLength(word, breaks)).toBe(want);
});
