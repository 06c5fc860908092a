import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { crdFrom } from "../../crdgen/crd.ts";
import { KINDS } from "../../crdgen/kinds.ts";
import { VERSION } from "../../version.ts";
import type { ClusterOptions } from "../cli/clusterOptions.ts";
import { EXIT } from "../cli/exitCodes.ts";
import { type Output, print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { checkCatalogs } from "./catalogs.ts";
import { checkCertificates } from "./certificates.ts";
import { checkApiServer, checkDefinitions } from "./definitions.ts";
import { doctorText } from "./doctorText.ts";
import { type DoctorFacts, readFacts } from "./facts.ts";
import type { Finding } from "./finding.ts";
import { checkMetrics, checkPolicies } from "./policies.ts";
import { checkDeployments, checkLeases } from "./programs.ts";

/** How `olmv1 doctor` can be asked. */
export interface DoctorOptions extends ClusterOptions {
  systemNamespace: string;
  output: Output;
}

/** What every check finds, in the order in which one thing needs the other. @param version of this olmv1. */
export function findingsOf(facts: DoctorFacts, version: string): Finding[] {
  const wanted = new Map(KINDS.map(crdFrom).map((crd): [string, KubeObject] => [crd.metadata.name, crd]));
  return [
    ...checkApiServer(facts),
    ...checkDefinitions(facts, wanted),
    ...checkDeployments(facts, version),
    ...checkLeases(facts),
    ...checkCertificates(facts),
    ...checkCatalogs(facts),
    ...checkPolicies(facts),
    ...checkMetrics(facts),
  ];
}

/** Returns the exit code: a problem comes before a check that could not be made, and both come before success. */
export function exitOf(findings: readonly Finding[]): number {
  if (findings.some(({ status }) => status === "problem")) return EXIT.no;
  return findings.some(({ status }) => status === "unknown") ? EXIT.error : EXIT.yes;
}

/** `olmv1 doctor`. */
export async function doctor(terminal: Terminal, options: DoctorOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const facts = await withProgress(terminal, "looking at the cluster", () => readFacts(client, options.systemNamespace, terminal.signal));
    const findings = findingsOf(facts, VERSION);
    terminal.exit(exitOf(findings));
    await print(terminal, options.output, { data: { findings }, text: () => doctorText(terminal, findings) });
  });
}
