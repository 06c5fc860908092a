import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { computeBundlePermissions } from "../../../pkg/installer/bundlePermissions.ts";
import {
  type AccountPermissions,
  computeNewPermissions,
  type NewPermissions,
  type PermissionsReader,
} from "../../../pkg/installer/installerPermissions.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { Installer } from "../../../pkg/rbac/installerManifests.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import { isEmptyRules } from "../../../pkg/rbac/ruleSets.ts";
import { formatRule, groupByScope, type PlacedRule, placeRules } from "../../../pkg/rollout/placedRules.ts";
import { type ReaderOptions, withReader } from "../../../pkg/sources/bundleReader.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { wrapText } from "../cli/columns.ts";
import type { RegistryOptions } from "../cli/options.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";

const RULES_SHOWN = 30;

/**
 * Formats rules, grouped by scope, one line each: verbs, resources, names. Never truncates resources, because users must accept them.
 * @param more the command that prints all rules, for omitted ones.
 */
export function formatGrants(screen: Pick<Terminal, "width">, rules: RequiredRules, more: string): string {
  return formatPlacedRules(screen, placeRules(rules), more);
}

/** Like `formatGrants`, with notes in parentheses. Without `more`, prints all rules with all names. */
export function formatPlacedRules(screen: Pick<Terminal, "width">, rules: readonly PlacedRule[], more?: string): string {
  if (rules.length === 0) return "  none\n";
  const isShort = more === undefined || rules.length <= RULES_SHOWN + 1;
  let room = isShort ? rules.length : RULES_SHOWN;
  const lines = groupByScope(rules).flatMap(({ namespace, rules: own }) => {
    const shown = own.slice(0, Math.max(room, 0));
    room -= shown.length;
    const place = namespace === "" ? "cluster-wide:" : `in namespace ${namespace}:`;
    return shown.length === 0 ? [] : [`  ${place}`, ...shown.flatMap((rule) => ruleLines(screen, rule, more === undefined))];
  });
  const left = isShort ? [] : [`  … and ${rules.length - RULES_SHOWN} more: ${more}`];
  return `${[...lines, ...left].join("\n")}\n`;
}

function ruleLines(screen: Pick<Terminal, "width">, { rule, note }: PlacedRule, allNames: boolean): string[] {
  const text = `${formatRule(rule, allNames)}${note === undefined ? "" : ` (${note})`}`;
  return wrapText(escapeControlCharacters(text), screen.width, "        ").map((line, i) =>
    i === 0 ? line.replace(/^ {8}/, "    ") : line,
  );
}

/** Returns a reader that pulls bundle images with the options of the command, and prints its progress. */
export function createPermissionsReader(terminal: Terminal, options: ReaderOptions): PermissionsReader {
  return (images, bundleOptions) =>
    withProgress(terminal, `pulling ${images.join(", ")}`, () =>
      withReader(
        options,
        (reader) => computeBundlePermissions(terminal, images, bundleOptions, (image) => reader.bundleImage(image)),
        terminal.signal,
      ),
    );
}

/** Returns the permissions that an upgrade to the bundle needs. If the installed bundle cannot be read, prints a warning. */
export async function readNewPermissions(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  image: string,
  options: RegistryOptions & { systemNamespace: string },
): Promise<NewPermissions | undefined> {
  const { systemNamespace } = options;
  const read = createPermissionsReader(terminal, options);
  const permissions = await computeNewPermissions(client, extension, { image, systemNamespace, read });
  if (permissions?.unread !== undefined)
    terminal.err(`olmv1: cannot read the installed bundle, so all permissions are listed as new: ${permissions.unread}\n`);
  return permissions;
}

/** Formats the permissions that an upgrade needs, for the user who must agree to them. */
export function formatNewPermissions(terminal: Pick<Terminal, "width">, permissions: NewPermissions, account: AccountPermissions): string {
  const { isOurs, diff, command } = permissions;
  const parts = [isOurs ? formatGranted(terminal, permissions) : formatMissing(terminal, permissions, account)];
  if (!isEmptyRules(diff.operator.added))
    parts.push(
      "The bundle grants its own ServiceAccounts these additional permissions:\n",
      formatGrants(terminal, diff.operator.added, command),
    );
  return `${parts.join("")}\n`;
}

/** Formats the new permissions of a ServiceAccount that `olmv1 install` created. */
function formatGranted(terminal: Pick<Terminal, "width">, { installer, diff, command }: NewPermissions): string {
  if (isEmptyRules(diff.installer.added)) return `${formatAccount(installer)} needs no new permissions\n`;
  const head = `${formatAccount(installer)} gets these additional permissions ("manage" means create, get, list, watch, patch and delete):\n`;
  return `${head}${formatGrants(terminal, diff.installer.added, command)}`;
}

/** Formats the missing permissions of a ServiceAccount that the user created. */
function formatMissing(
  terminal: Pick<Terminal, "width">,
  { installer, diff, command }: NewPermissions,
  account: AccountPermissions,
): string {
  const who = formatAccount(installer);
  const howTo = `  grant them: ${command} | kubectl apply -f -\n`;
  if ("unknown" in account) {
    if (isEmptyRules(diff.installer.added)) return `${who} needs no new permissions\n`;
    const head = `cannot check the permissions of ${who}: ${escapeControlCharacters(account.unknown)}. The upgrade needs these permissions in addition to those for the installed bundle:\n`;
    return `${head}${formatGrants(terminal, diff.installer.added, command)}${howTo}`;
  }
  const { lacking } = account;
  if (!lacking) return `${who} has the permissions that the upgrade needs\n`;
  const head = `${who}, which olmv1 install did not create, ${lacking.uncertain ? "may lack" : "lacks"} these permissions; the controller changes nothing until they are granted:\n`;
  return `${head}${formatGrants(terminal, lacking.missing, command)}${howTo}`;
}

function formatAccount({ namespace, name }: Installer): string {
  return `ServiceAccount ${namespace}/${name}`;
}
