/** Returns the level of each object: 0 without owners in the backup, otherwise one more than its owners. Objects of a cycle are in some order. */
export function computeLevels(owners: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const levels = new Map<string, number>();
  let waiting = [...owners.keys()];
  for (let level = 0; waiting.length > 0; level++) {
    const isReady = (uid: string): boolean =>
      (owners.get(uid) ?? []).every((owner) => !owners.has(owner) || (levels.get(owner) ?? level) < level);
    const ready = waiting.filter(isReady);
    // Without progress, the rest owns each other.
    for (const uid of ready.length > 0 ? ready : waiting) levels.set(uid, level);
    waiting = waiting.filter((uid) => !levels.has(uid));
  }
  return levels;
}
