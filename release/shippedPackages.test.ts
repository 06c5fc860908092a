import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Lockfile } from "./packages.ts";
import { ROOT } from "./project.ts";
import { listImportedPackages, listShippedFolders } from "./shippedPackages.ts";

const LOCK: Lockfile = {
  packages: {
    "": { name: "olmv1" },
    "node_modules/server": { dependencies: { shared: "1" } },
    "node_modules/shared": {},
    "node_modules/page": { dev: true, dependencies: { "@a/part": "1", tool: "2" }, peerDependencies: { absent: "1" } },
    "node_modules/page/node_modules/tool": { dev: true, dependencies: { deep: "1" } },
    "node_modules/@a/part": { dev: true, optionalDependencies: { page: "1" } },
    "node_modules/deep": { devOptional: true },
    "node_modules/tool": { dev: true },
  },
};

test("listShippedFolders returns everything that a bundled package depends on, and no other package for development", () => {
  expect([...listShippedFolders(LOCK, ["page"])].toSorted()).toEqual([
    "node_modules/@a/part",
    "node_modules/deep",
    "node_modules/page",
    "node_modules/page/node_modules/tool",
    "node_modules/server",
    "node_modules/shared",
  ]);
});

test("listImportedPackages returns the packages of the programs and the pages, and no package of tests", () => {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lockfile;
  const names = listImportedPackages(ROOT, lock);
  expect(names).toEqual(
    expect.arrayContaining(["@patternfly/patternfly", "@patternfly/react-core", "fastify", "react", "react-dom", "selfsigned"]),
  );
  expect(names.filter((name) => ["fast-check", "playwright-core", "typescript", "vitest"].includes(name))).toEqual([]);
});
