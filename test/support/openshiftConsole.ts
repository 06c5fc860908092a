import { request } from "node:https";
import { gunzipSync } from "node:zlib";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";

/** The host of the requests of the console's backend. It ignores the status of ClusterCatalogs. */
export const CATALOGD_HOST = "catalogd-service.openshift-catalogd.svc";

/** A response of catalogd, as the console's HTTP client returns it. */
export interface ConsoleResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A card of the Software Catalog. */
export interface ConsoleCatalogItem {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly version: string;
  readonly image: string;
  readonly provider: string;
  readonly capabilities: string;
  readonly categories: readonly string[];
}

/** What a user enters in the console's form. */
export interface FormInput {
  readonly name: string;
  readonly packageName: string;
  readonly namespace?: string;
  readonly version?: string;
  readonly channels?: readonly string[];
  readonly catalogs?: readonly string[];
}

/** Plays OpenShift's console: the requests of its backend to catalogd, and those of its pages to the API server. */
export class OpenShiftConsole {
  readonly #port: number;
  readonly #serviceCa: string;
  readonly #client: Client;

  /** @param serviceCa PEM of the CA of services. @param client identity of the user */
  constructor(catalogd: URL, serviceCa: string, client: Client) {
    this.#port = Number(catalogd.port);
    this.#serviceCa = serviceCa;
    this.#client = client;
  }

  /** Requests all objects of a catalog. @param since the `Last-Modified` header of the last response */
  fetchAll(catalog: string, since?: string, headers: Record<string, string> = {}): Promise<ConsoleResponse> {
    const conditional: Record<string, string> = since === undefined ? {} : { "If-Modified-Since": since, "Cache-Control": "max-age=86400" };
    return this.#get(`/catalogs/${catalog}/api/v1/all`, { ...conditional, ...headers });
  }

  /** Passes a query of a page on, with sorted parameters. */
  fetchMetas(catalog: string, query: Record<string, string>): Promise<ConsoleResponse> {
    const params = new URLSearchParams(query);
    params.sort();
    return this.#get(`/catalogs/${catalog}/api/v1/metas?${params.toString()}`);
  }

  /** Returns the icon of a package: its bytes and media type. */
  async fetchIcon(catalog: string, packageName: string): Promise<{ data: Buffer; mediaType: string } | undefined> {
    const { status, text } = await this.fetchMetas(catalog, { schema: "olm.package", name: packageName });
    const [meta] = status === 200 ? walkMetas(text) : [];
    const icon = meta?.["icon"] as { base64data: string; mediatype: string } | undefined;
    return icon && { data: Buffer.from(icon.base64data, "base64"), mediaType: icon.mediatype };
  }

  #get(path: string, headers: Record<string, string> = {}): Promise<ConsoleResponse> {
    return new Promise((resolve, reject) => {
      const sent = { Host: `${CATALOGD_HOST}:443`, "User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip", ...headers };
      const options = { host: "127.0.0.1", port: this.#port, path, servername: CATALOGD_HOST, ca: this.#serviceCa, headers: sent };
      const call = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const body = Buffer.concat(chunks);
          const isGzip = response.headers["content-encoding"] === "gzip";
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: (isGzip ? gunzipSync(body) : body).toString("utf8"),
          });
        });
      });
      call.on("error", reject);
      call.end();
    });
  }

  /** Creates what the form creates, in its order, and ignores existing namespaces and ServiceAccounts. */
  async submitForm(input: FormInput): Promise<KubeObject> {
    const extension = buildFormExtension(input);
    const { namespace } = extension["spec"] as { namespace: string };
    await this.#createIfMissing({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await this.#createIfMissing({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: `${input.name}-service-account`, namespace },
    });
    return this.#client.create(extension);
  }

  async #createIfMissing(object: KubeObject): Promise<void> {
    const { apiVersion, kind, metadata } = object;
    const { name, namespace } = metadata;
    if (!(await this.#client.get({ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) })))
      await this.#client.create(object);
  }
}

/** Returns the ClusterExtension of the form: it always has a namespace and a ServiceAccount. */
export function buildFormExtension({ name, packageName, namespace = name, version, channels, catalogs = [] }: FormInput): KubeObject {
  const key = "olm.operatorframework.io/metadata.name";
  const [only, ...more] = catalogs;
  const selector =
    only === undefined
      ? {}
      : {
          selector:
            more.length === 0 ? { matchLabels: { [key]: only } } : { matchExpressions: [{ key, operator: "In", values: catalogs }] },
        };
  const catalog = { packageName, ...(version === undefined ? {} : { version }), ...(channels ? { channels } : {}), ...selector };
  return {
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterExtension",
    metadata: { name },
    spec: { namespace, serviceAccount: { name: `${name}-service-account` }, source: { sourceType: "Catalog", catalog } },
  };
}

/** Decodes the objects of a response, one after the other. */
export function walkMetas(text: string): JsonObject[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as JsonObject);
}

interface Bundle {
  readonly package: string;
  readonly name: string;
  readonly image: string;
  readonly properties: readonly { readonly type: string; readonly value: JsonObject }[];
}

/** Builds the cards of a catalog: one for each package with a bundle that has olm.csv.metadata, of the highest version. */
export function createCatalogItems(catalog: string, metas: readonly JsonObject[]): ConsoleCatalogItem[] {
  const latest = new Map<string, Bundle>();
  const find = (bundle: Bundle, type: string): JsonObject | undefined => bundle.properties.find((one) => one.type === type)?.value;
  const getVersion = (bundle: Bundle): string => String(find(bundle, "olm.package")?.["version"]);
  for (const bundle of metas.filter(({ schema }) => schema === "olm.bundle") as unknown as Bundle[]) {
    const known = latest.get(bundle.package);
    if (find(bundle, "olm.csv.metadata") && (!known || getVersion(bundle) > getVersion(known))) latest.set(bundle.package, bundle);
  }
  const packages = metas.filter(({ schema }) => schema === "olm.package").map(({ name }) => String(name));
  return packages.flatMap((name) => {
    const bundle = latest.get(name);
    if (!bundle) return [];
    const csv = find(bundle, "olm.csv.metadata") as {
      displayName?: string;
      description?: string;
      provider?: { name?: string };
      annotations?: Record<string, string>;
    };
    const { annotations = {} } = csv;
    return [
      {
        id: `${catalog}/${name}/${bundle.name}`,
        name,
        displayName: csv.displayName ?? name,
        description: csv.description ?? "",
        version: getVersion(bundle),
        image: bundle.image,
        provider: csv.provider?.name ?? "",
        capabilities: annotations["capabilities"] ?? "",
        categories: (annotations["categories"] ?? "").split(",").map((one) => one.trim()),
      },
    ];
  });
}
