import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { LoopbackRegistry, refuse, sendBlob } from "../../../test/support/loopbackRegistry.ts";
import { insecureRegistry, loopbackRegistry, puller } from "../../../test/support/pulling.ts";
import { type TarEntry, tarball } from "../../../test/support/tarball.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import { computeDigest } from "../digest.ts";
import { BUNDLE_IMAGE_LIMITS, CATALOG_IMAGE_LIMITS, type Limits } from "../limits.ts";
import { MediaType } from "../manifest.ts";
import { CONFIG_DIR_LABEL, findCatalogRoot } from "./imageFilter.ts";
import type { ImageFilter, Puller } from "./puller.ts";

const signal = new AbortController().signal;

function layer(files: Record<string, string>): Buffer {
  return gzipSync(tarball(Object.entries(files).map(([name, content]): TarEntry => ({ name, content }))));
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("expected a failure"),
    (err: Error) => err,
  );
}

/** A registry with an image at quay.io/ns/app:v1, and a puller that uses it for quay.io. */
async function setUp(files: Record<string, string> = { "manifests/a.yaml": "1" }, limits: Partial<Limits> = {}) {
  const registry = await loopbackRegistry();
  const image = registry.addImage("ns/app", "v1", { layers: [layer(files)] });
  const made = await puller({ conf: insecureRegistry(registry.host, "quay.io"), limits });
  return { registry, image, ...made, tag: "quay.io/ns/app:v1", pinned: `quay.io/ns/app@${image.digest}` };
}

