import * as z from "zod";
import { digestProblem } from "../../api/imageName.ts";
import { goQuote } from "../../golang/quote.ts";
import { FormatError, knownMembers, parseStrictJson, requireMembers, requireText, utf8Text } from "./strictJson.ts";

/** A signature as it was found: nothing about it is to be trusted. */
export interface FoundSignature {
  readonly payload: Uint8Array;
  /** base64; undefined when it was stored without one */
  readonly signature: string | undefined;
  /** Whether the payload is the in-toto statement of a sigstore bundle; it is in the simple signing format otherwise. */
  readonly isStatement?: boolean | undefined;
}

/** What a signature states: this image, under this name. */
interface SignedClaim {
  /** of a manifest */
  readonly digest: string;
  /** a docker reference, mostly a repository without a tag; undefined where the format leaves it out */
  readonly reference: string | undefined;
}

const TYPE = "cosign container image signature";

/**
 * Reads the payload of a signature, in the simple signing format; it is to be trusted only once its signature has been verified.
 * @throws FormatError with the text of containers/image
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export function parsePayload(bytes: Uint8Array): SignedClaim {
  const members = knownMembers(parseStrictJson(utf8Text(bytes)), ["critical", "optional"]);
  checkOptional(members.get("optional"));
  const critical = knownMembers(members.get("critical"), ["type", "image", "identity"]);
  const type = requireText(critical, "type");
  if (type !== TYPE) throw new FormatError(`Unrecognized signature type ${goQuote(type.slice(0, 100))}`);
  const digest = requireText(knownMembers(critical.get("image"), ["docker-manifest-digest"]), "docker-manifest-digest");
  const problem = digestProblem(digest);
  if (problem !== undefined) throw new FormatError(`invalid docker-manifest-digest value: ${problem}`);
  return { digest, reference: requireText(knownMembers(critical.get("identity"), ["docker-reference"]), "docker-reference") };
}

/** Remarks of the signer; cosign writes null where there are none. */
function checkOptional(value: unknown): void {
  if (value === null) return;
  const optional = requireMembers(value);
  if (optional.has("creator")) requireText(optional, "creator");
  if (optional.has("timestamp") && !Number.isInteger(optional.get("timestamp")))
    throw new FormatError("Field optional.timestamp is not is not an integer");
}

/** What the media types of bundles begin with; a version follows. */
export const BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle";
/** Of a statement that is the signature of an image, not an attestation of something about it. */
export const SIGNATURE_PREDICATE = "https://sigstore.dev/cosign/sign/v1";
/** Annotation that `cosign sign -a` has a signature state as the name of the image: the format has no place of its own for it. */
const NAME_ANNOTATION = "docker-reference";
const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
const PAYLOAD_TYPE = "application/vnd.in-toto+json";
const Bundle = z.looseObject({
  mediaType: z.string().startsWith(BUNDLE_TYPE),
  dsseEnvelope: z.looseObject({
    payload: z.base64(),
    payloadType: z.literal(PAYLOAD_TYPE),
    signatures: z.tuple([z.looseObject({ sig: z.string() })]),
  }),
});

/**
 * The signature in a bundle of sigstore, as cosign 3 writes it. Certificates and entries of logs in it are not looked at.
 * @param bytes untrusted
 * @returns undefined when it holds anything but one signed in-toto statement
 * @see https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md
 */
export function signatureInBundle(bytes: Uint8Array): FoundSignature | undefined {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined;
  }
  const envelope = Bundle.safeParse(json).data?.dsseEnvelope;
  return envelope && { payload: Buffer.from(envelope.payload, "base64"), signature: envelope.signatures[0].sig, isStatement: true };
}

/**
 * The bytes that are signed for a statement.
 * @see https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
 */
export function signedBytes(statement: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${statement.byteLength} `), statement]);
}

/**
 * Reads a statement, which is to be trusted only once its signature has been verified: one claim a subject. Members that are unknown are passed
 * over, as in-toto asks of its readers.
 * @throws FormatError for what is no statement, and for an attestation
 * @see https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
 */
export function parseStatement(bytes: Uint8Array): SignedClaim[] {
  const statement = requireMembers(parseStrictJson(utf8Text(bytes)));
  const [type, predicate] = [requireText(statement, "_type"), requireText(statement, "predicateType")];
  if (type !== STATEMENT_TYPE) throw new FormatError(`Unrecognized statement type ${goQuote(type.slice(0, 100))}`);
  if (predicate !== SIGNATURE_PREDICATE)
    throw new FormatError(`the bundle is an attestation of type ${goQuote(predicate.slice(0, 100))}, not a signature of the image`);
  const subjects = statement.get("subject");
  if (!Array.isArray(subjects) || subjects.length === 0) throw new FormatError("the statement has no subject");
  return subjects.map(claimOf);
}

function claimOf(value: unknown): SignedClaim {
  const subject = requireMembers(value);
  const digest = `sha256:${requireText(requireMembers(subject.get("digest")), "sha256")}`;
  const problem = digestProblem(digest);
  if (problem !== undefined) throw new FormatError(`invalid digest of a subject: ${problem}`);
  const annotations = requireMembers(subject.get("annotations") ?? {});
  return { digest, reference: annotations.has(NAME_ANNOTATION) ? requireText(annotations, NAME_ANNOTATION) : undefined };
}
