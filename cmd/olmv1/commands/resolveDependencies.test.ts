import { afterAll, beforeAll, expect, test } from "vitest";
import { olmv1 } from "../../../test/support/runCli.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";

const folder = new TempFolder();
const bundle = (name: string, ...properties: object[]): object => {
  const [packageName = "", version = ""] = name.split(".v");
  const identity = { type: "olm.package", value: { packageName, version } };
  return { schema: "olm.bundle", package: packageName, name, image: "registry.example/b", properties: [identity, ...properties] };
};
const api = { group: "example.com", version: "v1", kind: "Shelf" };
const requires = (packageName: string, versionRange: string): object => ({
  type: "olm.package.required",
  value: { packageName, versionRange },
});
const ALTERNATIVES = Array.from({ length: 20 }, (_, at) => `option-${at}`);
const METAS = [
  ...["needy", "giver", "lender", "odd", "wide"].map((name) => ({ schema: "olm.package", name })),
  bundle("needy.v1.0.0"),
  bundle("needy.v2.0.0", requires("giver", ">=2.0.0")),
  bundle("needy.v3.0.0", requires("missing", ">=1.0.0")),
  bundle("giver.v2.0.0", { type: "olm.gvk", value: api }),
  bundle("giver.v3.0.0"),
  bundle("lender.v1.0.0", { type: "olm.gvk.required", value: api }),
  bundle("odd.v1.0.0"),
  bundle("wide.v1.0.0", {
    type: "olm.constraint",
    value: { any: { constraints: ALTERNATIVES.map((packageName) => ({ package: { packageName, versionRange: "1.0.0" } })) } },
  }),
  bundle("odd.v2.0.0", { type: "olm.gvk.required", value: "nonsense" }),
];
let options: string[];

beforeAll(() => {
  const dir = folder.write("c", { "catalog.json": METAS.map((meta) => JSON.stringify(meta)).join("\n") });
  options = ["--catalog-dir", `c=${dir}`];
});
afterAll(() => folder[Symbol.dispose]());

const SUPPLY =
  'bundle "giver.v3.0.0" (catalog "c") would satisfy the requirements: create a ClusterExtension for package "giver", or set spec.dependencies.policy to Install';
const UNKNOWN = "no cluster is used, and --installed-package does not list the installed packages";
const BREAKS = 'ClusterExtension "lender" (bundle "lender.v1.0.0") would lose dependencies: API example.com/v1 Shelf';
const UPDATE = ["--installed", "2.0.0", "--upgrade-constraint-policy", "SelfCertified"];
const startsWith = (start: string): string => expect.stringContaining(start) as string;

