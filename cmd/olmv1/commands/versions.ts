import { findStart, listInstalledStarts, requireChannels } from "../../../pkg/browse/installedStarts.ts";
import { listVersionRows, type VersionRow } from "../../../pkg/browse/packageView.ts";
import { formatDay } from "../../../pkg/fbc/lifecycleDocument.ts";
import { isSupported, UNKNOWN_SUPPORT } from "../../../pkg/fbc/versionSupport.ts";
import { tryReadClusterVersion } from "../../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { listInstalledExtensions } from "../../../pkg/rollout/extensions.ts";
import { describeSupport } from "../../../pkg/rollout/supportText.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import type { CatalogReadOptions } from "../cli/catalogOptions.ts";
import { withPackage } from "../cli/openCatalogs.ts";
import { type Output, print } from "../cli/output.ts";
import { type Cell, formatTable } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Options of `olmv1 versions`. */
export interface VersionsOptions extends CatalogReadOptions {
  channel: string[];
  all?: boolean;
  supported?: boolean;
  installed?: string;
  output: Output;
}

/** Maximum number of rows without --all. */
const MAX_ROWS = 20;
/** Minimum width of -o wide. */
const WIDE = 200;

/** Runs `olmv1 versions`. */
export async function runVersions(terminal: Terminal, name: string, options: VersionsOptions): Promise<void> {
  const { channel, installed, output } = options;
  await withPackage(terminal, name, options, async (all, { client, signal }) => {
    requireChannels(name, all, channel);
    const starts =
      installed === undefined ? listInstalledStarts(name, await listInstalledExtensions(client, signal)) : [findStart(all, installed)];
    const when = { today: formatDay(Date.now()), cluster: await tryReadClusterVersion(client) };
    const listed = listVersionRows(all, channel, starts, when);
    const rows = options.supported ? listed.filter(({ support }) => isSupported(support ?? UNKNOWN_SUPPORT)) : listed;
    if (rows.length === 0 && listed.length > 0) terminal.err(`olmv1: none of ${formatCount(listed.length, "version")} is supported\n`);
    const isCut = options.all !== true && rows.length > MAX_ROWS;
    const shown = isCut ? selectRows(rows) : rows;
    await print(terminal, output, {
      data: { package: name, versions: rows },
      text: () => versionTable(terminal, shown, starts.length > 0, false),
      wide: () => versionTable(terminal, shown, starts.length > 0, true),
      names: () => rows.map(({ bundle }) => bundle),
    });
    if (isCut && (output === "text" || output === "wide"))
      terminal.err(`olmv1: ${shown.length} of ${rows.length} versions; --all shows all\n`);
  });
}

/** Selects the newest versions, and installed ones. */
function selectRows(rows: readonly VersionRow[]): VersionRow[] {
  return rows.filter(({ installedBy }, at) => at < MAX_ROWS || installedBy.length > 0);
}

function versionTable(terminal: Terminal, rows: readonly VersionRow[], hasStart: boolean, isWide: boolean): string {
  const hasCatalogs = isWide || new Set(rows.map(({ catalog }) => catalog)).size > 1;
  const hasSupport = rows.some(({ support }) => support);
  const head = [
    "VERSION",
    ...(hasCatalogs ? ["CATALOG"] : []),
    "CHANNELS",
    "CREATED",
    ...(hasSupport ? ["SUPPORT"] : []),
    ...(hasStart ? ["UPGRADE"] : []),
    ...(isWide ? ["BUNDLE"] : []),
    "NOTE",
  ];
  return formatTable(
    isWide ? { colour: terminal.colour, width: Math.max(terminal.width, WIDE) } : terminal,
    head,
    rows.map((row) => [
      versionCell(row),
      ...(hasCatalogs ? [row.catalog] : []),
      channelsText(row),
      formatCreationDay(row.createdAt),
      ...(hasSupport ? [describeSupport(row.support)] : []),
      ...(hasStart ? [upgradeCell(row)] : []),
      ...(isWide ? [row.bundle] : []),
      noteCell(row),
    ]),
  );
}

function versionCell({ version, release, bundle, deprecated }: VersionRow): Cell {
  const text = version === undefined ? bundle : release === undefined || version.endsWith(release) ? version : `${version} (${release})`;
  return { text, mood: deprecated === undefined ? "strong" : "warning" };
}

/** Formats the channels of a version; a star marks channels whose head is this version. */
function channelsText({ channels, headOf }: VersionRow): string {
  return channels.map((name) => (headOf.includes(name) ? `${name}*` : name)).join(", ");
}

/** Returns the day of a timestamp; other texts unchanged. */
function formatCreationDay(createdAt = ""): string {
  return /^\d{4}-\d{2}-\d{2}/.exec(createdAt)?.[0] ?? createdAt;
}

function upgradeCell({ installedBy, reached }: VersionRow): Cell {
  if (installedBy.length > 0)
    return { text: `installed${installedBy.some((name) => name !== "") ? ` (${installedBy.join(", ")})` : ""}`, mood: "good" };
  const shortest = reached.toSorted((a, b) => a.through.length - b.through.length)[0];
  if (!shortest) return "";
  return shortest.through.length === 0 ? { text: "direct", mood: "good" } : `via ${shortest.through.join(", ")}`;
}

function noteCell({ deprecated, headOf, channels }: VersionRow): Cell {
  if (deprecated !== undefined) return { text: `deprecated: ${deprecated}`, mood: "warning" };
  if (channels.length === 0) return { text: "in no channel", mood: "faint" };
  return headOf.length > 0 ? { text: "head", mood: "faint" } : "";
}
