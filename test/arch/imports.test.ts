import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { LAYERS } from "./layers.ts";

/** Packages without side effects: no I/O, no clock, no randomness. */
const PURE = new Set(LAYERS.slice(5).flat());
/** Folders of one layer that must not import each other. */
const STRANGERS = ["pkg/catalogd", "pkg/operatorcontroller"];
/** Node.js modules and packages that pure code may import. All others do I/O. */
const PURE_MODULES = new Set([
  "node:crypto",
  "node:zlib",
  "node:buffer",
  "node:util",
  "node:path/posix",
  "zod",
  "semver",
  "js-yaml",
  "lru-cache",
  "diff",
  "string-width",
  "yaml",
  "@bufbuild/cel",
]);
const CLOCK_AND_CHANCE =
  /\b(Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|setTimeout\(|setInterval\(|randomUUID\(|randomBytes\(|process\.)/;
/** Scripts that generate a data file for their package. They are not part of the package. */
const GENERATOR = /^pkg\/\w+\/generate\//;
const DEVELOPMENT_ONLY = "pkg/devcluster";

const ROOT = join(import.meta.dirname, "../..");
const files = globSync("{cmd,pkg}/**/*.ts", { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"));
const tests = globSync("{cmd,pkg}/**/*.test.ts", { cwd: ROOT });

/**
 * Returns the package of a file, such as "pkg/kube" for "pkg/kube/client.ts", the subfolder if it has its own layer, and "cmd" for all files in cmd.
 */
function getPackage(file: string): string {
  if (file.startsWith("cmd/")) return "cmd";
  const folders = dirname(file).split("/");
  const names = folders.map((_, i) => folders.slice(0, i + 1).join("/"));
  return names.findLast((name) => LAYERS.flat().includes(name)) ?? folders.slice(0, 2).join("/");
}

function getLayer(file: string): number {
  return LAYERS.findIndex((packages) => packages.includes(getPackage(file)));
}

/** Matches import and re-export statements, including types, and dynamic imports. */
const IMPORTS = [
  /^import\s+(?:[\w*{][^;"]*?\sfrom\s+)?"([^"]+)"/gm,
  /^export\s+(?:type\s+)?[*{][^;"]*?\sfrom\s+"([^"]+)"/gm,
  /\bimport\(\s*"([^"]+)"/g,
];

function listSpecifiers(source: string): string[] {
  return IMPORTS.flatMap((form) => [...source.matchAll(form)].map((match) => match[1]!));
}

interface SourceFile {
  file: string;
  source: string;
  /** Imported files of this repository, relative to its root. */
  internal: string[];
  /** Imported modules of Node.js and packages. */
  external: string[];
}

function read(file: string): SourceFile {
  const source = readFileSync(join(ROOT, file), "utf8");
  const specifiers = listSpecifiers(source);
  const internal = specifiers.filter((name) => name.startsWith(".")).map((name) => normalize(join(dirname(file), name)));
  return { file, source, internal, external: specifiers.filter((name) => !name.startsWith(".")) };
}

/** Returns the package name of "ajv/dist/2020.js" or "@scope/name/x"; modules of Node.js are returned unchanged. */
function getModule(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** Returns the source without comments and with empty string literals, so that prose about a clock does not match. */
function stripComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$|"(?:[^"\\\n]|\\.)*"/gm, '""');
}

/** Returns "file: violation" for each violation that `find` reports. */
function offending(among: readonly SourceFile[], find: (file: SourceFile) => readonly string[]): string[] {
  return among.flatMap((file) => find(file).map((what) => `${file.file}: ${what}`));
}

const sources = files.map(read);
/** The pages of the web console, which run in browsers. */
const pages = globSync("console/src/**/*.{ts,tsx}", { cwd: ROOT }).map(read);

/** Returns the imports between groups of files, where `nameOf` returns the package or folder of a file. Ignores imports within a group. */
function importsBetween(nameOf: (file: string) => string): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>();
  for (const { file, internal } of sources) {
    const targets = edges.get(nameOf(file)) ?? new Set();
    for (const target of internal) if (nameOf(target) !== nameOf(file)) targets.add(nameOf(target));
    edges.set(nameOf(file), targets);
  }
  return edges;
}

describe("imports point inwards", () => {
  test("every package has a layer", () => {
    expect(sources.map(({ file }) => getPackage(file)).filter((name) => !LAYERS.flat().includes(name))).toEqual([]);
  });

  test("no file imports from an outer layer", () => {
    expect(offending(sources, ({ file, internal }) => internal.filter((target) => getLayer(target) < getLayer(file)))).toEqual([]);
  });

  test("only pkg/http imports undici, because its main file uses megabytes of memory", () => {
    const isAllowed = (file: string): boolean => getPackage(file) === "pkg/http";
    expect(
      offending(sources, ({ file, external }) => (isAllowed(file) ? [] : external.filter((name) => getModule(name) === "undici"))),
    ).toEqual([]);
  });

  test("the two controllers do not import each other", () => {
    const found = offending(sources, ({ file, internal }) => {
      if (!STRANGERS.includes(getPackage(file))) return [];
      return internal.filter((target) => STRANGERS.includes(getPackage(target)) && getPackage(target) !== getPackage(file));
    });
    expect(found).toEqual([]);
  });

  test("no import cycles exist, not even through type imports", () => {
    expect(cyclesIn(importsBetween((file) => file))).toEqual([]);
  });

  test("two packages of the same layer import each other in at most one direction", () => {
    expect(cyclesIn(importsBetween(getPackage))).toEqual([]);
  });

  test("no two folders import each other, directly or indirectly", () => {
    expect(cyclesIn(importsBetween(dirname))).toEqual([]);
  });

  test("the servers do not import modules that only catalog authors need", () => {
    const servers = sources.filter(({ file }) =>
      /^(cmd\/(catalogd|operator-controller|permission-manager)|pkg\/(catalogd|operatorcontroller|permissionmanager))\//.test(file),
    );
    expect(offending(servers, ({ internal }) => internal.filter((target) => target.startsWith("pkg/authoring/")))).toEqual([]);
  });

  test("the servers do not import the development control plane", () => {
    const servers = sources.filter(({ file }) => /^cmd\/(catalogd|operator-controller|permission-manager|console)\//.test(file));
    expect(offending(servers, ({ internal }) => internal.filter((target) => getPackage(target) === DEVELOPMENT_ONLY))).toEqual([]);
  });
});

describe("pure packages", () => {
  const pure = sources.filter(({ file }) => PURE.has(getPackage(file)) && !GENERATOR.test(file));

  test("pure packages import no module that does I/O", () => {
    expect(offending(pure, ({ external }) => external.filter((specifier) => !PURE_MODULES.has(getModule(specifier))))).toEqual([]);
  });

  test("pure packages do not use the clock, random numbers or the process", () => {
    expect(offending(pure, ({ source }) => stripComments(source).match(CLOCK_AND_CHANCE)?.slice(0, 1) ?? [])).toEqual([]);
  });
});

describe("the web console", () => {
  const isOutside = (target: string): boolean => !/^(console\/src|pkg\/consoleapi)\//.test(target);

  test("pages import nothing of the project but the schemas that they share with the server", () => {
    expect(pages.length).toBeGreaterThan(20);
    expect(offending(pages, ({ internal }) => internal.filter(isOutside))).toEqual([]);
  });

  test("pages import no module of Node.js", () => {
    expect(offending(pages, ({ external }) => external.filter((name) => name.startsWith("node:")))).toEqual([]);
  });

  test("the schemas import nothing but zod/mini, because browsers load them", () => {
    const schemas = sources.filter(({ file }) => getPackage(file) === "pkg/consoleapi");
    const isAllowed = (name: string): boolean => name === "zod/mini" || name.startsWith("pkg/consoleapi/");
    expect(schemas.length).toBeGreaterThan(2);
    expect(offending(schemas, ({ internal, external }) => [...internal, ...external].filter((name) => !isAllowed(name)))).toEqual([]);
  });

  test("the controllers do not import the console", () => {
    const servers = sources.filter(({ file }) => /^cmd\/(catalogd|operator-controller|permission-manager)\//.test(file));
    expect(offending(servers, ({ internal }) => internal.filter((target) => getPackage(target) === "pkg/console"))).toEqual([]);
  });

  test("pages write no HTML and run no text as code", () => {
    const forbidden = /dangerouslySetInnerHTML|\.(inner|outer)HTML\b|insertAdjacentHTML|document\.write|\beval\(|new Function\(|rehype-raw/;
    expect(offending(pages, ({ source }) => forbidden.exec(source)?.slice(0, 1) ?? [])).toEqual([]);
  });
});

describe("modules that use much memory", () => {
  test("the CEL library is only imported on demand, inside a function", () => {
    const statically = IMPORTS.slice(0, 2);
    const users = sources.filter(({ file, source }) => {
      const names = statically.flatMap((form) => [...source.matchAll(form)].map((match) => match[1] ?? ""));
      const mayUse = ["pkg/cel/", "pkg/resolve/cel/", "pkg/crdsafety/rules/"].some((folder) => file.startsWith(folder));
      return !mayUse && names.some((name) => /^@bufbuild\/|\/cel\/|\/rules\/schema/.test(name));
    });
    expect(users.map(({ file }) => file)).toEqual([]);
  });
});

describe("the layout", () => {
  test("no module imports a script from pkg/*/generate", () => {
    expect(offending(sources, ({ internal }) => internal.filter((target) => GENERATOR.test(target)))).toEqual([]);
  });

  test("there are no barrel files and no catch-all files", () => {
    expect(files.filter((file) => /(^|\/)(index|utils?|helpers?|misc|common)\.ts$/.test(file))).toEqual([]);
  });

  test("every unit test is next to the file that it tests", () => {
    const folders = new Set(files.map(dirname));
    expect(tests.filter((file) => !folders.has(dirname(file)))).toEqual([]);
  });

  test("relative imports contain the file extension", () => {
    expect(offending(sources, ({ internal }) => internal.filter((target) => !/\.(ts|json)$/.test(target)))).toEqual([]);
  });
});

describe("the rules of this test", () => {
  test("IMPORTS matches every form of import", () => {
    const source = `import "a";
import b from "b";
import type { C } from "c";
import {
  d,
  type D,
} from "d";
export { e } from "e";
export * from "f";
const g = await import("g");
const text = "import of" + "x";
export const h = "from" + "y";
`;
    expect(listSpecifiers(source)).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
  });

  test("the clock rule matches code, but not comments or texts", () => {
    expect(CLOCK_AND_CHANCE.test(stripComments("const a = Date.now();"))).toBe(true);
    expect(CLOCK_AND_CHANCE.test(stripComments('// Date.now()\n/** Math.random() */ const url = "https://x/new Date()";'))).toBe(false);
  });

  test("cyclesIn finds a cycle", () => {
    const edges = new Map([
      ["a", new Set(["b"])],
      ["b", new Set(["c"])],
      ["c", new Set(["b"])],
    ]);
    expect(cyclesIn(edges)).toEqual(["b → c → b"]);
  });
});

/** Returns one line for each import cycle that a depth-first search finds. */
function cyclesIn(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): void => {
    if (path.includes(node)) found.push([...path.slice(path.indexOf(node)), node].join(" → "));
    else if (!done.has(node)) {
      for (const next of edges.get(node) ?? []) visit(next, [...path, node]);
      done.add(node);
    }
  };
  for (const node of edges.keys()) visit(node, []);
  return found;
}
