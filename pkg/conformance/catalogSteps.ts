import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import type { JsonObject, KubeObject, ObjectRef } from "../api/k8s.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { isTransient } from "../oci/registry/networkError.ts";
import { CannotRun } from "./cannotRun.ts";
import type { CatalogQuery, CatalogReply, ContentReader } from "./catalogContent.ts";
import type { TableCatalog } from "./catalogTable.ts";
import { findMismatch } from "./expectations.ts";
import type { ExpectedCondition, ObjectSteps } from "./objectSteps.ts";
import type { ScenarioImages } from "./scenarioImages.ts";
import { LABEL_SCENARIO, type ScenarioNames } from "./scenarioNames.ts";

const FIRST_TAG = "v1";

/** The services of CatalogSteps. */
export interface CatalogStepsParts {
  readonly names: ScenarioNames;
  readonly images: ScenarioImages;
  readonly objects: ObjectSteps;
  readonly content: ContentReader;
  readonly signal: AbortSignal;
}

/** Publishes, changes and checks the catalogs of one scenario, by their names in the scenario. */
export class CatalogSteps {
  readonly #id: string;
  readonly #parts: CatalogStepsParts;
  /** The addresses of catalogs that were served, by name. */
  readonly #bases = new Map<string, string>();

  /** @param id of the scenario. */
  constructor(id: string, parts: CatalogStepsParts) {
    this.#id = id;
    this.#parts = parts;
  }

  /** Pushes catalogs and waits until they are served. */
  async serveAll(catalogs: ReadonlyMap<string, TableCatalog>): Promise<void> {
    for (const [name, content] of catalogs) {
      await this.push(name, FIRST_TAG, content);
      await this.apply(name, { source: { type: "Image", image: { ref: this.#parts.names.catalogImage(name, FIRST_TAG) } } });
    }
    for (const name of catalogs.keys()) await this.expectCondition(name, { type: "Serving", status: "True" });
  }

  async push(name: string, tag: string, content: TableCatalog): Promise<void> {
    await this.#parts.images.publishCatalog(name, tag, content);
  }

  /** Pushes a catalog image with these files, which may be invalid. */
  async pushFiles(name: string, tag: string, files: Readonly<Record<string, string>>): Promise<void> {
    const { names, images } = this.#parts;
    const entries = Object.entries(names.substitute(files)).map(([path, text]) => [`configs/${path}`, Buffer.from(text)] as const);
    await images.publishFiles(`${name}-${tag}`, new Map(entries));
  }

  async apply(name: string, spec: JsonObject, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#parts.objects.apply(this.#toObject(name, spec, labels));
  }

  async patch(name: string, patch: JsonObject): Promise<void> {
    await this.#parts.objects.patch(this.#toRef(name), patch);
  }

  async delete(name: string): Promise<void> {
    await this.#parts.objects.delete(this.#toRef(name));
  }

  async expect(name: string, parts: JsonObject): Promise<void> {
    await this.#parts.objects.expect(this.#toRef(name), parts);
  }

  async expectCondition(name: string, condition: ExpectedCondition): Promise<void> {
    await this.#parts.objects.expectCondition(this.#toRef(name), condition);
  }

  async expectRejected(name: string, spec: JsonObject, message: string): Promise<void> {
    await this.#parts.objects.expectRejected(this.#toObject(name, spec, {}), message);
  }

  /**
   * Sends a request for the content of a catalog until the response is as expected, also while
   * its server starts.
   */
  async expectContent(name: string, request: CatalogQuery, response: JsonObject): Promise<void> {
    const { names, objects } = this.#parts;
    const expected = names.substitute(response);
    await objects.wait(`the content of catalog ${name} at ${request.path}`, async () => {
      try {
        const reply = await this.#read(name, request);
        return reply ? findMismatch(expected, reply) : "status.urls.base does not exist";
      } catch (err) {
        if (isTransient(err)) return getErrorMessage(err);
        throw err;
      }
    });
  }

  /** Expects that a client gets the content only if it does not have the latest: again with the time of its last change, or an earlier time. */
  async expectConditional(name: string, path: string): Promise<void> {
    const get = { path, method: "GET" };
    await this.#parts.objects.wait(`the content of catalog ${name} at ${path} to be sent only if it changed`, async () => {
      const first = await this.#read(name, { ...get, headers: {} });
      const changed = first?.headers["last-modified"];
      if (changed === undefined) return "the response has no header Last-Modified";
      const readSince = (ms: number) => this.#read(name, { ...get, headers: { "if-modified-since": new Date(ms).toUTCString() } });
      const unchanged = findMismatch({ status: 304, body: "" }, await readSince(Date.parse(changed)), "the response since Last-Modified");
      return unchanged ?? findMismatch({ status: 200 }, await readSince(Date.parse(changed) - 1_000), "the response since a second before");
    });
  }

  /** @throws CannotRun if the catalog is served, but not at this path */
  async requireEndpoint(name: string, path: string): Promise<void> {
    const get = { method: "GET", headers: {} };
    await this.expectContent(name, { ...get, path: "/api/v1/all" }, { status: 200 });
    const reply = await this.#read(name, { ...get, path });
    if (reply?.status === 404) throw new CannotRun(`catalogs are not served at ${path}`);
  }

  /** Requests the content of a catalog, also of a deleted one that was served. Undefined if the catalog is not served. */
  async #read(name: string, request: CatalogQuery): Promise<CatalogReply | undefined> {
    const { names, objects, content, signal } = this.#parts;
    const catalog = await objects.get(this.#toRef(name));
    const { urls } = (catalog?.["status"] ?? {}) as { urls?: { base?: string } };
    if (urls?.base !== undefined) this.#bases.set(name, urls.base);
    const base = catalog ? urls?.base : this.#bases.get(name);
    return base === undefined ? undefined : content.read(base, names.substitute(request), signal);
  }

  #toRef(name: string): ObjectRef {
    return { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: this.#parts.names.catalog(name) };
  }

  #toObject(name: string, spec: JsonObject, labels: Readonly<Record<string, string>>): KubeObject {
    const { name: full, ...gvk } = this.#toRef(name);
    return { ...gvk, metadata: { name: full, labels: { [LABEL_SCENARIO]: this.#id, ...labels } }, spec };
  }
}
