import { compareText } from "../../text/compare.ts";
import { compareVersionRelease } from "../../version/version.ts";
import type { SolverBundle, Unit } from "./problem.ts";

/** The first by name of the channels that have the bundle. */
function firstChannel({ channels }: SolverBundle): string {
  return channels.reduce((first, name) => (compareText(name, first) < 0 ? name : first), channels[0] ?? "");
}

function compareChannels(a: SolverBundle, b: SolverBundle): number {
  return (
    Number(b.inDefaultChannel) - Number(a.inDefaultChannel) || (a.inDefaultChannel ? 0 : compareText(firstChannel(a), firstChannel(b)))
  );
}

/** The higher version first, those without one last. */
function compareVersions({ version: a }: SolverBundle, { version: b }: SolverBundle): number {
  return a && b ? compareVersionRelease(b, a) : Number(a === undefined) - Number(b === undefined);
}

/**
 * Negative where a bundle of catalog `dependent` that needs one of the two takes `a` first: the one of the catalog with the higher priority, then
 * of its own catalog, then one that is not deprecated, then of the default channel, then of the channel that comes first by name, then of the
 * highest version. What is left is told apart by the names of package, bundle and catalog.
 */
export function comparePreference(a: SolverBundle, b: SolverBundle, dependent: string | undefined): number {
  const isOther = ({ catalog }: SolverBundle): number => Number(catalog === undefined || catalog !== dependent);
  return (
    b.priority - a.priority ||
    isOther(a) - isOther(b) ||
    Number(a.deprecated) - Number(b.deprecated) ||
    compareChannels(a, b) ||
    compareVersions(a, b) ||
    compareText(a.packageName, b.packageName) ||
    compareText(a.name, b.name) ||
    compareText(a.catalog ?? "", b.catalog ?? "")
  );
}

/** The units in the order in which they are decided: `wanted` as given, then `installed` by name of package. */
export function decidedUnits(units: readonly Unit[]): Unit[] {
  const installed = units.filter(({ kind }) => kind === "installed");
  return [...units.filter(({ kind }) => kind === "wanted"), ...installed.sort((a, b) => compareText(a.packageName, b.packageName))];
}
