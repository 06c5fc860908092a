import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_APPROVE } from "../../../pkg/api/constants.ts";
import type { WebhookCertProvider } from "../../../pkg/api/flagValues.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { formatSupport } from "../../../pkg/fbc/versionSupport.ts";
import { buildUpgradedExtension, type UpgradeChange } from "../../../pkg/installer/extensionSpec.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { rulesFromDetails } from "../../../pkg/operatorcontroller/permissions/permissions.ts";
import type {
  InstallPlan,
  InstallPlanDependencies,
  InstallPlanMember,
  InstallPlanObject,
  PlanFinding,
} from "../../../pkg/operatorcontroller/plan/installPlan.ts";
import { createInstallerClient, isPlanAccepted, type PlanView, readExtensionPlan, toPlanData } from "../../../pkg/preview/extensionPlan.ts";
import { isMinorField } from "../../../pkg/preview/minorFields.ts";
import type { PlannedAction } from "../../../pkg/release/changePlan.ts";
import type { FieldChange } from "../../../pkg/release/diff.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import type { Mood, Styled } from "../../../pkg/rollout/mood.ts";
import { type BundleReader, withReader } from "../../../pkg/sources/bundleReader.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import { escapeControlCharacters, escapeLines } from "../../../pkg/text/escape.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import { EXIT } from "../cli/errors.ts";
import { readExtensionFile } from "../cli/inputFiles.ts";
import type { ProxyOptions, ReleaseOptions } from "../cli/options.ts";
import { type Output, print, printLeftOutCatalogs } from "../cli/output.ts";
import { parseProxySettings } from "../cli/proxySettings.ts";
import { formatStyled } from "../cli/table.ts";
import { type ColorMode, hasColourIn, type Terminal } from "../cli/terminal.ts";
import { formatGrants } from "./grantedPermissions.ts";
import { formatPreview } from "./permissionsText.ts";

const MARKS: Readonly<Record<PlannedAction, { mark: string; mood?: Mood }>> = {
  Create: { mark: "+", mood: "good" },
  Update: { mark: "~", mood: "warning" },
  Delete: { mark: "-", mood: "bad" },
  Unchanged: { mark: " " },
};
const NOTHING = "(none)";

/** Options for printing a plan. */
export interface PlanScreen extends Pick<Terminal, "width" | "colour"> {
  /** Also prints changed labels and annotations that do not affect the operator. */
  readonly all?: boolean;
}

/**
 * Formats a plan: the bundle and why it is selected, the changed objects and fields, the changed permissions, the findings, and the command that
 * approves the plan.
 */
