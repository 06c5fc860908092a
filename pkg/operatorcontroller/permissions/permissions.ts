import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { type ProblemData } from "../../api/problemSchema.ts";
import { newProblem, type Problem } from "../../api/problems.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { findProvider } from "../../certificates/providers.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import { getAccountName } from "../../permissions/grantObjects.ts";
import { HeldRoles } from "../../rbac/escalation.ts";
import { type Grant, type PolicyRule, splitRule, toRule } from "../../rbac/policyRule.ts";
import { computeRequiredRules, type RequiredRules, type RuleOptions } from "../../rbac/requiredRules.ts";
import type { ResourceOf } from "../../rbac/resources.ts";
import { findMissingRules, formatRuleLines, type GrantedRules, intersectRules, isEmptyRules } from "../../rbac/ruleSets.ts";
import { getCrdPolicy, migratesStorage } from "../../release/plan.ts";
import { listCreatedTrustedCas } from "../../render/trustedCa.ts";
import { quoteShellWord } from "../../text/shell.ts";
import type { UnblockCheck } from "../state/conditionPoller.ts";
import { findOperatorCondition } from "../state/operatorConditionUse.ts";
import { hashRules, isAllowed, listOwnRules, listScopeRules, type OwnRules } from "./ownRules.ts";

/**
 * Maximum number of options of the same kind from a configuration: the maximum number of namespaces in a valid configuration. An invalid
 * configuration could contain more.
 */
const MAX_OPTIONS = 100;

/** What the permissions depend on, in addition to the spec. */
interface RbacCommandOptions {
  /** The objects of the new bundle. They determine the provider of certificates, and whether there is an OperatorCondition. */
  readonly objects?: readonly KubeObject[] | undefined;
  /** Configuration of the bundles; default: `spec.config.inline`. */
  readonly config?: JsonObject | undefined;
}

/**
 * Formats the command that prints the ServiceAccount and roles for an extension with the bundles of these images.
 */
export function formatRbacCommand(
  extension: Pick<ClusterExtension, "spec" | "status">,
  images: readonly string[],
  { objects = [], config = extension.spec.config?.inline }: RbacCommandOptions = {},
): string {
  const certProvider = findProvider(objects)?.name;
  const { spec } = extension;
  const sources = new Set(spec.config?.valuesFrom?.map(({ kind, name }) => `${kind}/${name}`));
  const words = [
    ...new Set(images),
    "--namespace",
    getNamespace(extension),
    ...(spec.serviceAccount?.name ? ["--service-account", spec.serviceAccount.name] : []),
    ...listWatchedNamespaces(config)
      .slice(0, MAX_OPTIONS)
      .flatMap((namespace) => ["--watch-namespace", namespace]),
    ...listCreatedTrustedCas(config)
      .slice(0, MAX_OPTIONS)
      .flatMap((name) => ["--trusted-ca-config-map", name]),
    ...(sources.size > 0 ? ["--values-from", ...sources] : []),
    ...(spec.uninstall?.crdPolicy && spec.uninstall.crdPolicy !== "DeleteIfUnused" ? ["--crd-policy", spec.uninstall.crdPolicy] : []),
    ...(migratesStorage(spec) ? ["--migrate-storage"] : []),
    ...(certProvider === undefined ? [] : ["--webhook-cert-provider", certProvider]),
    ...(spec.install?.userRoles === "Aggregate" ? ["--aggregate-user-roles"] : []),
    ...(findOperatorCondition(objects) ? ["--operator-condition"] : []),
  ];
  return ["olmv1 rbac", ...words.map(quoteShellWord)].join(" ");
}

/** Returns the watched namespaces in a configuration. Ignores values that are not strings. */
function listWatchedNamespaces({
  watchNamespace,
  watchNamespaces,
}: {
  watchNamespace?: unknown;
  watchNamespaces?: unknown;
} = {}): string[] {
  const listed: readonly unknown[] = Array.isArray(watchNamespaces) ? watchNamespaces : [];
  return [watchNamespace, ...listed].filter((namespace) => typeof namespace === "string");
}

