import * as z from "zod";
import { conditions, time } from "./fields.ts";
import { imageReference, isDigestReference, resolvedReference } from "./imageReference.ts";
import type { KubeObject } from "./k8s.ts";
import { OmittedProblems, Problems } from "./problemSchema.ts";
import { unionMember, withRules } from "./rules.ts";

const IMAGE_TEXT = "image is required when source type is Image, and forbidden otherwise";

const image = withRules(
  z.object({
    ref: imageReference.describe(
      "ref names the image: registry, repository and either a tag or a digest, such as quay.io/operatorhubio/catalog:latest. At most 1000 characters.",
    ),
    pollIntervalMinutes: z
      .int()
      .min(1)
      .optional()
      .describe(
        "pollIntervalMinutes is how often the tag is looked up again, in minutes. Without it, never. Forbidden beside a digest, which cannot change.",
      ),
  }),
  {
    rule: `self.ref.find('(@.*:)') != "" ? !has(self.pollIntervalMinutes) : true`,
    message: "cannot specify pollIntervalMinutes while using digest-based image",
    holds: ({ ref, pollIntervalMinutes }) => !isDigestReference(ref) || pollIntervalMinutes === undefined,
  },
).describe("image is the image that holds the catalog. Required when type is Image, forbidden otherwise.");

const source = withRules(
  z.object({ type: z.enum(["Image"]).describe("type is where the catalog comes from. The only value is Image."), image: image.optional() }),
  unionMember("type", "Image", "image", IMAGE_TEXT),
).describe("source is where the file-based catalog comes from.");

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
        description: "priority decides between catalogs that hold the same package: the highest wins. -2147483648 to 2147483647.",
      }),
    availabilityMode: z
      .enum(["Unavailable", "Available"])
      .default("Available")
      .describe("availabilityMode is Available to serve the catalog, or Unavailable to treat it as if it did not exist."),
  })
  .describe("spec is the desired state.");
export type ClusterCatalogSpec = z.input<typeof ClusterCatalogSpec>;

const resolvedSource = withRules(
  z.object({
    type: z.enum(["Image"]).describe("type is where the catalog came from. The only value is Image."),
    image: z
      .object({ ref: resolvedReference.describe("ref is the image with the digest that was read. At most 1000 characters.") })
      .describe("image is the image that was read."),
  }),
  unionMember("type", "Image", "image", IMAGE_TEXT),
).describe("resolvedSource is exactly what is served.");

const base = withRules(
  z.string().max(525),
  { rule: "isURL(self)", message: "must be a valid URL", holds: isUrl },
  {
    rule: `isURL(self) ? (url(self).getScheme() == "http" || url(self).getScheme() == "https") : true`,
    message: "scheme must be either http or https",
    holds: (text) => !isUrl(text) || /^https?:/i.test(text),
  },
).describe("base is where the catalog is served; append /api/v1/all or /api/v1/metas. At most 525 characters.");

/** What a pass over a catalog can fail for, in status and in metrics; a bounded set. */
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
/** The classes in one sentence, for descriptions. */
export const CATALOG_FAILURE_REASONS_TEXT = `${CATALOG_FAILURE_REASONS.slice(0, -1).join(", ")} or ${CATALOG_FAILURE_REASONS.at(-1)}`;
/** Class of a failed pass. */
export type CatalogFailureReason = (typeof CATALOG_FAILURE_REASONS)[number];

/** The observed state of a ClusterCatalog. */
export const ClusterCatalogStatus = z
  .object({
    conditions: conditions(
      `conditions describe the state of the catalog.

Serving: whether content is served (Available), not served (Unavailable), or switched off (UserSpecifiedUnavailable). Progressing: True when the desired content is stored (Succeeded) or tried again (Retrying); False when somebody has to act (Blocked). While newer content fails, the last good content stays served. Valid, only while content is served: whether it passes the checks of file-based catalogs (Valid), or errors were found in it (InvalidContent).`,
    ).optional(),
    resolvedSource: resolvedSource.optional(),
    urls: z.object({ base }).optional().describe("urls are where the catalog is served."),
    failure: z
      .object({
        reason: z.string().max(64).describe(`reason is the class of the failure: ${CATALOG_FAILURE_REASONS_TEXT}.`),
      })
      .optional()
      .describe(
        "failure is what the last attempt failed for; condition Progressing has the message. Absent after an attempt that succeeded.",
      ),
    problems: Problems.optional(),
    omittedProblems: OmittedProblems.optional(),
    lastUnpacked: time.optional().describe("lastUnpacked is when the served content was unpacked."),
    content: z
      .object({
        packages: z.int().min(0).optional().describe("packages is the number of packages."),
        digest: z.string().max(1000).describe("digest is the digest of the image."),
      })
      .optional()
      .describe("content describes the served content. Absent while no content is served."),
  })
  .describe("status is the observed state.");
export type ClusterCatalogStatus = z.input<typeof ClusterCatalogStatus>;

/** Schema of the ClusterCatalog definition. */
export const ClusterCatalog = z
  .object({ metadata: z.object({}), spec: ClusterCatalogSpec, status: ClusterCatalogStatus.optional() })
  .describe("ClusterCatalog makes the content of a file-based catalog available to the cluster.");

/** As read from the API server: defaults are set, members that we do not know are still there. */
export interface ClusterCatalog extends KubeObject {
  spec: ClusterCatalogSpec;
  status?: ClusterCatalogStatus;
}

/** As CEL has it: absolute, or a path from the root. */
function isUrl(text: string): boolean {
  return text.startsWith("/") || URL.canParse(text);
}
