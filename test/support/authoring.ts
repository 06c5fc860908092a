import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { removeTree } from "../../pkg/oci/pull/cache.ts";
import { LoopbackRegistry } from "./loopbackRegistry.ts";

/** Returns the files of a small bundle of package `name` that provides one API. */
export function authoredBundle(name: string, version: string): Record<string, string> {
  return {
    "metadata/annotations.yaml": `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.package.v1: ${name}
`,
    "manifests/csv.yaml": `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: ${name}.v${version}
  annotations: {capabilities: Basic Install}
spec:
  displayName: ${name} operator
  description: Runs ${name}s.
  version: ${version}
  icon: [{base64data: PHN2Zy8+, mediatype: image/svg+xml}]
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned: [{name: ${name}s.example.com, version: v1, kind: ${name.replace(/^./, (letter) => letter.toUpperCase())}}]
  install:
    strategy: deployment
    spec:
      deployments:
        - name: ${name}
          spec:
            selector: {matchLabels: {app: ${name}}}
            template:
              metadata: {labels: {app: ${name}}}
              spec: {containers: [{name: manager, image: "quay.io/example/${name}:v${version}"}]}
`,
    "manifests/crd.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${name}s.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: ${name.replace(/^./, (letter) => letter.toUpperCase())}, plural: ${name}s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`,
  };
}

const PREFIX = "quay.io/example";
const BUNDLE_LABEL = "operators.operatorframework.io.bundle.package.v1";

/** A registry in place of quay.io/example, and folders, for one test of the commands for catalog authors. */
export class Authoring {
  readonly #registry: LoopbackRegistry;
  /** A folder for the test's own files. */
  readonly folder: string;

  private constructor(registry: LoopbackRegistry, folder: string) {
    this.#registry = registry;
    this.folder = folder;
  }

  static async start(): Promise<Authoring> {
    const registry = await LoopbackRegistry.start();
    const folder = await mkdtemp(join(tmpdir(), "olmv1-author-"));
    onTestFinished(() => registry.stop());
    onTestFinished(() => removeTree(folder));
    const conf = `[[registry]]\nprefix = "${PREFIX}"\nlocation = "${registry.host}"\ninsecure = true\n`;
    await writeFile(join(folder, "registries.conf"), conf);
    await writeFile(join(folder, "policy.json"), JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }));
    return new Authoring(registry, folder);
  }

  /** host:port of the registry itself, which serves plain HTTP. */
  get host(): string {
    return this.#registry.host;
  }

  /** Options that point the command line to the registry. */
  get options(): string[] {
    return ["--registries-conf", join(this.folder, "registries.conf"), "--signature-policy", join(this.folder, "policy.json")];
  }

  /** Pushes an image; @returns its reference. */
  async push(
    name: string,
    tag: string,
    files: Readonly<Record<string, string>>,
    labels: Readonly<Record<string, string>>,
  ): Promise<string> {
    const content = new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
    await pushImage({ host: this.#registry.host, insecure: true }, name, tag, { files: content, labels });
    return `${PREFIX}/${name}:${tag}`;
  }

  /** Pushes a small bundle of package `name`. @returns its reference. */
  pushBundle(name: string, version: string): Promise<string> {
    return this.push(`${name}-bundle`, `v${version}`, authoredBundle(name, version), { [BUNDLE_LABEL]: name });
  }

  /** Stops responding to requests for blobs, and calls `onRequest` for each. */
  holdBlobs(onRequest: () => void): void {
    this.#registry.misbehave = ({ method, url = "" }) => {
      const isBlob = method === "GET" && url.includes("/blobs/");
      if (isBlob) onRequest();
      return isBlob;
    };
  }

  /** Creates a subfolder of the test's folder. */
  async emptyFolder(name: string): Promise<string> {
    await mkdir(join(this.folder, name));
    return join(this.folder, name);
  }

  /** Writes files in the folder. @returns the location of `path`. */
  async write(path: string, text: string): Promise<string> {
    const location = join(this.folder, path);
    await writeFile(location, text);
    return location;
  }

  /** Returns the files in the folder under `path`: texts by path, sorted. */
  async read(path: string): Promise<Record<string, string>> {
    const root = join(this.folder, path);
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
    return Object.fromEntries(files.sort().map((file) => [file, readFileSync(join(root, file), "utf8")]));
  }
}
