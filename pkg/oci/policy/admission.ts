import { RejectedError } from "../imageErrors.ts";
import { formatRepository, type Reference } from "../reference.ts";
import type { Located } from "../registry/imageSource.ts";
import type { FoundSignature, SignerEvidence } from "../signers/foundSignature.ts";
import { type AttachmentLimits, attachedSignatures, formatSignatureTag } from "./attachments.ts";
import { judgeImage, type PolicyRefusal } from "./judge.ts";
import type { ImageRequirements } from "./signaturePolicy.ts";

/**
 * Evidence that an image satisfied the policy. It is stored with the image, so that the policy can
 * be checked again without the registry.
 */
export interface Evidence {
  /**
   * digest of the manifest whose layers were unpacked; differs from the image's digest for a
   * multi-platform image
   */
  readonly instance?: string | undefined;
  /** the valid signatures */
  readonly signatures?: StoredSignature[] | undefined;
}

/** A signature as it is stored; `payload` and `signature` are base64. */
interface StoredSignature {
  readonly payload: string;
  readonly signature: string;
  readonly isStatement?: boolean | undefined;
  readonly attached?: SignerEvidence | undefined;
}

/**
 * Returns whether the evidence of an image still satisfies the policy. The policy, its keys or the
 * requested name may have changed.
 */
export function isStillAdmitted(requirements: ImageRequirements, ref: Reference, digest: string, evidence: Evidence): boolean {
  if (!requirements.needSignatures) return true;
  const signatures = (evidence.signatures ?? []).map(({ payload, ...others }) => ({ ...others, payload: Buffer.from(payload, "base64") }));
  const digests = evidence.instance === undefined ? [digest] : [evidence.instance, digest];
  return "accepted" in judgeImage(requirements.list, { ref, digests }, signatures);
}

/**
 * Reads the signatures of an image at its location, and checks them against the policy. Checks the
 * signatures of the manifest for this platform first, then those of the index.
 * @param instance digest of the manifest for this platform
 * @throws RejectedError `Source image rejected: …`; RegistryError or Error if the registry fails, or
 * lists an attachment that it does not have
 */
export async function verifyImage(
  requirements: ImageRequirements,
  { ref, image, instance }: { readonly ref: Reference; readonly image: Located; readonly instance: string },
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<Evidence> {
  if (!requirements.needSignatures) return { instance };
  const digests = [...new Set([instance, image.manifest.digest])];
  const signatures: FoundSignature[] = [];
  let refused: PolicyRefusal | undefined;
  let skipped: Error | undefined;
  for (const digest of digests)
    for await (const attached of attachedSignatures(image.repository, digest, limits, signal)) {
      signatures.push(...attached.signatures);
      skipped ??= attached.problem;
      const result = judgeImage(requirements.list, { ref, digests }, signatures);
      if ("accepted" in result) return { instance, signatures: result.accepted.map(toStoredSignature) };
      refused = result.refused;
    }
  if (skipped) throw skipped;
  if (signatures.length > 0 || !refused) throw new RejectedError(refused?.message ?? "", { problems: refused?.problems });
  const looked = `checked ${formatSignatureTag(instance)} and referrers in ${formatRepository(image.repository.ref)}`;
  throw new RejectedError(`${refused.message}; ${looked}: sign the image, or copy its signature to this repository`, {
    problems: refused.problems,
  });
}

function toStoredSignature({ payload, signature = "", isStatement, attached }: FoundSignature): StoredSignature {
  return {
    payload: Buffer.from(payload).toString("base64"),
    signature,
    ...(isStatement && { isStatement }),
    ...(attached && { attached }),
  };
}
