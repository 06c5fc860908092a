import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { toObjectRef } from "../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { SmallPackage } from "./smallPackage.ts";
import { World } from "./world.ts";

/** The folder of the sample repository. */
export const REPOSITORY = "config/samples/gitops";
const ROOT = join(import.meta.dirname, "../..");

/** The packages of the sample repository, with the channel that it selects. */
const PACKAGES = [
  { channel: "stable-v6.x", content: new SmallPackage("cockroachdb", { version: "6.0.0" }) },
  { channel: "v5", content: new SmallPackage("grafana-operator", { version: "5.16.0" }, { version: "5.17.0" }) },
];

/** Returns the objects in a file of the repository of this project. */
export function readObjects(path: string): KubeObject[] {
  return parseYamlDocuments(readFileSync(join(ROOT, path), "utf8")) as KubeObject[];
}

/** Starts all programs, with the image that the sample repository refers to in the registry. It is not served yet. */
export async function startGitopsWorld(cluster: TestCluster): Promise<World> {
  const fast = ["--max-backoff", "2s", "--recheck-interval", "1s"];
  const world = await World.start(cluster, { extraArgs: { "operator-controller": fast } });
  const metas: object[] = [];
  for (const { channel, content } of PACKAGES) {
    const images = new Map<string, string>();
    for (const version of content.versions) {
      const image = await world.pushBundle(`gitops/${content.name}`, version.version, content.name, content.bundleFiles(version));
      images.set(version.version, image);
    }
    const text = JSON.stringify(content.catalogMetas(({ version }) => images.get(version) ?? ""));
    metas.push(...(JSON.parse(text.replaceAll('"stable"', JSON.stringify(channel))) as object[]));
  }
  const content = Buffer.from(metas.map((meta) => JSON.stringify(meta)).join("\n"));
  await world.pushCatalog("operatorhubio/catalog", "latest", new Map([["catalog.json", content]]));
  return world;
}

/** Returns the paths of fields in Git that have another value on the cluster, without those that `ignored` points to. */
export function findDifferences(inGit: unknown, live: unknown, ignored: readonly string[], path = ""): string[] {
  if (ignored.includes(path)) return [];
  if (typeof inGit !== "object" || inGit === null) return inGit === live ? [] : [path];
  if (typeof live !== "object" || live === null) return [path];
  return Object.entries(inGit).flatMap(([key, value]) =>
    findDifferences(value, (live as JsonObject)[key], ignored, `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
}

/** Deletes objects in this order, each after the one before is gone. */
export async function removeObjects({ client }: Pick<TestCluster, "client">, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    const ref = toObjectRef(object);
    await client.delete(ref);
    await eventually(async () => {
      const left = await client.get(ref);
      if (left) throw new Error(`${object.kind} ${object.metadata.name} still exists: ${JSON.stringify(left["status"])}`);
    });
  }
}
