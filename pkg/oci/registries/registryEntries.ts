import { compareText } from "../../text/compare.ts";
import { formatList } from "../../text/lists.ts";
import { mergeMirrorOrder } from "./mirrorOrder.ts";
import { matchLength, type RegistryEntry, type RegistryMirror } from "./pullSources.ts";
import { MIRRORS_MAX, type MirrorSet, type RegistryProblem, type RegistryScopes } from "./registryObjects.ts";
import { formatLocation, listEnclosingScopes } from "./scopes.ts";

/** Most sources with mirrors in a cluster; the others are ignored, except that blocked sources stay blocked. */
export const SOURCES_MAX = 10_000;
const ORIGINS_SHOWN = 3;

/** The registries.conf of a cluster, and what has no effect in it. */
export interface ConvertedRegistries {
  /** sorted by prefix */
  readonly entries: readonly RegistryEntry[];
  readonly problems: readonly RegistryProblem[];
}

/** A registry entry under construction. */
interface Draft {
  readonly scope: string;
  readonly origins: Set<string>;
  isInsecure: boolean;
  isBlocked: boolean;
  mirrors: { readonly location: string; readonly use: MirrorSet["use"] }[];
}

/**
 * Converts the mirrors and registry sources of a cluster into entries of registries.conf, with the semantics of the Machine Config Operator:
 * - mirrors of the same source in several objects are merged; `NeverContactSource` in one of them blocks the source
 * - insecure and blocked registries also apply to entries for a part of them, because only the longest prefix counts
 * - an entry for a part of a mirrored source inherits its mirrors. Here the most specific source counts, as in the documentation of the kinds.
 * @see openshift/machine-config-operator 7ce171ca vendor/github.com/openshift/runtime-utils/pkg/registries EditRegistriesConfig
 */
export function toRegistryEntries(sets: readonly MirrorSet[], scopes: RegistryScopes | undefined): ConvertedRegistries {
  const problems: RegistryProblem[] = [];
  const drafts = new Map<string, Draft>();
  const draftOf = (scope: string, origin: string): Draft => {
    const draft = drafts.get(scope) ?? { scope, origins: new Set(), isInsecure: false, isBlocked: false, mirrors: [] };
    draft.origins.add(origin);
    drafts.set(scope, draft);
    return draft;
  };
  for (const use of ["digest-only", "tag-only"] as const) addMirrors(sets, use, { draftOf, problems });
  const { origin = "", insecure = [], blocked = [] } = scopes ?? {};
  for (const scope of [...blocked, ...insecure]) draftOf(scope, origin);
  const insecureScopes = new Set(insecure);
  const blockedScopes = new Set(blocked);
  const isInside = (scope: string, set: ReadonlySet<string>): boolean =>
    set.size > 0 && listEnclosingScopes(scope).some((enclosing) => set.has(enclosing));
  for (const draft of drafts.values()) {
    draft.isInsecure = isInside(draft.scope, insecureScopes);
    if (isInside(draft.scope, blockedScopes)) {
      draft.isBlocked = true;
      draft.origins.add(origin);
    }
  }
  const mirrored = new Map([...drafts].filter(([, { mirrors }]) => mirrors.length > 0));
  const entries = [...drafts.values()].flatMap((draft): RegistryEntry[] => {
    const { mirrors, from } = inherit(draft, mirrored);
    if (mirrors.length === 0 && !draft.isInsecure && !draft.isBlocked) return [];
    const entry: RegistryEntry = {
      prefix: draft.scope,
      location: draft.scope.startsWith("*.") ? "" : draft.scope,
      insecure: draft.isInsecure,
      blocked: draft.isBlocked,
      "mirror-by-digest-only": false,
      mirror: mirrors.map(
        ({ location, use }): RegistryMirror => ({ location, insecure: isInside(location, insecureScopes), "pull-from-mirror": use }),
      ),
      origin: formatList([...draft.origins, ...from].sort(compareText), { max: ORIGINS_SHOWN }),
    };
    return [entry];
  });
  return { entries: entries.sort((a, b) => compareText(a.prefix, b.prefix)), problems };
}

/** Adds the merged mirrors of each source. */
function addMirrors(
  sets: readonly MirrorSet[],
  use: MirrorSet["use"],
  to: { draftOf: (scope: string, origin: string) => Draft; problems: RegistryProblem[] },
): void {
  const bySource = new Map<string, MirrorSet[]>();
  for (const set of sets) {
    if (set.use !== use) continue;
    const same = bySource.get(set.source);
    if (same) same.push(set);
    else bySource.set(set.source, [set]);
  }
  const sources = [...bySource.keys()].sort(compareText);
  for (const [index, source] of sources.entries()) {
    const same = bySource.get(source) ?? [];
    const isOver = index >= SOURCES_MAX;
    if (index === SOURCES_MAX)
      to.problems.push({
        origin: same[0]?.origin ?? "",
        message: `the cluster has mirrors for ${sources.length} sources: only the first ${SOURCES_MAX} are used, up to ${formatLocation(source)}`,
      });
    const policies = new Set(same.map(({ isSourceBlocked }) => isSourceBlocked));
    if (isOver && !policies.has(true)) continue;
    const drafts = same.map(({ origin }) => to.draftOf(source, origin));
    const [draft] = drafts;
    if (!draft) continue;
    if (policies.has(true)) draft.isBlocked = true;
    if (policies.size > 1)
      to.problems.push({
        origin: formatList([...new Set(same.map(({ origin }) => origin))], { max: ORIGINS_SHOWN }),
        message: `mirrorSourcePolicy of source ${formatLocation(source)} differs: NeverContactSource is used`,
      });
    if (isOver) continue;
    const merged = mergeMirrorOrder(
      source,
      same.map(({ mirrors }) => mirrors),
    );
    draft.mirrors.push(...merged.slice(0, MIRRORS_MAX).map((location) => ({ location, use })));
  }
}

/** Returns the mirrors of an entry, or else those of the most specific source that contains it. */
function inherit(draft: Draft, mirrored: ReadonlyMap<string, Draft>): { mirrors: Draft["mirrors"]; from: readonly string[] } {
  if (draft.mirrors.length > 0) return { mirrors: draft.mirrors, from: [] };
  const [, ...enclosing] = listEnclosingScopes(draft.scope);
  const parent = enclosing.flatMap((scope) => mirrored.get(scope) ?? [])[0];
  const matched = parent ? matchLength(draft.scope, parent.scope) : -1;
  if (!parent || matched < 0) return { mirrors: [], from: [] };
  const rest = draft.scope.slice(matched);
  return { mirrors: parent.mirrors.map(({ location, use }) => ({ location: location + rest, use })), from: [...parent.origins] };
}
