import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { columnsOf } from "../cli/columns.ts";
import { type Cell, table } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";
import { ageText } from "./age.ts";
import { catalogsOf, stateOf, updateOf } from "./extensionState.ts";
import { tellingCondition } from "./plainWords.ts";

const HEAD = ["NAME", "PACKAGE", "VERSION", "UPDATE", "CATALOG", "NAMESPACE", "STATUS", "AGE"];
const WIDE = ["CHANNELS", "RANGE", "SERVICE ACCOUNT", "APPROVAL", "MESSAGE"];

/** Of these columns the first goes first where the terminal is too narrow for all: a name that is cut is of no use. */
const OPTIONAL = ["CATALOG", "NAMESPACE"];

/** Extensions as a table. @param now milliseconds since the epoch. */
export function listText(
  terminal: Pick<Terminal, "width" | "colour">,
  extensions: readonly ClusterExtension[],
  now: number,
  isWide = false,
): string {
  if (isWide)
    return table(
      terminal,
      [...HEAD, ...WIDE],
      extensions.map((one) => [...rowOf(one, now), ...wideOf(one)]),
    );
  const rows = extensions.map((one) => rowOf(one, now));
  const texts = OPTIONAL.map((_, i) => narrowed(rows, OPTIONAL.slice(0, i)));
  const fits = ({ head, cells }: Columns): boolean => {
    const lines = table({ width: Number.POSITIVE_INFINITY, colour: false }, head, cells).split("\n");
    return lines.every((line) => columnsOf(line) <= terminal.width);
  };
  const { head, cells } = texts.find(fits) ?? narrowed(rows, OPTIONAL);
  return table(terminal, head, cells);
}

interface Columns {
  readonly head: readonly string[];
  readonly cells: readonly (readonly Cell[])[];
}

function narrowed(rows: readonly (readonly Cell[])[], without: readonly string[]): Columns {
  const isShown = (_: unknown, i: number): boolean => !without.includes(HEAD[i] ?? "");
  return { head: HEAD.filter(isShown), cells: rows.map((row) => row.filter(isShown)) };
}

function rowOf(extension: ClusterExtension, now: number): Cell[] {
  const { metadata, spec, status } = extension;
  return [
    metadata.name,
    spec.source.catalog?.packageName ?? "",
    status?.install?.bundle.version ?? "",
    updateOf(extension),
    catalogsOf(extension),
    spec.namespace,
    stateOf(extension),
    ageText(metadata.creationTimestamp, now),
  ];
}

function wideOf({ spec, status }: ClusterExtension): Cell[] {
  const { channels = [], version = "" } = spec.source.catalog ?? {};
  return [
    channels.length > 0 ? channels.join(",") : "all",
    version === "" ? "any" : version,
    spec.serviceAccount?.name ?? "",
    spec.approval ?? "Automatic",
    tellingCondition(status?.conditions)?.message ?? "",
  ];
}
