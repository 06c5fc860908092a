import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { RetryableError } from "../../pkg/errors/errors.ts";
import { type PushedDescriptor, pushImage } from "../../pkg/oci/publish/push.ts";
import type { Puller } from "../../pkg/oci/pull/puller.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { folder, insecureRegistry, puller } from "../support/pulling.ts";
import { RegistryProxy } from "../support/registryProxy.ts";
import { type Ended, olmv1 } from "../support/runCli.ts";
import { pushSignatures, Signer, signedBy } from "../support/signing.ts";
import { pushIndex } from "../support/stores.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const signal = new AbortController().signal;
const HOST = "quay.io";
const MISSING = "error copying image: Source image rejected: A signature was required, but no signature exists";
const LOOKED = /; checked sha256-\w{64}\.sig and referrers in .*$/;
const UNVERIFIED =
  "error copying image: Source image rejected: cryptographic signature verification failed: the signature does not match any key in the policy";
const alice = new Signer();
const mallory = new Signer();

describeWithCluster("the signature policy", (cluster) => {
  let count = 0;
  let repository: string;
  let name: string;
  let image: PushedDescriptor;
  let proxy: RegistryProxy;
  let policy: string;
  let testPuller: Awaited<ReturnType<typeof puller>>;

  beforeEach(async () => {
    count += 1;
    repository = cluster.name(`signed/app-${count}`);
    name = `${HOST}/${repository}`;
    image = await push("v1");
    proxy = await RegistryProxy.start(cluster.registry.host);
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    policy = join(await folder(), "policy.json");
    await writeFile(policy, signedBy([alice]));
    testPuller = await puller({ conf: insecureRegistry(proxy.host, HOST), signaturePolicy: policy });
  });

  const push = (tag: string): Promise<PushedDescriptor> =>
    pushImage(cluster.registry, repository, tag, { files: new Map([["a", Buffer.from(`${repository} ${tag}`)]]) });
  const attach = (digest: string, ...signatures: Parameters<typeof pushSignatures>[3]): Promise<void> =>
    pushSignatures(cluster.registry, repository, digest, signatures);

  /** Returns "pulled", or the error. */
  async function outcome(ref: string, o: { owner?: string; identity?: string; from?: Puller } = {}): Promise<string> {
    return (o.from ?? testPuller.puller).pull(o.owner ?? "ext", ref, { signal, identity: o.identity }).then(
      () => "pulled",
      (err: Error) => {
        expect(err).toBeInstanceOf(RetryableError);
        return err.message.replace(LOOKED, "");
      },
    );
  }

  /** Returns the number of requested blobs of an image, without those of signatures. */
  async function countBlobRequests(of: PushedDescriptor = image): Promise<number> {
    const answer = await fetch(`http://${cluster.registry.host}/v2/${repository}/manifests/${of.digest}`, {
      headers: { accept: of.mediaType },
    });
    const manifest = (await answer.json()) as { config: PushedDescriptor; layers: PushedDescriptor[] };
    const digests = [manifest.config, ...manifest.layers].map(({ digest }) => digest);
    return proxy.requests.filter(({ path }) => digests.some((digest) => path.endsWith(`/blobs/${digest}`))).length;
  }

  describe("of an image", () => {
    const refused: [what: string, sign: () => Promise<void>, want: string | RegExp][] = [
      ["that has no signature", () => Promise.resolve(), MISSING],
      ["that another key signed", () => attach(image.digest, mallory.claim(image.digest, name)), UNVERIFIED],
      [
        "with the signature of another image",
        async () => attach(image.digest, alice.claim((await push("v2")).digest, name)),
        /^error copying image: Source image rejected: Signature for digest sha256:\w{64} does not match$/,
      ],
      [
        "that was signed under another name",
        () => attach(image.digest, alice.claim(image.digest, `${HOST}/other/app`)),
        `error copying image: Source image rejected: Signature for identity "${HOST}/other/app" is not accepted`,
      ],
    ];
    test.for(refused)("a policy rejects an image %s before any blob is fetched, by tag and by digest", async ([, sign, want]) => {
      await sign();
      for (const ref of [`${name}:v1`, `${name}@${image.digest}`]) {
        const got = await outcome(ref);
        if (typeof want === "string") expect(got).toBe(want);
        else expect(got).toMatch(want);
      }
      expect([await countBlobRequests(), await testPuller.entries("ext")]).toEqual([0, []]);
    });

    test("a policy accepts a signed image, by tag and by digest", async () => {
      await attach(image.digest, mallory.claim(image.digest, name), alice.claim(image.digest, name));
      expect([await outcome(`${name}:v1`), await outcome(`${name}@${image.digest}`, { owner: "other" })]).toEqual(["pulled", "pulled"]);
      expect(await countBlobRequests()).toBe(2);
    });

    test("a policy that rejects a scope rejects its images without requests to the registry", async () => {
      await attach(image.digest, alice.claim(image.digest, name));
      await writeFile(policy, signedBy([alice], { [name]: [{ type: "reject" }] }));
      const want = `error copying image: Source image rejected: Running image docker://${name}:v1 is rejected by policy.`;
      expect(await outcome(`${name}:v1`)).toBe(want);
      await expect(testPuller.puller.resolve(`${name}:v1`, signal)).rejects.toThrow(new RetryableError("Retrying", want));
      expect(proxy.requests).toEqual([]);
    });

    test("a policy that accepts a scope accepts its images without requests for signatures", async () => {
      await writeFile(policy, signedBy([alice], { [HOST]: [{ type: "insecureAcceptAnything" }] }));
      expect(await outcome(`${name}:v1`)).toBe("pulled");
      expect(proxy.requests.filter(({ path }) => path.endsWith(".sig"))).toEqual([]);
    });

    test("the error for an image without a signature lists the checked locations", async () => {
      const tag = `${image.digest.replace(":", "-")}.sig`;
      const want = `${MISSING}; checked ${tag} and referrers in ${proxy.host}/${repository}: sign the image, or copy its signature to this repository`;
      await expect(testPuller.puller.pull("ext", `${name}:v1`, { signal })).rejects.toThrow(new RetryableError("Retrying", want));
    });

    test("a policy accepts an image once it is signed", async () => {
      expect(await outcome(`${name}:v1`)).toBe(MISSING);
      await attach(image.digest, alice.claim(image.digest, name));
      expect(await outcome(`${name}:v1`)).toBe("pulled");
    });

    test("a pull fails without a rejection when the registry does not return signatures", async () => {
      await attach(image.digest, alice.claim(image.digest, name));
      proxy.arm({ on: "manifest", repository: `${repository}/manifests/sha256-`, answer: { status: 500 } });
      expect(await outcome(`${name}:v1`)).toMatch(/^error copying image: .*received unexpected HTTP status: 500 Internal Server Error$/);
      expect(await countBlobRequests()).toBe(0);
      proxy.arm();
      expect(await outcome(`${name}:v1`)).toBe("pulled");
    });

    test("a policy rejects an image whose signatures are invalid", async () => {
      await pushImage(cluster.registry, repository, `${image.digest.replace(":", "-")}.sig`, { files: new Map() });
      expect(await outcome(`${name}:v1`)).toBe(MISSING);
    });
  });

  // containers/image only checks the manifest for the platform; the index contains its digest, so a signature of the index is equivalent.
  test.for([
    ["the manifest for this platform", "amd64", "pulled"],
    ["the index", "index", "pulled"],
    ["the manifest for another platform", "arm64", MISSING],
  ] as const)("a policy checks a multi-platform image that has a signature of %s: %s", async ([, what, want]) => {
    const other = await push("arm64");
    const platform = (architecture: string) => ({ platform: { os: "linux", architecture } });
    const images = [
      { ...other, ...platform("arm64") },
      { ...image, ...platform("amd64") },
    ];
    const index = await pushIndex(cluster.registry, repository, "multi", images);
    const { digest } = { amd64: image, index, arm64: other }[what];
    await attach(digest, alice.claim(digest, name));
    expect([await outcome(`${name}:multi`), await outcome(`${name}@${index.digest}`)]).toEqual([want, want]);
    expect(await countBlobRequests()).toBe(want === "pulled" ? 2 : 0);
  });

  describe("of a stored image", () => {
    beforeEach(async () => {
      await attach(image.digest, alice.claim(image.digest, name));
      expect(await outcome(`${name}@${image.digest}`)).toBe("pulled");
      await proxy.down();
    });
    const again = (): Promise<string> => outcome(`${name}@${image.digest}`);

    test("a stored image is verified again without requests to the registry, also by another process", async () => {
      const other = await puller({ cacheDir: testPuller.cacheDir, signaturePolicy: policy });
      expect([await again(), await outcome(`${name}@${image.digest}`, { from: other.puller })]).toEqual(["pulled", "pulled"]);
    });

    test("a change of the policy applies at once to a stored image", async () => {
      await writeFile(policy, JSON.stringify({ default: [{ type: "reject" }] }));
      expect(await again()).toContain("is rejected by policy.");
      await writeFile(policy, signedBy([alice]));
      expect(await again()).toBe("pulled");
    });

    test("a stored image is rejected at once when its key is removed, and its signature with the new key is fetched once", async () => {
      const next = new Signer("Ed25519");
      await writeFile(policy, signedBy([next]));
      expect(await again()).toContain("connect ECONNREFUSED");
      await proxy.up();
      expect(await again()).toBe(UNVERIFIED);
      await attach(image.digest, alice.claim(image.digest, name), next.claim(image.digest, name));
      proxy.requests.length = 0;
      expect([await again(), await countBlobRequests()]).toEqual(["pulled", 0]);
      await proxy.down();
      expect(await again()).toBe("pulled");
    });

    test("a stored image without a signature is rejected when the policy requires a signature", async () => {
      await proxy.up();
      const later = await push("later");
      await writeFile(policy, JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }));
      expect(await outcome(`${name}@${later.digest}`)).toBe("pulled");
      await writeFile(policy, signedBy([alice]));
      expect(await outcome(`${name}@${later.digest}`)).toBe(MISSING);
    });

    test("a stored image is returned to another owner only if the signature covers the requested image name", async () => {
      const alias = `${HOST}/${cluster.name("alias/app")}@${image.digest}`;
      await proxy.up();
      expect(await outcome(`${name}@${image.digest}`, { owner: "second" })).toBe("pulled");
      expect(await outcome(alias, { owner: "third" })).not.toBe("pulled");
      expect(await testPuller.entries("third")).toEqual([]);
    });
  });

  test("the policy checks a mirrored image by its original name, with signatures from the mirror", async () => {
    const mirror = await RegistryProxy.start(cluster.registry.host);
    onTestFinished(() => mirror[Symbol.asyncDispose]());
    const source = insecureRegistry(proxy.host, HOST);
    const conf = `${source}[[registry.mirror]]\nlocation = "${mirror.host}"\ninsecure = true\n`;
    const { puller: mirrored } = await puller({ conf, signaturePolicy: policy });
    expect(await outcome(`${name}:v1`, { from: mirrored })).toBe(MISSING);
    await attach(image.digest, alice.claim(image.digest, `${mirror.host}/${repository}`));
    expect(await outcome(`${name}:v1`, { from: mirrored })).toContain(
      `Signature for identity "${mirror.host}/${repository}" is not accepted`,
    );
    await attach(image.digest, alice.claim(image.digest, name));
    expect(await outcome(`${name}:v1`, { from: mirrored })).toBe("pulled");
    expect(proxy.requests).toEqual([]);
    expect(mirror.requests.some(({ path }) => path.endsWith(".sig"))).toBe(true);
  });

  test("the policy checks a pull by digest with the tag from which the digest was resolved", async () => {
    const rule = [{ type: "sigstoreSigned", keyData: Buffer.from(alice.pem).toString("base64"), signedIdentity: { type: "matchExact" } }];
    await writeFile(policy, JSON.stringify({ default: [{ type: "reject" }], transports: { docker: { [`${name}:v1`]: rule } } }));
    await attach(image.digest, alice.claim(image.digest, `${name}:v1`));
    expect(await outcome(`${name}@${image.digest}`)).toContain("is rejected by policy.");
    expect(await outcome(`${name}@${image.digest}`, { identity: `${name}:v1` })).toBe("pulled");
  });

  test("olmv1 rbac applies the signature policy", async () => {
    const conf = join(await folder(), "registries.conf");
    await writeFile(conf, insecureRegistry(proxy.host, HOST));
    const files = new Map(Object.entries(tinyBundle("1.0.0")).map(([path, text]) => [path, Buffer.from(text)]));
    const bundle = await pushImage(cluster.registry, repository, "bundle", { files });
    const rbac = (): Promise<Ended> => olmv1("rbac", `${name}@${bundle.digest}`, "--registries-conf", conf, "--signature-policy", policy);
    const refused = await rbac();
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(refused.err).toContain(MISSING);
    await attach(bundle.digest, alice.claim(bundle.digest, name));
    expect(await rbac()).toMatchObject({ code: 0, err: "" });
  });

  describe("as a file", () => {
    const pullFirst = (): Promise<string> => outcome(`${name}:v1`);

    test("a missing or invalid policy file that the user set prevents all pulls", async () => {
      await writeFile(policy, '{"default":[{"type":"insecureAcceptAnything"}],"transport":{}}');
      expect(await pullFirst()).toBe(
        `error loading policy context: error loading signature policy: invalid policy in "${policy}": Unknown key "transport"`,
      );
      const { puller: without } = await puller({ signaturePolicy: `${policy}.missing` });
      expect(await outcome(`${name}:v1`, { from: without })).toMatch(
        /^error loading policy context: error loading signature policy: ENOENT: no such file or directory, open '.*\.missing'$/,
      );
      expect(proxy.requests).toEqual([]);
    });

    test("all pulls are permitted when there is no policy at the default path, and this is logged once", async () => {
      const open = await puller({ conf: insecureRegistry(proxy.host, HOST), signaturePolicy: { file: `${policy}.missing` } });
      expect([await outcome(`${name}:v1`, { from: open.puller }), await outcome(`${name}:v1`, { from: open.puller, owner: "b" })]).toEqual([
        "pulled",
        "pulled",
      ]);
      expect(open.logged.filter((line) => line.includes("no default policy found, using insecure policy"))).toHaveLength(1);
    });

    test("each new content of the policy file is logged once, with its unsupported parts", async () => {
      const countLogged = (text: string): number => testPuller.logged.filter((line) => line.includes(text)).length;
      await pullFirst();
      await pullFirst();
      expect(countLogged("signature policy in force")).toBe(1);
      await writeFile(policy, signedBy([alice], { "example.com": [{ type: "signedBy", keyType: "GPGKeys", keyPath: "/key" }] }));
      await pullFirst();
      await pullFirst();
      expect([countLogged("signature policy in force"), countLogged('"unsupported":{"example.com":"\\"signedBy\\""}')]).toEqual([2, 1]);
    });

    test("a policy can reference key files, and a replaced key file is read again", async () => {
      const key = join(await folder(), "cosign.pub");
      const rule = { type: "sigstoreSigned", keyPath: key, signedIdentity: { type: "matchRepository" } };
      await writeFile(policy, JSON.stringify({ default: [rule] }));
      await attach(image.digest, alice.claim(image.digest, name));
      expect(await pullFirst()).toMatch(
        /^error copying image: Source image rejected: cannot use a key in the signature policy: ENOENT: no such file/,
      );
      await writeFile(key, mallory.pem);
      expect(await pullFirst()).toBe(UNVERIFIED);
      await writeFile(key, alice.pem);
      expect(await pullFirst()).toBe("pulled");
      expect(JSON.parse(await readFile(join(testPuller.cacheDir, "ext", `.${image.digest}.json`), "utf8"))).toMatchObject({
        instance: image.digest,
        signatures: [{}],
      });
    });
  });
});
