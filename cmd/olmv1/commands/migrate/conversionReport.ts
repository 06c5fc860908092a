import type { MigrationReason } from "../../../../pkg/migrate/eligibility.ts";
import type { Conversion } from "../../../../pkg/migrate/planConversion.ts";
import { getNamespacedName } from "../../../../pkg/migrate/subscription.ts";
import type { SurveyedSubscription } from "../../../../pkg/migrate/survey.ts";
import { describeObject } from "../../../../pkg/release/identity.ts";
import type { BatchLine } from "./batch.ts";

/** A Subscription in a report. */
export interface ReportItem extends Omit<BatchLine, "name"> {
  readonly subscription: string;
  readonly package: string;
  /** The installed version; empty if no bundle is installed. */
  readonly version: string;
  readonly reasons: readonly MigrationReason[];
  readonly remarks: readonly MigrationReason[];
  /** Absent if the conversion was not planned, or if it continues an earlier one. */
  readonly plan?: ReportedPlan;
}

interface ReportedPlan extends ObjectCounts {
  readonly clusterExtension: string;
  readonly findings: readonly string[];
  readonly notes: readonly string[];
}

/** The report on a run of `olmv1 migrate convert`. */
export interface ConversionReport {
  /** Time of the end of the run, in RFC 3339. */
  readonly time: string;
  /** Whether the run only planned the conversions. */
  readonly isDryRun: boolean;
  /** Number of Subscriptions with each result. */
  readonly counts: Readonly<Record<string, number>>;
  readonly items: readonly ReportItem[];
}

/** The results of a run. */
export interface RunResults {
  readonly isDryRun: boolean;
  readonly lines: readonly BatchLine[];
  readonly found: readonly SurveyedSubscription[];
  /** The planned conversions by namespace and name of the Subscription. */
  readonly plans: ReadonlyMap<string, Conversion>;
}

interface ObjectCounts {
  readonly adopted: number;
  /** Adopted objects that the conversion changes. */
  readonly changed: number;
  readonly created: number;
  readonly left: number;
  /** Objects whose Pods restart. */
  readonly restarting: readonly string[];
}

/** Counts the objects of a conversion. */
export function countObjects({ objects }: Pick<Conversion, "objects">): ObjectCounts {
  const of = (counted: string): number => objects.filter(({ action }) => action === counted).length;
  const restarting = objects.filter((object) => object.restarts).map(({ ref }) => describeObject(ref));
  return { adopted: of("keep") + of("change"), changed: of("change"), created: of("create"), left: of("leave"), restarting };
}

/** Builds the report on a run. */
export function buildConversionReport({ isDryRun, lines, found, plans }: RunResults, time: Date): ConversionReport {
  const rows = new Map(found.map((row) => [getNamespacedName(row), row]));
  const counts: Record<string, number> = {};
  for (const { result } of lines) counts[result] = (counts[result] ?? 0) + 1;
  const items = lines.map(({ name, ...line }): ReportItem => {
    const key = getNamespacedName({ ...line, name });
    const { packageName = "", version = "", verdict } = rows.get(key) ?? {};
    const conversion = plans.get(key);
    return {
      ...line,
      subscription: name,
      package: packageName,
      version,
      reasons: verdict?.reasons ?? [],
      remarks: verdict?.remarks ?? [],
      ...(conversion && !conversion.marks ? { plan: buildPlan(conversion) } : {}),
    };
  });
  return { time: time.toISOString(), isDryRun, counts, items };
}

function buildPlan(conversion: Conversion): ReportedPlan {
  const { source, findings, notes } = conversion;
  const texts = findings.map(({ text }) => text);
  return { clusterExtension: source.extension.metadata.name, ...countObjects(conversion), findings: texts, notes };
}
