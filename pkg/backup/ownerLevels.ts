/** Real custom resources have a few levels. Users of a namespace could create chains of any length, and each level reads the backup again. */
const LAST_LEVEL = 31;

/**
 * Returns the level of each object, from 0 to 31: 0 without owners in the backup, otherwise one more than its owners. Objects of a cycle, or of a longer
 * chain, share a level.
 */
export function computeLevels(owners: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const levels = new Map<string, number>();
  let waiting = [...owners.keys()];
  for (let level = 0; waiting.length > 0; level++) {
    const isReady = (uid: string): boolean =>
      (owners.get(uid) ?? []).every((owner) => !owners.has(owner) || (levels.get(owner) ?? level) < level);
    const ready = waiting.filter(isReady);
    // Without progress, the rest owns each other.
    for (const uid of ready.length > 0 && level < LAST_LEVEL ? ready : waiting) levels.set(uid, level);
    waiting = waiting.filter((uid) => !levels.has(uid));
  }
  return levels;
}
