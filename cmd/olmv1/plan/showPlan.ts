import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../../pkg/kube/tokens.ts";
import { CertificateProviders } from "../../../pkg/operatorcontroller/certificates/providerChoice.ts";
import type { WebhookCertProvider } from "../../../pkg/operatorcontroller/certificates/providerNames.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import type { ReleaseOptions } from "../cli/clusterOptions.ts";
import { EXIT } from "../cli/exitCodes.ts";
import { printLeftOutCatalogs } from "../cli/leftOutCatalogs.ts";
import { type Output, print } from "../cli/output.ts";
import type { ProxyOptions } from "../cli/proxyOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { type BundleReader, withReader } from "../rbac/bundleReader.ts";
import { catalogsGiven, catalogsOfCluster } from "./catalogs.ts";
import { readExtensionFile, wantedExtension } from "./extensionFile.ts";
import { makePlan } from "./makePlan.ts";
import { planText } from "./planText.ts";
import { proxySettingsOf, readClusterProxy } from "./proxyOptions.ts";

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
  const wanted = await wantedExtension(client, given);
  const { extension } = wanted;
  if (sources && extension.spec.source.catalog) delete extension.spec.source.catalog.selector; // it is about ClusterCatalogs
  const catalogs = sources ? catalogsGiven(sources) : await catalogsOfCluster(client, signal);
  const scoped = isServiceAccount ? await asServiceAccount(extension, client) : client;
  const log = createLogger({ component: "olmv1", level: "error", destination: process.stderr });
  const providers = new CertificateProviders(client, options.webhookCertProvider);
  const clusterProxy = await readClusterProxy(client, proxySettings);
  const asked = { wanted, catalogs, client, scoped, isServiceAccount, reader, systemNamespace, log, signal };
  const plan = await makePlan({ ...asked, providers, clusterProxy });
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
