import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { type ClusterExtension, getNamespace } from "../../../pkg/api/clusterExtension.ts";
import {
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_CATALOG,
  ConditionType,
  LABEL_CREATED_FOR,
  Reason,
} from "../../../pkg/api/constants.ts";
import type { Condition } from "../../../pkg/api/k8s.ts";
import type { ProblemData } from "../../../pkg/api/problemSchema.ts";
import { findProblem } from "../../../pkg/api/problems.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { formatAge } from "../../../pkg/golang/time.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { selectClusterCatalogs } from "../../../pkg/operatorcontroller/catalogs/catalogPackages.ts";
import { rulesFromDetails } from "../../../pkg/operatorcontroller/permissions/permissions.ts";
import { getAccountName } from "../../../pkg/permissions/grantObjects.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { describeCatalogState, findCatalogFailure, isServed } from "../../../pkg/rollout/catalogState.ts";
import { explainCondition } from "../../../pkg/rollout/conditionAdvice.ts";
import {
  describeCatalogs,
  describeExtensionState,
  formatRangeCommands,
  GENERAL_REASONS,
  getConditionMood,
} from "../../../pkg/rollout/extensionState.ts";
import { listClusterExtensions, readExtension } from "../../../pkg/rollout/extensions.ts";
import { type InventoryObjectHealth, readInventoryHealth } from "../../../pkg/rollout/inventory.ts";
import { countPlanProgress, formatMemberState, formatPlanFailure, listPlanProgress } from "../../../pkg/rollout/planProgress.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import { formatStyled } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";
import { type EventRecord, formatEvents, readEvents } from "./events.ts";
import { formatGrants } from "./grantedPermissions.ts";
import { formatReleases, type ReleaseRow, readReleaseRows } from "./history.ts";

/** The state of an extension. If a part cannot be read, its value is the error text. */
export interface ExtensionDescription {
  readonly extension: ClusterExtension;
  /** Whether the ServiceAccount exists, and whether `olmv1 install` created it. */
  readonly account: "missing" | "there" | "made" | { readonly unknown: string };
  readonly objects: readonly InventoryObjectHealth[];
  readonly releases: readonly ReleaseRow[] | string;
  /** Oldest first. */
  readonly events: readonly EventRecord[] | string;
  /** All extensions of the cluster. */
  readonly others: readonly ClusterExtension[] | string;
  /** The selected catalogs that are not served as specified. */
  readonly catalogs: readonly ClusterCatalog[] | string;
}

type Screen = Pick<Terminal, "width" | "colour">;

/** Maximum number of Events. */
const EVENTS_SHOWN = 8;
/** Maximum number of lines of a message. */
const MESSAGE_LINES = 30;
const LABEL_WIDTH = 13;
/** Conditions that the summary contains. */
const SUMMED_UP: ReadonlySet<string> = new Set([
  ConditionType.Deprecated,
  ConditionType.PackageDeprecated,
  ConditionType.ChannelDeprecated,
  ConditionType.BundleDeprecated,
]);

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
  const { metadata, spec, status } = extension;
  const bundle = status?.install?.bundle;
  const pinned = metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
  const rows: [string, string | undefined][] = [
    ["Name", metadata.name],
    ["Package", spec.source.catalog?.packageName],
    ["Status", formatStyled(screen, describeExtensionState(extension))],
    [
      "Installed",
      bundle
        ? `${bundle.name} (version ${bundle.version})${status?.install?.catalog === undefined ? "" : `, from catalog ${status.install.catalog}`}`
        : "none",
    ],
    ["Namespace", getNamespace(extension)],
    ["Installer", installerText(described)],
    ["Source", sourceText(extension)],
    ["Updates", updatesText(extension)],
    ["Blocked", blockedText(extension)],
    ["Deprecated", deprecationText(extension)],
    ["Approval", spec.approval === "Manual" ? `Manual: approve a change with olmv1 approve ${metadata.name}` : undefined],
    ["Pinned", pinned === undefined ? undefined : `to revision ${pinned}; remove the pin with olmv1 rollback ${metadata.name} --cancel`],
    ["Drift", driftText(described, now)],
    ["Uninstall", `crdPolicy ${spec.uninstall?.crdPolicy ?? "DeleteIfUnused"}`],
    ["Age", formatAge(metadata.creationTimestamp, now)],
  ];
  return rows.flatMap(([label, text]) => (text === undefined ? [] : field(screen, label, text)));
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

