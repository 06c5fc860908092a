import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { ProblemData } from "../../../pkg/api/problemSchema.ts";
import { formatSupport } from "../../../pkg/fbc/versionSupport.ts";
import { formatAge } from "../../../pkg/golang/time.ts";
import { rulesFromDetails } from "../../../pkg/operatorcontroller/permissions/permissions.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { describeCatalogState, findCatalogFailure } from "../../../pkg/rollout/catalogState.ts";
import { type ConditionView, listConditionViews, PROBLEM_MOODS } from "../../../pkg/rollout/conditionView.ts";
import { type ExtensionDescription, readExtensionDescription } from "../../../pkg/rollout/extensionDescription.ts";
import type { EventRecord } from "../../../pkg/rollout/extensionEvents.ts";
import { describeExtensionState } from "../../../pkg/rollout/extensionState.ts";
import {
  describeAvailableUpdates,
  describeBlockedUpdate,
  describeDrift,
  describeInstalledBundle,
  describeInstaller,
  describeNamespace,
  describePin,
  describeSource,
  describeUninstallPolicy,
  findDeprecation,
} from "../../../pkg/rollout/extensionSummary.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import type { InventoryObjectHealth } from "../../../pkg/rollout/inventory.ts";
import {
  countPlanProgress,
  findPlanRoots,
  formatPlanFailure,
  formatPlanMember,
  listPlanProgress,
} from "../../../pkg/rollout/planProgress.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import { formatStyled } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";
import { formatEvents } from "./events.ts";
import { formatGrants } from "./grantedPermissions.ts";
import { formatReleases } from "./history.ts";

type Screen = Pick<Terminal, "width" | "colour">;

