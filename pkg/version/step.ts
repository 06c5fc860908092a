import semver from "semver";

// Separate from version.ts, so that worker threads do not load the package semver.

/** The size of a version change. A step to or from a prerelease has the size of the version part that changes. */
export type VersionStep = "same" | "patch" | "minor" | "major" | "rollback";

const STEPS: Readonly<Record<semver.ReleaseType, VersionStep>> = {
  major: "major",
  premajor: "major",
  minor: "minor",
  preminor: "minor",
  patch: "patch",
  prepatch: "patch",
  prerelease: "patch",
  release: "patch",
};

/** Returns the step from one version to another, ignoring build metadata; undefined if a text is not a semantic version. */
export function getVersionStep(from: string, to: string): VersionStep | undefined {
  const [before, after] = [semver.parse(from), semver.parse(to)];
  if (!before || !after) return undefined;
  if (semver.compare(after, before) < 0) return "rollback";
  const difference = semver.diff(before, after);
  return difference === null ? "same" : STEPS[difference];
}
