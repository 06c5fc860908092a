import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { generate } from "selfsigned";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type LoopbackRegistry, refuse, sendBlob } from "../../../test/support/loopbackRegistry.ts";
import { folder, insecureRegistry, loopbackRegistry, puller } from "../../../test/support/pulling.ts";
import { tarball } from "../../../test/support/tarball.ts";
import { RetryableError } from "../../errors/errors.ts";
import { getCertificateDir } from "./certificates.ts";
import { parseRetryAfter } from "./transport.ts";

const signal = new AbortController().signal;
const image = { layers: [tarball([{ name: "a", content: "1" }])] };
const PASSWORD = "s3cr3t-of-the-test";

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("expected a failure"),
    (err: Error) => err,
  );
}

function login(...hosts: string[]): Record<string, object> {
  return Object.fromEntries(hosts.map((host) => [host, { username: "user", password: PASSWORD }]));
}

/** Configures a registry to require a user name and password. */
function wantBasic(registry: LoopbackRegistry): void {
  registry.misbehave = (req, res) => {
    if (req.headers.authorization === `Basic ${btoa(`user:${PASSWORD}`)}`) return false;
    res.setHeader("www-authenticate", 'Basic realm="test"');
    return refuse(res, 401, "UNAUTHORIZED", "authentication required");
  };
}

