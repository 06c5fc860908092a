import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterExtension, getNamespace } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_CREATED_FOR, Reason } from "../../../pkg/api/constants.ts";
import { type Condition, type KubeObject, toObjectRef } from "../../../pkg/api/k8s.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { applyObjects } from "../../../pkg/installer/applyObjects.ts";
import { listInstallObjects, removeObjects, waitUntilGone } from "../../../pkg/installer/installerObjects.ts";
import { buildDeletionPermissions, type CustomResources } from "../../../pkg/installer/removal.ts";
import {
  divideDefinitions,
  previewUninstall,
  type UninstallPreview,
  type UninstallScope,
} from "../../../pkg/installer/uninstallPreview.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { readPatiently } from "../../../pkg/kube/patientRead.ts";
import { describeBackup } from "../../../pkg/operatorcontroller/crds/backupRecord.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import type { CrdPolicy } from "../../../pkg/release/plan.ts";
import { buildCrdPolicyChange, sendPatch } from "../../../pkg/rollout/changes.ts";
import { explainCondition, findMostRelevantCondition, listNextSteps } from "../../../pkg/rollout/conditionAdvice.ts";
import { buildExtensionRef } from "../../../pkg/rollout/extensions.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount, formatList } from "../../../pkg/text/lists.ts";
import { CAUSE_LENGTH, truncate } from "../../../pkg/text/truncate.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import { EXIT } from "../cli/errors.ts";
import type { ReleaseOptions, WaitOptions } from "../cli/options.ts";
import { withProgress } from "../cli/progress.ts";
import { confirm, suggestNext, type Terminal } from "../cli/terminal.ts";
import { writeAndRecord } from "./backup.ts";

const NAMES_SHOWN = 5;

/** Formats the effects of an uninstall, lost data first, for the user who must confirm it. */
export function formatUninstall(screen: Pick<Terminal, "width">, preview: UninstallPreview): string {
  const { extension, crdPolicy, blocked, created: made, staying, installed, unread = [] } = preview;
  const { lost, unused, kept } = divideDefinitions(preview);
  const bundle = extension?.status?.install?.bundle;
  const lines = [
    ...(lost.length > 0
      ? [
          "These custom resources will be DELETED, with everything that their operator created for them:",
          ...lost.flatMap((one) => usedLines(screen, one)),
          ...(extension ? wrapText(`${describeBackup(extension)}, or use --backup.`, screen.width) : []),
          "",
        ]
      : []),
    ...(extension
      ? [
          `ClusterExtension ${extension.metadata.name} will be deleted${bundle ? `, with ${bundle.name} and its ${formatCount(installed.count, "object")}` : "; no bundle is installed"}`,
        ]
      : []),
    ...unused.map(({ crd }) => `  including ${describeObject(crd)} (no custom resources)`),
    ...(kept.length > 0
      ? [
          `These CustomResourceDefinitions are kept, with their custom resources (spec.uninstall.crdPolicy ${crdPolicy}):`,
          ...kept.flatMap((one) => usedLines(screen, one)),
        ]
      : []),
    ...(made.length > 0
      ? [
          "Then these objects, which were created for the extension, will be deleted:",
          ...made.map((object) => `  ${describeObject(object)}`),
        ]
      : []),
    ...staying,
    ...unread,
    ...(extension && blocked.length > 0 ? ["", ...blockedLines(screen, extension, blocked)] : []),
  ];
  return `${lines.map(escapeControlCharacters).join("\n")}\n`;
}

/** Formats what will block the uninstall, with the same solutions as `olmv1 describe`. */
function blockedLines(screen: Pick<Terminal, "width">, extension: ClusterExtension, blocked: readonly string[]): string[] {
  const { next } = explainCondition(extension, { reason: Reason.ConversionNeeded });
  return [
    ...wrapText("The uninstall will stop with reason ConversionNeeded before it deletes any object:", screen.width),
    ...blocked.flatMap((text) => wrapText(text, screen.width, "    ").map((line, i) => (i === 0 ? line.slice(2) : line))),
    ...wrapText("It resumes when the custom resources are deleted, or after one of these commands:", screen.width),
    ...next.map((line) => `  ${line}`),
  ];
}

function usedLines(screen: Pick<Terminal, "width">, { crd, names, isMore, unknown }: CustomResources): string[] {
  const shown = formatList(names, { max: NAMES_SHOWN, rest: (more) => `… and ${more}${isMore ? " or more" : ""} more` });
  const count = unknown === undefined ? `${names.length}${isMore ? "+" : ""}` : "unknown";
  const text = `${crd.metadata.name} (${count})${shown === "" ? "" : `: ${shown}`}${unknown === undefined ? "" : `: ${unknown}`}`;
  return wrapText(text, screen.width, "    ").map((line, i) => (i === 0 ? line.slice(2) : line));
}

