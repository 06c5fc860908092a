/**
 * The packages by layer, outermost first. A package may import packages of its own layer and of later ones. `docs/architecture.md` shows the same
 * layers.
 */
export const LAYERS = [
  ["cmd"],
  ["pkg/console"],
  [
    "pkg/migrate",
    "pkg/trial",
    "pkg/conformance",
    "pkg/eject",
    "pkg/backup",
    "pkg/browse",
    "pkg/preview",
    "pkg/authoring/references",
    "pkg/authoring/validate",
    "pkg/authoring/bundle",
    "pkg/authoring/build",
    "pkg/authoring/serve",
    "pkg/authoring/mirror",
    "pkg/installer",
    "pkg/rollout",
    "pkg/sources",
    "pkg/doctor",
  ],
  ["pkg/catalogd", "pkg/permissionmanager", "pkg/operatorcontroller", "pkg/devcluster"],
  ["pkg/async", "pkg/controller", "pkg/kube", "pkg/oci", "pkg/telemetry", "pkg/serving", "pkg/http", "pkg/catalogcache"],
  [
    "pkg/authoring",
    "pkg/browse/details",
    "pkg/resolve",
    "pkg/render",
    "pkg/certificates",
    "pkg/rbac",
    "pkg/permissions",
    "pkg/release",
    "pkg/bundle",
    "pkg/crdsafety",
    "pkg/openshift",
  ],
  ["pkg/fbc", "pkg/version", "pkg/cel"],
  ["pkg/api", "pkg/consoleapi", "pkg/errors", "pkg/golang", "pkg/text"],
];
