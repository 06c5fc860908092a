import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { refuse } from "../../../test/support/loopbackRegistry.ts";
import { folder, insecureRegistry, loopbackRegistry } from "../../../test/support/pulling.ts";
import { type Ended, runCli } from "../../../test/support/runCli.ts";
import { tarball } from "../../../test/support/tarball.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { CommandTerminal } from "../cli/terminal.ts";
import { runCommandLine } from "../program.ts";

const GOLDENS = join(import.meta.dirname, "../../../test/goldens");
const CATALOG = join(GOLDENS, "cli/fixtures/mirrored");
const BUNDLE = join(GOLDENS, "bundles/scoped");
const BROKEN = {
  "catalog.yaml":
    "schema: olm.package\nname: foo\ndefaultChannel: stable\n---\nschema: olm.bundle\npackage: foo\nname: foo.v1\nimage: Not An Image\n" +
    "properties: [{type: olm.package, value: {packageName: foo, version: 1.0.0}}]\n",
};

let dir: string;
beforeEach(async () => {
  dir = await folder();
});

/** Records commands and their output as a terminal shows them, without paths, addresses and times of this machine. */
class Session {
  readonly #names: readonly (readonly [from: string, to: string])[];
  #text = "";

  constructor(names: readonly (readonly [string, string])[] = []) {
    this.#names = [[dir, "DIR"], [CATALOG, "./shop"], [BUNDLE, "./bundle"], ...names];
  }

  async run(...args: string[]): Promise<Ended> {
    const ended = await runCli(args);
    const shown = args.map((arg) => (/[\s<>]/.test(arg) ? `'${arg}'` : arg)).join(" ");
    this.#text += `$ olmv1 ${shown}\n${ended.out}${ended.err.replaceAll(/^/gm, "! ").replace(/! $/, "")}${ended.code === 0 ? "" : `exit ${ended.code}\n`}\n`;
    return ended;
  }