/** Source: S2-01, S2-02, S2-42, S2-43 (checks of dependencies); D-07, D-28 (offline mode). */
test.for<[why: string, args: string[], code: number, lines: string[]]>([
  [
    "resolve keeps a bundle and suggests how to meet its dependencies when the installed packages are unknown",
    ["resolve", "needy", "--version", "2.x"],
    0,
    [
      "bundle: needy.v2.0.0 (version 2.0.0) of catalog c",
      startsWith("why: "),
      `not checked: dependencies of bundle "needy.v2.0.0" (package "giver" >=2.0.0): ${UNKNOWN}; ${SUPPLY}`,
    ],
  ],
  [
    "resolve reports a dependency that no catalog provides",
    ["resolve", "needy"],
    0,
    [
      "bundle: needy.v3.0.0 (version 3.0.0) of catalog c",
      startsWith("why: "),
      `not checked: dependencies of bundle "needy.v3.0.0" (package "missing" >=1.0.0): ${UNKNOWN}; if nothing else is installed: needy 3.0.0 requires package "missing" >=1.0.0, which no selected catalog has`,
    ],
  ],
  [
    "resolve excludes a bundle with an unreadable constraint",
    ["resolve", "odd"],
    0,
    ["bundle: odd.v1.0.0 (version 1.0.0) of catalog c", startsWith("why: ")],
  ],
  [
    "resolve excludes a bundle whose dependencies --installed-package does not meet",
    ["resolve", "needy", "--installed-package", "giver=2.0.0"],
    0,
    [
      "bundle: needy.v2.0.0 (version 2.0.0) of catalog c",
      startsWith("why: "),
      'note: bundle "needy.v3.0.0" is not selected: needy 3.0.0 requires package "missing" >=1.0.0, which no selected catalog has',
    ],
  ],
  [
    "resolve lists dependencies among the filters with policy Require",
    ["resolve", "needy", "--version", "<3", "--dependency-policy", "Require", "--explain"],
    0,
    [
      "package needy",
      "  installed: none",
      "  channels: all",
      "  version: <3",
      "",
      "CATALOG  PRIORITY  BUNDLES  VERSION RANGE  DEPENDENCIES  BEST",
      "c        0         3        2              1             1.0.0",
      "",
      'catalog c, removed by versionRange (required: matching "<3"):',
      '  needy.v3.0.0: "<3" excludes it',
      "catalog c, removed by dependencies (required: whose dependencies can be met):",
      '  needy.v2.0.0: it requires package "giver" >=2.0.0',
      "",
      "bundle: needy.v1.0.0 (version 1.0.0) of catalog c",
      startsWith("next: "),
      startsWith("why: "),
      `note: bundle "needy.v2.0.0" is not selected: it requires package "giver" >=2.0.0; ${SUPPLY}`,
    ],
  ],
  [
    "resolve suggests how to meet dependencies when they exclude every bundle",
    ["resolve", "needy", "--version", "2.0.0", "--dependency-policy", "Require"],
    1,
    [
      'no bundle: no bundles found for package "needy" matching version "2.0.0"',
      startsWith('none whose dependencies can be met: 2.0.0: it requires package "giver" >=2.0.0'),
      `note: bundle "needy.v2.0.0" cannot be installed: it requires package "giver" >=2.0.0; ${SUPPLY}`,
    ],
  ],
  [
    "resolve lists the packages that policy Install installs first",
    ["resolve", "needy", "--version", "2.0.0", "--dependency-policy", "Install"],
    0,
    [
      "bundle: needy.v2.0.0 (version 2.0.0) of catalog c",
      startsWith("why: "),
      'note: its dependencies are installed first, with ClusterExtensions for packages "giver" (bundle "giver.v3.0.0")',
    ],
  ],
  [
    "resolve notes that policy Ignore does not check dependencies",
    ["resolve", "needy", "--dependency-policy", "Ignore"],
    0,
    [
      "bundle: needy.v3.0.0 (version 3.0.0) of catalog c",
      startsWith("why: "),
      'note: the dependencies of bundle "needy.v3.0.0" are not checked: spec.dependencies.policy is Ignore',
    ],
  ],
  [
    "resolve excludes an upgrade that breaks a dependent",
    ["resolve", "giver", ...UPDATE, "--installed-package", "lender=1.0.0"],
    0,
    [
      "bundle: giver.v2.0.0 (version 2.0.0) of catalog c, already installed",
      startsWith("why: "),
      `note: bundle "giver.v3.0.0" is not selected: ${BREAKS}`,
    ],
  ],
  [
    "why-not reports an upgrade that breaks a dependent",
    ["why-not", "giver", "3.0.0", ...UPDATE, "--installed-package", "lender=1.0.0"],
    1,
    [
      "3.0.0 of package giver is not selected",
      "giver.v3.0.0 (version 3.0.0) of catalog c, priority 0:",
      `  dependencies: ${BREAKS}`,
      "    spec.dependencies.policy Ignore allows it anyway",
      "selected: giver.v2.0.0 (version 2.0.0) of catalog c",
    ],
  ],
  [
    "why-not reports missing dependencies in addition to an earlier filter",
    ["why-not", "needy", "2.0.0", "--version", "<2", "--dependency-policy", "Require"],
    1,
    [
      "2.0.0 of package needy is not selected",
      "needy.v2.0.0 (version 2.0.0) of catalog c, priority 0:",
      '  versionRange: spec.source.catalog.version "<2" excludes it',
      '    change the range, for example to "2.0.0", or remove the range',
      '  dependencies: it requires package "giver" >=2.0.0',
      `    ${SUPPLY}`,
      "selected: needy.v1.0.0 (version 1.0.0) of catalog c",
    ],
  ],
  [
    "why-not omits dependencies that policy Install installs",
    ["why-not", "needy", "2.0.0", "--version", "<2", "--dependency-policy", "Install"],
    1,
    [
      "2.0.0 of package needy is not selected",
      "needy.v2.0.0 (version 2.0.0) of catalog c, priority 0:",
      '  versionRange: spec.source.catalog.version "<2" excludes it',
      '    change the range, for example to "2.0.0", or remove the range',
      "selected: needy.v1.0.0 (version 1.0.0) of catalog c",
    ],
  ],
])("offline %s", async ([, args, code, lines]) => {
  const ended = await olmv1(...args, ...options);
  expect(ended.err).toBe("");
  expect(ended.out.split("\n")).toEqual([...lines, ""]);
  expect(ended.code).toBe(code);
});

