import { getPackageName, type LockedPackage, type Lockfile } from "./packages.ts";

/** Licenses without obligations beyond a notice. */
const PERMISSIVE = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "PSF-2.0",
  "Unlicense",
]);
/** Licenses of tools that no release contains. The dependency review accepts the same ones. */
export const DEVELOPMENT_LICENSES = new Set([...PERMISSIVE, "CC-BY-4.0", "MPL-2.0"]);

/**
 * Returns the packages of the lockfile whose license is not allowed, one line each: those that a release may contain need a permissive license, and
 * tools may also have a license that concerns only changes of their own files. Ignores packages without a license in the lockfile that are built only
 * for other platforms.
 * @param shipped folders of the packages that a release may contain, from `listShippedFolders`
 */
export function listRejectedLicenses({ packages }: Lockfile, shipped: ReadonlySet<string>): string[] {
  return Object.entries(packages).flatMap(([folder, locked]) => {
    const { version = "", license } = locked;
    if (folder === "" || (license === undefined && isForOtherPlatform(locked))) return [];
    if (license !== undefined && isAllowed(license, shipped.has(folder) ? PERMISSIVE : DEVELOPMENT_LICENSES)) return [];
    return [`${getPackageName(folder)} ${version}: ${license ?? "no license is declared"}`];
  });
}

/** Evaluates an SPDX expression with AND, OR and parentheses around it. */
function isAllowed(expression: string, allowed: ReadonlySet<string>): boolean {
  const text = expression.replace(/^\((.*)\)$/, "$1");
  if (text.includes(" AND ")) return text.split(" AND ").every((part) => isAllowed(part, allowed));
  if (text.includes(" OR ")) return text.split(" OR ").some((part) => isAllowed(part, allowed));
  return allowed.has(text);
}

/** Reports whether npm installs the package only on some platforms. The lockfile has no license of those that were never installed. */
function isForOtherPlatform({ optional = false, os, cpu }: LockedPackage): boolean {
  return optional && (os !== undefined || cpu !== undefined);
}
