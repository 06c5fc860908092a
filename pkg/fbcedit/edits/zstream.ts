import { compareText } from "../../text/compare.ts";
import { goQuote } from "../../golang/quote.ts";
import { Schema } from "../../fbc/content.ts";
import { compareByVersion, type Versions, versionOf } from "../channelOrder.ts";
import { type EditedEntry, entriesOf, withEdges, withEntries } from "../entry.ts";
import { EditError, type PackageEdit } from "../packageEdit.ts";

/**
 * Makes the graph of channels such that every release of a minor version updates to the newest release of it, that one to the newest of the next
 * minor version, and every Operator, also one that only the old graph names, has a single replacement.
 * @throws EditError for an entry whose version is not known.
 * @see requirements.md S4-18
 */
export function zstream(edit: PackageEdit, channel?: string): void {
  edit.requirePackage();
  const documents = channel === undefined ? edit.all(Schema.channel) : [edit.require(Schema.channel, channel)];
  for (const document of documents) {
    const entries = entriesOf(document.blob);
    const lost = entries.filter(({ skipRange }) => skipRange !== undefined).map(({ name }) => name);
    if (lost.length > 0)
      edit.notes.push(
        `channel ${goQuote(document.name)}: the skipRange of ${lost.join(", ")} is gone: it gave versions a second replacement`,
      );
    edit.change(document, withEntries(document.blob, zstreamEntries(entries, edit.versions)));
  }
}

/** The entries, in their order, with the edges of a graph by minor versions. */
export function zstreamEntries(entries: readonly EditedEntry[], versions: Versions): EditedEntry[] {
  const names = entries.map(({ name }) => name);
  const absent = [...new Set(entries.flatMap(({ replaces = "", skips }) => [replaces, ...skips]))].filter(
    (name) => name !== "" && !names.includes(name),
  );
  const newest = newestByMinor(names, versions);
  const edges = new Map(newest.map((name, i) => [name, { replaces: newest[i - 1], skips: [] as string[], skipRange: undefined }]));
  const skippedBy = (name: string): string | undefined => {
    const minor = minorOf(name, versions);
    return newest.find((one) => minorOf(one, versions) === minor) ?? newest.find((one) => compareByVersion(one, name, versions) > 0);
  };
  for (const name of [...names, ...absent].toSorted((a, b) => compareByVersion(a, b, versions) || compareText(a, b))) {
    const by = skippedBy(name);
    if (by !== undefined && by !== name) edges.get(by)?.skips.push(name);
  }
  return entries.map((entry) => withEdges(entry, edges.get(entry.name) ?? { replaces: undefined, skips: [], skipRange: undefined }));
}

/** The newest release of each minor version, the oldest minor version first. */
function newestByMinor(names: readonly string[], versions: Versions): string[] {
  const newest = new Map<string, string>();
  for (const name of names) {
    const minor = minorOf(name, versions);
    if (minor === undefined) throw new EditError(`the version of ${goQuote(name)} is not known`);
    const other = newest.get(minor);
    if (other === undefined || compareByVersion(name, other, versions) > 0) newest.set(minor, name);
  }
  return [...newest.values()].sort((a, b) => compareByVersion(a, b, versions));
}

function minorOf(name: string, versions: Versions): string | undefined {
  const version = versionOf(name, versions)?.parsed?.version;
  return version && `${version.major}.${version.minor}`;
}
