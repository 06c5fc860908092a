import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { buildSampleObjects, EXTENSION } from "../../pkg/devcluster/devSample.ts";
import { buildSampleBundles, buildSampleImages } from "../../pkg/devcluster/sample/sample.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import type { RoleStrategy } from "../../pkg/rbac/escalation.ts";
import { buildInstallerManifests, getControllerSubject } from "../../pkg/rbac/installerManifests.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { mergeRequiredRules } from "../../pkg/rbac/ruleSets.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import type { World } from "../support/world.ts";

/** Repository that the world's registries.conf redirects to the measurement's registry. */
const HOST = "quay.io";
const INSTALLER = { namespace: "hello", name: "hello-installer" };

/** Two forms of the extension that installs the sample operator. */
export interface SampleExtensions {
  /** With a ServiceAccount that already has the permissions for all versions. */
  readonly prepared: KubeObject;
  /** Without a ServiceAccount, so that permission-manager grants the permissions. */
  readonly managed: KubeObject;
}

/**
 * Pushes the sample operator, serves its catalog, and creates a ServiceAccount with exactly the permissions of its versions.
 * @param strategy how the ServiceAccount may write the roles of the operator
 */
export async function prepareSample(world: World, strategy: RoleStrategy = "escalate"): Promise<SampleExtensions> {
  for (const { repository, tag, files, labels } of buildSampleImages(HOST))
    await pushImage(world.cluster.registry, repository, tag, { files, labels });
  const { namespace } = INSTALLER;
  const rules = buildSampleBundles().map(({ files }) =>
    computeRequiredRules(renderBundle(loadBundle(files), { installNamespace: namespace }), { installNamespace: namespace, strategy }),
  );
  const { catalog, extension } = buildSampleObjects(HOST);
  const before: KubeObject[] = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...buildInstallerManifests(INSTALLER, mergeRequiredRules(rules), getControllerSubject(SYSTEM_NAMESPACE)),
    catalog,
  ];
  for (const object of before) await world.apply(object);
  await world.condition("ClusterCatalog", catalog.metadata.name, (condition) => condition("Serving")?.status === "True");
  const spec = extension["spec"] as object;
  return {
    prepared: { ...extension, metadata: { name: EXTENSION.name }, spec: { ...spec, namespace, serviceAccount: { name: INSTALLER.name } } },
    managed: extension,
  };
}
