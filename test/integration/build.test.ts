import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runChecks } from "../../release/checkRunner.ts";
import { listReleaseChecks } from "../../release/releaseChecks.ts";

const ROOT = join(import.meta.dirname, "../..");
const run = promisify(execFile);
/** Maximum size of the code that olmv1 loads before it knows which command to run. The whole program has 4 MB. */
const START_BYTES_MAX = 400_000;

/** Folder → texts of its programs, by file name. */
async function contents(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".js"));
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")])));
}

/**
 * Creates in `folder` the content of the Dockerfile's build stage: the files that .dockerignore permits, and the packages. Supports only the patterns
 * that the file uses: everything, exceptions by path, and excluded paths or file extensions.
 */
async function buildStage(folder: string): Promise<void> {
  const [everything, ...patterns] = (await readFile(join(ROOT, ".dockerignore"), "utf8")).trim().split("\n");
  expect(everything).toBe("**");
  const taken = patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
  const left = patterns.filter((pattern) => !pattern.startsWith("!"));
  const isLeft = (path: string): boolean =>
    left.some((pattern) => (pattern.startsWith("**/*") ? path.endsWith(pattern.slice("**/*".length)) : path === pattern));
  const filter = (source: string): boolean => !isLeft(relative(ROOT, source));
  for (const path of taken) await cp(join(ROOT, path), join(folder, path), { recursive: true, filter });
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
}

