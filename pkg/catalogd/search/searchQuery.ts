import { featureName } from "../../fbc/summary/bundleSummary.ts";

/** What is searched for; an absent or empty member does not restrict. What can be repeated: of packages and channels any, of the rest all must match. */
export interface SearchParameters {
  text?: string | undefined;
  package?: readonly string[] | undefined;
  gvk?: readonly string[] | undefined;
  keyword?: readonly string[] | undefined;
  channel?: readonly string[] | undefined;
  arch?: readonly string[] | undefined;
  os?: readonly string[] | undefined;
  feature?: readonly string[] | undefined;
  capability?: string | undefined;
  deprecated?: boolean | undefined;
}

/** Parameters ready to be compared: in small letters where case does not count. */
export interface SearchQuery {
  readonly words: readonly string[];
  readonly packages: ReadonlySet<string> | undefined;
  readonly apis: readonly ApiPattern[];
  readonly keywords: readonly string[];
  readonly channels: ReadonlySet<string> | undefined;
  readonly architectures: readonly string[];
  readonly operatingSystems: readonly string[];
  readonly features: readonly string[];
  readonly capability: string | undefined;
  readonly deprecated: boolean | undefined;
}

/** An API of which parts may be left open. */
export interface ApiPattern {
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
}

const MAX_TEXT_WORDS = 16;

/**
 * The parameters ready to be compared.
 * @throws Error that says what is wrong with which parameter.
 */
export function searchQuery(parameters: SearchParameters): SearchQuery {
  const { text = "", capability, deprecated } = parameters;
  const words = small(text.split(/\s+/)).filter((word) => word !== "");
  if (words.length > MAX_TEXT_WORDS) throw new Error(`text: at most ${MAX_TEXT_WORDS} words, got ${words.length}`);
  return {
    words: [...new Set(words)],
    packages: setOf(parameters.package),
    apis: (parameters.gvk ?? []).map(apiPattern),
    keywords: small(parameters.keyword),
    channels: setOf(parameters.channel),
    architectures: small(parameters.arch),
    operatingSystems: small(parameters.os),
    features: (parameters.feature ?? []).map(featureName),
    capability: capability?.toLowerCase(),
    deprecated,
  };
}

/** `group/version/kind`, `kind.group` or `kind`, in small letters. @throws Error for anything else. */
export function apiPattern(text: string): ApiPattern {
  const pieces = text.toLowerCase().split("/");
  if (pieces.length === 3) {
    const [group = "", version = "", kind = ""] = pieces;
    if (version !== "" && kind !== "") return { group, version, kind };
  } else if (pieces.length === 1) {
    const [only = ""] = pieces;
    const dot = only.indexOf(".");
    if (dot < 0 && only !== "") return { kind: only };
    if (dot > 0 && dot < only.length - 1) return { kind: only.slice(0, dot), group: only.slice(dot + 1) };
  }
  throw new Error(`gvk: ${JSON.stringify(text)} is none of group/version/kind, kind.group and kind`);
}

function small(texts: readonly string[] = []): string[] {
  return texts.map((text) => text.toLowerCase());
}

function setOf(texts: readonly string[] | undefined): ReadonlySet<string> | undefined {
  return texts && texts.length > 0 ? new Set(texts) : undefined;
}
