import type { ClusterExtension } from "../api/clusterExtension.ts";
import { EXTENSION_PERMISSIONS, LABEL_PERMISSIONS_FOR, PERMISSION_POLICY } from "../api/constants.ts";
import type { ExtensionPermissions } from "../api/extensionPermissions.ts";
import type { PermissionPolicy, PermissionPolicySpec } from "../api/permissionPolicy.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { isConflict } from "../kube/errors.ts";
import { rulesFromDetails } from "../operatorcontroller/permissions/permissions.ts";
import { readGrantedRules } from "../permissions/grantObjects.ts";
import { DEFAULT_POLICY } from "../permissions/policySelection.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { compareText } from "../text/compare.ts";
import { buildPermissionsApproval, sendPatch } from "./changes.ts";
import { buildPermissionsRef, readExtension } from "./extensions.ts";

const RBAC = "rbac.authorization.k8s.io/v1";

/** Returns all ExtensionPermissions on the cluster, sorted by name. */
export async function listExtensionPermissions(client: Pick<Client, "list">): Promise<ExtensionPermissions[]> {
  const { items } = await client.list<ExtensionPermissions>(EXTENSION_PERMISSIONS);
  return items.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
}

/** Returns the ExtensionPermissions of an extension. @throws Error that explains why it does not exist */
export async function readExtensionPermissions(client: Pick<Client, "get" | "list">, name: string): Promise<ExtensionPermissions> {
  const found = await client.get<ExtensionPermissions>(buildPermissionsRef(name));
  if (found) return found;
  const { spec } = await readExtension(client, name);
  const account = spec.serviceAccount?.name;
  const why =
    account === undefined
      ? "operator-controller has not requested permissions yet; see olmv1 describe"
      : `the extension uses ServiceAccount ${goQuote(account)}, whose permissions you grant`;
  throw new Error(`ExtensionPermissions ${goQuote(name)} does not exist: ${why}`);
}

/** Returns the ExtensionPermissions of the extensions in a dependency plan by wave, those of the extension itself last. */
export async function listPlanPermissions(
  client: Pick<Client, "list">,
  { metadata, status }: Pick<ClusterExtension, "metadata" | "status">,
): Promise<ExtensionPermissions[]> {
  const members = (status?.dependencyPlan?.members ?? []).map(({ extension }) => extension);
  const byName = new Map((await listExtensionPermissions(client)).map((one) => [one.metadata.name, one]));
  const names = new Set(members.filter((name) => name !== metadata.name)).add(metadata.name);
  return [...names].flatMap((name) => byName.get(name) ?? []);
}

/** A policy, and whether it exists. */
export interface FoundPolicy {
  readonly name: string;
  readonly spec: PermissionPolicySpec;
  /** False for policy default if it does not exist, and permission-manager uses its own default. */
  readonly exists: boolean;
}

/** Returns a policy. If policy default does not exist, returns the one that permission-manager uses without flags. @throws Error if another policy does not exist */
export async function readPermissionPolicy(client: Pick<Client, "get">, name: string): Promise<FoundPolicy> {
  const found = await client.get<PermissionPolicy>({ ...PERMISSION_POLICY, name });
  if (found) return { name, spec: found.spec, exists: true };
  if (name !== DEFAULT_POLICY) throw new Error(`PermissionPolicy ${goQuote(name)} does not exist: see kubectl get permissionpolicies`);
  return { name, spec: { grant: "Guarded" }, exists: false };
}

/** Describes what applies instead of policy default if it does not exist; empty otherwise. */
export function describePolicyGap({ name, exists }: Pick<FoundPolicy, "name" | "exists">): string[] {
  if (exists) return [];
  return [`PermissionPolicy ${name} does not exist; permission-manager then uses its flag --default-grant, which is Guarded by default`];
}

/** Returns the rules that an extension has: from the status, or from its roles if the status does not list all of them. */
export async function readCurrentRules(
  client: Pick<Client, "list">,
  { metadata: { name }, status }: ExtensionPermissions,
): Promise<RequiredRules> {
  const { rules = [], ruleCount = 0 } = status ?? {};
  if (rules.length >= ruleCount) return rulesFromDetails(rules);
  const labelSelector = `${LABEL_PERMISSIONS_FOR}=${name}`;
  const lists = ["ClusterRole", "Role"].map(async (kind) => {
    const { items } = await client.list({ apiVersion: RBAC, kind }, { labelSelector });
    return items.map((item) => ({ ...item, apiVersion: RBAC, kind }));
  });
  return readGrantedRules(name, (await Promise.all(lists)).flat());
}

/** How often a write that conflicts with a write of the servers is repeated. */
const ATTEMPTS = 5;

/**
 * Sets or removes the approval of permissions, if they still wait for what the user saw.
 * @param seen as shown to the user
 * @param digest the approval; null to remove it
 * @throws Error if the rules that wait have changed
 */
export async function writeApproval(
  client: Pick<Client, "get" | "patch">,
  seen: ExtensionPermissions,
  digest: string | null,
): Promise<void> {
  const ref = buildPermissionsRef(seen.metadata.name);
  let current: ExtensionPermissions | undefined = seen;
  for (let attempt = 1; ; attempt++) {
    if (!current || current.metadata.uid !== seen.metadata.uid || current.status?.pendingDigest !== seen.status?.pendingDigest)
      throw new Error(`ExtensionPermissions ${goQuote(ref.name)} changed while it was shown: run the command again (no changes were made)`);
    try {
      await sendPatch(client, buildPermissionsApproval(current, digest));
      return;
    } catch (err) {
      if (!isConflict(err) || attempt === ATTEMPTS) throw err;
      current = await client.get<ExtensionPermissions>(ref);
    }
  }
}
