import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { ANNOTATION_APPROVE, LABEL_PERMISSIONS_FOR } from "../api/constants.ts";
import type { ExtensionPermissions } from "../api/extensionPermissions.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { PermissionPolicy } from "../api/permissionPolicy.ts";
import { buildPolicyTarget, DEFAULT_POLICY, findUncovered, getPolicyName, type PolicyTarget } from "../permissions/policySelection.ts";
import { compileSelector } from "../resolve/labelSelector.ts";
import { formatCount, formatList } from "../text/lists.ts";
import { type ClusterSnapshot, type DoctorFinding, reportOn } from "./clusterSnapshot.ts";
import { readManagedMode } from "./programs.ts";
import { getPartValue } from "./snapshotPart.ts";

/** Maximum number of objects listed in a message. */
const NAMED_MAX = 3;

/** Checks the permissions of extensions: their policies, their state, and permissions that no extension needs. */
export function checkPermissions(snapshot: ClusterSnapshot): DoctorFinding[] {
  const mode = readManagedMode(snapshot);
  if (mode === "off") return [];
  const { extensions, catalogs, permissions, permissionPolicies, grants, namespace } = snapshot;
  return reportOn("extensions", extensions, (all) => {
    const managed = mode === "always" ? all : all.filter(({ spec }) => !spec.serviceAccount?.name);
    const context: Context = {
      extensions: new Map(all.map((one) => [one.metadata.name, one])),
      managed: new Map(managed.map((one) => [one.metadata.name, one])),
      catalogs: getPartValue(catalogs),
      isModeKnown: mode !== undefined,
      namespace,
    };
    return [
      ...reportOn("PermissionPolicies", permissionPolicies, (found) => checkPermissionPolicies(found, context)),
      ...reportOn("ExtensionPermissions", permissions, (found) => checkRequests(found, context)),
      ...reportOn("granted objects", grants, (found) => checkGrants(found, context)),
    ];
  });
}

/** What the checks compare with. */
interface Context {
  readonly extensions: ReadonlyMap<string, ClusterExtension>;
  /** The extensions whose permissions permission-manager grants. */
  readonly managed: ReadonlyMap<string, ClusterExtension>;
  /** Undefined if you may not list them. */
  readonly catalogs: readonly ClusterCatalog[] | undefined;
  /** Whether it is known if operator-controller ignores spec.serviceAccount. */
  readonly isModeKnown: boolean;
  /** Namespace of the servers. */
  readonly namespace: string;
}

function checkPermissionPolicies(policies: readonly PermissionPolicy[], context: Context): DoctorFinding[] {
  const names = new Set(policies.map(({ metadata }) => metadata.name));
  const managed = [...context.managed.values()];
  const missing = managed.filter((one) => getPolicyName(one) !== DEFAULT_POLICY && !names.has(getPolicyName(one)));
  return [
    ...policies.map((policy) => checkCovers(policy, managed, context.catalogs)),
    ...(names.has(DEFAULT_POLICY)
      ? []
      : [
          {
            check: `PermissionPolicy ${DEFAULT_POLICY}`,
            status: "ok" as const,
            message: "it does not exist; permission-manager uses its flag --default-grant, which is Guarded by default",
          },
        ]),
    ...missing.map((one): DoctorFinding => {
      const { name } = one.metadata;
      const message = `ClusterExtension ${name} names it, but it does not exist: create it, or set another in spec.install.permissionPolicy`;
      return {
        check: `PermissionPolicy ${getPolicyName(one)}`,
        status: "problem",
        message,
        next: `kubectl edit clusterextension ${name}`,
      };
    }),
  ];
}

/** Checks whether a policy covers something on the cluster. */
function checkCovers(
  policy: PermissionPolicy,
  extensions: readonly ClusterExtension[],
  catalogs: readonly ClusterCatalog[] | undefined,
): DoctorFinding {
  const { metadata, spec } = policy;
  const check = `PermissionPolicy ${metadata.name}`;
  const next = `kubectl edit permissionpolicy ${metadata.name}`;
  const selector = spec.covers?.catalogs;
  const { error, matches } = compileSelector(selector ?? {});
  if (selector && error !== undefined) return { check, status: "problem", message: `covers.catalogs is invalid: ${error}`, next };
  if (selector && catalogs && !catalogs.some(({ metadata: { labels = {} } }) => matches(labels)))
    return { check, status: "warning", message: "it covers nothing: covers.catalogs selects no ClusterCatalog", next };
  const problems = extensions.map((one) => findUncovered(spec, describeTarget(one, catalogs)));
  if (problems.length > 0 && problems.every((problem) => problem !== undefined))
    return { check, status: "warning", message: `it covers no extension: ${problems[0]}`, next };
  const users = extensions.filter((one) => getPolicyName(one) === metadata.name).length;
  return { check, status: "ok", message: `used by ${formatCount(users, "extension")}` };
}

