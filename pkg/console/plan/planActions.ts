import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { OfferedAction } from "../../consoleapi/plan.ts";
import type { PlanView } from "../../preview/extensionPlan.ts";
import { buildSourcePatch, changeCatalogSource, formatSourceCommand, type SourceChange } from "../../rollout/sourceChange.ts";
import { quoteShellWord } from "../../text/shell.ts";

/** Maximum length of a version range in the API. */
const RANGE_MAX = 64;

/** The version and channels that the user chose for a plan. */
export interface TriedPlan {
  readonly change: SourceChange;
  /** Whether they differ from those of the extension. */
  readonly isChanged: boolean;
  /** The command that prints the plan; undefined if there is none. */
  readonly command: string | undefined;
  /** Whether another implementation of OLM v1 carries out the plan. */
  readonly isOtherOlm: boolean;
}

/** Returns the choice of a user. @throws Error if the extension does not install a package of a catalog */
export function readTriedPlan(
  extension: ClusterExtension,
  change: SourceChange,
  isOtherOlm: boolean,
): { choice: TriedPlan; desired: ClusterExtension } {
  const desired = changeCatalogSource(extension, change);
  const patch = buildSourcePatch(extension, desired);
  const { name } = extension.metadata;
  const isChanged = Object.keys(patch).length > 0;
  return { desired, choice: { change, isChanged, command: formatPlanCommand(name, patch), isOtherOlm } };
}

/** Formats the command that prints a plan; undefined if it has no option for the change. */
function formatPlanCommand(name: string, patch: Readonly<Record<string, unknown>>): string | undefined {
  if (Object.keys(patch).length === 0) return `olmv1 plan ${quoteShellWord(name)}`;
  const upgrade = formatSourceCommand(name, patch);
  return upgrade.startsWith("olmv1 upgrade ") ? upgrade.replace("upgrade", "plan") : undefined;
}

/** Offers the approval of the plan that waits, or the change to the chosen version. Undefined if there is nothing to accept. */
export function offerAcceptance(
  { digest, approval, bundle }: PlanView,
  { metadata: { name }, status }: ClusterExtension,
  { change, isChanged }: TriedPlan,
): OfferedAction | undefined {
  if (isChanged) {
    const { version, channels, upgradeConstraintPolicy } = change;
    const isApproving = approval.needed && digest !== null;
    return {
      label: `Change to version ${bundle.version}`,
      meaning: isApproving
        ? "Changes the version range and channels, and approves this plan."
        : "Changes the version range and channels; the controller then carries out the plan.",
      request: {
        action: "changeSource",
        extension: name,
        ...(version === undefined ? {} : { version }),
        ...(channels ? { channels: [...channels] } : {}),
        ...(upgradeConstraintPolicy ? { upgradeConstraintPolicy } : {}),
        ...(isApproving ? { digest } : {}),
      },
    };
  }
  if (digest === null || status?.plan?.digest !== digest || approval.given) return undefined;
  return {
    label: "Approve this plan",
    meaning: "The controller carries out exactly this plan. If the plan changes first, it waits for another approval.",
    request: { action: "approvePlan", extension: name, digest },
  };
}

/** Offers what keeps the controller from ever carrying out a plan. There is no rejection as such: a plan without an approval changes nothing. */
export function offerRejections(
  { bundle, installed, counts }: PlanView,
  { metadata: { name }, spec }: ClusterExtension,
  { isChanged, isOtherOlm }: TriedPlan,
): OfferedAction[] {
  if (isChanged || counts.create + counts.update + counts.delete === 0) return [];
  const range = spec.source.catalog?.version ?? "";
  const skipping = range === "" ? `!=${bundle.version}` : `${range}, !=${bundle.version}`;
  const offers: OfferedAction[] = [];
  if (installed && installed.version !== bundle.version) {
    if (!range.includes("||") && skipping.length <= RANGE_MAX)
      offers.push({
        label: `Skip version ${bundle.version}`,
        meaning: `Excludes version ${bundle.version} from the version range. Other versions are still offered.`,
        request: { action: "changeSource", extension: name, version: skipping },
      });
    if (range !== installed.version)
      offers.push({
        label: `Stay on version ${installed.version}`,
        meaning: "Sets the version range to the installed version. No other version is offered until you change the range.",
        request: { action: "changeSource", extension: name, version: installed.version },
      });
  }
  if (!spec.suspend && !isOtherOlm)
    offers.push({
      label: "Suspend the extension",
      meaning: "The controller changes nothing, including drift, until you resume the extension.",
      request: { action: "suspend", extension: name },
    });
  return offers;
}