describe("a pull", () => {
  test("pull returns the unpacked image under the requested name", async () => {
    const { puller, tag, pinned, image, cacheDir, entries } = await setUp();
    const pulled = await puller.pull("ext", tag, { signal });
    expect(pulled).toMatchObject({
      canonical: pinned,
      digest: image.digest,
      dir: join(cacheDir, "ext", image.digest),
      root: "",
      labels: {},
    });
    expect(await readFile(join(pulled.dir, "manifests/a.yaml"), "utf8")).toBe("1");
    expect(Math.abs(Date.now() - pulled.modTime.getTime())).toBeLessThan(10_000);
    expect((await stat(pulled.dir)).mtime).toEqual(pulled.modTime);
    expect((await stat(pulled.dir)).mode & 0o777).toBe(0o500);
    expect(await entries("ext")).toEqual([`.${image.digest}.json`, image.digest]);
  });

  test("pull by digest sends no requests when the image was unpacked before, even in a new process", async () => {
    const { registry, puller: first, tag, pinned, cacheDir } = await setUp();
    const before = await first.pull("ext", tag, { signal });
    await registry.stop();
    expect(await first.pull("ext", pinned, { signal })).toEqual(before);
    const { puller: second } = await puller({ cacheDir });
    expect(await second.pull("ext", pinned, { signal })).toEqual(before);
    expect(await second.resolve(pinned, signal)).toEqual({ canonical: pinned, digest: before.digest });
  });

  test("pull by tag requests the digest each time, and downloads no cached layer", async () => {
    const { registry, puller, tag, pinned } = await setUp();
    await puller.pull("ext", tag, { signal });
    registry.requests.length = 0;
    await puller.pull("ext", tag, { signal });
    expect(registry.requests.map(({ path }) => path)).toEqual(["/v2/", "/v2/ns/app/manifests/v1"]);
    expect(await puller.resolve(tag, signal)).toMatchObject({ canonical: pinned });
  });

  test.for<[what: string, hasDigest: boolean, isKnown: boolean, want: string[]]>([
    ["requests no manifest when the digest is known", true, true, ["HEAD", "HEAD", "HEAD"]],
    ["requests the manifest when the digest is not known", true, false, ["HEAD", "GET", "HEAD", "GET", "HEAD", "GET"]],
    ["requests the manifest when the registry does not name its digest", false, true, ["HEAD", "GET", "HEAD", "GET", "HEAD", "GET"]],
  ])("resolve %s", async ([, hasDigest, isKnown, want]) => {
    const { registry, puller, tag, pinned } = await setUp();
    registry.misbehave = ({ method }, res) => {
      if (hasDigest || method !== "HEAD") return false;
      res.end();
      return true;
    };
    const asked: string[] = [];
    for (let polls = 0; polls < 3; polls++) {
      const known = (canonical: string): boolean => asked.push(canonical) > 0 && isKnown;
      expect(await puller.resolve(tag, signal, known)).toMatchObject({ canonical: pinned });
    }
    expect(registry.requests.flatMap(({ method, path }) => (path.endsWith("/manifests/v1") ? [method] : []))).toEqual(want);
    expect(new Set(asked)).toEqual(new Set(hasDigest ? [pinned] : []));
  });

  test("resolve uses the next mirror when the first one does not have the tag", async () => {
    const [one, source] = [await loopbackRegistry(), await loopbackRegistry()];
    const { digest } = source.addImage("ns/app", "v1", { layers: [] });
    const conf = `[[registry]]\nprefix = "quay.io"\nlocation = "${source.host}"\ninsecure = true\n[[registry.mirror]]\nlocation = "${one.host}"\ninsecure = true\n`;
    const { puller: p } = await puller({ conf });
    expect(await p.resolve("quay.io/ns/app:v1", signal, () => true)).toMatchObject({ digest });
    await source.stop();
    expect((await failure(p.resolve("quay.io/ns/app:v1", signal, () => true))).message).toMatch(
      /^error creating image source: \(Mirrors also failed: /,
    );
  });

  test("pull of another digest replaces the owner's old image, and removes partial files of a terminated process", async () => {
    const { registry, puller, tag, entries, cacheDir } = await setUp();
    await puller.pull("ext", tag, { signal });
    await mkdir(join(cacheDir, "ext/.draft-dead/content/d"), { recursive: true, mode: 0o500 });
    const next = registry.addImage("ns/app", "v1", { layers: [layer({ "manifests/a.yaml": "2" })] });
    await puller.pull("other", tag, { signal });
    const pulled = await puller.pull("ext", tag, { signal });
    expect(await readFile(join(pulled.dir, "manifests/a.yaml"), "utf8")).toBe("2");
    expect(await entries("ext")).toEqual([`.${next.digest}.json`, next.digest]);
  });

  test("pull keeps the owner's previous image when it fails", async () => {
    const { registry, puller, tag, image, entries } = await setUp();
    await puller.pull("ext", tag, { signal });
    registry.addImage("ns/app", "v1", { layers: [Buffer.from("no archive")] });
    await expect(puller.pull("ext", tag, { signal })).rejects.toThrow("error applying image: error applying layer[0]: invalid archive: ");
    expect(await entries("ext")).toEqual([`.${image.digest}.json`, image.digest]);
  });

  test("remove deletes all images of the owner", async () => {
    const { puller, tag, entries } = await setUp({ "a/b/c": "1" });
    await puller.pull("ext", tag, { signal });
    await puller.pull("ext.two", tag, { signal });
    await puller.remove("ext");
    await puller.remove("never-was");
    expect(await entries()).toEqual(["ext.two"]);
  });

  test.for(["..", ".", "", "a/b", "../x", "/etc", "a\0b", ".hidden", "UPPER", "a_b", "-a", "a.", "a".repeat(254)])(
    "owner %o is rejected",
    async (owner) => {
      const { puller, tag, entries } = await setUp();
      await expect(puller.pull(owner, tag, { signal })).rejects.toThrow("is not a DNS-1123 subdomain");
      await expect(puller.remove(owner)).rejects.toThrow("is not a DNS-1123 subdomain");
      expect(await entries()).toEqual([]);
    },
  );
});

describe("invalid entries in the cache", () => {
  test.for<[string, (dir: string, digest: string) => Promise<unknown>]>([
    ["a file in place of the directory", (dir, digest) => writeFile(join(dir, digest), "x")],
    ["a directory that another program filled", (dir, digest) => mkdir(join(dir, digest, "half"), { recursive: true })],
    [
      "a directory with invalid metadata",
      async (dir, digest) => {
        await mkdir(join(dir, digest));
        await writeFile(join(dir, `.${digest}.json`), '{"config":');
      },
    ],
    [
      "metadata without its directory",
      (dir, digest) => writeFile(join(dir, `.${digest}.json`), '{"config":{"labels":{},"architecture":"","os":""},"root":""}'),
    ],
    ["a draft", (dir) => mkdir(join(dir, ".draft-1/content"), { recursive: true })],
  ])("pull does not return %s as the image", async ([, prepare]) => {
    const { puller, tag, image, cacheDir, entries } = await setUp();
    await mkdir(join(cacheDir, "ext"), { recursive: true });
    await prepare(join(cacheDir, "ext"), image.digest);
    const { dir } = await puller.pull("ext", tag, { signal });
    expect(await readdir(dir, { recursive: true })).toEqual(["manifests", "manifests/a.yaml"]);
    expect(await entries("ext")).toEqual([`.${image.digest}.json`, image.digest]);
  });

  test("pull unpacks an image again when another folder of the image is requested", async () => {
    const { puller, pinned } = await setUp({ "a/x": "1", "b/y": "2" });
    const a = await puller.pull("ext", pinned, { signal, filter: () => ({ root: "/a" }) });
    expect([a.root, await readdir(a.dir, { recursive: true })]).toEqual(["a", ["a", "a/x"]]);
    const b = await puller.pull("ext", pinned, { signal, filter: () => ({ root: "b/" }) });
    expect([b.root, await readdir(b.dir, { recursive: true })]).toEqual(["b", ["b", "b/y"]]);
    const all = await puller.pull("other", pinned, { signal });
    expect((await readdir(all.dir)).sort()).toEqual(["a", "b"]);
  });
});

describe("a cached image", () => {
  test("a cached image is returned to its owner without requests, and copied for another owner", async () => {
    const { registry, puller, pinned } = await setUp({ a: "1" });
    expect(await puller.cached("first", pinned, { signal })).toBeUndefined();
    const pulled = await puller.pull("first", pinned, { signal });
    await registry.stop();
    expect(await puller.cached("first", pinned, { signal })).toEqual(pulled);
    const copy = await puller.cached("second", pinned, { signal });
    expect(await readFile(join(copy?.dir ?? "", "a"), "utf8")).toBe("1");
    expect(copy?.dir).toContain("/second/");
  });

  test("a cached image is not returned for a tag, because only the registry can resolve the tag", async () => {
    const { registry, puller, tag } = await setUp();
    await puller.pull("ext", tag, { signal });
    const before = registry.requests.length;
    expect(await puller.cached("ext", tag, { signal })).toBeUndefined();
    expect(registry.requests).toHaveLength(before);
  });

  test("the cache returns undefined without waiting while the image is being pulled", async () => {
    const { registry, puller, pinned } = await setUp();
    const reached = Promise.withResolvers<void>();
    registry.misbehave = ({ url }) => {
      if (url?.includes("/blobs/")) reached.resolve();
      return url?.includes("/blobs/") ?? false;
    };
    const stop = new AbortController();
    const pull = failure(puller.pull("first", pinned, { signal: stop.signal }));
    await reached.promise;
    expect(await puller.cached("second", pinned, { signal })).toBeUndefined();
    stop.abort(new Error("stopped"));
    await pull;
  });
});

describe("concurrent pulls", () => {
  test("concurrent pulls of one digest for several owners share one download", async () => {
    const { registry, puller, pinned, tag } = await setUp({ "a/b": "1", c: "2" });
    const owners = Array.from({ length: 12 }, (_, i) => `ext-${i}`);
    const pulled = await Promise.all(owners.map((owner, i) => puller.pull(owner, i % 2 ? tag : pinned, { signal })));
    expect(new Set(pulled.map(({ dir }) => dir)).size).toBe(12);
    for (const { dir } of pulled) expect(await readFile(join(dir, "a/b"), "utf8")).toBe("1");
    expect(registry.paths(/blobs/)).toHaveLength(2);
    await puller.remove("ext-0");
    expect(await readFile(join(pulled[1]?.dir ?? "", "c"), "utf8")).toBe("2");
  });

  test("concurrent pulls of a digest from a registry are not delayed by another registry that hangs", async () => {
    const [slow, quick] = [await loopbackRegistry(), await loopbackRegistry()];
    const layers = [layer({ a: "1" })];
    const { digest } = slow.addImage("ns/app", "v1", { layers });
    quick.addImage("ns/app", "v1", { layers });
    const reached = Promise.withResolvers<void>();
    slow.misbehave = ({ url }) => {
      if (!url?.includes("/blobs/")) return false;
      reached.resolve();
      return true;
    };
    const { puller: p } = await puller({ conf: insecureRegistry(slow.host) + insecureRegistry(quick.host) });
    const stop = new AbortController();
    const first = failure(p.pull("first", `${slow.host}/ns/app@${digest}`, { signal: stop.signal }));
    await reached.promise;
    expect((await p.pull("second", `${quick.host}/ns/app@${digest}`, { signal })).digest).toBe(digest);
    stop.abort(new Error("stopped"));
    expect((await first).message).toBe("stopped");
  });

  test("concurrent pulls for the same owner return the same directory", async () => {
    const { puller, pinned, entries } = await setUp();
    const [a, b] = await Promise.all([puller.pull("ext", pinned, { signal }), puller.pull("ext", pinned, { signal })]);
    expect(a).toEqual(b);
    expect(await entries("ext")).toHaveLength(2);
  });

  test("concurrent pulls continue for other owners when one is canceled", async () => {
    const { registry, puller, pinned, entries } = await setUp();
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/blobs/")) return false;
      reached.resolve();
      registry.misbehave = () => false;
      void held.promise.then(() => res.destroy());
      return true;
    };
    const stop = new AbortController();
    const first = failure(puller.pull("first", pinned, { signal: stop.signal }));
    const second = puller.pull("second", pinned, { signal });
    await reached.promise;
    stop.abort(new Error("shutting down"));
    expect((await first).message).toBe("shutting down");
    held.resolve();
    expect((await second).dir).toContain("/second/");
    expect(await entries("first")).toEqual([]);
  });

  test("concurrent pulls can be canceled while they wait for a pull of the same image", async () => {
    const { registry, puller, pinned } = await setUp();
    const reached = Promise.withResolvers<void>();
    registry.misbehave = (req) => {
      if (req.url?.includes("/blobs/")) reached.resolve();
      return req.url?.includes("/blobs/") ?? false;
    };
    const stop = new AbortController();
    const first = failure(puller.pull("first", pinned, { signal: stop.signal }));
    await reached.promise;
    const waiting = new AbortController();
    const second = failure(puller.pull("second", pinned, { signal: waiting.signal }));
    waiting.abort(new Error("canceled"));
    expect((await second).message).toBe("canceled");
    stop.abort(new Error("end"));
    expect((await first).message).toBe("end");
  });
});

