import { type Command, Option } from "commander";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/errors/goQuote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../../pkg/kube/tokens.ts";
import {
  CertificateProviders,
  WEBHOOK_CERT_PROVIDERS,
  type WebhookCertProvider,
} from "../../../pkg/operatorcontroller/certificates/providerChoice.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import { addReleaseOptions, type ReleaseOptions, withCluster } from "../cluster.ts";
import { catalogsGiven, catalogsOfCluster } from "../plan/catalogs.ts";
import { readExtensionFile, wantedExtension } from "../plan/extensionFile.ts";
import { makePlan } from "../plan/makePlan.ts";
import { planText } from "../plan/planText.ts";
import { addProxyOptions, type ProxyOptions, proxySettingsOf, readClusterProxy } from "../plan/proxyOptions.ts";
import { BundleReader } from "../rbac/bundleReader.ts";

interface PlanOptions extends ReleaseOptions, ProxyOptions {
  filename: string;
  catalog?: string[];
  asServiceAccount?: boolean;
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
  webhookCertProvider: WebhookCertProvider;
  output: "text" | "json";
}

/** What the command exits with where the plan would be refused; an error has the same. */
const REFUSED = 1;
/** All of it: pulling the catalogs and the bundle, and asking the API server. */
const TIMEOUT_MS = 15 * 60_000;

const AFTER_HELP = `
Nothing is written: objects are read and applied as server-side dry runs, as yourself or, with --as-service-account, as the extension's
ServiceAccount, whose rights are looked at then as well. Without --catalog the images of the cluster's ClusterCatalogs are pulled.

Rights that it takes: to apply the ClusterExtension, get and list the Secrets of the system namespace, list ClusterExtensions and
ClusterCatalogs, get Proxy "cluster" of an OpenShift cluster, and get and patch the objects of the bundle; with --as-service-account, instead of the last, create on
serviceaccounts/token.

Exit codes: 0 the plan was made and nothing stands against it, whether there are changes or not; 1 there are findings for which
operator-controller would refuse it, or no plan could be made.
`;

/** Adds `olmv1 plan`: what applying a ClusterExtension would do. */
export function addPlan(program: Command): void {
  const command = program
    .command("plan")
    .description("show what applying a ClusterExtension would do to the cluster, before it is applied")
    .requiredOption("-f, --filename <path>", "file with the ClusterExtension, new or changed; - for standard input")
    .option(
      "--catalog <sources...>",
      "folders, files or images of file-based catalogs, of equal priority; default: the ClusterCatalogs that its selector selects",
    )
    .option("--as-service-account", "read and try the objects as spec.serviceAccount instead of as yourself");
  addProxyOptions(addReleaseOptions(command))
    .option("--registries-conf <path>", "a registries.conf for images")
    .option("--signature-policy <path>", "a policy.json about whose images are taken; default: the system's")
    .option("--auth-file <path>", "a docker config file with registry credentials")
    .addOption(
      new Option("--webhook-cert-provider <name>", "the same flag of operator-controller").choices(WEBHOOK_CERT_PROVIDERS).default("auto"),
    )
    .addOption(new Option("--output <format>", "how to print the plan").choices(["text", "json"]).default("text"))
    .addHelpText("after", AFTER_HELP)
    .action(async (options: PlanOptions) => {
      const given = await readExtensionFile(options.filename);
      const reader = new BundleReader(options);
      try {
        await withCluster(options, (client) => run(given, options, client, reader));
      } finally {
        await reader.close();
      }
    });
}

async function run(given: ClusterExtension, options: PlanOptions, client: Client, reader: BundleReader): Promise<void> {
  const { catalog: sources, systemNamespace, asServiceAccount: isServiceAccount = false } = options;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const proxySettings = proxySettingsOf(options);
  const wanted = await wantedExtension(client, given);
  const { extension } = wanted;
  if (sources && extension.spec.source.catalog) delete extension.spec.source.catalog.selector; // it is about ClusterCatalogs
  const catalogs = sources ? catalogsGiven(sources) : await catalogsOfCluster(client, signal);
  const scoped = isServiceAccount ? await serviceAccountOf(extension, client) : client;
  const log = createLogger({ component: "olmv1", level: "error", destination: process.stderr });
  const providers = new CertificateProviders(client, options.webhookCertProvider);
  const clusterProxy = await readClusterProxy(client, proxySettings);
  const asked = { wanted, catalogs, client, scoped, isServiceAccount, reader, systemNamespace, log, signal };
  const plan = await makePlan({ ...asked, providers, clusterProxy });
  process.stdout.write(options.output === "json" ? `${JSON.stringify(plan, null, 2)}\n` : planText(plan));
  if (plan.findings.length > 0) process.exitCode = REFUSED;
}

/** @throws Error that says whose token could not be had. */
async function serviceAccountOf({ spec }: ClusterExtension, client: Client): Promise<Client> {
  const name = spec.serviceAccount?.name;
  if (!name) throw new Error("--as-service-account: spec.serviceAccount.name is empty");
  const source = new ServiceAccountTokens(client).tokenFor(spec.namespace, name);
  try {
    await source();
  } catch (err) {
    throw wrapError(`--as-service-account: create a token of ServiceAccount ${goQuote(`${spec.namespace}/${name}`)}: `, err);
  }
  return client.withToken(source);
}