/** The objects to write and delete, whose permissions are checked. */
export interface PermissionRequest {
  extension: Readonly<ClusterExtension>;
  /** Prepared objects. */
  desired: readonly KubeObject[];
  /** Objects of older releases to delete. */
  pruned: readonly KubeObject[];
  resourceOf: ResourceOf;
  /** The configuration; default: `spec.config.inline`. */
  config?: JsonObject | undefined;
  /** The images that the printed roles must cover: the image of the new bundle, and of the installed bundle if there is one. */
  images: readonly string[];
}

/** Permissions that the ServiceAccount lacks. */
export interface MissingPermissions {
  /** Message with all missing permissions, in the format of the Go operator-controller. */
  text: string;
  /** Problem with all missing permissions, the identity that lacks them, and the command that prints the roles. */
  problem: Problem;
  /** All missing permissions as rules. */
  missing: RequiredRules;
  /**
   * Whether only a dry run can decide: only `bind` on roles outside of the bundle is missing, and the ServiceAccount may hold the rules of these
   * roles itself.
   */
  uncertain: boolean;
  isOver: UnblockCheck;
}

/** @see operator-controller v1.5.0 internal/operator-controller/applier/helm.go runPreAuthorizationChecks */
const HEAD = "pre-authorization failed: service account requires the following permissions to manage cluster extension:";

/** Maximum size of the rules in the condition message in bytes, to keep the message readable. */
const MAX_RULE_BYTES = 8_192;
/** Maximum number of access reviews if the API server cannot list all permissions. The dry run checks the rest. */
const MAX_REVIEWS = 300;
const PARALLEL_REVIEWS = 8;

/**
 * Finds the permissions that the client's identity lacks to install, maintain and uninstall the objects; undefined if none is missing, or if it may
 * not review its permissions. The result also lists missing permissions to watch objects and to read Pods and custom resources, but not if these are
 * the only missing permissions.
 */
export async function findMissingPermissions(
  client: Pick<Client, "raw">,
  request: PermissionRequest,
  signal: AbortSignal,
): Promise<MissingPermissions | undefined> {
  const { extension, desired, pruned, resourceOf } = request;
  const { spec } = extension;
  const crdPolicy = getCrdPolicy(spec);
  const { valuesFrom = [] } = spec.config ?? {};
  const options: RuleOptions = {
    installNamespace: getNamespace(extension),
    resourceOf,
    pruned,
    crdPolicy,
    migratesStorage: migratesStorage(spec),
    valuesFrom,
  };
  const all = computeRequiredRules(desired, options);
  const own = await listOwnRules(client, [...all.namespaceRules.keys()], signal).catch((err: unknown) => {
    if (isForbidden(err) || isNotFound(err)) return undefined;
    throw err;
  });
  if (!own) return undefined;
  // Only RBAC decides whether an identity may grant rules, and RBAC lists all rules that it allows.
  const held = new HeldRoles((namespace) => [...own.granted.clusterRules, ...(own.granted.namespaceRules.get(namespace) ?? [])]);
  const needed = (essentialOnly: boolean): RequiredRules => computeRequiredRules(desired, { ...options, held, essentialOnly });
  const unlisted = findMissingRules(needed(false), own.granted);
  const missing = own.incomplete ? findMissingRules(unlisted, await findAllowed(client, unlisted, signal)) : unlisted;
  const essential = intersectRules(missing, needed(true));
  if (isEmptyRules(essential)) return undefined;
  return {
    text: formatCondition(missing, own),
    problem: newPermissionProblem(missing, request),
    missing,
    uncertain: isUncertain(essential, desired),
    isOver: newChangeCheck(client, essential, own),
  };
}

function formatCondition(missing: RequiredRules, { error }: OwnRules): string {
  const lines = formatRuleLines(missing, MAX_RULE_BYTES).map((line) => `\n  ${line}`);
  return `${HEAD}${lines.join("")}${error === "" ? "" : `\nauthorization evaluation error: ${error}`}`;
}

function newPermissionProblem(missing: RequiredRules, { extension, images, desired, config }: PermissionRequest): Problem {
  const account = `ServiceAccount ${getNamespace(extension)}/${getAccountName(extension)}`;
  return newProblem("MissingPermissions", {
    message: `${account} lacks permissions that the bundle needs`,
    next: `${formatRbacCommand(extension, images, { objects: desired, config })} | kubectl apply -f -`,
    details: toRuleDetails(missing),
  });
}

