import { type StabilityLevel, SURFACE_KINDS, type SurfaceKind } from "./stabilityLevels.ts";

/** A part of the public surface that users may depend on. */
export interface SurfaceItem {
  readonly kind: SurfaceKind;
  /** Unique within its kind, without backquotes or line ends. */
  readonly name: string;
  readonly level: StabilityLevel;
  /** What must not change, such as its type; empty if only the name matters. Parts are separated by `, `; alternatives by ` | `. */
  readonly shape: string;
}

/** A change that can break users of a beta or stable part. */
export interface BreakingChange {
  readonly kind: SurfaceKind;
  readonly name: string;
  readonly text: string;
}

const RANK: Readonly<Record<StabilityLevel, number>> = { alpha: 0, beta: 1, stable: 2 };
const LINE = /^- `([^`]+)`: (alpha|beta|stable)(?:; (.+))?$/;

/** Words with a meaning in a shape: a field or option must be set, or an argument may be omitted. */
const REQUIRED = "required";
const OPTIONAL = "optional ";

/** Formats the list of all parts: a section for each kind, and a line for each part. `parseSurface` reads it. */
export function formatSurface(items: readonly SurfaceItem[]): string {
  const byKind = Map.groupBy(items, ({ kind }) => kind);
  return SURFACE_KINDS.flatMap((kind) => {
    const lines = (byKind.get(kind) ?? []).map(({ name, level, shape }) => `- \`${name}\`: ${level}${shape === "" ? "" : `; ${shape}`}`);
    return lines.length === 0 ? [] : [`## ${kind}\n\n${lines.join("\n")}\n`];
  }).join("\n");
}

/** Reads the parts from a text that contains the result of `formatSurface`. Ignores all other lines. */
export function parseSurface(text: string): SurfaceItem[] {
  const items: SurfaceItem[] = [];
  let kind: SurfaceKind | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("## ")) kind = SURFACE_KINDS.find((one) => line === `## ${one}`);
    const [, name, level, shape = ""] = LINE.exec(line) ?? [];
    if (kind !== undefined && name !== undefined) items.push({ kind, name, level: level as StabilityLevel, shape });
  }
  return items;
}

/**
 * Returns the changes that can break users: beta or stable parts that are removed, that have a lower level, or whose shape differs. These changes of a
 * shape break no user: another alternative, a field that is no longer required, an argument that becomes optional, another optional argument, and another
 * query parameter. Alpha parts may change at any time.
 */
export function listBreakingChanges(before: readonly SurfaceItem[], after: readonly SurfaceItem[]): BreakingChange[] {
  const current = new Map(after.map((item) => [`${item.kind} ${item.name}`, item]));
  return before.flatMap((item) => {
    const { kind, name, level, shape } = item;
    if (level === "alpha") return [];
    const next = current.get(`${kind} ${name}`);
    if (!next) return [{ kind, name, text: `${name} (${level}) is removed` }];
    if (RANK[next.level] < RANK[level]) return [{ kind, name, text: `${name} is ${next.level}, and was ${level}` }];
    if (!isCompatible(item, next)) return [{ kind, name, text: `${name} (${level}) changes from "${shape}" to "${next.shape}"` }];
    return [];
  });
}

/**
 * Returns the changes that the newest section of the changelog does not announce: it must name each in backquotes under a heading that starts with
 * Breaking, Removed, Renamed or Changed.
 */
export function findUnannounced(changes: readonly BreakingChange[], changelog: string): BreakingChange[] {
  const [, newest = ""] = changelog.split(/^## /m);
  const announced = newest
    .split(/^### /m)
    .filter((section) => /^(Breaking|Removed|Renamed|Changed)\b/.test(section))
    .join("\n");
  const names = new Set([...announced.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  return changes.filter(({ name }) => !names.has(name) && !names.has(name.split(" ").at(-1)));
}

function isCompatible({ kind, shape: before }: SurfaceItem, { shape: after }: SurfaceItem): boolean {
  const next = splitShape(after);
  const isStillRequired = next.some(([word]) => word === REQUIRED);
  const old = splitShape(before).filter(([word]) => word !== REQUIRED || isStillRequired);
  const accepts = (part: readonly string[] = [], word: string): boolean => part.includes(word) || part.includes(OPTIONAL + word);
  if (!old.every((part, at) => part.every((word) => accepts(next[at], word)))) return false;
  return next.slice(old.length).every(([word = ""]) => kind === "Endpoints" || word.startsWith(OPTIONAL));
}

function splitShape(shape: string): string[][] {
  return shape === "" ? [] : shape.split(", ").map((part) => part.split(" | "));
}
