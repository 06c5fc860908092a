import type { KeyObject } from "node:crypto";
import { getErrorMessage } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatList } from "../../text/lists.ts";
import { formatFamiliarReference, type Reference } from "../reference.ts";
import { getHashAlgorithm, isSignedBy } from "./publicKey.ts";
import { encodeSignedBytes, type FoundSignature, parsePayload, parseStatement } from "./signatureFormats.ts";
import { matchesIdentity, type SignedIdentity } from "./signedIdentity.ts";

/** A requirement with parsed keys. */
export type ReadyRequirement =
  | { readonly type: "insecureAcceptAnything" | "reject" }
  | { readonly type: "sigstoreSigned"; readonly keys: readonly KeyObject[]; readonly identity: SignedIdentity }
  | { readonly type: "unsupported"; readonly what: string };

/** Reference and digests of an image. */
export interface JudgedImage {
  /** the requested reference */
  readonly ref: Reference;
  /** verified digests of the manifest and, for a multi-platform image, of the index */
  readonly digests: readonly string[];
}

/**
 * Whether an image is accepted: the signatures that satisfy the policy, at most one per
 * requirement, or the reason for rejection.
 */
export type PolicyVerdict = { readonly accepted: readonly FoundSignature[] } | { readonly refused: string };

/** Annotation that contains a stored signature. */
export const SIGNATURE_ANNOTATION = "dev.cosignproject.cosign/signature";
/** Maximum number of different reasons in a message. */
const REASONS_TOLD = 4;

/** Checks an image against the requirements, in order. All must be met; each needs one valid signature. */
export function judgeImage(
  requirements: readonly ReadyRequirement[],
  image: JudgedImage,
  signatures: readonly FoundSignature[],
): PolicyVerdict {
  const accepted: FoundSignature[] = [];
  for (const requirement of requirements) {
    const refused = findUnconditionalRefusal(requirement, image.ref);
    if (refused !== undefined) return { refused };
    if (requirement.type !== "sigstoreSigned") continue;
    const reasons: string[] = [];
    const good = signatures.find((signature) => {
      const problem = signatureProblem(requirement, image, signature);
      if (problem !== undefined) reasons.push(problem);
      return problem === undefined;
    });
    if (!good) return { refused: refusal(reasons) };
    if (!accepted.includes(good)) accepted.push(good);
  }
  return { accepted };
}

/** Returns why no signature can meet a requirement; undefined if one can. */
export function findUnconditionalRefusal(requirement: ReadyRequirement | { type: "sigstoreSigned" }, ref: Reference): string | undefined {
  if (requirement.type === "reject") return `Running image docker://${formatFamiliarReference(ref)} is rejected by policy.`;
  if (requirement.type === "unsupported")
    return `the signature policy requires ${requirement.what} for docker://${formatFamiliarReference(ref)}, which is not supported: use "sigstoreSigned" with keys`;
  return undefined;
}

/**
 * Returns why a signature does not meet the requirement. Verifies the signature before it parses
 * the signed bytes.
 */
function signatureProblem(
  { keys, identity }: { readonly keys: readonly KeyObject[]; readonly identity: SignedIdentity },
  { ref, digests }: JudgedImage,
  { payload, signature, isStatement = false }: FoundSignature,
): string | undefined {
  if (signature === undefined) return `missing ${SIGNATURE_ANNOTATION} annotation`;
  const bytes = Buffer.from(signature, "base64");
  if (bytes.length === 0 || bytes.toString("base64") !== signature) return "base64 decoding: illegal base64 data";
  const isBy = (key: KeyObject): boolean =>
    isStatement ? isSignedBy(key, encodeSignedBytes(payload), bytes, getHashAlgorithm(key)) : isSignedBy(key, payload, bytes);
  if (!keys.some(isBy)) return "cryptographic signature verification failed: the signature does not match any key in the policy";
  try {
    const claims = isStatement ? parseStatement(payload) : [parsePayload(payload)];
    const claim = claims.find(({ digest }) => digests.includes(digest));
    if (!claim) return `Signature for digest ${claims[0]?.digest} does not match`;
    if (!matchesIdentity(identity, ref, claim.reference)) return identityProblem(identity, claim.reference);
  } catch (err) {
    return getErrorMessage(err);
  }
  return undefined;
}

function identityProblem(identity: SignedIdentity, stated: string | undefined): string {
  if (stated === undefined)
    return 'Signature for identity "" is not accepted: cosign 3 signs without an image name unless you pass -a docker-reference=NAME; use signedIdentity "matchDigest" to accept such signatures';
  const text = `Signature for identity ${goQuote(stated.slice(0, 300))} is not accepted`;
  const wantsTag = identity.type !== "matchRepository" && identity.type !== "exactRepository";
  const isRepository = !stated.includes("@") && !stated.slice(stated.lastIndexOf("/")).includes(":");
  return wantsTag && isRepository
    ? `${text}: the identity has no tag, as usual for cosign signatures; use signedIdentity "matchRepository" or "exactRepository" to accept it`
    : text;
}

function refusal(reasons: readonly string[]): string {
  const [first, ...others] = new Set(reasons);
  if (first === undefined) return "A signature was required, but no signature exists";
  if (others.length === 0) return first;
  return `None of the signatures were accepted, reasons: ${formatList([first, ...others], { max: REASONS_TOLD, separator: "; " })}`;
}
