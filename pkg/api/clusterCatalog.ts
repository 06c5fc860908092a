import * as z from "zod";
import { conditions, NOT_OBSERVED, observedGeneration, time } from "./fields.ts";
import { imageReference, isDigestReference, resolvedReference } from "./imageReference.ts";
import type { KubeObject } from "./k8s.ts";
import { OmittedProblems, Problems } from "./problemSchema.ts";
import { unionMember, withRules } from "./rules.ts";

const IMAGE_TEXT = "image is required when source type is Image, and forbidden otherwise";

const image = withRules(
  z.object({
    ref: imageReference.describe(
      "ref is the image reference: registry, repository, and a tag or digest, such as quay.io/operatorhubio/catalog:latest. At most 1000 characters.",
    ),
    pollIntervalMinutes: z
      .int()
      .min(1)
      .optional()
      .describe(
        "pollIntervalMinutes is how often catalogd checks the tag for a new image, in minutes. Default: never. Forbidden if ref has a digest, because a digest cannot change.",
      ),
  }),
  {
    rule: `self.ref.find('(@.*:)') != "" ? !has(self.pollIntervalMinutes) : true`,
    message: "cannot specify pollIntervalMinutes while using digest-based image",
    holds: ({ ref, pollIntervalMinutes }) => !isDigestReference(ref) || pollIntervalMinutes === undefined,
  },
).describe("image is the image with the catalog. Required if type is Image, else forbidden.");

const source = withRules(
  z.object({ type: z.enum(["Image"]).describe("type is the type of the source: Image."), image: image.optional() }),
  unionMember("type", "Image", "image", IMAGE_TEXT),
).describe("source is the source of the file-based catalog.");

/** The desired state of a ClusterCatalog. */
export const ClusterCatalogSpec = z
  .object({
    source,
    priority: z
      .int()
      .min(-(2 ** 31))
      .max(2 ** 31 - 1)
      .default(0)
      .meta({
        format: "int32",
        description:
          "priority determines which catalog is used if several contain a package: the one with the highest priority. From -2147483648 to 2147483647.",
      }),
    availabilityMode: z
      .enum(["Unavailable", "Available"])
      .default("Available")
      .describe("availabilityMode is Available to serve the catalog, or Unavailable to disable it as if it did not exist."),
  })
  .describe("spec is the desired state.");
export type ClusterCatalogSpec = z.input<typeof ClusterCatalogSpec>;

const resolvedSource = withRules(
  z.object({
    type: z.enum(["Image"]).describe("type is the type of the source: Image."),
    image: z
      .object({ ref: resolvedReference.describe("ref is the image reference with digest. At most 1000 characters.") })
      .describe("image is the unpacked image."),
  }),
  unionMember("type", "Image", "image", IMAGE_TEXT),
).describe("resolvedSource is the source of the served content.");

const base = withRules(
  z.string().max(525),
  { rule: "isURL(self)", message: "must be a valid URL", holds: isUrl },
  {
    rule: `isURL(self) ? (url(self).getScheme() == "http" || url(self).getScheme() == "https") : true`,
    message: "scheme must be either http or https",
    holds: (text) => !isUrl(text) || /^https?:/i.test(text),
  },
).describe("base is the base URL of the content: append /api/v1/all or /api/v1/metas. At most 525 characters.");

/** Types of failures of a reconcile, for status and metrics. */
export const CATALOG_FAILURE_REASONS = [
  "blocked",
  "unauthorized",
  "not_found",
  "rate_limited",
  "registry",
  "unreachable",
  "timeout",
  "image",
  "rejected",
  "content",
  "storage",
  "api",
  "other",
] as const;
/** The failure types as text, for descriptions. */
export const CATALOG_FAILURE_REASONS_TEXT = `${CATALOG_FAILURE_REASONS.slice(0, -1).join(", ")} or ${CATALOG_FAILURE_REASONS.at(-1)}`;
/** Type of failure of a reconcile. */
export type CatalogFailureReason = (typeof CATALOG_FAILURE_REASONS)[number];

/** The observed state of a ClusterCatalog. */
export const ClusterCatalogStatus = z
  .object({
    observedGeneration,
    conditions: conditions(
      `conditions describe the state of the catalog.

Serving: content is served (Available), not served (Unavailable) or disabled (UserSpecifiedUnavailable). Progressing: True if the desired content is stored (Succeeded) or an error is retried (Retrying); False if you must act (Blocked). If new content fails, the previous content stays. Valid, while content is served: the content passes the checks of file-based catalogs (Valid) or has errors (InvalidContent). Ready: True if the desired content is served or the catalog is disabled; else with the reason of the first unmet condition. Reconciling or Stalled, only while Ready is not True: catalogd continues, or you must act.`,
    ).optional(),
    resolvedSource: resolvedSource.optional(),
    urls: z.object({ base }).optional().describe("urls are the URLs of the content."),
    failure: z
      .object({
        reason: z.string().max(64).describe(`reason is the type of failure: ${CATALOG_FAILURE_REASONS_TEXT}.`),
      })
      .optional()
      .describe(
        "failure is the failure of the last attempt. Condition Progressing contains its message. Absent if the last attempt succeeded.",
      ),
    problems: Problems.optional(),
    omittedProblems: OmittedProblems.optional(),
    lastUnpacked: time.optional().describe("lastUnpacked is the time when the served content was unpacked."),
    content: z
      .object({
        packages: z.int().min(0).optional().describe("packages is the number of packages."),
        digest: z.string().max(1000).describe("digest is the digest of the image."),
      })
      .optional()
      .describe("content describes the served content. Absent if no content is served."),
  })
  .describe("status is the observed state.");
export type ClusterCatalogStatus = z.input<typeof ClusterCatalogStatus>;

/** Schema of the ClusterCatalog definition. */
export const ClusterCatalog = z
  .object({ metadata: z.object({}), spec: ClusterCatalogSpec, status: ClusterCatalogStatus.default(NOT_OBSERVED) })
  .describe("ClusterCatalog serves a file-based catalog to the cluster.");

/** A ClusterCatalog as the API server returns it: with defaults and with unknown members. */
export interface ClusterCatalog extends KubeObject {
  spec: ClusterCatalogSpec;
  status?: ClusterCatalogStatus;
}

/** Returns whether CEL accepts the text as a URL: absolute, or a path from the root. */
function isUrl(text: string): boolean {
  return text.startsWith("/") || URL.canParse(text);
}
