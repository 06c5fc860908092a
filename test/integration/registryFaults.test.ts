import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findCondition } from "../../pkg/api/conditions.ts";
import { CONFIG_DIR_LABEL } from "../../pkg/oci/catalogRoot.ts";
import { pushImage } from "../../pkg/oci/push.ts";
import { type CaseHead, loadCases } from "../support/caseFiles.ts";
import { CatalogdAtWork } from "../support/catalogdAtWork.ts";
import { ClosedRegistry, PASSWORD } from "../support/closedRegistry.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { insecureRegistry, puller, QUICK } from "../support/pulling.ts";
import { type RegistryFault, RegistryProxy } from "../support/registryProxy.ts";

/** A fault, and what a user sees of it. */
interface FaultCase extends CaseHead {
  /** How the catalog names the new image. */
  by: "tag" | "digest";
  faults: RegistryFault[];
  want: {
    /** Of condition Progressing; Succeeded where the fault is got over unseen. */
    reason: "Retrying" | "Succeeded";
    /** The condition's message, a regular expression. */
    message?: string;
    /** `reason` of the metric, where it is looked at. */
    class?: string;
    /** The fault ends without the test ending it. */
    recovers?: "by itself";
  };
}

/** How long a pull may take. */
const PULL_MS = 8_000;
const LABELS = { [CONFIG_DIR_LABEL]: "/configs" };