describe("redirects", () => {
  /** A registry that requires a password and redirects blob requests. */
  async function split(to: (path: string) => string) {
    const registry = await loopbackRegistry();
    registry.addImage("ns/app", "v1", image);
    wantBasic(registry);
    const { misbehave } = registry;
    registry.misbehave = (req, res) => {
      if (misbehave(req, res)) return true;
      if (!req.url?.includes("/blobs/")) return false;
      res.writeHead(307, { location: to(req.url) }).end();
      return true;
    };
    const made = await puller({ conf: insecureRegistry(registry.host), auths: login(registry.host) });
    return { registry, tag: `${registry.host}/ns/app:v1`, ...made };
  }

  test("no credentials are sent after a redirect to another origin, even if that origin redirects back", async () => {
    const elsewhere = await loopbackRegistry();
    const { registry, puller: p, tag } = await split((path) => `${elsewhere.url}${path}?signature=x`);
    elsewhere.misbehave = (req, res) => {
      res.writeHead(302, { location: `${registry.url}/back${(req.url ?? "").replace("/v2/ns/app", "")}` }).end();
      return true;
    };
    const { misbehave } = registry;
    registry.misbehave = (req, res) => {
      const digest = /^\/back\/blobs\/(.*)\?/.exec(req.url ?? "")?.[1];
      if (!digest) return misbehave(req, res);
      sendBlob(req, res, registry.blob(digest));
      return true;
    };
    await p.pull("ext", tag, { signal });
    expect(elsewhere.requests).toHaveLength(2);
    expect(elsewhere.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
    const back = registry.requests.filter(({ path }) => path.startsWith("/back/"));
    expect(back.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
    expect(registry.requests.find(({ path }) => path.includes("/manifests/"))?.headers.authorization).toMatch(/^Basic /);
  });

  test("credentials are sent after a redirect within the same origin", async () => {
    const { registry, puller: p, tag } = await split((path) => path.replace("/v2/ns/app", "/moved"));
    const { misbehave } = registry;
    registry.misbehave = (req, res) => {
      const digest = /^\/moved\/blobs\/(.*)/.exec(req.url ?? "")?.[1];
      if (!digest) return misbehave(req, res);
      sendBlob(req, res, registry.blob(digest));
      return true;
    };
    await p.pull("ext", tag, { signal });
    const moved = registry.requests.filter(({ path }) => path.startsWith("/moved/"));
    expect(moved.map(({ headers }) => headers.authorization?.split(" ")[0])).toEqual(["Basic", "Basic"]);
  });

  test.for<[string, (path: string) => string, string]>([
    ["in a loop", (path) => path, "stopped after 5 redirects"],
    ["to a file", () => "file:///etc/passwd", "redirected to an invalid HTTP address"],
    ["to an invalid URL", () => "http://", "redirected to an invalid HTTP address"],
  ])("redirects %s end", async ([, to, message]) => {
    const { puller: p, tag } = await split(to);
    expect((await failure(p.pull("ext", tag, { signal }))).message).toContain(message);
  });

  test("the error does not contain response text from another origin", async () => {
    const elsewhere = await loopbackRegistry();
    elsewhere.misbehave = (_req, res) => {
      res.writeHead(404).end("words of an internal service");
      return true;
    };
    const { puller: p, tag } = await split(() => `${elsewhere.url}/x`);
    const { message } = await failure(p.pull("ext", tag, { signal }));
    expect(message).toContain("fetching blob: received unexpected HTTP status: 404 Not Found");
    expect(message).not.toContain("internal");
  });
});

describe("retries", () => {
  async function failing(status: number, times: number, headers: Record<string, string> = {}, limits = {}) {
    const registry = await loopbackRegistry();
    registry.addImage("ns/app", "v1", image);
    let left = times;
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/manifests/") || left-- <= 0) return false;
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
      return refuse(res, status, "TOOMANYREQUESTS", "slow down");
    };
    const { puller: p } = await puller({ conf: insecureRegistry(registry.host), limits });
    return { registry, pull: () => p.pull("ext", `${registry.host}/ns/app:v1`, { signal }) };
  }

  test.for([408, 429, 500, 502, 503, 504])("a request is retried after status %i", async (status) => {
    const { registry, pull } = await failing(status, 3);
    await pull();
    expect(registry.paths(/manifests/)).toHaveLength(4);
  });

  test.for([400, 401, 403, 404, 405, 410])("a request is not retried after status %i", async (status) => {
    const { registry, pull } = await failing(status, 1);
    await expect(pull()).rejects.toThrow("slow down");
    expect(registry.paths(/manifests/)).toHaveLength(1);
  });

  test("a retry waits for the time in Retry-After", async () => {
    const { pull } = await failing(429, 1, { "retry-after": "1" });
    const started = performance.now();
    await pull();
    expect(performance.now() - started).toBeGreaterThanOrEqual(1000);
  });

  test("a request fails immediately when Retry-After exceeds the limit", async () => {
    const { registry, pull } = await failing(429, 9, { "retry-after": "3600" });
    const err = await failure(pull());
    expect(err).toBeInstanceOf(RetryableError);
    expect(err.message).toMatch(/^error creating image source: reading manifest v1 in .*: toomanyrequests: slow down$/);
    expect(registry.paths(/manifests/)).toHaveLength(1);
  });

  test("retries end", async () => {
    const { registry, pull } = await failing(503, 99);
    expect((await failure(pull())).message).toMatch(/: received unexpected HTTP status: 503 Service Unavailable$/);
    expect(registry.paths(/manifests/)).toHaveLength(4);
  });

  test.for<[string | string[] | undefined, number | undefined]>([
    [undefined, undefined],
    ["0", 0],
    ["120", 120_000],
    [["7", "8"], 7000],
    ["Thu, 01 Jan 1970 00:01:00 GMT", 50_000],
    ["Thu, 01 Jan 1970 00:00:01 GMT", undefined],
    ["soon", undefined],
    ["-1", undefined],
  ])("Retry-After %o is parsed as %o ms", ([header, want]) => {
    expect(parseRetryAfter(header, 10_000)).toBe(want);
  });
});

describe("TLS", () => {
  let authority: { cert: string; private: string };
  let server: { cert: string; key: string };
  beforeAll(async () => {
    authority = await generate([{ name: "commonName", value: "test authority" }], {
      extensions: [{ name: "basicConstraints", cA: true, critical: true }],
    });
    const made = await generate([{ name: "commonName", value: "registry" }], {
      ca: { key: authority.private, cert: authority.cert },
      extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
    });
    server = { cert: made.cert, key: made.private };
  });

  async function secured() {
    const registry = await loopbackRegistry(server);
    registry.addImage("ns/app", "v1", image);
    return { registry, tag: `${registry.host}/ns/app:v1` };
  }

  test("a request fails when an unknown CA signed the registry's certificate", async () => {
    const { registry, tag } = await secured();
    const { puller: p } = await puller();
    const { message } = await failure(p.pull("ext", tag, { signal }));
    expect(message).toMatch(
      new RegExp(
        `^error creating image source: pinging container registry ${registry.host}: Get "https://${registry.host}/v2/": .*certificate`,
      ),
    );
    expect(registry.requests).toEqual([]);
  });

  test("a CA certificate that is added to the folder is trusted in the next pull", async () => {
    const { tag } = await secured();
    const casDir = await folder();
    const { puller: p } = await puller({ casDir });
    await writeFile(join(casDir, "ca.pem"), authority.cert);
    await expect(p.pull("ext", tag, { signal })).rejects.toThrow("certificate");
    await writeFile(join(casDir, "ca.crt"), authority.cert);
    await p.pull("ext", tag, { signal });
  });

  test("a registry marked insecure may have any certificate", async () => {
    const { registry, tag } = await secured();
    const { puller: p } = await puller({ conf: insecureRegistry(registry.host) });
    await p.pull("ext", tag, { signal });
  });

  test("a redirect to a link-local address fails the request", async () => {
    const { registry, tag } = await secured();
    const casDir = await folder();
    await writeFile(join(casDir, "ca.crt"), authority.cert);
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/blobs/")) return false;
      res.writeHead(302, { location: "https://[fe80::1]/x" }).end();
      return true;
    };
    const { puller: p } = await puller({ casDir });
    expect((await failure(p.pull("ext", tag, { signal }))).message).toContain("refused to connect to [fe80::1], a link-local address");
  });

  test("a redirect from https to plain http fails the request", async () => {
    const { registry, tag } = await secured();
    const casDir = await folder();
    await writeFile(join(casDir, "ca.crt"), authority.cert);
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/blobs/")) return false;
      res.writeHead(302, { location: "http://127.0.0.1:9/x" }).end();
      return true;
    };
    const { puller: p } = await puller({ casDir });
    expect((await failure(p.pull("ext", tag, { signal }))).message).toContain("refused a redirect from https to plain http at 127.0.0.1:9");
  });

  test.for([
    ["client.cert", "missing key client.key for client certificate client.cert. Note that CA certificates should use the extension .crt"],
    ["client.key", "missing client certificate client.cert for key client.key"],
  ] as const)("a pull fails when the certificate folder contains only %s", async ([name, message]) => {
    const casDir = await folder();
    await writeFile(join(casDir, name), "x");
    const { puller: p } = await puller({ casDir });
    expect((await failure(p.pull("ext", "r.local/a:1", { signal }))).message).toBe(`error creating image source: ${message}`);
  });
});

