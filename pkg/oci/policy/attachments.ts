import * as z from "zod";
import { getErrorMessage } from "../../errors/errors.ts";
import { ImageContentError, RejectedError } from "../imageErrors.ts";
import { type Descriptor, parseManifest } from "../manifest.ts";
import { formatRepository } from "../reference.ts";
import { type DownloadLimits, readBlob } from "../registry/download.ts";
import { RegistryError } from "../registry/registryError.ts";
import { type FetchedManifest, listReferrers, type Referrer, type Repository } from "../registry/repository.ts";
import type { FoundSignature, SignerEvidence } from "../signers/foundSignature.ts";
import { SIGNATURE_ANNOTATION } from "./judge.ts";
import { BUNDLE_TYPE, readSignatureBundle, SIGNATURE_PREDICATE } from "./signatureFormats.ts";

/** Limits for reading signatures. */
export interface AttachmentLimits extends DownloadLimits {
  readonly manifestBytes: number;
}

/** The signatures attached to a manifest, newest first. */
export interface AttachedSignatures {
  readonly signatures: readonly FoundSignature[];
  /** the first problem of attachments that were skipped, because they do not exist or are invalid */
  readonly problem: Error | undefined;
}

/** The number of signatures that may still be read, also counting invalid ones. */
interface SignatureBudget {
  left: number;
}

/** Reads the signatures attached to a manifest in one of the supported ways, newest first. */
type SignatureReader = (
  repository: Repository,
  digest: string,
  limits: AttachmentLimits,
  signal: AbortSignal,
) => Promise<AttachedSignatures>;

/** Media type of a signature's payload. */
export const SIGNATURE_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json";
/** Type of a manifest that contains signatures and refers to the signed manifest. */
export const ARTIFACT_TYPE = "application/vnd.dev.cosign.artifact.sig.v1+json";
/** Type of a manifest that contains only layers. Some tools report it as the artifact type of a referrer, instead of the type of the layers. */
const EMPTY_TYPE = "application/vnd.oci.empty.v1+json";
/** Annotation of a referrer with the predicate type of the statement in its bundle. */
const PREDICATE_ANNOTATION = "dev.sigstore.bundle.predicateType";
/**
 * Annotations in which cosign stores evidence.
 * @see https://github.com/sigstore/cosign/blob/v2.4.0/specs/SIGNATURE_SPEC.md#properties
 */
export const EVIDENCE_ANNOTATIONS = {
  certificate: "dev.sigstore.cosign/certificate",
  chain: "dev.sigstore.cosign/chain",
  logEntry: "dev.sigstore.cosign/bundle",
} as const satisfies Partial<Record<keyof SignerEvidence, string>>;
/**
 * Maximum number of signatures of a manifest to read in one way: from the tag, or from all referring manifests together.
 * Reads the newest ones, which cosign adds at the end.
 */
const SIGNATURES_MAX = 64;
/** Maximum number of referring manifests to read. Reads the last ones. */
const REFERRERS_MAX = 32;
const PAYLOAD_BYTES = 256 * 1024;

const Annotated = z.looseObject({ annotations: z.record(z.string(), z.string()).nullish() });

/** Returns the tag under which cosign stores the signatures of a manifest, in the same repository. */
export function formatSignatureTag(digest: string): string {
  return `${digest.replace(":", "-")}.sig`;
}

/**
 * Yields the signatures attached to a manifest: first those at cosign's tag, then those in manifests that refer to it. Requests the referring
 * manifests only if the caller continues. A problem is a RejectedError for invalid content, or a RegistryError for a manifest that does not exist.
 * @param digest of the manifest
 * @throws RegistryError or Error if a request to the registry fails
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export async function* attachedSignatures(
  repository: Repository,
  digest: string,
  limits: AttachmentLimits,
  signal: AbortSignal,
): AsyncGenerator<AttachedSignatures> {
  const ways: SignatureReader[] = [readTaggedSignatures, readReferringSignatures];
  for (const way of ways) {
    const { signatures, problem } = await way(repository, digest, limits, signal).catch(skip);
    yield { signatures, problem: problem instanceof ImageContentError ? toRejection(repository, digest, problem) : problem };
  }
}

function toRejection({ ref }: Repository, digest: string, cause: ImageContentError): RejectedError {
  return new RejectedError(`reading signatures of ${formatRepository(ref)}@${digest}: ${getErrorMessage(cause)}`, { cause });
}

/** Returns no signatures for an attachment that does not exist or is invalid, because another one may be valid. @throws all other errors */
function skip(err: unknown): AttachedSignatures {
  if (err instanceof ImageContentError || (err instanceof RegistryError && err.status === 404)) return { signatures: [], problem: err };
  throw err;
}

