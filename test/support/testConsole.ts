import type { ServerResponse } from "node:http";
import { API_VERSION, GROUP } from "../../pkg/api/constants.ts";
import { ClusterIdentity } from "../../pkg/console/cluster/clusterIdentity.ts";
import { TokenIdentities, type TokenIdentityLimits } from "../../pkg/console/cluster/tokenIdentities.ts";
import { LoginSessions } from "../../pkg/console/http/loginSessions.ts";
import { listLoopbackHosts } from "../../pkg/console/http/requestGuards.ts";
import { type ConsoleServer, startConsoleServer } from "../../pkg/console/server/consoleServer.ts";
import { BearerCallers } from "../../pkg/console/session/bearerCallers.ts";
import { CookieCallers, getCookieName } from "../../pkg/console/session/cookieCallers.ts";
import { TOKEN_HEADER } from "../../pkg/consoleapi/session.ts";
import { Client } from "../../pkg/kube/client.ts";
import type { Credentials } from "../../pkg/kube/credentials.ts";
import { CatalogConnections } from "../../pkg/operatorcontroller/catalogs/catalogConnections.ts";
import { StaticAssets } from "../../pkg/serving/staticAssets.ts";
import { ServiceProxyRequests, ServiceRequests } from "../../pkg/sources/catalogdRequests.ts";
import { KeptCatalogs } from "../../pkg/sources/keptCatalogs.ts";
import { ServedCatalogs } from "../../pkg/sources/servedCatalogs.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { type Answer, type SeenRequest, statusAnswer } from "./loopbackApi.ts";
import { type RawAnswer, RawConnection } from "./rawConnection.ts";
import { TempFolder } from "./tempFolder.ts";

/** How a test console is started. */
export interface TestConsoleOptions {
  readonly credentials: Credentials;
  /** `laptop`: logs in with links. `cluster`: callers send tokens. */
  readonly mode: "laptop" | "cluster";
  readonly hosts?: ReadonlySet<string>;
  readonly limits?: Partial<TokenIdentityLimits>;
  /** Folder with CA certificates for catalogd. */
  readonly catalogdCas?: string;
  /** Clock of the sessions in milliseconds. */
  readonly now?: () => number;
}

/** A console server in this process, with two small files as its pages. */
export class TestConsole implements AsyncDisposable {
  readonly sessions: LoginSessions;
  /** Lines of the log. */
  readonly logs: string[];
  readonly server: ConsoleServer;
  readonly identities: TokenIdentities | undefined;
  readonly #client: Client;
  readonly #folder: TempFolder;

  private constructor(parts: Pick<TestConsole, "sessions" | "logs" | "server" | "identities">, client: Client, folder: TempFolder) {
    this.sessions = parts.sessions;
    this.logs = parts.logs;
    this.server = parts.server;
    this.identities = parts.identities;
    this.#client = client;
    this.#folder = folder;
  }

  static async start({ credentials, mode, hosts, limits, now, catalogdCas }: TestConsoleOptions): Promise<TestConsole> {
    const folder = new TempFolder();
    const pages = folder.write("pages", {
      "index.html": '<title>console</title><script src="./assets/index-12345678.js"></script>',
      "assets/index-12345678.js": "console.log(1)",
      "favicon.svg": "<svg/>",
    });
    folder.write("", { "secret.txt": "outside" });
    const logs: string[] = [];
    const log = createLogger({ component: "test", level: "debug", destination: { write: (line) => logs.push(line) } });
    const client = Client.of(credentials);
    const sessions = new LoginSessions(now);
    const identities = mode === "cluster" ? new TokenIdentities(client, log, limits) : undefined;
    const direct = new CatalogConnections({ caDir: catalogdCas });
    const requests = mode === "laptop" ? new ServiceProxyRequests(client, direct, credentials.server) : new ServiceRequests(direct);
    const served = new ServedCatalogs({ requests, cluster: credentials.server });
    const server = await startConsoleServer(
      { host: "127.0.0.1", port: 0 },
      {
        context: {
          callers: identities ? new BearerCallers(identities) : new CookieCallers(sessions, new ClusterIdentity(client, log)),
          catalogs: new KeptCatalogs({ cacheFolder: undefined, served }),
          served,
          registry: {},
          session: { mode, server: credentials.server, readOnly: false, systemNamespace: "olmv1-system", version: "0" },
          log,
        },
        assets: new StaticAssets(pages),
        hostPolicy: (port) => ({ hosts: hosts ?? (mode === "laptop" ? listLoopbackHosts(port) : undefined) }),
        graceMs: 100,
      },
    );
    return new TestConsole({ sessions, logs, server, identities }, client, folder);
  }

