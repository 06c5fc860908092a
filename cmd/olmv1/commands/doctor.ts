import type { Command } from "commander";
import { addReleaseOptions } from "../cli/clusterOptions.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { DoctorOptions } from "../doctor/doctor.ts";

const AFTER_HELP = `
It checks API server, definitions, both programs with their leaders and certificates, catalogs, admission policies and metrics, and changes nothing. A check
that you have no permission for is "unknown" and counted apart. Doctor needs permission to get these objects and the Secrets of the certificates.

Examples:
  olmv1 doctor
  olmv1 doctor --system-namespace openshift-operator-controller
  olmv1 doctor -o jsonpath='{range .findings[?(@.status=="problem")]}{.check}{": "}{.message}{"\\n"}{end}'

Exit codes: 0 every check was made and found no problem, though there may be warnings; 1 a problem was found; 2 no problem was found, but not everything
could be checked.
`;

/** Adds `olmv1 doctor`: what is the matter with an installation, and what to do about it. */
export function addDoctor(program: Command, terminal: Terminal): void {
  const command = program.command("doctor").description("check the installation on a cluster, and say what to do about what is wrong");
  outputOption(addReleaseOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import("../doctor/doctor.ts");
      await doctor(terminal, options);
    });
}