/** Options of `olmv1 uninstall`. */
export interface UninstallOptions extends ReleaseOptions, WaitOptions, UninstallScope {
  yes?: boolean;
  /** Path of a backup to write first. */
  backup?: string;
}

const POLL_MS = 500;

/** Runs `olmv1 uninstall`. */
export async function uninstall(terminal: Terminal, name: string, options: UninstallOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const preview = await previewUninstall(client, name, options, terminal.signal);
    const { extension, customResources, created } = preview;
    terminal.err(formatUninstall(terminal, preview));
    if (!(await confirm(terminal, `Uninstall ${name}?`, options.yes))) {
      terminal.err("no changes were made\n");
      return terminal.exit(EXIT.no);
    }
    if (options.backup !== undefined) await backUpFirst(terminal, client, name, options.backup);
    if (extension) {
      const isGone = await remove(terminal, client, extension, customResources, options);
      if (!isGone) return undefined;
    }
    await removeCreated(terminal, client, await findRemaining(client, name, created), options);
    await printKept(terminal, client, customResources);
    suggestNext(terminal, "olmv1 list shows the remaining extensions");
    return undefined;
  });
}

/** Writes a backup before the uninstall deletes anything. @throws Error if it cannot be written, or no CRD belongs to the extension */
async function backUpFirst(terminal: Terminal, client: Client, name: string, path: string): Promise<void> {
  const { objects } = await writeAndRecord(terminal, client, name, path).catch((err: unknown) => {
    throw new Error(`not uninstalled: ${getErrorMessage(err)}`, { cause: err });
  });
  terminal.out(escapeControlCharacters(`backup of ${formatCount(objects, "custom resource")} written to ${path}\n`));
}

/**
 * Deletes the objects that `olmv1 install` created, and prints each one when it is gone. Without `--wait`, or after the timeout, prints what
 * blocks the deletion of the others.
 */
async function removeCreated(
  terminal: Terminal,
  client: Client,
  made: readonly KubeObject[],
  { wait, timeout }: Pick<UninstallOptions, "wait" | "timeout">,
): Promise<void> {
  const deadline = Date.now() + (wait ? timeout : 0);
  const requested: KubeObject[] = [];
  await removeObjects(client, made, (object) => requested.push(object));
  for (const object of requested) {
    const what = escapeControlCharacters(describeObject(object));
    const left = await withProgress(terminal, `waiting until ${what} is gone`, () =>
      waitUntilGone(client, object, deadline, terminal.signal),
    );
    if (!left) {
      terminal.out(`${what} deleted\n`);
      continue;
    }
    terminal.out(`${what}: deletion requested${holdersText(left)}\n`);
    if (!wait) continue;
    terminal.err(`${what} still exists after ${Math.round(timeout / 1_000)} s; the API server deletes it when no finalizer blocks it\n`);
    terminal.exit(EXIT.no);
  }
}

/** Formats what blocks the deletion of an object: conditions of a Namespace, and finalizers. Empty if nothing is reported. */
function holdersText({ metadata, status }: KubeObject & { status?: { conditions?: readonly Condition[] } }): string {
  const reported = (status?.conditions ?? []).filter((one) => one.status === "True").map(({ message }) => message);
  const finalizers = metadata.finalizers ?? [];
  const holders = [...reported, ...(finalizers.length > 0 ? [`finalizers: ${finalizers.join(", ")}`] : [])];
  return holders.map((line) => `\n  ${escapeControlCharacters(truncate(line, CAUSE_LENGTH))}`).join("");
}

/** Reads objects again, and returns those that still have the label. */
async function findRemaining(client: Client, name: string, going: readonly KubeObject[]): Promise<KubeObject[]> {
  const chosen = new Set(going.map(({ metadata }) => metadata.uid));
  const isAccountGoing = going.some(({ kind }) => kind === "ServiceAccount" || kind === "Role");
  const now = await listInstallObjects(client, name);
  return now.filter(({ kind, metadata }) => chosen.has(metadata.uid) || (isAccountGoing && kind !== "Namespace"));
}

