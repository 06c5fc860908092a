import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { isKstatusCondition } from "../../api/conditions.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../../api/constants.ts";
import type { CatalogView } from "../../consoleapi/catalogs.ts";
import type { ConditionRow } from "../../consoleapi/overview.ts";
import { toYaml } from "../../golang/yaml.ts";
import type { EventRecord } from "../../rollout/extensionEvents.ts";
import { getConditionMood } from "../../rollout/extensionState.ts";
import type { InstalledExtension } from "../../rollout/extensions.ts";
import { parseSuggestedStep } from "../../rollout/suggestedStep.ts";
import { truncate } from "../../text/truncate.ts";
import { toCatalogRow } from "../live/rows.ts";
import { toEventRows } from "../objects/eventRows.ts";

const SEVERITIES = { Error: "error", Warning: "warning", Info: "info" } as const;
const MAX_CONDITIONS = 50;
const MAX_MESSAGE = 8_000;
const MAX_EXTENSIONS = 500;

/** What the page of a catalog shows in addition to the object. */
interface CatalogSurroundings {
  /** Undefined if unknown. */
  readonly installed: readonly InstalledExtension[] | undefined;
  readonly events: readonly EventRecord[] | string;
}

/** Describes a catalog. */
export function buildCatalogView(catalog: ClusterCatalog, { installed, events }: CatalogSurroundings): CatalogView {
  const { metadata, spec, status } = catalog;
  const isAvailable = spec.availabilityMode !== "Unavailable";
  const own = installed?.filter((one) => one.catalog === metadata.name);
  return {
    row: toCatalogRow(catalog),
    isAvailable,
    packages: status?.content?.packages,
    served: status?.resolvedSource?.image?.ref,
    address: status?.urls?.base,
    problems: (status?.problems ?? []).map(({ severity, type, message, next }) => ({
      severity: SEVERITIES[severity] ?? "info",
      type,
      message,
      ...(next === undefined ? {} : { next: parseSuggestedStep(next) }),
    })),
    conditions: (status?.conditions ?? [])
      .filter(({ type }) => !isKstatusCondition(type))
      .slice(0, MAX_CONDITIONS)
      .map(toConditionRow),
    ...(own
      ? {
          extensions: own.slice(0, MAX_EXTENSIONS).map((one) => ({ name: one.extension, package: one.package, version: one.version })),
        }
      : {}),
    unreportedExtensions: installed?.filter((one) => one.catalog === undefined).length ?? 0,
    events: toEventRows(events),
    toggle: toYaml({
      apiVersion: API_VERSION,
      kind: CLUSTER_CATALOG,
      metadata: { name: metadata.name },
      spec: { availabilityMode: isAvailable ? "Unavailable" : "Available" },
    }),
  };
}

function toConditionRow({
  type,
  status,
  reason,
  message,
  lastTransitionTime,
}: NonNullable<NonNullable<ClusterCatalog["status"]>["conditions"]>[number]): ConditionRow {
  const mood = getConditionMood(type, status);
  return {
    type,
    status,
    reason,
    state: mood === undefined ? { text: status } : { text: status, mood },
    message: truncate(type === "Valid" ? (message.split("\n", 1)[0] ?? "") : message, MAX_MESSAGE), // the page lists the findings
    since: lastTransitionTime,
    means: "",
    next: [],
  };
}