describe("time", () => {
  test("pulls end at the time limit when a registry never completes its response", async () => {
    const { registry, puller, tag } = await setUp({ a: "1" }, { timeoutMs: 300 });
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/blobs/")) return false;
      res.writeHead(200).write("x");
      return true;
    };
    const err = await failure(puller.pull("ext", tag, { signal }));
    expect(err).toBeInstanceOf(RetryableError);
    expect(err.message).toBe(`pull of ${tag} timed out after 0.3 s: retrying; a closer mirror may be faster`);
  });
});

test.for([
  ["catalog", CATALOG_IMAGE_LIMITS],
  ["bundle", BUNDLE_IMAGE_LIMITS],
] as const)("the largest %s image can be pulled over a link with 2.5 Mbit/s", ([, { compressedBytes, timeoutMs }]) => {
  expect((compressedBytes * 8) / (timeoutMs / 1000)).toBeLessThan(2_500_000);
});

describe("errors of a pull", () => {
  test.for<[string, string, string, boolean]>([
    ["a missing tag", "quay.io/ns/app:nope", "error creating image source: reading manifest nope in HOST/ns/app: manifest unknown", true],
    [
      "a missing digest",
      `quay.io/ns/app@sha256:${"0".repeat(64)}`,
      `error copying image: initializing source docker://quay.io/ns/app@sha256:${"0".repeat(64)}: reading manifest sha256:${"0".repeat(64)} in HOST/ns/app: manifest unknown`,
      true,
    ],
    [
      "an invalid reference",
      "Not A Reference",
      'error parsing image reference "Not A Reference": invalid reference format: repository name must be lowercase',
      false,
    ],
    [
      "neither a tag nor a digest",
      "quay.io/ns/app",
      "error creating reference: Docker reference quay.io/ns/app is not for an unknown digest case; tag or digest is needed",
      false,
    ],
  ])("%s", async ([, ref, message, retry]) => {
    const { registry, puller } = await setUp();
    const err = await failure(puller.pull("ext", ref, { signal }));
    expect(err).toBeInstanceOf(retry ? RetryableError : TerminalError);
    expect(err.message).toBe(message.replace("HOST", registry.host));
  });

  test("the error reports a registry that cannot be reached", async () => {
    const registry = await LoopbackRegistry.start();
    const { host } = registry;
    await registry.stop();
    const { puller: p } = await puller({ conf: insecureRegistry(host), limits: { attempts: 2 } });
    expect((await failure(p.pull("ext", `${host}/a:1`, { signal }))).message).toBe(
      `error creating image source: pinging container registry ${host}: Get "http://${host}/v2/": connect ECONNREFUSED ${host}`,
    );
  });

  test("the error reports a registry that responds with plain HTTP instead of TLS", async () => {
    const registry = await loopbackRegistry();
    const { puller: p } = await puller();
    expect((await failure(p.pull("ext", `${registry.host}/a:1`, { signal }))).message).toBe(
      `error creating image source: pinging container registry ${registry.host}: Get "https://${registry.host}/v2/": http: server gave HTTP response to HTTPS client`,
    );
  });
});

