import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { runCli } from "../../../test/support/runCli.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { listText } from "./list.ts";

const bundle = (version: string) => ({
  schema: "olm.bundle",
  package: "p",
  name: `p.v${version}`,
  image: `quay.io/example/p:${version}`,
  properties: [{ type: "olm.package", value: { packageName: "p", version } }],
});
const CATALOG = [
  { schema: "olm.package", name: "p", defaultChannel: "stable" },
  {
    schema: "olm.channel",
    package: "p",
    name: "stable",
    entries: [{ name: "p.v1.0.0" }, { name: "p.v2.0.0", replaces: "p.v1.0.0" }, { name: "p.v3.0.0", replaces: "p.v2.0.0" }],
  },
  ...["1.0.0", "2.0.0", "3.0.0"].map(bundle),
  {
    schema: "io.openshift.operators.lifecycles.v1alpha1",
    package: "p",
    versions: [
      { name: "1.0", phases: [{ name: "Full support", startDate: "2020-01-01", endDate: "2020-12-31" }] },
      {
        name: "2.0",
        phases: [{ name: "Full support", startDate: "2021-01-01", endDate: "9999-12-31" }],
        platformCompatibility: [{ name: "openshift", versions: ["4.18", "4.19"] }],
      },
    ],
  },
  { schema: "olm.package", name: "q", defaultChannel: "stable" },
  { schema: "olm.channel", package: "q", name: "stable", entries: [{ name: "q.v1.0.0" }] },
  {
    ...bundle("1.0.0"),
    package: "q",
    name: "q.v1.0.0",
    properties: [{ type: "olm.package", value: { packageName: "q", version: "1.0.0" } }],
  },
];

let folder: TempFolder;

beforeAll(() => {
  folder = new TempFolder();
  folder.write(".", { "catalog.json": CATALOG.map((meta) => JSON.stringify(meta)).join("\n") });
});
afterAll(() => folder[Symbol.dispose]());

const run = async (...args: string[]): Promise<{ code: number; out: string; err: string }> =>
  runCli([...args, "--catalog-dir", folder.path], { width: 160 });

test.each([
  [["versions", "p", "--supported", "-o", "name"], 0, "p.v2.0.0\n"],
  [["versions", "p", "-o", "name"], 0, "p.v3.0.0\np.v2.0.0\np.v1.0.0\n"],
  [["versions", "q", "--supported", "-o", "name"], 0, ""],
  [["search", "--supported", "-o", "name"], 0, "p\n"],
  [["search", "q", "--supported", "-o", "name"], 1, ""],
  [["resolve", "p", "--support-policy", "Enforce"], 0, undefined],
] as const)("%j lists supported versions only", async (args, code, out) => {
  const ended = await run(...args);
  if (out !== undefined) expect(ended.out).toBe(out);
  else expect(ended.out + ended.err).toContain("p.v2.0.0");
  expect(ended.code).toBe(code);
});

test("versions and show print the support phases", async () => {
  const { out } = await run("versions", "p");
  expect(out).toMatch(/SUPPORT/);
  expect(out).toMatch(/^3\.0\.0 .*unknown/m);
  expect(out).toMatch(/^2\.0\.0 .*Full support until 9999-12-31/m);
  expect(out).toMatch(/^1\.0\.0 .*support ended on 2020-12-31/m);
  const shown = await run("show", "p@2.0.0");
  expect(shown.out).toMatch(/Support phase: +Full support until 9999-12-31/);
  expect(shown.out).toMatch(/OpenShift: +OpenShift 4\.18, 4\.19/);
});

test("why-not explains that supportPolicy Enforce excludes a version", async () => {
  const { out } = await run("why-not", "p", "3.0.0", "--support-policy", "Enforce");
  expect(out).toContain("the catalog has no support phases for this version, and unknown does not count as supported");
  expect(out).toContain("supportPolicy Warn allows it");
});

test("list prints the support of installed versions if a catalog has support phases", () => {
  const withStatus = (name: string, support?: NonNullable<ClusterExtension["status"]>["support"]): ClusterExtension => ({
    ...createExtension(name, { packageName: name }),
    status: { install: { bundle: { name: `${name}.v1.0.0`, version: "1.0.0" } }, ...(support ? { support } : {}) },
  });
  const ended = withStatus("p", { state: "Ended", endDate: "2020-12-31", platform: "Unknown" });
  const text = listText({ width: 200, colour: false }, [ended, withStatus("q")], 0);
  expect(text).toMatch(/^NAME .*SUPPORT/);
  expect(text).toMatch(/^p .*support ended on 2020-12-31/m);
  expect(text).toMatch(/^q .*unknown/m);
  expect(listText({ width: 200, colour: false }, [withStatus("q")], 0)).not.toContain("SUPPORT");
});
