import * as z from "zod";
import { messageOf } from "../../errors/errors.ts";
import { ImageContentError, RejectedError } from "../imageErrors.ts";
import { type Descriptor, parseManifest } from "../manifest.ts";
import { nameOf } from "../reference.ts";
import { type DownloadLimits, readBlob } from "../registry/download.ts";
import { type FetchedManifest, type Referrer, type Repository, referrersOf } from "../registry/repository.ts";
import { SIGNATURE_ANNOTATION } from "./judge.ts";
import { BUNDLE_TYPE, type FoundSignature, SIGNATURE_PREDICATE, signatureInBundle } from "./signatureFormats.ts";

/** What reading signatures may cost. */
export interface AttachmentLimits extends DownloadLimits {
  readonly manifestBytes: number;
}

/** Reads what is attached to a manifest in one of the ways there are, the newest first. */
type Reading = (repository: Repository, digest: string, limits: AttachmentLimits, signal: AbortSignal) => Promise<FoundSignature[]>;

/** Media type of a signature's payload. */
export const SIGNATURE_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json";
/** Of a manifest that holds signatures and refers to the signed one. */
export const ARTIFACT_TYPE = "application/vnd.dev.cosign.artifact.sig.v1+json";
/** Of a manifest that holds nothing but layers; some tools put it into lists of referrers in place of the type of what these are. */
const EMPTY_TYPE = "application/vnd.oci.empty.v1+json";
/** In a list of referrers, what the statement in a bundle is about. */
const PREDICATE_ANNOTATION = "dev.sigstore.bundle.predicateType";
/** Of one manifest so many signatures are read: the newest, which cosign puts last. */
const SIGNATURES_MAX = 64;
/** So many manifests that refer to the signed one are read: the last. */
const REFERRERS_MAX = 32;
const PAYLOAD_BYTES = 256 * 1024;

const Annotated = z.looseObject({ annotations: z.record(z.string(), z.string()).nullish() });

/** The tag under which cosign keeps the signatures of a manifest, in the same repository. */
export function signatureTag(digest: string): string {
  return `${digest.replace(":", "-")}.sig`;
}

/**
 * The signatures that are attached to a manifest, one way after the other: those behind cosign's tag, then those in manifests that refer to it.
 * What comes first may be enough, so that the rest is never asked for.
 * @param digest of the manifest
 * @throws RejectedError when what is attached cannot be read; RegistryError or Error when the registry fails
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export async function* attachedSignatures(
  repository: Repository,
  digest: string,
  limits: AttachmentLimits,
  signal: AbortSignal,
): AsyncGenerator<readonly FoundSignature[]> {
  const ways: Reading[] = [tagged, referring];
  for (const way of ways)
    try {
      yield await way(repository, digest, limits, signal);
    } catch (err) {
      if (!(err instanceof ImageContentError)) throw err;
      throw new RejectedError(`reading signatures of ${nameOf(repository.ref)}@${digest}: ${messageOf(err)}`, { cause: err });
    }
}

async function tagged(repository: Repository, digest: string, limits: AttachmentLimits, signal: AbortSignal): Promise<FoundSignature[]> {
  const manifest = await repository.findManifest(signatureTag(digest), limits.manifestBytes, signal);
  return manifest ? signaturesIn(repository, manifest, limits, signal) : [];
}

async function referring(repository: Repository, digest: string, limits: AttachmentLimits, signal: AbortSignal): Promise<FoundSignature[]> {
  const referrers = await referrersOf(repository, digest, limits.manifestBytes, signal);
  const signatures: FoundSignature[] = [];
  for (const holder of referrers.filter(mayHoldSignatures).slice(-REFERRERS_MAX).reverse()) {
    const manifest = await repository.manifest(holder.digest, limits.manifestBytes, signal);
    signatures.push(...(await signaturesIn(repository, manifest, limits, signal)));
  }
  return signatures.slice(0, SIGNATURES_MAX);
}

function mayHoldSignatures({ artifactType, descriptor }: Referrer): boolean {
  const predicate = annotationOf(descriptor, PREDICATE_ANNOTATION) ?? SIGNATURE_PREDICATE;
  return [ARTIFACT_TYPE, EMPTY_TYPE].includes(artifactType) || (artifactType.startsWith(BUNDLE_TYPE) && predicate === SIGNATURE_PREDICATE);
}

/** Beside signatures a manifest may hold other things, such as attestations. */
async function signaturesIn(
  repository: Repository,
  manifest: FetchedManifest,
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<FoundSignature[]> {
  const parsed = parseManifest(manifest.bytes, manifest.mediaType);
  if (parsed.kind === "index") throw new ImageContentError("there is an index in place of signatures");
  const layers = parsed.layers.filter(({ mediaType, size }) => isSignature(mediaType) && size <= PAYLOAD_BYTES);
  const found: (FoundSignature | undefined)[] = [];
  for (const layer of layers.slice(-SIGNATURES_MAX).reverse()) {
    const payload = await readBlob(repository, layer, limits, signal);
    const isSimple = layer.mediaType === SIGNATURE_TYPE;
    found.push(isSimple ? { payload, signature: annotationOf(layer, SIGNATURE_ANNOTATION) } : signatureInBundle(payload));
  }
  return found.filter((signature) => signature !== undefined);
}

function isSignature(mediaType: string): boolean {
  return mediaType === SIGNATURE_TYPE || mediaType.startsWith(BUNDLE_TYPE);
}

function annotationOf(descriptor: Descriptor, name: string): string | undefined {
  return Annotated.safeParse(descriptor).data?.annotations?.[name];
}
