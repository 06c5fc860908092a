import { type GoShape, goStruct } from "./goShape.ts";

const TEXTS: GoShape = { itemsOf: "string" };
const CHECKED_TEXTS: GoShape = { checked: TEXTS };
const TEXT_BY_NAME: GoShape = { valuesOf: "string" };
const ANY_BY_NAME: GoShape = { checked: { valuesOf: "any" } };
const FILES: GoShape = { checked: { itemsOf: goStruct({ name: "string", data: "bytes" }) } };

const DEPENDENCIES: GoShape = {
  checked: {
    itemsOf: goStruct({
      name: "string",
      version: "string",
      repository: "string",
      condition: "string",
      tags: CHECKED_TEXTS,
      enabled: "bool",
      "import-values": { itemsOf: "any" },
      alias: "string",
    }),
  },
};

const CHART = goStruct({
  metadata: goStruct({
    name: "string",
    home: "string",
    sources: CHECKED_TEXTS,
    version: "string",
    description: "string",
    keywords: CHECKED_TEXTS,
    maintainers: { checked: { itemsOf: goStruct({ name: "string", email: "string", url: "string" }) } },
    icon: "string",
    apiVersion: "string",
    condition: "string",
    tags: "string",
    appVersion: "string",
    deprecated: "bool",
    annotations: TEXT_BY_NAME,
    kubeVersion: "string",
    dependencies: DEPENDENCIES,
    type: "string",
  }),
  lock: goStruct({ generated: "time", digest: "string", dependencies: DEPENDENCIES }),
  templates: FILES,
  values: ANY_BY_NAME,
  schema: "bytes",
  files: FILES,
});

const HOOKS: GoShape = {
  checked: {
    itemsOf: goStruct({
      name: "string",
      kind: "string",
      path: "string",
      manifest: "string",
      events: TEXTS,
      last_run: goStruct({ started_at: "helmTime", completed_at: "helmTime", phase: "string" }),
      weight: "int",
      delete_policies: TEXTS,
      output_log_policies: TEXTS,
    }),
  },
};

/**
 * The types of a stored release: Helm's, with the bundle's labels as helm-operator-plugins stores them, and the members of our own.
 * What nothing reads is checked and not kept: it may be most of a release.
 * @see https://github.com/helm/helm/blob/v3.20.2/pkg/release/release.go
 * @see https://github.com/helm/helm/blob/v3.20.2/pkg/chart/metadata.go
 */
export const RELEASE_SHAPE = goStruct({
  name: "string",
  info: goStruct({
    first_deployed: "helmTime",
    last_deployed: "helmTime",
    deleted: "helmTime",
    description: "string",
    status: "string",
    notes: "string",
    resources: { checked: { valuesOf: { itemsOf: "any" } } },
  }),
  chart: CHART,
  config: ANY_BY_NAME,
  manifest: "lines",
  hooks: HOOKS,
  version: "int",
  namespace: "string",
  labels: TEXT_BY_NAME,
  properties: "string",
  requirements: "object",
  inputDigest: "string",
  imageDigest: "string",
  proxy: "object",
  cautions: TEXTS,
  flaws: TEXTS,
  rolledOutAt: "string",
  rolledBack: "object",
  pinnedTo: "int",
  takenOver: "bool",
  sourced: TEXTS,
  left: { itemsOf: "object" },
});
