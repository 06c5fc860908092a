import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { refuse } from "../../../test/support/loopbackRegistry.ts";
import { folder, loopbackRegistry } from "../../../test/support/pulling.ts";
import { serverCertificate } from "../../../test/support/serverCertificate.ts";
import { repository, signal } from "../../../test/support/stores.ts";
import { computeDigest } from "../digest.ts";
import type { BlobBytes } from "./imageStore.ts";

const LARGE = randomBytes(3 * 1024 * 1024);
const SMALL = Buffer.from("small");

function blobOf(bytes: Buffer): { blob: { mediaType: string; digest: string; size: number }; open: BlobBytes } {
  return {
    blob: { mediaType: "application/octet-stream", digest: computeDigest(bytes), size: bytes.byteLength },
    // oxlint-disable-next-line require-await -- bytes as sent by a registry
    open: async function* (offset) {
      for (let at = offset; at < bytes.byteLength; at += 16_384) yield bytes.subarray(at, at + 16_384);
    },
  };
}

// OCI distribution specification, "Push".
describe("a blob", () => {
  test.for([
    ["a small one in one request", SMALL, ["HEAD", "POST", "PUT"]],
    ["a large one as a stream", LARGE, ["HEAD", "POST", "PATCH", "PUT"]],
  ] as const)("%s", async ([, bytes, methods]) => {
    const registry = await loopbackRegistry();
    const { blob, open } = blobOf(bytes);
    const to = await repository(`${registry.host}/app`);
    expect(await to.putBlob(blob, open, { signal })).toBe("sent");
    expect(registry.blob(blob.digest).equals(bytes)).toBe(true);
    expect(registry.requests.slice(1).map(({ method }) => method)).toEqual(
      ["GET", ...methods].slice(registry.requests[0]?.path === "/v2/" ? 1 : 0),
    );
    expect(await to.putBlob(blob, open, { signal })).toBe("present");
  });

  test("a blob that exists in another repository of the registry is mounted instead of sent", async () => {
    const registry = await loopbackRegistry();
    registry.misbehave = (req, res) => {
      if (req.method !== "POST" || !req.url?.includes("mount=")) return false;
      res.writeHead(201).end();
      return true;
    };
    const { blob, open } = blobOf(LARGE);
    expect(await (await repository(`${registry.host}/app`)).putBlob(blob, open, { mountFrom: ["other"], signal })).toBe("mounted");
    expect(registry.paths(/mount/)).toEqual([`/v2/app/blobs/uploads/?mount=${encodeURIComponent(blob.digest)}&from=other`]);
  });

  test("a blob is sent when the registry does not mount it", async () => {
    const registry = await loopbackRegistry();
    const { blob, open } = blobOf(LARGE);
    expect(await (await repository(`${registry.host}/app`)).putBlob(blob, open, { mountFrom: ["other"], signal })).toBe("sent");
  });

  test("an upload resumes when its connection breaks", async () => {
    const registry = await loopbackRegistry();
    let broken = 0;
    registry.misbehave = (req) => {
      if (req.method !== "PATCH" || broken++ > 0) return false;
      let seen = 0;
      req.on("data", (chunk: Buffer) => {
        seen += chunk.byteLength;
        if (seen > 1_000_000) req.socket.destroy();
      });
      return false;
    };
    const { blob, open } = blobOf(LARGE);
    expect(await (await repository(`${registry.host}/app`)).putBlob(blob, open, { signal })).toBe("sent");
    expect(registry.blob(blob.digest).equals(LARGE)).toBe(true);
    const [first, second] = registry.requests.filter(({ method }) => method === "PATCH");
    expect(first?.headers["content-length"]).toBe(String(LARGE.byteLength));
    const from = Number(/^(\d+)-/.exec(second?.headers["content-range"] ?? "")?.[1]);
    expect(from).toBeGreaterThanOrEqual(900_000);
    expect(second?.headers["content-length"]).toBe(String(LARGE.byteLength - from));
  });

  test("an upload restarts when the registry no longer knows the upload", async () => {
    const registry = await loopbackRegistry();
    let puts = 0;
    registry.misbehave = (req, res) => {
      if (req.method === "GET" && req.url?.includes("/uploads/")) return refuse(res, 404, "BLOB_UPLOAD_UNKNOWN", "");
      return req.method === "PUT" && puts++ === 0 && refuse(res, 503, "UNAVAILABLE", "");
    };
    const { blob, open } = blobOf(LARGE);
    expect(await (await repository(`${registry.host}/app`)).putBlob(blob, open, { signal })).toBe("sent");
    expect(registry.requests.filter(({ method }) => method === "POST")).toHaveLength(2);
  });

  test.for([
    [401, "UNAUTHORIZED", "authentication required; log in to HOST first, for example with docker login or podman login"],
    [403, "DENIED", "requested access to the resource is denied; the user needs permission to push to team/app"],
    [404, "NAME_UNKNOWN", "repository name not known to registry; some registries require you to create repository team/app first"],
    [
      405,
      "UNSUPPORTED",
      "The operation is unsupported.; HOST does not accept pushes, for example because it is a proxy for another registry",
    ],
    [413, "SIZE_INVALID", "provided length did not match content length; HOST or a proxy limits the request size"],
    [429, "TOOMANYREQUESTS", "too many requests; HOST limits the request rate; retry after 600 s"],
  ] as const)("the error of an upload that fails with status %s contains advice", async ([status, code, says]) => {
    const registry = await loopbackRegistry();
    registry.misbehave = (req, res) => {
      if (status === 429) res.setHeader("retry-after", "600");
      return req.method === "POST" && refuse(res, status, code, "");
    };
    const { blob, open } = blobOf(SMALL);
    const pushing = (await repository(`${registry.host}/team/app`)).putBlob(blob, open, { signal });
    const words = {
      401: "unauthorized",
      403: "denied",
      404: "name unknown",
      405: "unsupported",
      413: "size invalid",
      429: "toomanyrequests",
    };
    const expected = says.replaceAll("HOST", registry.host).replace(/^[^;]*/, words[status]);
    await expect(pushing).rejects.toThrow(`pushing blob ${blob.digest} to ${registry.host}/team/app: ${expected}`);
  });

  test("a blob whose bytes do not match its digest is rejected", async () => {
    const registry = await loopbackRegistry();
    const { blob } = blobOf(SMALL);
    const { open } = blobOf(Buffer.from("other"));
    await expect((await repository(`${registry.host}/app`)).putBlob(blob, open, { signal })).rejects.toThrow("digest invalid");
  });
});

