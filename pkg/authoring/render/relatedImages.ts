import type { JsonObject } from "../../api/k8s.ts";
import { formatWrongKind } from "../../fbc/wrongKind.ts";
import { getListMember, getObjectAt, getObjectMember, getObjectMembers, getTextMember, isObject } from "../../golang/members.ts";
import { compareUtf8 } from "../../text/compare.ts";

/** An image that a bundle needs. The name is empty if the bundle does not set it. */
export interface RelatedImage {
  readonly name: string;
  readonly image: string;
}

/**
 * Returns the images of a bundle, sorted: the related images of its ClusterServiceVersion, the bundle image, and the container images of its
 * Deployments.
 * @param bundleImage empty if unknown.
 * @throws Error if spec.relatedImages is not a list.
 * @see operator-registry v1.73.0 alpha/action/render.go, getRelatedImages
 */
export function listRelatedImages(csv: JsonObject, bundleImage: string): RelatedImage[] {
  const spec = getObjectAt(csv, "spec");
  const listed = listedImages(spec["relatedImages"]);
  const known = new Set(listed.map(({ image }) => image));
  const more = [...(bundleImage === "" ? [] : [bundleImage]), ...operatorImages(spec)];
  for (const image of more) {
    if (known.has(image)) continue;
    known.add(image);
    listed.push({ name: "", image });
  }
  return sortByImage(listed);
}

/** Sorts by the bytes of the image reference. The sort is stable. */
export function sortByImage<T extends { readonly image: string }>(images: readonly T[]): T[] {
  return images.toSorted((a, b) => compareUtf8(a.image, b.image));
}

function listedImages(list: unknown): RelatedImage[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw new Error(`spec.relatedImages: ${formatWrongKind(list, "a list")}`);
  return list.map((item: unknown) => ({
    name: isObject(item) ? getTextMember(item, "name") : "",
    image: isObject(item) ? getTextMember(item, "image") : "",
  }));
}

function operatorImages(spec: JsonObject): string[] {
  const install = getObjectAt(spec, "install");
  if (getTextMember(install, "strategy") !== "deployment") return [];
  return getObjectMembers(getObjectAt(install, "spec"), "deployments").flatMap((deployment) => {
    const pod = getObjectMember(getObjectAt(getObjectAt(deployment, "spec"), "template"), "spec") ?? {};
    const containers = [...getListMember(pod, "containers"), ...getListMember(pod, "initContainers")];
    return containers.map((container) => (isObject(container) ? getTextMember(container, "image") : ""));
  });
}
