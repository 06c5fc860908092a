import { Command } from "commander";
import { VERSION } from "../version.ts";
import { optionDescription } from "./cli/help.ts";
import type { Terminal } from "./cli/terminal.ts";
import { addApprove } from "./commands/approve.ts";
import { addBundle } from "./commands/bundle.ts";
import { addCatalog } from "./commands/catalog.ts";
import { addClusterUpgradeCheck } from "./commands/clusterUpgradeCheck.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDescribe } from "./commands/describe.ts";
import { addDev } from "./commands/dev.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEvents } from "./commands/events.ts";
import { addGet } from "./commands/get.ts";
import { addGraph } from "./commands/graph.ts";
import { addHistory } from "./commands/history.ts";
import { addInstall } from "./commands/install.ts";
import { addList } from "./commands/list.ts";
import { addMigrate } from "./commands/migrate.ts";
import { addPlan } from "./commands/plan.ts";
import { addRbac } from "./commands/rbac.ts";
import { addResolve } from "./commands/resolve.ts";
import { addRollback } from "./commands/rollback.ts";
import { addSearch } from "./commands/search.ts";
import { addShow } from "./commands/show.ts";
import { addTree } from "./commands/tree.ts";
import { addUninstall } from "./commands/uninstall.ts";
import { addUpgrade } from "./commands/upgrade.ts";
import { addVersions } from "./commands/versions.ts";
import { addWhyNot } from "./commands/whyNot.ts";

/** Headings of the help, in its order. */
const GROUPS = { extensions: "Extensions of a cluster:", catalogs: "Catalogs and bundles:", running: "Running it:" } as const;
/** What help has where a terminal has no end, as in a pipe. */
const HELP_WIDTH = 120;

/** The command line with all of its commands, fresh for each caller: commander keeps what it has parsed. It throws CommanderError instead of ending the process. */
export function olmv1(terminal: Terminal, name = "olmv1"): Command {
  const program = new Command(name);
  const helpWidth = Math.min(terminal.width, HELP_WIDTH);
  program
    .exitOverride()
    .configureHelp({ optionDescription })
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      outputError: () => undefined, // whoever runs the program tells errors
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
      getOutHasColors: () => terminal.colour,
      getErrHasColors: () => terminal.colour,
    })
    .description("Operator Lifecycle Manager v1: extensions of clusters, and their catalogs and bundles")
    .version(VERSION, "--version", "print the version");
  program.enablePositionalOptions(); // a command may have an option of the program's name, as --version

  program.commandsGroup(GROUPS.extensions);
  addInstall(program, terminal);
  addUpgrade(program, terminal);
  addUninstall(program, terminal);
  addApprove(program, terminal);
  addList(program, terminal);
  addGet(program, terminal);
  addDescribe(program, terminal);
  addEvents(program, terminal);
  addHistory(program, terminal);
  addPlan(program, terminal);
  addRollback(program, terminal);
  addTree(program, terminal);
  addResolve(program, terminal);
  addWhyNot(program, terminal);
  addClusterUpgradeCheck(program, terminal);
  addMigrate(program, terminal);

  program.commandsGroup(GROUPS.catalogs);
  addSearch(program, terminal);
  addShow(program, terminal);
  addVersions(program, terminal);
  addGraph(program, terminal);
  addCatalog(program, terminal);
  addBundle(program, terminal);
  addRbac(program, terminal);

  program.commandsGroup(GROUPS.running);
  addDev(program, terminal);
  addDoctor(program, terminal);
  addCompletion(program, terminal);
  return program;
}
