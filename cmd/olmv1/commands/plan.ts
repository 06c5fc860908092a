import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_APPROVE } from "../../../pkg/api/constants.ts";
import type { WebhookCertProvider } from "../../../pkg/api/flagValues.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../../pkg/kube/tokens.ts";
import { CertificateProviders } from "../../../pkg/operatorcontroller/apply/certificateProviders.ts";
import { readClusterProxy } from "../../../pkg/operatorcontroller/openshift/clusterProxy.ts";
import { createPlan } from "../../../pkg/operatorcontroller/plan/createPlan.ts";
import type { InstallPlan, InstallPlanObject } from "../../../pkg/operatorcontroller/plan/installPlan.ts";
import { previewExtension } from "../../../pkg/operatorcontroller/plan/previewExtension.ts";
import type { PlannedAction } from "../../../pkg/release/changePlan.ts";
import type { FieldChange } from "../../../pkg/release/diff.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { type BundleReader, withReader } from "../../../pkg/sources/bundleReader.ts";
import { catalogsOfCluster, contentsFrom, createClusterCatalogs } from "../../../pkg/sources/clusterCatalogs.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import { escapeControlCharacters, escapeLines } from "../../../pkg/text/escape.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import { EXIT } from "../cli/errors.ts";
import { readExtensionFile } from "../cli/inputFiles.ts";
import type { ProxyOptions, ReleaseOptions } from "../cli/options.ts";
import { type Output, print, printLeftOutCatalogs } from "../cli/output.ts";
import { proxySettingsOf } from "../cli/proxySettings.ts";
import type { Terminal } from "../cli/terminal.ts";

const MARKS: Readonly<Record<PlannedAction, string>> = { Create: "+", Update: "~", Delete: "-", Unchanged: " " };
const NOTHING = "(none)";

