import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { type KubeObject, toObjectRef } from "../../../pkg/api/k8s.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { ApplyFailed, applyObjects, formatApplied, formatUnfinished } from "../../../pkg/installer/applyObjects.ts";
import { buildUpgradedExtension, type UpgradeChange } from "../../../pkg/installer/extensionSpec.ts";
import { buildInstallerObjects, listInstallObjects, removeObjects } from "../../../pkg/installer/installerObjects.ts";
import { type AccountPermissions, addsPermissions, type NewPermissions } from "../../../pkg/installer/installerPermissions.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { MissingPermissions } from "../../../pkg/operatorcontroller/permissions/permissions.ts";
import type { InstallPlan } from "../../../pkg/operatorcontroller/plan/installPlan.ts";
import { UnresolvedError } from "../../../pkg/operatorcontroller/reconcile/resolve.ts";
import { createInstallerClient, isPlanAccepted, type PlanView, readExtensionPlan } from "../../../pkg/preview/extensionPlan.ts";
import { getObjectKey } from "../../../pkg/release/identity.ts";
import type { UnresolvedReason } from "../../../pkg/resolve/resolution.ts";
import { buildCatalogChange, sendPatch } from "../../../pkg/rollout/changes.ts";
import { formatRangeCommands } from "../../../pkg/rollout/extensionState.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import { withReader } from "../../../pkg/sources/bundleReader.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import type { RegistryOptions, ReleaseOptions, WaitOptions } from "../cli/options.ts";
import { printLeftOutCatalogs } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { parseProxySettings } from "../cli/proxySettings.ts";
import { type ColorMode, confirm, hasColourIn, suggestNext, type Terminal } from "../cli/terminal.ts";
import { formatNewPermissions, readNewPermissions } from "./grantedPermissions.ts";
import { formatPlan } from "./plan.ts";
import { awaitRollout, reportRollout } from "./rollout.ts";

/** Options of `olmv1 upgrade`. */
export interface UpgradeOptions extends ReleaseOptions, RegistryOptions, WaitOptions, UpgradeChange {
  yes?: boolean;
  dryRun?: boolean;
  all?: boolean;
  color: ColorMode;
}

/** Maximum time for all pulls, reads and dry runs together, in milliseconds. */
const PLAN_TIMEOUT_MS = 15 * 60_000;
/** Error reasons that are a result of the resolution, not a failure of the command. */
const ANSWERS: ReadonlySet<UnresolvedReason> = new Set(["NoMatchingBundle", "AmbiguousCatalogs", "CatalogUnavailable"]);

/** Runs `olmv1 upgrade`. */
export async function upgrade(terminal: Terminal, name: string, options: UpgradeOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const desired = buildUpgradedExtension(extension, options);
    const planned = await planUpgrade(terminal, client, desired, options);
    if (!planned) return terminal.exit(EXIT.no);
    const { plan, account } = planned;
    const isLacking = "lacking" in account && account.lacking?.uncertain === false;
    const isSame = plan.installed?.bundle === plan.bundle.name;
    printLeftOutCatalogs(terminal, plan.unavailableCatalogs);
    if (isSame && !isLacking && isUnchanged(extension, desired)) return terminal.out(formatUpToDate(extension));
    const screen = { width: terminal.width, colour: hasColourIn(terminal, options.color), all: options.all ?? false };
    terminal.err(`${formatPlan(plan, screen)}\n`);
    if (!isPlanAccepted(plan)) {
      terminal.err("no changes were made: the controller would reject this plan\n");
      return terminal.exit(EXIT.no);
    }
    const permissions = await readNewPermissions(terminal, client, extension, plan.bundle.image, options);
    if (permissions) terminal.err(formatNewPermissions(terminal, permissions, account));
    if (options.dryRun) return terminal.err("no changes were made: --dry-run\n");
    if (!(await confirm(terminal, formatQuestion(plan, permissions), options.yes))) {
      terminal.err("no changes were made\n");
      return terminal.exit(EXIT.no);
    }
    return applyUpgrade(terminal, client, { extension, wanted: desired, plan, permissions, isSame }, options);
  });
}

interface Decided {
  readonly extension: ClusterExtension;
  readonly wanted: ClusterExtension;
  readonly plan: InstallPlan;
  readonly permissions: NewPermissions | undefined;
  readonly isSame: boolean;
}

