import { goQuote } from "../../golang/quote.ts";
import type { FulcioSubject, TrustRoots } from "../signers/signerTrust.ts";
import { FormatError, readKnownMembers, readTextsMember, requireText } from "../signers/strictJson.ts";

/** A PEM or JSON text: in a file that is read on use, or in the policy. */
export type TextSource = { readonly path: string } | { readonly text: string };

type Members = ReadonlyMap<string, unknown>;

const SIGNER_MEMBERS = ["keyPath", "keyPaths", "keyData", "keyDatas", "fulcio", "pki"];
const REKOR_MEMBERS = ["rekorPublicKeyPath", "rekorPublicKeyPaths", "rekorPublicKeyData", "rekorPublicKeyDatas"];
/** Members of `sigstoreSigned` that say whom to trust. */
export const TRUST_MEMBERS: readonly string[] = [...SIGNER_MEMBERS, ...REKOR_MEMBERS];

const FULCIO_MEMBERS = ["caPath", "caData", "trustedRootPath", "trustedRootData", "oidcIssuer", "subjectEmail", "buildSignerURI"];
const PKI_MEMBERS = ["caRootsPath", "caRootsData", "caIntermediatesPath", "caIntermediatesData", "subjectEmail", "subjectHostname"];
const NO_LOGS =
  "At least one of rekorPublickeyPath, rekorPublicKeyPaths, rekorPublickeyData and rekorPublicKeyDatas must be specified if fulcio is used";

/**
 * Parses whom a `sigstoreSigned` requirement trusts. `trustedRootPath` and `trustedRootData` are
 * extensions of this project.
 * @throws FormatError with the text of containers/image
 * @see https://github.com/containers/image/blob/06708c42dfad17329de73b43d98efa77cafc65f9/signature/policy_config_sigstore.go
 */
export function parseTrustRoots(members: Members): TrustRoots<TextSource> {
  const sources = SIGNER_MEMBERS.filter((key) => members.has(key) && members.get(key) !== "");
  const byKind = sources.map((source) => parseSigner(members, source));
  const [roots] = byKind;
  if (!roots || byKind.length !== 1)
    throw new FormatError("exactly one of keyPath, keyPaths, keyData, keyDatas, fulcio, and pki must be specified");
  const logMembers = REKOR_MEMBERS.filter((key) => members.has(key) && members.get(key) !== "");
  if (logMembers.length > 1)
    throw new FormatError(
      "at most one of rekorPublickeyPath, rekorPublicKeyPaths, rekorPublickeyData and rekorPublicKeyDatas can be used simultaneously",
    );
  const logs = logMembers.flatMap((key) => parseTexts(members, key));
  if (roots.kind === "keys") return { ...roots, logs };
  if (roots.kind === "fulcio") {
    if (logs.length === 0) throw new FormatError(NO_LOGS);
    return { ...roots, logs };
  }
  if (logs.length > 0)
    throw new FormatError(
      roots.kind === "pki"
        ? "rekorPublickeyPath, rekorPublicKeyPaths, rekorPublickeyData and rekorPublicKeyDatas are not supported for pki"
        : "the transparency logs of a trusted root cannot be combined with rekorPublicKey members",
    );
  return roots;
}

function parseSigner(members: Members, source: string): TrustRoots<TextSource> {
  if (source === "fulcio") return parseFulcio(members.get(source));
  if (source === "pki") return parsePki(members.get(source));
  return { kind: "keys", keys: parseTexts(members, source), logs: [] };
}

function parseFulcio(value: unknown): TrustRoots<TextSource> {
  const members = readKnownMembers(value, [], FULCIO_MEMBERS);
  const authorities = parseOne(members, "caPath", "caData");
  const root = parseOne(members, "trustedRootPath", "trustedRootData");
  if (authorities && root) throw new FormatError("a trusted root and caPath or caData cannot be used simultaneously");
  const subject = parseFulcioSubject(members);
  if (root) return { kind: "trustedRoot", root, subject };
  if (!authorities) throw new FormatError("At least one of caPath and caData must be specified");
  return { kind: "fulcio", authorities, logs: [], subject };
}

function parseFulcioSubject(members: Members): FulcioSubject {
  const [issuer, email, buildSigner] = ["oidcIssuer", "subjectEmail", "buildSignerURI"].map((key) => readOptionalText(members, key));
  if (issuer === undefined) throw new FormatError("oidcIssuer not specified");
  if (email === undefined && buildSigner === undefined)
    throw new FormatError(
      members.has("buildSignerURI") ? "at least one of subjectEmail or buildSignerURI must be specified" : "subjectEmail not specified",
    );
  return { issuer, email, buildSigner };
}

function parsePki(value: unknown): TrustRoots<TextSource> {
  const members = readKnownMembers(value, [], PKI_MEMBERS);
  const authorities = parseOne(members, "caRootsPath", "caRootsData");
  if (!authorities) throw new FormatError("At least one of caRootsPath and caRootsData must be specified");
  const intermediates = parseOne(members, "caIntermediatesPath", "caIntermediatesData");
  const [email, hostname] = ["subjectEmail", "subjectHostname"].map((key) => readOptionalText(members, key));
  if (email === undefined && hostname === undefined)
    throw new FormatError("At least one of subjectEmail, subjectHostname must be specified");
  return { kind: "pki", authorities, intermediates, subject: { email, hostname } };
}

/** Parses the member with a path or the one with data; containers/image ignores an empty path. */
function parseOne(members: Members, path: string, data: string): TextSource | undefined {
  const hasPath = readOptionalText(members, path) !== undefined;
  if (hasPath && members.has(data)) throw new FormatError(`${path} and ${data} cannot be used simultaneously`);
  if (!hasPath && !members.has(data)) return undefined;
  return parseTexts(members, hasPath ? path : data)[0];
}

/** Parses a member with paths or base64, one or several. */
function parseTexts(members: Members, key: string): TextSource[] {
  const isList = key.endsWith("s");
  const texts = isList ? readTextsMember(members, key) : [requireText(members, key)];
  return texts.map((text) => (/Paths?$/.test(key) ? { path: text } : { text: decodeText(text, key) }));
}

function readOptionalText(members: Members, key: string): string | undefined {
  const text = members.has(key) ? requireText(members, key) : "";
  return text === "" ? undefined : text;
}

function decodeText(base64: string, key: string): string {
  const bytes = Buffer.from(base64, "base64");
  if (base64 === "" || bytes.toString("base64") !== base64.replaceAll(/[\r\n]/g, ""))
    throw new FormatError(`Key ${goQuote(key)} is not base64`);
  return bytes.toString("utf8");
}
