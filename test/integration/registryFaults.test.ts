import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findCondition } from "../../pkg/api/conditions.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { CONFIG_DIR_LABEL } from "../../pkg/oci/pull/imageFilter.ts";
import { type CaseHead, loadCases } from "../support/caseFiles.ts";
import { CatalogdAtWork } from "../support/catalogdAtWork.ts";
import { ClosedRegistry, PASSWORD } from "../support/closedRegistry.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { expectProblem } from "../support/problems.ts";
import { insecureRegistry, puller, QUICK } from "../support/pulling.ts";
import { type RegistryFault, RegistryProxy } from "../support/registryProxy.ts";
import { pushSignatures, Signer, signedBy } from "../support/signing.ts";
import { TempFolder } from "../support/tempFolder.ts";

/** A fault, and its visible effect. */
interface FaultCase extends CaseHead {
  /** Form of the reference to the new image. */
  by: "tag" | "digest";
  faults: RegistryFault[];
  want: {
    /** Reason of condition Progressing; Succeeded if the fault is handled without a visible effect. */
    reason: "Retrying" | "Succeeded";
    /** The condition's message, a regular expression. */
    message?: string;
    /** `reason` of the metric, if it is checked. */
    class?: string;
    /** Whether the fault ends without an action by the test. */
    recovers?: "by itself";
  };
}

/** Timeout of a pull. */
const PULL_MS = 8_000;
/** Timeout of a silent mirror. */
const SILENT_MS = 2_000;
/** A source with two mirrors: first the proxy, then the registry. */
const MIRRORED = "mirrored.example";
/** A name for the proxy, with images that must be signed. */
const SIGNED = "signed.example";
const LABELS = { [CONFIG_DIR_LABEL]: "/configs" };

