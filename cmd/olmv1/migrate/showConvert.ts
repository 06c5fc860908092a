import { CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { ANNOTATION_MIGRATED_FROM } from "../../../pkg/api/migration.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { EXIT } from "../cli/exitCodes.ts";
import { print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { withReader } from "../rbac/bundleReader.ts";
import { requireOneOrAll } from "./batch.ts";
import { carriedOut, writeBackup } from "./carriedOut.ts";
import { checkText } from "./checkText.ts";
import type { Conversion } from "./conversion.ts";
import { conversionData, conversionText } from "./conversionText.ts";
import { findMigrated, type Migrated } from "./migrated.ts";
import type { ConvertOptions } from "./migrateOptions.ts";
import { DidNotCome } from "./patient.ts";
import { plannedConversion } from "./planned.ts";
import { resumedConversion } from "./resumed.ts";
import { hasAccount, NO_ACCOUNT, requireOneAccount, type Session } from "./session.ts";
import { convertAll } from "./showConvertAll.ts";

/** `olmv1 migrate convert`. */
export async function showConvert(terminal: Terminal, name: string | undefined, options: ConvertOptions): Promise<void> {
  requireOneOrAll("convert", name, options.all);
  requireOneAccount(options);
  if (name !== undefined && options.yes && !hasAccount(options) && !(await isBegun(name, options, terminal.signal)))
    throw new Error(NO_ACCOUNT);
  await withReader(options, (reader) =>
    withCluster(options, (client) =>
      withProgress(terminal, "looking at Subscriptions", (progress) => {
        const session = { terminal, options, client, reader, progress };
        return name === undefined ? convertAll(session) : run(session, name);
      }),
    ),
  );
}

function isBegun(name: string, options: ConvertOptions, signal: AbortSignal): Promise<boolean> {
  return withCluster(options, async (client) => (await findMigrated(client, name, options.namespace, signal)) !== undefined);
}

async function run(session: Session, name: string): Promise<void> {
  const { terminal, options, client } = session;
  const begun = await findMigrated(client, name, options.namespace, terminal.signal);
  if (begun?.subscription) return goOn(session, begun);
  const { surveyed, conversion } = await plannedConversion(session, { name, namespace: options.namespace });
  if (!conversion) {
    terminal.out(checkText(terminal, [surveyed]));
    return terminal.exit(EXIT.no);
  }
  const isRefused = conversion.findings.length > 0;
  if (isRefused) terminal.exit(EXIT.no);
  if (!options.yes || isRefused) {
    await print(terminal, options.output, {
      data: conversionData(conversion),
      text: () => conversionText(conversion) + nextLine(session, name, conversion),
    });
    return undefined;
  }
  await writeBackup(options.backup, conversion, "wx");
  return carryOut(session, conversion);
}

/** Goes on with a conversion that was begun, or says how. */
async function goOn(session: Session, begun: Migrated): Promise<void> {
  const { terminal, options } = session;
  const { extension, step, from } = begun;
  const { name } = extension.metadata;
  if (step === "Installed" && !options.unpin) {
    terminal.out(
      `${CLUSTER_EXTENSION} ${name} has taken the place of Subscription ${from}: nothing is left to do but olmv1 migrate cleanup ${name}\n`,
    );
    return;
  }
  if (!options.yes) {
    terminal.out(
      `the conversion of Subscription ${from} to ${CLUSTER_EXTENSION} ${name} stopped ${step === undefined ? "before its first step" : `after step ${step}`}\ngo on: olmv1 migrate convert ${name} --yes\ntake it back: olmv1 migrate rollback ${name} --yes\n`,
    );
    return terminal.exit(EXIT.no);
  }
  const conversion = await resumedConversion(session, begun);
  if (conversion.findings.length === 0) return carryOut(session, conversion);
  terminal.out(conversionText(conversion));
  return terminal.exit(EXIT.no);
}

async function carryOut(session: Session, conversion: Conversion): Promise<void> {
  const { terminal, options } = session;
  const { name } = conversion.source.extension.metadata;
  const done: string[] = [];
  try {
    const extension = await carriedOut(session, conversion, (step) => {
      done.push(step);
      if (options.output === "text") terminal.out(`${step}\n`);
    });
    const { version } = extension.spec.source.catalog ?? {};
    await print(terminal, options.output, {
      data: { clusterExtension: name, subscription: extension.metadata.annotations?.[ANNOTATION_MIGRATED_FROM], steps: done },
      text: () =>
        `\n${CLUSTER_EXTENSION} ${name} is installed and ready${version === undefined ? "" : `, pinned at version ${version}`}\n` +
        (version === undefined
          ? ""
          : `to have it follow its channel: kubectl patch clusterextension ${name} --type merge -p '{"spec":{"source":{"catalog":{"version":null}}}}'\n`) +
        `what is left of OLM classic: olmv1 migrate cleanup ${name}\nback to OLM classic: olmv1 migrate rollback ${name}\n`,
    });
  } catch (err) {
    if (!(err instanceof DidNotCome)) throw err;
    terminal.err(`olmv1: ${messageOf(err)}\n`);
    terminal.exit(EXIT.no);
  }
}

function nextLine({ options }: Session, name: string, { source, findings }: Conversion): string {
  if (findings.length > 0) return "";
  const { namespace } = source.subscription.metadata;
  const account = options.serviceAccount === undefined ? "--create-service-account" : `--service-account ${options.serviceAccount}`;
  return `\nNothing was written. To do it: olmv1 migrate convert ${name} -n ${namespace ?? ""} ${account} --yes\n`;
}
