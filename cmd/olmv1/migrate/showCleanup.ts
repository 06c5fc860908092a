import { describeObject } from "../../../pkg/release/identity.ts";
import { print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { backupRef } from "./backup.ts";
import { cleanUp, leftovers } from "./cleanup.ts";
import { requireMigrated } from "./migrated.ts";
import type { CleanupOptions } from "./migrateOptions.ts";

/** `olmv1 migrate cleanup`. */
export async function showCleanup(terminal: Terminal, name: string, options: CleanupOptions): Promise<void> {
  const { namespace, output, yes = false, operatorGroup = false } = options;
  const { signal } = terminal;
  await withCluster(options, async (client) => {
    const migrated = await requireMigrated(client, name, namespace, signal);
    const { metadata, spec } = migrated.extension;
    const request = { client, operatorGroup, signal };
    const found = await withProgress(terminal, "looking for what is left of OLM classic", () => leftovers(migrated, request));
    const hasBackup = migrated.subscription !== undefined;
    if (yes && hasBackup) await withProgress(terminal, "removing what is left of OLM classic", () => cleanUp(migrated, found, request));
    const deleted = [...found.map(({ ref }) => ref), ...(migrated.backup ? [backupRef(metadata.name, spec.namespace)] : [])];
    const lines = deleted.map((ref) => `  ${describeObject(ref)}\n`).join("");
    const [title, next] = yes
      ? ["removed", `\nSubscription ${migrated.from} cannot be brought back any more\n`]
      : [
          "to be removed",
          `\nNothing was written. Afterwards there is no way back to OLM classic. To do it: olmv1 migrate cleanup ${metadata.name} --yes\n`,
        ];
    await print(terminal, output, {
      data: { clusterExtension: metadata.name, subscription: migrated.from, removed: yes, objects: deleted },
      text: () => (hasBackup ? `${title} of Subscription ${migrated.from}:\n${lines}${next}` : "nothing is left of OLM classic\n"),
    });
  });
}
