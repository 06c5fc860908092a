import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { ANNOTATION_APPROVE } from "../api/constants.ts";
import type { ExtensionPermissions } from "../api/extensionPermissions.ts";
import { readSuggestedNamespace } from "../bundle/suggestedNamespace.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import type { CertificateProviders } from "../operatorcontroller/apply/certificateProviders.ts";
import { servesOperatorConditions } from "../operatorcontroller/apply/preparedObjects.ts";
import type { RenderableBundle } from "../operatorcontroller/bundles/bundleCache.ts";
import { deriveContentRules } from "../permissionmanager/contentRules.ts";
import { getGrantName } from "../permissions/grantObjects.ts";
import { decidePermissions, type PermissionDecision } from "../permissions/permissionDecision.ts";
import { buildPolicyTarget, getPolicyName } from "../permissions/policySelection.ts";
import { mergeRequiredRules } from "../rbac/ruleSets.ts";
import { type FoundPolicy, readCurrentRules, readPermissionPolicy } from "../rollout/extensionPermissions.ts";
import { buildPermissionsRef } from "../rollout/extensions.ts";
import { placeRules, toJudgedData } from "../rollout/placedRules.ts";

/** What permission-manager would decide about a bundle of an extension. */
export interface PermissionPreview extends PermissionDecision {
  readonly policy: FoundPolicy;
  readonly account: { readonly namespace: string; readonly name: string };
}

/** A bundle of an extension. */
export interface PreviewRequest {
  readonly client: Client;
  readonly extension: ClusterExtension;
  readonly bundle: RenderableBundle;
  /** The ClusterCatalog that contains the bundle; undefined if it is not on the cluster. */
  readonly catalog: ClusterCatalog | undefined;
  readonly providers: Pick<CertificateProviders, "chooseAfter">;
  readonly systemNamespace: string;
}

/**
 * Previews what permission-manager would decide about a bundle; writes nothing. Undefined if the extension uses a ServiceAccount of its own, or if the
 * cluster has no permission-manager.
 * @throws Error if the policy does not exist; KubeError if it cannot be read; TerminalError if the bundle cannot be rendered
 */
export async function previewPermissions(request: PreviewRequest): Promise<PermissionPreview | undefined> {
  const { client, extension: given, bundle, catalog, providers, systemNamespace } = request;
  const { name } = given.metadata;
  const permissions = await client.get<ExtensionPermissions>(buildPermissionsRef(name)).catch((err: unknown) => {
    if (err instanceof KindNotServed) return "notServed" as const;
    throw err;
  });
  if (permissions === "notServed") return undefined;
  if (!permissions && given.spec.serviceAccount?.name) return undefined;
  const namespace =
    (getNamespace(given) || permissions?.status?.namespace) ?? readSuggestedNamespace(bundle.packageName, bundle.annotations).name;
  const extension = { ...given, spec: { ...given.spec, namespace } };
  const policy = await readPermissionPolicy(client, getPolicyName(given));
  const provider = await providers.chooseAfter(permissions?.status?.certificateProvider);
  const place = { client, systemNamespace, provider, operatorCondition: await servesOperatorConditions(client) };
  const { rules, subject } = await deriveContentRules(place, extension, bundle);
  const decision = decidePermissions({
    policy: policy.spec,
    required: rules,
    subject,
    target: buildPolicyTarget(bundle.packageName, namespace, catalog),
    current: permissions ? await readCurrentRules(client, permissions) : mergeRequiredRules([]),
    approvedDigest: permissions?.metadata.annotations?.[ANNOTATION_APPROVE],
  });
  return { ...decision, policy, account: { namespace, name: getGrantName(name) } };
}

/** Returns a preview as JSON. */
export function toPreviewData({ policy, account, state, problem, added, removed, pending, pendingDigest }: PermissionPreview): object {
  return {
    policy: policy.name,
    serviceAccount: account,
    state,
    ...(problem === undefined ? {} : { problem }),
    added: added.map(toJudgedData),
    removed: placeRules(removed).map(({ namespace, rule }) => (namespace === "" ? rule : { namespace, ...rule })),
    pending: pending.map(toJudgedData),
    ...(pendingDigest === undefined ? {} : { pendingDigest }),
  };
}
