import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { findProblem } from "../../../pkg/api/problems.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { ApplyFailed, appliedLine, applyObjects, unfinishedText } from "../../../pkg/installer/applyObjects.ts";
import type { BundleRights } from "../../../pkg/installer/bundlePermissions.ts";
import { changedPaths, extensionWanted, type Said } from "../../../pkg/installer/extensionSpec.ts";
import { createNamespaceObject, installerObjects, requireFallback, tokenRights } from "../../../pkg/installer/installerObjects.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { nearPackages, recordChecked, resolveWithDependencies } from "../../../pkg/preview/resolveWithDependencies.ts";
import type { SuccessfulResolution } from "../../../pkg/resolve/resolution.ts";
import { extensionRef, listClusterExtensions } from "../../../pkg/rollout/extensions.ts";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import { configFile } from "../cli/inputFiles.ts";
import type { InstallOptions } from "../cli/options.ts";
import { print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { confirm, type Terminal } from "../cli/terminal.ts";
import { grantsText, rightsFor } from "./grantedPermissions.ts";
import { formatResourceName } from "./list.ts";
import { type Named, withQuestion } from "./resolutionQuestion.ts";
import { resolutionText } from "./resolve.ts";
import { awaitRollout, tellRollout } from "./rollout.ts";

/** What a resolution comes to, and what `olmv1 resolve` would print of it. */
interface BundleFound {
  /** Undefined where no bundle fits. */
  readonly resolved: SuccessfulResolution | undefined;
  readonly text: string;
}

/** Resolves as operator-controller does, with the catalogs of the cluster. */
async function bundleToInstall(
  terminal: Terminal,
  named: Named,
  options: Omit<ResolutionOptions, "catalogDir" | "installedPackage">,
): Promise<BundleFound> {
  return withQuestion(terminal, named, { ...options, catalogDir: [], installedPackage: [] }, async (question) => {
    const checked = await resolveWithDependencies(question);
    const record = recordChecked(question.request.source.packageName, checked);
    const text = resolutionText(record, question.subject, false, terminal.width) + (await nearPackages(question, record));
    return { resolved: checked.resolution.kind === "resolved" ? checked.resolution : undefined, text };
  });
}

/** What is to be applied, and what of it somebody has to agree to. */
interface Preparation {
  readonly extension: ClusterExtension;
  readonly objects: readonly KubeObject[];
  /** The rights that are granted; undefined where none are. */
  readonly rights: BundleRights | undefined;
  readonly image: string;
  readonly bundle: string;
}

/** `olmv1 install`. */
export async function install(terminal: Terminal, packageName: string, options: InstallOptions): Promise<void> {
  const config = options.config === undefined ? undefined : await configFile(options.config, terminal);
  await withCluster(options, async (client) => {
    const name = options.name ?? packageName;
    const existing = await client.get<ClusterExtension>(extensionRef(name));
    await refuseOthers(client, name, packageName, existing);
    if (!existing && !options.createServiceAccount && options.serviceAccount === undefined)
      throw new Error(
        "who installs it? --create-service-account makes a ServiceAccount with the rights that the bundle needs and no other, --service-account names one that exists, --no-service-account leaves it to operator-controller, where that may do everything",
      );
    if (!existing && options.serviceAccount === false) await requireFallback(client, options.systemNamespace);
    const found = await withProgress(terminal, `resolving package ${packageName}`, () =>
      bundleToInstall(terminal, existing ? { extension: name } : { package: packageName }, { ...options, output: "text" }),
    );
    if (!found.resolved) {
      terminal.err(`${found.text}nothing was changed\n`);
      return terminal.exit(EXIT.no);
    }
    const { image, name: bundle } = found.resolved.bundle;
    if (options.output === "text") terminal.err(found.text);
    const said: Said = {
      ...options,
      packageName,
      namespace: options.namespace ?? existing?.spec.namespace,
      serviceAccount: accountSaid(name, options, existing),
      config,
    };
    const request = { ...extensionWanted(name, said, existing?.spec).spec, namespace: said.namespace };
    const [rights] = await rightsFor(terminal, [image], { ...request, serviceAccount: said.serviceAccount ?? "" }, options);
    if (!rights) throw new Error(`bundle image ${goQuote(image)} could not be read`);
    const extension = extensionWanted(name, { ...said, namespace: rights.installer.namespace }, existing?.spec);
    if (existing) refuseChanges(existing, extension);
    // What the API server does not take is to be known before anybody is asked, and before there is anything that would have to go again.
    else if (options.dryRun !== "client") await applyObjects(client, [extension], { dryRun: true });
    const prepared = await prepare(client, { extension, rights, image, bundle, options, existing });
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
  const { extension, objects, rights, image, bundle } = prepared;
  const { name } = extension.metadata;
  const { dryRun, output } = options;
  const isText = output === "text";
  if (rights) terminal.err(grantText(terminal, rights, image));
  if (dryRun !== undefined) {
    const applied =
      dryRun === "server"
        ? await applyObjects(client, objects, { dryRun: true })
        : objects.map((object) => ({ object, verb: "created" as const }));
    const text = (): string => applied.map((one) => `${appliedLine(one, dryRun)}\n`).join("");
    const data = { apiVersion: "v1", kind: "List", items: applied.map(({ object }) => object) };
    return print(terminal, output, { data, text, names: () => [formatResourceName(extension)] });
  }
  if (
    rights &&
    !(await confirm(
      terminal,
      `Grant this to ServiceAccount ${goQuote(`${rights.installer.namespace}/${rights.installer.name}`)} and install ${bundle}?`,
      options.yes,
    ))
  ) {
    terminal.err("nothing was changed\n");
    return terminal.exit(EXIT.no);
  }
  try {
    await applyObjects(client, objects, { tell: (one) => isText && terminal.out(`${appliedLine(one)}\n`) });
  } catch (err) {
    if (err instanceof ApplyFailed)
      throw new Error(
        unfinishedText(err, `run it again once that is mended, or take it back: olmv1 uninstall ${name} --delete-namespace`),
        { cause: err },
      );
    throw err;
  }
  const applied = (await client.get<ClusterExtension>(extensionRef(name))) ?? extension;
  if (existing && isText) terminal.out(`${formatResourceName(existing)} unchanged\n`);
  if (options.wait) {
    const awaited = { generation: applied.metadata.generation ?? 0 };
    tellRollout(terminal, name, await awaitRollout(terminal, client, name, awaited, options.timeout));
  }
  if (!isText) {
    const data = (await client.get<ClusterExtension>(extensionRef(name))) ?? applied;
    await print(terminal, output, { data, text: () => "", names: () => [formatResourceName(data)] });
  }
}

/** @throws Error where the name is taken by another package, or the package is there under another name. */
async function refuseOthers(client: Client, name: string, packageName: string, existing: ClusterExtension | undefined): Promise<void> {
  if (existing) {
    const other = existing.spec.source.catalog?.packageName;
    if (other !== packageName)
      throw new Error(`ClusterExtension ${goQuote(name)} installs package ${goQuote(other ?? "")} already: give another name with --name`);
    if (existing.metadata.deletionTimestamp !== undefined)
      throw new Error(`ClusterExtension ${goQuote(name)} is being deleted: olmv1 uninstall ${name} waits for the end of that`);
    return;
  }
  const same = (await listClusterExtensions(client)).find(({ spec }) => spec.source.catalog?.packageName === packageName);
  if (same)
    throw new Error(
      `package ${goQuote(packageName)} is installed already, by ClusterExtension ${goQuote(same.metadata.name)}: olmv1 describe ${same.metadata.name} tells about it`,
    );
}

/** An extension that exists is never changed here. @throws Error that names what would be. */
function refuseChanges(existing: ClusterExtension, wanted: ClusterExtension): void {
  const changed = changedPaths(existing.spec, wanted.spec).map((path) => `spec.${path}`);
  if (changed.length === 0) return;
  const { name } = existing.metadata;
  throw new Error(
    `ClusterExtension ${goQuote(name)} exists, and ${changed.join(", ")} would be changed: olmv1 upgrade ${name} changes version and channels, kubectl edit everything else`,
  );
}

/** The ServiceAccount that is asked for, or null for none: an extension that exists keeps what it has unless something else is said. */
function accountSaid(
  name: string,
  { serviceAccount, createServiceAccount }: InstallOptions,
  existing: ClusterExtension | undefined,
): string | null {
  if (serviceAccount === false) return null;
  const made = !existing || createServiceAccount ? `${name}-installer` : null;
  return serviceAccount ?? existing?.spec.serviceAccount?.name ?? made;
}

async function prepare(
  client: Client,
  request: {
    extension: ClusterExtension;
    rights: BundleRights;
    image: string;
    bundle: string;
    options: InstallOptions;
    existing: ClusterExtension | undefined;
  },
): Promise<Preparation> {
  const { extension, rights, image, bundle, options, existing } = request;
  const { name } = extension.metadata;
  const { namespace, name: account } = rights.installer;
  const place = (await client.get({ apiVersion: "v1", kind: "Namespace", name: namespace }))
    ? []
    : [createNamespaceObject(name, namespace)];
  if (extension.spec.serviceAccount === undefined)
    return { extension, objects: [...place, ...(existing ? [] : [extension])], rights: undefined, image, bundle };
  const live = await client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace, name: account }, { metadataOnly: true });
  const isOurs = live === undefined || live.metadata.labels?.[LABEL_CREATED_FOR] === name;
  if (!options.createServiceAccount) {
    if (!live && !existing)
      throw new Error(
        `ServiceAccount ${goQuote(`${namespace}/${account}`)} does not exist: make it with olmv1 rbac ${image} --namespace ${namespace} --service-account ${account}, or use --create-service-account`,
      );
    const token = await tokenRights(client, name, rights.installer, options.systemNamespace);
    return { extension, objects: [...place, ...token, ...(existing ? [] : [extension])], rights: undefined, image, bundle };
  }
  if (!isOurs)
    throw new Error(
      `ServiceAccount ${goQuote(`${namespace}/${account}`)} exists, and olmv1 install has not made it for this extension: name it with --service-account in place of --create-service-account`,
    );
  const isComplete = existing && live && !findProblem(existing.status, "MissingPermissions");
  if (isComplete) return { extension, objects: place, rights: undefined, image, bundle };
  const own = installerObjects(name, rights.installer, rights.needed, options.systemNamespace);
  return { extension, objects: [...place, ...own, ...(existing ? [] : [extension])], rights, image, bundle };
}

function grantText(terminal: Pick<Terminal, "width">, { installer, needed, given }: BundleRights, image: string): string {
  const more = `olmv1 rbac ${image} --namespace ${installer.namespace} --service-account ${installer.name}`;
  return [
    `\nServiceAccount ${installer.namespace}/${installer.name}, as which the bundle is installed, may ("manage" is create, get, list, watch, patch and delete):\n`,
    grantsText(terminal, needed, more),
    "\nthe bundle's own ServiceAccounts may by its roles:\n",
    grantsText(terminal, given, more),
    "\n",
  ].join("");
}
