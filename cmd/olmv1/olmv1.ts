import { Command } from "commander";
import { VERSION } from "../version.ts";
import { addBundle } from "./commands/bundle.ts";
import { addCatalog } from "./commands/catalog.ts";
import { addClusterUpgradeCheck } from "./commands/clusterUpgradeCheck.ts";
import { addDev } from "./commands/dev.ts";
import { addPlan } from "./commands/plan.ts";
import { addRbac } from "./commands/rbac.ts";
import { addResolve } from "./commands/resolve.ts";
import { addRollback } from "./commands/rollback.ts";
import { addTree } from "./commands/tree.ts";
import { addWhyNot } from "./commands/whyNot.ts";

/** The command line with all of its commands, fresh for each caller: commander keeps what it has parsed. */
export function olmv1(): Command {
  const program = new Command("olmv1");
  program.description("Operator Lifecycle Manager v1: run it, and look into catalogs, bundles and rights").version(VERSION);
  program.enablePositionalOptions(); // a command may have an option of the program's name, as --version
  addDev(program);
  addRbac(program);
  addPlan(program);
  addResolve(program);
  addWhyNot(program);
  addRollback(program);
  addTree(program);
  addClusterUpgradeCheck(program);
  addCatalog(program);
  addBundle(program);
  return program;
}
