import { expect, test } from "vitest";
import { findReleaseDay, readReleaseNotes } from "./changelog.ts";
import { getImage, parseTag } from "./project.ts";

const CHANGELOG = `# Changelog

## 0.3.0 (not released)

## 0.2.0 (2026-12-31)

### Added

- A thing.

## 0.1.0 (2026-11-30)

- Everything.
`;

test.for([
  { version: "0.2.0", notes: "### Added\n\n- A thing.\n", day: "2026-12-31" },
  { version: "0.1.0", notes: "- Everything.\n", day: "2026-11-30" },
])("readReleaseNotes returns the section of $version, and findReleaseDay its day", ({ version, notes, day }) => {
  expect(readReleaseNotes(CHANGELOG, version)).toBe(notes);
  expect(findReleaseDay(CHANGELOG, version)).toBe(day);
});

test.for([
  { version: "0.3.0", message: "CHANGELOG.md has no changes for 0.3.0" },
  { version: "0.4.0", message: "CHANGELOG.md has no section for 0.4.0" },
  { version: "0.1", message: "CHANGELOG.md has no section for 0.1." },
])("readReleaseNotes throws when the changelog has no text for $version", ({ version, message }) => {
  expect(() => readReleaseNotes(CHANGELOG, version)).toThrow(message);
  expect(findReleaseDay(CHANGELOG, version)).toBeUndefined();
});

test("parseTag throws when the tag is not the version of package.json", () => {
  expect(parseTag("v1.0.0", "1.0.0", "1.0.0")).toBe("1.0.0");
  for (const tag of ["1.0.0", "v1.0.1", "v1.0.0-rc.1"]) expect(() => parseTag(tag, "1.0.0", "1.0.0")).toThrow(`tag ${tag} is not v1.0.0`);
});

test("parseTag throws when package-lock.json has another version than package.json", () => {
  expect(() => parseTag("v1.0.0", "1.0.0", "0.1.0")).toThrow("tag v1.0.0 is not v0.1.0, the version of package-lock.json");
});

test("getImage throws when the digest is not a digest", () => {
  expect(() => getImage("1.0.0", "latest")).toThrow("latest is not a digest such as sha256:…");
});
