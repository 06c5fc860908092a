import { groupByInstalledBundle, readGraphSource } from "../../../pkg/browse/packageGraph.ts";
import { findBundleByText, findFirst } from "../../../pkg/browse/packageView.ts";
import { renderDot } from "../../../pkg/fbc/graph/dot.ts";
import { buildGraphTree, type TreeLine } from "../../../pkg/fbc/graph/graphTree.ts";
import { renderMermaid } from "../../../pkg/fbc/graph/mermaid.ts";
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
    const installed =
      options.installed === undefined
        ? groupByInstalledBundle(found.name, await listInstalledExtensions(client, signal))
        : new Map([[findBundleByText(found, options.installed).name, []]]);
    const source = readGraphSource(found, { channel: options.channel, from: options.from, installed });
    try {
      terminal.out(formatGraph(terminal, source, options.output));
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
