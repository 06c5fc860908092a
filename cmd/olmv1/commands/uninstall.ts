import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_CREATED_FOR, Reason } from "../../../pkg/api/constants.ts";
import { type Condition, type KubeObject, refOf } from "../../../pkg/api/k8s.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { applyObjects, CLI_MANAGER } from "../../../pkg/installer/applyObjects.ts";
import { madeObjects, removeObjects } from "../../../pkg/installer/installerObjects.ts";
import { blockedUninstall, type CustomResources, customResourcesOf, deletingRights, fateOf } from "../../../pkg/installer/removal.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { type CrdPolicy, crdPolicyOf } from "../../../pkg/release/plan.ts";
import { explainCondition, mostRelevantCondition, nextSteps } from "../../../pkg/rollout/conditionAdvice.ts";
import { extensionRef, listClusterExtensions, readExtension } from "../../../pkg/rollout/extensions.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount, formatList } from "../../../pkg/text/lists.ts";
import { CAUSE_LENGTH, truncate } from "../../../pkg/text/truncate.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import { EXIT } from "../cli/errors.ts";
import type { ClusterOptions, WaitOptions } from "../cli/options.ts";
import { withProgress } from "../cli/progress.ts";
import { confirm, type Terminal } from "../cli/terminal.ts";
import { readPatiently } from "./rollout.ts";

/** What an uninstall is going to do. */
export interface UninstallSummary {
  /** Undefined where only what `olmv1 install` made is left. */
  readonly extension: ClusterExtension | undefined;
  readonly crdPolicy: CrdPolicy;
  readonly customResources: readonly CustomResources[];
  /** Definitions that will stop the uninstall in operator-controller, a sentence each. */
  readonly blocked: readonly string[];
  /** What goes after the extension. */
  readonly made: readonly KubeObject[];
  /** Sentences about what stays, and why. */
  readonly staying: readonly string[];
}

const NAMES_SHOWN = 5;

/** What an uninstall is going to do, for somebody who has to agree to it: what is lost comes first. */
export function uninstallText(screen: Pick<Terminal, "width">, summary: UninstallSummary): string {
  const { extension, customResources, crdPolicy, blocked, made, staying } = summary;
  const lost = customResources.filter((one) => fateOf(one, crdPolicy) === "deleted");
  const kept = customResources.filter((one) => fateOf(one, crdPolicy) === "kept");
  const data = lost.filter(({ names, unknown }) => names.length > 0 || unknown !== undefined);
  const bundle = extension?.status?.install?.bundle;
  const lines = [
    ...(data.length > 0
      ? [
          "These custom resources would be DELETED, with all that their operator has made of them:",
          ...data.flatMap((one) => usedLines(screen, one)),
          "",
        ]
      : []),
    ...(extension
      ? [
          `ClusterExtension ${extension.metadata.name} goes, with ${bundle ? `${bundle.name} and its ${formatCount(extension.status?.inventory?.count ?? 0, "object")}` : "nothing installed"}`,
        ]
      : []),
    ...lost.filter((one) => !data.includes(one)).map(({ crd }) => `  with ${describeObject(crd)}, of which there are no custom resources`),
    ...(kept.length > 0
      ? [
          `These definitions stay, with their custom resources (spec.uninstall.crdPolicy ${crdPolicy}):`,
          ...kept.flatMap((one) => usedLines(screen, one)),
        ]
      : []),
    ...(made.length > 0 ? ["What olmv1 install made goes after it:", ...made.map((object) => `  ${describeObject(object)}`)] : []),
    ...staying,
    ...(extension && blocked.length > 0 ? ["", ...blockedLines(screen, extension, blocked)] : []),
  ];
  return `${lines.map(escapeControlCharacters).join("\n")}\n`;
}

/** What will stop the uninstall, and the ways out, as `olmv1 describe` shows them once it has stopped. */
function blockedLines(screen: Pick<Terminal, "width">, extension: ClusterExtension, blocked: readonly string[]): string[] {
  const { next } = explainCondition(extension, { reason: Reason.ConversionNeeded });
  return [
    ...wrapText("The uninstall will stop before it removes anything, with reason ConversionNeeded:", screen.width),
    ...blocked.flatMap((text) => wrapText(text, screen.width, "    ").map((line, i) => (i === 0 ? line.slice(2) : line))),
    ...wrapText("It resumes once the custom resources are deleted, or after one of:", screen.width),
    ...next.map((line) => `  ${line}`),
  ];
}

