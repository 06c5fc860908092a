import type { ClusterExtension } from "../api/clusterExtension.ts";
import { ANNOTATION_APPROVE } from "../api/constants.ts";
import type { ExtensionPermissions, ExtensionPermissionsStatus } from "../api/extensionPermissions.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { type JudgedRule, judgePermissions } from "../permissions/judgePermissions.ts";
import { DEFAULT_POLICY } from "../permissions/policySelection.ts";
import { describeInstalledSubject, type RiskSubject } from "../permissions/riskSubject.ts";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { findMissingRules, isEmptyRules } from "../rbac/ruleSets.ts";
import { readCurrentRules, readPermissionPolicy } from "./extensionPermissions.ts";
import { buildExtensionRef } from "./extensions.ts";
import { parseInventoryRef } from "./inventory.ts";
import type { Mood, Styled } from "./mood.ts";
import { type PlacedRule, placeStatusRules } from "./placedRules.ts";

/** Permissions with the rules that the extension has. */
export interface PermissionsView {
  readonly permissions: ExtensionPermissions;
  /** The extension; undefined if it does not exist. Its inventory determines the risk of the rules. */
  readonly extension: ClusterExtension | undefined;
  readonly rules: RequiredRules;
}

/** Reads the rules that an extension has, and the extension. */
export async function readPermissionsView(
  client: Pick<Client, "get" | "list">,
  permissions: ExtensionPermissions,
): Promise<PermissionsView> {
  const extension = await client.get<ClusterExtension>(buildExtensionRef(permissions.metadata.name));
  return { permissions, extension, rules: await readCurrentRules(client, permissions) };
}

/** Returns the granted rules with their risk classes. */
export function judgeGranted({ permissions, extension, rules }: PermissionsView, systemNamespace: string): JudgedRule[] {
  return judgePermissions(rules, { grant: "Automatic" }, describeSubject(permissions, extension, systemNamespace));
}

/** Returns the rules that the extension has and the policy does not grant; undefined if you may not read what determines them. */
export async function findApprovedRules(
  client: Pick<Client, "get" | "list">,
  permissions: ExtensionPermissions,
  systemNamespace: string,
): Promise<JudgedRule[] | undefined> {
  try {
    const { spec } = await readPermissionPolicy(client, permissions.status?.policy ?? DEFAULT_POLICY);
    const { extension, rules } = await readPermissionsView(client, permissions);
    const subject = describeSubject(permissions, extension, systemNamespace);
    return judgePermissions(rules, spec, subject).filter(({ outcome }) => outcome === "Pending");
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}

function describeSubject({ status }: ExtensionPermissions, extension: ClusterExtension | undefined, systemNamespace: string): RiskSubject {
  const objects = (extension?.status?.inventory?.objects ?? []).map(parseInventoryRef);
  return describeInstalledSubject(objects, { installNamespace: status?.namespace ?? "", systemNamespace });
}

const MOODS: Readonly<Record<NonNullable<ExtensionPermissionsStatus["state"]>, Mood>> = {
  Granted: "good",
  Pending: "warning",
  Denied: "bad",
  Failed: "bad",
};

/** Returns the state of permissions; `Requested` if permission-manager has not decided yet. */
export function describePermissionsState({ state }: ExtensionPermissionsStatus): Styled {
  return state === undefined ? { text: "Requested", mood: "faint" } : { text: state, mood: MOODS[state] };
}

/** Describes the approval of permissions, and whether it is in use; undefined without one. */
export function describeApproval({ metadata, status = {} }: ExtensionPermissions): string | undefined {
  const approval = metadata.annotations?.[ANNOTATION_APPROVE];
  const { state, pendingDigest, approvedDigest } = status;
  if (!approval) return undefined;
  if (state === "Pending" && approval !== pendingDigest) return `${approval}: lapsed, because the rules changed`;
  return approval === approvedDigest ? approval : `${approval}: permission-manager has not used it`;
}

/** A rule that waits for approval. */
export interface PendingRule extends PlacedRule {
  /** Whether the extension has it now. */
  readonly isHeld: boolean;
}

/** Returns the rules that wait for approval. @param current the rules that the extension has now */
export function listPendingRules({ status }: ExtensionPermissions, current: RequiredRules): PendingRule[] {
  return placeStatusRules(status?.pending ?? []).map((one) => ({ ...one, isHeld: isHeld(one, current) }));
}

function isHeld({ namespace, rule }: PlacedRule, current: RequiredRules): boolean {
  return isEmptyRules(findMissingRules(toRequiredRules(namespace, rule), current));
}

function toRequiredRules(namespace: string, rule: PolicyRule): RequiredRules {
  if (namespace === "") return { clusterRules: [rule], namespaceRules: new Map(), unknownKinds: [] };
  return { clusterRules: [], namespaceRules: new Map([[namespace, [rule]]]), unknownKinds: [] };
}
