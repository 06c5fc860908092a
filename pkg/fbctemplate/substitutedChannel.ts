import type { JsonObject } from "../api/k8s.ts";
import { listMember, objectMembers, textMember } from "../fbc/members.ts";
import type { ChannelEntry, Meta } from "../fbc/types.ts";

/**
 * A channel with `substitute` in the place of `base`: it takes over what base updates, and skips base; who replaced or skipped base now does so with the
 * substitute, too. A channel without base stays as it is.
 * @see catalog-and-resolution.md 5.7; operator-registry v1.73 alpha/template/substitutes
 */
export function substitutedChannel(channel: Meta, base: string, substitute: string): Meta {
  const entries = objectMembers(channel.blob, "entries").map(entryFrom);
  const replaced = entries.find(({ name }) => name === base);
  if (!replaced) return channel;
  const { replaces, skips = [], skipRange } = replaced;
  const added = entry({ name: substitute, replaces, skips: [...skips, base], skipRange });
  const changed = entries.map((one) => (one === replaced ? { name: base } : redirected(one, base, substitute)));
  return { ...channel, blob: { ...channel.blob, entries: [...changed, added] } };
}

function redirected({ name, replaces, skips = [], skipRange }: ChannelEntry, base: string, substitute: string): ChannelEntry {
  if (replaces === base) return entry({ name, replaces: substitute, skips: [...skips, base], skipRange });
  if (!skips.includes(base)) return entry({ name, replaces, skips, skipRange });
  return entry({ name, replaces, skips: [...skips.filter((skip) => skip !== base), substitute], skipRange });
}

function entryFrom(object: JsonObject): ChannelEntry {
  const skips = listMember(object, "skips").filter((skip): skip is string => typeof skip === "string");
  return entry({
    name: textMember(object, "name"),
    replaces: textMember(object, "replaces"),
    skips,
    skipRange: textMember(object, "skipRange"),
  });
}

/** Without what is empty. */
function entry(given: {
  name: string;
  replaces?: string | undefined;
  skips: readonly string[];
  skipRange?: string | undefined;
}): ChannelEntry {
  const { name, replaces = "", skips, skipRange = "" } = given;
  return {
    name,
    ...(replaces === "" ? {} : { replaces }),
    ...(skips.length === 0 ? {} : { skips: [...skips] }),
    ...(skipRange === "" ? {} : { skipRange }),
  };
}
