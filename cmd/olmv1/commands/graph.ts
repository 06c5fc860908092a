import { findBundleByText, findFirst, formatMissingChannel, type PackageInCatalog } from "../../../pkg/browse/packageView.ts";
import { toBundleVersion } from "../../../pkg/fbc/bundleOrder.ts";
import { renderDot } from "../../../pkg/fbc/graph/dot.ts";
import { buildGraphTree, type TreeLine } from "../../../pkg/fbc/graph/graphTree.ts";
import { renderMermaid } from "../../../pkg/fbc/graph/mermaid.ts";
import { selectReachable } from "../../../pkg/fbc/graph/subgraph.ts";
import { renderSvg } from "../../../pkg/fbc/graph/svg.ts";
import { buildUpdateGraph, type GraphSource, GraphTooLargeError } from "../../../pkg/fbc/graph/updateGraph.ts";
import { writeExactJson } from "../../../pkg/golang/json.ts";
import { listInstalledExtensions } from "../../../pkg/rollout/extensions.ts";
import { toOneLine } from "../../../pkg/text/escape.ts";
import type { CatalogReadOptions } from "../cli/catalogOptions.ts";
import { measureWidth, truncateColumns } from "../cli/columns.ts";
import { withPackage } from "../cli/openCatalogs.ts";
import { formatStyled } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Formats of a graph; the first is the default. */
export type GraphForm = "tree" | "mermaid" | "dot" | "svg" | "json";

/** Options of `olmv1 graph`. */
export interface GraphOptions extends CatalogReadOptions {
  channel: string[];
  from?: string;
  installed?: string;
  output: GraphForm;
}

/** Runs `olmv1 graph`. */
export async function runGraph(terminal: Terminal, name: string, options: GraphOptions): Promise<void> {
  await withPackage(terminal, name, options, async (all, { client, signal }) => {
    const meant = options.from ?? options.installed;
    const { found } = findFirst(all, (one) => (meant === undefined ? undefined : findBundleByText(one, meant)));
    const others = all.filter((one) => one !== found);
    const installed = await installedNames(found, options, listInstalledExtensions(client, signal));
    const source = readSource(found, options, installed);
    try {
      terminal.out(formatGraph(terminal, options.from === undefined ? source : from(source, found, options.from), options.output));
    } catch (err) {
      if (err instanceof GraphTooLargeError && options.channel.length === 0)
        throw new Error(`${err.message}; select one channel with --channel`, { cause: err });
      throw err;
    }
    if (others.length > 0 && options.output === "tree")
      terminal.err(
        `olmv1: package from catalog ${found.catalog}; also in ${others.map(({ catalog }) => catalog).join(", ")}: select one with --catalog\n`,
      );
  });
}

/** Returns extensions by the name of their installed bundle; empty with --installed. */
async function installedNames(
  found: PackageInCatalog,
  { installed }: GraphOptions,
  reading: ReturnType<typeof listInstalledExtensions>,
): Promise<Map<string, string[]>> {
  if (installed !== undefined) return new Map([[findBundleByText(found, installed).name, []]]);
  const names = new Map<string, string[]>();
  for (const one of (await reading) ?? []) {
    if (one.package === found.name) names.set(one.bundle, [...(names.get(one.bundle) ?? []), one.extension]);
  }
  return names;
}

function readSource(
  { name, content, facts }: PackageInCatalog,
  { channel }: GraphOptions,
  installed: ReadonlyMap<string, readonly string[]>,
): GraphSource {
  const unknown = channel.find((one) => !content.channels.some((own) => own.name === one));
  if (unknown !== undefined)
    throw new Error(
      formatMissingChannel(
        name,
        unknown,
        content.channels.map((one) => one.name),
      ),
    );
  const versions = facts.bundles.flatMap(({ name: bundle, version, release }) =>
    version === undefined ? [] : [[bundle, toBundleVersion(version, release)] as const],
  );
  return {
    package: name,
    defaultChannel: content.package?.defaultChannel,
    channels: channel.length === 0 ? content.channels : content.channels.filter((own) => channel.includes(own.name)),
    versions: new Map(versions),
    deprecations: content.deprecations,
    installed,
  };
}

function from(source: GraphSource, found: PackageInCatalog, version: string): GraphSource {
  const { name } = findBundleByText(found, version);
  const reachable = selectReachable(source, name);
  if (reachable.channels.length === 0) throw new Error(`no selected channel contains ${name}`);
  return reachable;
}

function formatGraph(terminal: Terminal, source: GraphSource, form: GraphForm): string {
  if (form === "mermaid") return renderMermaid([source], { marks: true });
  const drawn = buildUpdateGraph(source);
  switch (form) {
    case "dot":
      return renderDot(drawn);
    case "svg":
      return renderSvg(drawn);
    case "json":
      return `${writeExactJson(drawn, 2)}\n`;
    case "tree":
    default:
      return buildGraphTree(drawn)
        .map((line) => treeLine(terminal, line))
        .join("");
  }
}

/** Formats a line that fits the terminal; truncates the last marks if necessary. */
function treeLine(terminal: Terminal, { drawing, text, marks, kind }: TreeLine): string {
  const start = `${drawing}${toOneLine(text)}`;
  const first = kind === "channel" ? "\n" : "";
  const mood = kind === "note" ? "faint" : kind === "bundle" ? undefined : "strong";
  let room = terminal.width - measureWidth(start);
  const shown = marks.flatMap((mark) => {
    const whole = `  ${toOneLine(mark.text)}`;
    const cut = truncateColumns(whole, Math.max(room, 0));
    room -= measureWidth(cut);
    return cut.trim() === "" || cut.trim() === "…" ? [] : [formatStyled(terminal, { text: cut, mood: mark.mood })];
  });
  return `${first}${formatStyled(terminal, { text: truncateColumns(start, terminal.width), mood })}${shown.join("")}\n`;
}
