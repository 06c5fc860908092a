import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import type { KubeObject } from "../api/k8s.ts";
import { getErrorMessage, orErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { readDependents } from "../preview/installedDependents.ts";
import type { CrdPolicy } from "../release/plan.ts";
import type { Dependent } from "../resolve/dependencies/dependents.ts";
import { hasForeignStatus } from "../rollout/extensionState.ts";
import { buildExtensionRef, listClusterExtensions, readExtension } from "../rollout/extensions.ts";
import { type InstalledObjects, readInstalledObjects } from "../rollout/inventory.ts";
import { getUninstallPolicy } from "../rollout/uninstallPolicy.ts";
import { listInstallObjects } from "./installerObjects.ts";
import { type CustomResources, countCustomResources, findBlockingDefinitions, getDefinitionOutcome } from "./removal.ts";

/** The effects of an uninstall. */
export interface UninstallPreview {
  /** Undefined if only objects that `olmv1 install` created are left. */
  readonly extension: ClusterExtension | undefined;
  readonly crdPolicy: CrdPolicy;
  readonly installed: InstalledObjects;
  readonly customResources: readonly CustomResources[];
  /** One sentence for each CustomResourceDefinition that will block the uninstall in operator-controller. */
  readonly blocked: readonly string[];
  /** Objects to delete after the extension. */
  readonly created: readonly KubeObject[];
  /** Sentences about the objects that are kept, with reasons. */
  readonly staying: readonly string[];
  /** The extensions that depend on the extension and delay its uninstall, or why they are unknown; undefined if they were not requested. */
  readonly dependents?: readonly Dependent[] | string;
  /** Sentences about what the user may not read; the preview omits it. Absent if everything was read. */
  readonly unread?: readonly string[];
}

/** What to uninstall in addition to the extension. */
export interface UninstallScope {
  /** Default: the policy in the spec of the extension. */
  readonly crdPolicy?: CrdPolicy;
  readonly deleteNamespace?: boolean;
  readonly keepServiceAccount?: boolean;
}

/** Options of a preview. */
export interface UninstallPreviewOptions extends UninstallScope {
  /** The namespace of the releases. */
  readonly systemNamespace: string;
  /** Whether to read the extensions that depend on the extension. */
  readonly withDependents?: boolean;
  /** Whether to omit what the user may not read; otherwise, that is an error. */
  readonly isPartial?: boolean;
}

/**
 * Reads the effects of an uninstall; writes nothing.
 * @throws Error if neither the extension nor objects that `olmv1 install` created for it exist
 */
export async function previewUninstall(
  client: Client,
  name: string,
  { systemNamespace, withDependents = false, isPartial = false, ...scope }: UninstallPreviewOptions,
  signal: AbortSignal,
): Promise<UninstallPreview> {
  const unread: string[] = [];
  const tolerate = <T>(what: string, reading: Promise<T>, none: T): Promise<T> =>
    reading.catch((err: unknown) => {
      if (!isPartial || !isForbidden(err)) throw err;
      unread.push(`${what} cannot be read: ${getErrorMessage(err)}`);
      return none;
    });
  const made = await tolerate("The objects that olmv1 install created", listInstallObjects(client, name), []);
  const extension = made.length > 0 ? await client.get<ClusterExtension>(buildExtensionRef(name)) : await readExtension(client, name);
  if (scope.crdPolicy !== undefined && extension && hasForeignStatus(extension))
    throw new Error(
      "the OLM of this cluster has no crdPolicy: an uninstall deletes all CustomResourceDefinitions with their custom resources",
    );
  const crdPolicy = scope.crdPolicy ?? (extension ? getUninstallPolicy(extension) : "DeleteIfUnused");
  const installed = extension ? await readInstalledObjects(client, extension, systemNamespace) : { refs: [], count: 0 };
  if (installed.unknown !== undefined) unread.push(`The objects of the installed bundle are unknown: ${installed.unknown}`);
  const customResources = extension
    ? await tolerate("The CustomResourceDefinitions", countCustomResources(client, extension, installed.refs), [])
    : [];
  const crds = customResources.map(({ crd }) => crd);
  // The Go implementation never blocks an uninstall.
  const blocked =
    extension && !hasForeignStatus(extension)
      ? await tolerate(
          "What blocks the uninstall",
          findBlockingDefinitions(client, extension, { policy: crdPolicy, crds, installed: installed.refs }, signal),
          [],
        )
      : [];
  const { going, staying } = await divideObjects(client, name, made, scope);
  const dependents = withDependents ? await orErrorMessage(listDependents(client, name, systemNamespace, signal)) : undefined;
  return {
    extension,
    crdPolicy,
    installed,
    customResources,
    blocked,
    created: going,
    staying,
    ...(dependents === undefined ? {} : { dependents }),
    ...(unread.length > 0 ? { unread } : {}),
  };
}

/** Divides the objects that olmv1 install created into those to delete and those to keep, with the reasons. */
async function divideObjects(
  client: Client,
  name: string,
  created: readonly KubeObject[],
  { deleteNamespace = false, keepServiceAccount = false }: UninstallScope,
): Promise<{ going: KubeObject[]; staying: string[] }> {
  const namespaces = created.filter(({ kind }) => kind === "Namespace");
  const others = deleteNamespace ? (await listClusterExtensions(client)).filter(({ metadata }) => metadata.name !== name) : [];
  const staying =
    keepServiceAccount && created.length > namespaces.length ? ["The ServiceAccount and its roles are kept (--keep-service-account)."] : [];
  const going = keepServiceAccount ? [] : created.filter(({ kind }) => kind !== "Namespace");
  for (const namespace of namespaces) {
    const user = others.find((other) => getNamespace(other) === namespace.metadata.name);
    if (!deleteNamespace) staying.push(`Namespace ${namespace.metadata.name} is kept; --delete-namespace deletes it with its content.`);
    else if (user) staying.push(`Namespace ${namespace.metadata.name} is kept, because ClusterExtension ${user.metadata.name} uses it.`);
    else going.push(namespace);
  }
  if (deleteNamespace && namespaces.length === 0) staying.push("The namespace is kept, because it was not created for this extension.");
  return { going, staying };
}

async function listDependents(client: Client, name: string, systemNamespace: string, signal: AbortSignal): Promise<readonly Dependent[]> {
  return readDependents(client, name, await listClusterExtensions(client), systemNamespace, signal);
}

/** The CustomResourceDefinitions of an extension by the effect of an uninstall. */
export interface DividedDefinitions {
  /** Will be deleted with their custom resources, or with an unknown number of them. */
  readonly lost: readonly CustomResources[];
  /** Will be deleted, and have no custom resources. */
  readonly unused: readonly CustomResources[];
  readonly kept: readonly CustomResources[];
}

/** Divides the CustomResourceDefinitions of an extension by the effect of an uninstall. */
export function divideDefinitions({
  customResources,
  crdPolicy,
}: Pick<UninstallPreview, "customResources" | "crdPolicy">): DividedDefinitions {
  const deleted = customResources.filter((one) => getDefinitionOutcome(one, crdPolicy) === "deleted");
  const hasData = ({ names, unknown }: CustomResources): boolean => names.length > 0 || unknown !== undefined;
  return {
    lost: deleted.filter(hasData),
    unused: deleted.filter((one) => !hasData(one)),
    kept: customResources.filter((one) => getDefinitionOutcome(one, crdPolicy) === "kept"),
  };
}
