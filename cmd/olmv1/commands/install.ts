import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { findProblem } from "../../../pkg/api/problems.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { ApplyFailed, applyObjects, formatApplied, formatUnfinished } from "../../../pkg/installer/applyObjects.ts";
import type { BundlePermissions } from "../../../pkg/installer/bundlePermissions.ts";
import { buildDesiredExtension, type ExtensionOptions, findChangedPaths } from "../../../pkg/installer/extensionSpec.ts";
import { buildInstallerObjects, createNamespaceObject, findTokenObjects } from "../../../pkg/installer/installerObjects.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { getGrantName } from "../../../pkg/permissions/grantObjects.ts";
import { answerResolution } from "../../../pkg/preview/resolutionAnswers.ts";
import type { Named } from "../../../pkg/preview/resolutionSubject.ts";
import type { SuccessfulResolution } from "../../../pkg/resolve/resolution.ts";
import { buildExtensionRef, listClusterExtensions } from "../../../pkg/rollout/extensions.ts";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import { readConfigFile } from "../cli/inputFiles.ts";
import type { InstallOptions } from "../cli/options.ts";
import { print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { confirm, suggestNext, type Terminal } from "../cli/terminal.ts";
import { computeInstallerPermissions, formatGrants } from "./grantedPermissions.ts";
import { formatResourceName } from "./list.ts";
import { withResolutionSubject } from "./resolutionSubject.ts";
import { formatResolutionAnswer } from "./resolve.ts";
import { awaitRollout, reportRollout } from "./rollout.ts";

/** The result of a resolution, with the text that `olmv1 resolve` prints. */
interface BundleFound {
  /** Undefined if no bundle matches. */
  readonly resolved: SuccessfulResolution | undefined;
  readonly text: string;
}

/** Resolves like operator-controller, with the catalogs of the cluster. */
async function resolveBundle(
  terminal: Terminal,
  named: Named,
  options: Omit<ResolutionOptions, "catalogDir" | "installedPackage">,
): Promise<BundleFound> {
  return withResolutionSubject(terminal, named, { ...options, catalogDir: [], installedPackage: [] }, async (question) => {
    const answer = await answerResolution(question);
    const text = formatResolutionAnswer(answer, question.subject, false, terminal.width);
    return { resolved: answer.resolution.kind === "resolved" ? answer.resolution : undefined, text };
  });
}

/** The objects to apply, and the permissions that the user must accept. */
interface Preparation {
  readonly extension: ClusterExtension;
  readonly objects: readonly KubeObject[];
  /** The permissions to grant; undefined if there are none. */
  readonly permissions: BundlePermissions | undefined;
  readonly image: string;
  readonly bundle: string;
}

/** Runs `olmv1 install`. */
export async function install(terminal: Terminal, packageName: string, options: InstallOptions): Promise<void> {
  const config = options.config === undefined ? undefined : await readConfigFile(options.config, terminal);
  await withCluster(options, async (client) => {
    const name = options.name ?? packageName;
    const existing = await client.get<ClusterExtension>(buildExtensionRef(name));
    await rejectConflicts(client, name, packageName, existing);
    const found = await withProgress(terminal, `resolving package ${packageName}`, () =>
      resolveBundle(terminal, existing ? { extension: name } : { package: packageName }, { ...options, output: "text" }),
    );
    if (!found.resolved) {
      terminal.err(`${found.text}no changes were made\n`);
      return terminal.exit(EXIT.no);
    }
    const { image, name: bundle } = found.resolved.bundle;
    if (options.output === "text") terminal.err(found.text);
    const extensionOptions: ExtensionOptions = {
      ...options,
      packageName,
      namespace: options.namespace ?? existing?.spec.namespace,
      serviceAccount: findServiceAccount(name, options, existing),
      config,
    };
    const request = { ...buildDesiredExtension(name, extensionOptions, existing?.spec).spec, namespace: extensionOptions.namespace };
    const [permissions] = await computeInstallerPermissions(
      terminal,
      [image],
      extensionOptions.serviceAccount
        ? { ...request, serviceAccount: extensionOptions.serviceAccount }
        : { ...request, serviceAccount: getGrantName(name), strategy: "union" },
      options,
    );
    if (!permissions) throw new Error(`cannot read bundle image ${goQuote(image)}`);
    const extension = buildDesiredExtension(name, { ...extensionOptions, namespace: permissions.installer.namespace }, existing?.spec);
    if (existing) rejectChanges(existing, extension);
    // Server-side dry run: reports a rejection before the user confirms and before the command creates objects.
    else if (options.dryRun !== "client") await applyObjects(client, [extension], { dryRun: true });
    const prepared = await prepare(terminal, client, { extension, permissions, image, bundle, options, existing });
    return run(terminal, client, prepared, options, existing);
  });
}

async function run(
  terminal: Terminal,
  client: Client,
  prepared: Preparation,
  options: InstallOptions,
  existing: ClusterExtension | undefined,
): Promise<void> {
  const { extension, objects, permissions, image, bundle } = prepared;
  const { name } = extension.metadata;
  const { dryRun, output } = options;
  const isText = output === "text";
  if (permissions) terminal.err(formatGrant(terminal, extension, permissions, image));
  if (dryRun !== undefined) {
    const applied =
      dryRun === "server"
        ? await applyObjects(client, objects, { dryRun: true })
        : objects.map((object) => ({ object, verb: "created" as const }));
    const text = (): string => applied.map((one) => `${formatApplied(one, dryRun)}\n`).join("");
    const data = { apiVersion: "v1", kind: "List", items: applied.map(({ object }) => object) };
    return print(terminal, output, { data, text, names: () => [formatResourceName(extension)] });
  }
  if (
    permissions &&
    !(await confirm(
      terminal,
      extension.spec.serviceAccount
        ? `Grant these permissions to ServiceAccount ${goQuote(`${permissions.installer.namespace}/${permissions.installer.name}`)} and install ${bundle}?`
        : `Install ${bundle} with these permissions?`,
      options.yes,
    ))
  ) {
    terminal.err("no changes were made\n");
    return terminal.exit(EXIT.no);
  }
  try {
    await applyObjects(client, objects, { report: (one) => isText && terminal.out(`${formatApplied(one)}\n`) });
  } catch (err) {
    if (err instanceof ApplyFailed)
      throw new Error(
        formatUnfinished(err, `fix the problem and run the command again, or undo it: olmv1 uninstall ${name} --delete-namespace`),
        { cause: err },
      );
    throw err;
  }
  const applied = (await client.get<ClusterExtension>(buildExtensionRef(name))) ?? extension;
  if (existing && isText) terminal.out(`${formatResourceName(existing)} unchanged\n`);
  if (options.wait) {
    const awaited = { generation: applied.metadata.generation ?? 0 };
    const rollout = await awaitRollout(terminal, client, name, awaited, options.timeout);
    reportRollout(terminal, name, rollout);
    if (rollout.kind === "ready") suggestNext(terminal, `olmv1 describe ${name} shows its status, olmv1 tree ${name} its objects`);
  }
  if (!isText) {
    const data = (await client.get<ClusterExtension>(buildExtensionRef(name))) ?? applied;
    await print(terminal, output, { data, text: () => "", names: () => [formatResourceName(data)] });
  }
}

/** @throws Error if the name belongs to an extension for another package, or another extension installs the package. */
async function rejectConflicts(client: Client, name: string, packageName: string, existing: ClusterExtension | undefined): Promise<void> {
  if (existing) {
    const other = existing.spec.source.catalog?.packageName;
    if (other !== packageName)
      throw new Error(
        `ClusterExtension ${goQuote(name)} exists and installs package ${goQuote(other ?? "")}: choose another name with --name`,
      );
    if (existing.metadata.deletionTimestamp !== undefined)
      throw new Error(`ClusterExtension ${goQuote(name)} is being deleted: olmv1 uninstall ${name} waits until it is gone`);
    return;
  }
  const same = (await listClusterExtensions(client)).find(({ spec }) => spec.source.catalog?.packageName === packageName);
  if (same)
    throw new Error(
      `ClusterExtension ${goQuote(same.metadata.name)} already installs package ${goQuote(packageName)}: see olmv1 describe ${same.metadata.name}`,
    );
}

/** @throws Error that lists fields with other values, because the command never changes an existing extension. */
function rejectChanges(existing: ClusterExtension, desired: ClusterExtension): void {
  const changed = findChangedPaths(existing.spec, desired.spec).map((path) => `spec.${path}`);
  if (changed.length === 0) return;
  const { name } = existing.metadata;
  throw new Error(
    `ClusterExtension ${goQuote(name)} exists with another ${changed.join(", ")}: change version and channels with olmv1 upgrade ${name}, other fields with kubectl edit`,
  );
}

/**
 * Returns the requested ServiceAccount, or null if permission-manager creates it. An existing extension keeps its ServiceAccount unless an option
 * sets another.
 */
function findServiceAccount(
  name: string,
  { serviceAccount, createServiceAccount }: InstallOptions,
  existing: ClusterExtension | undefined,
): string | null {
  return serviceAccount ?? existing?.spec.serviceAccount?.name ?? (createServiceAccount ? `${name}-installer` : null);
}

/**
 * Asks the user before granting permissions to a ServiceAccount that `olmv1 install` did not create for this extension.
 * @param createdFor the extension that the ServiceAccount was created for, if any.
 * @throws Error with the options to use instead, if the terminal is not interactive or the user declines.
 */
async function confirmAdoption(terminal: Terminal, account: string, createdFor: string | undefined): Promise<void> {
  const origin = createdFor === undefined ? "was not created by olmv1 install" : `was created for ClusterExtension ${goQuote(createdFor)}`;
  const text = `ServiceAccount ${goQuote(account)} exists and ${origin}`;
  if (terminal.interactive && (await confirm(terminal, `${text}. Grant it the permissions that the bundle needs?`, undefined))) return;
  const [, name = ""] = account.split("/");
  throw new Error(
    `${text}: use --service-account ${name} to install with its current permissions, or --name or --namespace to create another ServiceAccount`,
  );
}

async function prepare(
  terminal: Terminal,
  client: Client,
  request: {
    extension: ClusterExtension;
    permissions: BundlePermissions;
    image: string;
    bundle: string;
    options: InstallOptions;
    existing: ClusterExtension | undefined;
  },
): Promise<Preparation> {
  const { extension, permissions, image, bundle, options, existing } = request;
  const { name } = extension.metadata;
  const { namespace, name: account } = permissions.installer;
  if (extension.spec.serviceAccount === undefined)
    return { extension, objects: existing ? [] : [extension], permissions: existing ? undefined : permissions, image, bundle };
  const place = (await client.get({ apiVersion: "v1", kind: "Namespace", name: namespace }))
    ? []
    : [createNamespaceObject(name, namespace)];
  const live = await client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace, name: account }, { metadataOnly: true });
  const isOurs = live === undefined || live.metadata.labels?.[LABEL_CREATED_FOR] === name;
  if (!options.createServiceAccount) {
    if (!live && !existing)
      throw new Error(
        `ServiceAccount ${goQuote(`${namespace}/${account}`)} does not exist: use --create-service-account, or create it with olmv1 rbac ${image} --namespace ${namespace} --service-account ${account} | kubectl apply -f -`,
      );
    const token = await findTokenObjects(client, name, permissions.installer, options.systemNamespace);
    return { extension, objects: [...place, ...token, ...(existing ? [] : [extension])], permissions: undefined, image, bundle };
  }
  if (!isOurs) await confirmAdoption(terminal, `${namespace}/${account}`, live.metadata.labels?.[LABEL_CREATED_FOR]);
  const isComplete = existing && live && !findProblem(existing.status, "MissingPermissions");
  if (isComplete) return { extension, objects: place, permissions: undefined, image, bundle };
  const all = buildInstallerObjects(name, permissions.installer, permissions.needed, options.systemNamespace);
  // A ServiceAccount with another owner is not labelled, so olmv1 uninstall keeps it.
  const own = isOurs ? all : all.filter(({ kind }) => kind !== "ServiceAccount");
  return { extension, objects: [...place, ...own, ...(existing ? [] : [extension])], permissions, image, bundle };
}

function formatGrant(
  terminal: Pick<Terminal, "width">,
  { spec }: ClusterExtension,
  { installer, needed, given }: BundlePermissions,
  image: string,
): string {
  const more = `olmv1 rbac ${image} --namespace ${installer.namespace} --service-account ${installer.name}`;
  const granted = spec.serviceAccount
    ? `ServiceAccount ${installer.namespace}/${installer.name} gets these permissions to install the bundle`
    : "permission-manager grants the extension these permissions to install the bundle, if the PermissionPolicy allows them";
  return [
    `\n${granted} ("manage" means create, get, list, watch, patch and delete):\n`,
    formatGrants(terminal, needed, more),
    "\nThe bundle grants its own ServiceAccounts these permissions:\n",
    formatGrants(terminal, given, more),
    "\n",
  ].join("");
}
