import type { ClusterExtension } from "../api/clusterExtension.ts";
import { LABEL_CREATED_FOR } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { findProblem, type Problem } from "../api/problems.ts";
import { readSuggestedNamespace } from "../bundle/suggestedNamespace.ts";
import { getProblems } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { servesOperatorConditions } from "../operatorcontroller/apply/preparedObjects.ts";
import { getGrantName } from "../permissions/grantObjects.ts";
import type { Sources } from "../preview/catalogSelection.ts";
import { answerResolution, type ResolutionAnswer } from "../preview/resolutionAnswers.ts";
import { readResolutionSubject } from "../preview/resolutionSubject.ts";
import { buildUserConfigSchema } from "../render/configSchema.ts";
import { buildExtensionRef, listClusterExtensions } from "../rollout/extensions.ts";
import type { BundleReader } from "../sources/bundleReader.ts";
import { applyObjects } from "./applyObjects.ts";
import { type BundlePermissions, computeBundlePermissions } from "./bundlePermissions.ts";
import { buildDesiredExtension, type ExtensionOptions, findChangedPaths } from "./extensionSpec.ts";
import { buildInstallerObjects, createNamespaceObject, findTokenObjects } from "./installerObjects.ts";
import { computeInstallerPermissions, type PermissionsReader } from "./installerPermissions.ts";

/** A requested installation. */
export interface InstallRequest extends Omit<ExtensionOptions, "namespace" | "serviceAccount"> {
  /** Name of the ClusterExtension; default: name of the package. */
  readonly name?: string;
  /** Default: the namespace that the bundle suggests. */
  readonly namespace?: string;
  /** An existing ServiceAccount to install with; by default, permission-manager creates one. */
  readonly serviceAccount?: string;
  /** Creates a ServiceAccount with the required permissions. */
  readonly createServiceAccount?: boolean;
  /** Creates the namespace if it does not exist, although the extension has no ServiceAccount; permission-manager does so otherwise. */
  readonly createNamespace?: boolean;
  readonly systemNamespace: string;
}

/** The bundle to install. */
export interface InstallBundle {
  readonly name: string;
  readonly image: string;
}

/** The objects to apply, and the permissions that the user must accept. */
export interface InstallPreparation {
  readonly extension: ClusterExtension;
  /** In the order in which to apply them. Empty if everything exists. */
  readonly objects: readonly KubeObject[];
  /** The permissions to grant; undefined if the installation grants none. */
  readonly permissions: BundlePermissions | undefined;
  readonly image: string;
  readonly bundle: string;
  /** The existing ServiceAccount that gets permissions although `olmv1 install` did not create it for this extension. */
  readonly adopted?: AdoptedAccount;
}

/** An existing ServiceAccount with another owner. */
export interface AdoptedAccount {
  /** In the form NAMESPACE/NAME. */
  readonly account: string;
  /** The extension that it was created for, if any. */
  readonly createdFor: string | undefined;
}

/** The name of the ClusterExtension of an installation. */
function getInstallName({ name, packageName }: Pick<InstallRequest, "name" | "packageName">): string {
  return name ?? packageName;
}

/**
 * Why an installation conflicts with an existing extension. `nameTaken`: it installs another package. `deleting`: it is being deleted. `installed`: it
 * installs the package under another name. `different`: it has other values.
 */
export type InstallConflictKind = "nameTaken" | "deleting" | "installed" | "different";

/** The installation conflicts with an existing extension. */
export class InstallConflict extends Error {
  override readonly name = "InstallConflict";
  readonly kind: InstallConflictKind;
  /** Name of the existing extension. */
  readonly extension: string;
  /** The message without the advice for the command line. */
  readonly reason: string;

  constructor(kind: InstallConflictKind, extension: string, { reason, advice }: { readonly reason: string; readonly advice: string }) {
    super(`${reason}: ${advice}`);
    this.kind = kind;
    this.extension = extension;
    this.reason = reason;
  }
}

/** Returns the existing extension. @throws InstallConflict if its name belongs to another package, or another extension installs the package */
export async function findExisting(client: Client, request: InstallRequest): Promise<ClusterExtension | undefined> {
  const existing = await client.get<ClusterExtension>(buildExtensionRef(getInstallName(request)));
  await rejectConflicts(client, getInstallName(request), request.packageName, existing);
  return existing;
}

