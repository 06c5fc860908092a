import { type FastifyInstance, fastify } from "fastify";
import { registerActionRoutes } from "../../pkg/console/actions/actionRoutes.ts";
import { ClusterIdentity } from "../../pkg/console/cluster/clusterIdentity.ts";
import type { ConsoleContext } from "../../pkg/console/consoleContext.ts";
import { toConsoleProblem } from "../../pkg/console/http/consoleError.ts";
import { type ConsoleTypeProvider, compileConsoleValidator } from "../../pkg/console/http/requestInput.ts";
import { identifyCallers } from "../../pkg/console/session/identifyCallers.ts";
import type { ActionRequest, PreparedAction } from "../../pkg/consoleapi/actions.ts";
import { Client } from "../../pkg/kube/client.ts";
import type { ReaderOptions } from "../../pkg/sources/bundleReader.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { type Answer, LoopbackApi, type SeenRequest, statusAnswer } from "./loopbackApi.ts";

const resource = (name: string, kind: string, namespaced: boolean) => ({ name, kind, namespaced, verbs: ["get", "patch"] });

/** The kinds that the API server serves, by path. */
const RESOURCES: Readonly<Record<string, readonly object[]>> = {
  "/api/v1": [
    resource("namespaces", "Namespace", false),
    resource("serviceaccounts", "ServiceAccount", true),
    resource("secrets", "Secret", true),
  ],
  "/apis/olm.operatorframework.io/v1": [resource("clusterextensions", "ClusterExtension", false)],
  "/apis/olm.operatorframework.io/v1alpha1": [resource("extensionpermissions", "ExtensionPermissions", false)],
  "/apis/rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map((kind) =>
    resource(`${kind.toLowerCase()}s`, kind, !kind.startsWith("Cluster")),
  ),
  "/apis/apiextensions.k8s.io/v1": [resource("customresourcedefinitions", "CustomResourceDefinition", false)],
};

/** The identity of a caller: the name of the user, and the token of a session. */
export interface Caller {
  readonly user: string;
  readonly token?: string;
}

/** How the console is started. */
export interface ActionApiOptions {
  readonly readOnly?: boolean;
  readonly registry?: ReaderOptions;
}

/** A console with the routes of actions in front of an API server whose objects and answers the test decides. */
export class ActionApi implements AsyncDisposable {
  readonly objects = new Map<string, object>();
  /** Answers of writes by method and path without query; default: success. */
  readonly answers = new Map<string, Answer>();
  /** Whether a permission is denied. */
  isDenied: (attributes: { verb: string; resource: string }) => boolean = () => false;
  readonly logged: string[] = [];
  readonly #api: LoopbackApi;
  readonly #client: Client;
  readonly #identities = new Map<string, ClusterIdentity>();
  readonly #app: FastifyInstance;

  private constructor(api: LoopbackApi, options: ActionApiOptions) {
    this.#api = api;
    this.#client = Client.of(api.credentials());
    this.#app = fastify({ forceCloseConnections: true });
    this.#app.setValidatorCompiler(compileConsoleValidator);
    this.#app.setErrorHandler(async (err, _request, reply) => {
      const { status, problem } = toConsoleProblem(err);
      await reply.code(status).send(problem);
    });
    const log = createLogger({ component: "test", level: "info", destination: { write: (line) => void this.logged.push(line) } });
    const callers = {
      identify: (headers: Record<string, unknown>) => this.#identify(String(headers["x-user"]), String(headers["x-session"])),
    };
    const { readOnly = false, registry = {} } = options;
    const session = { readOnly, systemNamespace: "olmv1-system" };
    const context = { session, log, registry } as unknown as ConsoleContext;
    const routes = this.#app.withTypeProvider<ConsoleTypeProvider>();
    identifyCallers(routes, callers);
    registerActionRoutes(routes, context);
  }

  static async start(options: ActionApiOptions = {}): Promise<ActionApi> {
    let self: ActionApi | undefined;
    const api = await LoopbackApi.start((request) => self?.answer(request) ?? {});
    self = new ActionApi(api, options);
    return self;
  }

  /** The writes that the API server received, without reviews. */
  get writes(): readonly SeenRequest[] {
    return this.#api.requests.filter(({ method, url }) => method !== "GET" && !url.includes("/selfsubject"));
  }

  /** The writes without dry runs. */
  get sent(): readonly SeenRequest[] {
    return this.writes.filter(({ url }) => !url.includes("dryRun=All"));
  }

  async prepare(request: ActionRequest, caller: Caller = { user: "ann" }): Promise<PreparedAction> {
    const { status, body } = await this.post("/api/actions/prepare", request, caller);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body as PreparedAction;
  }

  async run(body: object, caller: Caller = { user: "ann" }): Promise<{ status: number; body: unknown }> {
    return this.post("/api/actions/run", { idempotencyKey: "key-of-the-page", ...body }, caller);
  }

  async post(url: string, payload: object, { user, token = "1" }: Caller = { user: "ann" }): Promise<{ status: number; body: unknown }> {
    const response = await this.#app.inject({ method: "POST", url, payload, headers: { "x-user": user, "x-session": token } });
    return { status: response.statusCode, body: response.json() };
  }

  async get(url: string): Promise<unknown> {
    return (await this.#app.inject({ method: "GET", url, headers: { "x-user": "ann", "x-session": "1" } })).json();
  }

  answer({ method, url, body, headers }: SeenRequest): Answer {
    const [path = ""] = url.split("?");
    if (path.endsWith("/selfsubjectreviews"))
      return { json: { status: { userInfo: { username: headers.authorization?.replace(/^Bearer (.*)-\d+$/, "$1") } } } };
    if (path.endsWith("/selfsubjectaccessreviews")) {
      const { spec } = JSON.parse(body) as { spec: { resourceAttributes: { verb: string; resource: string } } };
      return { json: { status: { allowed: !this.isDenied(spec.resourceAttributes) } } };
    }
    const resources = RESOURCES[path];
    if (resources) return { json: { resources } };
    const own = this.answers.get(`${method} ${path}`);
    if (own) return own;
    const object = this.objects.get(path);
    if (method !== "GET") return { json: object ?? { kind: "Object", metadata: {} } };
    if (object) return { json: object };
    if (path.endsWith("s") && !path.includes("clusterextensions/")) return { json: { kind: "List", items: [], metadata: {} } };
    return statusAnswer(404, "NotFound", "not found", { name: "x", kind: "x" });
  }

  #identify(user: string, token: string): ClusterIdentity {
    const key = `${user}-${token}`;
    const identity =
      this.#identities.get(key) ??
      new ClusterIdentity(
        this.#client.withToken(async () => key),
        createLogger({ component: "test", level: "silent" }),
      );
    this.#identities.set(key, identity);
    return identity;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#app.close();
    await this.#client.close();
    await this.#api[Symbol.asyncDispose]();
  }
}