/** Converts missing rules to the details of a problem, cluster-wide rules first. */
export function toRuleDetails({ clusterRules, namespaceRules }: RequiredRules): NonNullable<ProblemData["permissions"]> {
  return [["", clusterRules] as const, ...namespaceRules].flatMap(([namespace, rules]) =>
    rules.map(({ apiGroups, resources, resourceNames, nonResourceURLs, verbs }) => ({
      ...(namespace === "" ? {} : { namespace }),
      ...(apiGroups ? { apiGroups: [...apiGroups] } : {}),
      ...(resources ? { resources: [...resources] } : {}),
      ...(resourceNames ? { resourceNames: [...resourceNames] } : {}),
      ...(nonResourceURLs ? { nonResourceURLs: [...nonResourceURLs] } : {}),
      verbs: [...verbs],
    })),
  );
}

/** Returns the rules in the details of a problem; the inverse of `toRuleDetails`. */
export function rulesFromDetails(details: NonNullable<ProblemData["permissions"]>): RequiredRules {
  const rulesIn = (place: string | undefined): PolicyRule[] => details.filter(({ namespace }) => namespace === place).map(ruleFromDetails);
  const namespaces = [...new Set(details.flatMap(({ namespace }) => (namespace === undefined ? [] : [namespace])))];
  return { clusterRules: rulesIn(undefined), namespaceRules: new Map(namespaces.map((name) => [name, rulesIn(name)])), unknownKinds: [] };
}

function ruleFromDetails({
  apiGroups,
  resources,
  resourceNames,
  nonResourceURLs,
  verbs,
}: NonNullable<ProblemData["permissions"]>[number]): PolicyRule {
  return {
    ...(apiGroups ? { apiGroups } : {}),
    ...(resources ? { resources } : {}),
    ...(resourceNames ? { resourceNames } : {}),
    ...(nonResourceURLs ? { nonResourceURLs } : {}),
    verbs,
  };
}

/** Finds allowed rules that the API server did not list, with one access review for each permission. */
async function findAllowed(client: Pick<Client, "raw">, rules: RequiredRules, signal: AbortSignal): Promise<GrantedRules> {
  const grants = listGrants(rules);
  const reviewed = grants.slice(0, MAX_REVIEWS);
  const results = await mapInParallel(reviewed, PARALLEL_REVIEWS, ({ namespace, grant }) => isAllowed(client, namespace, grant, signal));
  const allowed = [...grants.slice(MAX_REVIEWS), ...reviewed.filter((_, at) => results[at])];
  const rulesIn = (where: string): PolicyRule[] => allowed.filter(({ namespace }) => namespace === where).map(({ grant }) => toRule(grant));
  const namespaceRules = new Map([...rules.namespaceRules.keys()].map((namespace) => [namespace, rulesIn(namespace)]));
  return { clusterRules: rulesIn(""), namespaceRules };
}

/** Reports whether only `bind` on roles outside of the set of objects is missing. */
function isUncertain(missing: RequiredRules, desired: readonly KubeObject[]): boolean {
  const isOfSet = ({ resource, name }: Grant): boolean =>
    desired.some(({ kind, metadata }) => `${kind.toLowerCase()}s` === resource && metadata.name === name);
  return listGrants(missing).every(({ grant }) => grant.verb === "bind" && !isOfSet(grant));
}

/** Returns a check that is true when the rules of a scope with a missing permission change, or when a review of that permission succeeds. */
function newChangeCheck(client: Pick<Client, "raw">, missing: RequiredRules, { granted, incomplete }: OwnRules): UnblockCheck {
  const [first] = listGrants(missing);
  if (!first) return () => Promise.resolve(true);
  const { namespace, grant } = first;
  if (incomplete) return (signal) => isAllowed(client, namespace, grant, signal);
  const before = hashRules((namespace === "" ? granted.clusterRules : granted.namespaceRules.get(namespace)) ?? []);
  return async (signal) => hashRules((await listScopeRules(client, namespace, signal)).rules) !== before;
}

function listGrants({ clusterRules, namespaceRules }: RequiredRules): { namespace: string; grant: Grant }[] {
  return [["", clusterRules] as const, ...namespaceRules].flatMap(([namespace, rules]) =>
    rules.flatMap(splitRule).map((grant) => ({ namespace, grant })),
  );
}
