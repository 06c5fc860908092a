#!/usr/bin/env node
import { program } from "commander";
import { messageOf } from "../../pkg/errors/errors.ts";
import { addClusterUpgradeCheck } from "./commands/clusterUpgradeCheck.ts";
import { addDev } from "./commands/dev.ts";
import { addRbac } from "./commands/rbac.ts";

program.name("olmv1").description("Operator Lifecycle Manager v1: run it, and look into catalogs, bundles and rights").version("0.1.0");
addDev(program);
addRbac(program);
addClusterUpgradeCheck(program);

await program.parseAsync().catch((err: unknown) => {
  process.stderr.write(`olmv1: ${messageOf(err)}\n`);
  process.exitCode = 1;
});
