import type { CheckedPage } from "./pageChecks.ts";

/** All pages and tabs, each with an object that has something to show. */
export const PAGES: readonly CheckedPage[] = [
  { path: "/", shows: ["Needs attention", "not working", "What changes next"] },
  { path: "/extensions", shows: ["object-storage", "18 extensions"] },
  { path: "/extensions?only=update&sort=-name", shows: ["postgres", "of 18 extensions"] },
  { path: "/extensions/kafka", shows: ["Roll back to revision 1", "Conditions", "Events", "Full support until 2099-12-31"] },
  { path: "/extensions/kafka/objects", shows: ["1 object does not work", "ReplicaSet"] },
  {
    path: "/extensions/kafka/objects?object=apps/v1+Deployment+kafka-operator-system+kafka-cluster-operator",
    shows: ["1 of 2 replicas are updated"],
  },
  { path: "/extensions/redis/why", shows: ["How the candidates were filtered", "What if"] },
  { path: "/extensions/postgres/plan", shows: ["3 to create", "Approve"] },
  { path: "/extensions/mesh/permissions", shows: ["Rules that wait for approval", "What the next bundle needs"] },
  { path: "/extensions/object-storage/history", shows: ["Revision 5", "Revision 1"] },
  { path: "/extensions/grafana/history", shows: ["kubectl-edit", "Keep these changes"] },
  { path: "/extensions/object-storage/uninstall", shows: ["What happens", "custom resources"] },
  {
    path: "/extensions/no-such-extension",
    shows: ["Extension no-such-extension does not exist"],
    mayBeMissing: "/api/extensions/no-such-extension/overview",
  },
  { path: "/packages", shows: ["Software catalog", "Monitoring Operator"] },
  { path: "/packages/monitoring-operator", shows: ["olmv1 install monitoring-operator", "Channels and versions"] },
  { path: "/packages?supported=true", shows: ["1 package", "Kafka Operator 3.3.0"] },
  { path: "/packages/kafka-operator", shows: ["Full support until 2099-12-31", "support ended on 2024-12-31"] },
  { path: "/packages/monitoring-operator/install", shows: ["Installs monitoring-operator.v1.0.0", "Manifest for Git"] },
  { path: "/catalogs", shows: ["community-operators", "platform-team", "partner-operators"] },
  { path: "/catalogs/platform-team", shows: ["billing-operator/catalog.yaml", "6 errors", "Read from catalogd"] },
  { path: "/catalogs/partner-operators", shows: ["manifest unknown"] },
  { path: "/dependencies", shows: ["gateway", "certificates"] },
  { path: "/cluster-upgrade", shows: ["Cluster upgrade"] },
  { path: "/installation", shows: ["Installation", "partner-operators"] },
  { path: "/no-such-page", shows: ["Page not found"] },
];
