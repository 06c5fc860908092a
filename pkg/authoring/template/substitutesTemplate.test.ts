import { describe, expect, test } from "vitest";
import { toMeta } from "../../fbc/content.ts";
import type { ChannelEntry, Meta } from "../../fbc/types.ts";
import { readSubstitutesTemplate, renderSubstitutes } from "./substitutesTemplate.ts";

const bundle = (name: string, version: string, annotations?: object, release?: string): Meta =>
  toMeta({
    schema: "olm.bundle",
    name,
    package: "a",
    image: `quay.io/example/${name}`,
    properties: [
      { type: "olm.package", value: { packageName: "a", version, ...(release === undefined ? {} : { release }) } },
      ...(annotations ? [{ type: "olm.csv.metadata", value: { annotations } }] : []),
    ],
  });

const template = (entries: ChannelEntry[], substitutions: object[]) =>
  JSON.stringify({
    schema: "olm.template.substitutes",
    entries: [
      { schema: "olm.package", name: "a", defaultChannel: "stable" },
      { schema: "olm.channel", package: "a", name: "stable", entries },
      ...entries.map(({ name }) => bundle(name, name.replace("a.v", "")).blob),
    ],
    substitutions,
  });

const CHAIN = [
  { name: "a.v1.0.0" },
  { name: "a.v1.1.0", replaces: "a.v1.0.0", skips: ["a.v1.0.9"], skipRange: "<1.1.0" },
  { name: "a.v1.2.0", replaces: "a.v1.1.0" },
];
const SUBSTITUTION = { name: "quay.io/example/new", base: "a.v1.1.0" };

const rendered = (text: string, ...bundles: (Meta | undefined)[]) => renderSubstitutes(readSubstitutesTemplate(text), bundles);
const entriesIn = (metas: Meta[]) => metas.find(({ schema }) => schema === "olm.channel")?.blob["entries"];

describe("renderSubstitutes", () => {
  test("renderSubstitutes moves the upgrade edges of the base bundle to the substitute", () => {
    const metas = rendered(template(CHAIN, [SUBSTITUTION]), bundle("a.v1.1.1", "1.1.1"));
    expect(entriesIn(metas)).toEqual([
      { name: "a.v1.0.0" },
      { name: "a.v1.1.0" },
      { name: "a.v1.2.0", replaces: "a.v1.1.1", skips: ["a.v1.1.0"] },
      { name: "a.v1.1.1", replaces: "a.v1.0.0", skips: ["a.v1.0.9", "a.v1.1.0"], skipRange: "<1.1.0" },
    ]);
    expect(metas.at(-1)?.name).toBe("a.v1.1.1");
  });

  test("renderSubstitutes replaces the base bundle with the substitute in the skips of other entries", () => {
    const entries = [
      { name: "a.v1.0.0" },
      { name: "a.v1.1.0", replaces: "a.v1.0.0" },
      { name: "a.v1.2.0", replaces: "a.v1.0.0", skips: ["a.v1.1.0", "x"] },
    ];
    expect(entriesIn(rendered(template(entries, [SUBSTITUTION]), bundle("a.v1.1.1", "1.1.1")))).toEqual([
      { name: "a.v1.0.0" },
      { name: "a.v1.1.0" },
      { name: "a.v1.2.0", replaces: "a.v1.0.0", skips: ["x", "a.v1.1.1"] },
      { name: "a.v1.1.1", replaces: "a.v1.0.0", skips: ["a.v1.1.0"] },
    ]);
  });

  test("renderSubstitutes accepts a substitute with the same version if its release is newer or it has property olm.substitutesFor", () => {
    const named = [{ name: "a.v1.0.0" }];
    const text = template(named, [{ name: "quay.io/example/new", base: "a.v1.0.0" }]);
    expect(rendered(text, bundle("a-v1.0.0-2", "1.0.0", undefined, "2"))).toHaveLength(4);
    expect(rendered(text, bundle("b", "1.0.0+2", { "olm.substitutesFor": "a.v1.0.0" }))).toHaveLength(4);
  });

  const foreign = toMeta({
    schema: "olm.bundle",
    name: "a.v1.1.1",
    package: "b",
    image: "quay.io/example/new",
    properties: [{ type: "olm.package", value: { packageName: "b", version: "1.1.1" } }],
  });
  const failed = (reason: string) => `render: error processing substitution "a.v1.1.0" -> "quay.io/example/new": ${reason}`;
  test.for<[string, string, (Meta | undefined)[], string]>([
    ["another schema", "schema: olm.semver\n", [], 'template has unknown schema ("olm.semver"), should be "olm.template.substitutes"'],
    [
      "entries that are not a valid catalog",
      template([{ name: "a.v1.0.0" }, { name: "a.v1.1.0" }], []),
      [],
      'render: entries are not valid FBC: invalid index:\n└── invalid package "a":\n    └── invalid channel "stable":\n' +
        "        └── multiple channel heads found in graph: a.v1.0.0, a.v1.1.0",
    ],
    [
      "a duplicate base",
      template(CHAIN, [SUBSTITUTION, { name: "x", base: "a.v1.1.0" }]),
      [],
      'render: cannot reuse the same substitution base "a.v1.1.0"',
    ],
    [
      "a bundle with two bases",
      template(CHAIN, [SUBSTITUTION, { name: "quay.io/example/new", base: "b" }]),
      [],
      'render: cannot reuse the same substitution "quay.io/example/new" for different bases ("a.v1.1.0" and "b")',
    ],
    ["no name", template(CHAIN, [{ base: "b" }]), [], 'render: error processing substitution "b" -> "": substitution name cannot be empty'],
    ["no base", template(CHAIN, [{ name: "b" }]), [], 'render: error processing substitution "" -> "b": substitution base cannot be empty'],
    [
      "a bundle that substitutes itself",
      template(CHAIN, [{ name: "b", base: "b" }]),
      [],
      'render: error processing substitution "b" -> "b": substitution name and base cannot be the same',
    ],
    [
      "no bundle",
      template(CHAIN, [SUBSTITUTION]),
      [undefined],
      failed('rendered bundle image reference "quay.io/example/new" contains no bundles'),
    ],
    [
      "a bundle without a version",
      template(CHAIN, [SUBSTITUTION]),
      [toMeta({ schema: "olm.bundle", name: "b" })],
      failed(
        'failed to get VersionRelease for substitute bundle "quay.io/example/new": must be exactly one property of type "olm.package"',
      ),
    ],
    [
      "a base that does not exist",
      template(CHAIN, [{ name: "quay.io/example/new", base: "b" }]),
      [bundle("a.v1.1.1", "1.1.1")],
      'render: error processing substitution "b" -> "quay.io/example/new": base bundle "b" does not exist in catalog',
    ],
    [
      "a bundle that is not newer",
      template(CHAIN, [SUBSTITUTION]),
      [bundle("b", "1.1.0+2")],
      failed('base bundle "a.v1.1.0" is not less than substitute bundle "b"'),
    ],
    [
      "a bundle of another package",
      template(CHAIN, [SUBSTITUTION]),
      [foreign],
      failed('resulting config is not valid FBC: unknown package "b" for bundle "a.v1.1.1"'),
    ],
  ])("renderSubstitutes rejects %s", ([, text, bundles, error]) => {
    expect(() => rendered(text, ...bundles)).toThrow(new Error(error));
  });
});
