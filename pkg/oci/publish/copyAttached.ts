import { computeDigest } from "../digest.ts";
import { MediaType } from "../manifest.ts";
import { formatSignatureTag } from "../policy/attachments.ts";
import type { Referrer } from "../registry/repository.ts";
import type { ImageReader, ImageWriter } from "../store/imageStore.ts";
import { type CopiedImage, type CopyOptions, copyImage } from "./copyImage.ts";

/**
 * Copies the attachments of an image: signatures, attestations and SBOMs at cosign's tags, and
 * referrers of the image and of its platform images, as created by `cosign sign --recursive`.
 * @param image whose manifests exist at both locations
 * @returns the number of copied attachments
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export async function copyAttached(from: ImageReader, image: CopiedImage, to: ImageWriter, options: CopyOptions): Promise<number> {
  const { signal } = options;
  const signatures = image.manifests.map(formatSignatureTag);
  const others = [".att", ".sbom"].map((suffix) => formatSignatureTag(image.digest).replace(/\.sig$/, suffix));
  let copied = 0;
  for (const tag of [...signatures, ...others]) {
    const found = await from.find(tag, signal);
    if (!found) continue;
    await copyImage(from, found, to, { ...options, tag });
    copied += 1;
  }
  for (const digest of image.manifests) copied += await copyReferrers(from, digest, to, options);
  return copied;
}

async function copyReferrers(from: ImageReader, digest: string, to: ImageWriter, options: CopyOptions): Promise<number> {
  const { signal } = options;
  const referrers = (await from.referrers?.(digest, signal)) ?? [];
  if (referrers.length === 0) return 0;
  for (const referrer of referrers) await copyImage(from, await from.manifest(referrer.digest, signal), to, { ...options, tag: undefined });
  await updateReferrersTag(to, digest, referrers, signal);
  return referrers.length;
}

/**
 * Updates the referrers tag, which registries without a referrers endpoint need. @see distribution
 * specification, "Referrers Tag Schema"
 */
async function updateReferrersTag(to: ImageWriter, digest: string, referrers: readonly Referrer[], signal: AbortSignal): Promise<void> {
  const listed = (await to.referrers?.(digest, signal)) ?? [];
  const missing = referrers.filter((referrer) => !listed.some((one) => one.digest === referrer.digest));
  if (missing.length === 0) return;
  const manifests = [...listed, ...missing].map(({ descriptor }) => descriptor);
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MediaType.ociIndex, manifests }));
  await to.putManifest({ bytes, mediaType: MediaType.ociIndex, digest: computeDigest(bytes) }, digest.replace(":", "-"), signal);
}