export function formatPlan(plan: PlanView, screen: PlanScreen = { width: Number.POSITIVE_INFINITY, colour: false }): string {
  const changing = plan.objects.filter(({ action }) => action !== "Unchanged");
  const lacking = plan.findings.filter(({ permissions }) => permissions !== undefined);
  const parts: (string | PlanLine)[][] = [
    head(plan),
    plan.dependencies ? dependencyLines(plan, plan.dependencies) : [],
    [countsLine(plan), ...changing.flatMap((object) => objectLines(object, screen.all ?? false))],
    plan.permissions === undefined ? [] : previewLines(plan.permissions, plan.extension, screen),
    ...lacking.map((finding) => permissionLines(finding, screen)),
    listTexts(
      "Errors; the controller would reject this plan:",
      // Omits denied reads, because the missing permissions already list them.
      plan.findings
        .filter(({ permissions, kind }) => permissions === undefined && (lacking.length === 0 || screen.all || kind !== "read"))
        .map(({ text }) => text),
    ),
    listTexts(
      "Warnings from the API server:",
      plan.warnings.map(({ text, objects }) => `${objects.map(escapeLines).join(", ")}: ${text}`),
    ),
    listTexts("Notes:", plan.notes),
    approvalLines(plan),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.flatMap((line) => formatLine(line, screen)).join("\n")}\n`)
    .join("\n");
}

/** Text of a plan. */
interface PlanLine extends Styled {
  /** A command. Not wrapped, so that users can copy it. */
  readonly isCommand?: boolean;
}

function formatLine(line: string | PlanLine, screen: PlanScreen): string[] {
  const { text, mood, isCommand = false }: PlanLine = typeof line === "string" ? { text: line } : line;
  const escaped = escapeControlCharacters(text);
  const lines = isCommand ? [escaped] : fitLines(escaped, screen.width);
  return lines.map((one) => formatStyled(screen, { text: one, mood }));
}

/** Wraps the lines of a text, with a hanging indent. */
function fitLines(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => {
    const indent = /^ */.exec(line)?.[0] ?? "";
    const [first = "", ...more] = wrapText(line.slice(indent.length), width, `${indent}    `);
    return [indent + first.trimStart(), ...more].map((one) => one.trimEnd());
  });
}

function head({ extension, exists, installed, bundle, explanation }: InstallPlan): string[] {
  const now = installed
    ? `${installed.bundle} (version ${installed.version}, revision ${installed.revision}) is installed`
    : exists
      ? "no bundle is installed"
      : "does not exist yet";
  const from = bundle.catalog === null ? "" : `, from catalog ${bundle.catalog}`;
  return [
    `ClusterExtension ${extension}${exists || installed ? ":" : ""} ${now}`,
    `Plan: ${bundle.name} (version ${bundle.version}${from})`,
    `Why: ${explanation}`,
    ...(bundle.support ? [`Support: ${formatSupport(bundle.support)}`] : []),
  ];
}

/** Formats a plan with dependencies: the waves, the bundles of each with their ClusterExtensions and reasons, and what is not tried yet. */
function dependencyLines(
  { extension }: InstallPlan,
  { root, members, failure, awaitedKinds }: InstallPlanDependencies,
): (string | Styled)[] {
  const waves = [...Map.groupBy(members, ({ wave }) => wave)];
  const owner = root === extension ? "" : ` of ClusterExtension ${root}`;
  return [
    `Dependencies: the plan${owner} installs ${formatCount(members.length, "bundle")} in ${formatCount(waves.length, "wave")}`,
    ...waves.flatMap(([wave, own]) => [
      `  wave ${wave}${own.length > 1 ? ", installed together" : ""}:`,
      ...own.flatMap((member) => memberLines(member, extension)),
    ]),
    ...awaitedKinds.map(
      ({ apiVersion, kind, bundle }) => `  ${kind} (${apiVersion}) comes with bundle ${bundle}; objects of this kind were not tried`,
    ),
    ...(failure
      ? [
          {
            text: `  rolled back (${formatCount(failure.attempts, "attempt")}): ${failure.message}; the controller retries after ${failure.retryAt}, or as soon as the spec or a bundle changes`,
            mood: "bad" as const,
          },
        ]
      : []),
  ];
}

function memberLines({ bundle, catalog, extension, created, reason, installed }: InstallPlanMember, own: string): (string | Styled)[] {
  const by =
    extension === own
      ? "this ClusterExtension"
      : created && !installed
        ? `new ClusterExtension ${extension}`
        : `ClusterExtension ${extension}`;
  const { mark, mood } = MARKS[installed ? "Unchanged" : "Create"];
  return [
    {
      text: `    ${mark} ${bundle.name} (version ${bundle.version}, from catalog ${catalog}): ${by}${installed ? ", installed" : ""}`,
      mood,
    },
    ...(reason === null ? [] : [`        ${reason}`]),
  ];
}

function countsLine({ counts, dependencies, bundle }: InstallPlan): string {
  return `${dependencies ? `Objects of ${bundle.name}: ` : ""}${counts.create} to create, ${counts.update} to change, ${counts.delete} to delete, ${counts.unchanged} unchanged`;
}

function objectLines(object: InstallPlanObject, all: boolean): (string | Styled)[] {
  const { action, widens, refused, changes, more } = object;
  const { mark, mood } = MARKS[action];
  const marks = `${widens ? "  (more permissions)" : ""}${refused ? "  (rejected, see errors)" : ""}`;
  const shown = all ? changes : changes.filter(({ path }) => !isMinorField(path));
  const minor = changes.length - shown.length;
  return [
    { text: `  ${mark} ${escapeLines(describeObject(object))}${marks}`, mood },
    ...shown.map(changeLine),
    ...(minor > 0 ? [`      ${minor} ${minor === 1 ? "label or annotation" : "labels or annotations"} (shown with --all)`] : []),
    ...(more > 0 ? [`      ... and ${formatCount(more, "more field")}`] : []),
  ];
}

function changeLine({ path, before = NOTHING, after = NOTHING }: FieldChange): string {
  return `      ${escapeLines(`${path}: ${before} → ${after}`)}`;
}

/** Formats missing permissions like `olmv1 install`, with the command that grants them. */
function permissionLines({ permissions = [], grant }: PlanFinding, screen: PlanScreen): (string | PlanLine)[] {
  const more = grant ?? "";
  return [
    "Missing permissions; the controller would change nothing until they are granted:",
    ...formatGrants(screen, rulesFromDetails(permissions), more).trimEnd().split("\n"),
    ...(grant === undefined ? [] : [{ text: `  grant them: ${grant}`, isCommand: true }]),
  ];
}

function previewLines(permissions: NonNullable<PlanView["permissions"]>, extension: string, screen: PlanScreen): (string | PlanLine)[] {
  if ("unknown" in permissions) return [`Permissions are unknown: ${permissions.unknown}`];
  return formatPreview(screen, permissions, extension).map((text) => ({ text, isCommand: true })); // already wrapped
}

function listTexts(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [title, ...texts.map((text) => `  ${text.trimEnd().replaceAll("\n", "\n    ")}`)];
}

function approvalLines({ extension, digest, approval, dependencies }: InstallPlan): (string | PlanLine)[] {
  const known = digest === null ? [] : [`digest: ${digest}`];
  if (!approval.needed) return known;
  if (approval.given) return [...known, "this plan is approved"];
  if (digest === null)
    return ["spec.approval is Manual: after you apply the ClusterExtension, status.plan contains the digest for approving this plan"];
  const command = `kubectl annotate clusterextension ${extension} --overwrite ${ANNOTATION_APPROVE}=${digest}`;
  const covers = dependencies?.root === extension ? ["one approval covers all bundles of the plan"] : [];
  return [...known, ...covers, { text: `approve: ${command}`, isCommand: true }];
}

/** Options of `olmv1 plan`. */
export interface PlanOptions extends ReleaseOptions, ProxyOptions, UpgradeChange {
  filename?: string;
  all?: boolean;
  color: ColorMode;
  catalog?: string[];
  asServiceAccount?: boolean;
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
  webhookCertProvider: WebhookCertProvider;
  output: Output;
}

/** Maximum time for all pulls, reads and dry runs together, in milliseconds. */
const TIMEOUT_MS = 15 * 60_000;

/** Runs `olmv1 plan`, for a file or for an extension of the cluster. */
export async function showPlan(terminal: Terminal, name: string | undefined, options: PlanOptions): Promise<void> {
  if ((name === undefined) === (options.filename === undefined))
    throw new Error("specify the name of a ClusterExtension on the cluster, or a file with --filename");
  const isChanged = options.version !== undefined || options.anyVersion === true || options.channel.length > 0;
  if (isChanged && name === undefined) throw new Error("--version, --any-version and --channel require the name of a ClusterExtension");
  const given = options.filename === undefined ? undefined : await readExtensionFile(options.filename, terminal);
  await withReader(
    options,
    (reader) =>
      withCluster(options, async (client) => {
        const extension = given ?? (await readExtension(client, name ?? ""));
        return run(terminal, isChanged ? buildUpgradedExtension(extension, options) : extension, options, client, reader);
      }),
    terminal.signal,
  );
}

async function run(terminal: Terminal, given: ClusterExtension, options: PlanOptions, client: Client, reader: BundleReader): Promise<void> {
  const { catalog: sources, systemNamespace, webhookCertProvider } = options;
  const plan = await readExtensionPlan({
    client,
    given,
    reader,
    sources,
    systemNamespace,
    webhookCertProvider,
    proxySettings: parseProxySettings(options),
    asServiceAccount: options.asServiceAccount ? (extension) => asServiceAccount(extension, client) : undefined,
    log: createLogger({ component: "olmv1", level: "error", destination: process.stderr }),
    signal: AbortSignal.any([terminal.signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  printLeftOutCatalogs(terminal, plan.unavailableCatalogs);
  await print(terminal, options.output, {
    data: toPlanData(plan),
    text: () => formatPlan(plan, { width: terminal.width, colour: hasColourIn(terminal, options.color), all: options.all ?? false }),
  });
  if (!isPlanAccepted(plan)) terminal.exit(EXIT.no);
}

async function asServiceAccount(extension: ClusterExtension, client: Client): Promise<Client> {
  try {
    return await createInstallerClient(extension, client);
  } catch (err) {
    throw wrapError("--as-service-account: ", err);
  }
}
