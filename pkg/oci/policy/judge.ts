import type { KeyObject } from "node:crypto";
import { messageOf } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatList } from "../../text/lists.ts";
import { familiarText, type Reference } from "../reference.ts";
import { hashOf, isSignedBy } from "./publicKey.ts";
import { type FoundSignature, parsePayload, parseStatement, signedBytes } from "./signatureFormats.ts";
import { matchesIdentity, type SignedIdentity } from "./signedIdentity.ts";

/** A requirement whose keys have been read. */
export type ReadyRequirement =
  | { readonly type: "insecureAcceptAnything" | "reject" }
  | { readonly type: "sigstoreSigned"; readonly keys: readonly KeyObject[]; readonly identity: SignedIdentity }
  | { readonly type: "unsupported"; readonly what: string };

/** What an image is known as. */
export interface JudgedImage {
  /** by which it was asked for */
  readonly ref: Reference;
  /** of its manifest and, for an image of several platforms, of the index that leads to it; each was compared with the content */
  readonly digests: readonly string[];
}

/** Whether an image may be taken: the signatures that say so, one a requirement at most, or why not. */
export type PolicyVerdict = { readonly accepted: readonly FoundSignature[] } | { readonly refused: string };

/** Annotation of a stored signature that holds it. */
export const SIGNATURE_ANNOTATION = "dev.cosignproject.cosign/signature";
/** So many different reasons are told. */
const REASONS_TOLD = 4;

/** Judges an image: every requirement has to hold, in their order; one good signature is enough for each. */
export function judgeImage(
  requirements: readonly ReadyRequirement[],
  image: JudgedImage,
  signatures: readonly FoundSignature[],
): PolicyVerdict {
  const accepted: FoundSignature[] = [];
  for (const requirement of requirements) {
    const refused = refusalWithoutSignatures(requirement, image.ref);
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

/** Why a requirement cannot hold whatever signatures there are; undefined when it can. */
export function refusalWithoutSignatures(requirement: ReadyRequirement | { type: "sigstoreSigned" }, ref: Reference): string | undefined {
  if (requirement.type === "reject") return `Running image docker://${familiarText(ref)} is rejected by policy.`;
  if (requirement.type === "unsupported")
    return `the signature policy demands ${requirement.what} for docker://${familiarText(ref)}, which is not supported: use "sigstoreSigned" with keys`;
  return undefined;
}

/** Why a signature does not meet the requirement; the signature itself is checked before a byte of what it signs is looked at. */
function signatureProblem(
  { keys, identity }: { readonly keys: readonly KeyObject[]; readonly identity: SignedIdentity },
  { ref, digests }: JudgedImage,
  { payload, signature, isStatement = false }: FoundSignature,
): string | undefined {
  if (signature === undefined) return `missing ${SIGNATURE_ANNOTATION} annotation`;
  const bytes = Buffer.from(signature, "base64");
  if (bytes.length === 0 || bytes.toString("base64") !== signature) return "base64 decoding: illegal base64 data";
  const isBy = (key: KeyObject): boolean =>
    isStatement ? isSignedBy(key, signedBytes(payload), bytes, hashOf(key)) : isSignedBy(key, payload, bytes);
  if (!keys.some(isBy)) return "cryptographic signature verification failed: none of the policy's keys made this signature";
  try {
    const claims = isStatement ? parseStatement(payload) : [parsePayload(payload)];
    const claim = claims.find(({ digest }) => digests.includes(digest));
    if (!claim) return `Signature for digest ${claims[0]?.digest} does not match`;
    if (!matchesIdentity(identity, ref, claim.reference)) return identityProblem(identity, claim.reference);
  } catch (err) {
    return messageOf(err);
  }
  return undefined;
}

function identityProblem(identity: SignedIdentity, stated: string | undefined): string {
  if (stated === undefined)
    return 'Signature for identity "" is not accepted: it states no name, as those of cosign 3 do not without -a docker-reference=NAME; signedIdentity "matchDigest" accepts it';
  const text = `Signature for identity ${goQuote(stated.slice(0, 300))} is not accepted`;
  const wantsTag = identity.type !== "matchRepository" && identity.type !== "exactRepository";
  const isRepository = !stated.includes("@") && !stated.slice(stated.lastIndexOf("/")).includes(":");
  return wantsTag && isRepository
    ? `${text}: it names a repository without a tag, as cosign does, which only signedIdentity "matchRepository" or "exactRepository" accepts`
    : text;
}

function refusal(reasons: readonly string[]): string {
  const [first, ...others] = new Set(reasons);
  if (first === undefined) return "A signature was required, but no signature exists";
  if (others.length === 0) return first;
  return `None of the signatures were accepted, reasons: ${formatList([first, ...others], { max: REASONS_TOLD, separator: "; " })}`;
}
