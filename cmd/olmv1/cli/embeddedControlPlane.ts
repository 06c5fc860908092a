import { type EmbeddedOlm, startEmbeddedOlm } from "../../../pkg/devcluster/embeddedOlm.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { withProgress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

/** Runs `work` with the servers of this program on an embedded control plane, which is removed afterwards. Prints why a server ended, if one did. */
export async function withEmbeddedOlm<T>(terminal: Terminal, work: (olm: EmbeddedOlm) => Promise<T>): Promise<T> {
  const olm = await withProgress(terminal, "starting the embedded control plane", (progress) =>
    startEmbeddedOlm((line, isTransient) => (isTransient ? progress.now(line) : progress.report(line))),
  );
  try {
    return await work(olm);
  } finally {
    const failure = olm.getFailure();
    if (failure !== undefined) terminal.err(`olmv1: ${escapeControlCharacters(failure)}\n`);
    await withProgress(terminal, "stopping the embedded control plane", () => olm.stop());
  }
}
