/** One version of a package in a catalog table; with several channels it has several rows, and the first row contains its contents. */
export interface TableBundle {
  package: string;
  version: string;
  /** Such as "CRD", "Deployment" or "InstallMode(OwnNamespace)". */
  contents: readonly string[];
}

/** A place in a channel. */
interface TableEntry {
  package: string;
  version: string;
  channel: string;
  /** The version that this one replaces; empty for none. */
  replaces: string;
}

/** The packages of a catalog. */
export interface CatalogTable {
  bundles: readonly TableBundle[];
  entries: readonly TableEntry[];
}

const COLUMNS = ["package", "version", "channel", "replaces", "contents"] as const;

/**
 * Reads a table of the columns package, version, channel, replaces and contents, in this order: cells are separated by bars,
 * outer bars are optional.
 * @throws Error with the line if it has other cells than the header, or no package, version or channel.
 */
export function readCatalogTable(text: string): CatalogTable {
  const [head, ...rows] = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map(splitCells);
  if (head?.join() !== COLUMNS.join()) throw new Error(`a catalog table must begin with the line ${COLUMNS.join(" | ")}`);
  const bundles = new Map<string, TableBundle>();
  const entries: TableEntry[] = [];
  for (const row of rows) {
    const [packageName, version, channel, replaces = "", contents = ""] = row;
    if (row.length !== COLUMNS.length || !packageName || !version || !channel)
      throw new Error(`want ${COLUMNS.join(" | ")} in a catalog table: ${row.join(" | ")}`);
    const bundle = { package: packageName, version, contents: contents.split(/,\s*/).filter((word) => word !== "") };
    const name = bundleName(bundle);
    if (!bundles.has(name)) bundles.set(name, bundle);
    entries.push({ package: packageName, version, channel, replaces });
  }
  return { bundles: [...bundles.values()], entries };
}

/** "package.version", such as "test.1.0.0". */
export function bundleName({ package: packageName, version }: { package: string; version: string }): string {
  return `${packageName}.${version}`;
}

/** Returns the blobs of the catalog. The channel of a package's first row is its default. @param image returns the reference of a bundle. */
export function catalogMetas({ bundles, entries }: CatalogTable, image: (bundle: TableBundle) => string): object[] {
  const packages = Map.groupBy(entries, (entry) => entry.package);
  const channels = [...packages].flatMap(([name, own]) =>
    [...Map.groupBy(own, ({ channel }) => channel)].map(([channel, members]) => ({
      schema: "olm.channel",
      package: name,
      name: channel,
      entries: members.map(({ version, replaces }) => ({
        name: bundleName({ package: name, version }),
        ...(replaces === "" ? {} : { replaces: bundleName({ package: name, version: replaces }) }),
      })),
    })),
  );
  return [
    ...[...packages].map(([name, [first]]) => ({ schema: "olm.package", name, defaultChannel: first?.channel })),
    ...channels,
    ...bundles.map((bundle) => ({
      schema: "olm.bundle",
      package: bundle.package,
      name: bundleName(bundle),
      image: image(bundle),
      properties: [{ type: "olm.package", value: { packageName: bundle.package, version: bundle.version } }],
    })),
  ];
}

function splitCells(line: string): string[] {
  const cells = line.split("|").map((cell) => cell.trim());
  if (line.startsWith("|")) cells.shift();
  if (line.endsWith("|") && line.startsWith("|")) cells.pop();
  return cells;
}