describe("content that does not match its digest", () => {
  test.for<[string, (blob: Buffer) => Buffer, RegExp]>([
    [
      "other bytes",
      (blob) => Buffer.alloc(blob.byteLength, 1),
      /^error copying image: reading blob sha256:\w+: Digest did not match, expected sha256:\w+, got sha256:\w+$/,
    ],
    [
      "more bytes",
      (blob) => Buffer.concat([blob, Buffer.from("x")]),
      /^error copying image: reading blob sha256:\w+: fetching blob: its size is \d+ bytes, expected \d+$/,
    ],
    [
      "fewer bytes",
      (blob) => blob.subarray(1),
      /^error copying image: reading blob sha256:\w+: sha256:\w+ is truncated: received \d+ of \d+ bytes$/,
    ],
  ])("layer: %s", async ([, change, message]) => {
    const { registry, puller, tag, entries } = await setUp();
    registry.misbehave = (req, res) => {
      const digest = /blobs\/(.*)/.exec(req.url ?? "")?.[1];
      if (!digest || registry.blob(digest).includes("architecture")) return false;
      const changed = change(registry.blob(digest));
      res.writeHead(200, { "content-length": changed.byteLength }).end(changed);
      return true;
    };
    const err = await failure(puller.pull("ext", tag, { signal }));
    expect(err).toBeInstanceOf(RetryableError);
    expect(err.message).toMatch(message);
    expect(await entries("ext")).toEqual([]);
  });

  test("the download of a layer with unknown length stops at the limit", async () => {
    const { registry, puller, tag } = await setUp();
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/blobs/") || !/blobs/.test(req.url)) return false;
      const send = (): void => {
        while (!res.destroyed && res.write(Buffer.alloc(65_536)));
        res.once("drain", send);
      };
      send();
      return true;
    };
    expect((await failure(puller.pull("ext", tag, { signal }))).message).toMatch(/is larger than the \d+ bytes in its descriptor$/);
  });

  test("a manifest with another digest is rejected", async () => {
    const { registry, puller, pinned } = await setUp();
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/manifests/")) return false;
      res.end("{}");
      return true;
    };
    const err = await failure(puller.pull("ext", pinned, { signal }));
    expect(err).toBeInstanceOf(RetryableError);
    expect(err.message).toMatch(
      /: reading manifest sha256:\w+ in .*: Digest did not match, expected sha256:\w+, got sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a$/,
    );
  });

  test("a manifest is rejected when its digest differs from the digest in the response header", async () => {
    const { registry, puller, tag } = await setUp();
    registry.misbehave = (req, res) => {
      if (!req.url?.includes("/manifests/")) return false;
      res.setHeader("docker-content-digest", `sha256:${"1".repeat(64)}`).end("{}");
      return true;
    };
    expect((await failure(puller.pull("ext", tag, { signal }))).message).toContain(
      `Digest did not match, expected sha256:${"1".repeat(64)}`,
    );
  });
});

describe("broken connections", () => {
  /** Sends the first `bytes` of each requested layer and then breaks the connection, `times` times. */
  function breaking(registry: LoopbackRegistry, bytes: number, times: number, ranges: boolean): void {
    let left = times;
    registry.misbehave = (req, res) => {
      const digest = /blobs\/(.*)/.exec(req.url ?? "")?.[1];
      if (!digest || registry.blob(digest).includes("architecture")) return false;
      const blob = registry.blob(digest);
      const from = ranges ? Number(/bytes=(\d+)-/.exec(req.headers.range ?? "")?.[1] ?? 0) : 0;
      if (left-- <= 0) {
        if (!ranges) delete req.headers.range;
        sendBlob(req, res, blob);
        return true;
      }
      const head =
        from > 0 ? { "content-range": `bytes ${from}-${blob.byteLength - 1}/${blob.byteLength}` } : { "content-length": blob.byteLength };
      res.writeHead(from > 0 ? 206 : 200, head);
      res.write(blob.subarray(from, from + bytes));
      setTimeout(() => res.destroy(), 30);
      return true;
    };
  }
  const content = { big: Array.from({ length: 2000 }, (_, i) => createHash("sha256").update(String(i)).digest("hex")).join("") };

  test("downloads resume at the last received byte when the connection breaks", async () => {
    const { registry, puller, tag } = await setUp(content);
    breaking(registry, 1000, 6, true);
    const { dir } = await puller.pull("ext", tag, { signal });
    expect(await readFile(join(dir, "big"), "utf8")).toBe(content.big);
    const ranges = registry.requests.flatMap(({ headers }) => headers.range ?? []);
    expect(ranges.slice(0, 3)).toEqual(["bytes=1000-", "bytes=2000-", "bytes=3000-"]);
  });

  test("downloads restart when the connection breaks and the registry does not support ranges", async () => {
    const { registry, puller, tag } = await setUp(content);
    breaking(registry, 1000, 2, false);
    const { dir } = await puller.pull("ext", tag, { signal });
    expect(await readFile(join(dir, "big"), "utf8")).toBe(content.big);
    expect(registry.paths(/blobs/)).toHaveLength(4);
  });

  test("downloads are complete when the connection breaks after the last byte", async () => {
    const { registry, puller, tag } = await setUp(content);
    registry.misbehave = (req, res) => {
      const [, digest] = /\/blobs\/(.+)$/.exec(req.url ?? "") ?? [];
      if (digest === undefined) return false;
      if (req.headers.range !== undefined) return refuse(res, 416, "RANGE_INVALID", "empty range");
      res.write(registry.blob(digest), () => res.destroy());
      return true;
    };
    const { dir } = await puller.pull("ext", tag, { signal });
    expect(await readFile(join(dir, "big"), "utf8")).toBe(content.big);
  });

  /** Adds an image whose first layer arrives and whose second one does not. Returns the number of requests for each of them. */
  function breakingAfterLayer(registry: LoopbackRegistry): () => number[] {
    const layers = [layer({ whole: "1" }), layer(content)];
    const [whole = "", broken = ""] = layers.map((blob) => computeDigest(blob));
    registry.addImage("ns/big", "v1", { layers });
    const received = Promise.withResolvers<void>();
    registry.misbehave = (req, res) => {
      if (req.url?.endsWith(whole)) res.once("close", () => received.resolve());
      if (!req.url?.endsWith(broken)) return false;
      void received.promise.then(() => res.destroy());
      return true;
    };
    return () => [whole, broken].map((digest) => registry.paths(new RegExp(digest)).length);
  }
  const big = "quay.io/ns/big:v1";

  test("a pull uses the layers that a failed pull of the owner has received, and removes them afterwards", async () => {
    const { registry, puller, entries } = await setUp();
    const layersAsked = breakingAfterLayer(registry);
    expect((await failure(puller.pull("ext", big, { signal }))).message).toContain("reading blob ");
    expect(await entries("ext")).toEqual([expect.stringMatching(/^\.draft-/)]);
    registry.misbehave = () => false;
    registry.requests.length = 0;
    const { dir, digest } = await puller.pull("ext", big, { signal });
    expect((await readdir(dir)).sort()).toEqual(["big", "whole"]);
    expect(layersAsked()).toEqual([0, 1]);
    expect(await entries("ext")).toEqual([`.${digest}.json`, digest]);
  });

  test.for(["pull", "cached"] as const)("layers of a failed pull are removed when %s needs no download", async (method) => {
    const { registry, puller, pinned, image, entries } = await setUp();
    await puller.pull("ext", pinned, { signal });
    breakingAfterLayer(registry);
    await failure(puller.pull("ext", big, { signal }));
    expect(await entries("ext")).toHaveLength(3);
    await puller[method]("ext", pinned, { signal });
    expect(await entries("ext")).toEqual([`.${image.digest}.json`, image.digest]);
  });

  test("layers of a failed pull are removed when a pull of another owner fails because of this machine", async () => {
    const { registry, puller, image, pinned, cacheDir, entries } = await setUp();
    breakingAfterLayer(registry);
    await failure(puller.pull("ext", big, { signal }));
    expect(await entries("ext")).toHaveLength(1);
    await mkdir(join(cacheDir, "other", `.${image.digest}.json`), { recursive: true });
    expect((await failure(puller.pull("other", pinned, { signal }))).message).toContain("error applying image: EISDIR");
    expect(await entries("ext")).toEqual([]);
  });

  test.for<
    [why: string, image: { labels?: Record<string, string>; layers: Uint8Array[] }, filter: ImageFilter | undefined, message: string]
  >([
    ["its archive is invalid", { layers: [Buffer.from("no archive")] }, undefined, "invalid archive"],
    [
      "a name in it is too long",
      { layers: [tarball([{ name: "x", pax: { path: "x".repeat(300) }, content: "" }])] },
      undefined,
      "ENAMETOOLONG",
    ],
    ["it is hostile", { layers: [tarball([{ name: "../evil", content: "x" }])] }, undefined, 'has ".." in its name'],
    ["the filter rejects it", { layers: [] }, findCatalogRoot, "missing the required label"],
  ])("layers of a failed pull are kept when an image of another owner is rejected because %s", async ([, image, filter, message]) => {
    const { registry, puller, entries } = await setUp();
    breakingAfterLayer(registry);
    await failure(puller.pull("ext", big, { signal }));
    const { digest } = registry.addImage("ns/bad", "v1", image);
    const ref = `quay.io/ns/bad@${digest}`;
    expect((await failure(puller.pull("other", ref, { signal, filter }))).message).toContain(message);
    expect([await entries("ext"), await entries("other")]).toEqual([[expect.stringMatching(/^\.draft-/)], []]);
  });

  test("layers of a failed pull are kept when a pull of another owner is aborted or rejected by the signature policy", async () => {
    const { registry, puller, tag, cacheDir, entries } = await setUp();
    breakingAfterLayer(registry);
    await failure(puller.pull("ext", big, { signal }));
    const stop = new AbortController();
    registry.misbehave = (req) => {
      if (req.url?.includes("/blobs/")) stop.abort(new Error("stopped"));
      return false;
    };
    expect((await failure(puller.pull("other", tag, { signal: stop.signal }))).message).toContain("stopped");
    await writeFile(join(cacheDir, "../policy.json"), JSON.stringify({ default: [{ type: "reject" }] }));
    expect((await failure(puller.pull("other", tag, { signal }))).message).toContain("Source image rejected");
    expect(await entries("ext")).toHaveLength(1);
  });

  test("a pull fails after several broken connections without progress", async () => {
    const { registry, puller, tag } = await setUp(content);
    breaking(registry, 0, 1000, true);
    const err = await failure(puller.pull("ext", tag, { signal }));
    expect(err.message).toMatch(/^error copying image: reading blob sha256:\w+: fetching blob: /);
    expect(registry.paths(/blobs/).length).toBeLessThan(12);
  });
});

