import { type Command, Option } from "commander";
import { addPushOptions, addReleaseOptions, createDurationOption, createRepeatableOption, parseNamespace } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { BundleTryOptions } from "../commands/bundle/try.ts";

const TRY_HELP = `
Pushes the bundle and a temporary catalog to --registry, installs the bundle with managed permissions,
runs the checks, and uninstalls it with its CustomResourceDefinitions. Then removes everything that it
created, also after a failure or Ctrl-C. With --from, installs the previous version first, and upgrades.

The checks run with sh. They get KUBECONFIG, OLMV1_EXTENSION, OLMV1_NAMESPACE, OLMV1_PACKAGE,
OLMV1_BUNDLE and OLMV1_VERSION in their environment.

--embedded starts a control plane without nodes: Pods are simulated, so the operator does not run.
It needs a checkout of the sources, and Go for its first start.
On a cluster, the trial does not start if an extension of the package or a CustomResourceDefinition of
the bundle exists. Some registries do not delete tags: then the command fails and lists them.

Examples:
  olmv1 bundle try ./bundle --embedded
  olmv1 bundle try ./bundle --embedded --from quay.io/example/bundle:v1.1.0 --junit trial.xml
  olmv1 bundle try ./bundle --registry registry.example.com/scratch --check 'kubectl apply -f sample.yaml'

Exit codes:
  0    all steps passed
  1    a step failed
  2    the trial did not start
  130  interrupted with Ctrl-C, after the removal
`;

/** Adds `olmv1 bundle try`. @param source describes the argument */
export function addBundleTry(bundle: Command, terminal: Terminal, source: string): void {
  const command = bundle
    .command("try")
    .description("Install, check, upgrade and uninstall a bundle as a test")
    .argument("<bundle>", source)
    .addOption(
      new Option("--embedded", "start an embedded control plane for the trial").conflicts([
        "registry",
        "kubeconfig",
        "context",
        "insecure",
      ]),
    )
    .option("--registry <repository>", "repository that you can push to and the cluster can pull from")
    .option("--from <bundle>", "previous version of the bundle, in the same format; the trial upgrades from it")
    .addOption(createRepeatableOption("--check <command>", "shell command that must succeed while the bundle is installed; repeatable"))
    .addOption(
      createRepeatableOption(
        "--check-from <command>",
        "shell command that must succeed while the previous version is installed; repeatable",
      ),
    )
    .option("-n, --namespace <name>", "namespace to install into, created if missing (default: a new namespace)", parseNamespace)
    .option("--config <path>", "file with the value of spec.config.inline, or - for standard input")
    .option("--approve-permissions", "approve the permissions that wait for approval; --embedded always approves them")
    .addOption(createDurationOption("--timeout", "maximum time of each step", "5m"))
    .option("--junit <path>", "file to write a JUnit report to");
  addOutputOption(addPushOptions(addReleaseOptions(command)), ["text", "json", "yaml"])
    .addHelpText("after", TRY_HELP)
    .action(async (bundleSource: string, options: BundleTryOptions) => {
      const { tryBundle } = await import("../commands/bundle/try.ts");
      await tryBundle(terminal, bundleSource, options);
    });
}