describeWithPrivateCluster("a registry at fault", (cluster) => {
  let proxy: RegistryProxy;
  let catalogd: CatalogdAtWork;
  beforeAll(async () => {
    await cluster.installCrds();
    proxy = await RegistryProxy.start(cluster.registry.host);
    catalogd = await CatalogdAtWork.start(cluster, insecureRegistry(proxy.host) + insecureRegistry(cluster.registry.host), {
      limits: { ...QUICK, timeoutMs: PULL_MS },
    });
  });
  afterAll(async () => {
    await catalogd?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
  });

  /** Pushes a catalog straight into the registry. @returns its digest. */
  async function push(repository: string, tag: string, padding = 0): Promise<string> {
    const meta = { schema: "olm.package", name: tag, defaultChannel: "a", padding: randomBytes(padding).toString("base64") };
    const files = new Map([["configs/catalog.json", Buffer.from(JSON.stringify(meta))]]);
    return (await pushImage(cluster.registry, repository, tag, { files, labels: LABELS })).digest;
  }
  const served = (name: string): string | undefined => catalogd.store.get(name)?.origin.digest;
  const count = (counts: Record<string, number>): number => Object.values(counts).reduce((sum, one) => sum + one, 0);

  describe("while an image is replaced", () => {
    test.for(loadCases<FaultCase>("registry-faults").map((c, index) => ({ ...c, index })))("$name", async ({ by, faults, want, index }) => {
      const [name, repository] = [`fault-${index}`, `faults/image-${index}`];
      const filled = (text: string): string =>
        text.replaceAll("HOST", proxy.host).replaceAll("REPO", repository).replaceAll("DIGEST", second);
      const first = await push(repository, "v1");
      const second = await push(repository, "v2", 2_000);
      await catalogd.apply(name, `${proxy.host}/${repository}:v1`);
      await catalogd.progressing(name, "Succeeded");
      proxy.arm(...(JSON.parse(filled(JSON.stringify(faults))) as RegistryFault[]));
      await catalogd.apply(name, `${proxy.host}/${repository}${by === "tag" ? ":v2" : `@${second}`}`);
      const { catalog, condition } = await catalogd.progressing(name, want.reason);
      if (want.reason === "Retrying") {
        expect(condition).toMatchObject({ status: "True" });
        expect(condition.message).toMatch(new RegExp(filled(want.message ?? "")));
        expect(findCondition(catalog.status?.conditions, "Serving")).toMatchObject({ status: "True", reason: "Available" });
        expect([catalog.status?.resolvedSource?.image.ref, served(name)]).toEqual([`${proxy.host}/${repository}@${first}`, first]);
        if (want.recovers === undefined) {
          const before = count(await catalogd.failures(name));
          await eventually(async () => expect(count(await catalogd.failures(name))).toBeGreaterThan(before + 3));
          // The same failure again writes nothing.
          expect((await catalogd.get(name))?.metadata.resourceVersion).toBe(catalog.metadata.resourceVersion);
          proxy.arm();
        }
        if (want.class !== undefined) expect(Object.keys(await catalogd.failures(name))).toEqual([want.class]);
        await catalogd.progressing(name, "Succeeded");
      }
      expect(served(name)).toBe(second);
      await catalogd.remove(name);
    });
  });

  test("that is down at first is asked again until it is up, and when it goes down later the last good content stays", async () => {
    const ref = `${proxy.host}/faults/down:v1`;
    const first = await push("faults/down", "v1");
    await proxy.down();
    await catalogd.apply("down", ref);
    const { catalog, condition } = await catalogd.progressing("down", "Retrying");
    expect(condition.message).toBe(
      `source catalog content: error creating image source: pinging container registry ${proxy.host}: Get "http://${proxy.host}/v2/": connect ECONNREFUSED ${proxy.host}`,
    );
    expect(findCondition(catalog.status?.conditions, "Serving")).toBeUndefined();
    await proxy.up();
    await catalogd.progressing("down", "Succeeded");
    const second = await push("faults/down", "v2");
    await proxy.down();
    await catalogd.apply("down", `${proxy.host}/faults/down:v2`);
    await catalogd.progressing("down", "Retrying");
    expect(served("down")).toBe(first);
    await proxy.up();
    await catalogd.progressing("down", "Succeeded");
    expect(served("down")).toBe(second);
    expect(Object.keys(await catalogd.failures("down"))).toEqual(["unreachable"]);
    await catalogd.remove("down");
    await eventually(async () => expect(await catalogd.failures("down")).toEqual({})); // forgotten once the deletion is noticed
  });

  test("that is slow holds up no other catalog, and what takes too long is told", async () => {
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
    expect(slow.filter((name) => served(name) !== undefined)).toEqual([]);
    for (const name of slow) {
      const { condition } = await catalogd.progressing(name, "Retrying");
      expect(condition.message).toBe(
        `source catalog content: pull of ${proxy.host}/slow/${name}:v1 did not end within ${PULL_MS / 1_000} s: it begins anew, and a mirror nearby may be faster`,
      );
      await eventually(async () => expect(await catalogd.failures(name)).toHaveProperty("timeout"));
    }
    proxy.arm();
    for (const name of slow) await catalogd.progressing(name, "Succeeded");
    for (const name of ["quick", ...slow]) await catalogd.remove(name);
  });

  test("that hangs holds up no catalog of another registry and no deletion, also with more catalogs than catalogd has workers", async () => {
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

  test("is asked for a manifest when a catalog changes, and for layers only when the image did", async () => {
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
    expect(catalogd.store.get("polled")?.lastModified).toEqual(lastModified);
    const second = await push(repository, "latest", 100);
    await catalogd.apply("polled", ref, { pollIntervalMinutes: 7 });
    await catalogd.progressing("polled", "Succeeded");
    expect([served("polled"), proxy.count("blob", repository)]).toEqual([second, blobs * 2]);
    await catalogd.remove("polled");
  });

  test("that sends elsewhere for layers gets the credentials, and elsewhere does not", async () => {
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
    const asked = front.requests.filter(({ kind }) => kind !== "ping");
    expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set([`Basic ${btoa(`user:${PASSWORD}`)}`]));
    expect(elsewhere.requests.map(({ kind, authorization }) => [kind, authorization])).toEqual([
      ["blob", undefined],
      ["blob", undefined],
    ]);
  });
});
