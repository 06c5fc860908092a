import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { LABEL_METADATA_NAME } from "../../../pkg/api/constants.ts";
import { type Cell, table } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";
import { ageText } from "../extension/age.ts";
import { details } from "../views/details.ts";
import { catalogState } from "./catalogState.ts";

/** Columns of -o wide, whatever the terminal has. */
const WIDE = 250;

type Screen = Pick<Terminal, "width" | "colour">;

/** Catalogs, a row each. @param now milliseconds since the epoch. */
export function catalogTable(terminal: Screen, catalogs: readonly ClusterCatalog[], now: number, isWide: boolean): string {
  const head = ["NAME", "STATE", "PRIORITY", "IMAGE", ...(isWide ? ["DIGEST", "POLL", "UNPACKED", "LABELS"] : []), "AGE"];
  const rows = catalogs.map((catalog): Cell[] => {
    const { metadata, spec, status } = catalog;
    return [
      { text: metadata.name, mood: "strong" },
      catalogState(catalog),
      String(spec.priority ?? 0),
      spec.source.image?.ref ?? "",
      ...(isWide ? [digestOf(catalog), pollText(catalog), unpackedText(status?.lastUnpacked, now), labelsOf(catalog).join(",")] : []),
      ageText(metadata.creationTimestamp, now),
    ];
  });
  return table(isWide ? { colour: terminal.colour, width: Math.max(terminal.width, WIDE) } : terminal, head, rows);
}

/** All there is to know of a catalog, for people. @param now milliseconds since the epoch. */
export function catalogText(terminal: Screen, catalog: ClusterCatalog, now: number): string {
  const { metadata, spec, status } = catalog;
  return details(terminal, [
    ["Name", { text: metadata.name, mood: "strong" }],
    ["State", catalogState(catalog)],
    ["Image", spec.source.image?.ref],
    ["Serves", status?.resolvedSource?.image?.ref],
    ["Unpacked", status?.lastUnpacked === undefined ? undefined : unpackedText(status.lastUnpacked, now)],
    ["Looked up", pollText(catalog)],
    ["Priority", String(spec.priority ?? 0)],
    ["Labels", labelsOf(catalog)],
    ["Address", status?.urls?.base],
    ["Age", ageText(metadata.creationTimestamp, now)],
    ...(status?.conditions ?? []).map(({ type, status: is, reason, message }) => [type, `${is} (${reason}): ${message}`] as const),
  ]);
}

function digestOf({ status }: ClusterCatalog): string {
  return /@(.*)$/.exec(status?.resolvedSource?.image?.ref ?? "")?.[1] ?? "";
}

function pollText({ spec }: ClusterCatalog): string {
  const minutes = spec.source.image?.pollIntervalMinutes;
  return minutes === undefined ? "once" : `every ${minutes}m`;
}

function unpackedText(at: string | undefined, now: number): string {
  return at === undefined ? "" : `${ageText(at, now)} ago`;
}

/** Those that somebody gave it. */
function labelsOf({ metadata }: ClusterCatalog): string[] {
  return Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => (key === LABEL_METADATA_NAME ? [] : [`${key}=${value}`]));
}
