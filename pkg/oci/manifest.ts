import * as z from "zod";
import { digestProblem } from "../api/imageName.ts";
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

/** What a manifest is asked for as. */
export const ACCEPTED_MANIFESTS = [MediaType.ociManifest, MediaType.dockerManifest, MediaType.dockerList, MediaType.ociIndex];

/** What a descriptor has, to be read with more beside it. */
export const DescriptorShape = z.looseObject({
  mediaType: z.string().default(""),
  digest: z.string().refine((text) => digestProblem(text) === undefined, "is no sha256, sha384 or sha512 digest"),
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

/** What an image says about itself. */
export interface ImageConfig {
  readonly labels: Readonly<Record<string, string>>;
  readonly architecture: string;
  readonly os: string;
}

/** What an image is chosen for; `variants` from the best to the least. */
export interface WantedPlatform {
  readonly os: string;
  readonly architecture: string;
  readonly variants: readonly string[];
}

/**
 * Reads a manifest or an index.
 * @param contentType the media type that came with it; the document's own counts more
 * @throws ImageContentError when it is neither, or claims to be both
 */
export function parseManifest(bytes: Uint8Array, contentType: string): ImageManifest | ImageIndex {
  const body = jsonOf(bytes, "manifest");
  if (typeof body !== "object" || body === null) throw new ImageContentError("the manifest is no JSON object");
  const isIndex = "manifests" in body;
  if (isIndex && ("layers" in body || "config" in body)) throw new ImageContentError("the manifest is an image and an index at once");
  const own = "mediaType" in body && typeof body.mediaType === "string" ? body.mediaType : contentType;
  if ("schemaVersion" in body && body.schemaVersion === 1)
    throw new RefusedError("the image has a docker schema 1 manifest, which is not supported; push it again with a current tool");
  if (isIndex) return { kind: "index", docker: own === MediaType.dockerList, manifests: checked(Index, body, "index").manifests };
  const { config, layers } = checked(Manifest, body, "manifest");
  return { kind: "manifest", config, layers };
}

/** Reads an image's configuration. @throws ImageContentError */
export function parseConfig(bytes: Uint8Array): ImageConfig {
  const { architecture, os, config } = checked(Config, jsonOf(bytes, "image configuration"), "image configuration");
  return { labels: config?.Labels ?? {}, architecture, os };
}

/**
 * The image for a platform: the best variant wins, an entry without a platform comes last.
 * @throws ImageContentError with containers/image's text when none fits
 */
export function chooseImage(index: ImageIndex, wanted: WantedPlatform): Descriptor {
  let best: { rank: number; descriptor: Descriptor } | undefined;
  for (const entry of index.manifests) {
    const { platform } = entry;
    const fits = !platform || (platform.architecture === wanted.architecture && platform.os === wanted.os);
    const rank = platform ? wanted.variants.indexOf(platform.variant) : wanted.variants.length;
    if (fits && rank >= 0 && (!best || rank < best.rank)) best = { rank, descriptor: entry };
  }
  if (best) return best.descriptor;
  const what = index.docker ? "manifest list" : "image index";
  throw new ImageContentError(
    `no image found in ${what} for architecture ${goQuote(wanted.architecture)}, variant ${goQuote(wanted.variants[0] ?? "")}, OS ${goQuote(wanted.os)}`,
  );
}

/**
 * The platform of a process in the names images use. The operating system is always linux: content of catalogs and bundles is for clusters,
 * wherever this runs.
 * @param arch process.arch
 */
export function platformOf(arch: NodeJS.Architecture): WantedPlatform {
  const names: Partial<Record<NodeJS.Architecture, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le", loong64: "loong64" };
  const architecture = names[arch] ?? arch;
  const variants = architecture === "arm64" ? ["v8", ""] : architecture === "arm" ? ["v7", "v6", "v5", ""] : [""];
  return { os: "linux", architecture, variants };
}

function jsonOf(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (err) {
    throw new ImageContentError(`the ${what} is no JSON`, { cause: err });
  }
}

function checked<T>(shape: z.ZodType<T>, body: unknown, what: string): T {
  const parsed = shape.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ImageContentError(`the ${what} is malformed: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
}
