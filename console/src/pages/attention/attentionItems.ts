import type { Attention, CatalogRow, ExtensionRow, MoodText } from "../../../../pkg/consoleapi/live.ts";

/** An extension or catalog that needs attention. */
export interface AttentionItem {
  readonly kind: "extension" | "catalog";
  readonly name: string;
  readonly to: string;
  readonly state: MoodText;
  readonly since: string | undefined;
  readonly attention: Attention;
}

/** Numbers of extensions and catalogs by severity. */
export type AttentionCounts = Readonly<Record<Attention["severity"] | "fine", number>>;

const SEVERITIES: readonly Attention["severity"][] = ["error", "warning", "info"];

/** Lists what needs attention: the most severe first, then the newest. */
export function listAttention(extensions: Iterable<ExtensionRow>, catalogs: Iterable<CatalogRow>): AttentionItem[] {
  const items: AttentionItem[] = [];
  for (const { name, state, changed, attention } of extensions)
    if (attention) items.push({ kind: "extension", name, to: `/extensions/${name}`, state, since: changed, attention });
  for (const { name, state, attention } of catalogs)
    if (attention) items.push({ kind: "catalog", name, to: `/catalogs/${name}`, state, since: undefined, attention });
  const rank = ({ attention }: AttentionItem): number => SEVERITIES.indexOf(attention.severity);
  return items.sort((a, b) => rank(a) - rank(b) || (b.since ?? "").localeCompare(a.since ?? "") || a.name.localeCompare(b.name));
}

/** Counts extensions and catalogs by severity. */
export function countAttention(items: readonly AttentionItem[], all: number): AttentionCounts {
  const count = (severity: Attention["severity"]): number => items.filter(({ attention }) => attention.severity === severity).length;
  return { error: count("error"), warning: count("warning"), info: count("info"), fine: all - items.length };
}

/** A change that is due for an extension. */
export interface DueChange {
  readonly name: string;
  readonly kind: "approval" | "update" | "endOfSupport";
  readonly version: string;
  readonly to: string;
}

/** Lists the changes that are due: approvals first, then updates, then the end of support. */
export function listDueChanges(extensions: Iterable<ExtensionRow>): DueChange[] {
  const approvals: DueChange[] = [];
  const updates: DueChange[] = [];
  const ends: DueChange[] = [];
  for (const { name, pendingPlan, hasUpdate, update, deprecated } of extensions) {
    if (pendingPlan !== undefined) approvals.push({ name, kind: "approval", version: update.text, to: `/extensions/${name}/plan` });
    else if (hasUpdate) updates.push({ name, kind: "update", version: update.text, to: `/extensions/${name}/why` });
    if (deprecated) ends.push({ name, kind: "endOfSupport", version: "", to: `/extensions/${name}` });
  }
  return [...approvals, ...updates, ...ends];
}
