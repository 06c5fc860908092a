import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Credentials } from "./credentials.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "credentials-"));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function kubeconfig(user: object, cluster: object = {}): string {
  const path = join(folder, "kubeconfig");
  const content = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster: { server: "https://127.0.0.1:6443/", ...cluster } }],
    users: [{ name: "u", user }],
  };
  writeFileSync(path, JSON.stringify(content));
  return path;
}

/** Returns credentials from a kubeconfig that is read again on each reload. */
function credentialsIn(path: string, now: () => number): Credentials {
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromFile(path);
    return config;
  };
  return new Credentials(load, now);
}

test("credentials contain server, TLS material and headers of a kubeconfig", async () => {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const path = kubeconfig(
    { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY"), as: "jane" },
    { "certificate-authority-data": base64("CA"), "tls-server-name": "api.test" },
  );
  const { server, tls, headers } = await Credentials.fromKubeConfig(path).endpoint();
  expect(server).toBe("https://127.0.0.1:6443");
  expect(headers).toEqual({ "impersonate-user": "jane" });
  expect(Object.fromEntries(Object.entries(tls).map(([key, value]) => [key, String(value)]))).toEqual({
    ca: "CA",
    cert: "CERT",
    key: "KEY",
    servername: "api.test",
  });
});

test.for<[object, string]>([
  [{ token: "abc" }, "Bearer abc"],
  [{ username: "jane", password: "pw" }, `Basic ${Buffer.from("jane:pw").toString("base64")}`],
])("user %j authenticates with header %s", async ([user, want]) => {
  expect((await Credentials.fromKubeConfig(kubeconfig(user)).endpoint()).headers["authorization"]).toBe(want);
});

test("a user's tokenFile is read relative to the kubeconfig, and an inline token takes precedence", async () => {
  writeFileSync(join(folder, "token"), "from-file\n");
  const header = async (user: object): Promise<string | undefined> =>
    (await Credentials.fromKubeConfig(kubeconfig(user)).endpoint()).headers["authorization"];
  expect(await header({ tokenFile: "token" })).toBe("Bearer from-file");
  expect(await header({ tokenFile: join(folder, "token") })).toBe("Bearer from-file");
  expect(await header({ tokenFile: "token", token: "inline" })).toBe("Bearer inline");
});

test("a rotated token file is read again, but not for every request", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 0 });
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "first\n");
  const credentials = new Credentials(() => {
    const config = new KubeConfig();
    const authProvider = { name: "tokenFile", config: { tokenFile } };
    config.loadFromClusterAndUser({ name: "k", server: "https://127.0.0.1:1", skipTLSVerify: false }, { name: "u", authProvider });
    return config;
  });
  const token = async (): Promise<string | undefined> => (await credentials.endpoint()).headers["authorization"];
  expect(await token()).toBe("Bearer first");
  writeFileSync(tokenFile, "second\n");
  vi.setSystemTime(20_000);
  expect(await token()).toBe("Bearer first");
  vi.setSystemTime(100_000);
  expect(await token()).toBe("Bearer second");
});

test("an exec plug-in runs once while its credential is valid, and again after a 401", async () => {
  const plugin = join(folder, "plugin");
  writeFileSync(
    plugin,
    `#!/bin/sh\necho run >> ${folder}/runs\necho "{\\"kind\\":\\"ExecCredential\\",\\"status\\":{\\"token\\":\\"t$(wc -l < ${folder}/runs)\\"}}"\n`,
  );
  chmodSync(plugin, 0o755);
  const path = kubeconfig({ exec: { apiVersion: "client.authentication.k8s.io/v1", command: plugin } });
  let now = 0;
  const credentials = credentialsIn(path, () => now);
  await Promise.all([credentials.endpoint(), credentials.endpoint()]);
  now = 60_000;
  const first = await credentials.endpoint();
  expect(first.headers["authorization"]).toMatch(/^Bearer t\s*1$/);
  expect(credentials.refused(first)).toBe(true);
  expect(credentials.refused(first)).toBe(true);
  const second = await credentials.endpoint();
  expect(second.headers["authorization"]).toMatch(/^Bearer t\s*2$/);
  expect([credentials.refused(first), credentials.refused(second)]).toEqual([true, false]);
  expect(readFileSync(`${folder}/runs`, "utf8")).toBe("run\nrun\n");
});

