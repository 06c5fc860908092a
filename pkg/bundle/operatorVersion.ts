import { formatVersion, parseVersion } from "../version/version.ts";

/**
 * A CSV's version as blang/semver's tolerant parser reads it and prints it back: "v1.2" gives "1.2.0", "01.2.3" gives "1.2.3".
 * @throws Error in blang/semver's words.
 * @see https://github.com/blang/semver/blob/v4.0.0/v4/semver.go ParseTolerant
 */
export function operatorVersion(text: string): string {
  const parts = splitN(text.trim().replace(/^v/, ""), 3).map((part) => {
    if (part.length <= 1) return part;
    const stripped = part.replace(/^0+/, "");
    return stripped === "" || !/^[0-9]/.test(stripped) ? `0${stripped}` : stripped;
  });
  if (parts.length < 3) {
    if (/[+-]/.test(parts.at(-1) ?? "")) throw new Error("Short version cannot contain PreRelease/Build meta data");
    while (parts.length < 3) parts.push("0");
  }
  return formatVersion(parseVersion(parts.join(".")));
}

/**
 * A CSV's release: identifiers between dots, as in a semver pre-release.
 * @throws Error in blang/semver's words.
 */
export function operatorRelease(text: string): string {
  return parseVersion(`0.0.0-${text}`).prerelease.join(".");
}

/** The parts between the first `count - 1` dots, the last with all the rest. */
function splitN(text: string, count: number): string[] {
  const parts = text.split(".");
  return parts.length <= count ? parts : [...parts.slice(0, count - 1), parts.slice(count - 1).join(".")];
}
