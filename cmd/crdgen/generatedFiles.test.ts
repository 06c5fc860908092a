import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Structural } from "../../pkg/api/customResourceDefinitions.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { generateFiles } from "./generatedFiles.ts";
import { PUBLIC_SURFACE_FILE } from "./publicSurface.ts";

const ROOT = join(import.meta.dirname, "../..");

test.for([...generateFiles()])("generated file %s is up to date", ([path, text]) => {
  const file = join(ROOT, path);
  expect(existsSync(file), `${path} is missing: run \`npm run generate\``).toBe(true);
  expect(readFileSync(file, "utf8"), `${path} is not up to date: run \`npm run generate\``).toBe(text);
});

test.for([...generateFiles()].filter(([path]) => path.startsWith("config/crd/")))(
  "%s has a structural schema with a description for every field",
  ([, text]) => {
    const crd = parseYaml(text) as { spec: { versions: { schema: { openAPIV3Schema: Structural } }[] } };
    for (const { schema } of crd.spec.versions) check("", schema.openAPIV3Schema);
  },
);

test("crdgen --check prints outdated files, exits with 1 and writes nothing", () => {
  const root = mkdtempSync(join(tmpdir(), "crdgen-"));
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, "main.ts"), "--root", root, ...args], { encoding: "utf8" });
  try {
    expect(run("--check")).toMatchObject({ status: 1, stderr: expect.stringContaining("docs/reference/api.md is not up to date") });
    expect(existsSync(join(root, "docs"))).toBe(false);
    expect(run()).toMatchObject({ status: 0 });
    expect(run("--check")).toMatchObject({ status: 0, stderr: "" });
    appendFileSync(join(root, "docs/reference/api.md"), "x");
    const { status, stderr } = run("--check");
    expect({ status, lines: stderr.trim().split("\n") }).toEqual({
      status: 1,
      lines: ["docs/reference/api.md is not up to date: run `npm run generate` and commit the result"],
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("crdgen writes nothing when the public surface changes and the changelog does not announce it", () => {
  const root = mkdtempSync(join(tmpdir(), "crdgen-"));
  const run = () => spawnSync(process.execPath, [join(import.meta.dirname, "main.ts"), "--root", root], { encoding: "utf8" });
  try {
    expect(run()).toMatchObject({ status: 0 });
    const surface = join(root, PUBLIC_SURFACE_FILE);
    const before = readFileSync(surface, "utf8").replace("## Events\n\n", "## Events\n\n- `Vanished`: beta; Normal, ClusterExtension\n");
    writeFileSync(surface, before);
    const { status, stderr } = run();
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^Vanished \(beta\) is removed: announce it in the newest/),
    });
    expect(readFileSync(surface, "utf8")).toBe(before);
    writeFileSync(join(root, "CHANGELOG.md"), "# Changelog\n\n## 0.2.0\n\n### Removed\n\n- `Vanished` (Event).\n");
    expect(run()).toMatchObject({ status: 0 });
    expect(readFileSync(surface, "utf8")).not.toContain("Vanished");
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

/** Fails if the schema contains keywords that a structural schema forbids, or fields without a description. */
function check(path: string, schema: Structural): void {
  expect(schema.type, `${path} has a type`).toBeTypeOf("string");
  for (const forbidden of ["oneOf", "anyOf", "allOf", "not", "nullable", "$ref", "const"])
    expect(schema, path).not.toHaveProperty(forbidden);
  if (schema.properties) expect(schema.additionalProperties, `${path} has both properties and additionalProperties`).toBeUndefined();
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const at = `${path}.${name}`;
    if (at !== ".metadata") expect(member.description, `${at} has a description`).toBeTypeOf("string");
    check(at, member);
  }
  if (schema.items) check(`${path}[]`, schema.items);
}