/** Maximum number of Events. */
const EVENTS_SHOWN = 8;
/** Maximum number of lines of a message. */
const MESSAGE_LINES = 30;
const LABEL_WIDTH = 13;
/** Formats the status of an extension with explanations. @param now milliseconds since the epoch. */
export function describeText(screen: Screen, described: ExtensionDescription, now: number): string {
  const { extension, objects, others, releases, events, catalogs } = described;
  const { inventory } = extension.status ?? {};
  const notReady = objects.filter(({ state }) => state !== "healthy");
  const parts = [
    summary(screen, described, now),
    ["Conditions:", ...conditionLines(screen, extension)],
    problemLines(screen, extension),
    planLines(screen, extension, others),
    catalogLines(screen, catalogs),
    inventory ? [objectsHead(inventory.count, notReady.length), ...notReady.flatMap((one) => objectLines(screen, one))] : [],
    keptLines(screen, extension),
    formatSection("Releases:", releases, (rows) => formatReleases({ ...screen, width: screen.width - 2 }, rows, now)),
    formatSection("Events:", selectRecent(events), (shown) => formatEvents({ ...screen, width: screen.width - 2 }, shown, now)),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

function summary(screen: Screen, described: ExtensionDescription, now: number): string[] {
  const { extension } = described;
  const { metadata, spec } = extension;
  const rows: [string, string | undefined][] = [
    ["Name", metadata.name],
    ["Package", spec.source.catalog?.packageName],
    ["Status", formatStyled(screen, describeExtensionState(extension))],
    ["Installed", describeInstalledBundle(extension)],
    ["Namespace", describeNamespace(extension)],
    ["Installer", describeInstaller(described)],
    ["Source", describeSource(extension)],
    ["Support", extension.status?.support && formatSupport(extension.status.support)],
    ["Updates", joinLines(describeAvailableUpdates(extension))],
    ["Blocked", joinLines(describeBlockedUpdate(extension))],
    ["Deprecated", findDeprecation(extension)],
    ["Approval", spec.approval === "Manual" ? `Manual: approve a change with olmv1 approve ${metadata.name}` : undefined],
    ["Pinned", describePin(extension)],
    ["Drift", describeDrift(described, now)],
    ["Uninstall", `crdPolicy ${describeUninstallPolicy(extension)}`],
    ["Age", formatAge(metadata.creationTimestamp, now)],
  ];
  return rows.flatMap(([label, text]) => (text === undefined ? [] : field(screen, label, text)));
}

function joinLines(lines: readonly string[]): string | undefined {
  return lines.length === 0 ? undefined : lines.join("\n");
}

/** Formats a label and its text, with a hanging indent. */
function field(screen: Screen, label: string, text: string): string[] {
  const [first = "", ...more] = wrapText(printableOrStyled(text), screen.width, " ".repeat(LABEL_WIDTH));
  return [`${label}:`.padEnd(LABEL_WIDTH) + first.slice(LABEL_WIDTH), ...more];
}

/** Keeps the colours of this program, and escapes all other control characters. */
function printableOrStyled(text: string): string {
  return text.startsWith("\u001B[") ? text : escapeControlCharacters(text);
}

function conditionLines(screen: Screen, extension: ClusterExtension): string[] {
  if ((extension.status?.conditions ?? []).length === 0)
    return ["  none yet: operator-controller has not reconciled the extension; run olmv1 doctor to check whether it runs"];
  return listConditionViews(extension).flatMap((one) => conditionBlock(screen, extension.metadata.name, one));
}

function conditionBlock(screen: Screen, name: string, { condition, mood, details }: ConditionView): string[] {
  const { type, status, reason } = condition;
  const head = `  ${formatStyled(screen, { text: `${type} is ${status}`, mood })}: ${escapeControlCharacters(reason)}`;
  if (details.kind === "condition") return [`${head}, see ${details.type}`];
  if (details.kind === "problems") return [`${head}, see Problems`];
  const { means, next } = details.advice ?? { means: "", next: [] };
  return [
    head,
    ...truncateLines(wrapText(escapeControlCharacters(details.message), screen.width, "      "), name),
    ...(means === "" ? [] : wrapText(means, screen.width - 2, "      ").map((line, i) => (i === 0 ? `    → ${line.trimStart()}` : line))),
    ...next.map((line) => `      ${line}`),
  ];
}

/** Formats `status.problems`, each with what to do next. */
function problemLines(screen: Screen, { metadata: { name }, status }: ClusterExtension): string[] {
  const { problems = [], omittedProblems = 0 } = status ?? {};
  if (problems.length === 0) return [];
  const formatBlock = ({ type, severity, message, next, details }: (typeof problems)[number]): string[] => [
    `  ${formatStyled(screen, { text: severity, mood: PROBLEM_MOODS[severity] })} ${escapeControlCharacters(type)}`,
    ...truncateLines(wrapText(escapeControlCharacters(message), screen.width, "      "), name),
    ...(details?.permissions ? permissionLines(screen, details.permissions, next ?? "") : []),
    // Not wrapped, so that users can copy commands.
    ...(next === undefined ? [] : [`    → ${escapeControlCharacters(next)}`]),
  ];
  return ["Problems:", ...problems.flatMap(formatBlock), ...(omittedProblems > 0 ? [`  … and ${omittedProblems} more`] : [])];
}

/** Formats the plan in progress: each bundle with its wave and state, or the plan of another extension that contains this one. */
function planLines(screen: Screen, extension: ClusterExtension, others: ExtensionDescription["others"]): string[] {
  const { name } = extension.metadata;
  const known = typeof others === "string" ? [] : others;
  const partOf = findPlanRoots(name, known).map((root) => `Dependency plan: part of that of ClusterExtension ${root}`);
  const count = countPlanProgress(extension, known);
  if (!count) return partOf.map(escapeControlCharacters);
  const head = "Dependency plan:";
  if (typeof others === "string") return [head, `  ${escapeControlCharacters(others)}`];
  const failure = formatPlanFailure(extension);
  const lines = [...(failure === undefined ? [] : [failure]), ...listPlanProgress(extension, known).map(formatPlanMember)];
  return [
    `${head} ${count.installed} of ${formatCount(count.all, "bundle")} installed`,
    ...lines.flatMap((line) => indentLines(screen, line)),
  ];
}

/** Wraps a text with a hanging indent. */
function indentLines(screen: Screen, text: string): string[] {
  return wrapText(escapeControlCharacters(text), screen.width, "      ").map((line, i) => (i === 0 ? `  ${line.trimStart()}` : line));
}

function permissionLines(screen: Screen, permissions: NonNullable<ProblemData["permissions"]>, more: string): string[] {
  const indent = "    ";
  const text = formatGrants({ width: screen.width - indent.length }, rulesFromDetails(permissions), more);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => indent + line);
}

function truncateLines(lines: readonly string[], name: string): readonly string[] {
  const more = lines.length - MESSAGE_LINES;
  return more <= 1 ? lines : [...lines.slice(0, MESSAGE_LINES), `      … and ${more} more lines: olmv1 get ${name} -o yaml`];
}

/** Formats the CustomResourceDefinitions that upgrades kept, and why. */
function keptLines(screen: Screen, { status }: ClusterExtension): string[] {
  const { keptCRDs = [] } = status ?? {};
  if (keptCRDs.length === 0) return [];
  const formatText = ({ name, message }: (typeof keptCRDs)[number]): string => `${name}: ${message}`;
  return ["CustomResourceDefinitions kept from earlier bundles:", ...keptCRDs.flatMap((one) => indentLines(screen, formatText(one)))];
}

/** Formats each failing catalog with its error and the next command, or why the catalogs cannot be read. */
function catalogLines(screen: Screen, catalogs: ExtensionDescription["catalogs"]): string[] {
  const head = "Failing catalogs:";
  if (typeof catalogs === "string") return [head, `  ${escapeControlCharacters(catalogs)}`];
  if (catalogs.length === 0) return [];
  const formatBlock = (catalog: ClusterCatalog): string[] => {
    const { name } = catalog.metadata;
    const because = findCatalogFailure(catalog)?.because ?? "catalogd has reported no error";
    const text = wrapText(escapeControlCharacters(because), screen.width, "      ");
    return [
      `  ${escapeControlCharacters(name)}: ${formatStyled(screen, describeCatalogState(catalog))}`,
      ...text,
      `      kubectl describe clustercatalog ${escapeControlCharacters(name)}`,
    ];
  };
  return [head, ...catalogs.flatMap(formatBlock)];
}

function objectsHead(count: number, notReady: number): string {
  return `Objects: ${count}, ${notReady === 0 ? "all ready" : `${notReady} not ready:`}`;
}

function objectLines(screen: Screen, { ref, state, message }: InventoryObjectHealth): string[] {
  const text = `${describeObject(ref)}: ${state}${message === "" ? "" : `: ${message}`}`;
  return wrapText(escapeControlCharacters(text), screen.width - 2, "    ").map((line, i) => (i === 0 ? `  ${line.trimStart()}` : line));
}

/** Formats a table under its heading, or why it could not be read. */
function formatSection<T>(head: string, found: readonly T[] | string, tableOf: (rows: readonly T[]) => string): string[] {
  if (typeof found === "string") return [head, `  ${escapeControlCharacters(found)}`];
  if (found.length === 0) return [];
  return [
    head,
    ...tableOf(found)
      .trimEnd()
      .split("\n")
      .map((line) => `  ${line}`),
  ];
}

function selectRecent(events: readonly EventRecord[] | string): readonly EventRecord[] | string {
  return typeof events === "string" ? events : events.slice(-EVENTS_SHOWN);
}

/** Runs `olmv1 describe`. */
export async function describeExtension(terminal: Terminal, name: string, { systemNamespace, ...options }: ReleaseOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const now = Date.now();
    terminal.out(describeText(terminal, await readExtensionDescription(client, extension, { systemNamespace, now }), now));
  });
}