  get port(): number {
    return this.server.address.port;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** Logs in with a new link. Returns the headers of requests of the page. */
  async logIn(): Promise<Record<string, string>> {
    const response = await fetch(`${this.url}/api/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token: this.sessions.createLogin() }),
    });
    const [cookie = ""] = response.headers.get("set-cookie")?.split(";") ?? [];
    if (!cookie.startsWith(`${getCookieName(this.host)}=`)) throw new Error(`login failed: ${response.status}`);
    return { cookie, [TOKEN_HEADER]: ((await response.json()) as { token: string }).token };
  }

  /** Sends a request as its bytes, and returns the response. @param head request line and headers, one per line; `Host` is added unless present */
  async send(head: string, body = ""): Promise<RawAnswer> {
    const connection = await RawConnection.open(this.port);
    try {
      const lines = head.split("\n");
      if (!/^host:/im.test(head)) lines.push(`Host: ${this.host}`);
      if (body !== "" && !/^(content-length|transfer-encoding):/im.test(head)) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
      connection.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
      const [answer] = await connection.answered();
      if (!answer) throw new Error("no response");
      return answer;
    } finally {
      connection.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.#client.close();
    this.#folder[Symbol.dispose]();
  }
}

/** One message of an event stream. */
export interface TestStreamMessage {
  readonly id: string;
  readonly update: {
    readonly isReset: boolean;
    readonly extensions: { readonly changed: readonly { readonly name: string }[]; readonly removed: readonly string[] };
    readonly watches: { readonly extensions: { readonly state: string; readonly message?: string } };
  };
}

/** Yields the messages of an event stream until it ends. @throws Error with the status of a rejected stream */
export async function* readStream(url: string, headers: Record<string, string>, signal: AbortSignal): AsyncGenerator<TestStreamMessage> {
  const response = await fetch(`${url}/api/events`, { headers, signal });
  if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
  let rest = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, id, data] = /^id: (.*)\ndata: (.*)$/m.exec(block) ?? [];
      if (id !== undefined && data !== undefined) yield { id, update: JSON.parse(data) as TestStreamMessage["update"] };
    }
  }
}

/** Returns the first message that `matches` accepts. @throws Error if the stream ends before */
export async function findMessage(
  stream: AsyncIterable<TestStreamMessage>,
  matches: (message: TestStreamMessage) => boolean,
): Promise<TestStreamMessage> {
  for await (const message of stream) if (matches(message)) return message;
  throw new Error("the event stream ended");
}

/** The part of an API server that the console needs, with users by their tokens. */
export class OlmApi {
  /** Users whose tokens are valid. */
  readonly users = new Map<string, { name: string; mayList: boolean }>();
  /** Names of the ClusterExtensions. */
  readonly extensions: string[] = [];
  readonly #watches = new Set<ServerResponse>();
  readonly #catalogWatches = new Set<ServerResponse>();
  #version = 1;

  /** Adds an extension and reports it to all watches. */
  add(name: string, annotations: Record<string, string> = {}): void {
    this.extensions.push(name);
    const event = { type: "ADDED", object: createExtension(name, String(++this.#version), annotations) };
    for (const response of this.#watches) response.write(`${JSON.stringify(event)}\n`);
  }

  /** Changes an extension and reports it to all watches. */
  touch(name: string, annotations: Record<string, string> = {}): void {
    const event = { type: "MODIFIED", object: createExtension(name, String(++this.#version), annotations) };
    for (const response of this.#watches) response.write(`${JSON.stringify(event)}\n`);
  }

  /** Ends all watches, as an API server does regularly. */
  endWatches(): void {
    for (const response of [...this.#watches, ...this.#catalogWatches]) response.end();
  }

  readonly answer = ({ method, url, headers, body }: SeenRequest): Answer => {
    const token = /^Bearer (.*)$/.exec(headers.authorization ?? "")?.[1];
    const user = token === undefined ? { name: "kubernetes-admin", mayList: true } : this.users.get(token);
    if (!user) return statusAnswer(401, "Unauthorized", "Unauthorized");
    const path = url.split("?")[0] ?? "";
    if (path.endsWith("/selfsubjectreviews")) return { status: 201, json: { status: { userInfo: { username: user.name } } } };
    if (path.endsWith("/selfsubjectaccessreviews")) return { status: 201, json: { status: { allowed: user.mayList } } };
    if (path === "/version") return { json: { gitVersion: "v1.36.0" } };
    if (path === `/apis/${API_VERSION}`) return { json: { resources: RESOURCES } };
    if (path.endsWith("/log")) return (response) => void response.writeHead(200, { "content-type": "text/plain" }).write("started\n");
    const resource = path.split("/").at(-1);
    if (method !== "GET" || !path.startsWith(`/apis/${API_VERSION}/`)) return statusAnswer(404, "NotFound", `not found: ${body.length}`);
    if (!user.mayList) return statusAnswer(403, "Forbidden", `${resource}.${GROUP} is forbidden: User "${user.name}" cannot list`);
    if (url.includes("watch=")) {
      return (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.flushHeaders();
        const watches = resource === "clusterextensions" ? this.#watches : this.#catalogWatches;
        watches.add(response);
        response.once("close", () => watches.delete(response));
      };
    }
    const items = resource === "clusterextensions" ? this.extensions.map((name) => createExtension(name, String(this.#version))) : [];
    return { json: { kind: "List", metadata: { resourceVersion: String(this.#version) }, items } };
  };

  /** Number of open watches of ClusterExtensions. */
  get watchCount(): number {
    return this.#watches.size;
  }
}

const VERBS = ["get", "list", "watch", "create", "patch", "delete"];
const RESOURCES = [
  { name: "clusterextensions", kind: "ClusterExtension", namespaced: false, verbs: VERBS },
  { name: "clustercatalogs", kind: "ClusterCatalog", namespaced: false, verbs: VERBS },
];

function createExtension(name: string, resourceVersion: string, annotations: Record<string, string> = {}): object {
  return {
    apiVersion: API_VERSION,
    kind: "ClusterExtension",
    metadata: { name, uid: `uid-${name}`, resourceVersion, annotations },
    spec: { namespace: "default", source: { sourceType: "Catalog", catalog: { packageName: name } } },
  };
}
