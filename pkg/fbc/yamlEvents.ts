import { CHOMPING_MODE, EVENT_ID, type Event, SCALAR_STYLE, YAMLException } from "js-yaml";

const TAG_PREFIX = "tag:yaml.org,2002:";
const NO_RANGE = -1;
/** The tags that say what a scalar is; all others say nothing to Go, and neither does any tag of a list or mapping. */
const MEANT = new Set(["str", "int", "float", "bool", "null", "binary", "merge"]);

/**
 * Makes of what the parser found in `source` what Go's parser would have found: unknown tags mean text, those of lists and mappings nothing,
 * and a block scalar on a last line without newline has none either. Changes the events.
 * @returns whether there is an alias among them.
 * @throws YAMLException for a document of another version of YAML than 1.1.
 */
export function asGoReads(events: readonly Event[], source: string): boolean {
  let aliases = false;
  let last: Event | undefined;
  for (const event of events) {
    if (event.type === EVENT_ID.ALIAS) aliases = true;
    else if (event.type === EVENT_ID.DOCUMENT) {
      const version = event.directives.find((directive) => directive.kind === "yaml")?.version;
      if (version !== undefined && version !== "1.1") throw new YAMLException("found incompatible YAML document");
    } else if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING) {
      event.tagStart = event.tagEnd = NO_RANGE;
    } else if (event.type === EVENT_ID.SCALAR) {
      if (event.tagStart !== NO_RANGE && !isMeant(source.slice(event.tagStart, event.tagEnd))) event.tagEnd = event.tagStart + 1;
      last = event;
    }
  }
  if (last?.type !== EVENT_ID.SCALAR || /\s$/.test(source)) return aliases;
  const isBlock = last.style === SCALAR_STYLE.LITERAL_BLOCK || last.style === SCALAR_STYLE.FOLDED_BLOCK;
  if (isBlock && last.valueEnd >= source.length) last.chomping = CHOMPING_MODE.STRIP;
  return aliases;
}

/** @param tag as it is written. */
function isMeant(tag: string): boolean {
  if (tag.startsWith("!!")) return MEANT.has(tag.slice(2));
  if (tag.startsWith(`!<${TAG_PREFIX}`)) return MEANT.has(tag.slice(`!<${TAG_PREFIX}`.length, -1));
  return tag.indexOf("!", 1) > 0; // a handle that the document declares
}
