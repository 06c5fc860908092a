import { searchPackages } from "../../../pkg/browse/packageSearch.ts";
import type { PackageMatch } from "../../../pkg/browse/searchResults.ts";
import { parseApiPattern, parseSearchQuery } from "../../../pkg/catalogd/search/searchQuery.ts";
import { formatDay } from "../../../pkg/fbc/lifecycleDocument.ts";
import { tryReadClusterVersion } from "../../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import type { InstalledExtension } from "../../../pkg/rollout/extensions.ts";
import { describeSupport } from "../../../pkg/rollout/supportText.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import type { CatalogReadOptions } from "../cli/catalogOptions.ts";
import { EXIT } from "../cli/errors.ts";
import { withCatalogs } from "../cli/openCatalogs.ts";
import { type Output, print } from "../cli/output.ts";
import { type Cell, formatTable } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Options of `olmv1 search`. */
export interface SearchOptions extends CatalogReadOptions {
  kind: string[];
  keyword: string[];
  capability?: string;
  arch: string[];
  os: string[];
  feature: string[];
  channel: string[];
  installable?: boolean;
  supported?: boolean;
  limit?: number;
  output: Output;
}

/** The search results in JSON and YAML. */
interface SearchOutput {
  readonly items: readonly PackageMatch[];
  /** Total number of results; with a limit, `items` has fewer. */
  readonly total: number;
  readonly leftOut: readonly { readonly catalog: string; readonly because: string }[];
}

const MAX_WORDS = 16;
/** Minimum width of -o wide. */
const WIDE = 200;

/** Runs `olmv1 search`: prints the packages that match words and filters, best match first. */
export async function search(terminal: Terminal, text: readonly string[], options: SearchOptions): Promise<void> {
  const words = text.flatMap((one) => one.split(/\s+/)).filter((word) => word !== "");
  if (words.length > MAX_WORDS) throw new Error(`too many search words: ${words.length}, maximum ${MAX_WORDS}`);
  const query = queryFrom(options);
  await withCatalogs(terminal, options, async ({ catalogs, leftOut, client, signal }) => {
    if (options.installable && !client)
      throw new Error("--installable requires a cluster: use it without --catalog-dir and --catalog-image");
    const { installable = false } = options;
    const addsObstacles = options.output !== "text";
    const when = { today: formatDay(Date.now()), cluster: await tryReadClusterVersion(client) };
    const found = await searchPackages(
      { catalogs, client, signal },
      { words, query, when, supportedOnly: options.supported, installableOnly: installable, addsObstacles },
    );
    const { matches, installed } = found;
    const items = matches.slice(0, options.limit);
    const answer: SearchOutput = { items, total: matches.length, leftOut };
    const isWide = catalogs.length > 1;
    await print(terminal, options.output, {
      data: answer,
      text: () => searchTable(terminal, items, { installed, hasCatalogs: isWide }),
      wide: () => wideTable(terminal, items, installed),
      names: () => [...new Set(items.map((one) => one.package))],
    });
    if (items.length < matches.length && (options.output === "text" || options.output === "wide"))
      terminal.err(`olmv1: ${items.length} of ${matches.length} packages; --limit 0 shows all\n`);
    if (matches.length > 0) return;
    terminal.err(
      `olmv1: no match among ${formatCount(found.packages, "package")} in ${formatCount(catalogs.length, "catalog")}${hint(words, options, found.matching)}\n`,
    );
    terminal.exit(EXIT.no);
  });
}

function queryFrom({ kind, keyword, capability, arch, os, feature, channel }: SearchOptions): ReturnType<typeof parseSearchQuery> {
  for (const one of kind)
    try {
      parseApiPattern(one);
    } catch {
      throw new Error(`--kind ${JSON.stringify(one)} must be in the form Kind, Kind.group or group/version/Kind`);
    }
  return parseSearchQuery({ gvk: kind, keyword, capability, arch, os, feature, channel });
}

