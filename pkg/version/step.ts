import semver from "semver";

// Apart from version.ts, so that worker threads do not load the package semver.

/** How far a change of version goes; a step to or from a prerelease counts as the part that its numbers change. */
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

/** The step from one version to another, build metadata aside; undefined for texts that are no semantic versions. */
export function stepBetween(from: string, to: string): VersionStep | undefined {
  const [before, after] = [semver.parse(from), semver.parse(to)];
  if (!before || !after) return undefined;
  if (semver.compare(after, before) < 0) return "rollback";
  const difference = semver.diff(before, after);
  return difference === null ? "same" : STEPS[difference];
}