async function readTaggedSignatures(
  repository: Repository,
  digest: string,
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<AttachedSignatures> {
  const manifest = await repository.findManifest(formatSignatureTag(digest), limits.manifestBytes, signal);
  return manifest ? readSignatures(repository, manifest, { left: SIGNATURES_MAX }, limits, signal) : { signatures: [], problem: undefined };
}

async function readReferringSignatures(
  repository: Repository,
  digest: string,
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<AttachedSignatures> {
  const referrers = await listReferrers(repository, digest, limits.manifestBytes, signal);
  const found: AttachedSignatures[] = [];
  const budget: SignatureBudget = { left: SIGNATURES_MAX };
  for (const holder of referrers.filter(mayHoldSignatures).slice(-REFERRERS_MAX).reverse()) {
    if (budget.left === 0) break;
    const read = async (): Promise<AttachedSignatures> =>
      readSignatures(repository, await repository.manifest(holder.digest, limits.manifestBytes, signal), budget, limits, signal);
    found.push(await read().catch(skip));
  }
  return { signatures: found.flatMap((one) => one.signatures), problem: found.flatMap(({ problem }) => problem ?? [])[0] };
}

function mayHoldSignatures({ artifactType, descriptor }: Referrer): boolean {
  const predicate = getAnnotation(descriptor, PREDICATE_ANNOTATION) ?? SIGNATURE_PREDICATE;
  return [ARTIFACT_TYPE, EMPTY_TYPE].includes(artifactType) || (artifactType.startsWith(BUNDLE_TYPE) && predicate === SIGNATURE_PREDICATE);
}

/** Reads the newest signatures of a manifest within the budget. A manifest may contain other attachments, such as attestations. */
async function readSignatures(
  repository: Repository,
  manifest: FetchedManifest,
  budget: SignatureBudget,
  limits: AttachmentLimits,
  signal: AbortSignal,
): Promise<AttachedSignatures> {
  const parsed = parseManifest(manifest.bytes, manifest.mediaType);
  if (parsed.kind === "index") throw new ImageContentError("expected an image manifest with signatures, found an image index");
  const layers = parsed.layers.filter(({ mediaType, size }) => isSignature(mediaType) && size <= PAYLOAD_BYTES);
  const found: (FoundSignature | undefined)[] = [];
  for (const layer of layers.reverse().slice(0, budget.left)) {
    budget.left--;
    const payload = await readBlob(repository, layer, limits, signal);
    const isSimple = layer.mediaType === SIGNATURE_TYPE;
    found.push(isSimple ? readSimpleSignature(payload, layer) : readSignatureBundle(payload));
  }
  return { signatures: found.filter((signature) => signature !== undefined), problem: undefined };
}

function readSimpleSignature(payload: Buffer, layer: Descriptor): FoundSignature {
  const evidence = Object.entries(EVIDENCE_ANNOTATIONS).flatMap(([member, name]) => {
    const text = getAnnotation(layer, name);
    return text === undefined ? [] : [[member, text] as const];
  });
  const attached: SignerEvidence | undefined = evidence.length === 0 ? undefined : Object.fromEntries(evidence);
  return { payload, signature: getAnnotation(layer, SIGNATURE_ANNOTATION), attached };
}

function isSignature(mediaType: string): boolean {
  return mediaType === SIGNATURE_TYPE || mediaType.startsWith(BUNDLE_TYPE);
}

function getAnnotation(descriptor: Descriptor, name: string): string | undefined {
  return Annotated.safeParse(descriptor).data?.annotations?.[name];
}
