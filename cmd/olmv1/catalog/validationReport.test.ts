import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkCatalogFolder } from "../../../pkg/catalogd/load/checkCatalog.ts";
import { TempFolder } from "../../../test/support/contentFixture.ts";
import { validationReport } from "./validationReport.ts";

const PACKAGE = "schema: olm.package\nname: foo\ndefaultChannel: stable\n";
const CHANNEL = "schema: olm.channel\npackage: foo\nname: stable\nentries: [{ name: foo.v1 }]\n";
const BUNDLE =
  "schema: olm.bundle\npackage: foo\nname: foo.v1\nimage: quay.io/foo\nproperties: [{ type: olm.package, value: { packageName: foo, version: 1.0.0 } }]\n";
const SOUND = { "foo/catalog.yaml": `${PACKAGE}---\n${CHANNEL}---\n${BUNDLE}` };
const WARNED = { "foo/catalog.yaml": `${PACKAGE}icon: { mediatype: image/png }\n---\n${CHANNEL}---\n${BUNDLE}` };
const BROKEN = { "foo/catalog.yaml": `${PACKAGE}---\n${CHANNEL}` };

async function report(files: Record<string, string>, format: "text" | "json" | "yaml"): Promise<string> {
  using folder = new TempFolder();
  return validationReport(await checkCatalogFolder(folder.write("catalog", files)), format);
}

describe("the report as text", () => {
  test.for<[string, Record<string, string>, string]>([
    ["of a sound catalog", SOUND, "the catalog is valid: 0 errors and 0 warnings in 1 package, 1 channel, 1 bundle\n"],
    [
      "of warnings only",
      WARNED,
      'warning: foo/catalog.yaml: document 1, line 1: olm.package "foo": invalid icon: base64data must be set if icon is defined [icon-incomplete]\n' +
        "the catalog is valid: 0 errors and 1 warning in 1 package, 1 channel, 1 bundle\n",
    ],
    [
      "of errors",
      BROKEN,
      'error: foo/catalog.yaml: document 2, line 5: olm.channel "stable" of package "foo": no olm.bundle blobs found in package "foo" for olm.channel entries [foo.v1] [entry-without-bundle]\n' +
        "the catalog is not valid: 1 error and 0 warnings in 1 package, 1 channel, 0 bundles\n",
    ],
    [
      "of a file that is no catalog beside one that is",
      { ...BROKEN, Dockerfile: "FROM scratch\n" },
      "error: Dockerfile: document 1, line 1: expected an object, got a string [unreadable]\n" +
        "how the objects go together was not looked at, since not all of them could be read\n" +
        "the catalog is not valid: 1 error and 0 warnings in 1 package, 1 channel, 0 bundles\n",
    ],
  ])("%s", async ([, files, want]) => {
    expect(await report(files, "text")).toBe(want);
  });
});

describe("the report for programs", () => {
  test("has opm's members and the findings", async () => {
    expect(JSON.parse(await report(BROKEN, "json"))).toEqual({
      passed: false,
      error: { message: 'no olm.bundle blobs found in package "foo" for olm.channel entries [foo.v1]' },
      errors: 1,
      warnings: 0,
      counts: { packages: 1, channels: 1, bundles: 0, deprecations: 0, others: 0 },
      findings: [
        {
          rule: "entry-without-bundle",
          severity: "error",
          message: 'no olm.bundle blobs found in package "foo" for olm.channel entries [foo.v1]',
          place: { file: "foo/catalog.yaml", document: 2, line: 5 },
          schema: "olm.channel",
          package: "foo",
          name: "stable",
        },
      ],
    });
    expect(await report(SOUND, "yaml")).toMatch(/^passed: true\nerrors: 0\n/);
    expect(JSON.parse(await report({ "a.yaml": "[" }, "json"))).toMatchObject({
      passed: false,
      error: { message: expect.stringMatching(/^a\.yaml: document 1, line/) },
      findings: [{ rule: "unreadable", severity: "error", place: { file: "a.yaml", document: 1 } }],
    });
  });
});

describe("the command", () => {
  const validate = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [join(import.meta.dirname, "../main.ts"), "catalog", "validate", ...args], { encoding: "utf8" });

  test("exits with 0 for a catalog without errors, with 1 otherwise", () => {
    using folder = new TempFolder();
    expect(validate(folder.write("warned", WARNED))).toMatchObject({ status: 0, stderr: "" });
    expect(validate(folder.write("broken", BROKEN), "-o", "json")).toMatchObject({ status: 1, stderr: "" });
    expect(validate("nowhere")).toMatchObject({ status: 1, stdout: "", stderr: 'olmv1: "nowhere" is not a directory\n' });
  });
});