async function applyUpgrade(
  terminal: Terminal,
  client: Client,
  { extension, wanted, plan, permissions, isSame }: Decided,
  options: UpgradeOptions,
): Promise<void> {
  const { name } = extension.metadata;
  const reportObject = (object: KubeObject, verb: "created" | "configured" | "unchanged" | "not validated"): void => {
    if (verb !== "unchanged") terminal.out(`${formatApplied({ object, verb })}\n`);
  };
  const own = permissions?.isOurs ? buildInstallerObjects(name, permissions.installer, permissions.rules, options.systemNamespace) : [];
  try {
    await applyObjects(client, own, { report: ({ object, verb }) => reportObject(object, verb) });
  } catch (err) {
    if (err instanceof ApplyFailed) throw new Error(formatUnfinished(err, "the ClusterExtension was not changed"), { cause: err });
    throw err;
  }
  // Confirming the plan also approves it.
  const changed = await sendPatch(client, buildCatalogChange(extension, wanted, plan.digest));
  terminal.out(`ClusterExtension ${name} ${changed.metadata.generation === extension.metadata.generation ? "unchanged" : "configured"}\n`);
  if (!options.wait) return;
  const approved = extension.spec.approval === "Manual" && plan.digest !== null ? { approved: plan.digest } : {};
  const awaited = { generation: changed.metadata.generation ?? 0, ...(isSame ? {} : { bundle: plan.bundle.name }), ...approved };
  const rollout = await awaitRollout(terminal, client, name, awaited, options.timeout);
  if (rollout.kind === "ready" && own.length > 0) await withdraw(terminal, client, name, own);
  reportRollout(terminal, name, rollout);
  if (rollout.kind === "ready")
    suggestNext(terminal, `olmv1 history ${name} lists the revisions, olmv1 rollback ${name} returns to the previous one`);
}

/** Deletes roles that `olmv1 install` created for earlier bundles and that the old and new bundle do not need. */
async function withdraw(terminal: Terminal, client: Client, name: string, own: readonly KubeObject[]): Promise<void> {
  const desired = new Set(own.map(getObjectKey));
  const created = await listInstallObjects(client, name);
  const left = created.filter((object) => object.kind !== "Namespace" && !desired.has(getObjectKey(object)));
  await removeObjects(client, left, (object) =>
    terminal.out(`${escapeControlCharacters(`${object.kind.toLowerCase()}/${toObjectRef(object).name}`)} deleted\n`),
  );
}

/** @returns undefined if no bundle matches, after printing why. */
async function planUpgrade(
  terminal: Terminal,
  client: Client,
  desired: ClusterExtension,
  options: UpgradeOptions,
): Promise<{ plan: PlanView; account: AccountPermissions } | undefined> {
  const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(PLAN_TIMEOUT_MS)]);
  const identity = await createInstallerClient(desired, client).catch((err: unknown) => ({ unknown: getErrorMessage(err) }));
  let account: AccountPermissions = "unknown" in identity ? identity : { lacking: undefined };
  const report = (lacking: MissingPermissions | undefined): void => void (account = { lacking });
  try {
    const plan = await withProgress(terminal, `planning the upgrade of ClusterExtension ${desired.metadata.name}`, () =>
      withReader(
        options,
        (reader) =>
          readExtensionPlan({
            client,
            given: desired,
            reader,
            systemNamespace: options.systemNamespace,
            webhookCertProvider: "auto",
            proxySettings: parseProxySettings({ operatorProxy: "auto" }),
            account: "unknown" in identity ? undefined : { client: identity, report },
            log: createLogger({ component: "olmv1", level: "error", destination: process.stderr }),
            signal,
          }),
        signal,
      ),
    );
    return { plan, account };
  } catch (err) {
    if (!(err instanceof UnresolvedError && ANSWERS.has(err.details.reason))) throw err;
    terminal.err(
      `${escapeControlCharacters(getErrorMessage(err))}\nno changes were made; olmv1 resolve ${desired.metadata.name} --explain shows the reasons\n`,
    );
    return undefined;
  }
}

function isUnchanged(extension: ClusterExtension, desired: ClusterExtension): boolean {
  return (
    JSON.stringify(extension.spec.source.catalog?.channels) === JSON.stringify(desired.spec.source.catalog?.channels) &&
    extension.spec.source.catalog?.version === desired.spec.source.catalog?.version
  );
}

function formatQuestion(plan: InstallPlan, permissions: NewPermissions | undefined): string {
  const from = plan.installed ? ` from ${plan.installed.bundle}` : "";
  return `Upgrade ${plan.extension}${from} to ${plan.bundle.name}${permissions?.isOurs && addsPermissions(permissions) ? ", and grant these permissions" : ""}?`;
}

function formatUpToDate({ metadata: { name }, spec, status }: ClusterExtension): string {
  const bundle = status?.install?.bundle;
  const range = spec.source.catalog?.version;
  const blocked = status?.blockedUpdate;
  return [
    `${name}: ${bundle?.name} (version ${bundle?.version}) is the newest version that the extension can get${range === undefined ? "" : ` with version range ${JSON.stringify(range)}`}`,
    ...(blocked
      ? [
          `${blocked.version} is newer: ${escapeControlCharacters(blocked.message)}`,
          ...formatRangeCommands(name, blocked).map((one) => `  ${one}`),
        ]
      : []),
    "",
  ].join("\n");
}
