import { expect, test } from "vitest";
import type { StabilityLevel, SurfaceKind } from "./stabilityLevels.ts";
import { findUnannounced, formatSurface, listBreakingChanges, parseSurface, type SurfaceItem } from "./surfaceChanges.ts";

const item = (shape: string, level: StabilityLevel = "beta", kind: SurfaceKind = "Fields", name = "Kind spec.a"): SurfaceItem => ({
  kind,
  name,
  level,
  shape,
});

const CHANGES: readonly [string, SurfaceItem, SurfaceItem | undefined, string | undefined][] = [
  ["nothing changes", item("string"), item("string"), undefined],
  ["a part is removed", item("string"), undefined, "Kind spec.a (beta) is removed"],
  ["a stable part is removed", item("string", "stable"), undefined, "Kind spec.a (stable) is removed"],
  ["an alpha part is removed", item("string", "alpha"), undefined, undefined],
  ["an alpha part changes its type", item("string", "alpha"), item("integer", "alpha"), undefined],
  ["the level falls", item("string", "stable"), item("string"), "Kind spec.a is beta, and was stable"],
  ["the level rises", item("string"), item("string", "stable"), undefined],
  ["the type changes", item("string"), item("integer"), 'Kind spec.a (beta) changes from "string" to "integer"'],
  ["a value is added", item("A | B"), item("B | A | C"), undefined],
  ["a value is removed", item("A | B"), item("A"), 'Kind spec.a (beta) changes from "A | B" to "A"'],
  ["a field becomes required", item("string"), item("required, string"), 'Kind spec.a (beta) changes from "string" to "required, string"'],
  ["a field is no longer required", item("required, string"), item("string"), undefined],
  [
    "a metric gets a label",
    item("gauge, name", "beta", "Metrics", "m"),
    item("gauge, name, zone", "beta", "Metrics", "m"),
    'm (beta) changes from "gauge, name" to "gauge, name, zone"',
  ],
  ["an endpoint gets a parameter", item("a", "stable", "Endpoints", "GET /"), item("a, b", "stable", "Endpoints", "GET /"), undefined],
  [
    "an endpoint loses a parameter",
    item("a, b", "stable", "Endpoints", "GET /"),
    item("a", "stable", "Endpoints", "GET /"),
    'GET / (stable) changes from "a, b" to "a"',
  ],
  [
    "a command gets an optional argument",
    item("name", "beta", "Commands and options", "olmv1 x"),
    item("name, optional other", "beta", "Commands and options", "olmv1 x"),
    undefined,
  ],
  [
    "an argument becomes optional",
    item("name", "beta", "Commands and options", "olmv1 x"),
    item("optional name", "beta", "Commands and options", "olmv1 x"),
    undefined,
  ],
  [
    "an argument is no longer optional",
    item("optional name", "beta", "Commands and options", "olmv1 x"),
    item("name", "beta", "Commands and options", "olmv1 x"),
    'olmv1 x (beta) changes from "optional name" to "name"',
  ],
  [
    "a command gets an argument",
    item("name", "beta", "Commands and options", "olmv1 x"),
    item("name, other", "beta", "Commands and options", "olmv1 x"),
    'olmv1 x (beta) changes from "name" to "name, other"',
  ],
];

test.for(CHANGES)("listBreakingChanges decides whether users break when %s", ([, before, after, expected]) => {
  const changes = listBreakingChanges([before], after ? [after] : []);
  expect(changes.map(({ text }) => text)).toEqual(expected === undefined ? [] : [expected]);
});

const CHANGELOGS: readonly [string, string, boolean][] = [
  ["names it under Breaking", "## 0.2.0\n\n### Breaking\n\n- `Kind spec.a` is gone.\n\n## 0.1.0\n", true],
  ["names the field without its kind under Removed", "## 0.2.0\n\n### Removed: fields\n\n- `spec.a`.\n", true],
  ["names it only under Added", "## 0.2.0\n\n### Added\n\n- `spec.a`.\n", false],
  ["names it only in an older section", "## 0.2.0\n\n### Removed\n\n- `spec.b`.\n\n## 0.1.0\n\n### Removed\n\n- `spec.a`.\n", false],
  ["names it without backquotes", "## 0.2.0\n\n### Removed\n\n- spec.a.\n", false],
  ["has no section", "# Changelog\n", false],
];

test.for(CHANGELOGS)("findUnannounced decides whether a change is announced when the changelog %s", ([, changelog, isAnnounced]) => {
  const change = { kind: "Fields", name: "Kind spec.a", text: "removed" } as const;
  expect(findUnannounced([change], changelog)).toEqual(isAnnounced ? [] : [change]);
});

test("parseSurface returns the parts that formatSurface wrote when other text surrounds them", () => {
  const items = [
    item("required, A | B"),
    item("", "stable", "Events", "Installed"),
    item("list of string", "alpha", "Fields", "Kind spec.b"),
  ];
  const sorted = [items[0], items[2], items[1]];
  expect(parseSurface(`# Title\n\n- \`x\`: stable\n\n${formatSurface(items)}\n## Other\n\n- \`y\`: beta\n`)).toEqual(sorted);
});
