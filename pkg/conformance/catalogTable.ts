import type { JsonObject } from "../api/k8s.ts";

/** One version of a package in a catalog table; with several channels it has several rows, and the first row contains its contents. */
export interface TableBundle {
  readonly package: string;
  readonly version: string;
  /** Such as "CRD", "Deployment" or "InstallMode(OwnNamespace)". */
  readonly contents: readonly string[];
}

/** A place in a channel. */
interface TableEntry {
  readonly package: string;
  readonly version: string;
  readonly channel: string;
  /** The version that this one replaces; empty for none. */
  readonly replaces: string;
  /** Versions that this one skips. */
  readonly skips: readonly string[];
  /** Empty for none. */
  readonly skipRange: string;
}

/** The packages of a catalog. */
export interface CatalogTable {
  readonly bundles: readonly TableBundle[];
  readonly entries: readonly TableEntry[];
}

const REQUIRED = ["package", "version", "channel"] as const;
const COLUMNS = [...REQUIRED, "replaces", "skips", "skipRange", "contents"] as const;
type Column = (typeof COLUMNS)[number];

/**
 * Reads a table: the first line contains the names of the columns, and each other line has a cell for each of them. Cells are separated by bars; outer
 * bars are optional. Lists in a cell are comma-separated.
 * @throws Error with the line if a column is unknown or missing, if a line has another number of cells, or no package, version or channel.
 */
export function readCatalogTable(text: string): CatalogTable {
  const [head = [], ...rows] = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map(splitCells);
  const unknown = head.find((name) => !(COLUMNS as readonly string[]).includes(name));
  const missing = REQUIRED.find((name) => !head.includes(name));
  if (unknown !== undefined || missing !== undefined)
    throw new Error(`a catalog table has the columns ${COLUMNS.join(", ")}, the first three always: ${head.join(" | ")}`);
  const bundles = new Map<string, TableBundle>();
  const entries: TableEntry[] = [];
  for (const row of rows) {
    const cell = (name: Column): string => row[head.indexOf(name)] ?? "";
    const [packageName, version, channel] = REQUIRED.map(cell) as [string, string, string];
    if (row.length !== head.length || packageName === "" || version === "" || channel === "")
      throw new Error(`a catalog table needs ${head.join(" | ")}: ${row.join(" | ")}`);
    const bundle = { package: packageName, version, contents: splitList(cell("contents")) };
    const name = getBundleName(bundle);
    if (!bundles.has(name)) bundles.set(name, bundle);
    entries.push({
      package: packageName,
      version,
      channel,
      replaces: cell("replaces"),
      skips: splitList(cell("skips")),
      skipRange: cell("skipRange"),
    });
  }
  return { bundles: [...bundles.values()], entries };
}

/** Returns "package.version", such as "test.1.0.0". */
export function getBundleName({ package: packageName, version }: Pick<TableBundle, "package" | "version">): string {
  return `${packageName}.${version}`;
}

/** What a catalog contains in addition to its table. */
export interface TableCatalog {
  readonly table: CatalogTable;
  /** Further properties by bundle name. */
  readonly properties?: Readonly<Record<string, readonly JsonObject[]>>;
  /** Further metas, such as deprecations. */
  readonly metas?: readonly JsonObject[];
}

/** Returns the metas of a catalog. The channel of a package's first row is its default. @param getImage returns the reference of a bundle */
export function buildCatalogMetas(
  { table: { bundles, entries }, properties = {}, metas = [] }: TableCatalog,
  getImage: (bundle: TableBundle) => string,
): JsonObject[] {
  const packages = Map.groupBy(entries, (entry) => entry.package);
  const channels = [...packages].flatMap(([name, own]) =>
    [...Map.groupBy(own, ({ channel }) => channel)].map(([channel, members]) => ({
      schema: "olm.channel",
      package: name,
      name: channel,
      entries: members.map((entry) => toChannelEntry(name, entry)),
    })),
  );
  return [
    ...[...packages].map(([name, [first]]) => ({ schema: "olm.package", name, defaultChannel: first?.channel ?? "" })),
    ...channels,
    ...bundles.map((bundle) => ({
      schema: "olm.bundle",
      package: bundle.package,
      name: getBundleName(bundle),
      image: getImage(bundle),
      properties: [
        { type: "olm.package", value: { packageName: bundle.package, version: bundle.version } },
        ...(properties[getBundleName(bundle)] ?? []),
      ],
    })),
    ...metas,
  ];
}

function toChannelEntry(name: string, { version, replaces, skips, skipRange }: TableEntry): JsonObject {
  const toName = (of: string): string => getBundleName({ package: name, version: of });
  return {
    name: toName(version),
    ...(replaces === "" ? {} : { replaces: toName(replaces) }),
    ...(skips.length === 0 ? {} : { skips: skips.map(toName) }),
    ...(skipRange === "" ? {} : { skipRange }),
  };
}

function splitList(cell: string): string[] {
  return cell.split(/,\s*/).filter((word) => word !== "");
}

function splitCells(line: string): string[] {
  const cells = line.split("|").map((cell) => cell.trim());
  if (line.startsWith("|")) cells.shift();
  if (line.endsWith("|") && line.startsWith("|")) cells.pop();
  return cells;
}
