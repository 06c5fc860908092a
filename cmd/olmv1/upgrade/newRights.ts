import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_BUNDLE_REFERENCE, LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { ReleaseStore, requireReadable } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import { rbacCommand } from "../../../pkg/operatorcontroller/rights/rbacCommand.ts";
import type { Installer } from "../../../pkg/rbac/manifest.ts";
import { isNothing } from "../../../pkg/rbac/missing.ts";
import type { RequiredRules } from "../../../pkg/rbac/rules.ts";
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

/** What is granted that was not, for somebody who has to agree to it. */
export function newRightsText(terminal: Pick<Terminal, "width">, { installer, isOurs, diff, command }: NewRights): string {
  const parts: string[] = [];
  const who = `ServiceAccount ${installer.namespace}/${installer.name}`;
  if (isNothing(diff.installer.added)) parts.push(`${who} needs no new right\n`);
  else if (isOurs)
    parts.push(
      `${who} may from now on ("manage" is create, get, list, watch, patch and delete):\n`,
      grantsText(terminal, diff.installer.added, command),
    );
  else
    parts.push(
      `${who}, which olmv1 install has not made, needs these rights too; without them it waits, and nothing is changed:\n`,
      grantsText(terminal, diff.installer.added, command),
      `  grant them: ${command} | kubectl apply -f -\n`,
    );
  if (!isNothing(diff.operator.added))
    parts.push("the bundle's own ServiceAccounts may from now on:\n", grantsText(terminal, diff.operator.added, command));
  return `${parts.join("")}\n`;
}
