import type { Installer } from "../../../pkg/rbac/installerManifests.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import { type RulesDiff, diffLines, diffRules, unionOf } from "../../../pkg/rbac/ruleSets.ts";
import { type BundleRights, rulesFor, upgradeRules } from "./bundleRights.ts";

/** What changes from one set of bundles to another. */
export interface RightsDiff {
  from: string[];
  to: string[];
  account: Installer | undefined;
  /** What the installer needs. */
  installer: RulesDiff;
  /** What the bundles give to their own ServiceAccounts. */
  operator: RulesDiff;
}

/** Compares the unions of both sides; to those that come, the upgrade from the others belongs. */
export function rightsDiff(from: readonly BundleRights[], to: readonly BundleRights[]): RightsDiff {
  const given = (side: readonly BundleRights[]): RequiredRules => unionOf(side.map((rights) => rights.given));
  return {
    from: from.map(({ name }) => name),
    to: to.map(({ name }) => name),
    account: to[0]?.installer,
    installer: diffRules(rulesFor(from), unionOf([rulesFor(to), upgradeRules([...from, ...to])])),
    operator: diffRules(given(from), given(to)),
  };
}

/** The comparison as people read it. */
export function diffText({ from, to, account, installer, operator }: RightsDiff): string {
  return [
    `from ${from.join(", ")} to ${to.join(", ")}`,
    "",
    `what the installer needs (ServiceAccount ${account?.namespace}/${account?.name}):`,
    ...diffLines(installer).map((line) => `  ${line}`),
    "",
    "what the bundle gives its own ServiceAccounts:",
    ...diffLines(operator).map((line) => `  ${line}`),
    "",
  ].join("\n");
}
