import { newProblem } from "../../api/problems.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatCanonical, parse } from "../../oci/reference.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { NAME_LENGTH, truncate } from "../../text/truncate.ts";
import { isSameVersion } from "../../version/version.ts";
import type { ReconcileStep, Resolved, ResolvedBundle } from "../state/phases.ts";
import type { Services } from "./services.ts";

/** The bundle to work towards, and what is to be said about the image that its catalog names. */
export interface PinnedImage {
  readonly bundle: ResolvedBundle;
  /** Set where the catalog names other content for what is installed. */
  readonly changed?: string;
}

/**
 * What of a resolved bundle counts when it is the installed one: content under one version is taken as it was installed, whatever the catalog
 * says of it by now.
 *
 * | the catalog names                        | is pulled                                      |
 * | another bundle, or none is installed     | what it names                                  |
 * | the reference that was installed         | the digest that was pulled, whatever a tag says |
 * | the same digest in another place         | that digest, from that place                   |
 * | anything else                            | what was installed, which is said              |
 */
export function keepInstalledImage(resolved: ResolvedBundle, installed: InstalledBundle | undefined): PinnedImage {
  if (!installed || !isSameBundle(resolved, installed)) return { bundle: resolved };
  const digest = installed.imageDigest ?? digestIn(installed.image);
  const isElsewhere = digest !== undefined && digestIn(resolved.image) === digest;
  const bundle: ResolvedBundle = {
    ...resolved,
    ...installed,
    release: installed.release,
    imageDigest: digest,
    pullFrom: byDigest(isElsewhere ? resolved.image : installed.image, digest),
  };
  if (isElsewhere || resolved.image === installed.image) return { bundle };
  const where = resolved.catalog === undefined ? "" : `catalog ${goQuote(resolved.catalog)} names `;
  return {
    bundle: { ...bundle, offered: resolved.image },
    changed: `${where}image ${quoteReference(resolved.image)} for bundle ${goQuote(resolved.name)} now: what was installed from ${quoteReference(installed.image)} stays, for content is not replaced under the same version`,
  };
}

/** Keeps the content of what is installed, and tells once what else the catalog says and what was disregarded in a choice. */
export function pinInstalledImage({ events, memory }: Pick<Services, "events" | "memory">): ReconcileStep<Resolved> {
  return {
    name: "PinInstalledImage",
    run(phase) {
      const { extension, releases, report } = phase;
      const { installed } = releases;
      if (phase.pinned) return Promise.resolve(phase);
      const { bundle, changed } = keepInstalledImage(phase.bundle, installed);
      const next: Resolved = { ...phase, bundle };
      const { cautions = [] } = bundle;
      if (changed !== undefined) report.problems.push(newProblem("BundleContentChanged", { message: changed }));
      report.problems.push(...cautions.map((message) => newProblem("UpgradeWarning", { message })));
      const remembered = memory.of(extension);
      const isNew = installed === undefined || !isSameBundle(bundle, installed);
      const decided = JSON.stringify([changed ?? "", isNew ? cautions : []]);
      if (remembered.decided === decided) return Promise.resolve(next);
      remembered.decided = decided;
      if (changed !== undefined) events.record(extension, "Warning", "BundleContentChanged", changed);
      if (isNew) for (const caution of cautions) events.record(extension, "Warning", "UnadvisedBundle", caution);
      return Promise.resolve(next);
    },
  };
}

/** By package, name, and version with release; a version that cannot be read is only the same as its own text. */
function isSameBundle(a: InstalledBundle, b: InstalledBundle): boolean {
  return a.packageName === b.packageName && a.name === b.name && isSameVersion(a, b);
}

/** A reference, which a catalog may write at any length. */
function quoteReference(reference: string): string {
  return goQuote(truncate(reference, NAME_LENGTH));
}

function digestIn(reference: string): string | undefined {
  const at = reference.lastIndexOf("@");
  return at < 0 ? undefined : reference.slice(at + 1);
}

/** What is no reference stays as it is: pulling says what is wrong with it. */
function byDigest(reference: string, digest: string | undefined): string {
  const parsed = parse(reference);
  return digest === undefined || typeof parsed === "string" ? reference : formatCanonical(parsed, digest);
}