function installerText({ extension, account }: ExtensionDescription): string {
  const { spec, status } = extension;
  const who = `ServiceAccount ${getNamespace(extension)}/${getAccountName(extension)}`;
  if (account === "missing" && !spec.serviceAccount?.name) return `${who}, which permission-manager has not created yet`;
  if (account === "missing") return `${who}, which does not exist`;
  if (typeof account === "object") return `${who} (${account.unknown})`;
  const creator = !spec.serviceAccount?.name ? ", created by permission-manager" : account === "made" ? ", created by olmv1 install" : "";
  const progressing = status?.conditions?.find(({ type }) => type === ConditionType.Progressing);
  if (!progressing) return `${who}${creator}; its permissions have not been checked yet`;
  if (findProblem(status, "MissingPermissions")) return `${who}${creator}; it lacks permissions, see Problems`;
  return `${who}${creator}; ${status?.install ? "it has the permissions that the installed bundle needs" : "no missing permissions are known"}`;
}

function sourceText(extension: ClusterExtension): string {
  const { channels = [], version = "", upgradeConstraintPolicy } = extension.spec.source.catalog ?? {};
  return [
    `catalogs: ${describeCatalogs(extension)}`,
    `channels: ${channels.length > 0 ? channels.join(", ") : "all"}`,
    `version: ${version === "" ? "any" : version}`,
    ...(upgradeConstraintPolicy === "SelfCertified" ? ["upgradeConstraintPolicy: SelfCertified"] : []),
  ].join("; ");
}

function updatesText({ status }: ClusterExtension): string | undefined {
  if (!status?.availableUpdates) return undefined;
  if (status.availableUpdates.length === 0) return "none";
  return status.availableUpdates
    .map(({ version, catalog, edge, channel, deprecated }) => {
      const by = edge === undefined ? "" : `, by ${edge}${channel === undefined ? "" : ` in channel ${channel}`}`;
      return `${version} (catalog ${catalog}${by}${deprecated ? ", deprecated" : ""})`;
    })
    .join("\n");
}

function blockedText({ metadata, status }: ClusterExtension): string | undefined {
  const { blockedUpdate } = status ?? {};
  if (!blockedUpdate) return undefined;
  return [`${blockedUpdate.version}: ${blockedUpdate.message}`, ...formatRangeCommands(metadata.name, blockedUpdate)].join("\n");
}

function deprecationText({ status }: ClusterExtension): string | undefined {
  const found = status?.conditions?.find(({ type, status: is }) => type === ConditionType.Deprecated && is === "True");
  return found?.message;
}

function driftText({ extension: { spec }, events }: ExtensionDescription, now: number): string {
  const policy = `policy ${spec.drift?.policy ?? "Correct"}`;
  const last =
    typeof events === "string" ? undefined : events.findLast(({ reason }) => reason === "Drifted" || reason === "DriftCorrected");
  if (!last) return `${policy}; no recent drift`;
  return `${policy}; ${last.reason} ${formatAge(last.lastTimestamp, now)} ago: ${last.message ?? ""}`;
}

function conditionLines(screen: Screen, extension: ClusterExtension): string[] {
  const { conditions = [] } = extension.status ?? {};
  if (conditions.length === 0)
    return ["  none yet: operator-controller has not reconciled the extension; run olmv1 doctor to check whether it runs"];
  return conditions.filter(({ type }) => !SUMMED_UP.has(type)).flatMap((one) => conditionBlock(screen, extension, one));
}

