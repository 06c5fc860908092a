import type { JsonObject } from "../../../pkg/api/k8s.ts";
import type { World } from "../world.ts";
import { BACKUP, KAFKA, POSTGRES, REDIS, TRAINING } from "./dataPackages.ts";
import { CERTIFICATES, GATEWAY, MONITORING, OBJECT_STORAGE } from "./healthyPackages.ts";
import { buildBundleFiles, buildCatalogMetas, type OperatorPackage } from "./operatorPackage.ts";
import { GRAFANA, LOGGING, MESH, SECRETS_SYNC, TRACING } from "./platformPackages.ts";
import { ORDERS, PAYMENTS, QUEUES } from "./shopPackages.ts";

/** The names of the catalogs. */
export const CATALOGS = {
  /** Served, without findings. */
  community: "community-operators",
  /** Served, with errors and warnings. */
  team: "platform-team",
  /** Its image does not exist. */
  partner: "partner-operators",
  /** Served, with hostile texts. */
  hostile: "unreviewed-operators",
} as const;

const COMMUNITY: readonly OperatorPackage[] = [
  OBJECT_STORAGE,
  CERTIFICATES,
  GATEWAY,
  MONITORING,
  SECRETS_SYNC,
  POSTGRES,
  KAFKA,
  GRAFANA,
  REDIS,
  LOGGING,
  TRACING,
  BACKUP,
  TRAINING,
  MESH,
  QUEUES,
  ORDERS,
  PAYMENTS,
];

/** Six errors and two warnings, each with a file and a line. */
const TEAM_CATALOG = `schema: olm.package
name: billing-operator
defaultChannel: stable
description: Computes invoices from the usage of the shop.
icon:
  mediatype: image/png
---
schema: olm.channel
package: billing-operator
name: stable
entries:
  - name: billing-operator.v1.0.0
  - name: billing-operator.v1.1.0
    replaces: billing-operator.v1.0.0
---
schema: olm.channel
package: billing-operator
name: fast
entries: []
---
schema: olm.bundle
package: billing-operator
name: billing-operator.v1.0.0
image: quay.io/example/billing-operator-bundle:v1.0.0
properties:
  - type: olm.package
    value: { packageName: billing-operator, version: 1.0.0 }
---
schema: olm.bundle
package: billing-operator
name: billing-operator.v1.1.0
image: quay.io/example/billing-operator-bundle:v1.1.0
properties:
  - type: olm.package
    value: { packageName: billing-operator, version: "1.1" }
---
schema: olm.bundle
package: billing-operator
name: billing-operator.v1.2.0-dev
image: quay.io/example/billing-operator-bundle:v1.2.0-dev
properties:
  - type: olm.package
    value: { packageName: billing-operator, version: 1.2.0-dev }
---
schema: olm.deprecations
package: billing-operator
entries:
  - reference: { schema: olm.bundle, name: billing-operator.v0.9.0 }
    message: Version 0.9.0 rounds amounts. Upgrade to 1.0.0.
`;
const TEAM_SHIPPING = `schema: olm.package
name: shipping-operator
defaultChannel: production
description: Prints parcel labels.
---
schema: olm.channel
package: shipping-operator
name: stable
entries:
  - name: shipping-operator.v3.0.0
  - name: shipping-operator.v3.1.0
---
schema: olm.bundle
package: shipping-operator
name: shipping-operator.v3.0.0
image: quay.io/example/shipping-operator-bundle:v3.0.0
properties:
  - type: olm.package
    value: { packageName: shipping-operator, version: 3.0.0 }
---
schema: olm.bundle
package: shipping-operator
name: shipping-operator.v3.1.0
image: quay.io/example/shipping-operator-bundle:v3.1.0
properties:
  - type: olm.package
    value: { packageName: shipping-operator, version: 3.1.0 }
  - type: olm.maxOpenShiftVersion
    value: 4.20
`;

/** Pushes the bundles of these operators and a catalog of them, and serves it. */
export async function publishOperators(
  world: Pick<World, "pushBundle" | "pushCatalog" | "serve">,
  catalog: string,
  operators: readonly OperatorPackage[],
  spec: Record<string, unknown> = {},
): Promise<void> {
  const files = await Promise.all(
    operators.map(async (operator): Promise<[string, Uint8Array]> => {
      const images = new Map(
        await Promise.all(
          operator.versions.map(async (of): Promise<[string, string]> => {
            const repository = `bundles/${operator.name}`;
            return [of.version, await world.pushBundle(repository, `v${of.version}`, operator.name, buildBundleFiles(operator, of))];
          }),
        ),
      );
      const metas = buildCatalogMetas(operator, (version) => images.get(version) ?? "");
      return [`${operator.name}/catalog.json`, formatMetas(metas)];
    }),
  );
  await world.pushCatalog(`catalogs/${catalog}`, "latest", new Map(files));
  await world.serve(catalog, `quay.io/catalogs/${catalog}:latest`, spec);
}

function formatMetas(metas: readonly JsonObject[]): Uint8Array {
  return Buffer.from(metas.map((meta) => `${JSON.stringify(meta, undefined, 2)}\n`).join(""));
}

/** Serves the catalog without findings. */
export async function serveCommunity(world: World): Promise<void> {
  await publishOperators(world, CATALOGS.community, COMMUNITY, { priority: 100 });
}

/** Serves the catalog with findings. */
export async function serveTeam(world: World): Promise<void> {
  const files = new Map([
    ["billing-operator/catalog.yaml", Buffer.from(TEAM_CATALOG)],
    ["shipping-operator/catalog.yaml", Buffer.from(TEAM_SHIPPING)],
  ]);
  await world.pushCatalog(`catalogs/${CATALOGS.team}`, "latest", files);
  await world.serve(CATALOGS.team, `quay.io/catalogs/${CATALOGS.team}:latest`);
  await world.condition("ClusterCatalog", CATALOGS.team, (c) => c("Valid")?.status === "False");
}

/** Creates the catalog whose image does not exist. */
export async function createPartner(world: World): Promise<void> {
  await world.apply({
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterCatalog",
    metadata: { name: CATALOGS.partner },
    spec: { source: { type: "Image", image: { ref: "quay.io/contoso/partner-catalog:v4.20", pollIntervalMinutes: 60 } } },
  });
  await world.condition("ClusterCatalog", CATALOGS.partner, (c) => c("Progressing")?.reason === "Retrying");
}
