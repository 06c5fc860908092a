import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { computeDigest } from "../../pkg/oci/digest.ts";
import { copyImage } from "../../pkg/oci/publish/copyImage.ts";
import type { BlobBytes } from "../../pkg/oci/store/imageStore.ts";
import { ClosedRegistry } from "../support/closedRegistry.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { folder, insecureRegistry, puller } from "../support/pulling.ts";
import { runCli } from "../support/runCli.ts";
import { built, repository, signal } from "../support/stores.ts";

const CATALOG = join(import.meta.dirname, "../goldens/cli/fixtures/mirrored");

describeWithCluster("pushing to a real registry", (cluster) => {
  test("a large blob is pushed completely, and mounted from one repository into another", async () => {
    const name = cluster.name("push");
    const bytes = randomBytes(5_000_000);
    const blob = { mediaType: "application/octet-stream", digest: computeDigest(bytes), size: bytes.byteLength };
    const open: BlobBytes = async function* (offset) {
      for (let at = offset; at < bytes.byteLength; at += 65_536) yield await Promise.resolve(bytes.subarray(at, at + 65_536));
    };
    const host = cluster.registry.host;
    const [first, second] = [await repository(`${host}/${name}/one`), await repository(`${host}/${name}/two`)];
    expect(await first.putBlob(blob, open, { signal })).toBe("sent");
    expect(await first.putBlob(blob, open, { signal })).toBe("present");
    expect(await second.putBlob(blob, open, { mountFrom: [`${name}/one`], signal })).toBe("mounted");
    const read: Uint8Array[] = [];
    for await (const chunk of second.blob(blob, signal)(0)) read.push(chunk);
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  test("a built image can be pulled unchanged", async () => {
    const { store, manifest } = await built({ "configs/a.yaml": "a: 1", "configs/b/c.yaml": "c: 2" });
    const name = cluster.name("push");
    const to = await repository(`${cluster.registry.host}/${name}`);
    await copyImage(store, manifest, to, { tag: "v1", signal });
    const { puller: p } = await puller({ conf: insecureRegistry(cluster.registry.host) });
    const pulled = await p.pull("catalog", `${cluster.registry.host}/${name}:v1`, { signal });
    expect(pulled.digest).toBe(manifest.digest);
  });

  test("a push uses the login of podman or docker, and fails without it", async () => {
    await using closed = await ClosedRegistry.start();
    const build = (env: Record<string, string>, ...more: string[]) =>
      runCli(["catalog", "build", CATALOG, "-t", `${closed.host}/team/catalog:v1`, "--insecure", ...more], { env });
    const refused = await build({ REGISTRY_AUTH_FILE: join(await folder(), "none.json") });
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain(`authentication required; log in to ${closed.host} first, for example with docker login or podman login`);
    const home = await folder();
    await mkdir(join(home, "containers"));
    const auth = { auths: { [closed.host]: { username: "user", password: "wrong" } } };
    await writeFile(join(home, "containers/auth.json"), JSON.stringify(auth));
    expect(await build({ XDG_RUNTIME_DIR: home })).toMatchObject({ code: 2 });
    expect(await build({ XDG_RUNTIME_DIR: home }, "--auth-file", closed.authFile)).toMatchObject({ code: 0 });
    expect(await build({ REGISTRY_AUTH_FILE: closed.authFile })).toMatchObject({
      code: 0,
      err: `${closed.host}/team/catalog:v1 already exists\n`,
    });
  });
});
