import { compareText } from "../../../pkg/text/compare.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { packageContent } from "../../../pkg/fbc/content.ts";
import { closestNames } from "../../../pkg/fbc/summary/search.ts";
import { type BundleFacts, newestFirst, PackageFacts } from "../../../pkg/fbc/summary/packageFacts.ts";
import type { Meta, PackageContent } from "../../../pkg/fbc/types.ts";
import { compareNewestFirst } from "../../../pkg/fbc/bundleOrder.ts";
import { candidatesFrom } from "../../../pkg/resolve/candidates.ts";
import { candidatesMeant } from "../../../pkg/resolve/whyNot.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { SourceOptions } from "./sourceOptions.ts";
import { type OpenCatalog, type OpenCatalogs, withCatalogs } from "./withCatalogs.ts";

/** A package as one catalog has it. */
export interface PackageIn {
  readonly catalog: string;
  readonly priority: number;
  readonly name: string;
  readonly metas: readonly Meta[];
  readonly content: PackageContent;
  readonly facts: PackageFacts;
  /** Highest version first. */
  readonly bundles: readonly BundleFacts[];
}

/** Versions that an error names. */
const MAX_SHOWN = 5;
const NO_HASH = Buffer.alloc(0);

/**
 * What `work` makes of a package, as each catalog has it: by falling priority, then by the catalog's name; at least one.
 * @throws Error where no catalog has it, with the names that may have been meant, or what one says of it cannot be read.
 */
export function withPackage<T>(
  terminal: Terminal,
  name: string,
  options: SourceOptions,
  work: (found: readonly [PackageIn, ...PackageIn[]], open: OpenCatalogs) => Promise<T>,
): Promise<T> {
  return withCatalogs(terminal, options, async (open) => {
    const all = await Promise.all(open.catalogs.map((catalog) => packageIn(catalog, name)));
    const [first, ...others] = all.flatMap((one) => one ?? []);
    if (!first) throw new Error(absentText(name, open));
    return work([first, ...others], open);
  });
}

async function packageIn({ name: catalog, priority, book }: OpenCatalog, name: string): Promise<PackageIn | undefined> {
  const metas = await book.metasOf(name);
  if (metas.length === 0) return undefined;
  const facts = new PackageFacts(name);
  for (const meta of metas) facts.add(meta, NO_HASH);
  try {
    return { catalog, priority, name, metas, content: packageContent(metas, name), facts, bundles: newestFirst(facts.bundles) };
  } catch (err) {
    throw wrapError(`catalog ${goQuote(catalog)}: `, err);
  }
}

function absentText(name: string, { catalogs }: OpenCatalogs): string {
  const where = catalogs.length === 1 ? `catalog ${catalogs[0]?.name}` : `catalogs ${catalogs.map((one) => one.name).join(", ")}`;
  const near = closestNames(name, [...new Set(catalogs.flatMap(({ book }) => book.names()))]);
  const hint = near.length > 0 ? `did you mean ${near.join(" or ")}?` : "olmv1 search finds packages by words";
  return `there is no package ${goQuote(name)} in ${where}; ${hint}`;
}

/** The bundle that a text means: one of that version, with or without release, or of that name. @throws Error that names the versions there are. */
export function bundleMeant({ name, bundles, content, catalog }: PackageIn, text: string): BundleFacts {
  const [meant] = candidatesMeant(candidatesFrom(content, new Set()), text).sort(compareNewestFirst);
  const found = bundles.find((bundle) => bundle.name === meant?.bundle.name);
  if (found) return found;
  const shown = bundles.slice(0, MAX_SHOWN).map(({ name: own, version }) => version ?? own);
  const more = bundles.length > MAX_SHOWN ? ", …" : "";
  throw new Error(
    `package ${goQuote(name)} has no version ${goQuote(text)} in catalog ${catalog}; the newest are ${shown.join(", ")}${more}`,
  );
}

/** The head of a channel, the newest of several. @throws Error where there is no such channel, naming those there are. */
export function headOf({ name, facts, bundles }: PackageIn, channel: string): BundleFacts | undefined {
  const found = facts.channels.find((one) => one.name === channel);
  if (!found)
    throw new Error(
      noChannel(
        name,
        channel,
        facts.channels.map((one) => one.name),
      ),
    );
  const heads = new Set(found.heads);
  return bundles.find((bundle) => heads.has(bundle.name));
}

/** What is said of a channel that there is not. */
export function noChannel(packageName: string, channel: string, channels: readonly string[]): string {
  return `package ${goQuote(packageName)} has no channel ${goQuote(channel)}; there ${channels.length === 1 ? "is" : "are"} ${channels.toSorted(compareText).join(", ")}`;
}

/** The package in the first catalog for which `ask` does not throw. @throws what it throws for the first, where it does for all. */
export function firstWith<T>(all: readonly [PackageIn, ...PackageIn[]], ask: (one: PackageIn) => T): { found: PackageIn; asked: T } {
  for (const found of all) {
    try {
      return { found, asked: ask(found) };
    } catch {
      // the next may have it
    }
  }
  return { found: all[0], asked: ask(all[0]) };
}
