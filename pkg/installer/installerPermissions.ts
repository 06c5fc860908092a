import { type ClusterExtension, type ClusterExtensionSpec, getNamespace } from "../api/clusterExtension.ts";
import { LABEL_BUNDLE_REFERENCE, LABEL_CREATED_FOR } from "../api/constants.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { servesOperatorConditions } from "../operatorcontroller/apply/preparedObjects.ts";
import { formatRbacCommand, type MissingPermissions } from "../operatorcontroller/permissions/permissions.ts";
import { ReadOnlyReleases } from "../operatorcontroller/releases/readOnlyReleases.ts";
import { requireReadable } from "../operatorcontroller/releases/releaseStore.ts";
import type { RoleStrategy } from "../rbac/escalation.ts";
import type { Installer } from "../rbac/installerManifests.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { isEmptyRules } from "../rbac/ruleSets.ts";
import { migratesStorage } from "../release/plan.ts";
import { findLastDeployed } from "../release/record.ts";
import { type BundleOptions, type BundlePermissions, diffPermissions, mergeRules, type PermissionsDiff } from "./bundlePermissions.ts";

/** The fields of an extension that determine the permissions for its bundles. The default namespace is the suggestion of the first bundle. */
export interface InstallerPermissionsRequest extends Pick<ClusterExtensionSpec, "config" | "install" | "uninstall"> {
  readonly namespace: string | undefined;
  readonly serviceAccount: string;
  /** How the ServiceAccount may write roles. Default: escalate. */
  readonly strategy?: RoleStrategy;
  /** Whether the cluster serves OperatorConditions. */
  readonly operatorCondition: boolean;
}

/** Reads bundle images and returns their permissions, in order. It throws an Error that names the image. */
export type PermissionsReader = (images: readonly string[], options: BundleOptions) => Promise<BundlePermissions[]>;

/** Returns the permissions of bundles for an extension with these fields, in order. @throws Error that names the image */
export function computeInstallerPermissions(
  images: readonly string[],
  { namespace, serviceAccount, config, install, uninstall, strategy = "escalate", operatorCondition }: InstallerPermissionsRequest,
  read: PermissionsReader,
): Promise<BundlePermissions[]> {
  return read(images, {
    ...(namespace === undefined ? {} : { namespace }),
    serviceAccount,
    config: config?.inline,
    strategy,
    crdPolicy: uninstall?.crdPolicy ?? "DeleteIfUnused",
    webhookCertProvider: "auto",
    aggregateUserRoles: install?.userRoles === "Aggregate",
    migrateStorage: migratesStorage({ install }),
    operatorCondition,
    valuesFrom: config?.valuesFrom ?? [],
  });
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
  /** Why the installed bundle cannot be read; all permissions then count as new. */
  readonly unread?: string;
}

/** The missing permissions of the ServiceAccount according to the API server, or why they are unknown. */
export type AccountPermissions = { readonly lacking: MissingPermissions | undefined } | { readonly unknown: string };

/**
 * Returns the permissions for the installed bundle and the next one; undefined without a ServiceAccount. If the image of the installed bundle cannot
 * be pulled, treats all permissions as new.
 */
export async function computeNewPermissions(
  client: Client,
  extension: ClusterExtension,
  { image, systemNamespace, read }: { readonly image: string; readonly systemNamespace: string; readonly read: PermissionsReader },
): Promise<NewPermissions | undefined> {
  const { spec } = extension;
  const name = spec.serviceAccount?.name;
  if (name === undefined) return undefined;
  const history = await new ReadOnlyReleases(client, systemNamespace).history(extension);
  requireReadable(history, "cannot upgrade: ");
  const installed = findLastDeployed(history.current)?.labels[LABEL_BUNDLE_REFERENCE];
  const namespace = getNamespace(extension);
  const request = { ...spec, namespace, serviceAccount: name, operatorCondition: await servesOperatorConditions(client) };
  const to = await computeInstallerPermissions([image], request, read);
  let from: BundlePermissions[] = [];
  let unread: string | undefined;
  try {
    if (installed !== undefined) from = await computeInstallerPermissions([installed], request, read);
  } catch (err) {
    unread = getErrorMessage(err);
  }
  return {
    installer: { namespace, name },
    isOurs: await isInstallerOurs(client, extension),
    rules: mergeRules([...from, ...to]),
    diff: diffPermissions(from, to),
    command: formatRbacCommand(extension, [...(installed === undefined ? [] : [installed]), image], { objects: to[0]?.objects }),
    ...(unread === undefined ? {} : { unread }),
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

/** Whether the upgrade needs new permissions. */
export function addsPermissions({ diff }: NewPermissions): boolean {
  return !isEmptyRules(diff.installer.added) || !isEmptyRules(diff.operator.added);
}
