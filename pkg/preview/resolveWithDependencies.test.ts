import { afterAll, expect, test } from "vitest";
import { propertiesFrom } from "../../test/support/dependencyFixture.ts";
import { createExtension } from "../../test/support/extensions.ts";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { Client } from "../kube/client.ts";
import { explainWhyNot } from "../resolve/whyNot.ts";
import { readPackage } from "../sources/catalogContent.ts";
import { createClusterCatalog } from "../sources/clusterCatalogs.ts";
import { WholeCatalogs } from "../sources/wholeCatalogs.ts";
import { readInstallContext } from "./installContext.ts";
import { createDependencySearch, type DependencySearch } from "./previewChoice.ts";
import { resolveWithDependencies } from "./resolveWithDependencies.ts";

const folder = new TempFolder();
afterAll(() => folder[Symbol.dispose]());

const bundle = (name: string, says: Parameters<typeof propertiesFrom>[0] = {}): object => {
  const [packageName = "", version = ""] = name.split(".v");
  const identity = { type: "olm.package", value: { packageName, version } };
  return { schema: "olm.bundle", package: packageName, name, image: "i", properties: [identity, ...propertiesFrom(says)] };
};
const METAS = [
  { schema: "olm.package", name: "p" },
  { schema: "olm.package", name: "q" },
  bundle("p.v1.0.0", { provides: ["Shelf"] }),
  bundle("p.v2.0.0", { requires: ["API Board"] }),
  bundle("q.v1.0.0", { requires: ["API Shelf"] }),
];
const DIR = folder.write("c", { "catalog.json": METAS.map((meta) => JSON.stringify(meta)).join("\n") });

/** Returns an extension of a package with a status. */
function having(name: string, packageName: string, version: string, more: Partial<NonNullable<ClusterExtension["status"]>> = {}) {
  const status = { install: { bundle: { name: `${packageName}.v${version}`, version } }, ...more };
  return { ...createExtension(name, { packageName, upgradeConstraintPolicy: "SelfCertified" }), status } as ClusterExtension;
}

interface World {
  extension: ClusterExtension;
  others?: ClusterExtension[];
  /** Served kinds in API group example.com. */
  served?: string[];
  forbidden?: "clusterextensions" | "discovery";
}

const resource = (name: string, kind: string): object => ({ name, kind, namespaced: false, verbs: ["list", "watch"] });
const forbids = (what: string): Answer => statusAnswer(403, "Forbidden", `${what} is forbidden: User "u" may not`);

/** Returns the result for a user who may not read CustomResourceDefinitions and, if `forbidden` is set, may not list ClusterExtensions. */
async function judged({ extension, others = [], served = [], forbidden }: World, version?: string, search?: DependencySearch) {
  const resources = served.map((kind) => ({ resource: kind.toLowerCase(), responseKind: { kind }, scope: "Cluster", verbs: ["list"] }));
  const groups = [{ metadata: { name: "example.com" }, versions: [{ version: "v1", resources }] }];
  await using api = await LoopbackApi.start(({ url }) => {
    const path = url.split("?")[0];
    if (path === "/api") return { json: { kind: "APIGroupDiscoveryList", items: [] } };
    if (path === "/apis")
      return forbidden === "discovery" ? forbids("discovery") : { json: { kind: "APIGroupDiscoveryList", items: groups } };
    if (path === "/apis/olm.operatorframework.io/v1") return { json: { resources: [resource("clusterextensions", "ClusterExtension")] } };
    if (path === "/apis/apiextensions.k8s.io/v1")
      return { json: { resources: [resource("customresourcedefinitions", "CustomResourceDefinition")] } };
    if (path?.endsWith("/clusterextensions") && forbidden !== "clusterextensions")
      return { json: { metadata: {}, items: [extension, ...others] } };
    return forbids(path ?? "");
  });
  const client = Client.of(api.credentials());
  const signal = AbortSignal.timeout(20_000);
  const catalogs = [createClusterCatalog("c", DIR)];
  const whole = new WholeCatalogs({ catalogFolder: (ref) => Promise.resolve(ref) });
  const source = extension.spec.source.catalog!;
  const installed = extension.status?.install?.bundle;
  const request = {
    source,
    installed,
    catalogs: [{ name: "c", priority: 0, labels: {}, content: await readPackage(DIR, source.packageName) }],
  };
  const options = { installedPackage: [] };
  try {
    const answer = await resolveWithDependencies(
      {
        request,
        subject: "",
        extension,
        catalogs,
        whole,
        readContext: (constraints) => readInstallContext({ extension, installed, catalogs, whole, constraints, client, options, signal }),
        search,
        signal,
      },
      version,
    );
    const { resolution, ...rest } = answer;
    const exclusions =
      version === undefined ? [] : explainWhyNot(source.packageName, version, resolution).bundles.flatMap((one) => one.exclusions);
    return { bundle: resolution.kind === "resolved" ? resolution.bundle.name : undefined, ...rest, exclusions };
  } finally {
    await client.close();
  }
}

