import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { needsSignature, readSignatureDemand } from "../../pkg/browse/signatureDemand.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { OpenShift } from "../support/openShift.ts";
import { expectProblem } from "../support/problems.ts";
import { grantInstaller, serviceAccount } from "../support/serviceAccounts.ts";
import { pushBundle, pushSignatures, Signer } from "../support/signing.ts";
import { TestSigstore } from "../support/sigstore.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { World } from "../support/world.ts";

const EMAIL = "release@example.com";
const MISSING = "A signature was required, but no signature exists";
const alice = new Signer();
const byKey = { policyType: "PublicKey", publicKey: { keyData: toBase64(alice.pem) } };

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function bytes(files: Record<string, string>): Map<string, Uint8Array> {
  return new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
}

describeWithPrivateCluster("image policies of OpenShift", (cluster) => {
  let openShift: OpenShift;
  let sigstore: TestSigstore;
  let world: World;
  beforeAll(async () => {
    openShift = new OpenShift(cluster.client);
    sigstore = await TestSigstore.create();
    await openShift.installImagePolicies();
    world = await World.start(cluster);
  });
  afterAll(() => world?.stop());

  const byFulcio = () => ({
    policyType: "FulcioCAWithRekor",
    fulcioCAWithRekor: {
      fulcioCAData: toBase64(sigstore.chainPem),
      rekorKeyData: toBase64(sigstore.rekor.pem),
      fulcioSubject: { oidcIssuer: "https://issuer.test", signedEmail: EMAIL },
    },
  });
  /** Pushes a catalog with one package. @param image of its bundle */
  const pushCatalog = (name: string, packageName: string, image = "quay.io/ns/none:v1"): Promise<string> => {
    const bundle = `${packageName}.v1.0.0`;
    const properties = [{ type: "olm.package", value: { packageName, version: "1.0.0" } }];
    const metas = [
      { schema: "olm.package", name: packageName },
      { schema: "olm.channel", package: packageName, name: "stable", entries: [{ name: bundle }] },
      { schema: "olm.bundle", package: packageName, name: bundle, image, properties },
    ];
    return world.pushCatalog(name, "v1", bytes({ "catalog.json": metas.map((meta) => JSON.stringify(meta)).join("\n") }));
  };
  const applyCatalog = (name: string, ref: string): Promise<KubeObject> =>
    world.apply({
      apiVersion: API_VERSION,
      kind: "ClusterCatalog",
      metadata: { name },
      spec: { source: { type: "Image", image: { ref } } },
    });
  const rejected = (kind: "ClusterCatalog" | "ClusterExtension", name: string, text: string): Promise<KubeObject> =>
    world.condition(kind, name, (c) => c("Progressing")?.message.includes(text) === true);
  const serving = (name: string): Promise<KubeObject> => world.condition("ClusterCatalog", name, (c) => c("Serving")?.status === "True");

  test("every catalog is rejected until catalogd may read the policies", async () => {
    await applyCatalog("open", await pushCatalog("open/catalog", "open"));
    const object = await rejected("ClusterCatalog", "open", "ClusterImagePolicy objects cannot be read, and may require a signature");
    expectProblem(object, "ImageRejected", { details: [{ reason: "PolicyUnreadable" }] });
    await openShift.grantImagePolicies();
    await serving("open");
  });

  test("a catalog is rejected until it is signed as a ClusterImagePolicy requires, and a changed policy takes effect", async () => {
    const ref = await pushCatalog("keyless/catalog", "keyless");
    const [name = "", digest = ""] = ref.split("@");
    await openShift.setImagePolicy("keyless", [name], byKey);
    const demand = await readSignatureDemand(cluster.client, "olmv1-system", AbortSignal.timeout(60_000));
    expect(typeof demand === "string" ? demand : needsSignature(demand, ref)).toBe(true);
    await applyCatalog("keyless", ref);
    const object = await rejected("ClusterCatalog", "keyless", `required by ClusterImagePolicy "keyless"`);
    expectProblem(object, "ImageRejected", { message: MISSING, details: [{ reason: "SignatureMissing" }] });
    const repository = name.slice("quay.io/".length);
    const parts = await sigstore.state(digest, name, { email: EMAIL });
    const subject = { mediaType: "application/vnd.oci.image.manifest.v1+json", digest, size: 1 };
    await pushBundle(cluster.registry, repository, subject, sigstore.toBundle(parts));
    await rejected("ClusterCatalog", "keyless", "does not match any key in the policy");
    await openShift.setImagePolicy("keyless", [name], byFulcio());
    await serving("keyless");
  });

  test("a bundle must meet the ImagePolicy of the namespace of its extension, until the policy is deleted", async () => {
    const bundle = await world.pushBundle("policies/bundle", "v1", "p", bytes(tinyBundle("1.0.0")));
    const [name = "", digest = ""] = bundle.split("@");
    const ref = await pushCatalog("policies/catalog", "p", bundle);
    const extension: ClusterExtension = createExtension("policies", { packageName: "p" });
    const namespace = getNamespace(extension);
    await grantInstaller(cluster.client, extension, []);
    await serviceAccount(cluster.client, namespace, extension.spec.serviceAccount?.name ?? "", [EVERYTHING]);
    await openShift.setImagePolicy("team", ["quay.io"], byKey, namespace);
    await applyCatalog("policies", ref);
    await serving("policies");
    await world.apply(extension);
    const object = await rejected("ClusterExtension", "policies", `required by ImagePolicy "${namespace}/team"`);
    expectProblem(object, "ImageRejected", { message: MISSING, details: [{ reason: "SignatureMissing" }] });
    await pushSignatures(cluster.registry, name.slice("quay.io/".length), digest, [new Signer().claim(digest, name)]);
    await rejected("ClusterExtension", "policies", "does not match any key in the policy");
    await openShift.removeImagePolicy("team", namespace);
    await world.installed("policies", "1.0.0");
    expect(await cluster.client.list({ apiVersion: "config.openshift.io/v1", kind: "ImagePolicy" })).toMatchObject({ items: [] });
  });
});
