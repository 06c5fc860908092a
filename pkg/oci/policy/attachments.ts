import { z } from "zod";
import { messageOf } from "../../errors/errors.ts";
import { ContentError } from "../contentError.ts";
import { type DownloadLimits, readBlob } from "../download.ts";
import { type Descriptor, parseManifest } from "../manifest.ts";
import { nameOf } from "../reference.ts";
import type { Repository } from "../registry.ts";
import { RegistryError } from "../registryError.ts";
import { type FoundSignature, SIGNATURE_ANNOTATION } from "./judge.ts";
import { RejectedError } from "./rejectedError.ts";

/** What reading signatures may cost. */
export interface AttachmentLimits extends DownloadLimits {
  readonly manifestBytes: number;
}

/** Media type of a signature's payload. */
export const SIGNATURE_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json";
/** Of one manifest so many signatures are read: the newest, which cosign puts last. */
const SIGNATURES_MAX = 64;
const PAYLOAD_BYTES = 256 * 1024;

const Annotated = z.looseObject({ annotations: z.record(z.string(), z.string()).nullish() });

/** The tag under which cosign keeps the signatures of a manifest, in the same repository. */
export function signatureTag(digest: string): string {
  return `${digest.replace(":", "-")}.sig`;
}

/**
 * The signatures that are attached to a manifest, the newest first; none when there are none.
 * @param digest of the manifest
 * @throws RejectedError when what is attached cannot be read; RegistryError or Error when the registry fails
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export async function attachedSignatures(
  repository: Repository,
  digest: string,
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<FoundSignature[]> {
  const tag = signatureTag(digest);
  try {
    const manifest = await repository.manifest(tag, limits.manifestBytes, signal).catch(undefinedIfMissing);
    if (!manifest) return [];
    const found: FoundSignature[] = [];
    for (const layer of signatureLayers(manifest)) {
      const payload = await readBlob(repository, layer, limits, signal);
      found.push({ payload, signature: Annotated.safeParse(layer).data?.annotations?.[SIGNATURE_ANNOTATION] });
    }
    return found;
  } catch (err) {
    if (!(err instanceof ContentError)) throw err;
    throw new RejectedError(`reading signatures at ${nameOf(repository.ref)}:${tag}: ${messageOf(err)}`, { cause: err });
  }
}

/** Beside signatures the manifest may hold other things, such as attestations. */
function signatureLayers(manifest: { readonly bytes: Buffer; readonly mediaType: string }): Descriptor[] {
  const parsed = parseManifest(manifest.bytes, manifest.mediaType);
  if (parsed.kind === "index") throw new ContentError("the manifest is an index");
  return parsed.layers
    .filter(({ mediaType, size }) => mediaType === SIGNATURE_TYPE && size <= PAYLOAD_BYTES)
    .slice(-SIGNATURES_MAX)
    .reverse();
}

function undefinedIfMissing(err: unknown): undefined {
  if (err instanceof RegistryError && err.status === 404) return undefined;
  throw err;
}
