/** How much a part of the public surface may change: see docs/reference/stability.md. */
export type StabilityLevel = "alpha" | "beta" | "stable";

/** Kinds of parts of the public surface, in the order of the reference. */
export const SURFACE_KINDS = [
  "Fields",
  "Condition types and reasons",
  "Problem types",
  "Events",
  "Commands and options",
  "Server flags",
  "Feature gates",
  "Metrics",
  "Endpoints",
  "Error codes",
] as const;
export type SurfaceKind = (typeof SURFACE_KINDS)[number];

/**
 * Fields of ClusterExtension and ClusterCatalog that the upstream API v1 has too.
 * @see https://github.com/operator-framework/operator-controller/tree/c6fd3002/helm/olmv1/base/operator-controller/crd/standard
 * @see https://github.com/operator-framework/operator-controller/tree/0198d4bc/helm/olmv1/base/catalogd/crd/standard
 */
const UPSTREAM_FIELDS: readonly RegExp[] = [
  /^ClusterExtension spec\.(namespace|serviceAccount(\.name)?|config(\.(configType|inline))?)$/,
  /^ClusterExtension spec\.source(\.(sourceType|catalog(\.(packageName|channels|selector|upgradeConstraintPolicy|version))?))?$/,
  /^ClusterExtension spec\.install(\.preflight(\.crdUpgradeSafety(\.enforcement)?)?)?$/,
  /^ClusterExtension status\.(conditions|install(\.bundle(\.(name|version))?)?)$/,
  /^ClusterCatalog spec\.(availabilityMode|priority|source(\.(type|image(\.(ref|pollIntervalMinutes))?))?)$/,
  /^ClusterCatalog status\.(conditions|lastUnpacked|urls(\.base)?|resolvedSource(\.(type|image(\.ref)?))?)$/,
];

/**
 * Flags of the Go programs.
 * @see https://github.com/operator-framework/operator-controller/blob/029484d2/cmd/operator-controller/main.go
 * @see https://github.com/operator-framework/operator-controller/blob/0e1ca36d/cmd/catalogd/main.go
 */
const UPSTREAM_FLAGS: readonly RegExp[] = [
  /^(catalogd|operator-controller) --(metrics-bind-address|health-probe-bind-address|pprof-bind-address|leader-elect|system-namespace)$/,
  /^(catalogd|operator-controller) --(tls-cert|tls-key|pull-cas-dir|global-pull-secret|feature-gates|kubeconfig|v)$/,
  /^(catalogd|operator-controller) --tls-(profile|custom-(ciphers|curves|version))$/,
  /^catalogd --(catalogs-server-addr|external-address|cache-dir|gc-interval|webhook-server-port)$/,
  /^operator-controller --(catalogd-cas-dir|cache-path)$/,
];

/**
 * Condition types and reasons that the Go programs have too.
 * @see https://github.com/operator-framework/operator-controller/blob/029484d2/api/v1/common_types.go
 */
const UPSTREAM_CONDITIONS =
  /^(type (Installed|Progressing|Serving|Deprecated|PackageDeprecated|ChannelDeprecated|BundleDeprecated)|reason (Succeeded|Failed|Absent|Retrying|Blocked|RollingOut|Deprecated|NotDeprecated|DeprecationStatusUnknown|Available|Unavailable|UserSpecifiedUnavailable))$/;

/** Metrics whose names controller-runtime, client-go or the Go catalogd determine. */
const UPSTREAM_METRICS = /^(controller_runtime_|workqueue_|rest_client_|leader_election_|catalogd_http_request_duration_seconds$)/;

/** The first matching pattern determines the level; everything else is beta. */
const LEVELS: Readonly<Partial<Record<SurfaceKind, readonly (readonly [RegExp, StabilityLevel])[]>>> = {
  Fields: [[/^(ExtensionPermissions|PermissionPolicy) /, "alpha"], ...UPSTREAM_FIELDS.map((pattern) => [pattern, "stable"] as const)],
  "Condition types and reasons": [[UPSTREAM_CONDITIONS, "stable"]],
  "Commands and options": [[/^olmv1 (bundle try|dev|eject|migrate|permissions|ui)\b/, "alpha"]],
  "Server flags": [[/^(permission-manager|console) /, "alpha"], ...UPSTREAM_FLAGS.map((pattern) => [pattern, "stable"] as const)],
  Metrics: [
    [UPSTREAM_METRICS, "stable"],
    [/^(permission_manager|console)_/, "alpha"],
  ],
  Endpoints: [[/^GET \/catalogs\/\{catalog\}\/api\/v1\/(all|metas)$/, "stable"]],
};

/** Returns the level of a part of the public surface. */
export function getStabilityLevel(kind: SurfaceKind, name: string): StabilityLevel {
  return LEVELS[kind]?.find(([pattern]) => pattern.test(name))?.[1] ?? "beta";
}
