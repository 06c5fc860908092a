import { isDigestReference } from "../../api/imageReference.ts";
import { objectsAt } from "../../fbc/members.ts";
import { containersOf, inContainer } from "../containers.ts";
import type { BundleContent, Place } from "../content.ts";
import { type Breach, info, type RuleTable, warning } from "../rule.ts";
import { Source } from "../source.ts";

const FEATURE = "features.operators.openshift.io/disconnected";
const INFRASTRUCTURE = "operators.openshift.io/infrastructure-features";
/** How operators are told which images they are to use. */
const RELATED_IMAGE = /^RELATED_IMAGE_/;

/** What makes a bundle work where there is no registry but a mirror: lists to copy images by. */
export const IMAGE_RULES: RuleTable = {
  "related-images": warning(
    "A bundle that lists related images, or says that it works disconnected, lists every image that its deployments use.",
    Source.disconnected,
    notListed,
  ),
  "related-images-missing": info("The CSV lists related images, so that they can be mirrored.", Source.disconnected, noList),
  "related-image-digest": warning("Related images are named by digest.", Source.disconnected, relatedByTag),
  "image-digest": info("Images of deployments are named by digest.", Source.disconnected, usedByTag),
};

interface Used {
  readonly image: string;
  readonly at: Place;
}

/** The images of containers and those that operators are told of in variables, each once. */
function usedImages(content: BundleContent): Used[] {
  const used = new Map<string, Used>();
  const note = (image: unknown, at: Place): void => {
    if (typeof image === "string" && image !== "" && !used.has(image)) used.set(image, { image, at });
  };
  for (const one of containersOf(content)) {
    note(one.container["image"], inContainer(content, one, "image"));
    for (const [i, { name, value }] of objectsAt(one.container, "env").entries())
      if (typeof name === "string" && RELATED_IMAGE.test(name)) note(value, inContainer(content, one, "env", i, "value"));
  }
  return [...used.values()];
}

function relatedImages({ csv }: BundleContent): string[] {
  return csv ? objectsAt(csv.spec, "relatedImages").map(({ image }) => (typeof image === "string" ? image : "")) : [];
}

function saysDisconnected({ csvAnnotations }: BundleContent): boolean {
  return csvAnnotations[FEATURE] === "true" || (csvAnnotations[INFRASTRUCTURE] ?? "").toLowerCase().includes('"disconnected"');
}

function notListed(content: BundleContent): Breach[] {
  const related = new Set(relatedImages(content));
  if (related.size === 0 && !saysDisconnected(content)) return [];
  return usedImages(content)
    .filter(({ image }) => !related.has(image))
    .map(({ image, at }) => ({
      message: `image ${image} is used and not among spec.relatedImages: it would be missing on a disconnected cluster`,
      at,
    }));
}

function noList(content: BundleContent): Breach[] {
  if (!content.csv || relatedImages(content).length > 0 || saysDisconnected(content) || usedImages(content).length === 0) return [];
  return [{ message: "spec.relatedImages is missing: the images cannot be mirrored by it", at: content.inCsv("spec") }];
}

function relatedByTag(content: BundleContent): Breach[] {
  return relatedImages(content).flatMap((image, i) =>
    isDigestReference(image)
      ? []
      : [
          {
            message: `related image ${image} is not named by digest: mirrors serve digests only`,
            at: content.inCsv("spec", "relatedImages", i, "image"),
          },
        ],
  );
}

function usedByTag(content: BundleContent): Breach[] {
  return usedImages(content)
    .filter(({ image }) => !isDigestReference(image))
    .map(({ image, at }) => ({ message: `image ${image} is not named by digest: what it stands for may change`, at }));
}
