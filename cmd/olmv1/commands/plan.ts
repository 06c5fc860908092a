import { type Command, Option } from "commander";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/operatorcontroller/certificates/providerNames.ts";
import { addReleaseOptions } from "../cli/clusterOptions.ts";
import { outputOption } from "../cli/output.ts";
import { addProxyOptions } from "../cli/proxyOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { PlanOptions } from "../plan/showPlan.ts";
import { addRegistryOptions } from "../registryOptions.ts";

const AFTER_HELP = `
Nothing is written: objects are read and applied as server-side dry runs, as yourself or, with --as-service-account, as the extension's
ServiceAccount, whose rights are looked at then as well. Without --catalog the images of the cluster's ClusterCatalogs are pulled.

Rights that it takes: to apply the ClusterExtension, get and list the Secrets of the system namespace, list ClusterExtensions and
ClusterCatalogs, get Proxy "cluster" of an OpenShift cluster, and get and patch the objects of the bundle; with --as-service-account, instead of the last, create on
serviceaccounts/token.

Examples:
  olmv1 plan -f extension.yaml
  olmv1 plan -f extension.yaml --catalog ./catalog --as-service-account
  kubectl get clusterextension argocd -o yaml | olmv1 plan -f -

Exit codes: 0 the plan was made and nothing stands against it, whether there are changes or not; 1 there are findings for which
operator-controller would refuse it; 2 no plan could be made.
`;

/** Adds `olmv1 plan`: what applying a ClusterExtension would do. */
export function addPlan(program: Command, terminal: Terminal): void {
  const command = program
    .command("plan")
    .description("show what applying a ClusterExtension would do to the cluster, before it is applied")
    .requiredOption("-f, --filename <path>", "file with the ClusterExtension, new or changed; - for standard input")
    .option(
      "--catalog <sources...>",
      "folders, files or images (also oci:FOLDER[:TAG] and oci-archive:FILE[:TAG]) of file-based catalogs, of equal priority; default: the ClusterCatalogs that its selector selects",
    )
    .option("--as-service-account", "read and try the objects as spec.serviceAccount instead of as yourself");
  addRegistryOptions(addProxyOptions(addReleaseOptions(command))).addOption(
    new Option("--webhook-cert-provider <name>", "the same flag of operator-controller").choices(WEBHOOK_CERT_PROVIDERS).default("auto"),
  );
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (options: PlanOptions) => {
      const { showPlan } = await import("../plan/showPlan.ts");
      await showPlan(terminal, options);
    });
}
