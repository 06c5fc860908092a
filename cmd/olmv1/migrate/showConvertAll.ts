import { CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { type BatchLine, oneByOne, showBatch } from "./batch.ts";
import { carriedOut, writeBackup } from "./carriedOut.ts";
import type { CatalogOffers } from "./catalogOffers.ts";
import type { Conversion } from "./conversion.ts";
import { findMigrated } from "./migrated.ts";
import { plannedConversion } from "./planned.ts";
import { resumedConversion } from "./resumed.ts";
import { hasAccount, NO_ACCOUNT, type Session } from "./session.ts";
import { type Surveyed, survey } from "./survey.ts";

type Line = Omit<BatchLine, "namespace" | "name">;

/**
 * `olmv1 migrate convert --all`: by namespace and name. None of them needs another: what depends on others, or is needed by them, is not eligible. Each
 * is judged again when its turn comes, since what was converted before may count.
 */
export async function convertAll(session: Session): Promise<void> {
  const { terminal, options, client, reader, progress } = session;
  const { namespace, catalogDir, yes = false, keepGoing = false, name, createServiceAccount } = options;
  if (name !== undefined || typeof createServiceAccount === "string")
    throw new Error("with --all every extension gets the name of its Subscription, and the ServiceAccount that is made one of its own");
  if (yes && !hasAccount(options)) throw new Error(NO_ACCOUNT);
  const { signal } = terminal;
  const { found, offers } = await survey({ client, reader, names: [], namespace, catalogDir, signal, tell: (what) => progress.now(what) });
  const backup = new BackupFlag();
  const batch = await oneByOne(found, { keepGoing: keepGoing || !yes, signal }, (one) => lineOf(session, one, offers, backup));
  const isReady = batch.lines.some(({ kind }) => kind === "ready");
  const account = options.serviceAccount === undefined ? "--create-service-account" : `--service-account ${options.serviceAccount}`;
  const next = isReady
    ? `\nNothing was written. One of them in full: olmv1 migrate convert NAME -n NAMESPACE. To do it: olmv1 migrate convert --all${namespace === undefined ? "" : ` -n ${namespace}`} ${account} --yes\n`
    : batch.lines.some(({ kind }) => kind === "left" || kind === "failed")
      ? "why, and what to do about it: olmv1 migrate check\n"
      : "";
  await showBatch(terminal, options.output, batch, next);
}

/** The first backup makes the file, which may not be there before; the others go behind it. */
class BackupFlag {
  #isBegun = false;

  next(): "wx" | "a" {
    const flag = this.#isBegun ? "a" : "wx";
    this.#isBegun = true;
    return flag;
  }
}

async function lineOf(session: Session, { namespace, name, verdict }: Surveyed, offers: CatalogOffers, backup: BackupFlag): Promise<Line> {
  const { terminal, options, client } = session;
  const [reason] = verdict.reasons;
  if (verdict.state === "AlreadyMigrated") return { result: "AlreadyMigrated", detail: reason?.text ?? "", kind: "passed" };
  if (reason?.code === "ConversionUnfinished") {
    if (!options.yes) return { result: "Unfinished", detail: reason.text, kind: "ready" };
    const begun = await findMigrated(client, name, namespace, terminal.signal);
    if (begun?.subscription) return converted(session, await resumedConversion(session, begun));
  }
  const { surveyed, conversion } = await plannedConversion(session, { name, namespace }, offers);
  if (!conversion) {
    const { state, reasons } = surveyed.verdict;
    return { result: state, detail: reasons.map(({ code, text }) => `${code}: ${text}`).join("; "), kind: "left" };
  }
  if (options.yes && conversion.findings.length === 0) await writeBackup(options.backup, conversion, backup.next());
  return converted(session, conversion);
}

async function converted(session: Session, conversion: Conversion): Promise<Line> {
  const { name } = conversion.source.extension.metadata;
  const [finding, ...others] = conversion.findings;
  if (finding)
    return { result: "Refused", detail: `${finding.text}${others.length > 0 ? `, and ${others.length} more` : ""}`, kind: "failed" };
  if (!session.options.yes) return { result: "Eligible", detail: wouldBe(conversion), kind: "ready" };
  session.progress.now(`converting ${name}`);
  const { spec } = await carriedOut(session, conversion, () => undefined);
  const { version } = spec.source.catalog ?? {};
  return {
    result: "Converted",
    detail: `${CLUSTER_EXTENSION} ${name}${version === undefined ? "" : `, pinned at ${version}`}`,
    kind: "done",
  };
}

/** What a conversion would do, in a line. */
function wouldBe({ source, objects }: Conversion): string {
  const of = (wanted: string): number => objects.filter(({ action }) => action === wanted).length;
  const restarts = objects.filter((object) => object.restarts).length;
  const parts = [
    `${of("keep") + of("change")} objects taken over${of("change") > 0 ? `, ${of("change")} of them changed` : ""}`,
    ...(of("create") > 0 ? [`${of("create")} made`] : []),
    ...(of("leave") > 0 ? [`${of("leave")} left over`] : []),
    restarts > 0 ? `Pods of ${restarts} restart` : "no Pod restarts",
  ];
  return `becomes ${CLUSTER_EXTENSION} ${source.extension.metadata.name}: ${parts.join(", ")}`;
}
