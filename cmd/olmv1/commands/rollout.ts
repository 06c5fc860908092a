import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { DependencyPlan, Plan } from "../../../pkg/api/clusterExtensionStatus.ts";
import { Reason } from "../../../pkg/api/constants.ts";
import type { Condition } from "../../../pkg/api/k8s.ts";
import { findProblem } from "../../../pkg/api/problems.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { readPatiently } from "../../../pkg/kube/patientRead.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { explainCondition, findMostRelevantCondition, listNextSteps } from "../../../pkg/rollout/conditionAdvice.ts";
import { buildExtensionRef, listClusterExtensions } from "../../../pkg/rollout/extensions.ts";
import { parseInventoryRef, readInventoryHealth } from "../../../pkg/rollout/inventory.ts";
import { countPlanProgress, formatPlanFailure, listPlanProgress } from "../../../pkg/rollout/planProgress.ts";
import { type Awaited, evaluateRollout, isObserved } from "../../../pkg/rollout/rolloutVerdict.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import { truncateColumns, wrapText } from "../cli/columns.ts";
import { EXIT } from "../cli/errors.ts";
import { type Progress, withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";

/** The result of waiting for a rollout, with the last state of the extension. With `timeout`, the rollout is still in progress. */
export type Rollout =
  | { readonly kind: "ready"; readonly extension: ClusterExtension; readonly seconds: number }
  | { readonly kind: "approval"; readonly extension: ClusterExtension; readonly seconds: number }
  | {
      readonly kind: "failed" | "timeout" | "permissionApproval";
      readonly extension: ClusterExtension;
      readonly condition: Condition | undefined;
      readonly seconds: number;
    }
  | { readonly kind: "gone"; readonly seconds: number };

/** Results that require no fix by the user. */
const SUCCESSFUL: ReadonlySet<Rollout["kind"]> = new Set(["ready", "approval", "permissionApproval"]);
const POLL_MS = 500;
/** Time that granted permissions may still be reported as missing, because the API server applies RBAC with a delay. */
const RIGHTS_PATIENCE_MS = 20_000;

/**
 * Waits until an extension is rolled out, and prints progress to standard error. After Ctrl-C, prints that the controller continues.
 * @throws the signal's reason after Ctrl-C, and errors of the API server that persist until the timeout.
 */
export async function awaitRollout(
  terminal: Terminal,
  client: Client,
  name: string,
  awaited: Awaited,
  timeoutMs: number,
): Promise<Rollout> {
  return followRollout(terminal, client, name, awaited, timeoutMs).catch((err: unknown) => {
    if (terminal.signal.aborted) terminal.err(`stopped waiting; the controller continues: olmv1 describe ${name}\n`);
    throw err;
  });
}

/**
 * Waits until an extension is rolled out, and prints progress to standard error.
 * @throws as `awaitRollout`
 */
export async function followRollout(
  terminal: Terminal,
  client: Client,
  name: string,
  awaited: Awaited,
  timeoutMs: number,
): Promise<Rollout> {
  const began = Date.now();
  const seconds = (): number => Math.round((Date.now() - began) / 1_000);
  const printer = new RolloutPrinter(terminal, awaited.bundle, seconds);
  return withProgress<Rollout>(terminal, `waiting for ClusterExtension ${name}`, async (progress) => {
    let lackingSince: number | undefined;
    for (;;) {
      const isLate = Date.now() - began > timeoutMs;
      const extension = await readPatiently<ClusterExtension>(client, buildExtensionRef(name), { signal: terminal.signal, isLate });
      if (extension === undefined) return { kind: "gone", seconds: seconds() };
      if (extension !== "later") {
        const verdict = evaluateRollout(extension, awaited);
        const isNow = isObserved(extension, awaited);
        // Prints no progress for an extension that was ready from the start.
        if (isNow && (verdict.kind !== "ready" || printer.hasPrinted || seconds() > 0)) await printer.update(client, extension, progress);
        if (verdict.kind === "ready" || verdict.kind === "approval") return { kind: verdict.kind, extension, seconds: seconds() };
        if (verdict.kind === "failed" || verdict.kind === "permissionApproval")
          return { kind: verdict.kind, extension, condition: verdict.condition, seconds: seconds() };
        lackingSince = verdict.kind === "missingPermissions" ? (lackingSince ?? Date.now()) : undefined;
        if (verdict.kind === "missingPermissions" && Date.now() - (lackingSince ?? 0) > Math.min(RIGHTS_PATIENCE_MS, timeoutMs))
          return { kind: "failed", extension, condition: verdict.condition, seconds: seconds() };
        if (isLate)
          return {
            kind: "timeout",
            extension,
            condition: isNow ? findMostRelevantCondition(extension.status?.conditions) : undefined,
            seconds: seconds(),
          };
      }
      await sleep(POLL_MS, undefined, { signal: terminal.signal });
    }
  });
}

/** Prints each step of a rollout once. */
class RolloutPrinter {
  readonly #terminal: Terminal;
  readonly #bundle: string | undefined;
  readonly #seconds: () => number;
  readonly #printed = new Set<string>();

  constructor(terminal: Terminal, bundle: string | undefined, seconds: () => number) {
    this.#terminal = terminal;
    this.#bundle = bundle;
    this.#seconds = seconds;
  }

  get hasPrinted(): boolean {
    return this.#printed.size > 0;
  }

  async update(client: Client, extension: ClusterExtension, progress: Progress): Promise<void> {
    const { metadata, status } = extension;
    const bundle = status?.install?.bundle;
    const isExpected = this.#bundle === undefined || bundle?.name === this.#bundle;
    if (bundle && isExpected) this.#print(`bundle ${bundle.name} is installed`);
    const condition = findMostRelevantCondition(status?.conditions);
    const [line = ""] = (condition?.message ?? "").split("\n");
    if (condition && condition.status !== "True" && condition.reason !== Reason.AwaitingApproval && line !== "")
      this.#print(`${condition.reason}: ${line}`);
    // The objects are read after the condition, so they are printed after it.
    const objects = await readInventoryHealth(client, (status?.inventory?.objects ?? []).map(parseInventoryRef), Date.now()).catch(
      () => [],
    );
    const ready = objects.filter(({ state }) => state === "healthy");
    if (isExpected) for (const { ref } of ready) this.#print(`${describeObject(ref)} is ready`);
    const ofPlan = await this.#updatePlan(client, extension);
    const count = objects.length === 0 ? ofPlan : `${ofPlan}, ${ready.length} of ${formatCount(objects.length, "object")} ready`;
    progress.now(`ClusterExtension ${metadata.name}: ${condition ? `${condition.reason}: ${line}` : "not reconciled yet"}${count}`);
  }

  /** Prints the progress of the plan of an extension. @returns the number of installed bundles, for the line of progress; empty if there is no plan */
  async #updatePlan(client: Client, extension: ClusterExtension): Promise<string> {
    if (!extension.status?.dependencyPlan) return "";
    const { name } = extension.metadata;
    const others = await listClusterExtensions(client).catch(() => undefined);
    if (!others) return "";
    const failure = formatPlanFailure(extension);
    if (failure !== undefined) this.#print(`dependency plan ${failure}`);
    const members = listPlanProgress(extension, others).filter((member) => member.extension !== name);
    for (const member of members) {
      if (member.state === "installed") this.#print(`bundle ${member.bundle.name} is installed (ClusterExtension ${member.extension})`);
      else if (member.state === "blocked") this.#print(`ClusterExtension ${member.extension}: ${member.why}`);
    }
    const isPending = (one: ClusterExtension): boolean =>
      findProblem(one.status, "PermissionsPending") !== undefined && members.some((member) => member.extension === one.metadata.name);
    if (others.some(isPending)) this.#print(`approve permissions of dependencies: olmv1 permissions approve ${name} --with-dependencies`);
    const count = countPlanProgress(extension, others);
    return count ? `, ${count.installed} of ${formatCount(count.all, "bundle")} installed` : "";
  }

  #print(text: string): void {
    if (this.#printed.has(text)) return;
    this.#printed.add(text);
    const { err, width } = this.#terminal;
    err(`${truncateColumns(`  ${escapeControlCharacters(text)} (${this.#seconds()} s)`, width)}\n`);
  }
}

type PlannedRow = NonNullable<Plan["objects"]>[number];

const MARKS = { Create: "+", Update: "~", Delete: "-", Unchanged: " " } as const;

/** Formats the plan that waits for approval, and the command that approves it. */
export function formatApproval(screen: Pick<Terminal, "width">, extension: ClusterExtension): string {
  const { name } = extension.metadata;
  return `${formatPlanSummary(screen, extension)}\napprove it: olmv1 approve ${name}\n`;
}

/** Formats the plan that waits for approval: the bundle, counts, and the objects in status.plan. */
export function formatPlanSummary(screen: Pick<Terminal, "width">, { metadata, status }: ClusterExtension): string {
  const { plan } = status ?? {};
  if (!plan) return `ClusterExtension ${metadata.name}: no plan waits for approval`;
  const now = status?.install ? `${status.install.bundle.name} is installed` : "no bundle is installed";
  const head = `ClusterExtension ${metadata.name}: ${now}, ${plan.bundle.name} (version ${plan.bundle.version}) waits for approval`;
  const { dependencyPlan } = status ?? {};
  if (dependencyPlan?.digest === plan.digest)
    return [head, ...formatWaves(screen, metadata.name, dependencyPlan), `digest: ${plan.digest}`].join("\n");
  const objects = plan.objects ?? [];
  const more = plan.create + plan.update + plan.delete - objects.length;
  return [
    head,
    `${plan.create} to create, ${plan.update} to change, ${plan.delete} to delete, ${plan.unchanged} unchanged`,
    ...objects.flatMap((object) => objectLines(screen, object)),
    ...(more > 0 ? [`  … and ${more} more`] : []),
    `digest: ${plan.digest}`,
  ].join("\n");
}

/** Formats the bundles of a plan with dependencies, by wave. */
function formatWaves(screen: Pick<Terminal, "width">, name: string, { members, ...own }: DependencyPlan): string[] {
  const all = [...members, { ...own, extension: name, created: false, reason: undefined }].sort((a, b) => a.wave - b.wave);
  const format = ({ wave, bundle, catalog, extension, created }: (typeof all)[number]): string =>
    `wave ${wave}: ${bundle.name} (version ${bundle.version}, from catalog ${catalog}): ${created ? "new " : ""}ClusterExtension ${extension}`;
  return [
    `one approval covers ${formatCount(all.length, "bundle")}; the bundles of a wave are installed together:`,
    ...all.flatMap((member) => [
      ...wrapText(escapeControlCharacters(format(member)), screen.width, "      ").map((line, i) =>
        i === 0 ? `  ${line.trimStart()}` : line,
      ),
      ...(member.reason === undefined ? [] : wrapText(escapeControlCharacters(member.reason), screen.width, "      ")),
    ]),
  ];
}

function objectLines(screen: Pick<Terminal, "width">, object: PlannedRow): string[] {
  const { action, kind, name, namespace, fields = [], widens } = object;
  const what = describeObject({ apiVersion: "", kind, name, namespace });
  return [
    `  ${MARKS[action]} ${escapeControlCharacters(what)}${widens ? "  (more permissions)" : ""}`,
    ...(fields.length > 0 ? wrapText(escapeControlCharacters(fields.join(", ")), screen.width, "      ") : []),
  ];
}

/** Prints the result of a rollout with the next steps to standard error, and sets exit code 1 if it failed. */
export function reportRollout(terminal: Terminal, name: string, rollout: Rollout): void {
  terminal.err(formatRollout(terminal, name, rollout));
  if (!SUCCESSFUL.has(rollout.kind)) terminal.exit(EXIT.no);
}

/** Formats the result of a rollout with the next steps. */
export function formatRollout(terminal: Pick<Terminal, "width">, name: string, rollout: Rollout): string {
  const { seconds } = rollout;
  if (rollout.kind === "gone") return `ClusterExtension ${name} was deleted during the wait\n`;
  const { extension } = rollout;
  const bundle = extension.status?.install?.bundle;
  if (rollout.kind === "ready") return `${name}: ${bundle?.name} (version ${bundle?.version}) is installed and ready after ${seconds} s\n`;
  if (rollout.kind === "approval") return formatApproval(terminal, extension);
  const heads = {
    timeout: `${name} is not ready after ${seconds} s`,
    failed: `${name} failed`,
    permissionApproval: `${name}: its permissions wait for approval`,
  };
  const head = heads[rollout.kind];
  return `${head}${rollout.condition ? "" : ": operator-controller has not reconciled it; check it with olmv1 doctor"}\n${conditionText(terminal, extension, rollout.condition)}`;
}

function conditionText(terminal: Pick<Terminal, "width">, extension: ClusterExtension, condition: Condition | undefined): string {
  const { name } = extension.metadata;
  const last = `  olmv1 describe ${name}`;
  if (!condition) return `${last}\n`;
  const { means, next } = explainCondition(extension, condition);
  return [
    ...wrapText(
      escapeControlCharacters(`${condition.type} is ${condition.status}, ${condition.reason}: ${condition.message}`),
      terminal.width,
      "  ",
    ),
    ...(means === "" ? [] : wrapText(means, terminal.width)),
    ...[...next, ...listNextSteps(extension)].map((line) => `  ${escapeControlCharacters(line)}`),
    last,
    "",
  ].join("\n");
}