describe("a proxy", () => {
  test("requests use the proxy in the environment variables", async () => {
    const registry = await loopbackRegistry();
    registry.addImage("ns/app", "v1", image);
    const seen: string[] = [];
    const relay = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
      const response = await fetch(`${registry.url}${new URL(req.url ?? "").pathname}`);
      res
        .writeHead(response.status, { "content-type": response.headers.get("content-type") ?? "" })
        .end(Buffer.from(await response.arrayBuffer()));
    };
    const proxy = createServer((req, res) => {
      seen.push(`${req.method} ${req.url}`);
      void relay(req, res);
    });
    proxy.on("connect", (req, socket) => {
      seen.push(`CONNECT ${req.url}`);
      const upstream = connect(Number(new URL(registry.url).port), "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
      upstream.pipe(socket).pipe(upstream);
      for (const side of [upstream, socket]) side.on("error", () => upstream.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => proxy.close().closeAllConnections());
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const env = { HTTP_PROXY: address, HTTPS_PROXY: address, NO_PROXY: "other.test" };
    const { puller: p } = await puller({ conf: insecureRegistry("registry.test"), env });
    await p.pull("ext", "registry.test/ns/app:v1", { signal });
    expect(seen.slice(0, 3)).toEqual([
      "CONNECT registry.test:443",
      "GET http://registry.test/v2/",
      "GET http://registry.test/v2/ns/app/manifests/v1",
    ]);
  });

  // Source: I-29 (53).
  test("the error reports a proxy that cannot be reached as the cause", async () => {
    const { puller: p } = await puller({ env: { HTTPS_PROXY: "http://127.0.0.1:1" } });
    const err = await failure(p.pull("ext", "registry.test/ns/app:v1", { signal }));
    expect(err.message).toContain('Get "https://registry.test/v2/": proxyconnect tcp: connect ECONNREFUSED 127.0.0.1:1');
  });
});

describe("per-host folders", () => {
  test("certificates in certs.d of the home folder are found by host and port", async () => {
    const home = await folder();
    await mkdir(join(home, ".config/containers/certs.d/r.local:5000"), { recursive: true });
    expect(getCertificateDir(undefined, "r.local:5000", home)).toBe(join(home, ".config/containers/certs.d/r.local:5000"));
    expect(getCertificateDir(undefined, "r.local", home)).toBeUndefined();
    expect(getCertificateDir("/given", "r.local", home)).toBe("/given");
  });
});
