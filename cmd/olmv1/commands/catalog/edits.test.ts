import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../../test/support/runCli.ts";
import { TempFolder } from "../../../../test/support/tempFolder.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const CATALOG = join(ROOT, "test/cases/fbc-edit/catalog");
const BUNDLE = join(ROOT, "test/goldens/bundles/scoped");
const golden = (name: string): string => join(ROOT, "test/goldens/cli", `${name}.txt`);

/** Records commands that edit a catalog, with their output as a terminal shows it. */
class Session {
  readonly catalog: string;
  readonly #folder: TempFolder;
  readonly #width: number;
  text = "";

  constructor(folder: TempFolder, width = 80) {
    this.#folder = folder;
    this.#width = width;
    this.catalog = join(folder.write("work", {}), "catalog");
    cpSync(CATALOG, this.catalog, { recursive: true });
  }

  async run(command: string, ...args: string[]): Promise<number> {
    const { code, out, err } = await runCli(["catalog", ...command.split(" "), ...args], { width: this.#width });
    const shown = args.map((arg) => (/[\s<>;]/.test(arg) ? `'${arg}'` : arg)).join(" ");
    const output = `${out}${err.replaceAll(/^(?=.)/gm, "! ")}${code === 0 ? "" : `exit ${code}\n`}`;
    this.text += `$ olmv1 catalog ${command} ${shown}\n${output}\n`
      .replaceAll(join(this.#folder.path, "work"), ".")
      .replaceAll(BUNDLE, "./bundle");
    return code;
  }

  files(): Record<string, string> {
    const paths = readdirSync(this.catalog, { recursive: true, encoding: "utf8" }).filter((path) => /\.(yaml|json)$/.test(path));
    return Object.fromEntries(paths.sort().map((path) => [path, readFileSync(join(this.catalog, path), "utf8")]));
  }
}

test("commands that edit a catalog print changed files, or a diff with --dry-run", async () => {
  using folder = new TempFolder();
  const session = new Session(folder);
  const { catalog } = session;
  const before = session.files();
  await session.run("deprecate", catalog, "etcd", "--bundle", "etcd.v0.9.1", "--message", "It loses data.", "--dry-run");
  expect(session.files()).toEqual(before);
  await session.run("deprecate", catalog, "etcd", "--bundle", "etcd.v0.9.1", "--message", "It loses data.");
  await session.run("deprecate", catalog, "etcd", "--bundle", "etcd.v0.9.1", "--message", "It loses data.");
  await session.run("skip", catalog, "etcd", "etcd.v0.9.1");
  await session.run("promote", catalog, "etcd", "etcd.v0.9.2", "candidate");
  await session.run("promote", catalog, "etcd", "etcd.v0.9.2", "fast", "--skip-range", ">=0.8.0 <0.9.2", "-o", "json");
  await session.run("set-default-channel", catalog, "etcd", "candidate");
  await session.run("edge add", catalog, "etcd", "--from", "etcd.v0.8.0", "--to", "etcd.v0.9.0", "--channel", "stable");
  await session.run("edge add", catalog, "queue", "--to", "queue.v1.1.0", "--skip-range", ">=0.9.0 <1.1.0");
  await session.run("edge remove", catalog, "queue", "--to", "queue.v1.1.0", "--skip-range");
  await session.run("zstream", catalog, "queue", "--dry-run");
  await session.run("deprecate", catalog, "etcd", "--bundle", "etcd.v0.9.1", "--undo");
  await session.run(
    "add-bundle",
    catalog,
    BUNDLE,
    "--image",
    "quay.io/example/{{.Package}}:v{{.Version}}",
    "--channels",
    "stable",
    "--migrate",
  );
  expect(await session.run("validate", catalog, "--severity", "warning", "--fail-on", "warning")).toBe(0);
  await expect(session.text).toMatchFileSnapshot(golden("catalog-edit"));
});

test("commands that edit a catalog reject invalid edits and change nothing", async () => {
  using folder = new TempFolder();
  const session = new Session(folder);
  const { catalog } = session;
  const before = session.files();
  const refused = [
    await session.run("promote", catalog, "etcd", "etcd.v0.9.2", "candidate", "--skips", "etcd.v0.9.1"),
    await session.run("edge remove", catalog, "etcd", "--from", "etcd.v0.9.1", "--to", "etcd.v0.9.2"),
    await session.run("skip", catalog, "etcd", "etcd.v0.9.2"),
    await session.run("deprecate", catalog, "etcd", "--undo", "--message", "x"),
    await session.run("set-default-channel", catalog, "nothing", "stable"),
    await session.run("zstream", join(catalog, "gone"), "etcd"),
    await session.run("add-bundle", catalog, BUNDLE, "--channels", "stable"),
    await session.run("edge add", catalog, "etcd", "--to", "etcd.v0.9.2", "-o", "json"),
    await session.run("extract", catalog, catalog),
  ];
  expect(refused.every((code) => code === 2)).toBe(true);
  expect(session.files()).toEqual(before);
  await expect(session.text).toMatchFileSnapshot(golden("catalog-edit-refused"));
});

test("catalog extract writes a valid catalog, catalog images lists its images, and catalog diff lists removed bundles", async () => {
  using folder = new TempFolder();
  const session = new Session(folder);
  const { catalog } = session;
  const small = join(catalog, "../small");
  await session.run("extract", catalog, small, "--packages", "queue", "--heads-only");
  await session.run("validate", small, "--severity", "warning");
  await session.run("images", small);
  await session.run("images", catalog, "--bundles", "etcd.v0.9*", "-o", "name");
  await session.run("diff", catalog, small);
  await session.run("diff", catalog, catalog);
  await session.run("diff", small, catalog, "-o", "yaml");
  await session.run("validate", catalog, "--severity", "info", "--ignore", "csv-metadata-missing");
  await expect(session.text).toMatchFileSnapshot(golden("catalog-extract"));
});

test("catalog images does not truncate image names when the terminal has 200 columns", async () => {
  using folder = new TempFolder();
  const session = new Session(folder, 200);
  await session.run("images", session.catalog);
  await expect(session.text).toMatchFileSnapshot(golden("catalog-images-200"));
});