describe("manifests", () => {
  async function withManifest(make: (registry: LoopbackRegistry) => unknown, limits: Partial<Limits> = {}) {
    const made = await setUp({ a: "1" }, limits);
    make(made.registry);
    return made;
  }
  const amd64 = { os: "linux", architecture: "amd64" };

  test("the image for this platform is selected from an index, and the digest is that of the index", async () => {
    const { registry, puller, tag } = await setUp();
    const image = registry.addImage("ns/app", "amd64", { layers: [layer({ arch: "amd64" })] });
    const other = registry.addImage("ns/app", "arm64", { layers: [layer({ arch: "arm64" })] });
    const manifests = [
      { ...other, platform: { os: "linux", architecture: "arm64", variant: "v8" } },
      { ...other, platform: { os: "unknown", architecture: "unknown" } },
      { ...other, platform: { ...amd64, variant: "v3" } },
      { ...image, platform: amd64 },
    ];
    const index = registry.addManifest("ns/app", "v1", { schemaVersion: 2, manifests }, MediaType.ociIndex);
    const pulled = await puller.pull("ext", tag, { signal });
    expect(pulled.digest).toBe(index.digest);
    expect(await readFile(join(pulled.dir, "arch"), "utf8")).toBe("amd64");
  });

  test("an image without a platform is selected from an index when no image matches the platform", async () => {
    const { registry, puller, tag } = await setUp();
    const image = registry.addImage("ns/app", "x", { layers: [layer({ arch: "any" })] });
    registry.addManifest("ns/app", "v1", { schemaVersion: 2, manifests: [image] }, MediaType.dockerList);
    expect(await readFile(join((await puller.pull("ext", tag, { signal })).dir, "arch"), "utf8")).toBe("any");
  });

  test.for<[string, (registry: LoopbackRegistry) => unknown, string]>([
    [
      "no image for the platform",
      (r) =>
        r.addManifest(
          "ns/app",
          "v1",
          {
            schemaVersion: 2,
            manifests: [{ ...r.addImage("ns/app", "x", { layers: [] }), platform: { os: "linux", architecture: "s390x" } }],
          },
          MediaType.ociIndex,
        ),
      'no image found in image index for architecture "amd64", variant "", OS "linux"',
    ],
    [
      "an empty docker list",
      (r) => r.addManifest("ns/app", "v1", { schemaVersion: 2, manifests: [] }, MediaType.dockerList),
      'no image found in manifest list for architecture "amd64", variant "", OS "linux"',
    ],
    [
      "an index in an index",
      (r) => {
        const inner = r.addManifest("ns/app", "inner", { schemaVersion: 2, manifests: [] }, MediaType.ociIndex);
        r.addManifest("ns/app", "v1", { schemaVersion: 2, manifests: [{ ...inner, platform: amd64 }] }, MediaType.ociIndex);
      },
      "the image index refers to another index",
    ],
    [
      "an index with a wrong size",
      (r) =>
        r.addManifest(
          "ns/app",
          "v1",
          { schemaVersion: 2, manifests: [{ ...r.addImage("ns/app", "x", { layers: [] }), size: 3, platform: amd64 }] },
          MediaType.ociIndex,
        ),
      "bytes, but the image index lists 3",
    ],
    [
      "an index and an image at once",
      (r) => r.addManifest("ns/app", "v1", { schemaVersion: 2, manifests: [], layers: [] }),
      "the manifest is both an image and an index",
    ],
    [
      "docker schema 1",
      (r) => r.addManifest("ns/app", "v1", { schemaVersion: 1, fsLayers: [] }),
      "the image has a docker schema 1 manifest, which is not supported",
    ],
    ["invalid JSON", (r) => r.addManifest("ns/app", "v1", "<html>"), "the manifest is not JSON"],
    ["JSON that is not an object", (r) => r.addManifest("ns/app", "v1", "[1]"), "the manifest is malformed: "],
    [
      "an invalid digest",
      (r) => r.addManifest("ns/app", "v1", { schemaVersion: 2, config: { digest: "sha256:../../x", size: 1 }, layers: [] }),
      "the manifest is malformed: config.digest: is not a sha256, sha384 or sha512 digest",
    ],
    [
      "an invalid size",
      (r) => r.addManifest("ns/app", "v1", { schemaVersion: 2, config: { ...r.addBlob("{}"), size: -1 }, layers: [] }),
      "the manifest is malformed: config.size: ",
    ],
    [
      "an invalid configuration",
      (r) => r.addManifest("ns/app", "v1", { schemaVersion: 2, config: r.addBlob("x"), layers: [] }),
      "the image configuration is not JSON",
    ],
    [
      "labels that are not strings",
      (r) => r.addManifest("ns/app", "v1", { schemaVersion: 2, config: r.addBlob('{"config":{"Labels":{"a":1}}}'), layers: [] }),
      "the image configuration is malformed: config.Labels.a: ",
    ],
  ])("%s", async ([, make, message]) => {
    const { puller, tag } = await withManifest(make);
    const err = await failure(puller.pull("ext", tag, { signal }));
    expect(err).toBeInstanceOf(RetryableError);
    expect(err.message).toMatch(/^error copying image: /);
    expect(err.message).toContain(message);
  });

  test.for<[string, Partial<Limits>, string]>([
    ["configuration bytes", { configBytes: 10 }, "error copying image: the image configuration is larger than 10 bytes"],
    ["layers", { layers: 0 }, "error copying image: the image has more than 0 layers"],
    ["compressed bytes", { compressedBytes: 10 }, "error copying image: the compressed layers are larger than 10 bytes in total"],
    [
      "decompressed bytes",
      { totalBytes: 10 },
      "error applying image: error applying layer[0]: the layers have more than 10 bytes after decompression",
    ],
    [
      "bytes in one file",
      { fileBytes: 2 },
      'error applying image: error applying layer[0]: file "manifests/a.yaml" is larger than 2 bytes',
    ],
    ["entries", { entries: 0 }, "error applying image: error applying layer[0]: the layers have more than 0 entries"],
    [
      "bytes in a path",
      { pathBytes: 5 },
      "error applying image: error applying layer[0]: an entry name or link target is longer than 5 bytes",
    ],
    ["nested folders", { pathDepth: 0 }, "error applying image: error applying layer[0]: directories are nested more than 0 levels deep"],
  ])("an image with too many %s is rejected with the limit, the image and advice", async ([, limits, message]) => {
    const { puller, tag, pinned, entries } = await setUp({ "manifests/a.yaml": "123" }, limits);
    const byTag = await failure(puller.pull("ext", tag, { signal }));
    expect(byTag.message).toBe(`${message}; cannot unpack image ${tag} until its tag refers to a valid image`);
    const byDigest = await failure(puller.pull("ext", pinned, { signal }));
    const advice = "rebuild the image, or use another one";
    expect([byDigest, byDigest.message]).toEqual([expect.any(TerminalError), `${message}; cannot unpack image ${pinned}: ${advice}`]);
    expect(await entries("ext")).toEqual([]);
  });

  test("a manifest that is too large is rejected", async () => {
    const { puller, tag } = await setUp({ a: "1" }, { manifestBytes: 100 });
    expect((await failure(puller.pull("ext", tag, { signal }))).message).toContain("exceeded maximum allowed size of 100 bytes");
  });

  test("an artifact without labels and layers is an empty image", async () => {
    const { puller, tag } = await withManifest((r) =>
      r.addManifest("ns/app", "v1", { schemaVersion: 2, config: r.addBlob("{}", "application/vnd.oci.empty.v1+json"), layers: [] }),
    );
    const { dir, labels } = await puller.pull("ext", tag, { signal });
    expect([await readdir(dir), labels]).toEqual([[], {}]);
  });

  test("a directory that a later layer removes is neither in the unpacked image nor left in the cache", async () => {
    const { registry, puller, tag, entries } = await setUp();
    const { digest } = registry.addImage("ns/app", "v1", { layers: [layer({ "d/e/old": "1", kept: "2" }), layer({ ".wh.d": "" })] });
    const { dir } = await puller.pull("ext", tag, { signal });
    expect(await readdir(dir)).toEqual(["kept"]);
    expect(await entries("ext")).toEqual([`.${digest}.json`, digest]);
  });

  test("a layer that occurs twice in an image is applied twice", async () => {
    const { registry, puller, tag } = await setUp();
    const one = layer({ a: "1" });
    registry.addImage("ns/app", "v1", { layers: [one, layer({ a: "2" }), one] });
    expect(await readFile(join((await puller.pull("ext", tag, { signal })).dir, "a"), "utf8")).toBe("1");
  });
});

