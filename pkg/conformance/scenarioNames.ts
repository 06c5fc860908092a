/** Label of all objects of a run; its value is the name of the run. */
export const LABEL_CONFORMANCE = "conformance.olm.operatorframework.io/run";
/** Label of the catalogs of a scenario, by which its extension selects them. */
export const LABEL_SCENARIO = "conformance.olm.operatorframework.io/scenario";

const PREFIX = "conformance";

/** The names of the objects of one scenario. */
export class ScenarioNames {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  readonly namespace: string;
  readonly #repository: string;
  readonly #run: string;
  readonly #id: string;

  /** @param repository for images, without a tag. @param run name of the run, which the tags start with */
  constructor(id: string, { repository, run }: { readonly repository: string; readonly run: string }) {
    this.extension = `${PREFIX}-${id}`;
    this.namespace = `${PREFIX}-${id}`;
    this.#repository = repository;
    this.#run = run;
    this.#id = id;
  }

  /** Returns the name of the ClusterCatalog for a name in the scenario. */
  catalog(name: string): string {
    return `${PREFIX}-${this.#id}-${name}`;
  }

  /** Returns the tag of an image of the scenario. */
  tag(image: string): string {
    return `${this.#run}-${this.#id}-${image}`;
  }

  /** Returns the reference of an image of a catalog. */
  catalogImage(name: string, tag: string): string {
    return `${this.#repository}:${this.tag(`${name}-${tag}`)}`;
  }

  /**
   * Replaces in all texts of a value: `$extension`, `$namespace`, `$repository`, `$catalog(name)`, `$image(name, tag)` and `$tag(name, tag)`. Does not
   * replace member names.
   */
  substitute<T>(value: T): T {
    return this.#replace(value) as T;
  }

  #replace(value: unknown): unknown {
    if (typeof value === "string") return this.#replaceText(value);
    if (Array.isArray(value)) return value.map((one) => this.#replace(one));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.#replace(one)]));
  }

  #replaceText(text: string): string {
    return text
      .replaceAll(/\$catalog\(([\w-]+)\)/g, (_, name: string) => this.catalog(name))
      .replaceAll(/\$image\(([\w-]+), ?([\w.-]+)\)/g, (_, name: string, tag: string) => this.catalogImage(name, tag))
      .replaceAll(/\$tag\(([\w-]+), ?([\w.-]+)\)/g, (_, name: string, tag: string) => this.tag(`${name}-${tag}`))
      .replaceAll("$extension", this.extension)
      .replaceAll("$namespace", this.namespace)
      .replaceAll("$repository", this.#repository);
  }
}