async function rejectConflicts(client: Client, name: string, packageName: string, existing: ClusterExtension | undefined): Promise<void> {
  if (existing) {
    const other = existing.spec.source.catalog?.packageName;
    if (other !== packageName)
      throw new InstallConflict("nameTaken", name, {
        reason: `ClusterExtension ${goQuote(name)} exists and installs package ${goQuote(other ?? "")}`,
        advice: "choose another name with --name",
      });
    if (existing.metadata.deletionTimestamp !== undefined)
      throw new InstallConflict("deleting", name, {
        reason: `ClusterExtension ${goQuote(name)} is being deleted`,
        advice: `olmv1 uninstall ${name} waits until it is gone`,
      });
    return;
  }
  const same = (await listClusterExtensions(client)).find(({ spec }) => spec.source.catalog?.packageName === packageName);
  if (same)
    throw new InstallConflict("installed", same.metadata.name, {
      reason: `ClusterExtension ${goQuote(same.metadata.name)} already installs package ${goQuote(packageName)}`,
      advice: `see olmv1 describe ${same.metadata.name}`,
    });
}

/**
 * Computes the extension of an installation, the objects to apply with it, and its permissions. Writes nothing.
 * @param existing the extension, if it exists; it is never changed
 * @throws Error if the existing extension has other values, or a required object does not exist
 */
export async function prepareInstall(
  client: Client,
  {
    request,
    existing,
    bundle,
    read,
    validates,
  }: {
    readonly request: InstallRequest;
    readonly existing: ClusterExtension | undefined;
    readonly bundle: InstallBundle;
    readonly read: PermissionsReader;
    /** Whether to let the API server check a new extension in a dry run. */
    readonly validates: boolean;
  },
): Promise<InstallPreparation> {
  const name = getInstallName(request);
  const { image } = bundle;
  const options: ExtensionOptions = {
    ...request,
    namespace: request.namespace ?? existing?.spec.namespace,
    serviceAccount: findServiceAccount(name, request, existing),
  };
  const spec = { ...buildDesiredExtension(name, options, existing?.spec).spec, namespace: options.namespace };
  const operatorCondition = await servesOperatorConditions(client);
  const [permissions] = await computeInstallerPermissions(
    [image],
    options.serviceAccount
      ? { ...spec, serviceAccount: options.serviceAccount, operatorCondition }
      : { ...spec, serviceAccount: getGrantName(name), strategy: "union", operatorCondition },
    read,
  );
  if (!permissions) throw new Error(`cannot read bundle image ${goQuote(image)}`);
  const extension = buildDesiredExtension(name, { ...options, namespace: permissions.installer.namespace }, existing?.spec);
  if (existing) rejectChanges(existing, extension);
  // Reports a rejection before the user confirms and before the command creates objects.
  else if (validates) await applyObjects(client, [extension], { dryRun: true });
  return { extension, image, bundle: bundle.name, ...(await listObjects(client, { request, existing, extension, permissions, image })) };
}

/**
 * Returns the requested ServiceAccount, or null if permission-manager creates it. An existing extension keeps its ServiceAccount unless an option
 * sets another.
 */
function findServiceAccount(
  name: string,
  { serviceAccount, createServiceAccount }: InstallRequest,
  existing: ClusterExtension | undefined,
): string | null {
  return serviceAccount ?? existing?.spec.serviceAccount?.name ?? (createServiceAccount ? `${name}-installer` : null);
}

/** @throws InstallConflict that lists fields with other values, because an installation never changes an existing extension. */
function rejectChanges(existing: ClusterExtension, desired: ClusterExtension): void {
  const changed = findChangedPaths(existing.spec, desired.spec).map((path) => `spec.${path}`);
  if (changed.length === 0) return;
  const { name } = existing.metadata;
  throw new InstallConflict("different", name, {
    reason: `ClusterExtension ${goQuote(name)} exists with another ${changed.join(", ")}`,
    advice: `change version and channels with olmv1 upgrade ${name}, other fields with kubectl edit`,
  });
}

