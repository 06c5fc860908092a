import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LockedPackage, Lockfile } from "./packages.ts";

const MODULES = "node_modules/";
/** An import of a package: `import … from "a"`, `export … from "a"`, `import "a"`, `import("a")`. */
const IMPORT = /\b(?:from |import |import\()"([^".][^"]*)"/g;

/**
 * Returns the packages of package.json that the sources of the programs and of the console's pages import, sorted. Some of them are devDependencies.
 * @param root of the checkout
 */
export function listImportedPackages(root: string, { packages }: Lockfile): string[] {
  const files = globSync("{cmd,pkg,console/src}/**/*.{ts,tsx}", { cwd: root }).filter((file) => !/\.test\.tsx?$/.test(file));
  const paths = files.flatMap((file) => [...readFileSync(join(root, file), "utf8").matchAll(IMPORT)].map(([, path = ""]) => path));
  const imported = new Set(paths.map((path) => path.split("/", path.startsWith("@") ? 2 : 1).join("/")));
  const { dependencies, devDependencies } = packages[""] ?? {};
  return Object.keys({ ...dependencies, ...devDependencies })
    .filter((name) => imported.has(name))
    .toSorted();
}

/**
 * Returns the folders of all packages whose code a release may contain: those that are not only for development, the named packages, and everything
 * that they depend on. A build bundles a part of them.
 * @param names packages at the top of the lockfile, from `listImportedPackages`
 */
export function listShippedFolders({ packages }: Lockfile, names: readonly string[]): Set<string> {
  const shipped = new Set(Object.keys(packages).filter((folder) => folder !== "" && !isForDevelopment(packages[folder])));
  const folders = names.map((name) => `${MODULES}${name}`);
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    shipped.add(folder);
    const { dependencies, optionalDependencies, peerDependencies } = packages[folder] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const found = resolvePackage(packages, folder, name);
      if (found !== undefined && !shipped.has(found)) folders.push(found);
    }
  }
  return shipped;
}

function isForDevelopment({ dev = false, devOptional = false }: LockedPackage = {}): boolean {
  return dev || devOptional;
}

/** Returns the folder of a dependency as Node.js finds it; undefined if an optional or peer dependency is not installed. */
function resolvePackage(packages: Lockfile["packages"], from: string, name: string): string | undefined {
  for (let parent = from; parent !== ""; parent = parent.slice(0, Math.max(0, parent.lastIndexOf(`/${MODULES}`)))) {
    const nested = `${parent}/${MODULES}${name}`;
    if (packages[nested] !== undefined) return nested;
  }
  const top = `${MODULES}${name}`;
  return packages[top] === undefined ? undefined : top;
}
