import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { DevEnvironment } from "../dev/devEnvironment.ts";
import { Narrator } from "../dev/narrator.ts";
import { watchParents } from "../dev/parentWatch.ts";
import { EXTENSION } from "../dev/sample.ts";

interface DevOptions {
  kubeconfig?: string;
  once?: boolean;
}

/** A bundled command line has no CRDs, sample or control plane beside it. */
const CONFIG = join(import.meta.dirname, "../../../config/crd");
/** What a process that nobody waits for gives itself to stop in order; what it started ends with it in any case. */
const ORPHAN_GRACE_MS = 1_500;

/** Adds `olmv1 dev`: the whole product on this machine, with a sample operator to look at. */
export function addDev(program: Command): void {
  program
    .command("dev")
    .description("run the whole product on this machine: an embedded control plane (or --kubeconfig), both servers and a sample operator")
    .option("--kubeconfig <path>", "use this cluster and start none; default: $KUBECONFIG, when it is set")
    .option("--once", "install, upgrade and remove the sample operator, then exit with 0, or 1 when something failed")
    .action(async (options: DevOptions) => {
      process.exitCode = await dev(options);
    });
}

/** @returns the exit code. */
async function dev(options: DevOptions): Promise<number> {
  const narrator = new Narrator((line) => process.stdout.write(`${line}\n`));
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stop.abort(new Error(`stopped by ${name}`)));
  const unwatch = watchParents(() => {
    stop.abort(new Error("the process that started this one has ended"));
    setTimeout(() => process.exit(1), ORPHAN_GRACE_MS).unref();
  });
  const kubeconfig = options.kubeconfig ?? (process.env["KUBECONFIG"] || undefined);
  let environment: DevEnvironment | undefined;
  try {
    if (!existsSync(CONFIG)) throw new Error("olmv1 dev needs a checkout of the sources: clone the repository and run npm start");
    environment = await DevEnvironment.start({ kubeconfig, narrator, signal: stop.signal });
    await environment.install();
    if (options.once) {
      await environment.upgrade();
      await environment.uninstall();
      if (kubeconfig !== undefined) await environment.cleanUp();
      narrator.part("Done: installed, upgraded and removed");
    } else {
      for (const line of nextSteps(environment.kubeconfig, kubeconfig === undefined)) process.stdout.write(`${line}\n`);
      await environment.stay();
    }
    return 0;
  } catch (err) {
    if (stop.signal.aborted && !options.once) return 0;
    narrator.say("error", messageOf(err));
    return 1;
  } finally {
    unwatch();
    await environment?.stop();
  }
}

function nextSteps(kubeconfig: string, embedded: boolean): string[] {
  const { name } = EXTENSION;
  return [
    "",
    "It is running. In another terminal:",
    `  export KUBECONFIG=${kubeconfig}`,
    "  kubectl get clustercatalog,clusterextension",
    `  kubectl describe clusterextension ${name}`,
    "upgrade it (the version pin goes, the channel's newest bundle comes):",
    `  kubectl patch clusterextension ${name} --type merge -p '{"spec":{"source":{"catalog":{"version":null}}}}'`,
    "remove it:",
    `  kubectl delete clusterextension ${name}`,
    embedded
      ? "Ctrl-C stops everything and leaves nothing behind."
      : "Ctrl-C stops both servers. What was applied stays in the cluster; remove the ClusterExtension before, while they run.",
    "",
  ];
}
