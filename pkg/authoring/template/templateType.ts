import { bundleVersion, ownVersion } from "../../fbc/bundleOrder.ts";
import { packageContentsFrom } from "../../fbc/content.ts";
import { mermaidGraph } from "../../fbc/graph/mermaid.ts";
import type { Meta } from "../../fbc/types.ts";
import { textMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { BASIC_SCHEMA, templateDocument } from "./basicTemplate.ts";
import { SEMVER_SCHEMA } from "./semverTemplate.ts";
import { SUBSTITUTES_SCHEMA } from "./substitutesTemplate.ts";

/** The templates that there are. */
export const TEMPLATE_TYPES = ["basic", "semver", "substitutes"] as const;
export type TemplateType = (typeof TEMPLATE_TYPES)[number];

const TYPES: ReadonlyMap<string, TemplateType> = new Map([
  [BASIC_SCHEMA, "basic"],
  [SEMVER_SCHEMA, "semver"],
  [SUBSTITUTES_SCHEMA, "substitutes"],
]);

/** @throws Error `invalid template type …`. */
export function templateType(text: string): TemplateType {
  const type = TEMPLATE_TYPES.find((known) => known === text);
  if (type === undefined) throw new Error(`invalid template type ${goQuote(text)}, must be one of: [${TEMPLATE_TYPES.join(" ")}]`);
  return type;
}

/** The type of a template, as its schema says. @throws Error that says why it does not. */
export function detectTemplateType(text: string): TemplateType {
  const schema = textMember(templateDocument(text), "schema");
  if (schema === "") throw new Error("template input missing required 'schema' field");
  const type = TYPES.get(schema);
  if (type === undefined) throw new Error(`unknown template schema: ${schema}`);
  return type;
}

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
