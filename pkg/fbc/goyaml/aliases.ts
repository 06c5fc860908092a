import { YAMLException } from "js-yaml";

/** So many characters and values may aliases add to a document; real ones add none. */
const MAX_GROWTH = 16_000_000;
interface Measure {
  /** Characters and values when every alias is written out. */
  size: number;
  /** Levels of nesting. */
  height: number;
}

/**
 * Refuses a document that is small as text and huge when its aliases are written out, and one that contains itself. What is shared is
 * measured once, so this costs as much as the text.
 * @param limits length of the text, and the levels of nesting allowed.
 * @throws YAMLException
 */
export function checkAliases(document: unknown, limits: { length: number; maxDepth: number }): void {
  const most = limits.length + MAX_GROWTH;
  const { maxDepth } = limits;
  const known = new Map<object, Measure | "open">();
  const measure = (value: unknown, depth: number): Measure => {
    if (typeof value !== "object" || value === null) return { size: 1 + (typeof value === "string" ? value.length : 0), height: 0 };
    const before = known.get(value);
    if (before === "open") throw new YAMLException("an anchor's value contains itself");
    if (depth + (before?.height ?? 0) > maxDepth) throw new YAMLException(`nested deeper than ${maxDepth} with its aliases written out`);
    if (before) return before;
    known.set(value, "open");
    const all: Measure = { size: 1, height: 0 };
    for (const member of Object.values(value)) {
      const { size, height } = measure(member, depth + 1);
      all.size += size;
      all.height = Math.max(all.height, height + 1);
      if (all.size > most) throw new YAMLException("document contains excessive aliasing");
    }
    known.set(value, all);
    return all;
  };
  measure(document, 0);
}