const BREAKS = 'ClusterExtension "y" (bundle "q.v1.0.0") would lose dependencies: API example.com/v1 Shelf';

/** Source: S2-01, S2-02, S2-42; D-07: the result equals that of operator-controller. */
test.for<[why: string, world: World, want: Partial<Awaited<ReturnType<typeof judged>>>]>([
  [
    "uses the APIs that the cluster serves",
    { extension: having("x", "p", "1.0.0"), served: ["Shelf", "Board"] },
    { bundle: "p.v2.0.0", notes: [], unjudged: [] },
  ],
  [
    "uses the APIs in the status of another extension, and reports that its requirements are unknown",
    {
      extension: having("x", "p", "1.0.0"),
      others: [having("y", "z", "1.0.0", { providedAPIs: [{ group: "example.com", kind: "Board", versions: ["v1"] }] })],
    },
    {
      bundle: "p.v2.0.0",
      notes: [],
      unjudged: ['dependencies of ClusterExtensions whose bundle no catalog contains: "y" (bundle "z.v1.0.0")'],
    },
  ],
  [
    "rejects bundles that would remove APIs of dependents",
    { extension: having("x", "p", "1.0.0"), others: [having("y", "q", "1.0.0")], served: ["Shelf", "Board"] },
    { bundle: "p.v1.0.0", notes: [`bundle "p.v2.0.0" is not selected: ${BREAKS}`], unjudged: [] },
  ],
  [
    "checks nothing when listing extensions is forbidden",
    { extension: having("x", "p", "1.0.0"), forbidden: "clusterextensions" },
    {
      bundle: "p.v2.0.0",
      unjudged: [
        expect.stringMatching(/^dependencies, because the installed bundles of other extensions cannot be read: .*forbidden/) as string,
        expect.stringMatching(
          /^dependencies of bundle "p.v2.0.0" \(API example.com\/v1 Board\): the installed bundles and served APIs cannot be read; /,
        ) as string,
      ],
    },
  ],
  [
    "checks nothing when discovery fails",
    { extension: having("x", "p", "1.0.0"), others: [having("y", "q", "1.0.0")], forbidden: "discovery" },
    {
      bundle: "p.v2.0.0",
      unjudged: [
        expect.stringMatching(/^dependencies, because the APIs of the cluster cannot be read: .*forbidden/) as string,
        expect.any(String) as string,
      ],
    },
  ],
])("resolveWithDependencies on a cluster %s", async ([, world, want]) => {
  expect(await judged(world)).toMatchObject(want);
});

test("why-not on a cluster lists the dependents and the dependencies that they would lose", async () => {
  const world = { extension: having("x", "p", "1.0.0"), others: [having("y", "q", "1.0.0")], served: ["Shelf", "Board"] };
  const { exclusions } = await judged(world, "2.0.0");
  expect(exclusions.map(({ rule, text }) => ({ rule, text }))).toEqual([{ rule: "dependencies", text: BREAKS }]);
});

test("resolveWithDependencies uses the given search when a bundle lacks a dependency", async () => {
  const { constraints, search } = createDependencySearch();
  const searched: string[] = [];
  const find: typeof search.find = (request) => {
    searched.push(request.bundle.name);
    return search.find(request);
  };
  const world = { extension: having("x", "p", "1.0.0"), served: ["Shelf"] };
  expect(await judged(world, undefined, { constraints, search: { find } })).toEqual(await judged(world));
  expect(searched).toEqual(["p.v2.0.0"]);
});
