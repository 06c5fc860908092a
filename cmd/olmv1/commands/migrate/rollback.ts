import { WaitTimeoutError } from "../../../../pkg/async/poll.ts";
import { getErrorMessage } from "../../../../pkg/errors/errors.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { deleteRemains, findRemains } from "../../../../pkg/migrate/conversionRemains.ts";
import { describeUnknown, findMigrated } from "../../../../pkg/migrate/migratedExtensions.ts";
import { readKeptVersion } from "../../../../pkg/migrate/operatorUpgrade.ts";
import { listRollbackSteps, rollBackConversion } from "../../../../pkg/migrate/rollback.ts";
import { describeObject } from "../../../../pkg/release/identity.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import { print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { requireOneOrAll } from "./batch.ts";
import type { MigrateRollbackOptions } from "./migrateOptions.ts";
import { rollbackAll } from "./rollbackAll.ts";

/** Runs `olmv1 migrate rollback`. */
export async function showRollback(terminal: Terminal, name: string | undefined, options: MigrateRollbackOptions): Promise<void> {
  requireOneOrAll("rollback", name, options.all);
  if (name === undefined) return rollbackAll(terminal, options);
  const { namespace, output, yes, timeout } = options;
  const { signal } = terminal;
  await withCluster(options, async (client) => {
    const migrated = await findMigrated(client, name, namespace, signal);
    if (!migrated) return finishRollback(terminal, client, name, options);
    const { isReplaced } = await readKeptVersion(client, migrated, signal);
    const steps = listRollbackSteps(migrated, isReplaced);
    const extension = migrated.extension.metadata.name;
    if (!yes) {
      const text = `ClusterExtension ${extension} becomes Subscription ${migrated.from} again. Steps:\n`;
      const lines = steps.map((step, i) => `  ${i + 1}. ${step}\n`).join("");
      const next = `\nNo changes were made. To roll back: olmv1 migrate rollback ${extension} --yes\n`;
      return print(terminal, output, {
        data: { clusterExtension: extension, subscription: migrated.from, steps },
        text: () => text + lines + next,
      });
    }
    const done: string[] = [];
    try {
      await withProgress(terminal, "rolling back to OLM v0", (progress) =>
        rollBackConversion(migrated, {
          client,
          timeoutMs: timeout,
          signal,
          report: (step) => progress.now(step),
          done: (step) => {
            done.push(step);
            if (output === "text") terminal.out(`${step}\n`);
          },
        }),
      );
    } catch (err) {
      if (!(err instanceof WaitTimeoutError)) throw err;
      terminal.err(`olmv1: ${getErrorMessage(err)}; run the command again to continue\n`);
      return terminal.exit(EXIT.no);
    }
    return print(terminal, output, {
      data: { clusterExtension: extension, subscription: migrated.from, done },
      text: () => `\nOLM v0 manages Subscription ${migrated.from} again\n`,
    });
  });
}

/** Deletes what a rollback left that was interrupted after it had deleted the extension. @throws Error if nothing is left */
async function finishRollback(terminal: Terminal, client: Client, name: string, options: MigrateRollbackOptions): Promise<void> {
  const { namespace, output, yes } = options;
  const { signal } = terminal;
  const remains = await findRemains(client, name, namespace, signal);
  if (!remains) throw new Error(describeUnknown(name));
  const steps = remains.objects.map((object) => `delete ${describeObject(object)}`);
  const title = `ClusterExtension ${name} no longer exists. `;
  if (!yes) {
    const lines = steps.map((step, i) => `  ${i + 1}. ${step}\n`).join("");
    const next = `\nNo changes were made. To complete the rollback: olmv1 migrate rollback ${name} --yes\n`;
    const text = `${title}To complete its rollback:\n${lines}${next}`;
    return print(terminal, output, { data: { clusterExtension: name, steps }, text: () => text });
  }
  await deleteRemains(client, remains, signal);
  const text = `${title}Objects of its conversion are deleted:\n${remains.objects.map((object) => `  ${describeObject(object)}\n`).join("")}`;
  return print(terminal, output, { data: { clusterExtension: name, done: steps }, text: () => text });
}
