import { goQuote } from "../../golang/quote.ts";
import { headOf } from "../channelOrder.ts";
import { entriesOf, withEdges } from "../entry.ts";
import { EditError, type PackageEdit } from "../packageEdit.ts";
import { changeEntry, channelsWith } from "./edges.ts";

/**
 * Lets a newer bundle take the place of a bad one: it skips the bad one, and where it replaced that, it replaces what the bad one did. Clusters that
 * have the bad one leave it, and no other cluster comes to it.
 * @param by the newer one; by default the head of each channel that has the bad one.
 * @throws EditError
 */
export function skip(edit: PackageEdit, bad: string, by?: string, channel?: string): void {
  if (bad === by) throw new EditError(`${goQuote(bad)} cannot skip itself`);
  for (const document of channelsWith(edit, by ?? bad, channel)) {
    const entries = entriesOf(document.blob);
    const newer = by ?? headOf(entries, edit.versions);
    if (newer === undefined) throw new EditError(`channel ${goQuote(document.name)} has no head; say with --by what skips ${goQuote(bad)}`);
    if (newer === bad)
      throw new EditError(
        `${goQuote(bad)} is the head of channel ${goQuote(document.name)}; release another bundle that replaces it, or say with --by what skips it`,
      );
    const badEntry = entries.find(({ name }) => name === bad);
    changeEntry(edit, document, newer, (entry) => {
      const replaces = entry.replaces === bad ? badEntry?.replaces : entry.replaces;
      return withEdges(entry, { replaces, skips: [...new Set([...entry.skips, bad])] });
    });
  }
}
