import { digestProblem } from "../../api/imageName.ts";
import { goQuoted } from "../../golang/quote.ts";
import { FormatError, knownMembers, membersOf, parseStrictJson, textMember, utf8Text } from "./strictJson.ts";

/** What a signature states: this image, under this name. */
export interface SignedClaim {
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
  const type = textMember(critical, "type");
  if (type !== TYPE) throw new FormatError(`Unrecognized signature type ${goQuoted(type.slice(0, 100))}`);
  const digest = textMember(knownMembers(critical.get("image"), ["docker-manifest-digest"]), "docker-manifest-digest");
  const problem = digestProblem(digest);
  if (problem !== undefined) throw new FormatError(`invalid docker-manifest-digest value: ${problem}`);
  return { digest, reference: textMember(knownMembers(critical.get("identity"), ["docker-reference"]), "docker-reference") };
}

/** Remarks of the signer; cosign writes null where there are none. */
function checkOptional(value: unknown): void {
  if (value === null) return;
  const optional = membersOf(value);
  if (optional.has("creator")) textMember(optional, "creator");
  if (optional.has("timestamp") && !Number.isInteger(optional.get("timestamp")))
    throw new FormatError("Field optional.timestamp is not is not an integer");
}
