import { goQuote } from "../../golang/quote.ts";
import { formatReference, nameOf, type Reference } from "../reference.ts";
import { DEFAULT_IDENTITY, parseSignedIdentity, type SignedIdentity } from "./signedIdentity.ts";
import { FormatError, knownMembers, parseStrictJson, requireMembers, requireText, textsMember } from "./strictJson.ts";

/** Where a public key is: in a file that is read when it is needed, or PEM in the policy itself. */
export type KeySource = { readonly path: string } | { readonly pem: string };

/** One thing that has to hold before an image is taken. */
export type PolicyRequirement =
  | { readonly type: "insecureAcceptAnything" }
  | { readonly type: "reject" }
  /** one of the keys signed it, and states this identity */
  | { readonly type: "sigstoreSigned"; readonly keys: readonly KeySource[]; readonly identity: SignedIdentity }
  /** nothing that could be checked here, so that it never holds; `what` names it */
  | { readonly type: "unsupported"; readonly what: string };

/** What containers-policy.json(5) says about images of registries; lists are never empty. */
export interface Policy {
  readonly default: readonly PolicyRequirement[];
  /** by scope; "" is the default of the transport */
  readonly docker: ReadonlyMap<string, readonly PolicyRequirement[]>;
  /** The same of images in layouts; a scope is an absolute path, or one with `:` and the image's name behind it. */
  readonly layouts: Readonly<Record<LayoutTransport, ReadonlyMap<string, readonly PolicyRequirement[]>>>;
}

/** Transports of images that are in layouts. */
export type LayoutTransport = "oci" | "oci-archive";

/** What holds where there is no policy: any image is taken. */
export const INSECURE_POLICY: Policy = {
  default: [{ type: "insecureAcceptAnything" }],
  docker: new Map(),
  layouts: { oci: new Map(), "oci-archive": new Map() },
};

const KEY_MEMBERS = ["keyPath", "keyPaths", "keyData", "keyDatas", "fulcio", "pki"];
const REKOR_MEMBERS = ["rekorPublicKeyPath", "rekorPublicKeyPaths", "rekorPublicKeyData", "rekorPublicKeyDatas"];
const GPG_KEY_MEMBERS = ["keyPath", "keyPaths", "keyData"];
const GPG_KEY_TYPES = ["GPGKeys", "signedByGPGKeys", "X509Certificates", "signedByX509CAs"];

/**
 * Reads a policy as strictly as containers/image does: a member that is unknown, stands twice or has another type spoils the file, since a
 * typing error must not let images pass. Keys in files are not read.
 * @throws FormatError with the text of containers/image
 * @see https://github.com/containers/image/blob/main/docs/containers-policy.json.5.md
 */
export function parsePolicy(text: string): Policy {
  const members = knownMembers(parseStrictJson(text), [], ["default", "transports"]);
  if (!members.has("default")) throw new FormatError("Default policy is missing");
  const transports = new Map(
    [...requireMembers(members.has("transports") ? members.get("transports") : {})].map(
      ([transport, scopes]) => [transport, parseScopes(scopes)] as const,
    ),
  );
  // Other transports are read as strictly, and mean nothing here.
  const of = (transport: string): Map<string, PolicyRequirement[]> => transports.get(transport) ?? new Map();
  return {
    default: requirementsOf(members.get("default")),
    docker: of("docker"),
    layouts: { oci: of("oci"), "oci-archive": of("oci-archive") },
  };
}

/** The scopes, "" for the default one, that demand what is not supported here, with what that is. */
export function unsupportedScopes(policy: Policy): Record<string, string> {
  const all: [string, readonly PolicyRequirement[]][] = [["default", policy.default], ...policy.docker];
  return Object.fromEntries(
    all.flatMap(([scope, requirements]) => {
      const found = requirements.find((requirement) => requirement.type === "unsupported");
      return found ? [[scope, found.what] as const] : [];
    }),
  );
}

function parseScopes(value: unknown): Map<string, PolicyRequirement[]> {
  return new Map([...requireMembers(value)].map(([scope, requirements]) => [scope, requirementsOf(requirements)]));
}

function requirementsOf(value: unknown): PolicyRequirement[] {
  if (!Array.isArray(value)) throw new FormatError("a list of policy requirements expected");
  if (value.length === 0) throw new FormatError("List of verification policy requirements must not be empty");
  return value.map(requirementOf);
}

function requirementOf(value: unknown): PolicyRequirement {
  const type = requireText(requireMembers(value), "type");
  switch (type) {
    case "insecureAcceptAnything":
    case "reject":
      knownMembers(value, ["type"]);
      return { type };
    case "sigstoreSigned":
      return sigstoreSigned(value);
    case "signedBy":
      return signedBy(value);
    case "signedBaseLayer":
      parseSignedIdentity(knownMembers(value, ["type", "baseLayerIdentity"]).get("baseLayerIdentity"));
      return { type: "unsupported", what: '"signedBaseLayer"' };
    default:
      throw new FormatError(`Unknown policy requirement type ${goQuote(type)}`);
  }
}

