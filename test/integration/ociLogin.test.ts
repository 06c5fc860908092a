import { createSign, randomUUID, X509Certificate } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "selfsigned";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBinaries } from "../../pkg/devcluster/binaries.ts";
import { Component } from "../../pkg/devcluster/component.ts";
import { renderRegistryConfig } from "../../pkg/devcluster/flags.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { clusterAvailable } from "../support/cluster.ts";
import { insecureRegistry, puller } from "../support/pulling.ts";

const PASSWORD = "s3cr3t-of-the-test";
/** bcrypt of the password */
const HTPASSWD = "user:$2a$04$VE.04pjpQXAGHKw4Yo5KiOsaleqlCdYJ1sZCHh4iW3KcqahwnTFxi\n";
const BASIC = `Basic ${btoa(`user:${PASSWORD}`)}`;
const signal = new AbortController().signal;
const files = new Map([["a", Buffer.from("1")]]);
const right = { username: "user", password: PASSWORD };
const wrong = { username: "user", password: "guess" };

/** Runs the real registry with an `auth` section, and creates a credentials file for it. */
async function startRegistry(dir: string, auth: string): Promise<{ host: string; authFile: string; component: Component }> {
  const binaries = await findBinaries(() => undefined);
  const [port = 0] = await findFreePorts(1);
  const host = `127.0.0.1:${port}`;
  await mkdir(join(dir, "registry"), { recursive: true });
  await writeFile(join(dir, "config.yaml"), `${renderRegistryConfig({ dataDir: dir, ports: { registry: port } })}auth:\n${auth}`);
  const component = Component.start({
    name: "registry",
    binary: binaries.registry,
    args: ["serve", join(dir, "config.yaml")],
    logFile: join(dir, "registry.log"),
    ready: async (deadline) => {
      const { statusCode, body } = await request(`http://${host}/v2/`, { signal: deadline });
      await body.dump();
      return statusCode === 401;
    },
  });
  await component.ready(30_000);
  const authFile = join(dir, "auth.json");
  await writeFile(authFile, JSON.stringify({ auths: { [host]: right } }));
  return { host, authFile, component };
}

describe.skipIf(!clusterAvailable())("a real registry with required login", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "olmv1-login-"));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  describe("with user name and password", () => {
    let registry: Awaited<ReturnType<typeof startRegistry>>;
    beforeAll(async () => {
      await writeFile(join(dir, "htpasswd"), HTPASSWD);
      registry = await startRegistry(dir, `  htpasswd: {realm: test, path: ${JSON.stringify(join(dir, "htpasswd"))}}\n`);
      const { host, authFile } = registry;
      await pushImage({ host, authFile, insecure: true }, "ns/app", "v1", { files });
    });
    afterAll(() => registry.component.stop());

    const pull = async (entry: object | undefined): Promise<unknown> => {
      const { host } = registry;
      const { puller: p } = await puller({ conf: insecureRegistry(host), auths: entry ? { [host]: entry } : {} });
      return p.pull("ext", `${host}/ns/app:v1`, { signal });
    };

    test("a registry with basic authentication accepts the correct credentials", async () => {
      await pull(right);
      await pull({ auth: btoa(`user:${PASSWORD}`) });
    });

    test("a registry with basic authentication rejects a push without credentials", async () => {
      const target = { host: registry.host, insecure: true };
      await expect(pushImage(target, "ns/app", "v2", { files })).rejects.toThrow("authentication required");
      await expect(pushImage(target, "NS/App", "v2", { files })).rejects.toThrow("repository name must be lowercase");
    });

    test.for([
      ["incorrect credentials", wrong],
      ["no credentials", undefined],
    ] as const)("a registry with basic authentication rejects a pull with %s", async ([, entry]) => {
      await expect(pull(entry)).rejects.toThrow(
        `error creating image source: reading manifest v1 in ${registry.host}/ns/app: authentication required`,
      );
    });
  });

  describe("with token", () => {
    let registry: Awaited<ReturnType<typeof startRegistry>>;
    let service: Server;
    const scopes: string[] = [];
    beforeAll(async () => {
      const signer = await generate([{ name: "commonName", value: "token signer" }]);
      await writeFile(join(dir, "signer.pem"), signer.cert);
      const x5c = [new X509Certificate(signer.cert).raw.toString("base64")];
      service = createServer((req, res) => {
        const url = new URL(req.url ?? "", "http://token");
        if (req.headers.authorization !== undefined && req.headers.authorization !== BASIC) {
          res.writeHead(401).end();
          return;
        }
        const requestedScopes = url.searchParams.getAll("scope");
        scopes.push(...requestedScopes);
        // Anonymous clients may pull from public repositories; only the user may push, or pull from other repositories.
        const access = requestedScopes.map((scope) => {
          const [type, name, actions = ""] = scope.split(":");
          const granted = req.headers.authorization ? actions.split(",") : name?.startsWith("public/") ? ["pull"] : [];
          return { type, name, actions: granted };
        });
        const now = Math.floor(Date.now() / 1000);
        const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
        const claims = {
          iss: "test",
          sub: "",
          aud: url.searchParams.get("service"),
          exp: now + 300,
          nbf: now - 10,
          iat: now,
          jti: randomUUID(),
          access,
        };
        const signed = `${part({ typ: "JWT", alg: "RS256", x5c })}.${part(claims)}`;
        const signature = createSign("RSA-SHA256").update(signed).sign(signer.private, "base64url");
        res.end(JSON.stringify({ token: `${signed}.${signature}`, expires_in: 300 }));
      });
      await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
      const realm = `http://127.0.0.1:${(service.address() as AddressInfo).port}/token`;
      const auth = `  token: {realm: ${JSON.stringify(realm)}, service: registry, issuer: test, rootcertbundle: ${JSON.stringify(join(dir, "signer.pem"))}}\n`;
      registry = await startRegistry(dir, auth);
      const { host, authFile } = registry;
      for (const repository of ["public/app", "private/app"])
        await pushImage({ host, authFile, insecure: true }, repository, "v1", { files });
    });
    afterAll(async () => {
      await registry.component.stop();
      service.closeAllConnections();
      service.close();
    });

    const pull = async (repository: string, entry: object | undefined): Promise<unknown> => {
      const { host } = registry;
      const { puller: p } = await puller({ conf: insecureRegistry(host), auths: entry ? { [host]: entry } : {} });
      return p.pull("ext", `${host}/${repository}:v1`, { signal });
    };

    test("a registry with token authentication serves public images to anonymous clients", () => pull("public/app", undefined));
    test("a registry with token authentication serves private images to the user", () => pull("private/app", right));

    test("a registry with token authentication rejects other credentials", async () => {
      await expect(pull("private/app", undefined)).rejects.toThrow(
        `reading manifest v1 in ${registry.host}/private/app: authentication required`,
      );
      await expect(pull("private/app", wrong)).rejects.toThrow(
        "unable to retrieve auth token: invalid username/password: authentication required",
      );
    });

    test("a registry client requests only the token scopes that it needs", () => {
      expect(new Set(scopes)).toEqual(
        new Set([
          "repository:public/app:pull,push",
          "repository:private/app:pull,push",
          "repository:public/app:pull",
          "repository:private/app:pull",
        ]),
      );
    });
  });
});
