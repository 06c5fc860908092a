import { type Command, Option } from "commander";
import { PROFILES } from "../../../pkg/conformance/profiles.ts";
import { addPushOptions, addReleaseOptions, collectCsv, createDurationOption, parseParallel } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ConformanceOptions } from "../commands/conformance.ts";

const PARALLEL = 6;
const DEFAULT_PROFILES: readonly string[] = ["core"];

const CONFORMANCE_HELP = `
Tests whether an installation of OLM v1 does what its documentation says: the Go implementation, olmv1,
or one of a vendor. Each scenario pushes its own catalogs to --registry, and creates a ClusterExtension,
ClusterCatalogs and a namespace, all named conformance-SCENARIO. Their label
conformance.olm.operatorframework.io/run names the run. The command removes them afterwards, also after a
failure or Ctrl-C.

You need the permissions of a cluster administrator: the scenarios grant their ServiceAccounts all
permissions. A scenario does not run if the cluster lacks what it needs; then the output names the reason.
Scenarios of group availability restart the servers, after all others.

Examples:
  olmv1 conformance --embedded
  olmv1 conformance --registry registry.example.com/scratch/conformance --junit conformance.xml
  olmv1 conformance --registry registry.example.com/scratch/conformance --scenario replaces --keep
  olmv1 conformance --list

Exit codes:
  0    all scenarios that ran have passed
  1    a scenario failed, or none ran
  2    the run did not start
  130  interrupted with Ctrl-C, after the removal
`;

/** Adds `olmv1 conformance`, which tests an installation of OLM v1. */
export function addConformance(program: Command, terminal: Terminal): void {
  const command = program
    .command("conformance")
    .description("Test whether an installation of OLM v1 conforms to its documentation")
    .addOption(
      new Option("--embedded", "test the servers of this program on an embedded control plane").conflicts([
        "registry",
        "kubeconfig",
        "context",
        "insecure",
      ]),
    )
    .option("--registry <repository>", "repository that you can push to and the cluster can pull from")
    .addOption(
      new Option("--profile <names>", `profiles to run, comma-separated: ${PROFILES.join(", ")}`)
        .default(DEFAULT_PROFILES, "core")
        .argParser((names: string, before: string[]) => collectCsv(names, before === DEFAULT_PROFILES ? [] : before)),
    )
    .addOption(new Option("--group <names>", "groups of scenarios to run, comma-separated (default: all)").argParser(collectCsv))
    .addOption(new Option("--scenario <ids>", "scenarios to run, comma-separated (default: all)").argParser(collectCsv))
    .option("--list", "list the scenarios, and run none")
    .option("--keep", "keep the objects of failed scenarios")
    .addOption(new Option("--parallel <number>", "number of scenarios at the same time").default(PARALLEL).argParser(parseParallel))
    .addOption(createDurationOption("--timeout", "maximum time of each step", "2m"))
    .option("--junit <path>", "file to write a JUnit report to");
  addOutputOption(addPushOptions(addReleaseOptions(command)), ["text", "json", "yaml"])
    .addHelpText("after", CONFORMANCE_HELP)
    .action(async (options: ConformanceOptions) => {
      const { runConformance } = await import("../commands/conformance.ts");
      await runConformance(terminal, options);
    });
}
