import type { Command } from "commander";
import type { ValidateOptions } from "../../bundle/validate.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { addFindingOptions } from "../findingOptions.ts";
import { BUNDLE_SOURCE } from "./source.ts";

const AFTER_HELP = `
Errors are what operator-controller or the API server refuses, warnings what is most likely a mistake, remarks what may be meant so. Every rule
with its code: docs/reference/bundle-rules.md.

Examples:
  olmv1 bundle validate ./bundle
  olmv1 bundle validate ./bundle quay.io/example/operator-bundle:v1.2.0 --fail-on warning -o json
  olmv1 bundle validate ./bundle -o sarif > bundle.sarif

Exit codes: 0 nothing was found that --fail-on names; 1 something was, or a bundle cannot be read.
`;

/** Adds `olmv1 bundle validate`. */
export function addValidate(bundle: Command, terminal: Terminal): void {
  const command = bundle.command("validate").description("check bundles").argument("<bundles...>", `each a ${BUNDLE_SOURCE}`);
  addRegistryOptions(addFindingOptions(command))
    .addHelpText("after", AFTER_HELP)
    .action(async (sources: string[], options: ValidateOptions) => {
      const { validate } = await import("../../bundle/validate.ts");
      await validate(terminal, sources, options);
    });
}
