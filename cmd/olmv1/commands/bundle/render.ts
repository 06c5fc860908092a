import { type Command, Option } from "commander";
import { WEBHOOK_CERT_PROVIDERS } from "../../../../pkg/operatorcontroller/certificates/providerNames.ts";
import type { RenderOptions } from "../../bundle/render.ts";
import { addProxyOptions } from "../../cli/proxyOptions.ts";
import { several } from "../../cli/several.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { BUNDLE_SOURCE } from "./source.ts";

const AFTER_HELP = `
The objects are those that operator-controller applies, in its order, without its labels and owner references. Secrets with certificates of
provider self-signed are not among them, since operator-controller issues these on the cluster. What --values-from reads is shown in the objects that hold it, and
in no message.

Examples:
  olmv1 bundle render ./bundle --namespace operators
  olmv1 bundle render quay.io/example/operator-bundle:v1.2.0 --config values.yaml -o json
  olmv1 bundle render ./bundle --values-from configmap.yaml --values-from production.yaml=secret.yaml
`;

/** Adds `olmv1 bundle render`. */
export function addRender(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("render")
    .description("print the objects that a bundle is installed as")
    .argument("<bundle>", BUNDLE_SOURCE)
    .option("--namespace <name>", "spec.namespace of the ClusterExtension; default: what the bundle suggests, else its package")
    .option("--config <file>", "file with spec.config.inline of the ClusterExtension, YAML or JSON; - is standard input")
    .option(
      "--values-from <[key=]file>",
      "file with ConfigMaps and Secrets, each a source of spec.config.valuesFrom, and the key in them (default: values.yaml); --config is over them; repeatable",
      several,
      [],
    )
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
    .addHelpText("after", AFTER_HELP)
    .action(async (source: string, options: RenderOptions) => {
      const { render } = await import("../../bundle/render.ts");
      await render(terminal, source, options);
    });
}
