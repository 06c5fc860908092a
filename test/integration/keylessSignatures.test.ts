import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { getProblems, RetryableError } from "../../pkg/errors/errors.ts";
import { type PushedDescriptor, pushImage } from "../../pkg/oci/publish/push.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { folder, insecureRegistry, puller } from "../support/pulling.ts";
import { RegistryProxy } from "../support/registryProxy.ts";
import { pushBundle, pushSignatures } from "../support/signing.ts";
import { type KeylessParts, TestSigstore } from "../support/sigstore.ts";

const signal = new AbortController().signal;
const HOST = "quay.io";
const EMAIL = "alice@example.com";
const FORMS = ["tag", "bundle"] as const;

describeWithCluster("keyless signatures in a registry", (cluster) => {
  let count = 0;
  let repository: string;
  let name: string;
  let image: PushedDescriptor;
  let proxy: RegistryProxy;
  let dir: string;
  let sigstore: TestSigstore;
  let testPuller: Awaited<ReturnType<typeof puller>>;

  beforeEach(async () => {
    count += 1;
    repository = cluster.name(`keyless/app-${count}`);
    name = `${HOST}/${repository}`;
    image = await pushImage(cluster.registry, repository, "v1", { files: new Map([["a", Buffer.from(repository)]]) });
    proxy = await RegistryProxy.start(cluster.registry.host);
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    dir = await folder();
    sigstore = await TestSigstore.create();
    await writeFile(join(dir, "fulcio.pem"), sigstore.chainPem);
    await writeFile(join(dir, "rekor.pub"), sigstore.rekor.pem);
    await writeFile(join(dir, "trusted_root.json"), sigstore.trustedRoot);
    testPuller = await puller({ conf: insecureRegistry(proxy.host, HOST), signaturePolicy: join(dir, "policy.json") });
  });

  /** Writes a policy that requires a keyless signature. */
  const requireSigner = (roots: "keys" | "trusted root", email = EMAIL): Promise<void> => {
    const subject = { oidcIssuer: "https://issuer.test", subjectEmail: email };
    const fulcio = roots === "keys" ? { caPath: join(dir, "fulcio.pem") } : { trustedRootPath: join(dir, "trusted_root.json") };
    const log = roots === "keys" ? { rekorPublicKeyPath: join(dir, "rekor.pub") } : {};
    const requirement = { type: "sigstoreSigned", fulcio: { ...fulcio, ...subject }, ...log, signedIdentity: { type: "matchRepository" } };
    return writeFile(join(dir, "policy.json"), JSON.stringify({ default: [requirement] }));
  };
  const sign = (form: (typeof FORMS)[number]): Promise<KeylessParts> =>
    form === "tag"
      ? sigstore.claim(image.digest, name, { email: EMAIL, hasSct: true })
      : sigstore.state(image.digest, name, { email: EMAIL, hasSct: true });
  const attach = (parts: KeylessParts): Promise<void> =>
    parts.kind === "dsse"
      ? pushBundle(cluster.registry, repository, image, sigstore.toBundle(parts))
      : pushSignatures(cluster.registry, repository, image.digest, [sigstore.toTagged(parts)]);
  /** Returns "pulled", or the reasons in the problem. */
  const pull = (): Promise<string> =>
    testPuller.puller.pull("ext", `${name}@${image.digest}`, { signal }).then(
      () => "pulled",
      (err: RetryableError) => {
        expect(err).toBeInstanceOf(RetryableError);
        expect(getProblems(err)).toMatchObject([{ type: "ImageRejected" }]);
        const [problem] = getProblems(err);
        return (problem?.details?.signatures ?? []).map(({ reason }) => reason).join();
      },
    );

  test.for(FORMS)("an image with a keyless signature in a %s is accepted, and checked again without the registry", async (form) => {
    await requireSigner("keys");
    expect(await pull()).toBe("SignatureMissing");
    await attach(await sign(form));
    expect(await pull()).toBe("pulled");
    await proxy.down();
    await requireSigner("trusted root");
    expect(await pull()).toBe("pulled");
    await proxy.up();
    await requireSigner("trusted root", "mallory@example.com");
    expect(await pull()).toBe("SubjectMismatch");
  });

  test.for(FORMS)("an image with a changed log entry in a %s is rejected with the reason", async (form) => {
    await requireSigner("keys");
    const parts = await sign(form);
    const set = Buffer.from(parts.set);
    set.writeUInt8(set.readUInt8(20) ^ 1, 20);
    await attach({ ...parts, set });
    expect(await pull()).toBe("LogEntryUntrusted");
  });
});
