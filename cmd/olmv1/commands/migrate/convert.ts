import { CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import { ANNOTATION_MIGRATED_FROM, type ConversionStep } from "../../../../pkg/api/migration.ts";
import { WaitTimeoutError } from "../../../../pkg/async/poll.ts";
import { getErrorMessage } from "../../../../pkg/errors/errors.ts";
import { findMigrated, type MigratedExtension } from "../../../../pkg/migrate/migratedExtensions.ts";
import type { Conversion } from "../../../../pkg/migrate/planConversion.ts";
import { runConversion } from "../../../../pkg/migrate/runConversion.ts";
import { withReader } from "../../../../pkg/sources/bundleReader.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import { print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { requireOneOrAll } from "./batch.ts";
import { buildCheckData, formatCheck } from "./check.ts";
import {
  type ConversionSession,
  chooseAccount,
  formatAccountOption,
  getConversionOptions,
  planNewConversion,
  planResumedConversion,
  requireAccount,
  writeBackup,
} from "./conversionSession.ts";
import { buildConversionData, formatConversion } from "./conversionText.ts";
import { convertAll } from "./convertAll.ts";
import type { MigrateConvertOptions } from "./migrateOptions.ts";

/** Runs `olmv1 migrate convert`. */
export async function showConvert(terminal: Terminal, names: readonly string[], options: MigrateConvertOptions): Promise<void> {
  const [name, ...others] = names;
  requireOneOrAll("convert", name, options.all);
  await withReader(
    options,
    (reader) =>
      withCluster(options, (client) =>
        withProgress(terminal, "reading Subscriptions", async (progress) => {
          const session = { terminal, options, client, reader, progress, account: await chooseAccount(client, options, terminal.signal) };
          return name === undefined || others.length > 0 || options.report !== undefined ? convertAll(session, names) : run(session, name);
        }),
      ),
    terminal.signal,
  );
}

async function run(session: ConversionSession, name: string): Promise<void> {
  const { terminal, options, client } = session;
  const begun = await findMigrated(client, name, options.namespace, terminal.signal);
  if (begun?.subscription) return resume(session, begun);
  requireAccount(session);
  const { surveyed, conversion } = await planNewConversion(session, { name, namespace: options.namespace });
  if (!conversion) {
    terminal.exit(EXIT.no);
    return print(terminal, options.output, { data: buildCheckData([surveyed]), text: () => formatCheck(terminal, [surveyed]) });
  }
  const isBlocked = conversion.findings.length > 0;
  if (isBlocked) terminal.exit(EXIT.no);
  if (!options.yes || isBlocked) {
    await print(terminal, options.output, {
      data: buildConversionData(conversion),
      text: () => formatConversion(conversion) + formatNextStep(session, name, conversion),
    });
    return undefined;
  }
  await writeBackup(options.backup, conversion, "wx");
  return runConversionSteps(session, conversion);
}

/** Continues a conversion that has started or, without --yes, prints the command to continue. */
async function resume(session: ConversionSession, begun: MigratedExtension): Promise<void> {
  const { terminal, options } = session;
  const { extension, step, from } = begun;
  const { name } = extension.metadata;
  const data = { clusterExtension: name, subscription: from, ...(step === undefined ? {} : { step }) };
  if (step === "Installed" && !options.unpin) {
    const text = `${CLUSTER_EXTENSION} ${name} has replaced Subscription ${from}; to delete leftovers: olmv1 migrate cleanup ${name}\n`;
    return print(terminal, options.output, { data, text: () => text });
  }
  if (!options.yes) {
    const text = `the conversion of Subscription ${from} to ${CLUSTER_EXTENSION} ${name} stopped ${step === undefined ? "before its first step" : `after step ${step}`}\nto continue: olmv1 migrate convert ${name} --yes\nto roll back: olmv1 migrate rollback ${name} --yes\n`;
    terminal.exit(EXIT.no);
    return print(terminal, options.output, { data, text: () => text });
  }
  const conversion = await planResumedConversion(session, begun);
  if (conversion.findings.length === 0) return runConversionSteps(session, conversion);
  terminal.exit(EXIT.no);
  return print(terminal, options.output, { data: buildConversionData(conversion), text: () => formatConversion(conversion) });
}

async function runConversionSteps(session: ConversionSession, conversion: Conversion): Promise<void> {
  const { terminal, options } = session;
  const { name } = conversion.source.extension.metadata;
  const done: string[] = [];
  try {
    const report = (step: ConversionStep): void => {
      done.push(step);
      if (options.output === "text") terminal.out(`${step}\n`);
    };
    const extension = await runConversion(conversion, getConversionOptions(session, report));
    const { version } = extension.spec.source.catalog ?? {};
    await print(terminal, options.output, {
      data: { clusterExtension: name, subscription: extension.metadata.annotations?.[ANNOTATION_MIGRATED_FROM], steps: done },
      text: () =>
        `\n${CLUSTER_EXTENSION} ${name} is installed and ready${version === undefined ? "" : `, pinned at version ${version}`}\n` +
        (version === undefined
          ? ""
          : `to follow the channel: kubectl patch clusterextension ${name} --type merge -p '{"spec":{"source":{"catalog":{"version":null}}}}'\n`) +
        `to delete leftovers of OLM v0: olmv1 migrate cleanup ${name}\nto roll back to OLM v0: olmv1 migrate rollback ${name}\n`,
    });
  } catch (err) {
    if (!(err instanceof WaitTimeoutError)) throw err;
    terminal.err(`olmv1: ${getErrorMessage(err)}\n`);
    terminal.exit(EXIT.no);
  }
}

function formatNextStep({ account }: ConversionSession, name: string, { source, findings }: Conversion): string {
  if (findings.length > 0) return "";
  const { namespace } = source.subscription.metadata;
  return `\nNo changes were made. To convert: olmv1 migrate convert ${name} -n ${namespace ?? ""} ${formatAccountOption(account)}--yes\n`;
}
