import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { expectProblem } from "../support/problems.ts";
import { grantInstaller, serviceAccount } from "../support/serviceAccounts.ts";
import { pushSignatures, Signer, signedBy } from "../support/signing.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { World } from "../support/world.ts";

const MISSING = "error copying image: Source image rejected: A signature was required, but no signature exists";
const VERSIONS = ["1.0.0", "1.1.0"];
const alice = new Signer();

function bytes(files: Record<string, string>): Map<string, Uint8Array> {
  return new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
}

function buildCatalog(images: ReadonlyMap<string, string>): string {
  const entries = VERSIONS.filter((version) => images.has(version)).map((version, index) => ({
    name: `p.v${version}`,
    ...(index > 0 ? { replaces: `p.v${VERSIONS[index - 1]}` } : {}),
  }));
  const bundles = [...images].map(([version, image]) => {
    const properties = [{ type: "olm.package", value: { packageName: "p", version } }];
    return { schema: "olm.bundle", package: "p", name: `p.v${version}`, image, properties };
  });
  const metas = [{ schema: "olm.package", name: "p" }, { schema: "olm.channel", package: "p", name: "stable", entries }, ...bundles];
  return metas.map((meta) => JSON.stringify(meta)).join("\n");
}

describeWithPrivateCluster("catalogs and bundles under a signature policy", (cluster) => {
  let dir: string;
  let policy: string;
  let world: World;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "olmv1-signed-"));
    policy = join(dir, "policy.json");
    await writeFile(policy, signedBy([alice]));
    world = await World.start(cluster, { signaturePolicy: policy });
  });
  afterAll(async () => {
    await world?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  /** Signs an image in the registry by digest. */
  async function sign(ref: string): Promise<void> {
    const [name = "", digest = ""] = ref.split("@");
    await pushSignatures(cluster.registry, name.slice("quay.io/".length), digest, [alice.claim(digest, name)]);
  }
  const retrying = (kind: "ClusterCatalog" | "ClusterExtension", name: string, text: string): Promise<KubeObject> =>
    world.condition(kind, name, (c) => c("Progressing")?.reason === "Retrying" && c("Progressing")?.message.includes(text) === true);
  async function expectEvent(kind: string, name: string, text: string): Promise<void> {
    await eventually(async () => {
      const selection = { fieldSelector: `involvedObject.name=${name},involvedObject.kind=${kind}` };
      const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Event" }, selection);
      const messages = items.map((event) => `${String(event["reason"])}: ${String(event["message"])}`);
      expect(messages).toContainEqual(expect.stringContaining(text));
    });
  }
  const readServed = async (catalog: string): Promise<string> =>
    (await fetch(`${world.installation.catalogs}/catalogs/${catalog}/api/v1/all`)).text();
  const bundle = (version: string): Promise<string> => world.pushBundle("signed/bundle", `v${version}`, "p", bytes(tinyBundle(version)));
  const pushCatalog = (tag: string, images: Record<string, string>): Promise<string> =>
    world.pushCatalog("signed/catalog", tag, bytes({ "catalog.json": buildCatalog(new Map(Object.entries(images))) }));
  const applyCatalog = (ref: string): Promise<KubeObject> =>
    world.apply({
      apiVersion: API_VERSION,
      kind: "ClusterCatalog",
      metadata: { name: "signed" },
      spec: { source: { type: "Image", image: { ref } } },
    });

  test("unsigned content is not used until it is signed, and the controllers keep served catalogs and installed bundles", async () => {
    const first = await bundle("1.0.0");
    const catalog = await pushCatalog("v1", { "1.0.0": first });
    await applyCatalog(catalog);
    const rejected = await retrying("ClusterCatalog", "signed", `source catalog content: ${MISSING}`);
    const message = "A signature was required, but no signature exists";
    const details = [{ reason: "SignatureMissing", message }];
    expectProblem(rejected, "ImageRejected", { message, details });
    await expectEvent("ClusterCatalog", "signed", `ImageRejected: source catalog content: ${MISSING}`);
    await eventually(async () => {
      const metrics = await (await fetch(`${world.installation.probes.catalogd}/metrics`)).text();
      expect(metrics).toMatch(/^catalogd_catalog_failures_total\{catalog="signed",reason="rejected"\} [1-9]/m);
    });
    await sign(catalog);
    await world.condition("ClusterCatalog", "signed", (c) => c("Serving")?.status === "True");
    await expectEvent("ClusterCatalog", "signed", "Recovered: ");

    const extension: ClusterExtension = createExtension("signed", { packageName: "p" });
    const namespace = getNamespace(extension);
    const { serviceAccount: account } = extension.spec;
    await grantInstaller(cluster.client, extension, []);
    await serviceAccount(cluster.client, namespace, account?.name ?? "", [EVERYTHING]);
    await world.apply(extension);
    const waiting = await retrying("ClusterExtension", "signed", MISSING);
    expectProblem(waiting, "ImageRejected", { message, details });
    await expectEvent("ClusterExtension", "signed", `ImageRejected: error for resolved bundle "p.v1.0.0" with version "1.0.0": ${MISSING}`);
    await sign(first);
    await world.installed("signed", "1.0.0");

    const second = await bundle("1.1.0");
    const newer = await pushCatalog("v2", { "1.0.0": first, "1.1.0": second });
    await applyCatalog(newer);
    const held = await retrying("ClusterCatalog", "signed", MISSING);
    expect((held["status"] as { conditions: { type: string; status: string }[] }).conditions).toContainEqual(
      expect.objectContaining({ type: "Serving", status: "True" }),
    );
    expect(await readServed("signed")).not.toContain("p.v1.1.0");
    await sign(newer);
    const upgrading = await retrying("ClusterExtension", "signed", MISSING);
    expect((upgrading as ClusterExtension).status?.install?.bundle.version).toBe("1.0.0");
    expect(await readServed("signed")).toContain("p.v1.1.0");
    await sign(second);
    await world.installed("signed", "1.1.0");
  });

  test("each server logs the active signature policy once", async () => {
    for (const program of ["catalogd", "operator-controller"] as const) {
      const log = await readFile(join(world.workDir, `${program}.log`), "utf8");
      expect(log.match(/"signature policy in force"/g)).toHaveLength(1);
    }
  });
});
