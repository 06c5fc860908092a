import { expect, test } from "vitest";
import { CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import {
  ANNOTATION_MIGRATED_FROM,
  ANNOTATION_STEP,
  ANNOTATION_SUBSCRIPTION_BACKUP,
  type ConversionStep,
} from "../../../../pkg/api/migration.ts";
import { LoopbackCluster } from "../../../../test/support/loopbackCluster.ts";
import { olmv1 } from "../../../../test/support/runCli.ts";

/** An extension whose conversion has completed this step. */
function convertedUpTo(step: ConversionStep): object {
  const subscription = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "Subscription",
    metadata: { name: "p", namespace: "ns" },
    spec: { name: "p", source: "s", sourceNamespace: "olm" },
    status: { installedCSV: "p.v1" },
  };
  const annotations = {
    [ANNOTATION_MIGRATED_FROM]: "ns/p",
    [ANNOTATION_STEP]: step,
    [ANNOTATION_SUBSCRIPTION_BACKUP]: JSON.stringify(subscription),
  };
  const spec = { namespace: "ns", source: { sourceType: "Catalog", catalog: { packageName: "p" } } };
  return { kind: CLUSTER_EXTENSION, metadata: { name: "p", uid: "u", annotations }, spec };
}

test.for([
  { step: "Installed", code: 0 },
  { step: "Granted", code: 1 },
] as const)("migrate convert -o json prints only JSON when the conversion has completed step $step", async ({ step, code }) => {
  await using cluster = await LoopbackCluster.start(({ url }) =>
    url.includes("/clusterextensions?") ? { json: { items: [convertedUpTo(step)] } } : undefined,
  );
  const args = ["migrate", "convert", "p", "--service-account", "installer", "-o", "json", "--kubeconfig", cluster.kubeconfig];
  const ended = await olmv1(...args);
  expect([ended.code, ended.err, JSON.parse(ended.out)]).toEqual([code, "", { clusterExtension: "p", subscription: "ns/p", step }]);
});
