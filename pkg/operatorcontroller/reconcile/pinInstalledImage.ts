import { newProblem } from "../../api/problems.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatCanonical, parse } from "../../oci/reference.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { NAME_LENGTH, truncate } from "../../text/truncate.ts";
import { isSameVersion } from "../../version/version.ts";
import type { ReconcileStep, Resolved, ResolvedBundle } from "../state/phases.ts";
import type { Services } from "./services.ts";

/** The bundle to install, and a message about a changed image in its catalog. */
export interface PinnedImage {
  readonly bundle: ResolvedBundle;
  /** Set if the catalog has an image with different content for the installed bundle. */
  readonly changed?: string;
}

/**
 * Returns the image to use for a resolved bundle. An installed version keeps its content, even if the catalog changes:
 *
 * | image in the catalog                      | the controller pulls                              |
 * | of another bundle, or nothing installed   | the image in the catalog                          |
 * | the reference that was installed          | the digest that was pulled, even if the tag moved |
 * | the same digest in another repository     | that digest from that repository                  |
 * | any other image                           | the installed image, and reports the change       |
 */
export function keepInstalledImage(resolved: ResolvedBundle, installed: InstalledBundle | undefined): PinnedImage {
  if (!installed || !isSameBundle(resolved, installed)) return { bundle: resolved };
  const digest = installed.imageDigest ?? getDigest(installed.image);
  const isElsewhere = digest !== undefined && getDigest(resolved.image) === digest;
  const bundle: ResolvedBundle = {
    ...resolved,
    ...installed,
    release: installed.release,
    imageDigest: digest,
    pullFrom: toDigestReference(isElsewhere ? resolved.image : installed.image, digest),
  };
  if (isElsewhere || resolved.image === installed.image) return { bundle };
  const where = resolved.catalog === undefined ? "the catalog" : `catalog ${goQuote(resolved.catalog)}`;
  return {
    bundle: { ...bundle, offered: resolved.image },
    changed: `${where} now has image ${quoteReference(resolved.image)} for bundle ${goQuote(resolved.name)}: the controller keeps the content of ${quoteReference(installed.image)} because it never replaces the content of an installed version`,
  };
}

/**
 * Keeps the content of the installed bundle. Reports a changed image in the catalog, and upgrade constraints that
 * resolution ignored, once each.
 */
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
      const entry = memory.of(extension);
      const isNew = installed === undefined || !isSameBundle(bundle, installed);
      const choice = JSON.stringify([changed ?? "", isNew ? cautions : []]);
      if (entry.reported.choice === choice) return Promise.resolve(next);
      entry.reported.choice = choice;
      if (changed !== undefined) events.record(extension, "Warning", "BundleContentChanged", changed);
      if (isNew) for (const caution of cautions) events.record(extension, "Warning", "UpgradeConstraintOverridden", caution);
      return Promise.resolve(next);
    },
  };
}

/** Compares package, name, and version with release. A malformed version only equals its own text. */
function isSameBundle(a: InstalledBundle, b: InstalledBundle): boolean {
  return a.packageName === b.packageName && a.name === b.name && isSameVersion(a, b);
}

/** Quotes a reference. Truncates it, because references in a catalog can have any length. */
function quoteReference(reference: string): string {
  return goQuote(truncate(reference, NAME_LENGTH));
}

function getDigest(reference: string): string | undefined {
  const at = reference.lastIndexOf("@");
  return at < 0 ? undefined : reference.slice(at + 1);
}

/** Returns `reference` with `digest`. Returns a malformed reference unchanged, because the pull reports the error. */
export function toDigestReference(reference: string, digest: string | undefined): string {
  const parsed = parse(reference);
  return digest === undefined || typeof parsed === "string" ? reference : formatCanonical(parsed, digest);
}