function describeTarget(extension: ClusterExtension, catalogs: readonly ClusterCatalog[] = []): PolicyTarget {
  const { spec, status } = extension;
  const catalog = catalogs.find(({ metadata }) => metadata.name === status?.install?.catalog);
  return buildPolicyTarget(spec.source.catalog?.packageName ?? "", getNamespace(extension), catalog);
}

/** Checks the state of all permissions. Reports those that are granted together. */
function checkRequests(all: readonly ExtensionPermissions[], context: Context): DoctorFinding[] {
  const findings = all.flatMap((one) => checkRequest(one, context) ?? []);
  const granted = all.length - findings.length;
  if (granted === 0) return findings;
  const message = `${formatCount(granted, "extension")} ${granted === 1 ? "has its" : "have their"} permissions`;
  return [...findings, { check: "ExtensionPermissions", status: "ok", message }];
}

function checkRequest({ metadata, status = {} }: ExtensionPermissions, context: Context): DoctorFinding | undefined {
  const { name } = metadata;
  const check = `ExtensionPermissions ${name}`;
  const unneeded = explainUnneeded(name, context);
  if (unneeded !== undefined)
    return { check, status: "warning", message: `no extension needs it: ${unneeded}`, next: `kubectl delete extensionpermissions ${name}` };
  const message = status.conditions?.[0]?.message ?? "";
  const next = `olmv1 permissions show ${name}`;
  switch (status.state) {
    case "Granted":
      return undefined;
    case "Pending": {
      const approval = metadata.annotations?.[ANNOTATION_APPROVE];
      const lapsed = approval && approval !== status.pendingDigest ? "; the last approval has lapsed, because the rules changed" : "";
      return { check, status: "warning", message: message + lapsed, next: `olmv1 permissions approve ${name}` };
    }
    case "Denied":
      return { check, status: "problem", message, next };
    case "Failed":
      return { check, status: "problem", message: `the request cannot be verified: ${message}`, next };
    case undefined:
    default: {
      const logs = `kubectl -n ${context.namespace} logs deployment/permission-manager-controller-manager`;
      return { check, status: "warning", message: "permission-manager has not decided yet", next: logs };
    }
  }
}

/** Reports objects of permission-manager for extensions that need none. */
function checkGrants(objects: readonly KubeObject[], context: Context): DoctorFinding[] {
  const byExtension = Map.groupBy(objects, ({ metadata }) => metadata.labels?.[LABEL_PERMISSIONS_FOR] ?? "");
  return [...byExtension].flatMap(([name, own]): DoctorFinding[] => {
    const unneeded = explainUnneeded(name, context);
    if (unneeded === undefined) return [];
    const names = own.map(({ kind, metadata }) => `${kind} ${metadata.namespace ? `${metadata.namespace}/` : ""}${metadata.name}`);
    return [
      {
        check: `permissions of ${name}`,
        status: "warning",
        message: `no extension needs ${formatList(names, { max: NAMED_MAX })}: ${unneeded}`,
        next: `kubectl delete clusterrolebindings,rolebindings,clusterroles,roles,serviceaccounts -A -l ${LABEL_PERMISSIONS_FOR}=${name}`,
      },
    ];
  });
}

/** Explains why permission-manager manages no permissions for an extension; undefined if it does. */
function explainUnneeded(name: string, { extensions, managed, isModeKnown }: Context): string | undefined {
  if (managed.has(name)) return undefined;
  const account = extensions.get(name)?.spec.serviceAccount?.name;
  if (account !== undefined && !isModeKnown) return undefined;
  return account === undefined ? `ClusterExtension ${name} does not exist` : `ClusterExtension ${name} uses ServiceAccount ${account}`;
}