/** A plan for people: the bundle and why it, the objects that would change with their fields, what stands against it, and how to approve it. */
export function planText(plan: InstallPlan, width = Number.POSITIVE_INFINITY): string {
  const changing = plan.objects.filter(({ action }) => action !== "Unchanged");
  const parts = [
    head(plan),
    [countsLine(plan), ...changing.flatMap(objectLines)],
    listed(
      "Findings, for which it would be refused:",
      plan.findings.map(({ text }) => text),
    ),
    listed(
      "Warnings of the API server, for which nothing is refused:",
      plan.warnings.map(({ text, objects }) => `${objects.map(escapeLines).join(", ")}: ${text}`),
    ),
    listed("Notes:", plan.notes),
    approvalLines(plan),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.flatMap((line) => fitted(escapeControlCharacters(line), width)).join("\n")}\n`)
    .join("\n");
}

const COMMAND = /^approve: /;

/** A text of which each line goes on, where it does not fit, a little further in; commands stay whole, to be copied. */
function fitted(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => {
    if (COMMAND.test(line)) return [line];
    const indent = /^ */.exec(line)?.[0] ?? "";
    const [first = "", ...more] = wrapText(line.slice(indent.length), width, `${indent}    `);
    return [indent + first.trimStart(), ...more].map((one) => one.trimEnd());
  });
}

function head({ extension, exists, installed, bundle, explanation }: InstallPlan): string[] {
  const now = installed
    ? `installed: ${installed.bundle} (version ${installed.version}, revision ${installed.revision})`
    : exists
      ? "nothing is installed"
      : "it does not exist yet";
  const from = bundle.catalog === null ? "" : `, from catalog ${bundle.catalog}`;
  return [`ClusterExtension ${extension}: ${now}`, `bundle: ${bundle.name} (version ${bundle.version}${from})`, `why: ${explanation}`];
}

function countsLine({ counts }: InstallPlan): string {
  return `${counts.create} to create, ${counts.update} to update, ${counts.delete} to delete, ${counts.unchanged} unchanged`;
}

function objectLines(object: InstallPlanObject): string[] {
  const { action, widens, refused, changes, more } = object;
  const marks = `${widens ? "  (widens rights)" : ""}${refused ? "  (refused, see findings)" : ""}`;
  return [
    `  ${MARKS[action]} ${escapeLines(describeObject(object))}${marks}`,
    ...changes.map(changeLine),
    ...(more > 0 ? [`      ... and ${more} more fields`] : []),
  ];
}

function changeLine({ path, before = NOTHING, after = NOTHING }: FieldChange): string {
  return `      ${escapeLines(`${path}: ${before} → ${after}`)}`;
}

function listed(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [title, ...texts.map((text) => `  ${text.trimEnd().replaceAll("\n", "\n    ")}`)];
}

function approvalLines({ extension, digest, approval }: InstallPlan): string[] {
  const told = digest === null ? [] : [`digest: ${digest}`];
  if (!approval.needed) return told;
  if (approval.given) return [...told, "this plan is approved"];
  if (digest === null)
    return ["spec.approval is Manual: once the ClusterExtension is applied, its status.plan has the digest that approves this"];
  return [...told, `approve: kubectl annotate clusterextension ${extension} --overwrite ${ANNOTATION_APPROVE}=${digest}`];
}

/** How `olmv1 plan` can be asked. */
export interface PlanOptions extends ReleaseOptions, ProxyOptions {
  filename: string;
  catalog?: string[];
  asServiceAccount?: boolean;
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
  webhookCertProvider: WebhookCertProvider;
  output: Output;
}

/** All of it: pulling the catalogs and the bundle, and asking the API server. */
const TIMEOUT_MS = 15 * 60_000;

/** `olmv1 plan`. */
export async function showPlan(terminal: Terminal, options: PlanOptions): Promise<void> {
  const given = await readExtensionFile(options.filename, terminal);
  await withReader(options, (reader) => withCluster(options, (client) => run(terminal, given, options, client, reader)));
}

async function run(terminal: Terminal, given: ClusterExtension, options: PlanOptions, client: Client, reader: BundleReader): Promise<void> {
  const { catalog: sources, systemNamespace, asServiceAccount: isServiceAccount = false } = options;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const proxySettings = proxySettingsOf(options);
  const wanted = await previewExtension(client, given);
  const { extension } = wanted;
  if (sources && extension.spec.source.catalog) delete extension.spec.source.catalog.selector; // it is about ClusterCatalogs
  const catalogs = sources ? createClusterCatalogs(sources) : await catalogsOfCluster(client, signal);
  const scoped = isServiceAccount ? await asServiceAccount(extension, client) : client;
  const log = createLogger({ component: "olmv1", level: "error", destination: process.stderr });
  const providers = new CertificateProviders(client, options.webhookCertProvider);
  const clusterProxy = await readClusterProxy(client, proxySettings);
  const asked = {
    wanted,
    catalogs,
    client,
    scoped,
    isServiceAccount,
    reader,
    contents: contentsFrom(reader),
    systemNamespace,
    log,
    signal,
  };
  const plan = await createPlan({ ...asked, providers, clusterProxy });
  printLeftOutCatalogs(terminal, plan.unavailableCatalogs);
  await print(terminal, options.output, { data: plan, text: () => planText(plan, terminal.width) });
  if (plan.findings.length > 0) terminal.exit(EXIT.no);
}

async function asServiceAccount(extension: ClusterExtension, client: Client): Promise<Client> {
  try {
    return await serviceAccountOf(extension, client);
  } catch (err) {
    throw wrapError("--as-service-account: ", err);
  }
}

/** Returns a client with the identity of the extension's ServiceAccount. @throws Error that says whose token could not be had. */
export async function serviceAccountOf({ spec }: ClusterExtension, client: Client): Promise<Client> {
  const name = spec.serviceAccount?.name;
  if (!name) throw new Error("spec.serviceAccount.name is empty");
  const source = new ServiceAccountTokens(client).tokenFor(spec.namespace, name);
  try {
    await source();
  } catch (err) {
    throw wrapError(`create a token of ServiceAccount ${goQuote(`${spec.namespace}/${name}`)}: `, err);
  }
  return client.withToken(source);
}
