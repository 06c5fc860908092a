import type { InstalledExtension } from "../rollout/extensions.ts";
import { findBundleByText, findFirst, formatMissingChannel, type InstalledStart, type PackageInCatalog } from "./packageView.ts";

/** Returns the installed versions of a package, to upgrade from. */
export function listInstalledStarts(packageName: string, installed: readonly InstalledExtension[] = []): InstalledStart[] {
  return installed
    .filter((one) => one.package === packageName)
    .map(({ extension, bundle, version, release }) => {
      return { extension, bundle: { name: bundle, version, ...(release === undefined ? {} : { release }) } };
    });
}

/** Returns a version as if it were installed. @throws Error if no catalog contains it */
export function findStart(all: readonly [PackageInCatalog, ...PackageInCatalog[]], text: string): InstalledStart {
  const { name, version = "", release } = findFirst(all, (one) => findBundleByText(one, text)).requested;
  return { bundle: { name, version, ...(release === undefined ? {} : { release }) } };
}

/** @throws Error that lists the channels if no catalog has one of the requested channels of the package */
export function requireChannels(name: string, all: readonly PackageInCatalog[], requested: readonly string[]): void {
  const names = [...new Set(all.flatMap(({ facts }) => facts.channels.map((one) => one.name)))];
  const unknown = requested.find((one) => !names.includes(one));
  if (unknown !== undefined) throw new Error(formatMissingChannel(name, unknown, names));
}
