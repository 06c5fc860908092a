import * as z from "zod";
import { findDigestError } from "../../api/imageName.ts";
import { goQuote } from "../../golang/quote.ts";
import { type FoundSignature, STATEMENT_PAYLOAD_TYPE } from "../signers/foundSignature.ts";
import { decodeUtf8, FormatError, parseStrictJson, readKnownMembers, requireMembers, requireText } from "../signers/strictJson.ts";

/** The image and the name that a signature claims. */
interface SignedClaim {
  /** of a manifest */
  readonly digest: string;
  /** a docker reference, usually a repository without a tag; undefined if the format omits it */
  readonly reference: string | undefined;
}

const TYPE = "cosign container image signature";

/**
 * Parses the payload of a signature in the simple signing format. Trust the result only after
 * verifying the signature.
 * @throws FormatError with the text of containers/image
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export function parsePayload(bytes: Uint8Array): SignedClaim {
  const members = readKnownMembers(parseStrictJson(decodeUtf8(bytes)), ["critical", "optional"]);
  checkOptional(members.get("optional"));
  const critical = readKnownMembers(members.get("critical"), ["type", "image", "identity"]);
  const type = requireText(critical, "type");
  if (type !== TYPE) throw new FormatError(`Unrecognized signature type ${goQuote(type.slice(0, 100))}`);
  const digest = requireText(readKnownMembers(critical.get("image"), ["docker-manifest-digest"]), "docker-manifest-digest");
  const problem = findDigestError(digest);
  if (problem !== undefined) throw new FormatError(`invalid docker-manifest-digest value: ${problem}`);
  return { digest, reference: requireText(readKnownMembers(critical.get("identity"), ["docker-reference"]), "docker-reference") };
}

/** Optional fields of the signer; cosign writes null if there are none. */
function checkOptional(value: unknown): void {
  if (value === null) return;
  const optional = requireMembers(value);
  if (optional.has("creator")) requireText(optional, "creator");
  if (optional.has("timestamp") && !Number.isInteger(optional.get("timestamp")))
    throw new FormatError("Field optional.timestamp is not is not an integer");
}

/** Prefix of the media types of bundles; the version follows. */
export const BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle";
/** Predicate type of an image signature, as opposed to an attestation. */
export const SIGNATURE_PREDICATE = "https://sigstore.dev/cosign/sign/v1";
/**
 * Annotation with the name of the image, set with `cosign sign -a`, because the format has no field
 * for it.
 */
const NAME_ANNOTATION = "docker-reference";
const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
const Bundle = z.looseObject({
  mediaType: z.string().startsWith(BUNDLE_TYPE),
  dsseEnvelope: z.looseObject({
    payload: z.base64(),
    payloadType: z.literal(STATEMENT_PAYLOAD_TYPE),
    signatures: z.tuple([z.looseObject({ sig: z.string() })]),
  }),
});

/**
 * Returns the signature in a sigstore bundle of cosign 3, with the bundle for its certificates and log entries.
 * @param bytes untrusted
 * @returns undefined if it contains anything other than one signed in-toto statement
 * @see https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md
 */
export function readSignatureBundle(bytes: Uint8Array): FoundSignature | undefined {
  const bundle = Buffer.from(bytes).toString("utf8");
  let json: unknown;
  try {
    json = JSON.parse(bundle);
  } catch {
    return undefined;
  }
  const envelope = Bundle.safeParse(json).data?.dsseEnvelope;
  if (!envelope) return undefined;
  return {
    payload: Buffer.from(envelope.payload, "base64"),
    signature: envelope.signatures[0].sig,
    isStatement: true,
    attached: { bundle },
  };
}

/**
 * Parses a statement into one claim per subject. Trust the result only after verifying the
 * signature. Ignores unknown members, as in-toto requires of readers.
 * @throws FormatError for anything else, including an attestation
 * @see https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
 */
export function parseStatement(bytes: Uint8Array): SignedClaim[] {
  const statement = requireMembers(parseStrictJson(decodeUtf8(bytes)));
  const [type, predicate] = [requireText(statement, "_type"), requireText(statement, "predicateType")];
  if (type !== STATEMENT_TYPE) throw new FormatError(`Unrecognized statement type ${goQuote(type.slice(0, 100))}`);
  if (predicate !== SIGNATURE_PREDICATE)
    throw new FormatError(`the sigstore bundle is an attestation of type ${goQuote(predicate.slice(0, 100))}, not an image signature`);
  const subjects = statement.get("subject");
  if (!Array.isArray(subjects) || subjects.length === 0) throw new FormatError("the statement has no subject");
  return subjects.map(parseClaim);
}

function parseClaim(value: unknown): SignedClaim {
  const subject = requireMembers(value);
  const digest = `sha256:${requireText(requireMembers(subject.get("digest")), "sha256")}`;
  const problem = findDigestError(digest);
  if (problem !== undefined) throw new FormatError(`invalid subject digest: ${problem}`);
  const annotations = requireMembers(subject.get("annotations") ?? {});
  return { digest, reference: annotations.has(NAME_ANNOTATION) ? requireText(annotations, NAME_ANNOTATION) : undefined };
}