  get text(): string {
    const named = this.#names.reduce((text, [from, to]) => text.replaceAll(from, to), this.#text);
    // Digests differ between versions of zlib.
    return named
      .replaceAll(/(blob|checking) sha256:[0-9a-f]{64}/g, "$1 sha256:DIGEST")
      .replaceAll(/\d+\.\d s\b/g, "N s")
      .replaceAll(/@sha256:[0-9a-f]{64}(?=$|")/gm, "@sha256:DIGEST")
      .replaceAll(/"sha256:[0-9a-f]{64}"/g, '"sha256:DIGEST"');
  }
}

describe("images of catalogs and bundles", () => {
  test("bundle build and catalog build write or push images, and catalog push copies images", async () => {
    const registry = await loopbackRegistry();
    const session = new Session([[registry.host, "REGISTRY"]]);
    await session.run("bundle", "build", BUNDLE, "-t", `${registry.host}/shop/bundle:v1`, "--insecure");
    await session.run("bundle", "build", BUNDLE, "-t", `${registry.host}/shop/bundle:v1`, "--insecure", "-o", "name");
    await session.run("catalog", "build", CATALOG, "-t", `oci:${dir}/layout:v1`, "--label", "team=shop", "--annotation", "a=b");
    await session.run("catalog", "push", `oci:${dir}/layout:v1`, `oci-archive:${dir}/catalog.tar`, "-o", "json");
    await session.run("catalog", "push", `oci-archive:${dir}/catalog.tar`, `docker://${registry.host}/shop/catalog:v1`, "--insecure");
    await expect(session.text).toMatchFileSnapshot(join(GOLDENS, "cli/image-build.txt"));
    expect(registry.has("shop/catalog", "v1")).toBe(true);
  });

  test("build, push and mirror commands reject invalid sources, targets and options", async () => {
    const registry = await loopbackRegistry();
    registry.misbehave = (req, res) => req.method === "POST" && refuse(res, 403, "DENIED", "requested access to the resource is denied");
    using temp = new TempFolder();
    const broken = temp.write("broken", BROKEN);
    const session = new Session([
      [registry.host, "REGISTRY"],
      [broken, "./broken"],
    ]);
    for (const args of [
      ["catalog", "build", broken, "-t", `oci:${dir}/layout`],
      ["catalog", "build", broken, "-t", `oci:${dir}/layout`, "--force"],
      ["catalog", "build", CATALOG],
      ["catalog", "build", CATALOG, "-t", "shop/catalog:v1"],
      ["catalog", "build", CATALOG, "-t", `${registry.host}/shop/catalog:v1`, "--insecure"],
      ["catalog", "build", CATALOG, "-t", `${registry.host}/shop/catalog:v1`],
      ["catalog", "build", CATALOG, "-t", `oci:${dir}/layout`, "--label", "team"],
      ["catalog", "build", "nowhere", "-t", `oci:${dir}/layout`, "-o", "json"],
      ["bundle", "build", broken, "-t", `oci:${dir}/layout`],
      ["bundle", "push", `oci:${dir}/layout`, "quay.io/shop/bundle:v1"],
      ["bundle", "push", `oci:${dir}/nothing`, "quay.io/shop/bundle:v1"],
      ["catalog", "mirror", broken, "mirror.internal", "--dry-run"],
      ["catalog", "mirror", broken, "mirror.internal", "--dry-run", "--packages", "foo"],
      ["catalog", "mirror", CATALOG, "mirror"],
      ["catalog", "mirror", CATALOG, "mirror.internal", "--packages", "foo"],
      ["catalog", "mirror", CATALOG, "mirror.internal", "--versions", "shop-operator:>2"],
      ["catalog", "mirror", CATALOG, "mirror.internal", "--parallel", "0"],
    ])
      await session.run(...args);
    await expect(session.text).toMatchFileSnapshot(join(GOLDENS, "cli/image-errors.txt"));
  });

  test("catalog build creates the same digest for the same files in any registry", async () => {
    const [one, two] = [await loopbackRegistry(), await loopbackRegistry()];
    const digests = [];
    for (const { host } of [one, two])
      digests.push((await runCli(["catalog", "build", CATALOG, "-t", `${host}/a:v1`, "--insecure"])).out.split("@")[1]);
    expect(digests[0]).toMatch(/^sha256:/);
    expect(digests[1]).toBe(digests[0]);
  });

  test("catalog build writes no layout into a folder with other files", async () => {
    await writeFile(join(dir, "notes.txt"), "mine");
    const { code, err } = await runCli(["catalog", "build", CATALOG, "-t", `oci:${dir}:v1`]);
    expect([code, err]).toEqual([2, expect.stringContaining('is not an OCI image layout, and contains "notes.txt". Use a new folder')]);
    expect(await readdir(dir)).toEqual(["notes.txt"]);
  });

  test.for([
    ["a text", Buffer.from("mine")],
    ["another tar archive", tarball([{ name: "notes.txt", content: "mine" }])],
  ] as const)("catalog build does not replace %s by an OCI archive", async ([, content]) => {
    const path = join(dir, "backup.tar");
    await writeFile(path, content);
    const { code, err } = await runCli(["catalog", "build", CATALOG, "-t", `oci-archive:${path}:v1`]);
    expect([code, err]).toEqual([2, expect.stringContaining("backup.tar exists and is not an OCI archive. Use another path")]);
    expect(await readFile(path)).toEqual(content);
  });

  test("catalog build replaces an OCI archive, and adds an image to a layout", async () => {
    for (const place of [`oci-archive:${dir}/catalog.tar`, `oci:${dir}/layout`])
      for (const tag of ["v1", "v2"])
        expect((await runCli(["catalog", "build", CATALOG, "-t", `${place}:${tag}`])).code, `${place}:${tag}`).toBe(0);
  });

  // Source: S0-014.
  test("bundle build sets the annotations of the bundle as image labels", async () => {
    await runCli(["bundle", "build", BUNDLE, "-t", `oci:${dir}/layout`, "--label", "team=shop"]);
    const blobs = await readdir(join(dir, "layout/blobs/sha256"));
    const texts = await Promise.all(blobs.map((name) => readFile(join(dir, "layout/blobs/sha256", name), "utf8")));
    const config = texts.flatMap((text) => (text.startsWith('{"architecture"') ? [JSON.parse(text) as { config: unknown }] : []));
    const prefix = "operators.operatorframework.io.bundle";
    expect(config[0]?.config).toEqual({
      Labels: {
        [`${prefix}.manifests.v1`]: "manifests/",
        [`${prefix}.mediatype.v1`]: "registry+v1",
        [`${prefix}.metadata.v1`]: "metadata/",
        [`${prefix}.package.v1`]: "scoped",
        team: "shop",
      },
    });
  });
});

describe("catalog mirror", () => {
  test("catalog mirror prints the plan, writes the files and copies the images", async () => {
    const [source, target] = [await loopbackRegistry(), await loopbackRegistry()];
    const session = new Session([
      [source.host, "SOURCE"],
      [target.host, "TARGET"],
    ]);
    for (const version of ["v1.0.0", "v1.1.0"]) {
      source.addImage("shop/operator-bundle", version, { layers: [Buffer.from(`bundle ${version}`)] });
      source.addImage("shop/operator", version, { layers: [Buffer.from("operator"), Buffer.from(version)] });
    }
    const conf = join(dir, "registries.conf");
    await writeFile(conf, insecureRegistry(source.host, "registry.example.com") + insecureRegistry(source.host, "docker.io"));
    const where = ["catalog", "mirror", CATALOG, `${target.host}/olm`];
    await session.run(...where, "--packages", "shop-operator", "--dry-run");
    await session.run(...where, "--manifests-only", "--to-dir", join(dir, "whole"), "-o", "json");
    const how = ["--insecure", "--registries-conf", conf, "--to-dir", join(dir, "part"), "--parallel", "1"];
    await session.run(...where, "--versions", "shop-operator:<1.1", ...how);
    await session.run(...where, "--versions", "shop-operator:<1.1", ...how);
    await session.run(...where, "--channels", "shop-operator:candidate", "--continue-on-error", ...how);
    await session.run(...where, "--channels", "shop-operator:candidate", ...how);
    await expect(session.text).toMatchFileSnapshot(join(GOLDENS, "cli/catalog-mirror.txt"));
    expect(await readdir(join(dir, "whole"))).toEqual([
      "clusterCatalog.yaml",
      "imageContentSourcePolicy.yaml",
      "imageDigestMirrorSet.yaml",
      "imageTagMirrorSet.yaml",
      "images.txt",
      "mapping.txt",
      "registries.conf",
    ]);
    expect(target.has("olm/shop-operator", "v1.0.0")).toBe(true);
  });

  test("catalog mirror copies an image referenced by tag under the same tag and digest", async () => {
    const [source, target] = [await loopbackRegistry(), await loopbackRegistry()];
    const catalog = new TempFolder();
    const files = {
      "catalog.yaml":
        "schema: olm.package\nname: empty\ndefaultChannel: a\n---\nschema: olm.channel\npackage: empty\nname: a\nentries: [{name: e.v1}]\n---\nschema: olm.bundle\npackage: empty\nname: e.v1\nimage: SOURCE/e:v1\nproperties: [{type: olm.package, value: {packageName: empty, version: 1.0.0}}]\n".replace(
          "SOURCE",
          source.host,
        ),
    };
    source.addImage("e", "v1", { layers: [Buffer.from("bundle")] });
    const built = await runCli(["catalog", "build", catalog.write("c", files), "-t", `${source.host}/team/empty:v1`, "--insecure"]);
    const digest = built.out.trim().split("@")[1] ?? "";
    catalog[Symbol.dispose]();
    await writeFile(join(dir, "r.conf"), insecureRegistry(source.host));
    const where = [`${source.host}/team/empty:v1`, target.host, "--to-dir", join(dir, "out")];
    const ended = await runCli(["catalog", "mirror", ...where, "--insecure", "--registries-conf", join(dir, "r.conf")]);
    expect(ended).toMatchObject({ code: 0, out: `${target.host}/team-empty:v1\n` });
    expect(target.has("team-empty", digest)).toBe(true);
    expect(await readFile(join(dir, "out/mapping.txt"), "utf8")).toBe(
      `${source.host}/e:v1=${target.host}/e:v1\n${source.host}/team/empty:v1=${target.host}/team-empty:v1\n`,
    );
  });
});

describe("catalog serve", () => {
  test("catalog serve reloads a changed folder, serves the last valid content after an error, and exits with 0 when stopped", async () => {
    using temp = new TempFolder();
    const sound = await readFile(join(CATALOG, "catalog.yaml"), "utf8");
    const served = temp.write("My Shop", { "catalog.yaml": sound });
    const stop = new AbortController();
    const ended = { out: "", err: "" };
    const terminal = new CommandTerminal({
      out: (text) => void (ended.out += text),
      err: (text) => void (ended.err += text),
      signal: stop.signal,
    });
    const running = runCommandLine(["catalog", "serve", served], terminal);
    await eventually(() => expect(ended.out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/catalogs\/my-shop\n$/));
    const base = ended.out.trim();
    const packages = async (): Promise<string> => (await fetch(`${base}/api/v1/metas?schema=olm.package`)).text();
    const before = await packages();
    expect(before.trim().split("\n")).toHaveLength(2);
    temp.write("My Shop", { "catalog.yaml": `${sound}---\n[` });
    await eventually(() =>
      expect(ended.err).toMatch(/reload failed: .*catalog\.yaml: document \d+, line \d+: .*; still serving the previous content\n/),
    );
    expect(await packages()).toBe(before);
    temp.write("My Shop", { "catalog.yaml": sound, "more/more.yaml": "schema: olm.package\nname: more\ndefaultChannel: a\n" });
    await eventually(async () => expect((await packages()).trim().split("\n")).toHaveLength(3));
    const answer = await fetch(`${base}/api/v1/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: "{ summary { totalSchemas } }" }),
    });
    expect(await answer.json()).toEqual({ data: { summary: { totalSchemas: 3 } } });
    await rm(served, { recursive: true }); // like tools that recreate a folder
    temp.write("My Shop", { "catalog.yaml": sound });
    await eventually(async () => expect(await packages()).toBe(before));
    temp.write("My Shop", { ".catalog.yaml.swp": `${sound}---\nschema: olm.package\nname: renamed\ndefaultChannel: a\n` });
    await rename(join(served, ".catalog.yaml.swp"), join(served, "catalog.yaml")); // like editors
    await eventually(async () => expect(await packages()).toContain("renamed"));
    stop.abort(new Error("stopped by SIGINT"));
    expect(await running).toBe(0);
    await expect(fetch(base)).rejects.toThrow();
  });

  test("catalog serve fails at startup when the catalog or its name is invalid", async () => {
    using temp = new TempFolder();
    expect(await runCli(["catalog", "serve", temp.write("x", { "catalog.yaml": "[" })])).toMatchObject({ code: 2, out: "" });
    expect(await runCli(["catalog", "serve", CATALOG, "--name", "A b"])).toMatchObject({ code: 2, out: "" });
    expect(await runCli(["catalog", "serve", CATALOG, "--port", "70000"])).toMatchObject({ code: 2, out: "" });
  });
});
