import { execFileSync } from "node:child_process";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GROUP } from "../../pkg/api/constants.ts";
import { getCookieName } from "../../pkg/console/session/cookieCallers.ts";
import { TOKEN_HEADER } from "../../pkg/consoleapi/session.ts";
import { parseYaml } from "../../pkg/golang/yaml.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { readProcessUse } from "../bench/processUse.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { ProgramProcess } from "../support/programProcess.ts";
import { serverCertificate } from "../support/serverCertificate.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { TcpForwarder } from "../support/tcpForwarder.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { findMessage, readStream, type TestStreamMessage } from "../support/testConsole.ts";

const READ_EXTENSIONS = [{ apiGroups: [GROUP], resources: ["clusterextensions", "clustercatalogs"], verbs: ["get", "list", "watch"] }];
const MIB = 1024 * 1024;
const STREAMS = 10_000;
/** Refused connections to the API server until it comes back: the console tries about four times a second. */
const REFUSALS = 230;

describeWithCluster("the console", (cluster) => {
  const folder = new TempFolder();
  const stop = new AbortController();
  beforeAll(() => cluster.installCrds());
  afterAll(() => {
    stop.abort();
    folder[Symbol.dispose]();
  });
  const isState =
    (state: string) =>
    ({ update }: TestStreamMessage): boolean =>
      update.watches.extensions.state === state;
  const hasExtension =
    (name: string) =>
    ({ update }: TestStreamMessage): boolean =>
      update.extensions.changed.some((row) => row.name === name);

  /** Creates an extension that no controller reconciles. */
  const createOne = async (): Promise<string> => {
    const { metadata } = await cluster.client.create(createExtension(cluster.name("console"), { packageName: "p" }));
    return metadata.name;
  };

  describe("in a cluster", () => {
    let program: ProgramProcess;
    let url: string;
    let probes: string;
    let namespace: string;
    beforeAll(async () => {
      namespace = await cluster.namespace("console");
      await cluster.client.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "stranger", namespace } });
      await serviceAccount(cluster.client, namespace, "viewer", READ_EXTENSIONS);
      const ca = (await Credentials.fromKubeConfig(cluster.kubeconfig).endpoint()).tls.ca ?? "";
      const { cert, key } = await serverCertificate("127.0.0.1");
      const files = folder.write("console", { "ca.crt": ca, "tls.crt": cert, "tls.key": key });
      program = new ProgramProcess([
        join(cluster.programs, "console.js"),
        "--bind-address=127.0.0.1:0",
        "--health-probe-bind-address=127.0.0.1:0",
        `--api-server=${cluster.server}`,
        `--api-server-ca-file=${join(files, "ca.crt")}`,
        `--cache-dir=${join(folder.path, "cache")}`,
        "--shutdown-delay=0s",
        "--log-level=debug",
      ]);
      const [, port = "", probe = ""] = await program.find(/"port":(\d+)\}.*"probes":"([^"]+)"/);
      url = `http://127.0.0.1:${port}`;
      probes = probe;
    });
    afterAll(() => program[Symbol.asyncDispose]());
    const tokenOf = (name: string): Promise<string> => new ServiceAccountTokens(cluster.client).tokenFor(namespace, name)();
    const headersOf = (token: string) => ({ authorization: `Bearer ${token}`, [TOKEN_HEADER]: "none" });

    test("users see what their own permissions allow, and the console acts only with their tokens", async () => {
      const name = await createOne();
      const [viewer, stranger] = [await tokenOf("viewer"), await tokenOf("stranger")];
      const seen = await findMessage(readStream(url, headersOf(viewer), stop.signal), hasExtension(name));
      expect(seen.update.watches.extensions.state).toBe("current");
      const denied = await findMessage(readStream(url, headersOf(stranger), stop.signal), isState("forbidden"));
      expect(denied.update.extensions.changed).toEqual([]);
      for (const [token, user] of [
        [viewer, "viewer"],
        [stranger, "stranger"],
      ] as const) {
        const session = await fetch(`${url}/api/session`, { headers: headersOf(token) });
        expect(await session.json()).toMatchObject({
          user: `system:serviceaccount:${namespace}:${user}`,
          mode: "cluster",
          readOnly: true,
          server: cluster.server,
        });
      }
      const users = (await cluster.auditEvents()).filter(({ userAgent }) => userAgent === "olmv1-console").map(({ user }) => user.username);
      expect([...new Set(users)].toSorted()).toEqual(["stranger", "viewer"].map((user) => `system:serviceaccount:${namespace}:${user}`));
    });

    test("the console rejects changes unless they are allowed, and before it asks the API server", async () => {
      const name = await createOne();
      const headers = { ...headersOf(await tokenOf("viewer")), "content-type": "application/json" };
      const body = JSON.stringify({ action: "suspend", extension: name });
      const prepared = await fetch(`${url}/api/actions/prepare`, { method: "POST", headers, body });
      expect([prepared.status, await prepared.json()]).toMatchObject([200, { rejected: expect.stringContaining("read-only") as string }]);
    });

    test("an invalid token gets 401, and no token is in the log", async () => {
      const token = "not-a-token-of-this-cluster";
      for (const path of ["/api/session", "/api/events"]) expect((await fetch(url + path, { headers: headersOf(token) })).status).toBe(401);
      const tokens = [token, await tokenOf("viewer"), await tokenOf("stranger")];
      for (const one of tokens) expect(program.output).not.toContain(one);
      expect(program.output).not.toMatch(/eyJ[\w-]{20}/);
    });

    test("the console reports its health and metrics, and ends its streams when it stops", async () => {
      const stream = readStream(url, headersOf(await tokenOf("viewer")), stop.signal);
      await stream.next();
      expect(await (await fetch(`${probes}/readyz`)).text()).toBe("ok");
      const metrics = await (await fetch(`${probes}/metrics`)).text();
      expect(Number(/^console_event_streams (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
      expect(metrics).toMatch(/^rest_client_requests_total\{/m);
      const ended = expect(findMessage(stream, () => false)).rejects.toThrow("the event stream ended");
      expect(await program.stop()).toBe(0);
      await ended;
      expect(program.output).toContain('"msg":"stopped"');
    });
  });

  /** Starts `olmv1 ui` and logs in. Returns the headers of requests of its pages. */
  const startUi = async (kubeconfig: string) => {
    const args = ["ui", "--no-open", "--kubeconfig", kubeconfig];
    const program = new ProgramProcess([join(cluster.programs, "olmv1.js"), ...args]);
    const [, url = "", token = ""] = await program.find(/^Console: (http:\/\/[^/]+)\/login#(\S+)$/m);
    const response = await fetch(`${url}/api/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
    expect(cookie).toContain(getCookieName(new URL(url).host));
    return { program, url, headers: { cookie, [TOKEN_HEADER]: ((await response.json()) as { token: string }).token } };
  };

  /** Writes the administrator's kubeconfig with other members of its cluster and user. */
  const writeKubeconfig = async (name: string, change: { cluster?: object; user?: object }): Promise<string> => {
    const config = parseYaml(await readFile(cluster.kubeconfig, "utf8")) as { clusters: [{ cluster: object }]; users: [{ user: object }] };
    Object.assign(config.clusters[0].cluster, change.cluster);
    if (change.user) config.users[0].user = change.user;
    const file = join(folder.path, name);
    await writeFile(file, JSON.stringify(config));
    return file;
  };

  test("olmv1 ui shows the problem when the exec plug-in of the kubeconfig fails, and recovers when it works again", async () => {
    const namespace = await cluster.namespace("console-exec");
    await serviceAccount(cluster.client, namespace, "viewer", READ_EXTENSIONS);
    const plugin = join(folder.path, "plugin.sh");
    const install = async (script: string): Promise<void> => {
      await writeFile(plugin, `#!/bin/sh\n${script}\n`);
      await chmod(plugin, 0o700);
    };
    await install("echo 'the session of the identity provider expired' >&2; exit 1");
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin, interactiveMode: "Never" };
    const kubeconfig = await writeKubeconfig("exec.json", { user: { exec } });
    const { program, url, headers } = await startUi(kubeconfig);
    await using _ = program;
    const session = await fetch(`${url}/api/session`, { headers });
    expect([session.status, await session.json()]).toMatchObject([200, { mode: "laptop" }]);
    const stream = readStream(url, headers, stop.signal);
    const failed = await nextMessage(stream, isState("disconnected"));
    expect(failed.update.watches.extensions.message).toContain("get credentials for the API server");
    const token = await new ServiceAccountTokens(cluster.client).tokenFor(namespace, "viewer")();
    const credential = { apiVersion: exec.apiVersion, kind: "ExecCredential", status: { token } };
    await install(`cat <<'EOF'\n${JSON.stringify(credential)}\nEOF`);
    const name = await createOne();
    await nextMessage(stream, hasExtension(name));
    expect(program.child.exitCode).toBeNull();
    expect(program.output).not.toContain(token);
  });

  test("olmv1 ui shows the last state when the API server goes away for a minute, and the current state afterwards", async () => {
    await using forwarder = await TcpForwarder.start(cluster.server);
    const { program, url, headers } = await startUi(await writeKubeconfig("forwarded.json", { cluster: { server: forwarder.url } }));
    await using _ = program;
    const before = await createOne();
    const stream = readStream(url, headers, stop.signal);
    await nextMessage(stream, hasExtension(before));
    forwarder.interrupt();
    const away = await nextMessage(stream, isState("disconnected"));
    expect(away.update).toMatchObject({ isReset: false, extensions: { removed: [] } });
    const during = await createOne();
    const late = await findMessage(readStream(url, headers, stop.signal), () => true);
    expect([late.update.watches.extensions.state, hasExtension(before)(late), hasExtension(during)(late)]).toEqual([
      "disconnected",
      true,
      false,
    ]);
    for (const path of ["/", "/api/session"]) expect((await fetch(url + path, { headers })).status).toBe(200);
    await eventually(() => expect(forwarder.rejected).toBeGreaterThan(REFUSALS), { timeoutMs: 240_000 });
    forwarder.resume();
    const states: string[] = [];
    await nextMessage(stream, (message) => {
      states.push(message.update.watches.extensions.state);
      return hasExtension(during)(message) || message.update.extensions.changed.some(({ name }) => name === during);
    });
    if (states.at(-1) !== "current") await nextMessage(stream, isState("current"));
    expect(program.child.exitCode).toBeNull();
  });

  const openFiles = readOpenFileLimit();
  test.skipIf(openFiles < STREAMS + 1_000)(`olmv1 ui delivers a change to ${STREAMS} clients of its event stream`, async () => {
    const { program, url, headers } = await startUi(cluster.kubeconfig);
    await using _ = program;
    const readMemory = async (): Promise<number> => (await readProcessUse(program.child.pid)).rssBytes;
    const before = await readMemory();
    const name = cluster.name("console-marker");
    await using clients = new ProgramProcess([
      join(import.meta.dirname, "../support/streamClients.ts"),
      url,
      String(STREAMS),
      name,
      JSON.stringify(headers),
    ]);
    const opening = performance.now();
    await eventually(() => expect(clients.output).toContain(`open ${STREAMS}`), { timeoutMs: 240_000 });
    const openMs = performance.now() - opening;
    const open = await readMemory();
    const started = Date.now();
    await cluster.client.create(createExtension(name, { packageName: "p" }));
    const [, first, last] = await clients.find(/^seen (\d+) (\d+)$/m);
    console.log(
      `${STREAMS} event streams: opened in ${(openMs / 1_000).toFixed(1)} s; memory ${(before / MIB).toFixed(0)} MiB, with streams ${(open / MIB).toFixed(0)} MiB; ` +
        `change delivered to the first client after ${Number(first) - started} ms, to the last after ${Number(last) - started} ms`,
    );
    expect((open - before) / STREAMS).toBeLessThan(64 * 1024);
    expect((await fetch(`${url}/api/session`, { headers })).status).toBe(200);
  });
  if (openFiles < STREAMS + 1_000)
    console.warn(`NOT RUN: ${STREAMS} event streams need ${STREAMS + 1_000} open files; the limit is ${openFiles}`);
});

/** Returns the largest number of open files that a process may allow itself. */
function readOpenFileLimit(): number {
  const text = execFileSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }).trim();
  return text === "unlimited" ? Number.POSITIVE_INFINITY : Number(text);
}

/** Reads a stream, without ending it, up to a message. */
async function nextMessage(
  stream: AsyncGenerator<TestStreamMessage>,
  matches: (message: TestStreamMessage) => boolean,
): Promise<TestStreamMessage> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done) throw new Error("the event stream ended");
    if (matches(value)) return value;
  }
}
