import { expect, test } from "vitest";
import cases from "../../../test/cases/oci/clusterRegistries.json" with { type: "json" };
import type { KubeObject } from "../../api/k8s.ts";
import { mergeMirrorOrder, sortByEdges } from "./mirrorOrder.ts";
import type { RegistryEntry } from "./pullSources.ts";
import { SOURCES_MAX, toRegistryEntries } from "./registryEntries.ts";
import { MIRROR_KINDS, type MirrorKind, type MirrorSet, readMirrorSets, readRegistryScopes } from "./registryObjects.ts";
import { findScopeFault, listEnclosingScopes } from "./scopes.ts";

type Given = readonly (string | string[])[];
interface Case {
  name: string;
  insecure?: string[];
  blocked?: string[];
  idms?: Given[];
  itms?: Given[];
  icsp?: Given[];
  want: { prefix: string; flags: string; mirrors: string[] }[];
}

const MEMBERS: Readonly<Record<MirrorKind, string>> = {
  ImageDigestMirrorSet: "imageDigestMirrors",
  ImageTagMirrorSet: "imageTagMirrors",
  ImageContentSourcePolicy: "repositoryDigestMirrors",
};

function mirrorObject(kind: MirrorKind, name: string, sets: readonly unknown[]): KubeObject {
  const apiVersion = MIRROR_KINDS.find((one) => one.kind === kind)?.apiVersion ?? "";
  return { apiVersion, kind, metadata: { name }, spec: { [MEMBERS[kind]]: sets } };
}

function image(registrySources: object): KubeObject {
  return { apiVersion: "config.openshift.io/v1", kind: "Image", metadata: { name: "cluster" }, spec: { registrySources } };
}

/** Reads one object per set. */
function readSets(kind: MirrorKind, given: readonly Given[] = []): MirrorSet[] {
  return given.flatMap(([source, mirrors, mirrorSourcePolicy], index) => {
    const { value, problems } = readMirrorSets(mirrorObject(kind, `m${index}`, [{ source, mirrors, mirrorSourcePolicy }]), kind);
    expect(problems).toEqual([]);
    return value;
  });
}

function describeEntry({ prefix, insecure, blocked, mirror }: RegistryEntry) {
  const flags = [insecure ? "insecure" : "", blocked ? "blocked" : ""].filter((flag) => flag !== "").join(" ");
  const mirrors = mirror.map((one) => `${one.location} ${one["pull-from-mirror"]}${one.insecure ? " insecure" : ""}`);
  return { prefix, flags, mirrors };
}

test.for(cases.nested as [string, string, boolean][])("listEnclosingScopes of %s contains %s: %s", ([scope, enclosing, want]) => {
  expect(listEnclosingScopes(scope).includes(enclosing)).toBe(want);
});

test.for(cases.validScopes as [string, boolean][])("findScopeFault accepts the scope %j: %s", ([scope, want]) => {
  expect(findScopeFault(scope) === undefined).toBe(want);
});

test.for(cases.sorted as [string, string, string][])("sortByEdges sorts a graph with a %s, in any order of edges", ([, edges, want]) => {
  const pairs = edges.split(" ").map((edge): [string, string] => [edge[0] ?? "", edge[1] ?? ""]);
  for (let first = 0; first < pairs.length; first++)
    expect(sortByEdges([...pairs.slice(first), ...pairs.slice(0, first)]).join("")).toBe(want);
});

test("sortByEdges returns nothing for no edges, and ignores an edge to itself", () => {
  expect(sortByEdges([])).toEqual([]);
  expect(mergeMirrorOrder("s", [["m", "m", "n"]])).toEqual(["m", "n"]);
});

test.for(cases.merged.flatMap((one) => MIRROR_KINDS.map(({ kind }) => ({ ...one, kind }))))(
  "toRegistryEntries merges $name of $kind",
  ({ kind, sets, want }) => {
    const { entries, problems } = toRegistryEntries(readSets(kind, sets), undefined);
    expect(problems).toEqual([]);
    expect(Object.fromEntries(entries.map(({ prefix, mirror }) => [prefix, mirror.map(({ location }) => location)]))).toEqual(want);
  },
);

test.for(cases.converted as Case[])("toRegistryEntries converts $name", ({ insecure, blocked, idms, itms, icsp, want }) => {
  const sets = [
    ...readSets("ImageDigestMirrorSet", idms),
    ...readSets("ImageTagMirrorSet", itms),
    ...readSets("ImageContentSourcePolicy", icsp),
  ];
  const { value, problems } = readRegistryScopes(image({ insecureRegistries: insecure ?? [], blockedRegistries: blocked ?? [] }));
  const byPrefix = (a: { prefix: string }, b: { prefix: string }): number => (a.prefix < b.prefix ? -1 : 1);
  expect([problems, toRegistryEntries(sets, value).problems]).toEqual([[], []]);
  expect(toRegistryEntries(sets, value).entries.map(describeEntry)).toEqual([...want].sort(byPrefix));
});

