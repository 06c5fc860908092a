/** What the place of a bundle in a channel depends on. */
export interface GraphEntry {
  readonly name: string;
  readonly replaces?: string | undefined;
  readonly skips: readonly string[];
}

/**
 * The bundles of a channel that nothing in it replaces or skips, sorted; `skipRange` does not count. A sound channel has exactly one. A channel
 * whose entries all follow each other in a circle has none.
 * @see operator-registry alpha/model/model.go, Channel.Head
 */
export function channelHeads(entries: readonly GraphEntry[]): string[] {
  const followed = new Set<string>();
  for (const { replaces, skips } of entries) {
    if (replaces !== undefined) followed.add(replaces);
    for (const skipped of skips) followed.add(skipped);
  }
  return [...new Set(entries.flatMap(({ name }) => (followed.has(name) ? [] : [name])))].sort();
}
