/** Flags of other programs that pages mention: kubectl, oc, Helm, npm; skopeo, cosign; curl; node; oauth2-proxy; and our scripts. */
export const FOREIGN_FLAGS: readonly string[] = [
  "--cascade --types --filter-by-os --take-ownership --global --no-git-tag-version --package-lock-only",
  "--preserve-digests --new-bundle-format --use-signing-config --registry-referrers-mode --recursive",
  "--connect-to --compressed",
  "--heap-growing-percent --memory-saver-mode --max-semi-space-size",
  "--pass-authorization-header --pass-access-token --pass-host-header --skip-auth-strip-headers --api-route --cookie-refresh --scope",
  "--unit --integration --e2e --minutes --hours --seed --divide --check",
].flatMap((flags) => flags.split(" "));

/**
 * Fields of kinds that are not ours: of ClusterServiceVersions, definitions, APIServices, Subscriptions, CatalogSources, and OpenShift's
 * configuration.
 */
export const FOREIGN_FIELDS: ReadonlySet<string> = new Set([
  "spec.additionalTrustedCA",
  "spec.address",
  "spec.apiservicedefinitions.owned",
  "spec.caBundle",
  "spec.channel",
  "spec.conditions",
  "spec.displayName",
  "spec.image",
  "spec.overrides",
  "spec.publisher",
  "spec.registrySources",
  "spec.secrets",
  "spec.tlsSecurityProfile",
  "spec.updateStrategy.registryPoll.interval",
  "spec.version",
  "status.desired.version",
  "status.extension",
  "status.storedVersions",
]);

/** Conditions and reasons of objects that are not ours: of ClusterOperators, and in kstatus. */
export const FOREIGN_REASONS = ["Upgradeable", "OLMIncompatibleOperatorController_SyncError", "Reconciling", "Stalled"];
