import type { ReleaseOptions } from "../cli/clusterOptions.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { readExtension } from "./readExtension.ts";
import { releaseRows, releasesText } from "./releaseRow.ts";

/** `olmv1 history`. */
export async function history(terminal: Terminal, name: string, options: ReleaseOptions & { output: Output }): Promise<void> {
  await withCluster(options, async (client) => {
    const rows = await releaseRows(client, await readExtension(client, name), options.systemNamespace);
    if (rows.length === 0)
      terminal.err(`ClusterExtension ${name} has no release in namespace ${options.systemNamespace}: nothing was installed yet\n`);
    await print(terminal, options.output, { data: rows, text: () => (rows.length === 0 ? "" : releasesText(terminal, rows, Date.now())) });
  });
}
