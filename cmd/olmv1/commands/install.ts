import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { ApplyFailed, applyObjects, formatApplied, formatUnfinished } from "../../../pkg/installer/applyObjects.ts";
import type { BundlePermissions } from "../../../pkg/installer/bundlePermissions.ts";
import {
  type AdoptedAccount,
  findExisting,
  type InstallPreparation,
  type InstallRequest,
  prepareInstall,
} from "../../../pkg/installer/installPreview.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { answerResolution } from "../../../pkg/preview/resolutionAnswers.ts";
import type { Named } from "../../../pkg/preview/resolutionSubject.ts";
import type { SuccessfulResolution } from "../../../pkg/resolve/resolution.ts";
import { buildExtensionRef } from "../../../pkg/rollout/extensions.ts";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import { readConfigFile } from "../cli/inputFiles.ts";
import type { InstallOptions } from "../cli/options.ts";
import { print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { confirm, suggestNext, type Terminal } from "../cli/terminal.ts";
import { createPermissionsReader, formatGrants } from "./grantedPermissions.ts";
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

/** Runs `olmv1 install`. */
export async function install(terminal: Terminal, packageName: string, options: InstallOptions): Promise<void> {
  const config = options.config === undefined ? undefined : await readConfigFile(options.config, terminal);
  await withCluster(options, async (client) => {
    const request: InstallRequest = { ...options, packageName, config };
    const existing = await findExisting(client, request);
    const named = existing ? { extension: existing.metadata.name } : { package: packageName };
    const found = await withProgress(terminal, `resolving package ${packageName}`, () =>
      resolveBundle(terminal, named, { ...options, output: "text" }),
    );
    if (!found.resolved) {
      terminal.err(`${found.text}no changes were made\n`);
      return terminal.exit(EXIT.no);
    }
    if (options.output === "text") terminal.err(found.text);
    const prepared = await prepareInstall(client, {
      request,
      existing,
      bundle: found.resolved.bundle,
      read: createPermissionsReader(terminal, options),
      validates: options.dryRun !== "client",
    });
    if (prepared.adopted) await confirmAdoption(terminal, prepared.adopted);
    return run(terminal, client, prepared, options, existing);
  });
}

async function run(
  terminal: Terminal,
  client: Client,
  prepared: InstallPreparation,
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

/**
 * Asks the user before granting permissions to a ServiceAccount that `olmv1 install` did not create for this extension.
 * @throws Error with the options to use instead, if the terminal is not interactive or the user declines.
 */
async function confirmAdoption(terminal: Terminal, { account, createdFor }: AdoptedAccount): Promise<void> {
  const origin = createdFor === undefined ? "was not created by olmv1 install" : `was created for ClusterExtension ${goQuote(createdFor)}`;
  const text = `ServiceAccount ${goQuote(account)} exists and ${origin}`;
  if (terminal.interactive && (await confirm(terminal, `${text}. Grant it the permissions that the bundle needs?`, undefined))) return;
  const [, name = ""] = account.split("/");
  throw new Error(
    `${text}: use --service-account ${name} to install with its current permissions, or --name or --namespace to create another ServiceAccount`,
  );
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
