import * as z from "zod/mini";
import { readIconUrl } from "../../../../pkg/consoleapi/icon.ts";
import { type PackageCard, PackageDetails, type PackagePage } from "../../../../pkg/consoleapi/packages.ts";
import type { ConsoleProblem } from "../../../../pkg/consoleapi/problem.ts";
import { RequestError } from "../../api/request.ts";
import { packagesText } from "../../text/packages.ts";
import type { CatalogData } from "./catalogData.tsx";
import { formatQuery } from "./consoleCatalogData.ts";

const PAGE = "200";

/** The used members of catalogd's responses: docs/reference/catalogd-api.md. */
const Found = z.object({
  items: z.array(
    z.object({
      catalog: z.string(),
      package: z.string(),
      displayName: z.optional(z.string()),
      description: z.optional(z.string()),
      provider: z.optional(z.string()),
      defaultVersion: z.optional(z.string()),
      deprecated: z.optional(z.string()),
      matches: z.array(z.object({ version: z.optional(z.string()) })),
    }),
  ),
  total: z.number(),
  continue: z.optional(z.string()),
  missing: z.optional(z.array(z.string())),
});
const Catalogs = z.object({ catalogs: z.array(z.object({ name: z.string() })) });
const Problem = z.object({ detail: z.optional(z.string()) });
const IconMeta = z.object({ icon: z.optional(z.unknown()) });

const KINDS: Readonly<Record<number, ConsoleProblem["kind"]>> = { 400: "invalid", 404: "notFound", 410: "conflict", 413: "limited" };

/** The catalogs of the catalogd that serves the page. All addresses are relative to the page, which may have a path prefix. */
export const catalogdData: CatalogData = {
  hasCluster: false,
  search: async ({ text, catalog, arch, capability, deprecated }, after, signal) => {
    const words = text?.trim();
    const query = { text: words === "" ? undefined : words, catalog, arch, capability, deprecated };
    const [found, { catalogs }] = await Promise.all([
      readJson(`api/v1/search${formatQuery({ ...query, matches: "1", limit: PAGE, continue: after })}`, Found, signal),
      readJson("catalogs", Catalogs, signal),
    ]);
    const page: PackagePage = {
      items: found.items.map(toCard),
      total: found.total,
      leftOut: (found.missing ?? []).map((name) => ({ catalog: name, reason: packagesText.catalogServer.loading })),
      catalogs: catalogs.map(({ name }) => name),
    };
    return found.continue === undefined ? page : { ...page, next: found.continue };
  },
  describe: async ({ package: name, catalog, version }, signal) => {
    const everywhere = await readJson(`api/v1/search${formatQuery({ package: name, matches: "1" })}`, Found, signal);
    const home = catalog ?? everywhere.items[0]?.catalog;
    if (home === undefined) throw new RequestError({ kind: "notFound", message: packagesText.catalogServer.missing(name) });
    const path = `api/v1/catalogs/${encodeURIComponent(home)}/packages/${encodeURIComponent(name)}${formatQuery({ version })}`;
    const details = await readJson(path, PackageDetails, signal);
    const others = everywhere.items.filter((one) => one.catalog !== home);
    return { ...details, alsoIn: others.map((one) => ({ catalog: one.catalog, version: one.defaultVersion })) };
  },
  readIcon: async (catalog, name, signal) => {
    const path = `catalogs/${encodeURIComponent(catalog)}/api/v1/metas${formatQuery({ schema: "olm.package", name })}`;
    const [line = "{}"] = (await (await request(path, signal)).text()).split("\n", 1);
    const meta = z.safeParse(IconMeta, parseJson(line));
    return meta.success ? readIconUrl(meta.data) : undefined;
  },
  readGraph: async (catalog, name) =>
    `api/v1/catalogs/${encodeURIComponent(catalog)}/packages/${encodeURIComponent(name)}/graph?format=svg`,
};

function toCard({ deprecated, defaultVersion, matches, ...entry }: z.infer<typeof Found>["items"][number]): PackageCard {
  const { catalog, package: name, displayName, description, provider } = entry;
  const version = defaultVersion ?? matches[0]?.version;
  return { catalog, package: name, displayName, description, provider, version, isDeprecated: deprecated !== undefined };
}

async function readJson<T extends z.ZodMiniType>(path: string, schema: T, signal: AbortSignal): Promise<z.output<T>> {
  const parsed = z.safeParse(schema, await (await request(path, signal)).json());
  if (parsed.success) return parsed.data;
  throw new RequestError({ kind: "failed", message: packagesText.catalogServer.unexpected(200) });
}

/** @throws RequestError if catalogd does not respond or responds with an error */
async function request(path: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { signal });
  } catch (err) {
    if (signal.aborted) throw err;
    const { stopped, stoppedNext } = packagesText.catalogServer;
    throw new RequestError({ kind: "disconnected", message: stopped, next: stoppedNext });
  }
  if (response.ok) return response;
  const problem = z.safeParse(Problem, await response.json().catch(() => undefined));
  const detail = problem.success ? problem.data.detail : undefined;
  throw new RequestError({
    kind: KINDS[response.status] ?? "failed",
    message: detail ?? packagesText.catalogServer.unexpected(response.status),
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
