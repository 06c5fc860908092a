import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { validRange } from "semver";
import { expect, test } from "vitest";
import { computeIntegrity, formatOutputs, planPublication, readPublishedVersions } from "./publishPlan.ts";

const OURS = "sha512-ours";
const publish = (...versions: string[]) => Object.fromEntries(versions.map((version) => [version, "sha512-other"]));

test.for<[string, Record<string, string>, string, boolean, boolean]>([
  // version, published, tag, is a pre-release, is the latest
  ["1.0.0", {}, "latest", false, true],
  ["1.10.0", publish("1.9.0", "2.0.0-rc.1"), "latest", false, true],
  ["1.9.3", publish("1.9.2", "1.10.0"), "release-1.9", false, false],
  ["1.9.3", publish("2.0.0"), "release-1.9", false, false],
  ["2.0.0-rc.1", publish("1.9.0"), "next", true, false],
  ["1.9.0-rc.1", {}, "next", true, false],
  ["1.9.0-rc.1", publish("2.0.0"), "next", true, false],
])("planPublication of %s with published %j chooses tag %s", ([version, published, npmTag, isPrerelease, isLatest]) => {
  expect(planPublication(version, OURS, published)).toEqual({ npmTag, isPrerelease, isLatest });
  expect(validRange(npmTag)).toBeNull(); // npm rejects tags that are ranges
});

test("planPublication publishes nothing in npm when it has the version with the same content, and the rest as before", () => {
  const published = { ...publish("1.0.0"), "1.1.0": OURS };
  expect(planPublication("1.1.0", OURS, published)).toEqual({ npmTag: undefined, isPrerelease: false, isLatest: true });
});

test("planPublication throws when npm has the version with other content", () => {
  expect(() => planPublication("1.1.0", OURS, publish("1.1.0"))).toThrow(
    "npm has olmv1 1.1.0 with sha512-other, not sha512-ours. Release a new version",
  );
});

test("formatOutputs returns the flags of GitHub's release, and an empty tag when npm has the version", () => {
  expect(formatOutputs({ npmTag: "next", isPrerelease: true, isLatest: false })).toBe(
    "npm-tag=next\nflags=--prerelease=true --latest=false",
  );
  expect(formatOutputs({ npmTag: undefined, isPrerelease: false, isLatest: true })).toBe(
    "npm-tag=\nflags=--prerelease=false --latest=true",
  );
});

test("readPublishedVersions returns the integrity of each version in the registry", async () => {
  const request = (url: unknown) =>
    Promise.resolve(
      Response.json({ name: url, versions: { "1.0.0": { dist: { integrity: OURS } }, "1.1.0": { dist: { integrity: "b" } } } }),
    );
  expect(await readPublishedVersions(request)).toEqual({ "1.0.0": OURS, "1.1.0": "b" });
});

test.for([
  [404, "Publish its first version by hand"],
  [503, "status 503"],
] as const)("readPublishedVersions throws when the registry responds with %s", async ([status, message]) => {
  await expect(readPublishedVersions(() => Promise.resolve(new Response("", { status })))).rejects.toThrow(message);
});

test("computeIntegrity returns the hash in the form of npm", async () => {
  const folder = await mkdtemp(join(tmpdir(), "olmv1-integrity-"));
  try {
    await writeFile(join(folder, "file"), "");
    expect(await computeIntegrity(join(folder, "file"))).toBe(
      "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
