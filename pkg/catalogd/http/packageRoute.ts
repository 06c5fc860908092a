import * as z from "zod";
import { PackageDetails } from "../../consoleapi/packages.ts";
import { GraphRefusedError } from "../graphql/drawGraph.ts";
import { QueriesBusyError, type QueryThreads } from "../graphql/queryThreads.ts";
import type { CatalogContent } from "../store/content.ts";
import { createDocument, respondWithDocument, type ServedDocument } from "./contentResponse.ts";
import { type ContentRouteDependencies, withContent } from "./contentRoutes.ts";
import { ProblemError } from "./problem.ts";
import { CatalogName, type CatalogServer } from "./route.ts";

/** Maximum size of the objects of a package, in bytes. The largest real packages have some ten million. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Maximum number of objects of a package. The largest real packages have some hundred. */
const MAX_OBJECTS = 100_000;

const PackagePath = z.object({ catalog: CatalogName, package: z.string().describe("package name") });
const Query = z.strictObject({
  version: z.string().min(1).max(512).optional().describe("version or bundle name to describe; default: the default version to install"),
});

/** Dependencies of the endpoint of a package's details. */
export interface PackageRouteDependencies extends ContentRouteDependencies {
  /** Threads that read packages, started on demand. */
  graphs: QueryThreads;
}

/** Registers the endpoint that describes a package and one of its versions. */
export function registerPackageRoute(server: CatalogServer, dependencies: PackageRouteDependencies): void {
  server.route({
    method: ["GET", "HEAD"],
    url: "/api/v1/catalogs/:catalog/packages/:package",
    schema: { params: PackagePath, querystring: Query },
    config: {
      failures: "problem",
      operation: {
        id: "describePackage",
        summary: "A package with its channels, its versions, and the description of one version",
        responses: {
          200: { description: "The package.", content: { "application/json": PackageDetails } },
          304: { description: "The package has not changed." },
          412: { description: "The package does not match the precondition." },
          413: { description: "The package has more than 100,000 objects or 64 MiB, or describing it takes too long." },
          503: { description: "Too many graphs, packages and queries are in progress." },
        },
      },
    },
    handler: (request, reply) =>
      withContent(dependencies.source, request.params.catalog, async (content) => {
        const document = await readDetails(content, { ...request.params, ...request.query }, dependencies);
        await reply.respond(await respondWithDocument(document, request, dependencies.cache));
      }),
  });
}

async function readDetails(
  content: CatalogContent,
  requested: { readonly catalog: string; readonly package: string; readonly version?: string | undefined },
  { cache, graphs }: PackageRouteDependencies,
): Promise<ServedDocument> {
  const { package: name, catalog, version } = requested;
  const { file, index } = content.catalog;
  const found = [{ schema: "olm.package", name }, { package: name }].map((query) => index.find(query));
  const count = found.reduce((sum, { length }) => sum + length, 0);
  if (count === 0) throw new ProblemError("PackageNotFound", `the catalog does not contain package ${JSON.stringify(name)}`);
  if (count > MAX_OBJECTS)
    throw new ProblemError("PackageTooLarge", `package ${JSON.stringify(name)} has ${count} objects, maximum ${MAX_OBJECTS}`);
  const lines = found.flatMap((some) => [...some]);
  const bytes = index.bytesOf(index.runs(lines));
  if (bytes > MAX_BYTES)
    throw new ProblemError("PackageTooLarge", `the objects of package ${JSON.stringify(name)} have ${bytes} bytes, maximum ${MAX_BYTES}`);
  const key = `package ${JSON.stringify([catalog, index.tagOf(lines), version])}`;
  try {
    // Does not use the signal of this client, because other clients may wait for the same package.
    const text = await cache.get(key, () => {
      const ranges = lines.flatMap((line) => index.slices([line])); // one for each line, so that the thread keeps only one object in memory
      return graphs.describe(requested, file.handle.fd, ranges, new AbortController().signal);
    });
    return createDocument(text, "application/json");
  } catch (err) {
    if (err instanceof GraphRefusedError) throw new ProblemError(err.code, err.message, { cause: err });
    if (err instanceof QueriesBusyError) throw new ProblemError("Overloaded", err.message, { headers: { "retry-after": 1 }, cause: err });
    throw err;
  }
}
