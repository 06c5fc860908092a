import { isDigestReference } from "../../api/imageReference.ts";
import { quoteExcerpt } from "../../fbc/boundedTexts.ts";
import { formatContentPlace } from "../../fbc/types.ts";
import { ChannelPaths } from "./channelPaths.ts";
import type { LintedBundle, LintedCatalog } from "./lintedCatalog.ts";
import { defineInfoLint, defineWarningLint, type LintBreach, LintSource, type LintTable } from "./lintRule.ts";

/** Lints for likely mistakes in single objects. */
export const OBJECT_LINTS: LintTable = {
  "unknown-field": defineWarningLint(
    "Objects should contain only known fields. Unknown fields have no effect.",
    LintSource.format,
    unknownFields,
  ),
  "unknown-property": defineWarningLint(
    "Property types that begin with `olm.` should be defined by OLM.",
    LintSource.format,
    unknownProperties,
  ),
  "csv-metadata-missing": defineInfoLint(
    "A bundle should have the property olm.csv.metadata, which user interfaces and search read.",
    LintSource.format,
    withoutCsv,
  ),
};

/** Lints for default channels. */
export const DEFAULT_CHANNEL_LINTS: LintTable = {
  "default-channel-deprecated": defineWarningLint(
    "The default channel of a package should not be deprecated.",
    LintSource.format,
    defaultDeprecated,
  ),
  "default-head-deprecated": defineWarningLint(
    "The head of the default channel should not be deprecated.",
    LintSource.format,
    headDeprecated,
  ),
};

/** Lints for images. */
export const IMAGE_LINTS: LintTable = {
  "duplicate-image": defineWarningLint("Different bundles should have different images.", LintSource.format, duplicateImages),
  "bundle-image-by-tag": defineInfoLint(
    "The bundle image should be referenced by digest, because the content of a tag can change.",
    LintSource.disconnected,
    bundlesByTag,
  ),
  "related-image-by-tag": defineInfoLint(
    "Related images should be referenced by digest, because mirrors serve only digests.",
    LintSource.disconnected,
    relatedByTag,
  ),
};

const OLM_PROPERTIES = new Set([
  "olm.package",
  "olm.package.required",
  "olm.gvk",
  "olm.gvk.required",
  "olm.constraint",
  "olm.bundle.object",
  "olm.csv.metadata",
  "olm.maxOpenShiftVersion",
  "olm.channel",
  "olm.label",
  "olm.label.required",
  "olm.inherited-channels",
  "olm.substitutesFor",
  "olm.deprecated",
  "olm.skips",
  "olm.skipRange",
]);

function allBundles({ packages }: LintedCatalog): LintedBundle[] {
  return [...packages.values()].flatMap(({ bundles }) => [...bundles.values()]);
}

function unknownFields({ fields }: LintedCatalog): LintBreach[] {
  return fields.flatMap(({ faults, ...subject }) =>
    faults.map(({ path, meant, isRead }) => {
      const name = quoteExcerpt(String(path.at(-1)));
      const hint =
        meant === undefined ? "it has no effect" : isRead ? `use ${quoteExcerpt(meant)}` : `did you mean ${quoteExcerpt(meant)}?`;
      return { subject, path, message: `unknown field ${name}: ${hint}` };
    }),
  );
}

function unknownProperties(catalog: LintedCatalog): LintBreach[] {
  return allBundles(catalog).flatMap((bundle) =>
    bundle.properties
      .filter(({ type }) => type.startsWith("olm.") && !OLM_PROPERTIES.has(type))
      .map(({ index, type }) => ({
        subject: bundle,
        path: ["properties", index, "type"],
        message: `property type ${quoteExcerpt(type)} is not defined by OLM`,
      })),
  );
}

function withoutCsv(catalog: LintedCatalog): LintBreach[] {
  return allBundles(catalog)
    .filter(({ hasCsv }) => !hasCsv)
    .map((bundle) => ({
      subject: bundle,
      message: `bundle ${quoteExcerpt(bundle.name)} has no olm.csv.metadata or olm.bundle.object property`,
    }));
}

function defaultDeprecated({ packages }: LintedCatalog): LintBreach[] {
  return [...packages.values()].flatMap(({ package: facts, deprecated }) => {
    if (!facts || !deprecated.channels.has(facts.defaultChannel)) return [];
    return [
      { subject: facts, path: ["defaultChannel"], message: `the default channel ${quoteExcerpt(facts.defaultChannel)} is deprecated` },
    ];
  });
}

function headDeprecated({ packages }: LintedCatalog): LintBreach[] {
  return [...packages.values()].flatMap((owner) => {
    const channel = owner.channels.find(({ name }) => name === owner.package?.defaultChannel);
    if (!channel || !owner.package || owner.deprecated.channels.has(channel.name)) return [];
    const { heads, entries } = ChannelPaths.of(channel, owner);
    return heads
      .filter((head) => owner.deprecated.bundles.has(head))
      .map((head) => ({
        subject: channel,
        path: ["entries", entries.get(head)?.index ?? 0, "name"],
        message: `${quoteExcerpt(head)}, the head of the default channel, is deprecated`,
      }));
  });
}

function duplicateImages(catalog: LintedCatalog): LintBreach[] {
  const first = new Map<string, LintedBundle>();
  return allBundles(catalog).flatMap((bundle) => {
    const other = bundle.image === "" ? undefined : first.get(bundle.image);
    if (!other) {
      first.set(bundle.image, bundle);
      return [];
    }
    const message = `image ${bundle.image} is also the image of bundle ${quoteExcerpt(other.name)}, in ${formatContentPlace(other.place)}`;
    return [{ subject: bundle, path: ["image"], message }];
  });
}

function bundlesByTag(catalog: LintedCatalog): LintBreach[] {
  return allBundles(catalog)
    .filter(({ image }) => image !== "" && !isDigestReference(image))
    .map((bundle) => ({ subject: bundle, path: ["image"], message: `image ${bundle.image} is not referenced by digest` }));
}

function relatedByTag(catalog: LintedCatalog): LintBreach[] {
  return allBundles(catalog).flatMap((bundle) => {
    const byTag = bundle.relatedImages
      .map((image, i) => ({ image, i }))
      .filter(({ image }) => image !== "" && image !== bundle.image && !isDigestReference(image));
    const [first] = byTag;
    if (!first) return [];
    const more = byTag.length > 1 ? ` and ${byTag.length - 1} more related images are` : " is";
    return [{ subject: bundle, path: ["relatedImages", first.i, "image"], message: `${first.image}${more} not referenced by digest` }];
  });
}