describe("terminal and retryable errors", () => {
  const hostile = (registry: LoopbackRegistry) =>
    registry.addImage("ns/app", "v1", { layers: [tarball([{ name: "../evil", content: "x" }])] });

  test("rejected content is retryable for a tag and terminal for a digest", async () => {
    const { registry, puller, tag } = await setUp();
    const { digest } = hostile(registry);
    const message = 'error applying image: error applying layer[0]: entry "../evil" has ".." in its name';
    const byTag = await failure(puller.pull("ext", tag, { signal }));
    const byDigest = await failure(puller.pull("ext", `quay.io/ns/app@${digest}`, { signal }));
    expect([byTag, byTag.message]).toEqual([
      expect.any(RetryableError),
      `${message}; cannot unpack image ${tag} until its tag refers to a valid image`,
    ]);
    expect([byDigest, byDigest.message]).toEqual([
      expect.any(TerminalError),
      `${message}; cannot unpack image quay.io/ns/app@${digest}: rebuild the image, or use another one`,
    ]);
  });

  test("invalid content is retryable for a tag and for a digest", async () => {
    const { registry, puller, tag } = await setUp();
    const { digest } = registry.addImage("ns/app", "v1", { layers: [Buffer.from("no archive")] });
    for (const ref of [tag, `quay.io/ns/app@${digest}`]) {
      const err = await failure(puller.pull("ext", ref, { signal }));
      expect(err).toBeInstanceOf(RetryableError);
      expect(err.message).toBe("error applying image: error applying layer[0]: invalid archive: Unexpected end of data");
    }
  });

  test("an exceeded limit is terminal for a digest", async () => {
    const { puller, pinned } = await setUp({ a: "1" }, { layers: 0 });
    expect(await failure(puller.pull("ext", pinned, { signal }))).toBeInstanceOf(TerminalError);
  });

  test("a catalog image without its label is rejected", async () => {
    const { puller, tag, pinned, entries, registry } = await setUp();
    const message = `error applying image: catalog image is missing the required label "${CONFIG_DIR_LABEL}"`;
    const byTag = await failure(puller.pull("cat", tag, { signal, filter: findCatalogRoot }));
    const byDigest = await failure(puller.pull("cat", pinned, { signal, filter: findCatalogRoot }));
    expect([byTag, byTag.message]).toEqual([expect.any(RetryableError), message]);
    expect([byDigest, byDigest.message]).toEqual([expect.any(TerminalError), message]);
    expect(await entries("cat")).toEqual([]);
    expect(registry.paths(/blobs/)).toHaveLength(2);
  });

  test("a catalog image with its label is unpacked", async () => {
    const { registry, puller } = await setUp();
    registry.addImage("ns/cat", "v1", {
      labels: { [CONFIG_DIR_LABEL]: "/configs" },
      layers: [layer({ "configs/p/c.yaml": "1", "bin/opm": "2" })],
    });
    const { dir, root, labels } = await puller.pull("cat", "quay.io/ns/cat:v1", { signal, filter: findCatalogRoot });
    expect([root, labels[CONFIG_DIR_LABEL], await readdir(dir, { recursive: true })]).toEqual([
      "configs",
      "/configs",
      ["configs", "configs/p", "configs/p/c.yaml"],
    ]);
  });
});

