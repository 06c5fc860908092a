import { RejectedError } from "../imageErrors.ts";
import { nameOf, type Reference } from "../reference.ts";
import type { Located } from "../registry/imageSource.ts";
import { type AttachmentLimits, attachedSignatures, signatureTag } from "./attachments.ts";
import { judgeImage } from "./judge.ts";
import type { FoundSignature } from "./signatureFormats.ts";
import type { ImageRequirements } from "./signaturePolicy.ts";

/** What let an image pass; kept beside it, so that it can be judged again without the registry. */
export interface Evidence {
  /** digest of the manifest whose layers were unpacked, which for an image of several platforms is another than the image's */
  readonly instance?: string | undefined;
  /** those that were good; both members base64 */
  readonly signatures?: { payload: string; signature: string; isStatement?: boolean | undefined }[] | undefined;
}

/** Whether what let an image pass once still does: the policy, its keys or the name the image is asked for by may be others now. */
export function stillAdmitted(requirements: ImageRequirements, ref: Reference, digest: string, evidence: Evidence): boolean {
  if (!requirements.needSignatures) return true;
  const signatures = (evidence.signatures ?? []).map(({ payload, ...others }) => ({ ...others, payload: Buffer.from(payload, "base64") }));
  const digests = evidence.instance === undefined ? [digest] : [evidence.instance, digest];
  return "accepted" in judgeImage(requirements.list, { ref, digests }, signatures);
}

/**
 * Reads an image's signatures where the image was found, and judges it. They may be those of the manifest for this platform, which are looked at
 * first, or those of the index that leads to it.
 * @param instance digest of the manifest for this platform
 * @throws RejectedError `Source image rejected: …`; RegistryError or Error when the registry fails
 */
export async function admit(
  requirements: ImageRequirements,
  { ref, image, instance }: { readonly ref: Reference; readonly image: Located; readonly instance: string },
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<Evidence> {
  if (!requirements.needSignatures) return { instance };
  const digests = [...new Set([instance, image.manifest.digest])];
  const signatures: FoundSignature[] = [];
  let refused = "";
  for (const digest of digests)
    for await (const attached of attachedSignatures(image.repository, digest, limits, signal)) {
      signatures.push(...attached);
      const verdict = judgeImage(requirements.list, { ref, digests }, signatures);
      if ("accepted" in verdict) return { instance, signatures: verdict.accepted.map(stored) };
      refused = verdict.refused;
    }
  if (signatures.length > 0) throw new RejectedError(refused);
  const looked = `looked for ${signatureTag(instance)} and referrers in ${nameOf(image.repository.ref)}`;
  throw new RejectedError(`${refused}; ${looked}: sign the image, or copy its signature there`);
}

function stored({ payload, signature = "", isStatement }: FoundSignature): NonNullable<Evidence["signatures"]>[number] {
  return { payload: Buffer.from(payload).toString("base64"), signature, ...(isStatement && { isStatement }) };
}
