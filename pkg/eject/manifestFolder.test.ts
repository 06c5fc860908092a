import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { requireOwnFolder, writeManifests } from "./manifestFolder.ts";

const FILES = new Map([
  ["kustomization.yaml", "resources: []\n"],
  ["objects/001-secret.yaml", "kind: Secret\n"],
]);

test("requireOwnFolder accepts a folder that does not exist, and one that contains only files of an interrupted eject", async () => {
  using folder = new TempFolder();
  const path = join(folder.path, "argocd");
  await requireOwnFolder(path, FILES);
  folder.write("argocd", { "objects/001-secret.yaml": "kind: Secret\n" });
  await requireOwnFolder(path, FILES);
  await writeManifests(path, FILES);
  await requireOwnFolder(path, FILES);
  expect(await readFile(join(path, "kustomization.yaml"), "utf8")).toBe("resources: []\n");
  expect((await stat(join(path, "kustomization.yaml"))).mode & 0o777).toBe(0o600);
});

test.for([
  ["another file", "notes.txt", "text"],
  ["a manifest that was changed", "objects/001-secret.yaml", "kind: ConfigMap\n"],
])("requireOwnFolder rejects a folder with %s", async ([, name = "", text = ""]) => {
  using folder = new TempFolder();
  const path = folder.write("argocd", { [name]: text });
  await expect(requireOwnFolder(path, FILES)).rejects.toThrow(`${path} is not empty. Use --output-dir with a new folder`);
});
