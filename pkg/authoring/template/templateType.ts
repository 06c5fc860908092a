import { readOwnVersion, toBundleVersion } from "../../fbc/bundleOrder.ts";
import { groupByPackage } from "../../fbc/content.ts";
import { renderMermaid } from "../../fbc/graph/mermaid.ts";
import type { Meta } from "../../fbc/types.ts";
import { getTextMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { BASIC_SCHEMA, parseTemplate } from "./basicTemplate.ts";
import { SEMVER_SCHEMA } from "./semverTemplate.ts";
import { SUBSTITUTES_SCHEMA } from "./substitutesTemplate.ts";

/** Types of templates. */
export const TEMPLATE_TYPES = ["basic", "semver", "substitutes"] as const;
export type TemplateType = (typeof TEMPLATE_TYPES)[number];

const TYPES: ReadonlyMap<string, TemplateType> = new Map([
  [BASIC_SCHEMA, "basic"],
  [SEMVER_SCHEMA, "semver"],
  [SUBSTITUTES_SCHEMA, "substitutes"],
]);

/** Parses a template type. @throws Error `invalid template type …`. */
export function parseTemplateType(text: string): TemplateType {
  const type = TEMPLATE_TYPES.find((known) => known === text);
  if (type === undefined) throw new Error(`invalid template type ${goQuote(text)}, must be one of: [${TEMPLATE_TYPES.join(" ")}]`);
  return type;
}

/** Detects the type of a template from its schema. @throws Error if the schema is missing or unknown. */
export function detectTemplateType(text: string): TemplateType {
  const schema = getTextMember(parseTemplate(text), "schema");
  if (schema === "") throw new Error("template input missing required 'schema' field");
  const type = TYPES.get(schema);
  if (type === undefined) throw new Error(`unknown template schema: ${schema}`);
  return type;
}

/** Draws the upgrade graphs of a catalog as a Mermaid diagram, like opm does for templates. Draws upgrades that OLM v0 does not use in red. */
export function drawTemplateGraph(metas: readonly Meta[]): string {
  const contents = groupByPackage(metas.filter(({ schema }) => schema !== "olm.bundle"));
  const versions = new Map(
    metas.filter(({ schema }) => schema === "olm.bundle").map((meta) => [meta.name, readOwnVersion(meta.blob) ?? toBundleVersion("")]),
  );
  const sources = [...contents].map(([name, { package: own, channels, deprecations }]) => ({
    package: name,
    defaultChannel: own?.defaultChannel,
    channels,
    versions,
    deprecations,
  }));
  return renderMermaid(sources, { v0Semantics: true });
}
