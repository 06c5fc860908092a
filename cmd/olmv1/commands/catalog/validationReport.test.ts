import { describe, expect, test } from "vitest";
import { selectFindings } from "../../../../pkg/authoring/validate/catalogFinding.ts";
import { lintFolder } from "../../../../pkg/authoring/validate/lintCatalog.ts";
import { type Ended, runCli } from "../../../../test/support/runCli.ts";
import { TempFolder } from "../../../../test/support/tempFolder.ts";
import { buildCatalogReport, type CatalogReport, formatCatalogReport, toSarifFindings } from "./validate.ts";

const PACKAGE = "schema: olm.package\nname: foo\ndefaultChannel: stable\n";
const CHANNEL = "schema: olm.channel\npackage: foo\nname: stable\nentries: [{ name: foo.v1 }]\n";
const BUNDLE =
  "schema: olm.bundle\npackage: foo\nname: foo.v1\nimage: quay.io/foo\nproperties: [{ type: olm.package, value: { packageName: foo, version: 1.0.0 } }]\n";
const SOUND = { "foo/catalog.yaml": `${PACKAGE}---\n${CHANNEL}---\n${BUNDLE}` };
const WARNED = { "foo/catalog.yaml": `${PACKAGE}icon: { mediatype: image/png }\n---\n${CHANNEL}---\n${BUNDLE}` };
const BROKEN = { "foo/catalog.yaml": `${PACKAGE}---\n${CHANNEL}` };

async function check(files: Record<string, string>, severity: "warning" | "info" = "warning"): Promise<CatalogReport> {
  using folder = new TempFolder();
  const { checked, findings } = await lintFolder(folder.write("catalog", files), []);
  return { checked, findings: selectFindings(findings, { severity, ignore: [] }) };
}

describe("formatCatalogReport", () => {
  test.for<[string, Record<string, string>, string]>([
    ["of a valid catalog", SOUND, "the catalog is valid: 0 errors and 0 warnings in 1 package, 1 channel, 1 bundle\n"],
    [
      "of a catalog with only warnings",
      WARNED,
      'warning: foo/catalog.yaml: document 1, line 1: olm.package "foo": invalid icon: base64data must be set if icon is defined [icon-incomplete]\n' +
        "the catalog is valid: 0 errors and 1 warning in 1 package, 1 channel, 1 bundle\n",
    ],
    [
      "of a catalog with errors",
      BROKEN,
      'error: foo/catalog.yaml: document 2, line 5: olm.channel "stable" of package "foo": no olm.bundle blobs found in package "foo" for olm.channel entries [foo.v1] [entry-without-bundle]\n' +
        "the catalog is not valid: 1 error and 0 warnings in 1 package, 1 channel, 0 bundles\n",
    ],
    [
      "of a catalog with an unreadable file",
      { ...BROKEN, Dockerfile: "FROM scratch\n" },
      "error: Dockerfile: document 1, line 1: expected an object, got a string [unreadable]\n" +
        "relations between objects were not checked, because some objects could not be read\n" +
        "the catalog is not valid: 1 error and 0 warnings in 1 package, 1 channel, 0 bundles\n",
    ],
  ])("formatCatalogReport prints the report %s", async ([, files, want]) => {
    expect(formatCatalogReport(await check(files))).toBe(want);
  });
});

describe("buildCatalogReport", () => {
  test("buildCatalogReport returns the error of opm, the number of objects of each kind, and the findings", async () => {
    expect(buildCatalogReport(await check(BROKEN))).toEqual({
      passed: false,
      error: { message: 'no olm.bundle blobs found in package "foo" for olm.channel entries [foo.v1]' },
      errors: 1,
      warnings: 0,
      infos: 0,
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
    expect(buildCatalogReport(await check(SOUND))).toMatchObject({ passed: true, errors: 0 });
    expect(buildCatalogReport(await check({ "a.yaml": "[" }))).toMatchObject({
      passed: false,
      error: { message: expect.stringMatching(/^a\.yaml: document 1, line/) },
      findings: [{ rule: "unreadable", severity: "error", place: { file: "a.yaml", document: 1 } }],
    });
  });
});

test("formatCatalogReport prints the line number of each finding, and at most fifty findings per rule", async () => {
  const many = Array.from({ length: 60 }, (_, i) => BUNDLE.replaceAll("v1", `v${i}`).replace("1.0.0", `1.0.${i}`));
  const entries = many.map((_, i) => `{ name: foo.v${i}${i > 0 ? `, replaces: foo.v${i - 1}` : ""} }`).join(", ");
  const files = { "foo/catalog.yaml": [PACKAGE, CHANNEL.replace("{ name: foo.v1 }", entries), ...many].join("---\n") };
  const report = await check(files, "info");
  const lines = formatCatalogReport(report).split("\n");
  expect(lines[0]).toBe(
    'warning: foo/catalog.yaml: document 4, line 19: olm.bundle "foo.v1" of package "foo": image quay.io/foo is also the image of bundle "foo.v0", in foo/catalog.yaml: document 3, line 10 [duplicate-image]',
  );
  expect(lines.slice(-5)).toEqual([
    "and 9 more [duplicate-image]",
    "and 10 more [csv-metadata-missing]",
    "and 10 more [bundle-image-by-tag]",
    "the catalog is valid: 0 errors, 59 warnings and 120 notes in 1 package, 1 channel, 60 bundles",
    "",
  ]);
  expect(buildCatalogReport(report)).toMatchObject({ passed: true, warnings: 59, infos: 120, findings: { length: 179 } });
});

test("toSarifFindings returns the location of each finding", async () => {
  expect(toSarifFindings(await check(BROKEN), (file) => `catalogs/${file}`)).toEqual([
    {
      rule: "entry-without-bundle",
      severity: "error",
      message: 'no olm.bundle blobs found in package "foo" for olm.channel entries [foo.v1]',
      file: "catalogs/foo/catalog.yaml",
      line: 5,
      subject: 'olm.channel "stable" of package "foo"',
    },
  ]);
});

describe("olmv1 catalog validate", () => {
  test("catalog validate exits with 0 for a catalog without errors, with 1 for errors, and with 2 if the source does not exist", async () => {
    using folder = new TempFolder();
    const validate = (...args: string[]): Promise<Ended> => runCli(["catalog", "validate", ...args]);
    expect(await validate(folder.write("warned", WARNED))).toMatchObject({ code: 0, err: "" });
    expect(await validate(folder.write("sound", SOUND), "-o", "yaml")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^passed: true\nerrors: 0\n/),
    });
    expect(await validate(folder.write("broken", BROKEN), "-o", "json")).toMatchObject({ code: 1, err: "" });
    expect(await validate("nowhere")).toEqual({
      code: 2,
      out: "",
      err: 'olmv1: "nowhere" is not a directory or an image reference with a registry, such as quay.io/example/catalog:latest\n',
    });
    expect(await validate("nowhere", "-o", "json")).toEqual({
      code: 2,
      out: "",
      err: '{\n  "error": {\n    "message": "\\"nowhere\\" is not a directory or an image reference with a registry, such as quay.io/example/catalog:latest"\n  }\n}\n',
    });
  });
});
