import type { Command } from "commander";
import type { Terminal } from "../../cli/terminal.ts";
import { addPushCommand } from "../pushCommand.ts";

const EXPECTED = { what: "bundle", label: "operators.operatorframework.io.bundle.mediatype.v1" };
const EXAMPLES = `  olmv1 bundle push oci-archive:bundle.tar:v1.2.0 quay.io/team/operator-bundle:v1.2.0
  olmv1 bundle push quay.io/team/operator-bundle:v1.2.0 localhost:5000/operator-bundle:v1.2.0 --insecure
`;

/** Adds `olmv1 bundle push`. */
export function addPush(bundle: Command, terminal: Terminal): void {
  addPushCommand(bundle, terminal, EXPECTED, EXAMPLES);
}
