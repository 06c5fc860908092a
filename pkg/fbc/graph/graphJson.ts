import { BoundedText } from "./boundedText.ts";
import { GRAPH_LIMITS, type UpdateGraph } from "./updateGraph.ts";

/** The update graph of a package as JSON with a newline, written piece by piece. @throws GraphTooLargeError beyond `maxBytes`. */
export function graphJson({ channels, ...head }: UpdateGraph, maxBytes: number = GRAPH_LIMITS.bytes): string {
  const out = new BoundedText(maxBytes);
  const list = (name: string, values: readonly unknown[]): void => {
    out.add(`,"${name}":[`);
    for (const [at, value] of values.entries()) out.add(`${at > 0 ? "," : ""}${JSON.stringify(value)}`);
    out.add("]");
  };
  out.add(`${JSON.stringify(head).slice(0, -1)},"channels":[`);
  for (const [at, { nodes, edges, ranges, ...channel }] of channels.entries()) {
    out.add(`${at > 0 ? "," : ""}${JSON.stringify(channel).slice(0, -1)}`);
    list("nodes", nodes);
    list("edges", edges);
    list("ranges", ranges);
    out.add("}");
  }
  out.add("]}\n");
  return out.text;
}