function conditionBlock(screen: Screen, extension: ClusterExtension, condition: Condition): string[] {
  const { type, status, reason, message } = condition;
  const mood = reason === Reason.Retrying ? "bad" : getConditionMood(type, status);
  const head = `  ${formatStyled(screen, { text: `${type} is ${status}`, mood })}: ${escapeControlCharacters(reason)}`;
  const cause = type === ConditionType.Ready && status !== "True" ? findSameReason(extension, condition) : undefined;
  if (cause !== undefined) return [`${head}, see ${cause}`];
  // The condition message lists permissions in the format of the Go implementation; the problem lists them grouped.
  const isLacking = findProblem(extension.status, "MissingPermissions")?.severity === "Error" && GENERAL_REASONS.has(reason);
  if (isLacking) return [`${head}, see Problems`];
  const text = truncateLines(wrapText(escapeControlCharacters(message), screen.width, "      "), extension.metadata.name);
  if (mood === "good") return [head, ...text];
  const { means, next } = explainCondition(extension, condition);
  return [
    head,
    ...text,
    ...(means === "" ? [] : wrapText(means, screen.width - 2, "      ").map((line, i) => (i === 0 ? `    → ${line.trimStart()}` : line))),
    ...next.map((line) => `      ${line}`),
  ];
}

/** Formats `status.problems`, each with what to do next. */
function problemLines(screen: Screen, { metadata: { name }, status }: ClusterExtension): string[] {
  const { problems = [], omittedProblems = 0 } = status ?? {};
  if (problems.length === 0) return [];
  const moods = { Error: "bad", Warning: "warning", Info: "good" } as const;
  const formatBlock = ({ type, severity, message, next, details }: (typeof problems)[number]): string[] => [
    `  ${formatStyled(screen, { text: severity, mood: moods[severity] })} ${escapeControlCharacters(type)}`,
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
  const roots = known.filter(({ status }) => status?.dependencyPlan?.members.some((member) => member.extension === name));
  const partOf = roots.map(({ metadata }) => `Dependency plan: part of that of ClusterExtension ${metadata.name}`);
  const count = countPlanProgress(extension, known);
  if (!count) return partOf.map(escapeControlCharacters);
  const head = "Dependency plan:";
  if (typeof others === "string") return [head, `  ${escapeControlCharacters(others)}`];
  const failure = formatPlanFailure(extension);
  const lines = [
    ...(failure === undefined ? [] : [failure]),
    ...listPlanProgress(extension, known).map(
      (member) => `wave ${member.wave}: ${member.bundle.name} (ClusterExtension ${member.extension}): ${formatMemberState(member)}`,
    ),
  ];
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

/** Returns the type of another condition with the same reason: Ready repeats the reason of the unmet condition. */
function findSameReason({ status }: ClusterExtension, { type, reason }: Condition): string | undefined {
  return status?.conditions?.find((other) => other.type !== type && other.reason === reason)?.type;
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
export async function describeExtension(terminal: Terminal, name: string, options: ReleaseOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const now = Date.now();
    const [account, objects, releases, events, catalogs, others] = await Promise.all([
      readAccountState(client, extension),
      readInventoryHealth(client, extension, now),
      orError(readReleaseRows(client, extension, options.systemNamespace)),
      orError(readEvents(client, extension.metadata).then((found) => found.events)),
      orError(failingCatalogs(client, extension)),
      orError(listClusterExtensions(client)),
    ]);
    terminal.out(describeText(terminal, { extension, account, objects, others, releases, events, catalogs }, now));
  });
}

async function readAccountState(client: Pick<Client, "get">, extension: ClusterExtension): Promise<ExtensionDescription["account"]> {
  const { metadata } = extension;
  const account = { apiVersion: "v1", kind: "ServiceAccount", namespace: getNamespace(extension), name: getAccountName(extension) };
  try {
    const found = await client.get(account, { metadataOnly: true });
    if (!found) return "missing";
    return found.metadata.labels?.[LABEL_CREATED_FOR] === metadata.name ? "made" : "there";
  } catch (err) {
    return { unknown: getErrorMessage(err) };
  }
}

/** Returns the selected catalogs that are not served as specified, by name. */
async function failingCatalogs(client: Pick<Client, "list">, { spec }: ClusterExtension): Promise<ClusterCatalog[]> {
  const source = spec.source.catalog;
  if (!source) return [];
  const { items } = await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG });
  const selection = selectClusterCatalogs({ list: () => items }, source);
  const selected = selection.kind === "catalogs" ? selection.catalogs : [];
  return selected.filter((catalog) => catalog.spec.availabilityMode !== "Unavailable" && !isServed(catalog));
}

/** Returns the result, or the error as text, so that a missing permission hides only one part. */
async function orError<T>(found: Promise<T>): Promise<T | string> {
  try {
    return await found;
  } catch (err) {
    return getErrorMessage(err);
  }
}
