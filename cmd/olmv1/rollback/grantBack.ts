import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { Terminal } from "../cli/terminal.ts";
import { type AppliedObject, appliedLine, applyObjects } from "../install/applyObjects.ts";
import { installerObjects } from "../install/installerObjects.ts";
import type { RegistryOptions } from "../install/installOptions.ts";
import { isInstallerOurs, type NewRights, newRights, newRightsText } from "../upgrade/newRights.ts";

/**
 * Gives a ServiceAccount that `olmv1 install` made what the bundle that an extension goes back to needs: `olmv1 upgrade` has withdrawn what
 * only older bundles needed. Nothing is asked, as all of it was agreed to before; what changes is told. Another ServiceAccount is left
 * alone. Where the bundles cannot be pulled, or you may not grant, that is told, and no error: going back may need nothing more.
 * @param image of the bundle to go back to
 */
export async function grantBack(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  image: string,
  options: RegistryOptions & { systemNamespace: string },
): Promise<void> {
  if (!(await isInstallerOurs(client, extension))) return;
  try {
    const rights = await newRights(terminal, client, extension, image, options);
    if (rights) await grant(terminal, client, extension, rights, options.systemNamespace);
  } catch (err) {
    terminal.signal.throwIfAborted();
    terminal.err(`olmv1: rights that only that bundle needs were not granted; it goes back if it has them: ${messageOf(err)}\n`);
  }
}

async function grant(terminal: Terminal, client: Client, { metadata }: ClusterExtension, rights: NewRights, system: string): Promise<void> {
  const objects = installerObjects(metadata.name, rights.installer, rights.rules, system);
  const tell = (applied: AppliedObject): void => {
    if (applied.verb !== "unchanged") terminal.out(`${appliedLine(applied)}\n`);
  };
  const done = await applyObjects(client, objects, { tell });
  if (done.some(({ verb }) => verb !== "unchanged")) terminal.err(newRightsText(terminal, rights, { lacking: undefined }));
}
