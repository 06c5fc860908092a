import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_BUNDLE_REFERENCE, LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { ReleaseStore, requireReadable } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import type { LackingPermissions } from "../../../pkg/operatorcontroller/rights/permissions.ts";
import { rbacCommand } from "../../../pkg/operatorcontroller/rights/rbacCommand.ts";
import type { Installer } from "../../../pkg/rbac/installerManifests.ts";
import { isNothing } from "../../../pkg/rbac/ruleSets.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import { lastDeployed } from "../../../pkg/release/record.ts";
import type { Terminal } from "../cli/terminal.ts";
import { grantsText } from "../install/grantsText.ts";
import type { RegistryOptions } from "../install/installOptions.ts";
import { rightsFor } from "../install/rightsFor.ts";
import { type BundleRights, rulesFor } from "../rbac/bundleRights.ts";
import { type RightsDiff, rightsDiff } from "../rbac/rightsDiff.ts";

/** What an upgrade means for rights. */
export interface NewRights {
  readonly installer: Installer;
  /** `olmv1 install` made the ServiceAccount, so its rights are ours to grant. */
  readonly isOurs: boolean;
  /** What the installer needs for both bundles and the way between them. */
  readonly rules: RequiredRules;
  readonly diff: RightsDiff;
  /** The command that prints all of it. */
  readonly command: string;
}

/** What the API server answers about the permissions of the ServiceAccount: those that it lacks, if any, or why that is not known. */
export type AccountPermissions = { readonly lacking: LackingPermissions | undefined } | { readonly unknown: string };

/**
 * The rights for the installed bundle and the next one; undefined where no ServiceAccount is named.
 * Where the image of the installed bundle cannot be pulled any more, everything counts as new, and that is told.
 */
export async function newRights(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  image: string,
  options: RegistryOptions & { systemNamespace: string },
): Promise<NewRights | undefined> {
  const { metadata, spec } = extension;
  const name = spec.serviceAccount?.name;
  if (name === undefined) return undefined;
  const history = await new ReleaseStore(client, options.systemNamespace).history({ name: metadata.name, uid: metadata.uid ?? "" });
  requireReadable(history, "cannot upgrade: ");
  const installed = lastDeployed(history.current)?.labels[LABEL_BUNDLE_REFERENCE];
  const request = { ...spec, serviceAccount: name };
  const to = await rightsFor(terminal, [image], request, options);
  const from = installed === undefined ? [] : await before(terminal, () => rightsFor(terminal, [installed], request, options));
  return {
    installer: { namespace: spec.namespace, name },
    isOurs: await isInstallerOurs(client, extension),
    rules: rulesFor([...from, ...to]),
    diff: rightsDiff(from, to),
    command: rbacCommand(extension, [...(installed === undefined ? [] : [installed]), image]),
  };
}

/** Whether `olmv1 install` made the ServiceAccount of an extension, for it. */
export async function isInstallerOurs(client: Client, { metadata, spec }: ClusterExtension): Promise<boolean> {
  const name = spec.serviceAccount?.name;
  if (name === undefined) return false;
  const live = await client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace: spec.namespace, name }, { metadataOnly: true });
  return live?.metadata.labels?.[LABEL_CREATED_FOR] === metadata.name;
}

async function before(terminal: Terminal, read: () => Promise<BundleRights[]>): Promise<BundleRights[]> {
  try {
    return await read();
  } catch (err) {
    terminal.err(`olmv1: what the installed bundle needs cannot be told, so all rights count as new: ${messageOf(err)}\n`);
    return [];
  }
}

/** Whether something is granted that was not. */
export function grantsMore({ diff }: NewRights): boolean {
  return !isNothing(diff.installer.added) || !isNothing(diff.operator.added);
}

/** Formats the permissions that an upgrade needs, for the user who must agree to them. */
export function newRightsText(terminal: Pick<Terminal, "width">, rights: NewRights, account: AccountPermissions): string {
  const { isOurs, diff, command } = rights;
  const parts = [isOurs ? grantedText(terminal, rights) : lackingText(terminal, rights, account)];
  if (!isNothing(diff.operator.added))
    parts.push("the bundle's own ServiceAccounts may from now on:\n", grantsText(terminal, diff.operator.added, command));
  return `${parts.join("")}\n`;
}

/** What a ServiceAccount that `olmv1 install` made is granted. */
function grantedText(terminal: Pick<Terminal, "width">, { installer, diff, command }: NewRights): string {
  if (isNothing(diff.installer.added)) return `${accountText(installer)} needs no new right\n`;
  const head = `${accountText(installer)} may from now on ("manage" is create, get, list, watch, patch and delete):\n`;
  return `${head}${grantsText(terminal, diff.installer.added, command)}`;
}

/** What a ServiceAccount that somebody else made lacks. */
function lackingText(terminal: Pick<Terminal, "width">, { installer, diff, command }: NewRights, account: AccountPermissions): string {
  const who = accountText(installer);
  const howTo = `  grant them: ${command} | kubectl apply -f -\n`;
  if ("unknown" in account) {
    if (isNothing(diff.installer.added)) return `${who} needs no new permission\n`;
    const head = `cannot check the permissions of ${who}: ${escapeControlCharacters(account.unknown)}. The upgrade needs these in addition to those of the installed bundle:\n`;
    return `${head}${grantsText(terminal, diff.installer.added, command)}${howTo}`;
  }
  const { lacking } = account;
  if (!lacking) return `${who} has the permissions that the upgrade needs\n`;
  const head = `${who}, which olmv1 install has not made, ${lacking.doubtful ? "may lack" : "lacks"} these permissions; without them the controller waits and changes nothing:\n`;
  return `${head}${grantsText(terminal, lacking.missing, command)}${howTo}`;
}

function accountText({ namespace, name }: Installer): string {
  return `ServiceAccount ${namespace}/${name}`;
}
