import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { computeDigest } from "../../pkg/oci/digest.ts";
import { MediaType } from "../../pkg/oci/manifest.ts";
import { pushImage, withPusher } from "../../pkg/oci/publish/push.ts";
import { createTar } from "../../pkg/oci/store/layerArchive.ts";
import { ClosedRegistry, PASSWORD } from "../support/closedRegistry.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { ConnectProxy } from "../support/connectProxy.ts";
import { folder, puller } from "../support/pulling.ts";
import { RegistryProxy } from "../support/registryProxy.ts";
import { serverCertificate } from "../support/serverCertificate.ts";

const signal = new AbortController().signal;
const files = new Map([["a", Buffer.from("1")]]);

describeWithCluster("sources of images", (cluster) => {
  let digest: string;
  let repository: string;
  let source: RegistryProxy;
  let mirror: RegistryProxy;
  beforeAll(async () => {
    repository = cluster.name("air/app");
    ({ digest } = await pushImage(cluster.registry, repository, "v1", { files }));
    source = await RegistryProxy.start(cluster.registry.host);
    mirror = await RegistryProxy.start(cluster.registry.host);
  });
  afterAll(async () => {
    await source?.[Symbol.asyncDispose]();
    await mirror?.[Symbol.asyncDispose]();
  });

  /** Pulls a reference to the source. @returns whether the source or the mirror received the manifest request, and the outcome. */
  async function pull(registriesConf: string, by: "tag" | "digest"): Promise<string> {
    const filled = registriesConf.replaceAll("SOURCE", source.host).replaceAll("MIRROR", mirror.host);
    const { puller: p } = await puller({ conf: filled });
    for (const proxy of [source, mirror]) proxy.requests.length = 0;
    const suffix = by === "tag" ? ":v1" : `@${digest}`;
    const outcome = await p.pull("ext", `${source.host}/${repository}${suffix}`, { signal }).then(
      ({ canonical }) => (canonical === `${source.host}/${repository}@${digest}` ? "pulled" : canonical),
      (err: Error) => err.message.replaceAll(source.host, "SOURCE").replaceAll(mirror.host, "MIRROR").replaceAll(repository, "REPO"),
    );
    const requested = [source, mirror].filter((proxy) => proxy.count("manifest", repository) > 0);
    return `${requested.map((proxy) => (proxy === source ? "source" : "mirror")).join("+")}: ${outcome}`;
  }

  // C-02 "Registry configuration"; S0-111, S0-117. Images keep the name of the source, regardless of the mirror.
  describe("by registries.conf", () => {
    const SOURCE = '[[registry]]\nprefix = "SOURCE"\nlocation = "SOURCE"\ninsecure = true\n';
    const MIRROR = '[[registry.mirror]]\nlocation = "MIRROR"\ninsecure = true\n';
    test.for<[what: string, conf: string, byTag: string, byDigest: string]>([
      ["a source without a mirror", SOURCE, "source: pulled", "source: pulled"],
      ["a mirror", SOURCE + MIRROR, "mirror: pulled", "mirror: pulled"],
      ["a mirror for digests only", `${SOURCE}mirror-by-digest-only = true\n${MIRROR}`, "source: pulled", "mirror: pulled"],
      [
        "a mirror with pull-from-mirror digest-only",
        `${SOURCE + MIRROR}pull-from-mirror = "digest-only"\n`,
        "source: pulled",
        "mirror: pulled",
      ],
      ["a mirror with pull-from-mirror tag-only", `${SOURCE + MIRROR}pull-from-mirror = "tag-only"\n`, "mirror: pulled", "source: pulled"],
      ["a mirror of a source that is blocked", `${SOURCE}blocked = true\n${MIRROR}`, "mirror: pulled", "mirror: pulled"],
      [
        "a mirror that lacks the image",
        `${SOURCE}[[registry.mirror]]\nlocation = "MIRROR/other"\ninsecure = true\n`,
        "source: pulled",
        "source: pulled",
      ],
    ])("registries.conf with %s determines from which registry an image is pulled", async ([, conf, byTag, byDigest]) => {
      expect([await pull(conf, "tag"), await pull(conf, "digest")]).toEqual([byTag, byDigest]);
    });

    test("a blocked source without a mirror is reported with the file that blocks it", async () => {
      expect(await pull(`${SOURCE}blocked = true\n`, "tag")).toMatch(
        /^: error creating image source: registry SOURCE is blocked in \S+registries\.conf$/,
      );
    });

    test("a pull fails when a mirror has no TLS and is not marked insecure, and the error reports the mirror", async () => {
      const conf = `${SOURCE}blocked = true\n[[registry.mirror]]\nlocation = "MIRROR"\n`;
      expect(await pull(conf, "tag")).toContain(
        'MIRROR/REPO:v1: pinging container registry MIRROR: Get "https://MIRROR/v2/": http: server gave HTTP response to HTTPS client',
      );
    });

    test("an image is pulled from a mirror when the source registry is stopped", async () => {
      await source.down();
      try {
        expect([await pull(SOURCE + MIRROR, "tag"), await pull(SOURCE + MIRROR, "digest")]).toEqual(["mirror: pulled", "mirror: pulled"]);
        expect(await pull(SOURCE, "tag")).toContain("connect ECONNREFUSED SOURCE");
      } finally {
        await source.up();
      }
    });
  });

  test("images in Docker's format are pulled by tag and by digest", async () => {
    const name = cluster.name("docker/app");
    const tar = await createTar(files);
    const pushed = await withPusher(cluster.registry, name, async (pusher) => {
      const layer = await pusher.blob(tar, "application/vnd.docker.image.rootfs.diff.tar");
      const config = {
        architecture: "amd64",
        os: "linux",
        config: { Labels: { a: "b" } },
        rootfs: { type: "layers", diff_ids: [computeDigest(tar)] },
      };
      const described = await pusher.blob(Buffer.from(JSON.stringify(config)), "application/vnd.docker.container.image.v1+json");
      const manifest = { schemaVersion: 2, mediaType: MediaType.dockerManifest, config: described, layers: [layer] };
      const image = await pusher.manifest("amd64", manifest);
      const platform = { os: "linux", architecture: "amd64" };
      const list = { schemaVersion: 2, mediaType: MediaType.dockerList, manifests: [{ ...image, platform }] };
      return { image, list: await pusher.manifest("v1", list) };
    });
    const { puller: p } = await puller({
      conf: `[[registry]]\nprefix = "quay.io"\nlocation = "${cluster.registry.host}"\ninsecure = true\n`,
    });
    const references = {
      ":amd64": pushed.image,
      ":v1": pushed.list,
      [`@${pushed.image.digest}`]: pushed.image,
      [`@${pushed.list.digest}`]: pushed.list,
    };
    for (const [suffix, want] of Object.entries(references)) {
      const pulled = await p.pull("ext", `quay.io/${name}${suffix}`, { signal });
      expect([pulled.canonical, pulled.labels]).toEqual([`quay.io/${name}@${want.digest}`, { a: "b" }]);
    }
  });

  describe("from a registry with its own certificate, behind a proxy", () => {
    const HOST = "registry.example.com";
    let closed: ClosedRegistry;
    let proxy: ConnectProxy;
    let cert: string;
    beforeAll(async () => {
      const pair = await serverCertificate(HOST);
      ({ cert } = pair);
      closed = await ClosedRegistry.start(pair);
      await pushImage(closed.target, "app", "v1", { files });
      proxy = await ConnectProxy.start(() => Number(closed.host.split(":")[1]));
    });
    afterAll(async () => {
      proxy?.stop();
      await closed?.[Symbol.asyncDispose]();
    });
    const auths = { [HOST]: { username: "user", password: PASSWORD } };

    // Source: C-02, C-10.
    test("a registry is trusted while the folder of CA certificates contains its CA", async () => {
      const casDir = await folder();
      const { puller: p } = await puller({ auths, casDir, env: { HTTPS_PROXY: proxy.url } });
      const outcome = async (): Promise<string> =>
        p.resolve(`${HOST}/app:v1`, signal).then(
          () => "trusted",
          (err: Error) => /x509: [a-z ]+/.exec(err.message)?.[0] ?? err.message,
        );
      expect(await outcome()).toBe("x509: certificate signed by unknown authority");
      await writeFile(join(casDir, "old.crt"), (await serverCertificate(HOST)).cert);
      expect(await outcome()).toBe("x509: certificate signed by unknown authority");
      await writeFile(join(casDir, "new.crt"), cert);
      expect(await outcome()).toBe("trusted");
      await rm(join(casDir, "old.crt"));
      expect(await outcome()).toBe("trusted");
      await rm(join(casDir, "new.crt"));
      expect(await outcome()).toBe("x509: certificate signed by unknown authority");
    });

    test.for([
      ["example.com", false],
      [".example.com", false],
      [HOST, false],
      ["example.org,10.0.0.0/8", true],
      ["", true],
    ] as const)("NO_PROXY=%s determines whether pulls use the proxy: %s", async ([exceptions, proxied]) => {
      const casDir = await folder();
      await writeFile(join(casDir, "registry.crt"), cert);
      const env = { HTTPS_PROXY: proxy.url, NO_PROXY: exceptions };
      const { puller: p } = await puller({ auths, casDir, env, limits: { attempts: 1 } });
      const before = proxy.seen.length;
      const reached = await p.resolve(`${HOST}/app:v1`, signal).then(
        () => true,
        (err: Error) => !/ENOTFOUND|EAI_AGAIN/.test(err.message),
      );
      expect([reached, proxy.seen.length > before]).toEqual([proxied, proxied]);
    });
  });
});
