import type { ClusterExtension } from "../api/clusterExtension.ts";
import { ANNOTATION_APPROVE, ANNOTATION_RECONCILE_REQUESTED_AT, ANNOTATION_ROLLBACK_TO, CLI_MANAGER } from "../api/constants.ts";
import type { ExtensionPermissions, JudgedRuleStatus } from "../api/extensionPermissions.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { rulesFromDetails } from "../operatorcontroller/permissions/permissions.ts";
import { computeRulesDigest } from "../permissions/grantPlan.ts";
import type { DriftPolicy } from "../release/drift.ts";
import type { CrdPolicy } from "../release/plan.ts";
import { buildExtensionRef, buildPermissionsRef } from "./extensions.ts";
import { buildSourcePatch } from "./sourceChange.ts";

/** A change of one object, as one request. The uid in `body` makes the API server reject it if the object was deleted and recreated. */
export interface ObjectPatch {
  readonly ref: ObjectRef;
  readonly body: object;
  readonly type: "merge";
  readonly fieldManager: string;
}

/** Sends a change. @param options `dryRun`: the API server checks the change, and does not store it */
export async function sendPatch<T extends KubeObject>(
  client: Pick<Client, "patch">,
  { ref, body, type, fieldManager }: ObjectPatch,
  options: { readonly dryRun?: boolean } = {},
): Promise<T> {
  return client.patch<T>(ref, body, { type, fieldManager, ...options });
}

function buildPatch(ref: ObjectRef, body: object): ObjectPatch {
  return { ref, body, type: "merge", fieldManager: CLI_MANAGER };
}

/** Whether a plan waits for approval. Results other than `waiting` have a message for users. */
export type PlanApproval =
  | { readonly kind: "waiting"; readonly digest: string }
  | { readonly kind: "nothingWaits"; readonly message: string }
  | { readonly kind: "otherPlan"; readonly message: string };

/** Reports whether a plan waits for approval. @param seen the digest of the plan that the user saw; default: any */
export function checkPlanApproval({ metadata, spec, status }: ClusterExtension, seen?: string): PlanApproval {
  const { name } = metadata;
  const digest = status?.plan?.digest;
  if (digest === undefined) {
    const why = spec.approval === "Manual" ? "" : "; spec.approval is not Manual, so the controller applies changes without approval";
    return { kind: "nothingWaits", message: `no plan of ClusterExtension ${goQuote(name)} waits for approval${why}` };
  }
  if (seen === undefined || seen === digest) return { kind: "waiting", digest };
  return { kind: "otherPlan", message: `the pending plan has digest ${digest}, not ${seen}: see olmv1 describe ${name}` };
}

/** Returns the change that approves a plan. */
export function buildPlanApproval({ metadata: { name, uid } }: ClusterExtension, digest: string): ObjectPatch {
  return buildPatch(buildExtensionRef(name), { metadata: { uid, annotations: { [ANNOTATION_APPROVE]: digest } } });
}

/** Returns the revision that the extension is pinned to; undefined if it is not pinned. */
export function findPin({ metadata }: Pick<ClusterExtension, "metadata">): string | undefined {
  return metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
}

/**
 * Returns the change that rolls an extension back to a revision and pins it, or that removes the pin. Annotations do not change the generation; the
 * reconcile request in the same write shows whether the status is newer than the pin.
 * @param revision null removes the pin
 * @param request identifies the reconcile request, such as the current time
 */
export function buildPinChange({ metadata: { name, uid } }: ClusterExtension, revision: number | null, request: string): ObjectPatch {
  const value = revision === null ? null : String(revision);
  const annotations = { [ANNOTATION_ROLLBACK_TO]: value, [ANNOTATION_RECONCILE_REQUESTED_AT]: request };
  return buildPatch(buildExtensionRef(name), { metadata: { uid, annotations } });
}

/**
 * Returns the change of version range, channels and upgrade policy to those of `desired`.
 * @param digest the plan that the user confirmed; approved with the change if the extension requires approval. Null without a plan
 */
export function buildCatalogChange(extension: ClusterExtension, desired: ClusterExtension, digest: string | null): ObjectPatch {
  const {
    metadata: { name, uid },
    spec,
  } = extension;
  const catalog = buildSourcePatch(extension, desired);
  const annotations = spec.approval === "Manual" && digest !== null ? { annotations: { [ANNOTATION_APPROVE]: digest } } : {};
  return buildPatch(buildExtensionRef(name), { metadata: { uid, ...annotations }, spec: { source: { catalog } } });
}

