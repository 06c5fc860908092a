import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { computeBundlePermissions } from "../../installer/bundlePermissions.ts";
import { buildInstallerObjects } from "../../installer/installerObjects.ts";
import { computeNewPermissions, isInstallerOurs } from "../../installer/installerPermissions.ts";
import { buildPinChange } from "../../rollout/changes.ts";
import { readRollbackTarget } from "../../rollout/rollbackTarget.ts";
import { withReader } from "../../sources/bundleReader.ts";
import { formatCount } from "../../text/lists.ts";
import { requireExtension } from "../cluster/currentObjects.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { buildApplyRequest, type ClusterRequest } from "./clusterRequest.ts";
import { planPatch } from "./extensionChanges.ts";
import { type ChangeContext, type PlannedChange, RELOAD } from "./plannedChange.ts";

const PARALLEL = 4;

/** Plans a rollback to a revision, as `olmv1 rollback` does it. */
export async function planRollback(
  context: ChangeContext,
  { extension: name, revision }: { readonly extension: string; readonly revision: number },
): Promise<PlannedChange> {
  const { client, systemNamespace, now } = context;
  const extension = await requireExtension(client, name, context.signal);
  const { bundle, image } = await readTarget(context, extension, revision);
  const pin = await planPatch(context, extension, buildPinChange(extension, revision, now));
  const grants = image === undefined ? { requests: [], effects: [] } : await planGrants(context, extension, image);
  return {
    ...pin,
    requests: [...grants.requests, ...pin.requests],
    title: `Roll ${name} back to revision ${revision}?`,
    effects: [
      `The controller restores the objects of revision ${revision}${bundle === undefined ? "" : `, bundle ${bundle}`}.`,
      `${name} stays pinned to revision ${revision}, without upgrades, until you remove the pin.`,
      "Data of the operator is not restored.",
      ...grants.effects,
      ...(extension.spec.suspend ? [`${name} is suspended, so the rollback starts when you resume it.`] : []),
    ],
    command: `olmv1 rollback ${name} ${revision}${systemNamespace === "olmv1-system" ? "" : ` --system-namespace ${systemNamespace}`}`,
  };
}

async function readTarget({ client, systemNamespace }: ChangeContext, extension: ClusterExtension, revision: number) {
  try {
    return await readRollbackTarget(client, extension, systemNamespace, revision);
  } catch (cause) {
    if (cause instanceof Error && cause.name !== "Error") throw cause; // the API server rejected a read
    throw new ConsoleError("conflict", getErrorMessage(cause), { cause, next: RELOAD });
  }
}

/** Plans to grant a ServiceAccount that `olmv1 install` created the permissions of the restored bundle, because an upgrade may have removed them. */
async function planGrants(
  { client, systemNamespace, registry, signal }: ChangeContext,
  extension: ClusterExtension,
  image: string,
): Promise<{ requests: ClusterRequest[]; effects: string[] }> {
  if (!(await isInstallerOurs(client, extension))) return { requests: [], effects: [] };
  try {
    const permissions = await computeNewPermissions(client, extension, {
      image,
      systemNamespace,
      read: (images, options) =>
        withReader(
          registry,
          (reader) => computeBundlePermissions({ err: () => undefined }, images, options, (image) => reader.bundleImage(image)),
          signal,
        ),
    });
    if (!permissions) return { requests: [], effects: [] };
    const objects = buildInstallerObjects(extension.metadata.name, permissions.installer, permissions.rules, systemNamespace);
    const requests = await mapInParallel(objects, PARALLEL, (object) => buildApplyRequest(client, object, { signal }));
    return {
      requests,
      effects: [`First, ${formatCount(objects.length, "object")} grant the ServiceAccount the permissions that the bundle needs.`],
    };
  } catch (err) {
    signal.throwIfAborted();
    const why = getErrorMessage(err);
    return {
      requests: [],
      effects: [
        `The permissions of the bundle cannot be read, so the rollback succeeds only if the ServiceAccount already has them: ${why}`,
      ],
    };
  }
}
