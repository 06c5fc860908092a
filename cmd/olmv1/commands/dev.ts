import { DevEnvironment } from "../../../pkg/devcluster/devEnvironment.ts";
import { EXTENSION } from "../../../pkg/devcluster/devSample.ts";
import { isCheckout } from "../../../pkg/devcluster/embeddedOlm.ts";
import { formatElapsed, Narrator } from "../../../pkg/devcluster/narrator.ts";
import { watchParents } from "../../../pkg/devcluster/parentWatch.ts";
import { SAMPLE_PACKAGE } from "../../../pkg/devcluster/sample/sample.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Options of `olmv1 dev`. */
export interface DevOptions {
  kubeconfig?: string;
  once?: boolean;
}

/** Time in milliseconds for an orderly stop after the parent process has exited. Child processes exit with this process in any case. */
const ORPHAN_GRACE_MS = 1_500;

/** Runs `olmv1 dev`. @returns the exit code. */
export async function runDev(terminal: Terminal, options: DevOptions): Promise<number> {
  const began = performance.now();
  const narrator = new Narrator((text) => terminal.out(text), terminal.interactive);
  const stop = new AbortController();
  terminal.endsByItself();
  terminal.signal.addEventListener("abort", () => stop.abort(terminal.signal.reason), { once: true });
  const unwatch = watchParents(() => {
    stop.abort(new Error("the parent process has exited"));
    setTimeout(() => process.exit(1), ORPHAN_GRACE_MS).unref();
  });
  const kubeconfig = options.kubeconfig ?? (terminal.env["KUBECONFIG"] || undefined);
  let environment: DevEnvironment | undefined;
  try {
    if (!isCheckout()) throw new Error("olmv1 dev needs a checkout of the sources: clone the repository and run npm start");
    environment = await DevEnvironment.start({ kubeconfig, narrator, signal: stop.signal });
    await environment.install();
    if (options.once) {
      await environment.upgrade();
      await environment.uninstall();
      if (kubeconfig !== undefined) await environment.cleanUp();
      narrator.part(`Done: installed, upgraded and removed in ${formatElapsed(performance.now() - began)}`);
    } else {
      const lines = nextSteps(environment, kubeconfig === undefined, performance.now() - began);
      for (const line of lines) terminal.out(`${line}\n`);
      await environment.stay();
    }
    return 0;
  } catch (err) {
    if (stop.signal.aborted && !options.once) return 0;
    narrator.print("error", getErrorMessage(err));
    return 1;
  } finally {
    unwatch();
    await environment?.stop();
  }
}

function nextSteps({ envFile, catalogs }: DevEnvironment, isEmbedded: boolean, elapsedMs: number): string[] {
  const { name, firstVersion } = EXTENSION;
  return [
    "",
    isEmbedded
      ? `${SAMPLE_PACKAGE} ${firstVersion} is installed and ready after ${formatElapsed(elapsedMs)}.`
      : `${SAMPLE_PACKAGE} ${firstVersion} is installed after ${formatElapsed(elapsedMs)}. Its Pods do not start, because its image is a placeholder.`,
    "",
    "In another terminal, put olmv1 and kubectl on the PATH and select this cluster:",
    `  source ${envFile}`,
    "",
    "Then try:",
    `  olmv1 describe ${name}`,
    `  olmv1 upgrade ${name} --any-version`,
    `  olmv1 uninstall ${name}`,
    "",
    `Catalog page: ${catalogs}/ui`,
    isEmbedded
      ? "Press Ctrl-C to stop and remove everything."
      : "Press Ctrl-C to stop the servers. Objects in the cluster remain; uninstall the extension first, while the servers run.",
    "",
  ];
}
