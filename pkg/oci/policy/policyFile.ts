import { goQuote } from "../../golang/quote.ts";
import { normalizeScope } from "../imageScopes.ts";
import type { TrustRoots } from "../signers/signerTrust.ts";
import { FormatError, parseStrictJson, readKnownMembers, requireMembers, requireText } from "../signers/strictJson.ts";
import { DEFAULT_IDENTITY, parseSignedIdentity, type SignedIdentity } from "./signedIdentity.ts";
import { parseTrustRoots, type TextSource, TRUST_MEMBERS } from "./trustRoots.ts";

/** A requirement that must be met before an image is accepted. */
export type PolicyRequirement = RequirementOrigin &
  (
    | { readonly type: "insecureAcceptAnything" }
    | { readonly type: "reject" }
    /** requires a signature by a trusted signer, with this identity */
    | { readonly type: "sigstoreSigned"; readonly roots: TrustRoots<TextSource>; readonly identity: SignedIdentity }
    /** an unsupported requirement, which is never met; `what` describes it */
    | { readonly type: "unsupported"; readonly what: string }
  );

/** Where a requirement is from. */
export interface RequirementOrigin {
  /** the object in the cluster, such as `ClusterImagePolicy "redhat"`; undefined for the file */
  readonly origin?: string | undefined;
}

/** The content of containers-policy.json(5) for images in registries; lists are never empty. */
export interface Policy {
  readonly default: readonly PolicyRequirement[];
  /** by normalized scope; "" is the default of the transport */
  readonly docker: ReadonlyMap<string, readonly PolicyRequirement[]>;
  /**
   * The requirements for images in layouts; a scope is an absolute path, or one with `:` and the
   * image's name.
   */
  readonly layouts: Readonly<Record<LayoutTransport, ReadonlyMap<string, readonly PolicyRequirement[]>>>;
}

/** Transports of images in layouts. */
export type LayoutTransport = "oci" | "oci-archive";

/** The policy if there is no file: accepts every image. */
export const INSECURE_POLICY: Policy = {
  default: [{ type: "insecureAcceptAnything" }],
  docker: new Map(),
  layouts: { oci: new Map(), "oci-archive": new Map() },
};

const GPG_KEY_MEMBERS = ["keyPath", "keyPaths", "keyData"];
const GPG_KEY_TYPES = ["GPGKeys", "signedByGPGKeys", "X509Certificates", "signedByX509CAs"];

/**
 * Parses a policy as strictly as containers/image: rejects unknown and duplicate members and wrong types, because a typo could otherwise accept
 * images. Does not read key files.
 * @throws FormatError with the text of containers/image
 * @see https://github.com/containers/image/blob/main/docs/containers-policy.json.5.md
 */
export function parsePolicy(text: string): Policy {
  const members = readKnownMembers(parseStrictJson(text), [], ["default", "transports"]);
  if (!members.has("default")) throw new FormatError("Default policy is missing");
  const transports = new Map(
    [...requireMembers(members.has("transports") ? members.get("transports") : {})].map(
      ([transport, scopes]) => [transport, parseScopes(scopes)] as const,
    ),
  );
  // Other transports are parsed just as strictly, but ignored.
  const of = (transport: string): Map<string, PolicyRequirement[]> => transports.get(transport) ?? new Map();
  return {
    default: parseRequirements(members.get("default")),
    docker: normalizeScopes(of("docker")),
    layouts: { oci: of("oci"), "oci-archive": of("oci-archive") },
  };
}

/** Returns the unsupported requirements by scope; "" is the default. */
export function listUnsupportedScopes(policy: Policy): Record<string, string> {
  const all: [string, readonly PolicyRequirement[]][] = [["default", policy.default], ...policy.docker];
  return Object.fromEntries(
    all.flatMap(([scope, requirements]) => {
      const found = requirements.find((requirement) => requirement.type === "unsupported");
      return found ? [[scope, found.what] as const] : [];
    }),
  );
}

function parseScopes(value: unknown): Map<string, PolicyRequirement[]> {
  return new Map([...requireMembers(value)].map(([scope, requirements]) => [scope, parseRequirements(requirements)]));
}

/** Scopes that differ only in the spelling of the host are one scope, whose requirements must all be met. */
function normalizeScopes(scopes: ReadonlyMap<string, PolicyRequirement[]>): Map<string, PolicyRequirement[]> {
  const normalized = new Map<string, PolicyRequirement[]>();
  for (const [scope, requirements] of scopes) {
    const name = normalizeScope(scope);
    normalized.set(name, [...(normalized.get(name) ?? []), ...requirements]);
  }
  return normalized;
}

function parseRequirements(value: unknown): PolicyRequirement[] {
  if (!Array.isArray(value)) throw new FormatError("expected a list of policy requirements");
  if (value.length === 0) throw new FormatError("List of verification policy requirements must not be empty");
  return value.map(parsePolicyRequirement);
}

/**
 * Parses one requirement.
 * @throws FormatError as `parsePolicy`
 */
export function parsePolicyRequirement(value: unknown): PolicyRequirement {
  const type = requireText(requireMembers(value), "type");
  switch (type) {
    case "insecureAcceptAnything":
    case "reject":
      readKnownMembers(value, ["type"]);
      return { type };
    case "sigstoreSigned":
      return parseSigstoreSigned(value);
    case "signedBy":
      return signedBy(value);
    case "signedBaseLayer":
      parseSignedIdentity(readKnownMembers(value, ["type", "baseLayerIdentity"]).get("baseLayerIdentity"));
      return { type: "unsupported", what: '"signedBaseLayer"' };
    default:
      throw new FormatError(`Unknown policy requirement type ${goQuote(type)}`);
  }
}

function parseSigstoreSigned(value: unknown): PolicyRequirement {
  const members = readKnownMembers(value, ["type"], [...TRUST_MEMBERS, "signedIdentity"]);
  const identity = parseIdentity(members);
  return { type: "sigstoreSigned", roots: parseTrustRoots(members), identity };
}

/** GPG signatures are stored outside the registry, and Node cannot verify them. */
function signedBy(value: unknown): PolicyRequirement {
  const members = readKnownMembers(value, ["type", "keyType"], [...GPG_KEY_MEMBERS, "signedIdentity"]);
  const keyType = requireText(members, "keyType");
  if (!GPG_KEY_TYPES.includes(keyType)) throw new FormatError(`Unrecognized keyType value ${goQuote(keyType)}`);
  const sources = GPG_KEY_MEMBERS.filter((key) => members.has(key));
  if (sources.length !== 1)
    throw new FormatError(
      `Exactly one of keyPath, keyPaths and keyData must be specified, ${sources.length === 0 ? "none of them" : "more than one"} present`,
    );
  parseIdentity(members);
  return { type: "unsupported", what: '"signedBy"' };
}

function parseIdentity(members: ReadonlyMap<string, unknown>): SignedIdentity {
  return members.has("signedIdentity") ? parseSignedIdentity(members.get("signedIdentity")) : DEFAULT_IDENTITY;
}
