import * as z from "zod";
import { findDigestError } from "../api/imageName.ts";
import { goQuote } from "../golang/quote.ts";
import { ImageContentError, RefusedError } from "./imageErrors.ts";

export const MediaType = {
  ociIndex: "application/vnd.oci.image.index.v1+json",
  ociManifest: "application/vnd.oci.image.manifest.v1+json",
  ociConfig: "application/vnd.oci.image.config.v1+json",
  ociLayer: "application/vnd.oci.image.layer.v1.tar",
  dockerList: "application/vnd.docker.distribution.manifest.list.v2+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
} as const;

/** Accept header of manifest requests. */
export const ACCEPTED_MANIFESTS = [MediaType.ociManifest, MediaType.dockerManifest, MediaType.dockerList, MediaType.ociIndex];

/** The fields of a descriptor; other fields are ignored. */
export const DescriptorShape = z.looseObject({
  mediaType: z.string().default(""),
  digest: z.string().refine((text) => findDigestError(text) === undefined, "is not a sha256, sha384 or sha512 digest"),
  size: z.int().min(0),
});
const Platform = z.looseObject({ architecture: z.string().default(""), os: z.string().default(""), variant: z.string().default("") });
const Manifest = z.looseObject({ schemaVersion: z.literal(2), config: DescriptorShape, layers: z.array(DescriptorShape) });
const Index = z.looseObject({
  schemaVersion: z.literal(2),
  manifests: z.array(z.looseObject({ ...DescriptorShape.shape, platform: Platform.nullish() })),
});
const Config = z.looseObject({
  architecture: z.string().default(""),
  os: z.string().default(""),
  config: z.looseObject({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});

/** A piece of content: its digest and exact size in bytes. */
export type Descriptor = z.output<typeof DescriptorShape>;

/** An image manifest: layers in the order in which they are applied. */
export interface ImageManifest {
  readonly kind: "manifest";
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** An image index, or docker's manifest list. */
export interface ImageIndex {
  readonly kind: "index";
  readonly docker: boolean;
  readonly manifests: z.output<typeof Index>["manifests"];
}

/** The configuration of an image. */
export interface ImageConfig {
  readonly labels: Readonly<Record<string, string>>;
  readonly architecture: string;
  readonly os: string;
}

/** The platform for which an image is chosen; `variants` in order of preference. */
export interface RequestedPlatform {
  readonly os: string;
  readonly architecture: string;
  readonly variants: readonly string[];
}

/**
 * Parses a manifest or an index.
 * @param contentType media type of the response; a `mediaType` in the document takes precedence
 * @throws ImageContentError unless it is exactly one of them
 */
export function parseManifest(bytes: Uint8Array, contentType: string): ImageManifest | ImageIndex {
  const body = parseJson(bytes, "manifest");
  if (typeof body !== "object" || body === null) throw new ImageContentError("the manifest is not a JSON object");
  const isIndex = "manifests" in body;
  if (isIndex && ("layers" in body || "config" in body)) throw new ImageContentError("the manifest is both an image and an index");
  const own = "mediaType" in body && typeof body.mediaType === "string" ? body.mediaType : contentType;
  if ("schemaVersion" in body && body.schemaVersion === 1)
    throw new RefusedError("the image has a docker schema 1 manifest, which is not supported; push it again with a current tool");
  if (isIndex) return { kind: "index", docker: own === MediaType.dockerList, manifests: validateShape(Index, body, "index").manifests };
  const { config, layers } = validateShape(Manifest, body, "manifest");
  return { kind: "manifest", config, layers };
}

/** Parses an image's configuration. @throws ImageContentError */
export function parseConfig(bytes: Uint8Array): ImageConfig {
  const { architecture, os, config } = validateShape(Config, parseJson(bytes, "image configuration"), "image configuration");
  return { labels: config?.Labels ?? {}, architecture, os };
}

/**
 * Returns the image for a platform, with the most preferred variant. An entry without a platform is
 * the last choice.
 * @throws ImageContentError with containers/image's text if none fits
 */
export function chooseImage(index: ImageIndex, requested: RequestedPlatform): Descriptor {
  let best: { rank: number; descriptor: Descriptor } | undefined;
  for (const entry of index.manifests) {
    const { platform } = entry;
    const fits = !platform || (platform.architecture === requested.architecture && platform.os === requested.os);
    const rank = platform ? requested.variants.indexOf(platform.variant) : requested.variants.length;
    if (fits && rank >= 0 && (!best || rank < best.rank)) best = { rank, descriptor: entry };
  }
  if (best) return best.descriptor;
  const what = index.docker ? "manifest list" : "image index";
  throw new ImageContentError(
    `no image found in ${what} for architecture ${goQuote(requested.architecture)}, variant ${goQuote(requested.variants[0] ?? "")}, OS ${goQuote(requested.os)}`,
  );
}

/**
 * Returns the platform of a process, with the architecture names of OCI images. The operating
 * system is always linux, because catalogs and bundles are built for clusters.
 * @param arch process.arch
 */
export function getPlatform(arch: NodeJS.Architecture): RequestedPlatform {
  const names: Partial<Record<NodeJS.Architecture, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le", loong64: "loong64" };
  const architecture = names[arch] ?? arch;
  const variants = architecture === "arm64" ? ["v8", ""] : architecture === "arm" ? ["v7", "v6", "v5", ""] : [""];
  return { os: "linux", architecture, variants };
}

function parseJson(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (err) {
    throw new ImageContentError(`the ${what} is not JSON`, { cause: err });
  }
}

function validateShape<T>(shape: z.ZodType<T>, body: unknown, what: string): T {
  const parsed = shape.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ImageContentError(`the ${what} is malformed: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
}