function usedLines(screen: Pick<Terminal, "width">, { crd, names, isMore, unknown }: CustomResources): string[] {
  const shown = formatList(names, { max: NAMES_SHOWN, rest: (more) => `… and ${more}${isMore ? " or more" : ""} more` });
  const count = unknown === undefined ? `${names.length}${isMore ? "+" : ""}` : "not to be seen";
  const text = `${crd.metadata.name} (${count})${shown === "" ? "" : `: ${shown}`}${unknown === undefined ? "" : `: ${unknown}`}`;
  return wrapText(text, screen.width, "    ").map((line, i) => (i === 0 ? line.slice(2) : line));
}

/** How `olmv1 uninstall` can be asked. */
export interface UninstallOptions extends ClusterOptions, WaitOptions {
  crdPolicy?: CrdPolicy;
  deleteNamespace?: boolean;
  keepServiceAccount?: boolean;
  yes?: boolean;
}

const POLL_MS = 500;

/** `olmv1 uninstall`. */
export async function uninstall(terminal: Terminal, name: string, options: UninstallOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const made = await madeObjects(client, name);
    const extension = made.length > 0 ? await client.get<ClusterExtension>(extensionRef(name)) : await readExtension(client, name);
    const crdPolicy = options.crdPolicy ?? (extension ? crdPolicyOf(extension.spec) : "DeleteIfUnused");
    const customResources = extension ? await customResourcesOf(client, extension) : [];
    const crds = customResources.map(({ crd }) => crd);
    const blocked = extension ? await blockedUninstall(client, extension, crdPolicy, crds, terminal.signal) : [];
    const { going, staying } = await sorted(client, name, made, options);
    terminal.err(uninstallText(terminal, { extension, crdPolicy, customResources, blocked, made: going, staying }));
    if (!(await confirm(terminal, `Uninstall ${name}?`, options.yes))) {
      terminal.err("nothing was changed\n");
      return terminal.exit(EXIT.no);
    }
    if (extension) {
      const isGone = await remove(terminal, client, extension, customResources, options);
      if (!isGone) return undefined;
    }
    await removeMade(terminal, client, await stillMade(client, name, going), options);
    await tellKept(terminal, client, customResources);
    return undefined;
  });
}

/** What of the made objects goes, and what stays and why. */
async function sorted(
  client: Client,
  name: string,
  made: readonly KubeObject[],
  { deleteNamespace = false, keepServiceAccount = false }: UninstallOptions,
): Promise<{ going: KubeObject[]; staying: string[] }> {
  const namespaces = made.filter(({ kind }) => kind === "Namespace");
  const others = deleteNamespace ? (await listClusterExtensions(client)).filter(({ metadata }) => metadata.name !== name) : [];
  const staying =
    keepServiceAccount && made.length > namespaces.length ? ["The ServiceAccount and its roles stay (--keep-service-account)."] : [];
  const going = keepServiceAccount ? [] : made.filter(({ kind }) => kind !== "Namespace");
  for (const namespace of namespaces) {
    const user = others.find(({ spec }) => spec.namespace === namespace.metadata.name);
    if (!deleteNamespace) staying.push(`Namespace ${namespace.metadata.name} stays; --delete-namespace deletes it with all that is in it.`);
    else if (user)
      staying.push(`Namespace ${namespace.metadata.name} stays, since ClusterExtension ${user.metadata.name} is installed there.`);
    else going.push(namespace);
  }
  if (deleteNamespace && namespaces.length === 0)
    staying.push("Its namespace stays, since olmv1 install has not made it for this extension.");
  return { going, staying };
}

/**
 * Deletes what `olmv1 install` made, and prints of each object that it is deleted once the API server no longer has it. Without `--wait`, or when
 * time is up, it prints what holds the rest.
 */
async function removeMade(
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
    const left = await withProgress(terminal, `waiting until ${what} is gone`, () => leftAfter(client, object, deadline, terminal.signal));
    if (!left) {
      terminal.out(`${what} deleted\n`);
      continue;
    }
    terminal.out(`${what}: deletion requested${holdersText(left)}\n`);
    if (!wait) continue;
    terminal.err(`${what} is not gone after ${Math.round(timeout / 1_000)} s; the cluster deletes it once nothing holds it\n`);
    terminal.exit(EXIT.no);
  }
}