describeWithPrivateCluster("faults of a registry", (cluster) => {
  const signer = new Signer();
  const files = new TempFolder();
  let proxy: RegistryProxy;
  let catalogd: CatalogdAtWork;
  beforeAll(async () => {
    await cluster.installCrds();
    proxy = await RegistryProxy.start(cluster.registry.host);
    const { host } = cluster.registry;
    const mirrors = [proxy.host, host].map((location) => `[[registry.mirror]]\nlocation = "${location}"\ninsecure = true\n`).join("");
    const conf = insecureRegistry(proxy.host) + insecureRegistry(host) + insecureRegistry(proxy.host, SIGNED);
    const anything = [{ type: "insecureAcceptAnything" }];
    const policy = signedBy([signer], { [proxy.host]: anything, [host]: anything, [MIRRORED]: anything });
    files.write("policy", { "policy.json": policy });
    catalogd = await CatalogdAtWork.start(cluster, `${conf}[[registry]]\nlocation = "${MIRRORED}"\n${mirrors}`, {
      limits: { ...QUICK, timeoutMs: PULL_MS, placeMs: SILENT_MS, stallMs: SILENT_MS },
      signaturePolicy: `${files.path}/policy/policy.json`,
    });
  });
  afterAll(async () => {
    await catalogd?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
    files[Symbol.dispose]();
  });

  /** Pushes a catalog to the registry, not through the proxy. @returns its digest. */
  async function push(repository: string, tag: string, padding = 0): Promise<string> {
    const meta = { schema: "olm.package", name: tag, defaultChannel: "a", padding: randomBytes(padding).toString("base64") };
    const files = new Map([["configs/catalog.json", Buffer.from(JSON.stringify(meta))]]);
    return (await pushImage(cluster.registry, repository, tag, { files, labels: LABELS })).digest;
  }
  /** Pushes a small catalog. @returns its repository and tag. */
  const pushCatalog = async (repository: string): Promise<string> => {
    await push(repository, "v1");
    return `${repository}:v1`;
  };
  const getServedDigest = (name: string): string | undefined => catalogd.store.get(name)?.origin.digest;
  const count = (counts: Record<string, number>): number => Object.values(counts).reduce((sum, one) => sum + one, 0);

  describe("during an update", () => {
    test.for(loadCases<FaultCase>("registry-faults").map((c, index) => ({ ...c, index })))("$name", async ({ by, faults, want, index }) => {
      const [name, repository] = [`fault-${index}`, `faults/image-${index}`];
      const fillPlaceholders = (text: string): string =>
        text.replaceAll("HOST", proxy.host).replaceAll("REPO", repository).replaceAll("DIGEST", second);
      const first = await push(repository, "v1");
      const second = await push(repository, "v2", 2_000);
      await catalogd.apply(name, `${proxy.host}/${repository}:v1`);
      await catalogd.progressing(name, "Succeeded");
      proxy.arm(...(JSON.parse(fillPlaceholders(JSON.stringify(faults))) as RegistryFault[]));
      await catalogd.apply(name, `${proxy.host}/${repository}${by === "tag" ? ":v2" : `@${second}`}`);
      const { catalog, condition } = await catalogd.progressing(name, want.reason);
      if (want.reason === "Retrying") {
        expect(condition).toMatchObject({ status: "True" });
        expect(condition.message).toMatch(new RegExp(fillPlaceholders(want.message ?? "")));
        expect(findCondition(catalog.status?.conditions, "Serving")).toMatchObject({ status: "True", reason: "Available" });
        expect([catalog.status?.resolvedSource?.image.ref, getServedDigest(name)]).toEqual([`${proxy.host}/${repository}@${first}`, first]);
        if (want.recovers === undefined) {
          const before = count(await catalogd.failures(name));
          await eventually(async () => expect(count(await catalogd.failures(name))).toBeGreaterThan(before + 3));
          // The same failure again causes no write.
          expect((await catalogd.get(name))?.metadata.resourceVersion).toBe(catalog.metadata.resourceVersion);
          proxy.arm();
        }
        const { class: cause } = want; // counted after the status write
        if (cause !== undefined) await eventually(async () => expect(Object.keys(await catalogd.failures(name))).toEqual([cause]));
        await catalogd.progressing(name, "Succeeded");
      }
      expect(getServedDigest(name)).toBe(second);
      await catalogd.remove(name);
    });
  });

  test("catalogd retries while a registry is down, and serves the last good content when the registry is down again later", async () => {
    const ref = `${proxy.host}/faults/down:v1`;
    const first = await push("faults/down", "v1");
    await proxy.down();
    await catalogd.apply("down", ref);
    const { catalog, condition } = await catalogd.progressing("down", "Retrying");
    expect(condition.message).toBe(
      `source catalog content: error creating image source: pinging container registry ${proxy.host}: Get "http://${proxy.host}/v2/": connect ECONNREFUSED ${proxy.host}`,
    );
    expect(findCondition(catalog.status?.conditions, "Serving")).toBeUndefined();
    expectProblem(catalog, "RegistryUnavailable", { message: "connect ECONNREFUSED" });
    await proxy.up();
    await catalogd.progressing("down", "Succeeded");
    const second = await push("faults/down", "v2");
    await proxy.down();
    await catalogd.apply("down", `${proxy.host}/faults/down:v2`);
    await catalogd.progressing("down", "Retrying");
    expect(getServedDigest("down")).toBe(first);
    await proxy.up();
    await catalogd.progressing("down", "Succeeded");
    expect(getServedDigest("down")).toBe(second);
    expect(Object.keys(await catalogd.failures("down"))).toEqual(["unreachable"]);
    await catalogd.remove("down");
    await eventually(async () => expect(await catalogd.failures("down")).toEqual({})); // deleted when catalogd notices the deletion
  });

  test("a slow registry does not block other catalogs, and its timeout is reported", async () => {
    const slow = ["slow-a", "slow-b", "slow-c", "slow-d", "slow-e"];
    for (const name of slow) await push(`slow/${name}`, "v1", 150_000);
    await push("faults/quick", "v1");
    proxy.arm({ on: "blob", repository: "slow/", bytesPerSecond: 10_000 });
    for (const name of slow) await catalogd.apply(name, `${proxy.host}/slow/${name}:v1`);
    await eventually(() => {
      for (const name of slow) expect(proxy.count("blob", `slow/${name}`)).toBeGreaterThan(0);
    });
    await catalogd.apply("quick", `${proxy.host}/faults/quick:v1`);
    await catalogd.progressing("quick", "Succeeded");
    expect(slow.filter((name) => getServedDigest(name) !== undefined)).toEqual([]);
    for (const name of slow) {
      const { condition } = await catalogd.progressing(name, "Retrying");
      expect(condition.message).toBe(
        `source catalog content: pull of ${proxy.host}/slow/${name}:v1 timed out after ${PULL_MS / 1_000} s: retrying; a closer mirror may be faster`,
      );
      await eventually(async () => expect(await catalogd.failures(name)).toHaveProperty("timeout"));
    }
    proxy.arm();
    for (const name of slow) await catalogd.progressing(name, "Succeeded");
    for (const name of ["quick", ...slow]) await catalogd.remove(name);
  });

  test("a registry that hangs blocks no catalog of another registry and no deletion, even with more catalogs than workers", async () => {
    const hanging = Array.from({ length: 20 }, (_, index) => `hanging-${index}`);
    await push("hanging/image", "v1");
    await push("faults/other", "v1");
    proxy.arm({ on: "manifest", repository: "hanging/", hang: true });
    for (const name of hanging) await catalogd.apply(name, `${proxy.host}/hanging/image:v1`);
    for (const name of hanging) {
      const { condition } = await catalogd.progressing(name, "RollingOut");
      expect([condition.status, condition.message]).toEqual(["True", `Unpacking image ${proxy.host}/hanging/image:v1`]);
    }
    const text = await catalogd.metrics.text();
    expect(text).toContain(`catalogd_image_pulls{state="running"} 1\ncatalogd_image_pulls{state="waiting"} ${hanging.length - 1}\n`);
    await catalogd.apply("other", `${cluster.registry.host}/faults/other:v1`);
    await catalogd.progressing("other", "Succeeded");
    for (const name of [...hanging, "other"]) await catalogd.remove(name);
    proxy.arm();
  });

  test.for<[how: string, fault: RegistryFault, requests: number]>([
    ["sends no manifest", { on: "manifest", hang: true }, 2], // one request to resolve the tag, one for the pull
    ["sends no layer", { on: "blob", hang: true }, 1],
    ["trickles", { on: "blob", bytesPerSecond: 10 }, 1],
  ])("a first mirror that %s is skipped, and blocks no other catalog", async ([how, fault, requests]) => {
    const [name, repository] = [`mirrored-${how.replaceAll(" ", "-")}`, `mirrored/${how.replaceAll(" ", "-")}`];
    const digest = await push(repository, "v1", 2_000);
    proxy.arm({ ...fault, repository });
    await catalogd.apply(name, `${MIRRORED}/${repository}:v1`);
    await eventually(() => expect(proxy.count(fault.on, repository)).toBeGreaterThan(0));
    await catalogd.apply("beside", `${proxy.host}/${await pushCatalog("faults/beside")}`);
    await catalogd.progressing("beside", "Succeeded");
    const { catalog } = await catalogd.progressing(name, "Succeeded");
    expect(catalog.status?.resolvedSource?.image.ref).toBe(`${MIRRORED}/${repository}@${digest}`);
    expect([proxy.count(fault.on, repository), await catalogd.failures(name)]).toEqual([requests, {}]);
    proxy.arm();
    for (const one of [name, "beside"]) await catalogd.remove(one);
  });

  test("a registry that does not send signatures blocks no other catalog of the same registry and no deletion", async () => {
    const repository = "signed/image";
    const digest = await push(repository, "v1");
    await pushSignatures(cluster.registry, repository, digest, [signer.claim(digest, `${SIGNED}/${repository}`)]);
    proxy.arm({ on: "manifest", repository: `${repository}/manifests/sha256-`, hang: true });
    const names = ["signed-a", "signed-b", "signed-c"];
    for (const name of names) await catalogd.apply(name, `${SIGNED}/${repository}:v1`);
    for (const name of names) await catalogd.progressing(name, "RollingOut");
    await catalogd.apply("beside", `${proxy.host}/${await pushCatalog("faults/beside")}`);
    await catalogd.progressing("beside", "Succeeded");
    await catalogd.remove("signed-a");
    expect(getServedDigest("signed-b")).toBeUndefined();
    proxy.arm();
    await catalogd.progressing("signed-b", "Succeeded");
    await catalogd.progressing("signed-c", "Succeeded");
    for (const name of ["signed-b", "signed-c", "beside"]) await catalogd.remove(name);
  });

  test("catalogd requests the manifest when a catalog's spec changes, and layers only when the image has changed", async () => {
    const repository = "faults/polled";
    await push(repository, "latest", 100);
    const ref = `${proxy.host}/${repository}:latest`;
    await catalogd.apply("polled", ref, { pollIntervalMinutes: 5 });
    await catalogd.progressing("polled", "Succeeded");
    const [manifests, blobs] = [proxy.count("manifest", repository), proxy.count("blob", repository)];
    const { lastModified } = catalogd.store.get("polled") ?? {};
    await catalogd.apply("polled", ref, { pollIntervalMinutes: 6 });
    await catalogd.progressing("polled", "Succeeded");
    expect([proxy.count("manifest", repository), proxy.count("blob", repository)]).toEqual([manifests + 1, blobs]);
    expect(proxy.requests.findLast(({ kind }) => kind === "manifest")?.method).toBe("HEAD");
    expect(catalogd.store.get("polled")?.lastModified).toEqual(lastModified);
    const second = await push(repository, "latest", 100);
    await catalogd.apply("polled", ref, { pollIntervalMinutes: 7 });
    await catalogd.progressing("polled", "Succeeded");
    expect([getServedDigest("polled"), proxy.count("blob", repository)]).toEqual([second, blobs * 2]);
    await catalogd.remove("polled");
  });

  test("catalogd sends credentials to a registry that redirects requests for layers, but not to the redirect target", async () => {
    await using closed = await ClosedRegistry.start();
    await using front = await RegistryProxy.start(closed.host);
    await using elsewhere = await RegistryProxy.start(cluster.registry.host);
    const image = { files: new Map([["a", Buffer.from("1")]]) };
    for (const target of [closed.target, cluster.registry]) await pushImage(target, "redirected/app", "v1", image);
    front.arm({ on: "blob", redirectTo: elsewhere.host });
    const { puller: p } = await puller({
      conf: insecureRegistry(front.host),
      auths: { [front.host]: { username: "user", password: PASSWORD } },
    });
    await p.pull("ext", `${front.host}/redirected/app:v1`, { signal: new AbortController().signal });
    const requests = front.requests.filter(({ kind }) => kind !== "ping");
    expect(new Set(requests.map(({ authorization }) => authorization))).toEqual(new Set([`Basic ${btoa(`user:${PASSWORD}`)}`]));
    expect(elsewhere.requests.map(({ kind, authorization }) => [kind, authorization])).toEqual([
      ["blob", undefined],
      ["blob", undefined],
    ]);
  });
});