describe("mirrors", () => {
  async function mirrored(extra = "", limits: Partial<Limits> = {}) {
    const [one, two, source] = [await loopbackRegistry(), await loopbackRegistry(), await loopbackRegistry()];
    const mirror = (r: LoopbackRegistry): string => `[[registry.mirror]]\nlocation = "${r.host}/mirror"\ninsecure = true\n`;
    const conf = `[[registry]]\nprefix = "quay.io"\nlocation = "${source.host}"\ninsecure = true\n${extra}${mirror(one)}${mirror(two)}`;
    const image = { layers: [layer({ a: "1" })] };
    return { one, two, source, image, ...(await puller({ conf, limits })) };
  }

  test("mirrors are requested in order, and then the source", async () => {
    const { one, two, source, image, puller } = await mirrored();
    const { digest } = source.addImage("ns/app", "v1", image);
    const pulled = await puller.pull("ext", "quay.io/ns/app:v1", { signal });
    expect(pulled.canonical).toBe(`quay.io/ns/app@${digest}`);
    expect([one.paths(/manifests/), two.paths(/manifests/)]).toEqual([
      ["/v2/mirror/ns/app/manifests/v1"],
      ["/v2/mirror/ns/app/manifests/v1"],
    ]);
  });

  test.for(["/v2/", "/manifests/"])("mirrors are skipped in time when the first hangs at %s, once for each pull", async (at) => {
    const { one, two, image, puller } = await mirrored("", { placeMs: 1_000 });
    const { digest } = two.addImage("mirror/ns/app", "v1", image);
    one.misbehave = ({ url }) => (at === "/v2/" ? url === at : (url?.includes(at) ?? false));
    expect((await puller.pull("ext", "quay.io/ns/app:v1", { signal })).digest).toBe(digest);
    expect(one.requests.filter(({ path }) => (at === "/v2/" ? path === at : path.includes(at)))).toHaveLength(1);
    expect(two.paths(/manifests/)).toEqual(["/v2/mirror/ns/app/manifests/v1"]);
  });

  test("the source gets no requests when a mirror has the image", async () => {
    const { two, source, image, puller } = await mirrored();
    const { digest } = two.addImage("mirror/ns/app", "v1", image);
    expect((await puller.pull("ext", `quay.io/ns/app@${digest}`, { signal })).canonical).toBe(`quay.io/ns/app@${digest}`);
    expect(source.requests).toEqual([]);
  });

  test("mirrors are skipped when they have no layer or a wrong layer", async () => {
    const { one, two, source, image, puller } = await mirrored();
    for (const [registry, repository] of [
      [one, "mirror/ns/app"],
      [two, "mirror/ns/app"],
      [source, "ns/app"],
    ] as const)
      registry.addImage(repository, "v1", image);
    one.misbehave = (req, res) => (req.url?.includes("/blobs/") ?? false) && refuse(res, 404, "BLOB_UNKNOWN", "blob unknown to registry");
    two.misbehave = (req, res) => {
      if (!req.url?.includes("/blobs/")) return false;
      res.end("wrong");
      return true;
    };
    const { dir } = await puller.pull("ext", "quay.io/ns/app:v1", { signal });
    expect(await readFile(join(dir, "a"), "utf8")).toBe("1");
    expect(source.paths(/manifests/)).toEqual([expect.stringMatching(/^\/v2\/ns\/app\/manifests\/sha256:/)]);
  });

  describe("that stop within a layer", () => {
    /** Sends the first byte of each requested layer and then the result of `rest`. */
    const stopWithin = (registry: LoopbackRegistry, layerDigest: string, rest: (res: ServerResponse) => void = () => undefined): void => {
      registry.misbehave = (req, res) => {
        if (!req.url?.endsWith(layerDigest)) return false;
        const body = registry.blob(layerDigest);
        const from = Number(/^bytes=(\d+)-$/.exec(req.headers.range ?? "")?.[1] ?? 0);
        if (from > 0) res.writeHead(206, { "content-range": `bytes ${from}-${body.byteLength - 1}/${body.byteLength}` }).flushHeaders();
        else res.writeHead(200, { "content-length": body.byteLength }).write(body.subarray(0, 1));
        rest(res);
        return true;
      };
    };
    /** Sends a byte from time to time. */
    const trickle = (res: ServerResponse): void => {
      const timer = setInterval(() => res.write("x"), 50);
      res.on("close", () => clearInterval(timer));
    };
    async function withLayer(limits: Partial<Limits>) {
      const made = await mirrored("", { stallMs: 500, ...limits });
      const digest = computeDigest(made.image.layers[0] ?? Buffer.of());
      return { ...made, digest, layersAsked: (registry: LoopbackRegistry) => registry.paths(new RegExp(digest)).length };
    }
    const pull = (from: Puller) => from.pull("ext", "quay.io/ns/app:v1", { signal });

    test.for<[string, (registry: LoopbackRegistry, digest: string) => void]>([
      ["sends nothing more", (registry, digest) => stopWithin(registry, digest)],
      [
        "sends no headers",
        (registry, digest) => {
          registry.misbehave = ({ url }) => url?.endsWith(digest) ?? false;
        },
      ],
      ["trickles", (registry, digest) => stopWithin(registry, digest, trickle)],
    ])("mirrors that stop within a layer are skipped after one request when the first %s", async ([, misbehave]) => {
      const { one, two, source, image, digest, layersAsked, puller } = await withLayer({});
      for (const mirror of [one, two]) mirror.addImage("mirror/ns/app", "v1", image);
      misbehave(one, digest);
      const { dir } = await pull(puller);
      expect(await readFile(join(dir, "a"), "utf8")).toBe("1");
      expect([layersAsked(one), layersAsked(two), source.requests]).toEqual([1, 1, []]);
    });

    test("mirrors that stop within a layer are requested again when no other mirror has the image", async () => {
      const { one, two, source, image, digest, layersAsked, puller } = await withLayer({});
      one.addImage("mirror/ns/app", "v1", image);
      stopWithin(one, digest, () => {
        one.misbehave = () => false;
      });
      const { dir } = await pull(puller);
      expect(await readFile(join(dir, "a"), "utf8")).toBe("1");
      expect([layersAsked(one), one.paths(/manifests/).length]).toEqual([2, 1]);
      expect([two.paths(/manifests/).length, source.paths(/manifests/).length]).toEqual([1, 1]);
    });

    test("mirrors that stop within a layer are reported once each when the source also stops within the layer", async () => {
      const { one, two, source, image, digest, layersAsked, puller } = await withLayer({ stallMs: 200, attempts: 2 });
      for (const mirror of [one, two]) mirror.addImage("mirror/ns/app", "v1", image);
      source.addImage("ns/app", "v1", image);
      for (const registry of [one, two, source]) stopWithin(registry, digest);
      const { message } = await failure(pull(puller));
      expect(message).toMatch(/^error copying image: \(Mirrors also failed: \[.*\]\n\[.*\]\): .*: reading blob /);
      expect([layersAsked(one), layersAsked(two), layersAsked(source)]).toEqual([3, 3, 2]);
    });

    test.for<[string, ((res: ServerResponse) => void) | undefined]>([
      ["stops", undefined],
      ["trickles", (res) => trickle(res)],
    ])("a source without mirrors is retried when it %s within a layer", async ([, rest]) => {
      const registry = await loopbackRegistry();
      const only = layer({ a: "1" });
      registry.addImage("ns/app", "v1", { layers: [only] });
      const digest = computeDigest(only);
      stopWithin(registry, digest, rest);
      const made = await puller({ conf: insecureRegistry(registry.host, "quay.io"), limits: { stallMs: 200, attempts: 3 } });
      expect((await failure(pull(made.puller))).message).toContain("reading blob ");
      expect(registry.paths(new RegExp(digest))).toHaveLength(3);
    });
  });

  test("the error lists all mirrors when no registry has the image", async () => {
    const { one, two, source, puller } = await mirrored();
    expect((await failure(puller.pull("ext", "quay.io/ns/app:v1", { signal }))).message).toBe(
      `error creating image source: (Mirrors also failed: [${one.host}/mirror/ns/app:v1: reading manifest v1 in ${one.host}/mirror/ns/app: manifest unknown]\n` +
        `[${two.host}/mirror/ns/app:v1: reading manifest v1 in ${two.host}/mirror/ns/app: manifest unknown]): ${source.host}/ns/app:v1: reading manifest v1 in ${source.host}/ns/app: manifest unknown`,
    );
  });

  test("mirrors are used when the source is blocked", async () => {
    const { one, source, image, puller } = await mirrored("blocked = true\n");
    const { digest } = one.addImage("mirror/ns/app", "v1", image);
    await puller.pull("ext", `quay.io/ns/app@${digest}`, { signal });
    expect((await failure(puller.pull("ext", "quay.io/ns/other:v1", { signal }))).message).toMatch(
      /: registry quay.io is blocked in .*registries.conf$/,
    );
    expect(source.requests).toEqual([]);
  });

  test("the error for an invalid registries.conf contains the name of the file", async () => {
    const { puller: p } = await puller({ conf: "[[registry]]\nlocation = 3\n" });
    expect((await failure(p.pull("ext", "quay.io/a:1", { signal }))).message).toMatch(
      /^error creating image source: loading registries configuration ".*registries.conf": registry.0.location: /,
    );
  });
});
