import type { JsonObject } from "../api/k8s.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { members } from "../fbc/checks/shape.ts";
import { memberOf } from "../fbc/keys.ts";
import { objectMember, objectMembers, textMember } from "../fbc/members.ts";
import { strictYaml } from "./strictYaml.ts";

/** The schema of templates from which channels follow by version. */
export const SEMVER_SCHEMA = "olm.semver";
/** How stable bundles are, the least first. */
export const ARCHETYPES = ["candidate", "fast", "stable"] as const;
export type Archetype = (typeof ARCHETYPES)[number];
/** What a channel is made for. */
export type ChannelKind = "major" | "minor";

/** Which channels are made. */
export interface ChannelKinds {
  readonly major: boolean;
  readonly minor: boolean;
  /** Which of two channels becomes the default one where nothing else decides. */
  readonly preference: ChannelKind;
}

/** A template of schema olm.semver. */
export interface SemverTemplate {
  readonly kinds: ChannelKinds;
  /** Bundle images of each archetype, in their order. */
  readonly images: Readonly<Record<Archetype, readonly string[]>>;
}

const BUNDLES = members({ bundles: { list: members({ image: "text" }) } });
const SHAPE = members({
  schema: "text",
  generateMajorChannels: "boolean",
  generateMinorChannels: "boolean",
  defaultChannelTypePreference: "text",
  candidate: BUNDLES,
  fast: BUNDLES,
  stable: BUNDLES,
});

/**
 * Reads a template of schema olm.semver; names of members may be of any letter case.
 * @throws Error `render: unable to read file: …`.
 * @see catalog-and-resolution.md 5.9
 */
export function readSemverTemplate(text: string): SemverTemplate {
  try {
    const document = strictYaml(text, SHAPE);
    if (textMember(document, "schema") !== SEMVER_SCHEMA)
      throw new Error(`readFile: input file has unknown schema, should be ${goQuote(SEMVER_SCHEMA)}`);
    const images = Object.fromEntries(ARCHETYPES.map((archetype) => [archetype, imagesOf(document, archetype)]));
    return { kinds: kindsOf(document), images: images as Record<Archetype, string[]> };
  } catch (err) {
    throw new Error(`render: unable to read file: ${messageOf(err)}`, { cause: err });
  }
}

function imagesOf(document: JsonObject, archetype: Archetype): string[] {
  return objectMembers(objectMember(document, archetype) ?? {}, "bundles").map((bundle) => textMember(bundle, "image"));
}

function kindsOf(document: JsonObject): ChannelKinds {
  const major = memberOf(document, "generateMajorChannels") === true;
  const minor = memberOf(document, "generateMinorChannels") === true || !major;
  const asked = textMember(document, "defaultChannelTypePreference");
  if (asked === "") return { major, minor, preference: minor ? "minor" : "major" };
  if (asked !== "major" && asked !== "minor")
    throw new Error(`unknown DefaultChannelTypePreference: ${goQuote(asked)}\nValid values are 'major' or 'minor'`);
  if (asked === "minor" ? !minor : !major)
    throw new Error(
      `schema attribute mismatch: DefaultChannelTypePreference set to '${asked}' doesn't make sense if not generating ${asked}-version channels`,
    );
  return { major, minor, preference: asked };
}