const NEVER = "NeverContactSource";

test.for<[what: string, sets: Given[], blocked: string[], want: ReturnType<typeof describeEntry>[]]>([
  [
    "the mirrors of the most specific source for a blocked part",
    [
      ["a.com", ["m.com"]],
      ["a.com/ns", ["m.com/other"]],
    ],
    ["a.com/ns/app"],
    [
      { prefix: "a.com", flags: "", mirrors: ["m.com digest-only"] },
      { prefix: "a.com/ns", flags: "", mirrors: ["m.com/other digest-only"] },
      { prefix: "a.com/ns/app", flags: "blocked", mirrors: ["m.com/other/app digest-only"] },
    ],
  ],
  [
    "the mirrors of a wildcard source for blocked parts",
    [["*.a.com", ["m.com/x"]]],
    ["r.a.com/ns", "*.b.a.com"],
    [
      { prefix: "*.a.com", flags: "", mirrors: ["m.com/x digest-only"] },
      { prefix: "*.b.a.com", flags: "blocked", mirrors: ["m.com/x digest-only"] },
      { prefix: "r.a.com/ns", flags: "blocked", mirrors: ["m.com/x/ns digest-only"] },
    ],
  ],
  [
    "a blocked source of which a mirror is blocked too",
    [["a.com", ["b.com/a"], NEVER]],
    ["b.com"],
    [
      { prefix: "a.com", flags: "blocked", mirrors: ["b.com/a digest-only"] },
      { prefix: "b.com", flags: "blocked", mirrors: [] },
    ],
  ],
  [
    "sources that are each other's mirrors",
    [
      ["a.com", ["b.com"]],
      ["b.com", ["a.com"]],
    ],
    [],
    [
      { prefix: "a.com", flags: "", mirrors: ["b.com digest-only"] },
      { prefix: "b.com", flags: "", mirrors: ["a.com digest-only"] },
    ],
  ],
])("toRegistryEntries converts %s", ([, sets, blockedRegistries, want]) => {
  const scopes = readRegistryScopes(image({ blockedRegistries })).value;
  expect(toRegistryEntries(readSets("ImageDigestMirrorSet", sets), scopes).entries.map(describeEntry)).toEqual(want);
});

test("toRegistryEntries names the objects of an entry, and uses NeverContactSource if only one object sets it", () => {
  const sets = [
    ...readSets("ImageDigestMirrorSet", [["a.com", ["m.com"], NEVER]]),
    ...readSets("ImageTagMirrorSet", [["a.com", ["t.com"]]]),
    ...readSets("ImageContentSourcePolicy", [["a.com", ["i.com"]]]),
  ];
  const { entries, problems } = toRegistryEntries(sets, readRegistryScopes(image({ blockedRegistries: ["a.com"] })).value);
  expect(entries.map(({ blocked, origin }) => ({ blocked, origin }))).toEqual([
    { blocked: true, origin: 'Image "cluster", ImageContentSourcePolicy "m0", ImageDigestMirrorSet "m0" and 1 more' },
  ]);
  expect(problems.map(({ origin, message }) => `${origin}: ${message}`)).toEqual([
    'ImageDigestMirrorSet "m0", ImageContentSourcePolicy "m0": mirrorSourcePolicy of source "a.com" differs: NeverContactSource is used',
  ]);
});

