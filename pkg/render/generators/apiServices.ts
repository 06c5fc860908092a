import type { KubeObject } from "../../api/k8s.ts";
import { apiKindsAnnotation, ownedApiServices } from "../../bundle/apiServices.ts";
import type { RegistryV1Bundle } from "../../bundle/types.ts";
import { certificateNames } from "../certificateProvider.ts";
import type { GeneratorOptions } from "./options.ts";

/** Of the group: above custom resources, below what Kubernetes itself serves; of the version: below whatever else serves the group. */
const GROUP_PRIORITY_MINIMUM = 2000;
const VERSION_PRIORITY = 15;

/**
 * An APIService for each group version that the operator serves itself, with the kinds of it noted: the object has no member for them.
 * @see operator-lifecycle-manager pkg/controller/install/apiservice.go
 */
export function apiServices({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  return ownedApiServices(csv).map(({ name, group, version, deploymentName, port, kinds }) => {
    const names = certificateNames(deploymentName, installNamespace);
    return {
      kind: "APIService",
      apiVersion: "apiregistration.k8s.io/v1",
      metadata: { name, annotations: { ...certProvider?.annotations("APIService", names), ...apiKindsAnnotation(kinds) } },
      spec: {
        service: { namespace: installNamespace, name: names.serviceName, port },
        group,
        version,
        groupPriorityMinimum: GROUP_PRIORITY_MINIMUM,
        versionPriority: VERSION_PRIORITY,
      },
    };
  });
}