function sigstoreSigned(value: unknown): PolicyRequirement {
  const members = knownMembers(value, ["type"], [...KEY_MEMBERS, ...REKOR_MEMBERS, "signedIdentity"]);
  const sources = KEY_MEMBERS.filter((key) => members.has(key) && members.get(key) !== "");
  const identity = identityOf(members);
  const keys = sources.flatMap((source) => keysOf(members, source));
  if (sources.length !== 1) throw new FormatError("exactly one of keyPath, keyPaths, keyData, keyDatas, fulcio, and pki must be specified");
  const logs = REKOR_MEMBERS.filter((key) => members.has(key));
  if (logs.length > 1)
    throw new FormatError(
      "at most one of rekorPublickeyPath, rekorPublicKeyPaths, rekorPublickeyData and rekorPublicKeyDatas can be used simultaneously",
    );
  const unsupported = ["fulcio", "pki", ...REKOR_MEMBERS].find((key) => members.has(key));
  if (unsupported !== undefined) return { type: "unsupported", what: `"sigstoreSigned" with ${goQuote(unsupported)}` };
  return { type: "sigstoreSigned", keys, identity };
}

function keysOf(members: ReadonlyMap<string, unknown>, source: string): KeySource[] {
  switch (source) {
    case "keyPath":
      return [{ path: requireText(members, source) }];
    case "keyPaths":
      return textsMember(members, source).map((path) => ({ path }));
    case "keyData":
      return [{ pem: decoded(requireText(members, source), source) }];
    case "keyDatas":
      return textsMember(members, source).map((data) => ({ pem: decoded(data, source) }));
    default:
      return [];
  }
}

function decoded(base64: string, key: string): string {
  const bytes = Buffer.from(base64, "base64");
  if (base64 === "" || bytes.toString("base64") !== base64.replaceAll(/[\r\n]/g, ""))
    throw new FormatError(`Key ${goQuote(key)} is no base64`);
  return bytes.toString("utf8");
}

/** GPG signatures are kept outside the registry, and nothing in Node reads them. */
function signedBy(value: unknown): PolicyRequirement {
  const members = knownMembers(value, ["type", "keyType"], [...GPG_KEY_MEMBERS, "signedIdentity"]);
  const keyType = requireText(members, "keyType");
  if (!GPG_KEY_TYPES.includes(keyType)) throw new FormatError(`Unrecognized keyType value ${goQuote(keyType)}`);
  const sources = GPG_KEY_MEMBERS.filter((key) => members.has(key));
  if (sources.length !== 1)
    throw new FormatError(
      `Exactly one of keyPath, keyPaths and keyData must be specified, ${sources.length === 0 ? "none of them" : "more than one"} present`,
    );
  identityOf(members);
  return { type: "unsupported", what: '"signedBy"' };
}

function identityOf(members: ReadonlyMap<string, unknown>): SignedIdentity {
  return members.has("signedIdentity") ? parseSignedIdentity(members.get("signedIdentity")) : DEFAULT_IDENTITY;
}

/** The requirements that apply to an image, and the scope that has them; undefined for those of `default`. */
export interface Applicable {
  readonly scope: string | undefined;
  readonly requirements: readonly PolicyRequirement[];
}

/**
 * What has to hold for an image: that of the most specific scope alone.
 * @param ref with a tag or a digest
 */
export function findApplicable(policy: Policy, ref: Reference): Applicable {
  for (const scope of listImageScopes(ref)) {
    const requirements = policy.docker.get(scope);
    if (requirements) return { scope, requirements };
  }
  return { scope: undefined, requirements: policy.default };
}

/** The same for an image in a layout. @param path absolute, without symlinks @param name "" for none */
export function applicableToLayout(policy: Policy, transport: LayoutTransport, path: string, name: string): Applicable {
  const scopes = [...(name === "" ? [] : [`${path}:${name}`]), path];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) scopes.push(path.slice(0, at));
  for (const scope of [...scopes, ""]) {
    const requirements = policy.layouts[transport].get(scope);
    if (requirements) return { scope, requirements };
  }
  return { scope: undefined, requirements: policy.default };
}

/**
 * The scopes an image is in, from the most specific: itself, its repository and the namespaces above, the host, `*.` with each domain above
 * the host, and "" for every image.
 */
function listImageScopes(ref: Reference): string[] {
  const scopes = [formatReference(ref)];
  for (let name = nameOf(ref); ; name = name.slice(0, name.lastIndexOf("/"))) {
    scopes.push(name);
    if (!name.includes("/")) break;
  }
  const labels = ref.registry.replace(/:.*$/, "").split(".");
  for (let from = 1; from < labels.length; from++) scopes.push(`*.${labels.slice(from).join(".")}`);
  return [...scopes, ""];
}