test.for<[what: string, kind: MirrorKind, sets: unknown, want: string[], sources: string[]]>([
  ["a list that is an object", "ImageContentSourcePolicy", { a: 1 }, ["repositoryDigestMirrors is not a list"], []],
  ["entries that are not objects", "ImageContentSourcePolicy", [1, null, "a"], [], []],
  ["a wildcard in the middle", "ImageContentSourcePolicy", [{ source: "a.*.com", mirrors: ["m.com"] }], ['invalid source "a.*.com"'], []],
  [
    "a password in a mirror and in a source",
    "ImageContentSourcePolicy",
    [
      { source: "a.com", mirrors: ["https://user:s3cr3t@m.com", "user:s3cr3t@m.com/ns", "m.com"] },
      { source: "user:s3cr3t@a.com", mirrors: ["m.com"] },
    ],
    [
      'invalid mirror "https://[redacted]@m.com" of source "a.com"',
      'invalid mirror "[redacted]@m.com/ns" of source "a.com"',
      'invalid source "[redacted]@a.com"',
    ],
    ["a.com: m.com"],
  ],
  [
    "a wildcard mirror",
    "ImageContentSourcePolicy",
    [{ source: "*.a.com", mirrors: ["*.m.com"] }],
    ['invalid mirror "*.m.com" of source "*.a.com"'],
    ["*.a.com: "],
  ],
  [
    "the source among the mirrors of NeverContactSource",
    "ImageDigestMirrorSet",
    [{ source: "a.com", mirrors: ["a.com", "m.com"], mirrorSourcePolicy: NEVER }],
    ['source "a.com" is one of its mirrors, but mirrorSourcePolicy is NeverContactSource'],
    ["a.com: a.com, m.com"],
  ],
  ["duplicate mirrors", "ImageContentSourcePolicy", [{ source: "a.com", mirrors: ["m.com", "m.com"] }], [], ["a.com: m.com"]],
  ["a source without mirrors", "ImageDigestMirrorSet", [{ source: "a.com", mirrorSourcePolicy: NEVER }], [], []],
  [
    "thousands of invalid sources",
    "ImageContentSourcePolicy",
    Array.from({ length: 5_000 }, () => ({ source: "-" })),
    [...Array.from({ length: 10 }, () => 'invalid source "-"'), "4990 more problems"],
    [],
  ],
])("readMirrorSets reports %s", ([, kind, sets, want, sources]) => {
  const { value, problems } = readMirrorSets({ ...mirrorObject(kind, "bad", []), spec: { [MEMBERS[kind]]: sets } }, kind);
  expect(problems.map(({ message }) => message)).toEqual(want);
  expect(problems.every(({ origin, object }) => origin === `${kind} "bad"` && object?.metadata.name === "bad")).toBe(true);
  expect(value.map(({ source, mirrors }) => `${source}: ${mirrors.join(", ")}`)).toEqual(sources);
});

test("toRegistryEntries is limited in sources and mirrors, and keeps a blocked source blocked beyond the limit", () => {
  const mirrors = Array.from({ length: 500 }, (_, index) => `m${index}.com`);
  const many = readMirrorSets(mirrorObject("ImageDigestMirrorSet", "m", [{ source: "a.com", mirrors }]), "ImageDigestMirrorSet");
  expect(many.problems.map(({ message }) => message)).toEqual(['source "a.com" has 500 mirrors, the first 64 are used']);
  const sources = Array.from({ length: SOURCES_MAX + 500 }, (_, index) => ({
    source: `s${String(index).padStart(5, "0")}.com`,
    mirrors: ["m.com"],
    ...(index % 2 === 0 ? {} : { mirrorSourcePolicy: NEVER }),
  }));
  const read = readMirrorSets(mirrorObject("ImageDigestMirrorSet", "m", sources), "ImageDigestMirrorSet");
  const blockedRegistries = Array.from({ length: 20_000 }, (_, index) => `b${index}.example.com/ns`);
  const before = process.cpuUsage();
  const { entries, problems } = toRegistryEntries(read.value, readRegistryScopes(image({ blockedRegistries })).value);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(5_000);
  const last = entries.filter(({ prefix }) => prefix > `s${SOURCES_MAX}`);
  expect(last.map(({ mirror, blocked }) => mirror.length === 0 && blocked)).toEqual(Array.from({ length: 250 }, () => true));
  expect(problems.map(({ message }) => message)).toEqual([
    'the cluster has mirrors for 10500 sources: only the first 10000 are used, up to "s10000.com"',
  ]);
});

test.for<[what: string, sources: object, problems: string[], want: object]>([
  [
    "blocked and allowed registries at once",
    { allowedRegistries: ["a.com"], blockedRegistries: ["a.com/x"] },
    ["spec.registrySources sets both allowedRegistries and blockedRegistries; only images that both accept are used"],
    { allowed: ["a.com"], blocked: ["a.com/x"], insecure: [] },
  ],
  [
    "invalid entries, and keeps a list of allowed registries that is empty without them",
    { allowedRegistries: ["a.*.com"], insecureRegistries: ["https://u:s3cr3t@a.com", 1] },
    [
      "insecureRegistries contains a value that is not a text",
      'invalid entry "https://[redacted]@a.com" in spec.registrySources.insecureRegistries: it must not have a scheme',
      'invalid entry "a.*.com" in spec.registrySources.allowedRegistries: a wildcard must be of the form *.example.com',
    ],
    { allowed: [], blocked: [], insecure: [] },
  ],
])("readRegistryScopes reports %s", ([, sources, want, scopes]) => {
  const { value, problems } = readRegistryScopes(image(sources));
  expect(problems.map(({ message }) => message)).toEqual(want);
  expect(value).toEqual({ origin: 'Image "cluster"', ...scopes });
});