/** Returns the change that pauses an extension, or that continues it. */
export function buildSuspension({ metadata: { name, uid } }: ClusterExtension, suspend: boolean): ObjectPatch {
  return buildPatch(buildExtensionRef(name), { metadata: { uid }, spec: { suspend } });
}

/** Returns the change that requests a reconcile, which compares all objects. @param request identifies it, such as the current time */
export function buildReconcileRequest({ metadata: { name, uid } }: ClusterExtension, request: string): ObjectPatch {
  return buildPatch(buildExtensionRef(name), { metadata: { uid, annotations: { [ANNOTATION_RECONCILE_REQUESTED_AT]: request } } });
}

/** Returns the change of the reaction to drift. */
export function buildDriftChange({ metadata: { name, uid } }: ClusterExtension, policy: DriftPolicy["policy"]): ObjectPatch {
  return buildPatch(buildExtensionRef(name), { metadata: { uid }, spec: { drift: { policy } } });
}

/** Returns the change of the policy for CustomResourceDefinitions at an uninstall. */
export function buildCrdPolicyChange({ metadata: { name, uid } }: ClusterExtension, crdPolicy: CrdPolicy): ObjectPatch {
  return buildPatch(buildExtensionRef(name), { metadata: { uid }, spec: { uninstall: { crdPolicy } } });
}

/** ExtensionPermissions with rules that wait for approval. */
export type WaitingPermissions = ExtensionPermissions & { readonly status: { readonly pendingDigest: string } };

/** Whether permissions wait for approval. Results other than `waiting` have a message for users. */
export type PermissionsApproval =
  | { readonly kind: "waiting"; readonly permissions: WaitingPermissions; readonly digest: string }
  | { readonly kind: "nothingWaits"; readonly message: string }
  /** Other rules wait than those that the user saw. */
  | { readonly kind: "otherRules"; readonly message: string }
  /** The status does not list all rules, so users would approve rules that are not shown. */
  | { readonly kind: "incomplete"; readonly message: string };

/** Reports whether permissions wait for approval. @param seen the digest of the rules that the user saw; default: those in the status */
export function checkPermissionsApproval(permissions: ExtensionPermissions, seen?: string): PermissionsApproval {
  const { name } = permissions.metadata;
  if (!isWaiting(permissions)) return { kind: "nothingWaits", message: explainNothingWaits(permissions) };
  const { pendingDigest: digest, pending = [] } = permissions.status;
  if (seen !== undefined && seen !== digest)
    return { kind: "otherRules", message: `the rules that wait have digest ${digest}, not ${seen}: see olmv1 permissions show ${name}` };
  if (seen === undefined && !isComplete(pending, digest))
    return {
      kind: "incomplete",
      message: `the status does not list all rules that wait for approval: print them with olmv1 permissions policy test, then use olmv1 permissions approve ${name} --digest ${digest}`,
    };
  return { kind: "waiting", permissions, digest };
}

function isWaiting(permissions: ExtensionPermissions): permissions is WaitingPermissions {
  return permissions.status?.pendingDigest !== undefined;
}

/** Reports whether the status lists all rules that the digest identifies. */
function isComplete(pending: readonly JudgedRuleStatus[], digest: string): boolean {
  return computeRulesDigest(rulesFromDetails([...pending])) === digest;
}

function explainNothingWaits({ metadata: { name }, status }: ExtensionPermissions): string {
  const head = `no permissions of ClusterExtension ${goQuote(name)} wait for approval`;
  if (status?.state === "Denied") return `${head}: the policy denies the request, see olmv1 permissions show ${name}`;
  return status?.state === "Failed" ? `${head}: the request cannot be verified, see olmv1 permissions show ${name}` : head;
}

/** Reports whether permissions are approved, so that the approval can be revoked. */
export function hasApproval({ metadata }: Pick<ExtensionPermissions, "metadata">): boolean {
  return Boolean(metadata.annotations?.[ANNOTATION_APPROVE]);
}

/**
 * Returns the change that sets or removes the approval of permissions. The API server rejects it with a conflict if the object was changed since it
 * was read.
 * @param digest null removes the approval
 */
export function buildPermissionsApproval({ metadata }: ExtensionPermissions, digest: string | null): ObjectPatch {
  const { name, uid, resourceVersion } = metadata;
  return buildPatch(buildPermissionsRef(name), { metadata: { uid, resourceVersion, annotations: { [ANNOTATION_APPROVE]: digest } } });
}
