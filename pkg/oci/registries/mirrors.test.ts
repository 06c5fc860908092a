import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import cases from "../../../test/cases/oci/registriesConf.json" with { type: "json" };
import { formatReference, parseReference } from "../reference.ts";
import { listPullSources, type RegistriesConf } from "./pullSources.ts";
import { getDefaultRegistriesConf, loadRegistriesConf, parseRegistriesConf } from "./registriesConf.ts";

interface Case {
  name: string;
  file: string;
  dropIns?: string[];
  error?: string;
  pulls?: { ref: string; error?: string; sources?: { ref: string; insecure?: boolean }[] }[];
}

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "olmv1-conf-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

function confOf(text: string): RegistriesConf {
  return { entries: parseRegistriesConf(text, true), origin: "/etc/registries.conf" };
}

function textOf(work: () => unknown): string {
  try {
    work();
    return "";
  } catch (err) {
    return (err as Error).message;
  }
}

test.for(cases.cases as Case[])("registries.conf: $name", async ({ name, file, dropIns = [], error, pulls = [] }) => {
  const folder = join(dir, name.replaceAll(/\W/g, "-"));
  await mkdir(join(folder, "d/sub.conf"), { recursive: true });
  await writeFile(join(folder, "registries.conf"), file);
  for (const [index, text] of dropIns.entries()) await writeFile(join(folder, `d/0${index}.conf`), text);
  await writeFile(join(folder, "d/ignored.txt"), "not toml");
  const loading = loadRegistriesConf({ file: join(folder, "registries.conf"), required: true, dropIns: [join(folder, "d")] });
  if (error !== undefined) {
    const { message } = await loading.then(
      () => new Error("loaded"),
      (err: Error) => err,
    );
    expect(message.replace(join(folder, "registries.conf"), "FILE").replace(`${join(folder, "d")}/`, "DIR/")).toBe(error);
    return;
  }
  const conf = await loading;
  for (const { ref, error: refused, sources } of pulls) {
    if (refused !== undefined) expect(textOf(() => listPullSources(conf, parseReference(ref)))).toBe(refused);
    else
      expect(
        listPullSources(conf, parseReference(ref)).map((source) => ({ ref: formatReference(source.ref), insecure: source.insecure })),
      ).toEqual(sources?.map((source) => ({ insecure: false, ...source })));
  }
});

describe("blocked", () => {
  const blockedOf = (text: string, ref: string): (string | undefined)[] =>
    listPullSources(confOf(text), parseReference(ref)).map((s) => s.blocked);

  test("a blocked registry does not block its mirrors", () => {
    const conf = '[[registry]]\nlocation = "quay.io"\nblocked = true\n[[registry.mirror]]\nlocation = "m.local"\n';
    expect(blockedOf(conf, "quay.io/a:1")).toEqual([undefined, "registry quay.io is blocked in /etc/registries.conf"]);
  });

  test("a mirror is blocked when its own entry is blocked", () => {
    const conf =
      '[[registry]]\nlocation = "quay.io"\n[[registry.mirror]]\nlocation = "m.local"\n[[registry]]\nlocation = "m.local"\nblocked = true\n';
    expect(blockedOf(conf, "quay.io/a:1")).toEqual(["registry m.local is blocked in /etc/registries.conf", undefined]);
  });

  test.for(["quay.io", "Quay.IO", "*.io"])("%s is blocked when the image spells its host in upper case", (prefix) => {
    const [by] = blockedOf(`[[registry]]\nprefix = "${prefix}"\nlocation = "quay.io"\nblocked = true\n`, "QUAY.IO/a:1");
    expect(by).toBe(`registry ${prefix.toLowerCase()} is blocked in /etc/registries.conf`);
  });

  test("a mirror is used when the image spells its host in upper case", () => {
    const conf = confOf('[[registry]]\nlocation = "quay.io"\n[[registry.mirror]]\nlocation = "m.local/q"\n');
    expect(listPullSources(conf, parseReference("QUAY.IO/a/b:1")).map(({ ref }) => formatReference(ref))).toEqual([
      "m.local/q/a/b:1",
      "quay.io/a/b:1",
    ]);
  });

  test("a blocked entry blocks its prefix, even with another location", () => {
    const conf = '[[registry]]\nprefix = "quay.io"\nlocation = "m.local"\nblocked = true\n';
    expect(blockedOf(conf, "quay.io/a:1")).toEqual(["registry quay.io is blocked in /etc/registries.conf"]);
  });
});

describe("files of registries.conf", () => {
  test("loadRegistriesConf fails when a required file does not exist, and ignores a missing system file", async () => {
    const file = join(dir, "absent.conf");
    await expect(loadRegistriesConf({ file, required: true })).rejects.toThrow(`loading registries configuration "${file}": ENOENT`);
    await expect(loadRegistriesConf({ file, dropIns: [join(dir, "absent.d")] })).resolves.toEqual({
      entries: [],
      origin: `${file} or ${file.replace(/conf$/, "d")}`,
    });
  });

  test("loadRegistriesConf reports the position of invalid TOML", async () => {
    const file = join(dir, "broken.conf");
    await writeFile(file, '[[registry]]\nlocation = "quay.io\n');
    await expect(loadRegistriesConf({ file, required: true })).rejects.toThrow(
      /^loading registries configuration ".*broken.conf": line 2, column \d+: Invalid TOML/,
    );
  });

  test("loadRegistriesConf reports the key of a value with the wrong type", () => {
    expect(textOf(() => parseRegistriesConf('[[registry]]\nlocation = "a"\ninsecure = "yes"\n', true))).toContain("registry.0.insecure: ");
  });

  test("environment variables set the file and folder of registries.conf, and otherwise the user's file takes precedence over the system's", async () => {
    const home = join(dir, "home");
    const system = "/etc/containers/registries.conf";
    expect(getDefaultRegistriesConf({}, home)).toEqual({
      file: system,
      dropIns: [`${system}.d`, `${home}/.config/containers/registries.conf.d`],
    });
    expect(getDefaultRegistriesConf({ CONTAINERS_REGISTRIES_CONF: "/x.conf", CONTAINERS_REGISTRIES_CONF_DIR: "/x.d" }, home)).toEqual({
      file: "/x.conf",
      required: true,
      dropIns: ["/x.d"],
    });
    await mkdir(join(home, ".config/containers"), { recursive: true });
    await writeFile(join(home, ".config/containers/registries.conf"), "");
    expect(getDefaultRegistriesConf({}, home)).toEqual({
      file: `${home}/.config/containers/registries.conf`,
      dropIns: [`${home}/.config/containers/registries.conf.d`],
    });
  });
});