async function listObjects(
  client: Client,
  {
    request,
    existing,
    extension,
    permissions,
    image,
  }: {
    readonly request: InstallRequest;
    readonly existing: ClusterExtension | undefined;
    readonly extension: ClusterExtension;
    readonly permissions: BundlePermissions;
    readonly image: string;
  },
): Promise<Pick<InstallPreparation, "objects" | "permissions" | "adopted">> {
  const { name } = extension.metadata;
  const { systemNamespace, createServiceAccount, createNamespace } = request;
  const { namespace, name: account } = permissions.installer;
  const own = existing ? [] : [extension];
  const isWithoutAccount = extension.spec.serviceAccount === undefined;
  if (isWithoutAccount && !createNamespace) return { objects: own, permissions: existing ? undefined : permissions };
  const place = (await client.get({ apiVersion: "v1", kind: "Namespace", name: namespace }))
    ? []
    : [createNamespaceObject(name, namespace)];
  if (isWithoutAccount) return { objects: [...place, ...own], permissions: undefined };
  const live = await client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace, name: account }, { metadataOnly: true });
  if (!createServiceAccount) {
    if (!live && !existing)
      throw new Error(
        `ServiceAccount ${goQuote(`${namespace}/${account}`)} does not exist: use --create-service-account, or create it with olmv1 rbac ${image} --namespace ${namespace} --service-account ${account} | kubectl apply -f -`,
      );
    const token = await findTokenObjects(client, name, permissions.installer, systemNamespace);
    return { objects: [...place, ...token, ...own], permissions: undefined };
  }
  const createdFor = live?.metadata.labels?.[LABEL_CREATED_FOR];
  const isOurs = live === undefined || createdFor === name;
  const adopted = isOurs ? {} : { adopted: { account: `${namespace}/${account}`, createdFor } };
  const isComplete = existing && live && !findProblem(existing.status, "MissingPermissions");
  if (isComplete) return { objects: place, permissions: undefined, ...adopted };
  const all = buildInstallerObjects(name, permissions.installer, permissions.needed, systemNamespace);
  // A ServiceAccount with another owner is not labelled, so olmv1 uninstall keeps it.
  const granted = isOurs ? all : all.filter(({ kind }) => kind !== "ServiceAccount");
  return { objects: [...place, ...granted, ...own], permissions, ...adopted };
}

/** What an installation would apply. */
export interface InstallPreview {
  /** The selected bundle, or why no bundle matches. */
  readonly answer: ResolutionAnswer;
  /** Whether the extension exists. */
  readonly exists: boolean;
  /** The desired extension, also without a preparation. Its namespace is empty if it is unknown. */
  readonly draft: ClusterExtension;
  /** Undefined if no bundle matches, or if the configuration is invalid. */
  readonly preparation?: InstallPreparation;
  /** Why the configuration of the bundle is invalid. */
  readonly invalid?: Problem;
  /** The JSON schema of `spec.config.inline` for the bundle; undefined if no bundle matches. */
  readonly configSchema?: JsonObject;
  /** Remarks about the permissions, such as unknown kinds. */
  readonly warnings: readonly string[];
}

/**
 * Previews an installation from the catalogs of the cluster: the bundle, the objects to apply, and the permissions. Writes nothing.
 * `readExtensionPlan` with the extension in the result shows the objects of the bundle and its dependencies.
 * Reports an invalid configuration in the result.
 * @throws Error if the installation conflicts with an existing extension, or a bundle or catalog cannot be read
 */
export async function previewInstall(
  client: Client,
  request: InstallRequest,
  { reader, ...sources }: Omit<Sources, "client"> & { readonly reader: Pick<BundleReader, "bundleImage"> },
): Promise<InstallPreview> {
  const existing = await findExisting(client, request);
  const { packageName, channel, version, catalog, upgradeConstraintPolicy } = request;
  const overrides = { channel, version, catalog, upgradeConstraintPolicy };
  const subject = await readResolutionSubject({ package: packageName }, existing, overrides, { client, reader, ...sources });
  const answer = await answerResolution(subject);
  const name = getInstallName(request);
  const namespace = request.namespace ?? existing?.spec.namespace;
  const account = findServiceAccount(name, request, existing);
  const draft = buildDesiredExtension(name, { ...request, namespace, serviceAccount: account }, existing?.spec);
  const warnings: string[] = [];
  const found = { answer, exists: existing !== undefined, draft, warnings };
  if (answer.resolution.kind !== "resolved") return found;
  const { bundle } = answer.resolution;
  const content = await reader.bundleImage(bundle.image);
  const read: PermissionsReader = (images, options) =>
    computeBundlePermissions({ err: (text) => void warnings.push(text.trim()) }, images, options, async () => content);
  try {
    const preparation = await prepareInstall(client, { request, existing, bundle, read, validates: false });
    return { ...found, preparation, configSchema: buildUserConfigSchema(content, preparation.extension.spec.namespace) };
  } catch (err) {
    const invalid = getProblems(err).find(({ type }) => type === "InvalidConfiguration");
    if (!invalid) throw err;
    const known = namespace ?? readSuggestedNamespace(content.packageName, content.annotations).name;
    return {
      ...found,
      draft: { ...draft, spec: { ...draft.spec, namespace: known } },
      invalid,
      configSchema: buildUserConfigSchema(content, known),
    };
  }
}