/** Deletes the extension. @returns whether it is gone, so that its ServiceAccount and roles can be deleted. */
async function remove(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  customResources: readonly CustomResources[],
  options: UninstallOptions,
): Promise<boolean> {
  const { name, uid } = extension.metadata;
  if (options.crdPolicy !== undefined && options.crdPolicy !== extension.spec.uninstall?.crdPolicy)
    await setPolicy(terminal, client, extension, options.crdPolicy, customResources);
  await client.delete(buildExtensionRef(name), uid === undefined ? {} : { uid });
  if (!options.wait) {
    terminal.out(
      `ClusterExtension ${name} is being deleted; run olmv1 uninstall ${name} again to remove the objects that olmv1 install created\n`,
    );
    return false;
  }
  const left = await gone(terminal, client, name, uid, options.timeout);
  if (left === undefined) {
    terminal.out(`ClusterExtension ${name} deleted\n`);
    return true;
  }
  terminal.err(stuckText(terminal, left, options.timeout));
  terminal.exit(EXIT.no);
  return false;
}

/** Sets spec.uninstall.crdPolicy, and grants a ServiceAccount that olmv1 install created the permissions for Delete. */
async function setPolicy(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  crdPolicy: CrdPolicy,
  customResources: readonly CustomResources[],
): Promise<void> {
  const { metadata, spec } = extension;
  const [namespace, account] = [getNamespace(extension), spec.serviceAccount?.name];
  if (crdPolicy === "Delete" && account !== undefined && customResources.length > 0) {
    const live = await client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace, name: account }, { metadataOnly: true });
    if (live?.metadata.labels?.[LABEL_CREATED_FOR] === metadata.name)
      await applyObjects(client, buildDeletionPermissions(metadata.name, { namespace, name: account }, customResources));
    else
      terminal.err(
        `ServiceAccount ${goQuote(`${namespace}/${account}`)} needs permission to get, list and delete the custom resources; olmv1 rbac --crd-policy Delete prints it\n`,
      );
  }
  await sendPatch(client, buildCrdPolicyChange(extension, crdPolicy));
}

/** Waits until the extension is gone. @returns the extension if it still exists after the timeout. */
async function gone(
  terminal: Terminal,
  client: Client,
  name: string,
  uid: string | undefined,
  timeoutMs: number,
): Promise<ClusterExtension | undefined> {
  const began = Date.now();
  const waiting = withProgress(terminal, `waiting until ClusterExtension ${name} is gone`, async (progress) => {
    for (;;) {
      const isLate = Date.now() - began > timeoutMs;
      const left = await readPatiently<ClusterExtension>(client, buildExtensionRef(name), { signal: terminal.signal, isLate });
      if (left !== "later") {
        if (!left || left.metadata.uid !== uid) return undefined;
        if (isLate) return left;
        const condition = findMostRelevantCondition(left.status?.conditions);
        progress.now(`ClusterExtension ${name}: ${condition?.reason ?? ""}: ${(condition?.message ?? "").split("\n")[0]}`);
      }
      await sleep(POLL_MS, undefined, { signal: terminal.signal });
    }
  });
  return waiting.catch((err: unknown) => {
    if (terminal.signal.aborted) terminal.err(`stopped waiting; the controller continues: run olmv1 uninstall ${name} to wait again\n`);
    throw err;
  });
}

function stuckText(terminal: Terminal, extension: ClusterExtension, timeoutMs: number): string {
  const { name } = extension.metadata;
  const condition = findMostRelevantCondition(extension.status?.conditions);
  const head = `ClusterExtension ${name} still exists after ${Math.round(timeoutMs / 1_000)} s; its ServiceAccount and roles are kept, because the deletion needs them\n`;
  if (!condition) return head;
  const { means, next } = explainCondition(extension, condition);
  const lines = [
    ...wrapText(escapeControlCharacters(`${condition.reason}: ${condition.message}`), terminal.width, "  "),
    ...wrapText(means, terminal.width),
    ...[...next, ...listNextSteps(extension)].map((line) => `  ${escapeControlCharacters(line)}`),
  ];
  return `${head}${lines.join("\n")}\n`;
}

/** Prints the CustomResourceDefinitions that still exist. */
async function printKept(terminal: Terminal, client: Client, customResources: readonly CustomResources[]): Promise<void> {
  for (const { crd, names } of customResources) {
    const left = await client.get(toObjectRef(crd), { metadataOnly: true });
    if (left && left.metadata.deletionTimestamp === undefined)
      terminal.out(
        `${escapeControlCharacters(describeObject(crd))} kept${names.length > 0 ? `, with ${names.length} custom resources` : ""}\n`,
      );
  }
}