describe("the bundled programs", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "olmv1-build-"));
    for (const name of ["first", "second"]) {
      await buildStage(join(folder, "stages", name));
      await run(process.execPath, [".ci/build.mjs"], { cwd: join(folder, "stages", name) });
      await rename(join(folder, "stages", name, "dist"), join(folder, name));
    }
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.for(["catalogd", "operator-controller", "olmv1"])("%s runs without node_modules", async (name) => {
    const { stdout } = await run(process.execPath, [join(folder, "first", `${name}.js`), "--help"], { cwd: folder });
    expect(stdout).toContain(name);
    expect(stdout).toContain("--");
  });

  test("the CEL library is only in separate files, which also run without node_modules", async () => {
    const rule = 'new CelRules().compile("properties.size() == 1", "b")([{ type: "a", value: 1 }])';
    const script = `import { CelRules } from "./celRules.js"; console.log(${rule});`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: join(folder, "first") });
    expect(stdout).toBe("true\n");
    const { "celRules.js": _constraints, "schemaRules.js": _schemas, ...others } = await contents(join(folder, "first"));
    expect(Object.entries(others).filter(([, program]) => program.includes("cel.expr.Expr"))).toEqual([]);
  });

  // zod names its schemas in `_zod`, and semver's comparators are a class.
  test.for(["bundleWorker", "hintWorker", "objectWorker", "responseWorker"])(
    "%s, which starts often, contains neither zod nor semver",
    async (worker) => {
      const { [`${worker}.js`]: program, "catalogd.js": whole } = await contents(join(folder, "first"));
      const libraries = (text = ""): boolean[] => [/\b_zod\b/.test(text), text.includes("SEMVER_SPEC_VERSION")];
      expect(libraries(program)).toEqual([false, false]);
      expect(libraries(whole)).toEqual([true, true]);
    },
  );

  test("the build is reproducible in any folder", async () => {
    const first = await contents(join(folder, "first"));
    const parts = /^olmv1-\w+\.js$/;
    expect(
      Object.keys(first)
        .filter((name) => !parts.test(name))
        .sort(),
    ).toEqual([
      "bundleWorker.js",
      "catalogd.js",
      "celRules.js",
      "console.js",
      "cp-manifests.js",
      "hintWorker.js",
      "issueWorker.js",
      "keylessTrust.js",
      "loadWorker.js",
      "objectWorker.js",
      "olmv1.js",
      "operator-controller.js",
      "permission-manager.js",
      "queryWorker.js",
      "responseWorker.js",
      "schemaRules.js",
      "segmentWorker.js",
      "undici.js",
    ]);
    expect(await contents(join(folder, "second"))).toEqual(first);
  });

  test("the web console is built with its compressed files, reproducibly in any folder", async () => {
    const read = async (name: string): Promise<[path: string, hash: string][]> => {
      const files = await readdir(join(folder, name, "console"), { recursive: true, withFileTypes: true });
      const paths = files
        .filter((file) => file.isFile())
        .map((file) => relative(join(folder, name, "console"), join(file.parentPath, file.name)));
      const hash = async (path: string): Promise<string> =>
        createHash("sha256")
          .update(await readFile(join(folder, name, "console", path)))
          .digest("hex");
      return Promise.all(paths.sort().map(async (path): Promise<[string, string]> => [path, await hash(path)]));
    };
    const first = await read("first");
    const names = first.map(([path]) => path);
    expect(names).toEqual(expect.arrayContaining(["index.html", "index.html.gz", "theme.js", "favicon.svg"]));
    expect(names.filter((name) => /^assets\/index-.*\.js\.gz$/.test(name)).length).toBeGreaterThan(0);
    expect(await read("second")).toEqual(first);
  });

  test("olmv1 loads the modules of a command only when it runs that command", async () => {
    const { "olmv1.js": start = "", ...others } = await contents(join(folder, "first"));
    const read = [...start.matchAll(/from"\.\/(olmv1-\w+\.js)"/g)].map(([, name]) => others[name ?? ""] ?? "");
    expect(read.length).toBeGreaterThan(0);
    expect([start, ...read].join("").length).toBeLessThan(START_BYTES_MAX);
  });

  test("the software bill of materials lists each bundled package once with version, licence and checksum, and contains no timestamp", async () => {
    const [text, again] = await Promise.all(["first", "second"].map((name) => readFile(join(folder, name, "sbom.cdx.json"), "utf8")));
    expect(again).toBe(text);
    const bill = JSON.parse(text!) as {
      bomFormat: string;
      components: { name: string; purl: string; licenses: unknown[]; hashes: { content: string }[] }[];
    };
    const names = bill.components.map(({ name }) => name);
    expect(bill.bomFormat).toBe("CycloneDX");
    expect(names).toEqual(
      expect.arrayContaining(["undici", "fastify", "@kubernetes/client-node", "@bufbuild/cel", "react", "@patternfly/react-core"]),
    );
    for (const name of ["vitest", "esbuild", "vite", "typescript", "fast-check"]) expect(names).not.toContain(name);
    const { dependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { dependencies: Record<string, string> };
    expect(Object.keys(dependencies).filter((name) => !names.includes(name))).toEqual([]);
    expect(new Set(bill.components.map(({ purl }) => purl)).size).toBe(names.length);
    for (const { licenses, hashes } of bill.components) expect([licenses.length, hashes[0]?.content.length]).toEqual([1, 128]);
    const spdx = JSON.parse(await readFile(join(folder, "first", "sbom.spdx.json"), "utf8")) as { packages: { name: string }[] };
    expect(spdx.packages.slice(1).map(({ name }) => name)).toEqual(names);
    const notices = await readFile(join(folder, "first", "THIRD_PARTY_NOTICES"), "utf8");
    for (const { name, purl } of bill.components) expect(notices).toContain(`\n${name} ${purl.slice(purl.lastIndexOf("@") + 1)} (`);
  });

  test("the checks of a release pass, except those that need other machines", async () => {
    const lines: string[] = [];
    const work = join(folder, "release");
    const dist = [join(folder, "first"), join(folder, "second")] as const;
    await runChecks(listReleaseChecks({ work, dist, signal: new AbortController().signal }), (line) => lines.push(line));
    const notRun = lines.filter((line) => line.startsWith("not run")).map((line) => line.slice(9).split(/ {2,}/)[0]);
    expect(lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
    expect(notRun).toEqual(["image", "ppc64le and s390x", "macOS and Windows", "signatures, provenance"]);
  }, 600_000);

  test("the image's build stage contains the files that the Dockerfile copies, and no tests", async () => {
    const dockerfile = await readFile(join(ROOT, "Dockerfile"), "utf8");
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) => match[1]!.split(" "));
    expect(copied).toContain("package-lock.json");
    const stage = join(folder, "stages", "first");
    for (const path of copied) expect(existsSync(join(stage, path)), path).toBe(true);
    const files = await readdir(join(stage, "pkg"), { recursive: true });
    expect(files.filter((file) => file.endsWith(".test.ts") || file.endsWith(".go"))).toEqual([]);
  });
});
