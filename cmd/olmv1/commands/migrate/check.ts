import type { MigrationReason, MigrationState } from "../../../../pkg/migrate/eligibility.ts";
import { planConversion } from "../../../../pkg/migrate/planConversion.ts";
import { type SurveyedSubscription, survey } from "../../../../pkg/migrate/survey.ts";
import { verifyEligible } from "../../../../pkg/migrate/verifyEligible.ts";
import type { Mood } from "../../../../pkg/rollout/mood.ts";
import { withReader } from "../../../../pkg/sources/bundleReader.ts";
import { toOneLine } from "../../../../pkg/text/escape.ts";
import { withCluster } from "../../cli/cluster.ts";
import { wrapText } from "../../cli/columns.ts";
import { EXIT } from "../../cli/errors.ts";
import { print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { formatStyled, formatTable } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { chooseAccount } from "./conversionSession.ts";
import { getConversionSettings } from "./conversionSettings.ts";
import type { MigrateCheckOptions } from "./migrateOptions.ts";

const HEAD = ["NAMESPACE", "SUBSCRIPTION", "PACKAGE", "VERSION", "STATE"];
/** Minimum width for reasons in the table. */
const WIDE = 100;
const MOODS: Readonly<Record<MigrationState, Mood>> = {
  Eligible: "good",
  Ineligible: "bad",
  Conflict: "bad",
  AlreadyMigrated: "faint",
};

/** Formats a survey as text: a table, then the target of each Subscription, or the reasons and next steps. */
export function formatCheck(terminal: Pick<Terminal, "width" | "colour">, found: readonly SurveyedSubscription[]): string {
  if (found.length === 0) return "no Subscriptions found\n";
  const isWide = terminal.width >= WIDE;
  const rows = found.map(({ namespace, name, packageName, version, verdict: { state, reasons } }) => {
    const why = reasons.map(({ code }) => code).filter((code) => code !== state);
    return [namespace, name, packageName, version, { text: state, mood: MOODS[state] }, ...(isWide ? [why.join(", ")] : [])];
  });
  const details = found.map((one) => `\n${detail(terminal, one)}`);
  return formatTable(terminal, isWide ? [...HEAD, "WHY"] : HEAD, rows) + details.join("");
}

/** Returns a survey as JSON. */
export function buildCheckData(found: readonly SurveyedSubscription[]): unknown {
  const toItems = (reasons: readonly MigrationReason[]): unknown =>
    reasons.map(({ code, text, next }) => ({ reason: code, message: text, next }));
  return {
    items: found.map(({ namespace, name, packageName, version, approval, verdict, eligible }) => ({
      namespace,
      subscription: name,
      package: packageName,
      ...(version === "" ? {} : { version }),
      ...(approval === undefined ? {} : { approval }),
      state: verdict.state,
      reasons: toItems(verdict.reasons),
      remarks: toItems(verdict.remarks),
      ...(eligible ? { clusterExtension: eligible.extension } : {}),
    })),
  };
}

function detail(
  terminal: Pick<Terminal, "width" | "colour">,
  { namespace, name, approval, verdict, eligible }: SurveyedSubscription,
): string {
  const { state, reasons, remarks } = verdict;
  const wrap = (text: string, indent = "  "): string[] => wrapText(toOneLine(text), terminal.width, indent);
  const catalog = eligible?.extension.spec.source.catalog;
  const becomes =
    eligible && catalog
      ? [
          ...wrap(
            `becomes ClusterExtension ${eligible.extension.metadata.name} in namespace ${namespace}: version ${catalog.version ?? ""} of package ${catalog.packageName} from ClusterCatalog ${eligible.offer.catalog}${approval === "Manual" ? "; it stays at this version because the approval is Manual" : ""}`,
          ),
          `  next: olmv1 migrate convert ${name} -n ${namespace}`,
        ]
      : [];
  const lines = [
    `${namespace}/${name}: ${formatStyled(terminal, { text: state, mood: MOODS[state] })}`,
    ...reasons.flatMap(({ text, next }) => [...wrap(text), `    next: ${toOneLine(next)}`]), // not wrapped, so that users can copy commands
    ...remarks.flatMap(({ text, next }) => [...wrap(`note: ${text}`), ...wrap(next, "    ")]),
    ...becomes,
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** Runs `olmv1 migrate check`. */
export async function showCheck(terminal: Terminal, names: readonly string[], options: MigrateCheckOptions): Promise<void> {
  const { namespace, catalogDir, output } = options;
  const { signal } = terminal;
  // Operators that depend on each other are eligible if olmv1 migrate convert can convert them together.
  const isTogether = names.length !== 1;
  const found = await withProgress(terminal, "reading Subscriptions", (progress) =>
    withReader(
      options,
      (reader) =>
        withCluster(options, async (client) => {
          const report = (what: string): void => progress.now(what);
          const account = await chooseAccount(client, { systemNamespace: options.systemNamespace }, signal);
          const { found: surveyed, offers } = await survey({
            client,
            reader,
            names,
            namespace,
            catalogDir,
            account,
            isTogether,
            signal,
            report,
          });
          const settings = getConversionSettings({ terminal, options, client, reader }, offers, account.kind);
          return verifyEligible(surveyed, { plan: (source) => planConversion(source, settings), signal: settings.signal, report });
        }),
      terminal.signal,
    ),
  );
  await print(terminal, output, {
    data: buildCheckData(found),
    text: () => formatCheck(terminal, found),
    names: () => found.map(({ namespace: where, name }) => `subscription.operators.coreos.com/${name} -n ${where}`),
  });
  if (found.some(({ verdict }) => verdict.state === "Ineligible" || verdict.state === "Conflict")) terminal.exit(EXIT.no);
}
