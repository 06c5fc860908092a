import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ANNOTATION_LAST_BACKUP, LABEL_OWNER_NAME } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { mapInParallel } from "../../pkg/async/concurrency.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { waitForDefinition } from "../support/definitions.ts";
import { createExtension } from "../support/extensions.ts";
import { insecureRegistry, loopbackRegistry } from "../support/pulling.ts";
import { type Ended, olmv1 } from "../support/runCli.ts";

const GROUP = "backup.example.com";
const EXTENSION = "archive";
const NAMESPACE = "backup";
/** More than one page of the list. */
const LEAVES = 130;
/** Beyond the integers of JavaScript. */
const LARGE = 9_007_199_254_740_993n;

function definition(kind: string): KubeObject {
  const singular = kind.toLowerCase();
  const any = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${singular}s.${GROUP}`, labels: { [LABEL_OWNER_NAME]: EXTENSION } },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { kind, plural: `${singular}s`, singular, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: any }, subresources: { status: {} } }],
    },
  };
}

describeWithCluster("olmv1 backup and restore", (cluster) => {
  const { client } = cluster;
  const crds = ["Leaf", "Tree"].map(definition);
  let folder: string;
  let path: string;

  const run = (...args: string[]): Promise<Ended> => olmv1(...args, "--kubeconfig", cluster.kubeconfig);
  const gvk = (kind: string) => ({ apiVersion: `${GROUP}/v1`, kind });
  const create = (kind: string, name: string, members: object = {}, metadata: object = {}): Promise<KubeObject> =>
    client.create({ ...gvk(kind), metadata: { name, namespace: NAMESPACE, ...metadata }, ...members });
  const listAll = async (kind: string): Promise<KubeObject[]> => (await client.list(gvk(kind), { namespace: NAMESPACE })).items;
  const owner = ({ apiVersion, kind, metadata: { name, uid = "" } }: KubeObject) => ({ apiVersion, kind, name, uid });
  /** What a restore must keep. */
  const summarize = (objects: readonly KubeObject[]): unknown[] =>
    objects.map(({ metadata, ...rest }) => {
      const { name, labels, annotations, finalizers, ownerReferences = [] } = metadata;
      return [name, labels, annotations, finalizers, ownerReferences.map(({ kind, name: of }) => `${kind}/${of}`), rest];
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "olmv1-backup-"));
    path = join(folder, "archive.gz");
    await cluster.installCrds();
    for (const crd of crds) {
      await client.create(crd);
      await waitForDefinition(client, crd);
    }
    await client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
    const settings = await client.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", namespace: NAMESPACE } });
    // The garbage collector removes references to objects that do not exist, unless their kind is not served.
    const gone = { apiVersion: "nowhere.example.com/v1", kind: "Forest", name: "gone", uid: "00000000-0000-0000-0000-000000000000" };
    const tree = await create("Tree", "oak", { spec: { height: LARGE } }, { labels: { park: "north" }, annotations: { note: "old" } });
    await client.patch({ ...toObjectRef(tree) }, { status: { phase: "Growing" } }, { type: "merge", subresource: "status" });
    const names = Array.from({ length: LEAVES }, (_, i) => `leaf-${i}`);
    await mapInParallel(names, 16, (name) => create("Leaf", name, { spec: { name } }, { ownerReferences: [owner(tree)] }));
    await create("Tree", "branch", {}, { ownerReferences: [owner(tree), owner(settings), gone] });
  });
  afterAll(async () => {
    for (const crd of crds) await client.delete(toObjectRef(crd));
    await client.delete({ apiVersion: "v1", kind: "Namespace", name: NAMESPACE });
    await rm(folder, { recursive: true, force: true });
  });

  test("restore creates deleted custom resources with status, exact numbers, and references to their new owners", async () => {
    const before = [summarize(await listAll("Leaf")), summarize(await listAll("Tree"))];
    const written = await run("backup", EXTENSION, "--file", path);
    expect([written.code, written.out]).toEqual([
      0,
      `archive: wrote 2 CRDs and ${LEAVES + 2} custom resources to ${path}\nTo create them again: olmv1 restore ${path}\n`,
    ]);
    const again = await run("backup", EXTENSION, "--file", path);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("exists. Choose another path for the backup")]);
    for (const kind of ["Leaf", "Tree"]) {
      await mapInParallel(await listAll(kind), 16, (object) => client.delete(toObjectRef(object)));
      await eventually(async () => expect(await listAll(kind)).toEqual([]));
    }
    const dry = await run("restore", path, "--dry-run", "-o", "json");
    expect([dry.code, JSON.parse(dry.out)]).toEqual([0, expect.objectContaining({ created: LEAVES + 2, existing: 0, failed: 0 })]);
    expect(await listAll("Tree")).toEqual([]);

    const restored = await run("restore", path);
    expect([restored.code, restored.out]).toEqual([
      0,
      expect.stringMatching(
        `created: ${LEAVES + 2}\nunchanged, because they exist: 0\nreferences to owners that do not exist, removed: 1\nfailed: 0\n`,
      ),
    ]);
    const [leaves, trees] = [await listAll("Leaf"), await listAll("Tree")];
    const expected = JSON.stringify(before, toText).replace(/,"Forest\/gone"/, "");
    expect(JSON.stringify([summarize(leaves), summarize(trees)], toText)).toBe(expected);
    const oak = trees.find(({ metadata }) => metadata.name === "oak");
    expect(new Set(leaves.map(({ metadata }) => metadata.ownerReferences?.[0]?.uid))).toEqual(new Set([oak?.metadata.uid]));
    const page = await client.listPage(gvk("Tree"), { limit: 10, maxBytes: 1_000_000 });
    expect(Buffer.from(page ?? []).toString()).toContain(`"height":${LARGE}`);

    const repeated = await run("restore", path, "-o", "json");
    expect([repeated.code, JSON.parse(repeated.out)]).toEqual([
      0,
      expect.objectContaining({ created: 0, existing: LEAVES + 2, failed: 0 }),
    ]);
  });

  const change = (edit: (text: string) => string) => async (): Promise<Buffer> =>
    gzipSync(edit(gunzipSync(await readFile(path)).toString()));

  test.for([
    { name: "was changed", content: change((text) => text.replace("Growing", "Falling")), reason: "its checksum does not match" },
    { name: "lacks a line", content: change((text) => text.split("\n").toSpliced(5, 1).join("\n")), reason: "its checksum does not match" },
    { name: "lacks its end", content: change((text) => text.split("\n").slice(0, -2).join("\n")), reason: "it is incomplete" },
    { name: "is cut", content: async () => (await readFile(path)).subarray(0, 500), reason: "it is not a complete compressed backup" },
    { name: "is not compressed", content: () => Promise.resolve(Buffer.from("{}")), reason: "it is not a complete compressed backup" },
    { name: "is another file", content: () => Promise.resolve(gzipSync("{}\n{}\n{}\n")), reason: "it is not a backup of olmv1" },
    {
      name: "has a future format",
      content: change((text) => text.replace("olmv1-backup/1", "olmv1-backup/2")),
      reason: "is unknown. Use the",
    },
    { name: "is empty", content: () => Promise.resolve(gzipSync("")), reason: "it is incomplete" },
  ])("restore rejects a backup that $name, and creates nothing", async ({ content, reason }) => {
    const broken = join(folder, "broken.gz");
    await writeFile(broken, await content());
    const { code, out, err } = await run("restore", broken);
    expect([code, out, err]).toEqual([2, "", expect.stringContaining(reason)]);
  });

  test("restore names the custom resources that the API server rejects, and creates only those that they do not own", async () => {
    await client.delete({ ...gvk("Leaf"), namespace: NAMESPACE, name: "leaf-7" });
    const policy = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "no-oak" },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups: [GROUP], apiVersions: ["*"], operations: ["CREATE"], resources: ["trees"] }] },
        validations: [{ expression: 'object.metadata.name != "oak"', message: "no oaks" }],
      },
    };
    const binding = {
      apiVersion: policy.apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: policy.metadata,
      spec: { policyName: policy.metadata.name, validationActions: ["Deny"] },
    };
    for (const object of [policy, binding]) await client.create(object);
    await client.delete({ ...gvk("Tree"), namespace: NAMESPACE, name: "oak" }, { propagationPolicy: "Orphan" });
    const oak = { ...gvk("Tree"), metadata: { name: "oak", namespace: NAMESPACE } };
    await eventually(async () => {
      await expect(client.create(oak, { dryRun: true })).rejects.toThrow("no oaks");
    });
    const { code, out } = await run("restore", path);
    for (const object of [binding, policy]) await client.delete(toObjectRef(object));
    await eventually(() => client.create(oak, { dryRun: true })); // the API server applies the deletion of a policy later
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        /created: 0\n[^]*failed: 2\n {2}Tree backup\/oak: .*no oaks\n {2}Leaf backup\/leaf-7: not created, because .* Tree backup\/oak .*\nCorrect the causes/,
      ),
    ]);
  });

  test("backup pushes an OCI artifact whose tag does not exist, and restore reads it", async () => {
    const registry = await loopbackRegistry();
    const conf = join(folder, "registries.conf");
    await writeFile(conf, insecureRegistry(registry.host));
    const image = `oci://${registry.host}/backups/archive:v1`;
    const options = ["--registries-conf", conf, "--insecure"];
    // The garbage collector may delete the other leaves at any time, because the tests before have deleted their owner.
    const leaf = { ...gvk("Leaf"), namespace: NAMESPACE, name: "leaf-without-owner" };
    await create("Leaf", leaf.name);
    const pushed = await run("backup", EXTENSION, "--to", image, ...options);
    const reference = new RegExp(`restore --from (${registry.host}/backups/archive@sha256:[a-f0-9]{64})\n`).exec(pushed.out)?.[1] ?? "";
    expect([pushed.code, reference]).toEqual([0, expect.stringContaining("@sha256:")]);
    const again = await run("backup", EXTENSION, "--to", image, ...options);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("exists. Choose another tag for the backup")]);
    await client.delete(leaf);
    for (const from of [image, reference]) {
      const restored = await run("restore", "--from", from, ...options, "-o", "json");
      expect([restored.code, JSON.parse(restored.out)]).toEqual([0, expect.objectContaining({ file: from, failed: 0 })]);
      expect(await client.get(leaf)).toBeDefined();
    }
    const none = await run("restore", "--registries-conf", conf);
    expect([none.code, none.err]).toEqual([2, expect.stringContaining("specify either a file or --from with an image")]);
  });

  test("uninstall shows the last backup, stops when it cannot write another one, and deletes the extension after it", async () => {
    const extension = await client.create(createExtension(EXTENSION, { packageName: EXTENSION }));
    const keptCRDs = [{ name: `trees.${GROUP}`, message: "custom resources exist" }];
    await client.patch(toObjectRef(extension), { status: { keptCRDs } }, { type: "merge", subresource: "status" });
    const uninstall = (...args: string[]): Promise<Ended> =>
      run("uninstall", EXTENSION, "--crd-policy", "Delete", "--yes", "--no-wait", ...args);
    const failed = await uninstall("--backup", path);
    expect([failed.code, failed.err]).toEqual([
      2,
      expect.stringMatching(/No backup is recorded\.[^]*not uninstalled: .* exists\. Choose another path/),
    ]);
    expect(await client.get(toObjectRef(extension))).toBeDefined();
    const written = await run("backup", EXTENSION, "--file", join(folder, "recorded.gz"), "-o", "json");
    const { objects, sha256 } = JSON.parse(written.out) as { objects: number; sha256: string };
    const live = await client.get(toObjectRef(extension));
    expect(JSON.parse(live?.metadata.annotations?.[ANNOTATION_LAST_BACKUP] ?? "")).toMatchObject({ objects, sha256, crds: 2 });
    const { code, out, err } = await uninstall("--backup", join(folder, "last.gz"));
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(`backup of ${objects} custom resources written to ${join(folder, "last.gz")}`),
    ]);
    expect(err).toMatch(/The last backup is from 20\S+, with \d+\s+custom\s+resources/);
    expect(await client.get(toObjectRef(extension))).toBeUndefined();
  });

  test("backup and restore report what does not exist", async () => {
    const unknown = await run("backup", "nobody", "--file", join(folder, "nobody.gz"));
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("no CustomResourceDefinition belongs to it")]);
    const missing = await run("restore", join(folder, "missing.gz"));
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining("the file does not exist")]);
  });
});

function toText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
