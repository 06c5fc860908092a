import { join } from "node:path";
import { type Answer, LoopbackApi, type SeenRequest, statusAnswer } from "./loopbackApi.ts";
import { TempFolder } from "./tempFolder.ts";

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const toResource = (kind: string, namespaced: boolean): Resource => ({ name: `${kind.toLowerCase()}s`, kind, namespaced });

/** The kinds that the API server serves, by path. */
const RESOURCES: Readonly<Record<string, readonly Resource[]>> = {
  "/api/v1": [toResource("Namespace", false), ...["Event", "Secret", "ServiceAccount"].map((kind) => toResource(kind, true))],
  "/apis/olm.operatorframework.io/v1": [toResource("ClusterExtension", false)],
  "/apis/operators.coreos.com/v1alpha1": [toResource("Subscription", true)],
  "/apis/rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map((kind) =>
    toResource(kind, !kind.startsWith("Cluster")),
  ),
};

/** A cluster without objects for the command line: an API server in this process, and a kubeconfig for it. */
export class LoopbackCluster implements AsyncDisposable {
  readonly api: LoopbackApi;
  readonly kubeconfig: string;
  readonly #folder: TempFolder;

  private constructor(api: LoopbackApi, folder: TempFolder) {
    this.api = api;
    this.#folder = folder;
    this.kubeconfig = join(folder.write("home", { kubeconfig: api.kubeconfig }), "kubeconfig");
  }

  /** @param answer responds to requests other than discovery; by default, lists are empty and objects do not exist. */
  static async start(answer: (request: SeenRequest) => Answer | undefined = () => undefined): Promise<LoopbackCluster> {
    const api = await LoopbackApi.start((request) => {
      const path = request.url.split("?")[0] ?? "";
      const resources = RESOURCES[path];
      if (resources) return { json: { resources } };
      return answer(request) ?? (isCollection(path) ? { json: { items: [], metadata: { resourceVersion: "1" } } } : NOT_FOUND);
    });
    return new LoopbackCluster(api, new TempFolder());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#folder[Symbol.dispose]();
    await this.api[Symbol.asyncDispose]();
  }
}

const NOT_FOUND = statusAnswer(404, "NotFound", "not found", { name: "x", kind: "x" });

function isCollection(path: string): boolean {
  return Object.values(RESOURCES).some((resources) => resources.some(({ name }) => path.endsWith(`/${name}`)));
}
