import type { KubeObject } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { truncate } from "../../text/truncate.ts";
import { normalizeScope } from "../imageScopes.ts";
import { type PolicyRequirement, parsePolicyRequirement } from "./policyFile.ts";

/** The kind of OpenShift that requires signatures in the whole cluster. */
export const CLUSTER_IMAGE_POLICY = { apiVersion: "config.openshift.io/v1", kind: "ClusterImagePolicy" } as const;
/** The kind of OpenShift that requires signatures in one namespace. */
export const IMAGE_POLICY = { apiVersion: "config.openshift.io/v1", kind: "ImagePolicy" } as const;

/** Requirements by scope. */
export type ScopedRequirements = ReadonlyMap<string, readonly PolicyRequirement[]>;

/** The image policies of a cluster. */
export interface ImagePolicies {
  /** from ClusterImagePolicies, by normalized scope */
  readonly cluster: ScopedRequirements;
  /** from ImagePolicies, by namespace */
  readonly byNamespace: ReadonlyMap<string, ScopedRequirements>;
  /** why objects cannot be used; images in their scopes are rejected */
  readonly problems: readonly ImagePolicyProblem[];
}

/** An object that cannot be used. */
export interface ImagePolicyProblem {
  /** such as `ClusterImagePolicy "redhat"` */
  readonly origin: string;
  readonly message: string;
  readonly object: KubeObject;
}

/** A source of the current image policies. */
export interface ImagePolicySource {
  /**
   * Returns the current policies. Waits for the first response of the API server, up to some
   * seconds.
   * @throws RejectedError if they are unknown, because any image may then need a signature
   */
  policies(signal: AbortSignal): Promise<ImagePolicies>;
}

/** The policies of a cluster without the kinds. */
export const NO_IMAGE_POLICIES: ImagePolicies = { cluster: new Map(), byNamespace: new Map(), problems: [] };

const REASON_LENGTH_MAX = 300;

/**
 * Converts the image policies of a cluster. Several policies for one scope must all be met. A policy
 * that cannot be converted rejects the images in its scopes.
 * @see https://github.com/openshift/machine-config-operator/blob/24d9a767570d294d46a47a37fff9fb99b2304d4b/pkg/controller/container-runtime-config/container_runtime_config_controller.go, getValidScopePolicies
 */
export function toImagePolicies(cluster: readonly KubeObject[], namespaced: readonly KubeObject[]): ImagePolicies {
  const problems: ImagePolicyProblem[] = [];
  const namespaces = Map.groupBy(namespaced, ({ metadata }) => metadata.namespace ?? "");
  return {
    cluster: collectRequirements(cluster, problems),
    byNamespace: new Map([...namespaces].map(([namespace, objects]) => [namespace, collectRequirements(objects, problems)])),
    problems,
  };
}

/** Adds to `problems`. */
function collectRequirements(objects: readonly KubeObject[], problems: ImagePolicyProblem[]): ScopedRequirements {
  const byScope = new Map<string, PolicyRequirement[]>();
  for (const object of objects.toSorted(compareNames)) {
    const origin = formatOrigin(object);
    const { scopes = [], policy } = (object["spec"] ?? {}) as ImagePolicySpec;
    const requirement = toRequirement(policy, origin);
    if (requirement.type === "unsupported") problems.push({ origin, message: requirement.what, object });
    for (const scope of new Set(scopes.map(normalizeScope))) byScope.set(scope, [...(byScope.get(scope) ?? []), requirement]);
  }
  return byScope;
}

