import type { ObjectRef } from "../../../../pkg/api/k8s.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import {
  migrateStorage,
  planStorageMigration,
  type StorageMigrationCount,
} from "../../../../pkg/operatorcontroller/crds/storageMigration.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import type { ClusterOptions } from "../../cli/options.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 crd migrate`. */
export interface MigrateStorageOptions extends ClusterOptions {
  /** Custom resources per second. */
  rate: number;
  dryRun?: boolean;
  output: Output;
}

/** The result in JSON and YAML. */
interface MigrationOutput extends StorageMigrationCount {
  readonly name: string;
  readonly storageVersion: string;
  /** The versions to remove from status.storedVersions, or that were removed. */
  readonly obsoleteVersions: readonly string[];
  readonly dryRun: boolean;
}

/** Runs `olmv1 crd migrate`. */
export async function migrateCrdStorage(
  terminal: Terminal,
  name: string,
  { rate, dryRun = false, output, ...cluster }: MigrateStorageOptions,
) {
  await withCluster(cluster, async (client) => {
    const ref: ObjectRef = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name };
    const crd = await client.get(ref, { signal: terminal.signal });
    if (!crd) throw new Error(`CRD ${goQuote(name)} does not exist. List CRDs with kubectl get crds`);
    const { storage, obsolete } = planStorageMigration(crd);
    const count = dryRun
      ? { migrated: 0, failed: 0, errors: [] }
      : await withProgress(terminal, `storing custom resources in version ${storage}`, (progress) =>
          migrateStorage(client, crd, {
            rate,
            signal: terminal.signal,
            report: ({ migrated, failed }) => progress.now(`stored ${migrated} custom resources in version ${storage}, ${failed} failed`),
          }),
        );
    const result: MigrationOutput = { name, storageVersion: storage, obsoleteVersions: obsolete, dryRun, ...count };
    await print(terminal, output, { data: result, text: () => escapeControlCharacters(formatResult(result)) });
    if (count.failed > 0) terminal.exit(EXIT.no);
  });
}

function formatResult({ name, storageVersion, obsoleteVersions, dryRun, migrated, failed, errors }: MigrationOutput): string {
  const versions = obsoleteVersions.join(", ");
  if (obsoleteVersions.length === 0) return `CRD ${name}: all custom resources are stored in version ${storageVersion}\n`;
  if (dryRun) return `CRD ${name}: custom resources may be stored in ${versions}, and would be stored in version ${storageVersion}\n`;
  if (failed === 0)
    return `CRD ${name}: ${formatCount(migrated, "custom resource")} stored in version ${storageVersion}; removed ${versions} from status.storedVersions\n`;
  const listed = errors.map((error) => `  ${error}\n`).join("");
  return `CRD ${name}: the API server rejected ${failed} of ${formatCount(migrated + failed, "custom resource")}:\n${listed}status.storedVersions is unchanged. Correct these objects, and run the command again.\n`;
}
