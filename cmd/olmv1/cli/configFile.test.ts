import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { configFile } from "./inputFiles.ts";

const NOBODY = { stdin: () => Promise.resolve("") };

async function read(text: string): Promise<unknown> {
  using folder = new TempFolder();
  return await configFile(join(folder.write("config", { "config.yaml": text }), "config.yaml"), NOBODY);
}

test("a configuration is YAML or JSON", async () => {
  using folder = new TempFolder();
  const dir = folder.write("config", { "a.yaml": "watchNamespace: a\n", "b.json": '{"watchNamespace": "a"}' });
  expect(await configFile(join(dir, "a.yaml"), NOBODY)).toEqual({ watchNamespace: "a" });
  expect(await configFile(join(dir, "b.json"), NOBODY)).toEqual({ watchNamespace: "a" });
});

test.for([
  ["a list", "[1]", /config\.yaml: the configuration is no object$/],
  ["nothing", "", /config\.yaml: the configuration is no object$/],
  ["no YAML", "{", /config\.yaml: did not find expected node content/],
  ["several documents", "a: 1\n---\nb: 1\n", /config\.yaml: expected one document/],
] as const)("%s is refused by name", async ([, text, message]) => {
  await expect(read(text)).rejects.toThrow(message);
});

test("a file that there is not is told by name", async () => {
  await expect(configFile("/nowhere/config.yaml", NOBODY)).rejects.toThrow("/nowhere/config.yaml: ENOENT");
});
