/**
 * Returns the section of a version of the changelog, without its heading, for the notes of the release.
 * @throws Error if the changelog has no such section, if the section is empty, or if the version is not marked as released.
 */
export function readReleaseNotes(changelog: string, version: string): string {
  const lines = changelog.split("\n");
  const from = lines.findIndex((line) => line === `## ${version}` || line.startsWith(`## ${version} `));
  if (from < 0) throw new Error(`CHANGELOG.md has no section for ${version}. Add "## ${version} (year-month-day)"`);
  const next = lines.findIndex((line, i) => i > from && line.startsWith("## "));
  const text = lines
    .slice(from + 1, next < 0 ? undefined : next)
    .join("\n")
    .trim();
  if (text === "") throw new Error(`CHANGELOG.md has no changes for ${version}. Describe them`);
  return `${text}\n`;
}

/** Returns the day on which a version was released, such as "2026-12-31". Undefined while it is not released. */
export function findReleaseDay(changelog: string, version: string): string | undefined {
  const escaped = version.replaceAll(/[.+]/g, String.raw`\$&`);
  return new RegExp(String.raw`^## ${escaped} \((\d{4}-\d{2}-\d{2})\)$`, "m").exec(changelog)?.[1];
}
