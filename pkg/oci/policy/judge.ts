import { getErrorMessage } from "../../errors/errors.ts";
import { decodeCanonicalBase64 } from "../../golang/base64.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatList } from "../../text/lists.ts";
import { formatFamiliarReference, type Reference } from "../reference.ts";
import type { FoundSignature } from "../signers/foundSignature.ts";
import type { SignatureProblem } from "../signers/signatureProblem.ts";
import type { SignerTrust } from "../signers/signerTrust.ts";
import type { RequirementOrigin } from "./policyFile.ts";
import { parsePayload, parseStatement } from "./signatureFormats.ts";
import { matchesIdentity, type SignedIdentity } from "./signedIdentity.ts";

/** A requirement with parsed roots of trust. */
export type ReadyRequirement = RequirementOrigin &
  (
    | { readonly type: "insecureAcceptAnything" | "reject" }
    | { readonly type: "sigstoreSigned"; readonly trust: SignerTrust; readonly identity: SignedIdentity }
    | { readonly type: "unsupported"; readonly what: string }
  );

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
export type PolicyVerdict = { readonly accepted: readonly FoundSignature[] } | { readonly refused: PolicyRefusal };

/** Why an image is rejected. */
export interface PolicyRefusal {
  /** beginning with the text of containers/image */
  readonly message: string;
  /** the different problems of the signatures */
  readonly problems: readonly SignatureProblem[];
}

/** Annotation that contains a stored signature. */
export const SIGNATURE_ANNOTATION = "dev.cosignproject.cosign/signature";
/** Maximum number of different reasons in a message. */
const MAX_REASONS = 4;

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
    const problems: SignatureProblem[] = [];
    const good = signatures.find((signature) => {
      const problem = findSignatureProblem(requirement, image, signature);
      if (problem) problems.push(problem);
      return problem === undefined;
    });
    if (!good) return { refused: toRefusal(problems, requirement.origin) };
    if (!accepted.includes(good)) accepted.push(good);
  }
  return { accepted };
}

/** Returns why no signature can meet a requirement; undefined if one can. */
export function findUnconditionalRefusal(
  requirement: ReadyRequirement | (RequirementOrigin & { readonly type: "sigstoreSigned" }),
  ref: Reference,
): PolicyRefusal | undefined {
  const image = `docker://${formatFamiliarReference(ref)}`;
  if (requirement.type === "reject")
    return toRefusal([{ reason: "PolicyRejects", message: `Running image ${image} is rejected by policy.` }]);
  if (requirement.type !== "unsupported") return undefined;
  const { what, origin } = requirement;
  const message =
    origin === undefined
      ? `the signature policy requires ${what} for ${image}, which is not supported: use "sigstoreSigned"`
      : `${origin} applies to ${image}, but cannot be used: ${what}`;
  return toRefusal([{ reason: "RequirementUnsupported", message }]);
}

/**
 * Returns why a signature does not meet the requirement. Verifies the signature before it parses
 * the signed bytes.
 */
function findSignatureProblem(
  { trust, identity }: { readonly trust: SignerTrust; readonly identity: SignedIdentity },
  { ref, digests }: JudgedImage,
  found: FoundSignature,
): SignatureProblem | undefined {
  const { payload, signature, isStatement = false } = found;
  if (signature === undefined) return { reason: "SignatureMalformed", message: `missing ${SIGNATURE_ANNOTATION} annotation` };
  const bytes = decodeCanonicalBase64(signature);
  if (!bytes?.length) return { reason: "SignatureMalformed", message: "base64 decoding: illegal base64 data" };
  const problem = trust.findProblem(found, bytes);
  if (problem) return problem;
  try {
    const claims = isStatement ? parseStatement(payload) : [parsePayload(payload)];
    const claim = claims.find(({ digest }) => digests.includes(digest));
    if (!claim) return { reason: "DigestMismatch", message: `Signature for digest ${claims[0]?.digest} does not match` };
    if (matchesIdentity(identity, ref, claim.reference)) return undefined;
    return { reason: "IdentityMismatch", message: formatIdentityProblem(identity, claim.reference) };
  } catch (err) {
    return { reason: "ContentMalformed", message: getErrorMessage(err) };
  }
}

function formatIdentityProblem(identity: SignedIdentity, stated: string | undefined): string {
  if (stated === undefined)
    return 'Signature for identity "" is not accepted: cosign 3 signs without an image name unless you pass -a docker-reference=NAME; use signedIdentity "matchDigest" to accept such signatures';
  const text = `Signature for identity ${goQuote(stated.slice(0, 300))} is not accepted`;
  const wantsTag = identity.type !== "matchRepository" && identity.type !== "exactRepository";
  const isRepository = !stated.includes("@") && !stated.slice(stated.lastIndexOf("/")).includes(":");
  return wantsTag && isRepository
    ? `${text}: the identity has no tag, as usual for cosign signatures; use signedIdentity "matchRepository" or "exactRepository" to accept it`
    : text;
}

/** @param origin the object that requires the signature */
function toRefusal(problems: readonly SignatureProblem[], origin?: string): PolicyRefusal {
  const { message, problems: unique } = summarize(problems);
  return { message: origin === undefined ? message : `${message}; required by ${origin}`, problems: unique };
}

function summarize(problems: readonly SignatureProblem[]): PolicyRefusal {
  const unique = [...new Map(problems.map((problem) => [problem.message, problem])).values()];
  const [first, ...others] = unique;
  if (!first) return summarize([{ reason: "SignatureMissing", message: "A signature was required, but no signature exists" }]);
  if (others.length === 0) return { message: first.message, problems: unique };
  const reasons = formatList(
    unique.map(({ message }) => message),
    { max: MAX_REASONS, separator: "; " },
  );
  return { message: `None of the signatures were accepted, reasons: ${reasons}`, problems: unique };
}
