import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { readConfigFile } from "./inputFiles.ts";

const NO_TERMINAL = { stdin: () => Promise.resolve("") };

async function read(text: string): Promise<unknown> {
  using folder = new TempFolder();
  return await readConfigFile(join(folder.write("config", { "config.yaml": text }), "config.yaml"), NO_TERMINAL);
}

test("readConfigFile reads YAML and JSON", async () => {
  using folder = new TempFolder();
  const dir = folder.write("config", { "a.yaml": "watchNamespace: a\n", "b.json": '{"watchNamespace": "a"}' });
  expect(await readConfigFile(join(dir, "a.yaml"), NO_TERMINAL)).toEqual({ watchNamespace: "a" });
  expect(await readConfigFile(join(dir, "b.json"), NO_TERMINAL)).toEqual({ watchNamespace: "a" });
});

test.for([
  ["a list", "[1]", /config\.yaml: the configuration must be an object$/],
  ["nothing", "", /config\.yaml: the configuration must be an object$/],
  ["invalid YAML", "{", /config\.yaml: did not find expected node content/],
  ["several documents", "a: 1\n---\nb: 1\n", /config\.yaml: expected one document/],
] as const)("readConfigFile rejects %s with the name of the file", async ([, text, message]) => {
  await expect(read(text)).rejects.toThrow(message);
});

test("readConfigFile reports the name of a missing file", async () => {
  await expect(readConfigFile("/nowhere/config.yaml", NO_TERMINAL)).rejects.toThrow("/nowhere/config.yaml: ENOENT");
});
