import type { KubeObject } from "../../../pkg/api/k8s.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import { type Installer, controllerSubject } from "../../../pkg/rbac/installerManifests.ts";
import { tokenObjects } from "./installerObjects.ts";

/** What lets operator-controller act as a ServiceAccount that somebody else made; nothing where it may, or where that may not be asked. */
export async function tokenRights(
  client: Pick<Client, "raw">,
  extension: string,
  { namespace, name }: Installer,
  systemNamespace: string,
): Promise<KubeObject[]> {
  const controller = controllerSubject(systemNamespace);
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: `system:serviceaccount:${controller.namespace}:${controller.name}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${controller.namespace}`, "system:authenticated"],
      resourceAttributes: { namespace, verb: "create", resource: "serviceaccounts", subresource: "token", name },
    },
  };
  try {
    const answer = (await client.raw("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)) as {
      status?: { allowed?: boolean };
    };
    return answer.status?.allowed ? [] : tokenObjects(extension, { namespace, name }, systemNamespace);
  } catch (err) {
    if (isForbidden(err)) return [];
    throw err;
  }
}
