import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import type { Terminal } from "./terminal.ts";

/** Prints on standard error each catalog that a command left out, and why. */
export function printLeftOutCatalogs(
  terminal: Terminal,
  catalogs: readonly { readonly catalog: string; readonly because: string }[],
): void {
  for (const { catalog, because } of catalogs) terminal.err(`olmv1: catalog ${escapeControlCharacters(catalog)} is left out: ${escapeControlCharacters(because)}\n`);
}