describe("credentials", () => {
  test("credentials are not sent if the upload continues on another host", async () => {
    const [registry, storage] = [await loopbackRegistry(), await loopbackRegistry()];
    registry.misbehave = (req, res) => {
      if (req.headers.authorization === undefined) {
        res.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
        return true;
      }
      if (req.method !== "POST") return false;
      res.writeHead(202, { location: `${storage.url}/v2/app/blobs/uploads/0` }).end();
      return true;
    };
    const { blob, open } = blobOf(SMALL);
    const to = await repository(`${registry.host}/app`, { [registry.host]: { username: "user", password: "secret" } });
    await to.putBlob(blob, open, { signal });
    expect(storage.requests.map(({ method, headers }) => [method, headers.authorization])).toEqual([["PUT", undefined]]);
    expect(registry.requests.at(-1)?.headers.authorization).toBe(`Basic ${Buffer.from("user:secret").toString("base64")}`);
  });

  test("the client certificate is not presented if the upload continues on another host", async () => {
    const tls = { ...(await serverCertificate("127.0.0.1")), requestCert: true, rejectUnauthorized: false };
    const [registry, storage] = [await loopbackRegistry(tls), await loopbackRegistry(tls)];
    const casDir = await folder();
    const client = await serverCertificate("client");
    await writeFile(join(casDir, "client.cert"), client.cert);
    await writeFile(join(casDir, "client.key"), client.key);
    const presented: (string | string[] | undefined)[] = [];
    const see = (req: IncomingMessage): void => void presented.push((req.socket as TLSSocket).getPeerCertificate().subject?.CN);
    registry.misbehave = (req, res) => {
      see(req);
      if (req.method !== "POST") return false;
      res.writeHead(202, { location: `${storage.url}/v2/app/blobs/uploads/0` }).end();
      return true;
    };
    storage.misbehave = (req) => {
      see(req);
      return false;
    };
    const { blob, open } = blobOf(SMALL);
    await (await repository(`${registry.host}/app`, {}, casDir)).putBlob(blob, open, { signal });
    expect(presented).toEqual(["client", "client", "client", undefined]);
  });

  test("an upload requests a token with permission to push, and to read the repository from which it mounts a blob", async () => {
    const registry = await loopbackRegistry();
    registry.misbehave = (req, res) => {
      if (req.url?.startsWith("/token")) {
        res.end(JSON.stringify({ token: "t" }));
        return true;
      }
      if (req.headers.authorization === "Bearer t") return false;
      res.writeHead(401, { "www-authenticate": `Bearer realm="${registry.url}/token",service="s"` }).end();
      return true;
    };
    const { blob, open } = blobOf(SMALL);
    await (await repository(`${registry.host}/app`)).putBlob(blob, open, { mountFrom: ["other"], signal });
    const scopes = registry.paths(/^\/token/).map((path) => new URL(path, registry.url).searchParams.getAll("scope"));
    expect(scopes).toEqual([["repository:app:pull,push"], ["repository:app:pull,push", "repository:other:pull"]]);
  });
});
