import { bundleVersion, ownVersion } from "../../fbc/bundleOrder.ts";
import { packageContentsFrom } from "../../fbc/content.ts";
import { mermaidGraph } from "../../fbc/graph/mermaid.ts";
import type { Meta } from "../../fbc/types.ts";

/** The update graphs of a catalog as a Mermaid diagram, in which updates that OLM v0 does not make are struck out, as opm draws templates. */
export function templateGraph(metas: readonly Meta[]): string {
  const contents = packageContentsFrom(metas.filter(({ schema }) => schema !== "olm.bundle"));
  const versions = new Map(
    metas.filter(({ schema }) => schema === "olm.bundle").map((meta) => [meta.name, ownVersion(meta.blob) ?? bundleVersion("")]),
  );
  const sources = [...contents].map(([name, { package: own, channels, deprecations }]) => ({
    package: name,
    defaultChannel: own?.defaultChannel,
    channels,
    versions,
    deprecations,
  }));
  return mermaidGraph(sources, { v0Semantics: true });
}
