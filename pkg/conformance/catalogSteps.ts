import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import type { JsonObject, KubeObject, ObjectRef } from "../api/k8s.ts";
import type { CatalogQuery, ContentReader } from "./catalogContent.ts";
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

  /** Sends a request for the content of a catalog until the response is as expected. */
  async expectContent(name: string, request: CatalogQuery, response: JsonObject): Promise<void> {
    const { names, objects, content, signal } = this.#parts;
    const [sent, expected] = names.substitute([request, response] as const);
    await objects.wait(`the content of catalog ${name} at ${sent.path}`, async () => {
      const catalog = await objects.get(this.#toRef(name));
      const { urls } = (catalog?.["status"] ?? {}) as { urls?: { base?: string } };
      if (urls?.base === undefined) return "status.urls.base does not exist";
      return findMismatch(expected, await content.read(urls.base, sent, signal));
    });
  }

  #toRef(name: string): ObjectRef {
    return { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: this.#parts.names.catalog(name) };
  }

  #toObject(name: string, spec: JsonObject, labels: Readonly<Record<string, string>>): KubeObject {
    const { name: full, ...gvk } = this.#toRef(name);
    return { ...gvk, metadata: { name: full, labels: { [LABEL_SCENARIO]: this.#id, ...labels } }, spec };
  }
}
