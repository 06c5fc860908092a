import { z } from "zod";
import { messageOf } from "../../errors/errors.ts";
import { ContentError } from "../contentError.ts";
import { type DownloadLimits, readBlob } from "../download.ts";
import { type Descriptor, parseManifest } from "../manifest.ts";
import { nameOf } from "../reference.ts";
import type { FetchedManifest, Repository } from "../registry.ts";
import { RegistryError } from "../registryError.ts";
import { type FoundSignature, SIGNATURE_ANNOTATION } from "./judge.ts";
import { referrersOf } from "./referrers.ts";
import { RejectedError } from "./rejectedError.ts";

/** What reading signatures may cost. */
export interface AttachmentLimits extends DownloadLimits {
  readonly manifestBytes: number;
}

/** What is attached to a manifest. */
export interface Attached {
  /** the newest first */
  readonly signatures: readonly FoundSignature[];
  /** Whether there is something in cosign's newer format, which states no name of an image and is not read. */
  readonly bundles: boolean;
}

/** Media type of a signature's payload. */
export const SIGNATURE_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json";
/** Of a manifest that holds signatures and refers to the signed one. */
export const ARTIFACT_TYPE = "application/vnd.dev.cosign.artifact.sig.v1+json";
/** What the types of cosign's newer format begin with; behind a tag in place of the endpoint cosign 3 writes the other one. */
const BUNDLE_TYPES = ["application/vnd.dev.sigstore.bundle", "application/vnd.oci.empty.v1+json"];
/** Of one manifest so many signatures are read: the newest, which cosign puts last. */
const SIGNATURES_MAX = 64;
/** So many manifests that refer to the signed one are read: the last. */
const REFERRERS_MAX = 8;
const PAYLOAD_BYTES = 256 * 1024;

const Annotated = z.looseObject({ annotations: z.record(z.string(), z.string()).nullish() });

/** The tag under which cosign keeps the signatures of a manifest, in the same repository. */
export function signatureTag(digest: string): string {
  return `${digest.replace(":", "-")}.sig`;
}

/**
 * The signatures that are attached to a manifest: behind cosign's tag, or else in manifests that refer to it.
 * @param digest of the manifest
 * @throws RejectedError when what is attached cannot be read; RegistryError or Error when the registry fails
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export async function attachedSignatures(
  repository: Repository,
  digest: string,
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<Attached> {
  try {
    const tagged = await repository.manifest(signatureTag(digest), limits.manifestBytes, signal).catch(undefinedIfMissing);
    const signatures = tagged ? await signaturesIn(repository, tagged, limits, signal) : [];
    return signatures.length > 0 ? { signatures, bundles: false } : await referring(repository, digest, limits, signal);
  } catch (err) {
    if (!(err instanceof ContentError)) throw err;
    throw new RejectedError(`reading signatures of ${nameOf(repository.ref)}@${digest}: ${messageOf(err)}`, { cause: err });
  }
}

async function referring(repository: Repository, digest: string, limits: AttachmentLimits, signal: AbortSignal): Promise<Attached> {
  const referrers = await referrersOf(repository, digest, limits.manifestBytes, signal);
  const signatures: FoundSignature[] = [];
  const holders = referrers.filter(({ artifactType }) => artifactType === ARTIFACT_TYPE).slice(-REFERRERS_MAX);
  for (const holder of holders.reverse()) {
    const manifest = await repository.manifest(holder.digest, limits.manifestBytes, signal);
    signatures.push(...(await signaturesIn(repository, manifest, limits, signal)));
  }
  const bundles = referrers.some(({ artifactType }) => BUNDLE_TYPES.some((type) => artifactType.startsWith(type)));
  return { signatures: signatures.slice(0, SIGNATURES_MAX), bundles };
}

/** Beside signatures a manifest may hold other things, such as attestations. */
async function signaturesIn(
  repository: Repository,
  manifest: FetchedManifest,
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<FoundSignature[]> {
  const parsed = parseManifest(manifest.bytes, manifest.mediaType);
  if (parsed.kind === "index") throw new ContentError("there is an index in place of signatures");
  const layers = parsed.layers.filter(({ mediaType, size }) => mediaType === SIGNATURE_TYPE && size <= PAYLOAD_BYTES);
  const found: FoundSignature[] = [];
  for (const layer of layers.slice(-SIGNATURES_MAX).reverse())
    found.push({ payload: await readBlob(repository, layer, limits, signal), signature: signatureOf(layer) });
  return found;
}

function signatureOf(layer: Descriptor): string | undefined {
  return Annotated.safeParse(layer).data?.annotations?.[SIGNATURE_ANNOTATION];
}

function undefinedIfMissing(err: unknown): undefined {
  if (err instanceof RegistryError && err.status === 404) return undefined;
  throw err;
}