function compareNames({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number {
  return a.name < b.name ? -1 : 1;
}

/** Returns the kind and name of an object, such as `ImagePolicy "team/app"`. */
function formatOrigin({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${goQuote(namespace === undefined ? name : `${namespace}/${name}`)}`;
}

/**
 * The used members of a spec. The API server validates them, but another version of the kind may
 * have others.
 * @see https://github.com/openshift/api/blob/5886a58add41bedf81a3b78f5847eb85003baab2/config/v1/types_image_policy.go
 */
interface ImagePolicySpec {
  readonly scopes?: readonly string[];
  readonly policy?: {
    readonly rootOfTrust?: {
      readonly policyType?: string;
      readonly publicKey?: { readonly keyData?: string; readonly rekorKeyData?: string };
      readonly fulcioCAWithRekor?: {
        readonly fulcioCAData?: string;
        readonly rekorKeyData?: string;
        readonly fulcioSubject?: { readonly oidcIssuer?: string; readonly signedEmail?: string };
      };
      readonly pki?: {
        readonly caRootsData?: string;
        readonly caIntermediatesData?: string;
        readonly pkiCertificateSubject?: { readonly email?: string; readonly hostname?: string };
      };
    };
    readonly signedIdentity?: {
      readonly matchPolicy?: string;
      readonly exactRepository?: { readonly repository?: string };
      readonly remapIdentity?: { readonly prefix?: string; readonly signedPrefix?: string };
    };
  };
}

type PolicyOfSpec = NonNullable<ImagePolicySpec["policy"]>;

/** Converts the policy to a requirement of policy.json, and parses that: both have one meaning. */
function toRequirement(policy: ImagePolicySpec["policy"], origin: string): PolicyRequirement {
  try {
    const { rootOfTrust, signedIdentity } = policy ?? {};
    const identity = toIdentity(signedIdentity);
    return { ...parsePolicyRequirement({ type: "sigstoreSigned", ...toTrust(rootOfTrust), ...identity }), origin };
  } catch (err) {
    return { type: "unsupported", what: truncate(getErrorMessage(err), REASON_LENGTH_MAX), origin };
  }
}

/** @see https://github.com/openshift/machine-config-operator/blob/24d9a767570d294d46a47a37fff9fb99b2304d4b/pkg/controller/container-runtime-config/helpers.go, policyItemFromSpec */
function toTrust(root: PolicyOfSpec["rootOfTrust"] = {}): object {
  const { policyType = "", publicKey, fulcioCAWithRekor: fulcio, pki } = root;
  switch (policyType) {
    case "PublicKey":
      return withoutEmpty({ keyData: publicKey?.keyData, rekorPublicKeyData: publicKey?.rekorKeyData });
    case "FulcioCAWithRekor": {
      const { oidcIssuer, signedEmail: subjectEmail } = fulcio?.fulcioSubject ?? {};
      const whom = withoutEmpty({ caData: fulcio?.fulcioCAData, oidcIssuer, subjectEmail });
      return withoutEmpty({ fulcio: whom, rekorPublicKeyData: fulcio?.rekorKeyData });
    }
    case "PKI": {
      const { email: subjectEmail, hostname: subjectHostname } = pki?.pkiCertificateSubject ?? {};
      const { caRootsData, caIntermediatesData } = pki ?? {};
      return { pki: withoutEmpty({ caRootsData, caIntermediatesData, subjectEmail, subjectHostname }) };
    }
    default:
      throw new Error(`policyType ${goQuote(policyType)} is not supported`);
  }
}

function toIdentity({ matchPolicy = "", exactRepository, remapIdentity }: NonNullable<PolicyOfSpec["signedIdentity"]> = {}): object {
  switch (matchPolicy) {
    case "":
      return {};
    case "MatchRepoDigestOrExact":
      return { signedIdentity: { type: "matchRepoDigestOrExact" } };
    case "MatchRepository":
      return { signedIdentity: { type: "matchRepository" } };
    case "ExactRepository":
      return { signedIdentity: { type: "exactRepository", dockerRepository: exactRepository?.repository } };
    case "RemapIdentity":
      return { signedIdentity: { type: "remapIdentity", prefix: remapIdentity?.prefix, signedPrefix: remapIdentity?.signedPrefix } };
    default:
      throw new Error(`matchPolicy ${goQuote(matchPolicy)} is not supported`);
  }
}

function withoutEmpty(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== ""));
}
