import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import type { ActionRequest, UninstallPolicy } from "../../consoleapi/actions.ts";
import { isInstallerOurs } from "../../installer/installerPermissions.ts";
import { buildDeletionPermissions, type CustomResources } from "../../installer/removal.ts";
import { divideDefinitions, previewUninstall, type UninstallPreview } from "../../installer/uninstallPreview.ts";
import { describeBackup } from "../../operatorcontroller/crds/backupRecord.ts";
import { describeObject } from "../../release/identity.ts";
import { buildCrdPolicyChange } from "../../rollout/changes.ts";
import { formatCount, formatList } from "../../text/lists.ts";
import { requireExtension } from "../cluster/currentObjects.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { buildApplyRequest, buildDeleteRequest, buildPatchRequest, type ClusterRequest } from "./clusterRequest.ts";
import { type ChangeContext, type PlannedChange, toSeenObject } from "./plannedChange.ts";

const NAMES_SHOWN = 5;

/** Plans the uninstall of an extension, as `olmv1 uninstall` does it, without the objects that `olmv1 install` created. */
export async function planUninstall(
  context: ChangeContext,
  { extension: name, crdPolicy }: Extract<ActionRequest, { action: "uninstall" }>,
): Promise<PlannedChange> {
  const { client, systemNamespace, signal } = context;
  const extension = await requireExtension(client, name, signal);
  const preview = await previewUninstall(
    client,
    name,
    { ...(crdPolicy ? { crdPolicy } : {}), systemNamespace, withDependents: true, isPartial: true },
    signal,
  );
  const isPolicyChange = crdPolicy !== undefined && crdPolicy !== extension.spec.uninstall?.crdPolicy;
  const first = isPolicyChange
    ? await planPolicyChange(context, extension, crdPolicy, preview.customResources)
    : { requests: [], effects: [] };
  const losesData = divideDefinitions(preview).lost.length > 0 || preview.unread !== undefined;
  return {
    title: `Uninstall ${name}?`,
    effects: [...describeUninstall(preview), ...first.effects],
    isDanger: true,
    command: formatUninstallCommand(name, crdPolicy),
    requests: [...first.requests, await buildDeleteRequest(client, extension)],
    seen: toSeenObject(extension),
    ...(losesData ? { confirmation: name } : {}),
    ...(extension.metadata.deletionTimestamp === undefined ? {} : { rejected: `${name} is already being uninstalled.` }),
  };
}

/** Formats the command that uninstalls an extension. @param crdPolicy the policy that the user chose */
export function formatUninstallCommand(name: string, crdPolicy: UninstallPolicy | undefined): string {
  return `olmv1 uninstall ${name}${crdPolicy === undefined ? "" : ` --crd-policy ${crdPolicy}`}`;
}

/** Plans to set spec.uninstall.crdPolicy first, with the permissions that it needs if `olmv1 install` created the ServiceAccount. */
async function planPolicyChange(
  { client, signal }: ChangeContext,
  extension: ClusterExtension,
  crdPolicy: NonNullable<UninstallPreview["crdPolicy"]>,
  customResources: readonly CustomResources[],
): Promise<{ requests: ClusterRequest[]; effects: string[] }> {
  const { metadata, spec } = extension;
  const patch = await buildPatchRequest(client, buildCrdPolicyChange(extension, crdPolicy), extension);
  const account = spec.serviceAccount?.name;
  if (crdPolicy !== "Delete" || account === undefined || customResources.length === 0) return { requests: [patch], effects: [] };
  const installer = { namespace: getNamespace(extension), name: account };
  if (!(await isInstallerOurs(client, extension)))
    return {
      requests: [patch],
      effects: [
        `ServiceAccount ${installer.namespace}/${account} needs permission to get, list and delete the custom resources; olmv1 rbac --crd-policy Delete prints it.`,
      ],
    };
  const roles = buildDeletionPermissions(metadata.name, installer, customResources);
  const requests = await Promise.all(roles.map((role) => buildApplyRequest(client, role, { signal })));
  return { requests: [...requests, patch], effects: [] };
}

/** Returns the effects of an uninstall as sentences, lost data first. */
export function describeUninstall(preview: UninstallPreview): string[] {
  const { extension, installed, created, blocked, dependents, unread = [] } = preview;
  const { lost, unused, kept } = divideDefinitions(preview);
  const bundle = extension?.status?.install?.bundle;
  const deleted = Math.max(installed.count - kept.length, 0);
  return [
    ...unread,
    ...lost.map(
      (one) => `${describeCount(one)} of ${one.crd.metadata.name} will be deleted, with everything that the operator created for them.`,
    ),
    ...(extension && lost.length > 0 ? [describeBackup(extension)] : []),
    ...(extension
      ? [
          bundle
            ? `The controller deletes ${bundle.name} with ${formatCount(deleted, "object")}.`
            : "No bundle is installed, so only the ClusterExtension is deleted.",
        ]
      : []),
    ...unused.map(({ crd }) => `CustomResourceDefinition ${crd.metadata.name} is deleted; it has no custom resources.`),
    ...kept.map(
      (one) => `CustomResourceDefinition ${one.crd.metadata.name} is kept${one.names.length > 0 ? `, with ${describeCount(one)}` : ""}.`,
    ),
    ...(typeof dependents === "string"
      ? [`The extensions that depend on this one are unknown: ${dependents}`]
      : (dependents ?? []).map(
          (one) =>
            `The uninstall waits until ${one.extension} is uninstalled or no longer needs ${formatList(one.needs, { max: NAMES_SHOWN })}.`,
        )),
    ...(blocked.length > 0 ? ["The uninstall stops with reason ConversionNeeded before it deletes any object:", ...blocked] : []),
    ...(created.length > 0
      ? [
          `These objects, which olmv1 install created for the extension, stay: ${formatList(created.map(describeObject), { max: NAMES_SHOWN })}.`,
        ]
      : []),
  ];
}

function describeCount({ names, isMore, unknown }: CustomResources): string {
  if (unknown !== undefined) return `An unknown number of custom resources (${unknown})`;
  return `${isMore ? "More than " : ""}${formatCount(names.length, "custom resource")}`;
}

/** Plans to delete the objects that `olmv1 install` created for an extension that is gone. */
export async function planRemoval({ client, systemNamespace, signal }: ChangeContext, name: string): Promise<PlannedChange> {
  const preview = await previewUninstall(client, name, { systemNamespace }, signal).catch((cause: unknown) => {
    throw new ConsoleError("notFound", `nothing of extension "${name}" is left`, { cause });
  });
  const { extension, created, staying } = preview;
  return {
    title: `Delete what olmv1 install created for ${name}?`,
    effects: [...created.map((object) => `${describeObject(object)} is deleted.`), ...staying],
    isDanger: true,
    command: `olmv1 uninstall ${name}`,
    requests: await Promise.all(created.map((object) => buildDeleteRequest(client, object))),
    ...(extension ? { rejected: `${name} still exists, and its uninstall needs these objects.` } : {}),
    ...(created.length === 0 ? { rejected: "No objects are left." } : {}),
  };
}
