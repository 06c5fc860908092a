import { EXIT } from "../cli/exitCodes.ts";
import { print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { withReader } from "../rbac/bundleReader.ts";
import { checkData, checkText } from "./checkText.ts";
import type { CheckOptions } from "./migrateOptions.ts";
import { survey } from "./survey.ts";

/** `olmv1 migrate check`. */
export async function showCheck(terminal: Terminal, names: readonly string[], options: CheckOptions): Promise<void> {
  const { namespace, catalogDir, output } = options;
  const { signal } = terminal;
  const { found } = await withProgress(terminal, "reading Subscriptions", (progress) =>
    withReader(options, (reader) =>
      withCluster(options, (client) =>
        survey({ client, reader, names, namespace, catalogDir, signal, tell: (what) => progress.now(what) }),
      ),
    ),
  );
  await print(terminal, output, {
    data: checkData(found),
    text: () => checkText(terminal, found),
    names: () => found.map(({ namespace: where, name }) => `subscription.operators.coreos.com/${name} -n ${where}`),
  });
  if (found.some(({ verdict }) => verdict.state === "Ineligible" || verdict.state === "Conflict")) terminal.exit(EXIT.no);
}
