import { type ClusterExtension, type ClusterExtensionSpec, getNamespace } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_BUNDLE_REFERENCE, LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import {
  type BundlePermissions,
  computeBundlePermissions,
  diffPermissions,
  mergeRules,
  type PermissionsDiff,
} from "../../../pkg/installer/bundlePermissions.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { formatRbacCommand, type MissingPermissions } from "../../../pkg/operatorcontroller/permissions/permissions.ts";
import { ReleaseStore, requireReadable } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import type { RoleStrategy } from "../../../pkg/rbac/escalation.ts";
import type { Installer } from "../../../pkg/rbac/installerManifests.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import { isEmptyRules } from "../../../pkg/rbac/ruleSets.ts";
import { findLastDeployed } from "../../../pkg/release/record.ts";
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

/** Like `formatGrants`, with notes in parentheses. Without `more`, prints all rules. */
export function formatPlacedRules(screen: Pick<Terminal, "width">, rules: readonly PlacedRule[], more?: string): string {
  if (rules.length === 0) return "  none\n";
  const isShort = more === undefined || rules.length <= RULES_SHOWN + 1;
  let room = isShort ? rules.length : RULES_SHOWN;
  const lines = groupByScope(rules).flatMap(({ namespace, rules: own }) => {
    const shown = own.slice(0, Math.max(room, 0));
    room -= shown.length;
    const place = namespace === "" ? "cluster-wide:" : `in namespace ${namespace}:`;
    return shown.length === 0 ? [] : [`  ${place}`, ...shown.flatMap((rule) => ruleLines(screen, rule))];
  });
  const left = isShort ? [] : [`  … and ${rules.length - RULES_SHOWN} more: ${more}`];
  return `${[...lines, ...left].join("\n")}\n`;
}

function ruleLines(screen: Pick<Terminal, "width">, { rule, note }: PlacedRule): string[] {
  const text = `${formatRule(rule)}${note === undefined ? "" : ` (${note})`}`;
  return wrapText(escapeControlCharacters(text), screen.width, "        ").map((line, i) =>
    i === 0 ? line.replace(/^ {8}/, "    ") : line,
  );
}

/** The fields of an extension that determine the permissions for its bundles. The default namespace is the suggestion of the first bundle. */
export interface InstallerPermissionsRequest extends Pick<ClusterExtensionSpec, "config" | "install" | "uninstall"> {
  readonly namespace: string | undefined;
  readonly serviceAccount: string;
  /** How the ServiceAccount may write roles. Default: escalate. */
  readonly strategy?: RoleStrategy;
}

/** Pulls bundle images and returns their permissions, in order. @throws Error that names the image. */
export async function computeInstallerPermissions(
  terminal: Terminal,
  images: readonly string[],
  { namespace, serviceAccount, config, install, uninstall, strategy = "escalate" }: InstallerPermissionsRequest,
  options: ReaderOptions,
): Promise<BundlePermissions[]> {
  const bundleOptions = {
    ...(namespace === undefined ? {} : { namespace }),
    serviceAccount,
    config: config?.inline,
    strategy,
    crdPolicy: uninstall?.crdPolicy ?? "DeleteIfUnused",
    webhookCertProvider: "auto" as const,
    aggregateUserRoles: install?.userRoles === "Aggregate",
    valuesFrom: config?.valuesFrom ?? [],
  };
  return withProgress(terminal, `pulling ${images.join(", ")}`, () =>
    withReader(options, (reader) => computeBundlePermissions(terminal, images, bundleOptions, reader)),
  );
}

/** The permissions that an upgrade needs. */
export interface NewPermissions {
  readonly installer: Installer;
  /** Whether `olmv1 install` created the ServiceAccount, so the command may grant it permissions. */
  readonly isOurs: boolean;
  /** The permissions that both bundles and the upgrade between them need. */
  readonly rules: RequiredRules;
  readonly diff: PermissionsDiff;
  /** The command that prints all permissions. */
  readonly command: string;
}

/** The missing permissions of the ServiceAccount according to the API server, or why they are unknown. */
export type AccountPermissions = { readonly lacking: MissingPermissions | undefined } | { readonly unknown: string };

/**
 * Returns the permissions for the installed bundle and the next one; undefined without a ServiceAccount. If the image of the installed bundle cannot
 * be pulled, prints a warning and treats all permissions as new.
 */
export async function computeNewPermissions(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  image: string,
  options: RegistryOptions & { systemNamespace: string },
): Promise<NewPermissions | undefined> {
  const { metadata, spec } = extension;
  const name = spec.serviceAccount?.name;
  if (name === undefined) return undefined;
  const history = await new ReleaseStore(client, options.systemNamespace).history({ name: metadata.name, uid: metadata.uid ?? "" });
  requireReadable(history, "cannot upgrade: ");
  const installed = findLastDeployed(history.current)?.labels[LABEL_BUNDLE_REFERENCE];
  const namespace = getNamespace(extension);
  const request = { ...spec, namespace, serviceAccount: name };
  const to = await computeInstallerPermissions(terminal, [image], request, options);
  const from =
    installed === undefined ? [] : await orNone(terminal, () => computeInstallerPermissions(terminal, [installed], request, options));
  return {
    installer: { namespace, name },
    isOurs: await isInstallerOurs(client, extension),
    rules: mergeRules([...from, ...to]),
    diff: diffPermissions(from, to),
    command: formatRbacCommand(extension, [...(installed === undefined ? [] : [installed]), image]),
  };
}

/** Whether `olmv1 install` created the ServiceAccount for this extension. */
export async function isInstallerOurs(client: Client, extension: ClusterExtension): Promise<boolean> {
  const name = extension.spec.serviceAccount?.name;
  if (name === undefined) return false;
  const live = await client.get(
    { apiVersion: "v1", kind: "ServiceAccount", namespace: getNamespace(extension), name },
    { metadataOnly: true },
  );
  return live?.metadata.labels?.[LABEL_CREATED_FOR] === extension.metadata.name;
}

async function orNone(terminal: Terminal, read: () => Promise<BundlePermissions[]>): Promise<BundlePermissions[]> {
  try {
    return await read();
  } catch (err) {
    terminal.err(`olmv1: cannot read the installed bundle, so all permissions are listed as new: ${getErrorMessage(err)}\n`);
    return [];
  }
}

/** Whether the upgrade needs new permissions. */
export function addsPermissions({ diff }: NewPermissions): boolean {
  return !isEmptyRules(diff.installer.added) || !isEmptyRules(diff.operator.added);
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
