import { existsSync } from "node:fs";
import { join } from "node:path";
import { DevEnvironment } from "../../../pkg/devcluster/devEnvironment.ts";
import { EXTENSION } from "../../../pkg/devcluster/devSample.ts";
import { Narrator } from "../../../pkg/devcluster/narrator.ts";
import { watchParents } from "../../../pkg/devcluster/parentWatch.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Terminal } from "../cli/terminal.ts";

/** How `olmv1 dev` can be asked. */
export interface DevOptions {
  kubeconfig?: string;
  once?: boolean;
}

/** A bundled command line has no CRDs, sample or control plane beside it. */
const CONFIG = join(import.meta.dirname, "../../../config/crd");
/** What a process that nobody waits for gives itself to stop in order; what it started ends with it in any case. */
const ORPHAN_GRACE_MS = 1_500;

/** `olmv1 dev`. @returns the exit code. */
export async function dev(terminal: Terminal, options: DevOptions): Promise<number> {
  const narrator = new Narrator((line) => terminal.out(`${line}\n`));
  const stop = new AbortController();
  terminal.endsByItself();
  terminal.signal.addEventListener("abort", () => stop.abort(terminal.signal.reason), { once: true });
  const unwatch = watchParents(() => {
    stop.abort(new Error("the process that started this one has ended"));
    setTimeout(() => process.exit(1), ORPHAN_GRACE_MS).unref();
  });
  const kubeconfig = options.kubeconfig ?? (terminal.env["KUBECONFIG"] || undefined);
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
      for (const line of nextSteps(environment, kubeconfig === undefined)) terminal.out(`${line}\n`);
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

function nextSteps({ kubeconfig, registry, registriesConf }: DevEnvironment, embedded: boolean): string[] {
  const { name } = EXTENSION;
  return [
    "",
    "It is running. In another terminal:",
    `  export KUBECONFIG=${kubeconfig}`,
    `  export CONTAINERS_REGISTRIES_CONF=${registriesConf}`,
    `  export REGISTRY=${registry}`,
    "  kubectl get clustercatalog,clusterextension",
    `  npm run -s olmv1 -- describe ${name}`,
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
