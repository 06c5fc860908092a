import type { Command } from "commander";
import type { Terminal } from "../../cli/terminal.ts";
import { addPushCommand } from "../pushCommand.ts";

const EXPECTED = { what: "catalog", label: "operators.operatorframework.io.index.configs.v1" };
const EXAMPLES = `  olmv1 catalog push oci:build/catalog:v1 quay.io/team/catalog:v1
  olmv1 catalog push quay.io/team/catalog@sha256:… quay.io/team/catalog:stable
`;

/** Adds `olmv1 catalog push`. */
export function addPush(catalog: Command, terminal: Terminal): void {
  addPushCommand(catalog, terminal, EXPECTED, EXAMPLES);
}