test("credentials keep the loaded kubeconfig when it cannot be reloaded", async () => {
  const path = kubeconfig({ token: "abc" });
  let now = 0;
  const credentials = credentialsIn(path, () => now);
  const endpoint = await credentials.endpoint();
  rmSync(path);
  now = 10_000;
  expect(credentials.refused(endpoint)).toBe(false);
  expect((await credentials.endpoint()).headers["authorization"]).toBe("Bearer abc");
});

test("fromKubeConfig uses KUBECONFIG when no path is given, and reports a missing file", async () => {
  vi.stubEnv("KUBECONFIG", kubeconfig({ token: "env" }));
  expect((await Credentials.fromKubeConfig().endpoint()).headers["authorization"]).toBe("Bearer env");
  expect(() => Credentials.fromKubeConfig("/nonexistent/config")).toThrow("/nonexistent/config");
});

test("fromKubeConfig explains how to provide a kubeconfig when it finds none", () => {
  vi.stubEnv("KUBECONFIG", "");
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "");
  vi.stubEnv("HOME", folder);
  expect(() => Credentials.fromKubeConfig()).toThrow("kubeconfig not found: specify its path, set KUBECONFIG, or run in a Pod");
});

test("fromKubeConfig uses a given context instead of the current one, and reports a missing context", async () => {
  const path = kubeconfig({ token: "current" });
  const content = JSON.parse(readFileSync(path, "utf8")) as { contexts: object[]; users: object[] };
  content.contexts.push({ name: "other", context: { cluster: "k", user: "v" } });
  content.users.push({ name: "v", user: { token: "other" } });
  writeFileSync(path, JSON.stringify(content));
  const header = async (context?: string): Promise<string | undefined> =>
    (await Credentials.fromKubeConfig(path, context).endpoint()).headers["authorization"];
  expect([await header(), await header("other")]).toEqual(["Bearer current", "Bearer other"]);
  expect(() => Credentials.fromKubeConfig(path, "third")).toThrow(new Error('kubeconfig: context "third" does not exist'));
});

test("fromKubeConfig does not quote an invalid kubeconfig in the error, because a kubeconfig contains credentials", () => {
  const path = join(folder, "kubeconfig");
  writeFileSync(path, "users: [{name: u, user: {token: hidden}\ncontexts: [}");
  expect(() => Credentials.fromKubeConfig(path)).toThrow(/^kubeconfig: [^\n]*\([\d:]+\)$/);
  expect(() => Credentials.fromKubeConfig(path)).not.toThrow(/hidden/);
});

test.for<[string, object, string]>([
  [
    "no current context",
    { contexts: [{ name: "c", context: { cluster: "k" } }] },
    "current-context is not set: set it with kubectl config use-context",
  ],
  [
    "a current context whose cluster does not exist",
    { "current-context": "c", contexts: [{ name: "c", context: { cluster: "gone" } }] },
    'context "c" refers to cluster "gone", which does not exist',
  ],
  [
    "a server without TLS",
    {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k" } }],
      clusters: [{ name: "k", cluster: { server: "http://k:8080" } }],
    },
    'server http://k:8080 of cluster "k" of context "c" is not encrypted: use https, or set insecure-skip-tls-verify: true for this cluster',
  ],
])("Credentials reports a kubeconfig with %s", ([, members, problem]) => {
  const path = join(folder, "broken");
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "k", cluster: { server: "https://k" } }],
      users: [],
      ...members,
    }),
  );
  expect(() => Credentials.fromKubeConfig(path)).toThrow(`kubeconfig: ${problem}`);
});