/** Waits until an object that is being deleted is gone. @returns the object where it is still there at `deadline`. */
async function leftAfter(client: Client, object: KubeObject, deadline: number, signal: AbortSignal): Promise<KubeObject | undefined> {
  for (;;) {
    const left = await client.get(refOf(object), { signal });
    if (!left || left.metadata.uid !== object.metadata.uid) return undefined;
    if (Date.now() >= deadline) return left;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** What holds an object that is being deleted: the conditions of a Namespace that report it, and finalizers. Empty where nothing is reported. */
function holdersText({ metadata, status }: KubeObject & { status?: { conditions?: readonly Condition[] } }): string {
  const reported = (status?.conditions ?? []).filter((one) => one.status === "True").map(({ message }) => message);
  const finalizers = metadata.finalizers ?? [];
  const holders = [...reported, ...(finalizers.length > 0 ? [`finalizers: ${finalizers.join(", ")}`] : [])];
  return holders.map((line) => `\n  ${escapeControlCharacters(truncate(line, CAUSE_LENGTH))}`).join("");
}

/** The objects of an earlier look that still carry the mark. */
async function stillMade(client: Client, name: string, going: readonly KubeObject[]): Promise<KubeObject[]> {
  const chosen = new Set(going.map(({ metadata }) => metadata.uid));
  const isAccountGoing = going.some(({ kind }) => kind === "ServiceAccount" || kind === "Role");
  const now = await madeObjects(client, name);
  return now.filter(({ kind, metadata }) => chosen.has(metadata.uid) || (isAccountGoing && kind !== "Namespace"));
}

/** @returns whether it is gone, so that what it needed for that may go too. */
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
  await client.delete(extensionRef(name), uid === undefined ? {} : { uid });
  if (!options.wait) {
    terminal.out(
      `ClusterExtension ${name} is being deleted; what olmv1 install made stays until it is gone: olmv1 uninstall ${name} removes that then\n`,
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

/** Sets spec.uninstall.crdPolicy; a ServiceAccount of ours gets the rights that Delete takes. */
async function setPolicy(
  terminal: Terminal,
  client: Client,
  { metadata, spec }: ClusterExtension,
  crdPolicy: CrdPolicy,
  customResources: readonly CustomResources[],
): Promise<void> {
  const account = spec.serviceAccount?.name;
  if (crdPolicy === "Delete" && account !== undefined && customResources.length > 0) {
    const live = await client.get(
      { apiVersion: "v1", kind: "ServiceAccount", namespace: spec.namespace, name: account },
      { metadataOnly: true },
    );
    if (live?.metadata.labels?.[LABEL_CREATED_FOR] === metadata.name)
      await applyObjects(client, deletingRights(metadata.name, { namespace: spec.namespace, name: account }, customResources));
    else
      terminal.err(
        `ServiceAccount ${goQuote(`${spec.namespace}/${account}`)} needs get, list and delete on the custom resources: olmv1 rbac --crd-policy Delete prints that\n`,
      );
  }
  await client.patch(extensionRef(metadata.name), { spec: { uninstall: { crdPolicy } } }, { type: "merge", fieldManager: CLI_MANAGER });
}

/** @returns the extension where it is still there after that time. */
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
      const left = await readPatiently(terminal, client, name, isLate);
      if (left !== "later") {
        if (!left || left.metadata.uid !== uid) return undefined;
        if (isLate) return left;
        const condition = mostRelevantCondition(left.status?.conditions);
        progress.now(`ClusterExtension ${name}: ${condition?.reason ?? ""}: ${(condition?.message ?? "").split("\n")[0]}`);
      }
      await sleep(POLL_MS, undefined, { signal: terminal.signal });
    }
  });
  return waiting.catch((err: unknown) => {
    if (terminal.signal.aborted) terminal.err(`no longer waiting; the cluster goes on by itself: olmv1 uninstall ${name} waits again\n`);
    throw err;
  });
}

function stuckText(terminal: Terminal, extension: ClusterExtension, timeoutMs: number): string {
  const { name } = extension.metadata;
  const condition = mostRelevantCondition(extension.status?.conditions);
  const head = `ClusterExtension ${name} is not gone after ${Math.round(timeoutMs / 1_000)} s; what olmv1 install made stays, since it is needed for that\n`;
  if (!condition) return head;
  const { means, next } = explainCondition(extension, condition);
  const lines = [
    ...wrapText(escapeControlCharacters(`${condition.reason}: ${condition.message}`), terminal.width, "  "),
    ...wrapText(means, terminal.width),
    ...[...next, ...nextSteps(extension)].map((line) => `  ${escapeControlCharacters(line)}`),
  ];
  return `${head}${lines.join("\n")}\n`;
}

/** Tells which definitions are still there. */
async function tellKept(terminal: Terminal, client: Client, customResources: readonly CustomResources[]): Promise<void> {
  for (const { crd, names } of customResources) {
    const left = await client.get(refOf(crd), { metadataOnly: true });
    if (left && left.metadata.deletionTimestamp === undefined)
      terminal.out(
        `${escapeControlCharacters(describeObject(crd))} kept${names.length > 0 ? `, with ${names.length} custom resources` : ""}\n`,
      );
  }
}