function hint(words: readonly string[], { installable, supported }: SearchOptions, found: number): string {
  if (supported) return "; --supported omits versions without support phases in the catalog, and those whose support has ended";
  if (installable && found > 0)
    return `; ${formatCount(found, "package")} would match without --installable: use -o json to show why you cannot install them`;
  return words.length > 1 ? `; a package must contain all ${words.length} words` : "";
}

function searchTable(
  terminal: Terminal,
  items: readonly PackageMatch[],
  { installed, hasCatalogs }: { installed: readonly InstalledExtension[] | undefined; hasCatalogs: boolean },
): string {
  if (items.length === 0) return "";
  const columns: Column[] = [
    ["PACKAGE", nameCell],
    ...(hasCatalogs ? [["CATALOG", ({ catalog }): Cell => catalog] satisfies Column] : []),
    ["CHANNEL", ({ channel = "" }) => channel],
    ["VERSION", versionCell],
    ...(installed && items.some((one) => isInstalled(one, installed)) ? [installedColumn(installed)] : []),
    ["DESCRIPTION", descriptionCell],
  ];
  return formatMatches(terminal, columns, items);
}

function wideTable(terminal: Terminal, items: readonly PackageMatch[], installed: readonly InstalledExtension[] | undefined): string {
  if (items.length === 0) return "";
  const columns: Column[] = [
    ["PACKAGE", nameCell],
    ["CATALOG", ({ catalog }) => catalog],
    ["CHANNEL", ({ channel = "" }) => channel],
    ["VERSION", versionCell],
    ...(installed ? [installedColumn(installed)] : []),
    ...(items.some(({ installable }) => installable !== undefined) ? [["INSTALLABLE", installableCell] satisfies Column] : []),
    ["PROVIDER", ({ provider = "" }) => provider],
    ["CAPABILITY", ({ capability = "" }) => capability],
    ...(items.some(({ support }) => support) ? [["SUPPORT", supportCell] satisfies Column] : []),
    ["ARCH", ({ architectures }) => architectures.join(",")],
    ["KINDS", ({ kinds }) => kinds.join(",")],
    ["DESCRIPTION", descriptionCell],
  ];
  return formatMatches({ colour: terminal.colour, width: Math.max(terminal.width, WIDE) }, columns, items);
}

type Column = readonly [head: string, cell: (found: PackageMatch) => Cell];

function formatMatches(terminal: Pick<Terminal, "width" | "colour">, columns: readonly Column[], items: readonly PackageMatch[]): string {
  return formatTable(
    terminal,
    columns.map(([head]) => head),
    items.map((one) => columns.map(([, cell]) => cell(one))),
  );
}

function nameCell({ package: name, deprecated }: PackageMatch): Cell {
  return deprecated === undefined ? { text: name, mood: "strong" } : { text: name, mood: "warning" };
}

function versionCell({ version, bundle }: PackageMatch): Cell {
  return version ?? bundle;
}

function descriptionCell({ deprecated, description, displayName = "" }: PackageMatch): Cell {
  const text = description ?? displayName;
  return deprecated === undefined ? text : { text: `(deprecated) ${text}`, mood: "faint" };
}

function installableCell({ installable, hindrances = [] }: PackageMatch): Cell {
  if (installable === undefined) return "";
  return installable ? { text: "yes", mood: "good" } : { text: `no: ${hindrances.join("; ")}`, mood: "warning" };
}

function supportCell({ support }: PackageMatch): Cell {
  return describeSupport(support);
}

function isInstalled(found: PackageMatch, installed: readonly InstalledExtension[]): boolean {
  return installed.some((one) => one.package === found.package);
}

function installedColumn(installed: readonly InstalledExtension[]): Column {
  return [
    "INSTALLED",
    (found) => {
      const versions = installed.filter((one) => one.package === found.package).map(({ version }) => version);
      return { text: [...new Set(versions)].join(","), mood: "good" };
    },
  ];
}