test.for<[why: string, stated: string, err: string]>([
  ["with a version that no catalog has", "giver=9.0.0", 'no catalog has version "9.0.0" of package "giver"'],
  ["without a version", "giver", '"giver" must be in the form NAME=VERSION'],
])("resolve rejects --installed-package %s", async ([, stated, err]) => {
  const ended = await olmv1("resolve", "needy", ...options, "--installed-package", stated);
  expect([ended.out, ended.code]).toEqual(["", 2]);
  expect(ended.err).toContain(err);
});

/** A refusal in the output of `-o json`. */
interface PrintedRefusal {
  bundle: string;
  reasons: string[];
  conflictSet?: { sentences: { kind: string; text: string }[]; isMinimal: boolean };
  remedy?: unknown;
}

const REQUIRE = ["--dependency-policy", "Require"];

test.for([
  ["resolve", "wide"],
  ["why-not", "wide", "1.0.0"],
])("%s --all shows the reasons that the short text only counts", async (args) => {
  const short = await olmv1(...args, ...REQUIRE, ...options);
  expect(short.out).toContain("--all shows them");
  expect(short.out).not.toContain('no selected catalog has package "option-19"');
  const all = await olmv1(...args, ...REQUIRE, ...options, "--all");
  for (const name of ALTERNATIVES) expect(all.out).toContain(`no selected catalog has package "${name}"`);
  expect(all.out).not.toContain("--all");
});

test.for([
  ["resolve", "wide"],
  ["why-not", "wide", "1.0.0"],
])("%s -o json contains the conflict set and the full text", async (args) => {
  const all = await olmv1(...args, ...REQUIRE, ...options, "--all");
  const { refusals } = JSON.parse((await olmv1(...args, ...REQUIRE, ...options, "-o", "json")).out) as { refusals: PrintedRefusal[] };
  expect(refusals).toHaveLength(1);
  expect(refusals[0]).toMatchObject({ bundle: "wide.v1.0.0", conflictSet: { isMinimal: true, moreSentences: 0 } });
  expect(refusals[0]?.conflictSet?.sentences.map(({ text }) => text)).toEqual(refusals[0]?.reasons);
  for (const reason of refusals[0]?.reasons ?? []) expect(all.out).toContain(reason);
});

test("resolve -o json contains the remedy", async () => {
  const ended = await olmv1("resolve", "needy", "--version", "2.0.0", ...REQUIRE, ...options, "-o", "json");
  expect((JSON.parse(ended.out) as { refusals: PrintedRefusal[] }).refusals).toEqual([
    {
      bundle: "needy.v2.0.0",
      reasons: ['it requires package "giver" >=2.0.0', SUPPLY],
      requires: ['package "giver" >=2.0.0'],
      remedy: { kind: "offered", bundles: [{ package: "giver", bundle: "giver.v3.0.0", catalog: "c" }] },
    },
  ]);
});
