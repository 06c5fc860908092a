import { type Command, Option } from "commander";
import { SEVERITIES, type Severity } from "../../../pkg/bundlecheck/rule.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { printable } from "../../../pkg/errors/printable.ts";
import { WEBHOOK_CERT_PROVIDERS, type WebhookCertProvider } from "../../../pkg/operatorcontroller/certificates/providerChoice.ts";
import { proxyFrom } from "../../../pkg/render/proxy.ts";
import { checkSources } from "../bundle/checkSources.ts";
import { configFile } from "../bundle/configFile.ts";
import { printedObjects, renderedBundle } from "../bundle/renderedBundle.ts";
import { fails, validationReport } from "../bundle/validationReport.ts";
import { addProxyOptions, type ProxyOptions, proxySettingsOf } from "../plan/proxyOptions.ts";
import { BundleReader, type ReaderOptions } from "../rbac/bundleReader.ts";
import { addRegistryOptions } from "../registryOptions.ts";
import { VALIDATION_FORMATS, type ValidationFormat } from "../validationFormat.ts";
import { addConfigSchema } from "./configSchema.ts";
import { addRbac } from "./rbac.ts";

interface ValidateOptions extends ReaderOptions {
  output: ValidationFormat;
  failOn: Severity;
  severity: Severity;
  ignore: string[];
}

interface RenderOptions extends ReaderOptions, ProxyOptions {
  namespace?: string;
  config?: string;
  certProvider: WebhookCertProvider;
  aggregateUserRoles?: boolean;
  output: "yaml" | "json";
}

const SOURCE = "bundle folder (manifests/ and metadata/) or bundle image";

const AFTER_VALIDATE = `
Errors are what operator-controller or the API server refuses, warnings what is most likely a mistake, remarks what may be meant so. Every rule
with its code: docs/reference/bundle-rules.md.

Exit codes: 0 nothing was found that --fail-on names; 1 something was, or a bundle cannot be read.
`;

const AFTER_RENDER = `
The objects are those that operator-controller applies, in its order, without its labels and owner references. Secrets with certificates of
provider self-signed are not among them, since operator-controller issues these on the cluster.
`;

/** Adds `olmv1 bundle`: tools for the authors of bundles and those who install them. */
export function addBundle(program: Command): void {
  const bundle = program.command("bundle").description("work with registry+v1 bundles");
  addValidate(bundle);
  addRender(bundle);
  addConfigSchema(bundle);
  addRbac(bundle);
}

function addValidate(bundle: Command): void {
  const command = bundle
    .command("validate")
    .description("check bundles")
    .argument("<bundles...>", `each a ${SOURCE}`)
    .addOption(new Option("-o, --output <format>", "how to print what was found").choices(VALIDATION_FORMATS).default("text"))
    .addOption(new Option("--fail-on <severity>", "the least severity that makes it exit with 1").choices(SEVERITIES).default("error"))
    .addOption(new Option("--severity <severity>", "the least severity that is printed").choices(SEVERITIES).default("info"))
    .option("--ignore <rules>", "codes of rules that are not looked at, with commas between; not of errors", codes, []);
  addRegistryOptions(command)
    .addHelpText("after", AFTER_VALIDATE)
    .action((sources: string[], options: ValidateOptions) =>
      withReader(options, async (reader) => {
        const { output, failOn, severity, ignore } = options;
        const checked = await checkSources(sources, { severity, ignore }, reader);
        process.stdout.write(validationReport(checked, output));
        if (fails(checked, failOn)) process.exitCode = 1;
      }),
    );
}

function addRender(bundle: Command): void {
  const command = bundle
    .command("render")
    .description("print the objects that a bundle is installed as")
    .argument("<bundle>", SOURCE)
    .option("--namespace <name>", "spec.namespace of the ClusterExtension; default: what the bundle suggests, else its package")
    .option("--config <file>", "file with spec.config.inline of the ClusterExtension, YAML or JSON; - is standard input")
    .addOption(
      new Option(
        "--cert-provider <name>",
        "who provides the certificates of webhooks; auto: operator-controller itself, as on a plain cluster",
      )
        .choices(WEBHOOK_CERT_PROVIDERS)
        .default("auto"),
    )
    .addOption(
      new Option("-o, --output <format>", "YAML documents, or one JSON object of kind List").choices(["yaml", "json"]).default("yaml"),
    );
  addRegistryOptions(addProxyOptions(command))
    .addHelpText("after", AFTER_RENDER)
    .action((source: string, options: RenderOptions) => withReader(options, (reader) => render(source, options, reader)));
}

async function render(source: string, options: RenderOptions, reader: BundleReader): Promise<void> {
  const { namespace, certProvider, aggregateUserRoles = false, output } = options;
  const proxy = proxyFrom(proxySettingsOf(options).given);
  const config = options.config === undefined ? undefined : await configFile(options.config);
  const bundle = await reader.bundle(source).catch((err: unknown) => {
    throw wrapError(`${source}: `, err);
  });
  const { objects, notes } = renderedBundle(bundle, { namespace, config, certProvider, proxy, aggregateUserRoles });
  for (const note of notes) process.stderr.write(`olmv1: ${printable(note)}\n`);
  process.stdout.write(printedObjects(objects, output));
}

/** May be given more than once. */
function codes(text: string, before: readonly string[]): string[] {
  return [...before, ...text.split(",").filter((code) => code !== "")];
}

async function withReader(options: ReaderOptions, work: (reader: BundleReader) => Promise<void>): Promise<void> {
  const reader = new BundleReader(options);
  try {
    await work(reader);
  } finally {
    await reader.close();
  }
}
