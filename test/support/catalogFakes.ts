import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { IndexBuilder } from "../../pkg/catalogd/load/artifactWriter.ts";
import { CONTENT_LIMITS } from "../../pkg/catalogd/load/loader.ts";
import type { UnpackedImage } from "../../pkg/catalogd/phases.ts";
import { type CatalogContent, type ContentOrigin, NO_FINDINGS } from "../../pkg/catalogd/store/content.ts";
import { ContentIndex } from "../../pkg/catalogd/store/contentIndex.ts";
import { KubeError } from "../../pkg/kube/errors.ts";

/** Images by tag, which a test can move and break. Counts calls. */
export class FakeImages {
  readonly calls: string[] = [];
  /** The contexts of signature policies, one for each pull. */
  readonly identities: string[] = [];
  /** Digest by reference. */
  readonly digests = new Map<string, string>();
  /** The error that the next calls throw. */
  failure: Error | undefined;
  readonly #dir: string;

  /** @param dir an existing folder that represents every image. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  resolve(ref: string): Promise<{ canonical: string; digest: string }> {
    this.calls.push(`resolve ${ref}`);
    if (this.failure) return Promise.reject(this.failure);
    const at = ref.indexOf("@");
    if (at > 0) return Promise.resolve({ canonical: ref, digest: ref.slice(at + 1) });
    const digest = this.digests.get(ref) ?? "sha256:none";
    return Promise.resolve({ canonical: `${ref.split(":")[0]}@${digest}`, digest });
  }

  async pull(name: string, ref: string, _signal?: AbortSignal, identity = ref): Promise<UnpackedImage> {
    this.identities.push(identity);
    const resolved = await this.resolve(ref);
    this.calls.splice(-1, 1, `pull ${name} ${ref}`);
    return { ...resolved, dir: this.#dir, root: "", modTime: new Date("2026-01-02T03:04:05.678Z") };
  }

  remove(name: string): Promise<void> {
    this.calls.push(`remove ${name}`);
    return Promise.resolve();
  }
}

/** A store without files. */
export class FakeStore {
  readonly contents = new Map<string, CatalogContent>();
  readonly stored: string[] = [];
  failure: Error | undefined;

  get(name: string): CatalogContent | undefined {
    return this.contents.get(name);
  }

  store(name: string, _root: string, origin: ContentOrigin): Promise<CatalogContent> {
    if (this.failure) return Promise.reject(this.failure);
    const catalog = { index: new ContentIndex(new IndexBuilder(CONTENT_LIMITS).columns()) };
    const content = { origin, catalog, artifacts: new Map(), findings: NO_FINDINGS } as unknown as CatalogContent;
    this.contents.set(name, content);
    this.stored.push(`${name} ${origin.digest}`);
    return Promise.resolve(content);
  }

  remove(name: string): Promise<void> {
    this.contents.delete(name);
    return Promise.resolve();
  }
}

/** A fake `Client` of an API server with one catalog. Supports merge patches, and JSON patches that test the uid and replace the status. */
export class FakeCatalogServer {
  readonly patches: unknown[] = [];
  catalog: ClusterCatalog;

  constructor(catalog: ClusterCatalog) {
    this.catalog = { ...catalog, metadata: { resourceVersion: "1", uid: "u", generation: 1, ...catalog.metadata } };
  }

  /** Changes the spec as a user would: the generation increases. */
  edit(spec: Partial<ClusterCatalog["spec"]>): void {
    const { generation = 0 } = this.catalog.metadata;
    this.catalog = {
      ...this.catalog,
      metadata: { ...this.catalog.metadata, generation: generation + 1 },
      spec: { ...this.catalog.spec, ...spec },
    };
  }

  get<T extends KubeObject>(): Promise<T> {
    return Promise.resolve(this.catalog as KubeObject as T);
  }

  patch<T extends KubeObject>(_ref: ObjectRef, body: unknown): Promise<T> {
    this.patches.push(body);
    const version = this.catalog.metadata.resourceVersion;
    if (Array.isArray(body)) return this.#replaceStatus(body as JsonPatch) as Promise<KubeObject> as Promise<T>;
    const { metadata } = body as KubeObject;
    if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== version) {
      return Promise.reject(new KubeError("the object has been modified", { status: 409, reason: "Conflict" }));
    }
    const merged = merge(this.catalog, body) as ClusterCatalog;
    this.catalog = { ...merged, metadata: { ...merged.metadata, resourceVersion: String(Number(version) + 1) } };
    return Promise.resolve(this.catalog as KubeObject as T);
  }

  #replaceStatus([test, add]: JsonPatch): Promise<ClusterCatalog> {
    if (test.value !== this.catalog.metadata.uid) {
      return Promise.reject(new KubeError("the server rejected our request", { status: 422, reason: "Invalid" }));
    }
    const resourceVersion = String(Number(this.catalog.metadata.resourceVersion) + 1);
    const metadata = { ...this.catalog.metadata, resourceVersion };
    this.catalog = { ...this.catalog, metadata, status: add.value as NonNullable<ClusterCatalog["status"]> };
    return Promise.resolve(this.catalog);
  }
}

/** The JSON patch that `replaceStatus` sends. */
type JsonPatch = [test: { value: unknown }, add: { value: unknown }];

/** RFC 7386. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const out: Record<string, unknown> = { ...(typeof target === "object" && !Array.isArray(target) ? target : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else if (value !== undefined) out[key] = merge(out[key], value);
  }
  return out;
}
